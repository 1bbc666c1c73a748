#!/usr/bin/env python3
"""Runs the built program's pages in real browsers.

    Tests/Browser/run.py .build/debug/newswire [--browser firefox] [--only WORD] [--rounds 20] [--verbose]

Prints what failed, and the sum. Screenshots of every page and state are in `.build/screenshots`.
"""

import argparse
import os
import shutil
import sys
import tempfile
import threading
import time
import traceback

import access  # noqa: F401 - the cases add themselves
import browsers
import lasting  # noqa: F401
import looks  # noqa: F401
import operators  # noqa: F401
import reading  # noqa: F401
import users  # noqa: F401
import webpush  # noqa: F401
from cases import CASES, Try
from hub import Hub

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DARK = "layout.css.prefers-color-scheme.content-override"
PROFILES = {
    "light": [(DARK, 1)],
    "dark": [(DARK, 0)],
    "scriptless": [("javascript.enabled", False)],
}


class Runner:
    """The cases of one browser, one after the other."""

    def __init__(self, kind, options, axe):
        self.kind, self.options, self.axe = kind, options, axe
        self.browsers = {}
        self.passed, self.failed = 0, []

    def run(self):
        cases = [case for case in CASES if self.options.only.lower() in case.name.lower()]
        # Each profile's browser runs for its cases alone.
        cases.sort(key=lambda case: list(PROFILES).index(case.profile))
        try:
            for number in range(self.options.rounds):
                for case in cases:
                    if number == 0 or not case.slow:
                        self.attempt(case, number)
        finally:
            self.close()

    def browser(self, profile):
        # Chromium's profiles differ by what each tab is told.
        key = profile if self.kind == "firefox" else ""
        if key not in self.browsers:
            self.close()
            self.browsers[key] = browsers.firefox(PROFILES[profile]) if self.kind == "firefox" else browsers.chromium()
        return self.browsers[key]

    def close(self):
        for browser in self.browsers.values():
            browser.close()
        self.browsers.clear()

    def attempt(self, case, number):
        for left in reversed(range(self.options.tries)):
            begin = time.monotonic()
            reasons = self.play(case)
            if not reasons:
                self.passed += 1
                if self.options.verbose:
                    print(f"✔ {self.kind}: {case.name} ({time.monotonic() - begin:.1f} s)", flush=True)
                return
            again = "; once more" if left else ""
            lines = [f"✘ {self.kind}, round {number + 1}: {case.name}{again}", *(f"↳ {r}" for r in reasons)]
            print(*lines, sep="\n", flush=True)
        self.failed.append(case.name)

    def play(self, case):
        """Why the case failed; nothing if it passed."""
        folder = tempfile.mkdtemp(prefix="newswire-pages-")
        hub = trial = None
        reasons = []
        try:
            hub = Hub(self.options.program, folder, *case.options, categories=case.categories)
            trial = Try(case, self.browser(case.profile), hub, self.options.screenshots, self.axe)
            case.function(trial)
            reasons += [f"console: {text}" for text in trial.unexpected()]
        except Exception as error:  # One case must not end the others.
            place = traceback.extract_tb(error.__traceback__)
            lines = [f"{os.path.basename(frame.filename)}:{frame.lineno}" for frame in place[1:]]
            reasons.append(f"{type(error).__name__}: {error} ({' < '.join(reversed(lines))})")
            try:
                reasons += [f"console: {text}" for text in trial.unexpected()] if trial else []
            except Exception:  # The browser has gone, as the reason above says.
                self.close()
        finally:
            try:
                if trial and self.browsers:
                    trial.finish()
            except Exception as error:  # Nor must its end.
                reasons.append(f"cannot close its tabs: {error}")
                self.close()
            if hub:
                hub.stop()
            shutil.rmtree(folder, ignore_errors=True)
        return reasons


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--browser", choices=["firefox", "chromium"], help="without it: both, at the same time")
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--tries", type=int, default=1, help="how often a case may fail before it has failed")
    parser.add_argument("--screenshots", default=f"{ROOT}/.build/screenshots")
    parser.add_argument("--axe", help="axe.min.js; without it accessibility is not judged")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    options.program = os.path.abspath(options.program)
    os.makedirs(options.screenshots, exist_ok=True)
    axe = None
    if options.axe:
        with open(options.axe) as file:
            axe = file.read()
    runners = [Runner(kind, options, axe) for kind in ([options.browser] if options.browser else ["firefox", "chromium"])]
    begin = time.monotonic()
    threads = [threading.Thread(target=runner.run) for runner in runners]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    passed, failed = sum(runner.passed for runner in runners), sum(len(runner.failed) for runner in runners)
    judged = "" if axe else "; accessibility not judged"
    print(f"pages: {passed} passed, {failed} failed in {time.monotonic() - begin:.0f} s{judged}")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
