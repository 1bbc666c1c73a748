#!/usr/bin/env python3
"""Takes the pictures of the README and the documents, from the data of `newswire demo`.

    Tests/Browser/pictures.py .build/debug/newswire docs/images

The demo is a few seconds old, so the pictures of the overview get figures of three days that are made up.
"""

import argparse
import contextlib
import json
import math
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import browsers
from cases import follow

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
START_SECONDS = 120
SIZES = {"reader": (1120, 900), "overview": (1280, 960), "desk": (1280, 1000)}


class Demo:
    """`newswire demo`, running until the end of the block."""

    def __init__(self, program):
        self.program = program
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NEWSWIRE_")}
        self.output = tempfile.NamedTemporaryFile("w+")
        self.process = subprocess.Popen(
            [program, "demo", "--samples", f"{ROOT}/feeds/samples"],
            env=environment, stdout=self.output, stderr=self.output,
        )
        self.page = self.wait(r"open\s+(http\S+)")
        self.operator = self.wait(r"(http\S+/admin/enter\S+)")
        self.state = os.path.dirname(self.wait(r"NEWSWIRE_CONNECTION_FILE=(\S+)"))

    def wait(self, pattern):
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            with open(self.output.name) as file:
                if found := re.search(pattern, file.read()):
                    return found.group(1)
            time.sleep(0.05)
        with open(self.output.name) as file:
            raise OSError(f"the demo does not start: {file.read()[-1000:]}")

    def add_figures(self):
        now = int(time.time()) // 3600
        with contextlib.closing(sqlite3.connect(f"{self.state}/hub.sqlite", timeout=10)) as database:
            hub = database.execute("SELECT hubID FROM hub").fetchone()[0]
            for age in range(72):
                hour = now - age
                day = max(0.0, math.sin((hour % 24 - 5) / 24 * 2 * math.pi) + 0.4)
                count = int(14 * day + hour * 7919 % 5)
                figures = {
                    "accepted": count, "written": count * 38, "streams": 40 + int(30 * day),
                    "outcomes": {"Success": count * 92, "WrongToken": count // 4, "BadChannel": hour % 7 // 6 * 3},
                    "registrations": {"apns": 640 - age, "fcmv1": 520 - age // 2, "browser": 88 - age // 9},
                    # By the positions of their sizes in `TimeHistogram.limits`.
                    "times": {"stream": {"3": count, str(6 + hour % 3): 1}, "apns": {"11": count, str(13 + hour % 4): 1}} if count else {},
                }
                database.execute(
                    "INSERT OR REPLACE INTO figure VALUES (?, 3600, ?, ?)", (hub, hour * 3_600_000, json.dumps(figures))
                )
            database.commit()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


def show(tab, demo, name):
    """Opens the page of a picture."""
    if name == "reader":
        tab.go(demo.page)
    elif name == "overview":
        tab.go(f"{demo.page}admin/")
    else:
        tab.go(f"{demo.page}admin/send?category=World")
        for field, value in [
            ("title", "Minister resigns after report"), ("text", "A successor will be named this afternoon."),
            ("urgency", "critical"),
        ]:
            tab.js(f"document.querySelector('form.desk [name={field}]').value = {json.dumps(value)}")
        follow(tab, "form.desk .actions button")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder", help="where the pictures are written")
    options = parser.parse_args()
    demo = Demo(os.path.abspath(options.program))
    try:
        demo.add_figures()
        browser = browsers.chromium()
        try:
            tab = browser.new_visitor().open("about:blank")
            tab.go(demo.operator)
            follow(tab, "main form button")
            for name, (width, height) in SIZES.items():
                tab.resize(width, height)
                for scheme in ("light", "dark"):
                    tab.emulate("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
                    show(tab, demo, name)
                    tab.screenshot(f"{options.folder}/{name}-{scheme}.png", origin="viewport")
        finally:
            browser.close()
    finally:
        demo.end()


if __name__ == "__main__":
    sys.exit(main())
