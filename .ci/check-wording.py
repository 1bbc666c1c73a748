#!/usr/bin/env python3
"""usage: .ci/check-wording.py [MODULE…]

Checks doc comments and string literals of Sources, the text of README.md, CHANGELOG.md and docs/, and the identifiers and the names of
tests in Sources, Tests and Fuzz, against the phrases in .ci/wording/phrases. No two modules may have a type of the same name.
.ci/wording/exceptions names the modules that are not yet checked and the texts that may stay, and .ci/wording/names the names that may; an
entry that nothing needs is an error. A module that is named on the command line is checked in any case, without its names.
JSON is not glued from strings: .ci/wording/json has the number of lines that each file may still have."""

import collections
import functools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|(?P<hashes>#+)"(?:""(?P<raw3>.*?)"""|(?P<raw>.*?)")(?P=hashes)'
    r'|"""(?P<long>.*?)(?<!\\)"""|"(?P<short>(?:\\\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|\\.|[^"\\\n])*)"',
    re.S,
)

# A comment, or a literal with all of its code: names are checked where they are declared.
INTERPOLATED = re.compile(r'/(?:\\.|[^\\/\n\s])(?:\\.|[^\\/\n])*/(?=[,)])|' + TOKEN.pattern, re.S)

# A name and its colon in a literal, or values joined between brackets.
GLUED = re.compile(r'[{,"]\\?"[\w$@.-]+\\?" ?:(?! )|[\w)]\\?":\\#?\(|"[\[{]\\#?\(.*joined\(separator: ","\)\)[\]}]')

TYPE = re.compile(r"^(?:(?:package|public|final|indirect|nonisolated) )*(?:struct|class|enum|actor|protocol) (\w+)", re.M)


def lines_of(name):
    """The lines of a file that are not comments."""
    for line in (ROOT / ".ci/wording" / name).read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            yield line


def phrases():
    for line in lines_of("phrases"):
        kind, pattern, advice = re.fullmatch(r"(doc|text) +/(.+)/  +(.+)", line).groups()
        # Words may be on two lines.
        yield kind, re.compile(pattern.replace(" ", r"\s+"), re.I if kind == "text" else 0), advice


def doc_comments(text):
    """Each doc comment with its line, without its code."""
    for match in re.finditer(r"(?:^[ \t]*///[^\n]*\n)+", text, re.M):
        yield text.count("\n", 0, match.start()) + 1, prose(re.sub(r"^[ \t]*/// ?", "", match.group(), flags=re.M))


def literals(text):
    """Each string literal with its line, without interpolated code."""
    for match in TOKEN.finditer(text):
        literal = next((part for part in match.group("raw3", "raw", "long", "short") if part is not None), None)
        if literal is not None:
            # A line of a long literal that ends in a backslash goes on in the next.
            literal = re.sub(r"\\\n\s*", lambda match: match.group().strip("\\ "), literal)
            yield text.count("\n", 0, match.start()) + 1, re.sub(r"\\\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", "…", literal)


def names(text):
    """Each identifier and each quoted name of the code with its line and words."""
    code = INTERPOLATED.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    for match in re.finditer(r"`([^`\n]+)`|\b[A-Za-z_]\w*", code):
        name = match[1] or match[0]
        yield code.count("\n", 0, match.start()) + 1, name, re.sub(r"_|(?<=[a-z0-9])(?=[A-Z])", " ", name)


def check_names(rules):
    """Prints the names that break a rule, and the types of one name in two modules; returns their number."""
    allowed = {tuple(line.split("  ")[0].split(" ", 1)) for line in lines_of("names")}
    unused, problems, modules = set(allowed), 0, collections.defaultdict(dict)
    patterns = [(pattern, advice) for kind, pattern, advice in rules if kind == "text"]

    @functools.cache
    def problem(words):
        return next(((match.group(), advice) for pattern, advice in patterns if (match := pattern.search(words))), None)

    for path in (path for folder in ["Sources", "Tests", "Fuzz"] for path in sorted((ROOT / folder).rglob("*.swift"))):
        file, text, reported = str(path.relative_to(ROOT)), path.read_text(), set()
        for number, name, words in names(text):
            found = problem(words)
            if found is None or name in reported:
                continue
            reported.add(name)
            if (file, name) in allowed:
                unused.discard((file, name))
                continue
            problems += 1
            print(f"{file}:{number}: error: '{found[0]}' in the name '{name}': {found[1]}")
        for name in TYPE.findall(text) if file.startswith("Sources/") else []:
            modules[name].setdefault(path.relative_to(ROOT).parts[1], file)
    for name, files in sorted(modules.items()):
        if len(files) > 1 and ("type", name) in allowed:
            unused.discard(("type", name))
        elif len(files) > 1:
            problems += 1
            print(f"{', '.join(files.values())}: error: modules have types of one name, '{name}': rename one of them")
    for entry in sorted(unused):
        problems += 1
        print(f".ci/wording/names: error: nothing needs the entry \"{' '.join(entry)}\"")
    return problems


