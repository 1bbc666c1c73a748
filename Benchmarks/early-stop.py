#!/usr/bin/env python3
"""Stops hubs within the first second of their start, and reports what they print and how they end.

    Benchmarks/early-stop.py [--binary PATH] [--starts 40]

The moments of SIGTERM are spread over the first second; every second start finds no state. A hub that is stopped before it
handles signals is ended by the signal (-15); any other one must end with 0. Ends with 1 if a hub printed an error, among them
NIO's "Cannot schedule tasks on an EventLoop that has already shut down", or did not end.
"""
import argparse
import collections
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PATIENCE = 30  # seconds a hub may take to stop


def stop_early(binary: str, state: str, delay: float) -> tuple[int | None, str]:
    """Starts a hub, stops it after `delay` seconds; its exit code (None if it hangs) and what it printed."""
    hub = subprocess.Popen(
        [binary, "hub", "--port", "0", "--state", state],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "SWIFT_BACKTRACE": "enable=no"},
    )
    time.sleep(delay)
    hub.send_signal(signal.SIGTERM)
    try:
        return hub.wait(PATIENCE), hub.stderr.read()
    except subprocess.TimeoutExpired:
        hub.kill()
        hub.wait()
        return None, hub.stderr.read()
    finally:
        hub.stderr.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=".build/release/newswire")
    parser.add_argument("--starts", type=int, default=40)
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="newswire-early-")
    codes, bad = collections.Counter(), []
    try:
        for number in range(options.starts):
            state = os.path.join(folder, "hub")
            if number % 2 == 0:
                shutil.rmtree(state, ignore_errors=True)
            delay = (number + 1) / options.starts
            code, printed = stop_early(options.binary, state, delay)
            codes[code] += 1
            if code not in (0, -signal.SIGTERM) or "EventLoop" in printed or " error " in printed:
                bad.append((delay, code, printed.strip()))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{options.starts} starts; exit codes {dict(codes)}; {len(bad)} bad")
    for delay, code, printed in bad:
        print(f"after {delay:.3f} s, exit {code}: {printed}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
