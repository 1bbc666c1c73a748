"""The licences and the bill of materials, and the signature of a release."""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import components

try:
    from spdx_tools.spdx.parser.parse_anything import parse_file
    from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
except ImportError:
    parse_file = None

BUILT = pathlib.Path(components.os.environ["BUILT"])
LINKED = pathlib.Path(components.os.environ.get("LINKED") or BUILT.resolve().parent / "newswire.product/Objects.LinkFileList")


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


@unittest.skipUnless(LINKED.is_file(), f"there is no {LINKED}: run 'make build' first")
class ComponentsTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.licences = run("packaging/components.py", "licences")
        cls.sbom = run("packaging/components.py", "sbom")

    @unittest.skipUnless(parse_file, "spdx-tools is missing")
    def test_the_bill_of_materials_is_valid(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/newswire.spdx.json"
            pathlib.Path(path).write_text(self.sbom)
            messages = validate_full_spdx_document(parse_file(path), "SPDX-2.3")
        self.assertEqual([message.validation_message for message in messages], [])

    def test_the_bill_of_materials_has_the_resolved_versions(self):
        bill = json.loads(self.sbom)
        pins = json.loads(pathlib.Path("packaging/packages.json").read_text())["pins"]
        versions = {pin["identity"]: (pin["state"]["version"], pin["state"]["revision"]) for pin in pins}
        listed = {entry["name"]: entry for entry in bill["packages"] if entry["name"] in versions}
        for name, entry in listed.items():
            self.assertEqual(entry["versionInfo"], versions[name][0])
            self.assertTrue(entry["downloadLocation"].endswith("@" + versions[name][1]), entry)
        for name in ("swift-nio", "swift-crypto", "grdb.swift", "yams", "hummingbird"):
            self.assertIn(name, listed)

    def test_the_bill_of_materials_has_the_linked_libraries(self):
        bill = json.loads(self.sbom)
        linked = {entry["relatedSpdxElement"] for entry in bill["relationships"] if entry["relationshipType"] == "DYNAMIC_LINK"}
        names = {entry["name"] for entry in bill["packages"] if entry["SPDXID"] in linked}
        for library in ("libcurl", "libsqlite3", "libxml2", "libnats", "zlib", "libc"):
            self.assertTrue(any(name.startswith(library) for name in names), f"{library} is not in {sorted(names)}")

    def test_the_same_program_has_the_same_bill_of_materials(self):
        self.assertEqual(self.sbom, run("packaging/components.py", "sbom"))

    def test_every_linked_package_has_a_licence_and_a_copyright(self):
        for package in components.packages():
            self.assertIn(f"\n{package.name} {package.version}\n", self.licences)
        for section in re.findall(r"(?:^|\n\n)([^\n]+\n-+\nLicence: .*?)(?=\n\n)", self.licences, re.S):
            self.assertRegex(section, r"text \d+ below", section)
        for words in (
            "The BoringSSL Authors", "the fiat-crypto authors", "Brian Gladman", "UNICODE LICENSE V3", "Kirill Simonov", "Fedor Indutny",
            "Runtime Library Exception", "Gwendal", "JP Simard",
        ):  # fmt: skip
            self.assertIn(words, self.licences)

    def test_an_unknown_module_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "Objects.LinkFileList"
            path.write_text(LINKED.read_text() + "/x/Unheard.build/a.swift.o\n")
            result = subprocess.run(
                ["packaging/components.py", "licences"], env={**components.os.environ, "LINKED": str(path)}, capture_output=True, text=True
            )
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("the linked module 'Unheard' is in none of the resolved packages", result.stderr)


@unittest.skipUnless(shutil.which("gpg"), "gpg is missing")
class ChecksumsTests(unittest.TestCase):
    def test_a_signed_release_can_be_checked_and_a_changed_one_is_noticed(self):
        with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as folder:
            environment = {**components.os.environ, "GNUPGHOME": home, "SIGNING_KEY": "release@newswire.invalid"}
            run("gpg", "--batch", "--passphrase", "", "--quick-generate-key", "release@newswire.invalid", "ed25519", "sign", "1d", env=environment)
            (pathlib.Path(folder) / "a file.deb").write_text("package")
            run("packaging/checksums", folder, env=environment)
            run("gpg", "--verify", "SHA256SUMS.asc", "SHA256SUMS", env=environment, cwd=folder)
            self.assertEqual(run("sha256sum", "--check", "SHA256SUMS", cwd=folder), "a file.deb: OK\n")
            with (pathlib.Path(folder) / "SHA256SUMS").open("a") as sums:
                sums.write("0" * 64 + "  another.deb\n")
            with self.assertRaises(subprocess.CalledProcessError):
                run("gpg", "--verify", "SHA256SUMS.asc", "SHA256SUMS", env=environment, cwd=folder)
            subprocess.run(["gpgconf", "--kill", "gpg-agent"], env=environment)