def check_json():
    """Prints the files whose number of lines that glue JSON is not the allowed one; returns their number."""
    allowed = {path: int(count) for count, path, _ in (line.split(maxsplit=2) for line in lines_of("json"))}
    problems = 0
    for path in sorted((ROOT / "Sources").rglob("*.swift")):
        name, lines = str(path.relative_to(ROOT)), path.read_text().splitlines()
        found = [number for number, line in enumerate(lines, 1) if GLUED.search(line) and not line.lstrip().startswith("//")]
        limit = allowed.pop(name, 0)
        if len(found) > limit:
            problems += 1
            print(f"{name}:{found[0]}: error: {len(found)} lines look like glued JSON, {limit} are allowed: write JSON with JSONText")
        elif len(found) < limit:
            problems += 1
            print(f".ci/wording/json: error: '{name}' has {len(found)} lines that look like glued JSON, not {limit}: correct the number")
    for name in sorted(allowed):
        problems += 1
        print(f".ci/wording/json: error: there is no '{name}'")
    return problems


def covers(phrase, words, match):
    """True if an exception's phrase is in the text at the place of the match."""
    return any(at.start() <= match.start() and match.end() <= at.end() for at in re.finditer(re.escape(phrase), words))


def prose(text):
    """The text of a page without its code; lines stay."""
    return re.sub(r"^```.*?^```|`[^`]*`", lambda match: re.sub(r"[^\n]", "·", match.group()), text, flags=re.S | re.M)


def texts(wanted, unchecked):
    """The texts to check: for each file its name, its path, and kind, line and words of its texts."""
    for path in sorted((ROOT / "Sources").rglob("*.swift")):
        module = path.relative_to(ROOT / "Sources").parts[0]
        if module in wanted or (not wanted and module not in unchecked):
            text = path.read_text()
            comments = list(doc_comments(text))
            found = [("doc", *comment) for comment in comments] + [("text", *words) for words in comments + list(literals(text))]
            yield str(path.relative_to(ROOT / "Sources")), str(path.relative_to(ROOT)), found
    for path in [] if wanted else [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        name = str(path.relative_to(ROOT))
        paragraphs = prose(path.read_text())
        yield name, name, [
            ("text", paragraphs.count("\n", 0, match.start()) + 1, match.group())
            for match in re.finditer(r"(?:[^\n]+\n?)+", paragraphs)
        ]


def main(wanted):
    unchecked, allowed = set(), []
    for line in lines_of("exceptions"):
        if line.startswith("module "):
            unchecked.add(line.split()[1])
        else:
            path, phrase, _ = re.fullmatch(r'(\S+) +"(.+)"  +(.+)', line).groups()
            allowed.append((path, phrase))
    rules = list(phrases())
    unused, problems = set(allowed), 0
    for name, path, found in texts(wanted, unchecked):
        for kind, number, words in found:
            for rule, pattern, advice in rules:
                for match in pattern.finditer(words) if rule == kind else []:
                    exceptions = [entry for entry in allowed if entry[0] == name and covers(entry[1], words, match)]
                    unused.difference_update(exceptions)
                    if not exceptions:
                        problems += 1
                        line = number + words.count("\n", 0, match.start())
                        print(f"{path}:{line}: error: '{' '.join(match.group().split())}': {advice}")
    if not wanted:
        problems += check_names(rules) + check_json()
        for path, phrase in sorted(unused):
            problems += 1
            print(f".ci/wording/exceptions: error: nothing in '{path}' needs the exception \"{phrase}\"")
    if problems:
        print(f"wording: {problems} to rewrite", file=sys.stderr)
    return 1 if problems else 0


sys.exit(main(set(sys.argv[1:])))
