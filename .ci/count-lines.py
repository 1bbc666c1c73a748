#!/usr/bin/env python3
"""usage: .ci/count-lines.py [COMMIT]

Prints the number of lines of code of each module in Sources, of the working tree or of a commit. Comments, blank lines, imports and lines that only close
brackets do not count, so that merging files and formatting change nothing."""

import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUFFIXES = {".swift", ".c", ".h", ".js", ".css", ".html", ".mustache"}
# A text in quotes, which may contain what looks like a comment, or a comment. Swift's texts of several lines come first.
TOKENS = re.compile(r'"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|/\*[\s\S]*?\*/|//[^\n]*|<!--[\s\S]*?-->|\{\{![\s\S]*?\}\}')
IGNORED = re.compile(r"\s*(?:(?:(?:@\w+|internal|package|public|private|fileprivate)\s+)*import\s.*|#include\s.*|[\])}>;,()\s]*)$")


def lines(text):
    code = TOKENS.sub(lambda found: found[0] if found[0][0] == '"' else "\n" * found[0].count("\n"), text)
    return sum(not IGNORED.match(line) for line in code.split("\n"))


def files(commit):
    def git(*arguments):
        return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True, cwd=ROOT).stdout

    names = git("ls-tree", "-r", "--name-only", commit, "Sources") if commit else git("ls-files", "Sources")
    for name in names.splitlines():
        if pathlib.Path(name).suffix in SUFFIXES:
            if commit:
                yield name, git("show", f"{commit}:{name}")
            elif (ROOT / name).exists():
                yield name, (ROOT / name).read_text()


def main():
    counts = collections.Counter()
    for name, text in files(sys.argv[1] if len(sys.argv) > 1 else None):
        counts[name.split("/")[1]] += lines(text)
    for module, count in counts.most_common():
        print(f"{count:7,}  {module}")
    print(f"{counts.total():7,}  in all")


main()
