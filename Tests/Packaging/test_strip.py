"""The program as it is shipped: 'packaging/strip' runs the toolchain's objcopy wherever the PATH leads."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

from test_components import BUILT, LINKED

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SYSTEM = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}


def is_protected(program):
    """True if its relocations become read-only after the start."""
    return "GNU_RELRO" in subprocess.run(["readelf", "--program-headers", "--wide", program], check=True, capture_output=True, text=True).stdout


class StripTests(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def strip(self, script, program):
        """The stripped program, and what the script has printed."""
        target = self.folder / "stripped"
        done = subprocess.run([script, program, target], env=SYSTEM, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(target.stat().st_size, pathlib.Path(program).stat().st_size)
        return target, done.stdout + done.stderr

    @unittest.skipUnless(shutil.which("swiftc"), "swiftc is missing")
    def test_the_toolchain_that_built_is_used(self):
        program, script = self.folder / "program", self.folder / "packaging/strip"
        (self.folder / "main.swift").write_text("print(1)\n")
        subprocess.run(["swiftc", "-use-ld=lld", "-Xlinker", "-z", "-Xlinker", "now", "-o", program, self.folder / "main.swift"], check=True)
        script.parent.mkdir()
        shutil.copy(ROOT / "packaging/strip", script)
        self.assertIn("run 'make build'", self.strip(script, program)[1])
        (self.folder / ".build").mkdir()
        with open(self.folder / ".build/toolchain.json", "w") as written:
            subprocess.run(["swift", "-print-target-info"], check=True, stdout=written)
        stripped, printed = self.strip(script, program)
        self.assertEqual(printed, "")
        self.assertTrue(is_protected(program) and is_protected(stripped))

    @unittest.skipUnless(LINKED.is_file(), f"there is no {LINKED}: run 'make build' first")
    def test_the_build_has_written_where_its_toolchain_is(self):
        stripped, printed = self.strip(ROOT / "packaging/strip", BUILT)
        self.assertEqual(printed, "")
        self.assertTrue(is_protected(stripped))


if __name__ == "__main__":
    unittest.main()
