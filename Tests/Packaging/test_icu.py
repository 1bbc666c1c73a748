"""The data of ICU that 'packaging/icu-data' leaves gives the program the same answers as the toolchain's."""

import difflib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def missing():
    """The tools that 'swiftc' or the folder of its toolchain lacks."""
    if not shutil.which("swiftc"):
        return ["swiftc"]
    info = subprocess.run(["swiftc", "-print-target-info"], check=True, capture_output=True, text=True).stdout
    programs = pathlib.Path(json.loads(info)["paths"]["runtimeResourcePath"]).parent.parent / "bin"
    return [str(programs / name) for name in ("clang", "llvm-ar", "llvm-nm", "llvm-objcopy") if not shutil.which(programs / name)]


MISSING = missing()


class ICUTests(unittest.TestCase):
    def compiled(self, folder, name, *options):
        program = pathlib.Path(folder) / name
        command = ["swiftc", *options, "-swift-version", "6", "-static-stdlib", "-Xlinker", "--gc-sections", "-l_FoundationICU", "-lstdc++"]
        made = subprocess.run([*command, "-o", program, ROOT / "Tests/Packaging/icu.swift"], capture_output=True, text=True)
        self.assertEqual(made.returncode, 0, made.stderr)
        return program

    def printed(self, program, **environment):
        run = subprocess.run([program], capture_output=True, text=True, timeout=120, env={**os.environ, **environment})
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout.splitlines()

    @unittest.skipIf(MISSING, f"{' '.join(MISSING)} is missing")
    def test_answers_are_those_of_the_whole_data(self):
        made = subprocess.run([ROOT / "packaging/icu-data"], capture_output=True, text=True)
        self.assertEqual(made.returncode, 0, made.stderr)
        with tempfile.TemporaryDirectory() as folder:
            whole, filtered = self.compiled(folder, "whole"), self.compiled(folder, "filtered", *made.stdout.splitlines())
            self.assertGreater(whole.stat().st_size - filtered.stat().st_size, 20_000_000)
            for language in ["C.UTF-8", "de_DE.UTF-8", ""]:
                expected, found = self.printed(whole, LANG=language), self.printed(filtered, LANG=language)
                self.assertGreater(len(expected), 600)
                self.assertEqual(found, expected, "\n".join(difflib.unified_diff(expected, found, lineterm="", n=0)))


if __name__ == "__main__":
    unittest.main()
