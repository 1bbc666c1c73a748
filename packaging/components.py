#!/usr/bin/env python3
"""usage: packaging/components.py licences | sbom

Writes to standard output what the program of $BUILT consists of, from the sources that the build resolved, its list of linked objects, the toolchain
and the libraries of this machine:

  licences   the licence texts and copyright lines of everything that is linked statically
  sbom       a bill of materials in SPDX 2.3 (JSON)

  BUILT              the program (.build/release/newswire)
  LINKED             the objects it was linked from (newswire.product/Objects.LinkFileList beside BUILT)
  CHECKOUTS          the resolved sources (.build/checkouts)
  TOOLCHAIN          the folder with bin/swift (that of 'swift' on the PATH)
  SOURCE_DATE_EPOCH  the time that the bill of materials has (that of the commit)
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Code of others that packages contain, by the module that it is linked as: name, licence (SPDX), a file of the module and an expression that finds
# the version in it, and the file of packaging/licences with the terms that its sources do not have.
VENDORED = {
    "CCryptoBoringSSL": ("BoringSSL", "Apache-2.0", ("hash.txt", r"revision (\w+)"), "fiat-crypto"),
    "CNIOBoringSSL": ("BoringSSL", "Apache-2.0", ("hash.txt", r"revision (\w+)"), "fiat-crypto"),
    "CXKCP": ("XKCP", "CC0-1.0 AND LicenseRef-Brian-Gladman", None, None),
    "CYaml": ("libyaml", "MIT", ("src/api.c", r"(\d+\.\d+\.\d+)"), "libyaml"),
    "CNIOLLHTTP": ("llhttp", "MIT", ("include/c_nio_llhttp.h", r"MAJOR (\d+)\n.*MINOR (\d+)\n.*PATCH (\d+)"), None),
    "CNIOSHA1": ("FreeBSD SHA-1", "BSD-3-Clause", None, None),
    "CNIOAtomics": ("uSHET cpp_magic", "MIT", None, "ushet"),
}
# Modules in C that are the packages' own.
OWN_C = {
    "CCryptoBoringSSLShims", "CNIOBoringSSLShims", "CNIODarwin", "CNIOFreeBSD", "CNIOLinux", "CNIOOpenBSD", "CNIOPosix", "CNIOWASI", "CNIOWindows",
    "CSystem", "CXKCPShims", "_AtomicsShims",
}  # fmt: skip
SWIFT_LICENCE = "Apache-2.0 WITH Swift-exception"
# Parts of the toolchain that --static-swift-stdlib links in: name, licence, and folders of headers with their copyright lines.
TOOLCHAIN_PARTS = [
    ("Swift standard library and runtime", SWIFT_LICENCE, ["shims"]),
    ("swift-corelibs-libdispatch", SWIFT_LICENCE, ["dispatch", "Block", "os"]),
    ("swift-foundation and swift-corelibs-foundation", SWIFT_LICENCE, ["CoreFoundation", "_FoundationCShims"]),
    ("ICU", "Unicode-3.0", ["_foundation_unicode"]),
]
C_SOURCES = {".c", ".cc", ".cpp", ".h", ".hpp", ".inc", ".S", ".s"}
COPYRIGHT = re.compile(r"(?:copyright\b|\(c\)|©).*", re.I)


def fail(text):
    print(f"components: {text}", file=sys.stderr)
    sys.exit(1)


def output(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def built():
    program = pathlib.Path(os.environ.get("BUILT") or ROOT / ".build/release/newswire")
    if not program.is_file():
        fail(f"there is no program '{program}': run 'make build' first")
    return program.resolve()


def version():
    """The program's version, and the commit that it was built from."""
    number, commit = re.fullmatch(r"(\S+) \((\S+)\)\n", output(str(built()), "--version")).groups()
    return number, commit


