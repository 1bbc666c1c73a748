#!/usr/bin/env python3
"""usage: .ci/check-links.py

Checks what the pages of this repository refer to: files and anchors of links, Swift files that they name, and that docs/README.md lists every
page. Checks that sections that code cites exist, and that README.md is short."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
README_LINES = 150
# Pages that comments cite by section: "protocol §3.4, §3.5", also where a comment goes on in its next line.
CITED = {"protocol": "docs/protocol.md", "feeds.md": "docs/feeds.md"}
CITATION = re.compile(r"\b([\w.-]+)`? (§\d+(?:\.\d+)*(?:,\s+(?:///?\s+)?§\d+(?:\.\d+)*)*)")
# Rows of the table in section 0, and headings.
SECTION = re.compile(r"^(?:#+ |\| )(\d+(?:\.\d+)*) ", re.M)

problems = []


def report(path, line, text):
    problems.append(f"{path.relative_to(ROOT)}:{line}: error: {text}")


def without_code(text):
    """The text with code blanked out, so that line numbers stay."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group())
    text = re.sub(r"^```.*?^```", blank, text, flags=re.S | re.M)
    text = re.sub(r"<!--.*?-->", blank, text, flags=re.S)
    return re.sub(r"`[^`]*`", blank, text)


def anchors(path, known={}):
    """The anchors of a page's headings, as GitHub makes them."""
    if path not in known:
        slugs = set()
        text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.S | re.M)
        for heading in re.findall(r"^#+ +(.+?) *$", text, flags=re.M):
            heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
            slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            copies = (f"{slug}-{number}" for number in range(1, 1000))
            slugs.add(slug if slug not in slugs else next(copy for copy in copies if copy not in slugs))
        known[path] = slugs
    return known[path]


def check_target(page, line, target):
    if re.match(r"[a-z][a-z0-9+.-]*:", target, re.I):
        return
    name, _, anchor = target.partition("#")
    path = (page.parent / name).resolve() if name else page
    if not path.exists():
        report(page, line, f"there is no file '{name}'")
    elif anchor and path.suffix == ".md" and anchor not in anchors(path):
        report(page, line, f"'{path.name}' has no heading for '#{anchor}'")


def check_page(page, swift_files):
    text = page.read_text()
    visible = without_code(text)
    for match in re.finditer(r"\]\(\s*<?([^)\s>]+)>?\s*\)|\b(?:src|href|srcset)=\"([^\"]+)\"", visible):
        check_target(page, visible.count("\n", 0, match.start()) + 1, match.group(1) or match.group(2))
    for match in re.finditer(r"`([\w/+.-]+\.swift)`", text):
        if not any(file.endswith("/" + match.group(1)) for file in swift_files):
            report(page, text.count("\n", 0, match.start()) + 1, f"there is no file '{match.group(1)}'")


def check_citations():
    sections = {name: set(SECTION.findall((ROOT / page).read_text())) for name, page in CITED.items()}
    for folder in ("Sources", "Tests", "Fuzz", "Benchmarks"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".swift", ".py", ".h", ".c"):
                continue
            text = path.read_text(errors="replace")
            for match in CITATION.finditer(text):
                name, line = match.group(1).lower(), text.count("\n", 0, match.start()) + 1
                if name.endswith(".md") and name not in CITED:
                    report(path, line, f"'{match.group(1)}' is not a page that is cited by section")
                for section in re.findall(r"§(\d+(?:\.\d+)*)", match.group(2)) if name in CITED else []:
                    if section not in sections[name]:
                        report(path, line, f"{CITED[name]} has no section {section}")


pages = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("Benchmarks/*.md"), *ROOT.glob("feeds/**/*.md")])
swift_files = ["/" + str(path.relative_to(ROOT)) for folder in ("Sources", "Tests", "Fuzz", ".ci") for path in (ROOT / folder).rglob("*.swift")]
for page in pages:
    check_page(page, [*swift_files, "/Package.swift"])
check_citations()

contents = ROOT / "docs/README.md"
listed = set(re.findall(r"\]\(([^)#]+)", contents.read_text()))
for page in sorted((ROOT / "docs").rglob("*.md")):
    name = str(page.relative_to(ROOT / "docs"))
    if page != contents and name not in listed:
        report(contents, 1, f"'{name}' is not listed")
lines = len((ROOT / "README.md").read_text().splitlines())
if lines > README_LINES:
    report(ROOT / "README.md", lines, f"{lines} lines; at most {README_LINES}, the rest belongs in docs/")

print("\n".join(problems), end="\n" if problems else "")
sys.exit(1 if problems else 0)
