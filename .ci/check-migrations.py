#!/usr/bin/env python3
"""usage: .ci/check-migrations.py

Checks that docs/upgrading.md lists the migrations of every database, in their order."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/upgrading.md"
# The section of the page for each file of Sources that registers migrations.
SECTIONS = {
    "HubStore/Schema/Schema.swift": "Hub",
    "AppBackend/Store/BackendStore.swift": "App backend",
    "PageServer/Sessions/PageStore.swift": "Pages",
    "FeedPublisher/Store/PublisherStore+Schema.swift": "Publisher",
    "SubscriberAgent/Store/AgentStore+Schema.swift": "Agent",
}
# The hub's migrations are registered by a function of its own, and those that only run statements by a table.
NAME = re.compile(r'(?:(?:registerMigration|^ +add)\(\s*|^ +(?=".*": """$))"((?:[^"\\]|\\.)*)"', re.M)
REGISTERS = re.compile(r"registerMigration\(|DatabaseMigrator\(\s*steps:")
ROW = re.compile(r"^\| `([^`]*)` \|", re.M)

problems = []
sections = dict(re.findall(r"^### (.+?)\n(.*?)(?=^##|\Z)", PAGE.read_text(), re.M | re.S))
found = {str(path.relative_to(ROOT / "Sources")) for path in (ROOT / "Sources").rglob("*.swift") if REGISTERS.search(path.read_text())}
# The table's reader.
found.discard("SQLiteFiles/DatabaseMigrator+Steps.swift")
for path in sorted(found - set(SECTIONS)):
    problems.append(f"Sources/{path} registers migrations, and .ci/check-migrations.py does not know their section of {PAGE.name}")
for path, section in SECTIONS.items():
    registered = NAME.findall((ROOT / "Sources" / path).read_text()) if path in found else []
    listed = ROW.findall(sections.get(section, ""))
    if not registered:
        problems.append(f"Sources/{path} registers no migration: correct .ci/check-migrations.py")
    for name in registered:
        if name not in listed:
            problems.append(f"docs/upgrading.md: the migration '{name}' of Sources/{path} is missing in the section '{section}'")
    for name in listed:
        if name not in registered:
            problems.append(f"docs/upgrading.md: the section '{section}' lists '{name}', which Sources/{path} does not register")
    if sorted(listed) == sorted(registered) and listed != registered:
        problems.append(f"docs/upgrading.md: the section '{section}' is not in the order of Sources/{path}")

print("\n".join(problems), end="\n" if problems else "")
sys.exit(1 if problems else 0)