def epoch():
    """The time of what is made from this commit, in seconds."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    try:
        return int(output("git", "log", "-1", "--format=%ct", cwd=ROOT))
    except (OSError, subprocess.CalledProcessError):
        return int(time.time())


def timestamp():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch()))


def stripped_sha256():
    """The checksum of the program as it is shipped."""
    with tempfile.TemporaryDirectory() as folder:
        target = f"{folder}/newswire"
        subprocess.run([ROOT / "packaging/strip", built(), target], check=True)
        return hashlib.sha256(pathlib.Path(target).read_bytes()).hexdigest()


def linked_modules():
    path = pathlib.Path(os.environ.get("LINKED") or built().parent / "newswire.product/Objects.LinkFileList")
    if not path.is_file():
        fail(f"there is no list of linked objects '{path}': run 'make build', or name it with LINKED")
    return set(re.findall(r"/([^/\n]+)\.build/[^\n]*\.o", path.read_text()))


def checkouts():
    return pathlib.Path(os.environ.get("CHECKOUTS") or ROOT / ".build/checkouts")


class Package:
    """A resolved Swift package with those of its modules that are linked."""

    def __init__(self, pin):
        self.name, self.location = pin["identity"], re.sub(r"\.git$", "", pin["location"])
        self.version, self.revision = pin["state"].get("version", ""), pin["state"]["revision"]
        self.folder = checkouts() / pathlib.PurePosixPath(self.location).name
        if not self.folder.is_dir():
            fail(f"the sources of '{self.name}' are not in '{self.folder}': run 'swift package resolve'")
        self.manifests = "".join(path.read_text() for path in sorted(self.folder.glob("Package*.swift")))
        # Names that are not those of other packages' products.
        self.declared = set(re.findall(r"(?<!\.product\()\bname:\s*\"([^\"]+)\"", re.sub(r"\(\s+", "(", self.manifests)))
        self.modules = {}

    def source(self, module):
        """The folder of a module's sources; None if it is declared and not there."""
        paths = re.findall(rf'name:\s*"{module}",(?:(?!\bname:).)*?\bpath:\s*"([^"]+)"', self.manifests, re.S)
        folders = [self.folder / path for path in (*paths, f"Sources/{module}", module)]
        return next((folder for folder in folders if folder.is_dir()), None)

    def licence(self):
        text = self.texts()[0][1]
        kind = "Apache-2.0" if "Apache License" in text else "MIT" if "Permission is hereby granted, free of charge" in text else None
        if kind is None:
            fail(f"the licence of '{self.name}' is not known to this script")
        return f"{kind} WITH Swift-exception" if "Runtime Library Exception" in text else kind

    def texts(self):
        """The licences and notices of the package: name and text."""
        found = [path for path in sorted(self.folder.iterdir()) if re.match(r"(licen[cs]e|notices?|copying)(\.\w+)?$", path.name, re.I)]
        if not found:
            fail(f"'{self.name}' has no licence in '{self.folder}'")
        return [(path.name, path.read_text()) for path in found]


def packages():
    """The resolved packages of which something is linked."""
    pins = json.loads((ROOT / "packaging/packages.json").read_text())["pins"]
    everything = [Package(pin) for pin in pins]
    own = {path.name for path in (ROOT / "Sources").iterdir()}
    for module in sorted(linked_modules() - own):
        found = [(package, package.source(module)) for package in everything if module in package.declared]
        found = [(package, folder) for package, folder in found if folder]
        if not found:
            fail(f"the linked module '{module}' is in none of the resolved packages")
        # The list of objects does not say which one it is of, if several packages have it: then each of them counts.
        for package, folder in found:
            package.modules[module] = folder
            is_c = not any(folder.rglob("*.swift")) and any(path.suffix in C_SOURCES for path in folder.rglob("*"))
            if is_c and module not in VENDORED and module not in OWN_C:
                fail(f"'{module}' of '{package.name}' is in C: add it to VENDORED if others wrote it, else to OWN_C")
    return [package for package in everything if package.modules]


def vendored_version(module, folder):
    place = VENDORED[module][2]
    match = place and (folder / place[0]).is_file() and re.search(place[1], (folder / place[0]).read_text())
    return ".".join(match.groups()) if match else None


def head_comments(path):
    """The comments of a file in which licences are: those before its code, of C all comments."""
    text = path.read_text(errors="replace")
    if path.suffix not in C_SOURCES:
        text = text[:4096]
    for comment in re.findall(r"/\*.*?\*/|(?:^[ \t]*//[^\n]*\n)+|(?:^[ \t]*# [^\n]*\n)+", text, re.S | re.M):
        yield [line.strip().lstrip("/*#!").rstrip("*/").strip() for line in comment.splitlines()]


def copyright_lines(folders):
    lines = set()
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file() and (path.suffix == ".swift" or path.suffix in C_SOURCES):
                for line in (line for comment in head_comments(path) for line in comment):
                    match = COPYRIGHT.match(line)
                    # A holder or a year, and not a sentence about copyright.
                    if match and re.search(r"\d{4}|\(c\)|©|Amazon", line, re.I) and len(line) < 160:
                        lines.add(re.sub(r"\s+", " ", match.group()))
    return sorted(lines)


