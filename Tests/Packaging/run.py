#!/usr/bin/env python3
"""usage: Tests/Packaging/run.py [NAME…]

Tests of what is shipped, with the program of $BUILT and independent tools. A test whose tools are missing is skipped with a notice."""

import collections
import io
import os
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "packaging"))
sys.path.insert(0, str(ROOT / "Tests/Packaging"))
os.chdir(ROOT)
os.environ.setdefault("BUILT", ".build/release/newswire")

if __name__ == "__main__":
    names = sys.argv[1:] or sorted(path.stem for path in (ROOT / "Tests/Packaging").glob("test_*.py"))
    suite = unittest.defaultTestLoader.loadTestsFromNames(names)
    # What prints is what failed.
    report = sys.stderr if sys.stderr.isatty() else io.StringIO()
    result = unittest.TextTestRunner(report, verbosity=2).run(suite)
    if not result.wasSuccessful() and report is not sys.stderr:
        sys.stderr.write(report.getvalue())
    for reason, count in collections.Counter(reason for _, reason in result.skipped).items():
        print(f"packaging: {count} of {result.testsRun} skipped: {reason}")
    sys.exit(0 if result.wasSuccessful() else 1)