def terms(folder):
    """The distinct licence terms in comments of a folder's files, without those that only name the Apache licence."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in C_SOURCES:
            for comment in head_comments(path):
                text = "\n".join(line for line in comment if not COPYRIGHT.match(line)).strip("\n- =")
                if re.search(r"redistribut|permission|public domain|all copyright|AS IS", text, re.I) and "Apache License" not in text:
                    found.setdefault(re.sub(r"\W+", "", text), text)
    return list(found.values())


def toolchain():
    """The folder of the toolchain, and its version."""
    swift = os.environ.get("TOOLCHAIN") and f"{os.environ['TOOLCHAIN']}/bin/swift" or shutil.which("swift")
    if not swift:
        fail("there is no 'swift' on the PATH: name the toolchain with TOOLCHAIN")
    number = re.search(r"Swift version (\S+)", output(swift, "--version")).group(1)
    # 'swift' on the PATH may be a program that chooses among toolchains.
    resources = json.loads(output(swift, "-print-target-info"))["paths"]["runtimeResourcePath"]
    return pathlib.Path(resources).parent.parent, number


def icu_version(folder):
    header = folder / "lib/swift_static/_foundation_unicode/uvernum.h"
    return re.search(r'U_ICU_VERSION "([^"]+)"', header.read_text()).group(1)


def debian_package(path):
    """Name, version and architecture of the Debian package that a file belongs to, if it is known."""
    real = os.path.realpath(path)
    for name in dict.fromkeys((path, real, real.removeprefix("/usr"), f"/usr{real}")):
        found = subprocess.run(["dpkg-query", "--search", name], capture_output=True, text=True) if shutil.which("dpkg-query") else None
        if found and found.returncode == 0:
            package = found.stdout.split(": ")[0].split(",")[0]
            return output("dpkg-query", "--show", "--showformat=${Package} ${Version} ${Architecture}", package).split()
    return None


def libraries(program):
    """The libraries that the loader finds for a program: name and path."""
    found = re.findall(r"^\s+(\S+)(?: => (\S+))? \(0x", output("ldd", str(program)), re.M)
    return {os.path.basename(name): path or name for name, path in found if not name.startswith("linux-vdso")}


def needed(program):
    """The libraries that the program itself names."""
    return re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "--dynamic", str(program), env={**os.environ, "LC_ALL": "C"}))


def write_licences():
    folder, swift = toolchain()
    sections, texts = [], {}

    def section(title, licence, lines, named_texts):
        body = [title, "-" * len(title), f"Licence: {licence}", *lines]
        for name, text in named_texts:
            key = re.sub(r"\s+", " ", text).strip()
            if key not in texts:
                texts[key] = (len(texts) + 1, text.strip("\n"))
            body.append(f"{name}: text {texts[key][0]} below")
        sections.append("\n".join(body))

    stored = lambda name: [(f"Terms of {name}", (ROOT / "packaging/licences" / name).read_text())] if name else []
    for package in packages():
        own = [source for module, source in package.modules.items() if module not in VENDORED]
        section(f"{package.name} {package.version}", package.licence(), copyright_lines(own), package.texts())
        for module, source in package.modules.items():
            if module in VENDORED:
                name, licence, _, text = VENDORED[module]
                found = [(f"{path.name} in {module}", path.read_text()) for path in sorted(source.rglob("LICENSE*"))]
                found += [(f"Terms in {module}", text) for text in terms(source)] + stored(text)
                if not found and licence != "Apache-2.0":
                    fail(f"there are no terms of '{name}' in '{source}': store them in packaging/licences")
                section(f"{name} {vendored_version(module, source) or ''} in {package.name}", licence, copyright_lines([source]), found)
    toolchain_text = [("Licence of the Swift toolchain", (folder / "share/swift/LICENSE.txt").read_text())]
    for name, licence, headers in TOOLCHAIN_PARTS:
        lines = copyright_lines([folder / "lib/swift_static" / header for header in headers])
        if name == "ICU":
            section(f"ICU {icu_version(folder)} in swift-foundation-icu of Swift {swift}", licence, lines, stored("icu") + toolchain_text)
        else:
            section(f"{name} of Swift {swift}", licence, lines, toolchain_text)
    print("newswire is linked with the following software. Copyright lines and texts are those of its sources.\n")
    print("\n\n".join(sections))
    for number, text in texts.values():
        print(f"\n\n{'=' * 100}\nText {number}\n{'=' * 100}\n\n{text}")


def spdx_id(text):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-")


class Bill:
    """A bill of materials in SPDX 2.3, ISO/IEC 5962."""

    def __init__(self, name):
        self.name, self.packages, self.relationships = name, {}, []

    def add(self, name, number, licence="NOASSERTION", location="NOASSERTION", purl=None, **more):
        identifier = spdx_id(f"Package-{name}-{number or 'unknown'}")
        package = {
            "SPDXID": identifier, "name": name, "downloadLocation": location, "filesAnalyzed": False, "licenseConcluded": licence,
            "licenseDeclared": licence, "copyrightText": "NOASSERTION", "supplier": "NOASSERTION", **more,
        }  # fmt: skip
        if number:
            package["versionInfo"] = number
        if purl:
            package["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]
        self.packages[identifier] = package
        return identifier

    def relate(self, one, kind, other):
        entry = {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
        if entry not in self.relationships:
            self.relationships.append(entry)

    def add_debian(self, path):
        """The Debian package of a file, or the file where no package is known."""
        package = debian_package(path)
        if not package:
            return self.add(os.path.basename(path), None)
        name, number, architecture = package
        system = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', pathlib.Path("/etc/os-release").read_text(), re.M)).get("ID", "debian")
        quoted = number.replace("+", "%2B").replace(":", "%3A")
        return self.add(name, number, purl=f"pkg:deb/{system}/{name}@{quoted}?arch={architecture}")

    def text(self):
        body = {
            "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": self.name,
            "creationInfo": {
                "created": timestamp(), "creators": ["Tool: packaging/components.py"],
            },
            "hasExtractedLicensingInfos": [{
                "licenseId": "LicenseRef-Brian-Gladman", "name": "Terms of brg_endian.h",
                "extractedText": next(text for text in terms(self.gladman) if "LICENSE TERMS" in text),
            }],
            "packages": sorted(self.packages.values(), key=lambda package: package["SPDXID"]),
            "relationships": sorted(self.relationships, key=lambda entry: list(entry.values())),
        }  # fmt: skip
        # The same document always has the same name, and no address is needed for it.
        identity = uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(body, sort_keys=True))
        return json.dumps({**body, "documentNamespace": f"urn:uuid:{identity}"}, indent=1) + "\n"


def program_bill(name):
    """The bill of materials of the program; also the identifier of the program in it."""
    number, commit = version()
    bill = Bill(f"{name}-{number}")
    program = bill.add(
        "newswire", number, "Apache-2.0", primaryPackagePurpose="APPLICATION", sourceInfo=f"built from commit {commit}",
        checksums=[{"algorithm": "SHA256", "checksumValue": stripped_sha256()}],
    )  # fmt: skip
    bill.relate("SPDXRef-DOCUMENT", "DESCRIBES", program)
    for package in packages():
        address = re.sub(r"^https://", "", package.location)
        linked = bill.add(
            package.name, package.version, package.licence(), f"git+{package.location}@{package.revision}",
            f"pkg:swift/{address}@{package.version}", sourceInfo=f"revision {package.revision}",
        )  # fmt: skip
        bill.relate(program, "STATIC_LINK", linked)
        for module, folder in package.modules.items():
            if module in VENDORED:
                title, licence = VENDORED[module][:2]
                bill.gladman = folder if module == "CXKCP" else getattr(bill, "gladman", None)
                bill.relate(linked, "CONTAINS", bill.add(title, vendored_version(module, folder), licence))
    folder, swift = toolchain()
    for part, licence, _ in TOOLCHAIN_PARTS:
        bill.relate(program, "STATIC_LINK", bill.add(part, icu_version(folder) if part == "ICU" else swift, licence))
    found = libraries(built())
    for library in needed(built()):
        bill.relate(program, "DYNAMIC_LINK", bill.add_debian(found[library]))
    return bill, program


def write_sbom():
    print(program_bill("newswire")[0].text(), end="")


if __name__ == "__main__":
    commands = {"licences": write_licences, "sbom": write_sbom}
    if len(sys.argv) != 2 or sys.argv[1] not in commands:
        print("usage: packaging/components.py licences | sbom", file=sys.stderr)
        sys.exit(64)
    commands[sys.argv[1]]()
