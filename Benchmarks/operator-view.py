#!/usr/bin/env python3
"""The operator's view of a hub with many registrations, and sends beside it.

    Benchmarks/operator-view.py .build/release/newswire [--count 1000000] [--messages 10000] [--seconds 10]

Registers devices as registrations.py does, and sends messages to one user's tag each; figures of 90 days are written to the hub's file. Then a browser with an operator's session loads the
pages of the view one after the other; the overview and the other pages have the median and the 95th percentile of 50 loads.

Then one client sends messages one by one, in turns alone and while the operator loads the overview ten times a second.

Fails when the median of the overview is above 100 ms, or when sends beside it have a median of more than 1.2 times, or a 99th percentile of more than
20 ms above, that of sends alone.
"""
import argparse, contextlib, http.client, json, os, re, signal, sqlite3, statistics, subprocess, sys, tempfile, threading, time

import registrations as hub_client
from importlib import import_module

OVERVIEW_MS, RATIO, TAIL_MS, LOADS, PER_SECOND = 100, 1.2, 20, 50, 10
PAGES = ["", "messages", "devices", "devices?by=tag&q=Category7", "categories", "publishers", "alarms", "scheduled", "audit"]
exchange = import_module("app-backend").exchange


def send(authorization, number):
    body = b'{"title":"A headline of a usual length","messageParam":"A sentence."}'
    return (
        f"POST /news/messages/?api-version=2020-06 HTTP/1.1\r\nHost: localhost\r\nAuthorization: {authorization}\r\n"
        "Content-Type: application/json\r\nServiceBusNotification-Format: template\r\n"
        f"ServiceBusNotification-Tags: user:{number}\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


class Operator:
    """A browser with an operator's session."""

    def __init__(self, program, folder):
        done = subprocess.run(
            [program, "hub", "invite", "--operator", "--state", f"{folder}/state"],
            env={**os.environ, "HOME": folder}, capture_output=True, text=True, check=True,
        )
        code = re.search(r"code=([\w.-]+)", done.stdout)[1]
        self.connection = http.client.HTTPConnection("127.0.0.1", hub_client.PORT)
        self.connection.request("POST", "/-/news/admin/enter", f"code={code}", {"Sec-Fetch-Site": "same-origin"})
        reply = self.connection.getresponse()
        reply.read()
        self.cookie = reply.getheader("Set-Cookie").split(";")[0]

    def load(self, page):
        """Milliseconds until the whole page is here."""
        begin = time.perf_counter()
        self.connection.request("GET", f"/-/news/admin/{page}", headers={"Cookie": self.cookie})
        reply = self.connection.getresponse()
        text = reply.read()
        if reply.status != 200:
            sys.exit(f"the page '{page}' is answered {reply.status}")
        return 1000 * (time.perf_counter() - begin), text.decode()


def add_figures(folder):
    """Writes the figures of every minute of three days, and of every hour of 90, as the hub does."""
    record = json.dumps({
        "accepted": 40, "written": 9_000, "streams": 250, "registrations": {"apns": 900_000, "fcmv1": 700_000, "stream": 300},
        "outcomes": {"Success": 8_000, "WrongToken": 3}, "times": {"stream": {"3": 30, "9": 9, "15": 1}, "apns": {"12": 39}},
        "logBytes": 10**7, "freeBytes": 10**10,
    })
    with contextlib.closing(sqlite3.connect(f"{folder}/state/hub.sqlite", timeout=60)) as database:
        hub = database.execute("SELECT hubID FROM hub").fetchone()[0]
        for span, count in [(60, 3 * 1_440), (3_600, 90 * 24)]:
            now = int(time.time()) // span
            rows = [(hub, span, (now - age) * span * 1_000, record) for age in range(count)]
            database.executemany("INSERT OR REPLACE INTO figure VALUES (?, ?, ?, ?)", rows)
        database.commit()


def percentile(times, share):
    return sorted(times)[int(len(times) * share)]


def measure_pages(operator, count, failures):
    _, overview = operator.load("")
    if f"{count} apns" not in overview:
        sys.exit("the overview does not count the registrations")
    for page in PAGES:
        times = [operator.load(page)[0] for _ in range(LOADS)]
        median = statistics.median(times)
        print(f"{page or 'overview'}: {median:.1f} ms, p95 {percentile(times, 0.95):.1f} ms")
        if not page and median > OVERVIEW_MS:
            failures.append(f"the overview takes {median:.0f} ms")


def sends(authorization, seconds, first):
    """Sends one by one; milliseconds of each."""
    client, times, end = import_module("app-backend").Client(hub_client.PORT), [], time.monotonic() + seconds
    while time.monotonic() < end:
        begin = time.perf_counter()
        status, body = client.send(send(authorization, first + len(times)))
        if status != 201:
            sys.exit(f"a send is answered {status}: {body.decode()}")
        times.append(1000 * (time.perf_counter() - begin))
    return times


def measure_sends(operator, authorization, seconds, failures):
    alone, beside, rounds = [], [], 4
    for _ in range(rounds):
        alone += sends(authorization, seconds / rounds, len(alone) + len(beside))
        stop = threading.Event()

        def watch():
            while not stop.wait(1 / PER_SECOND):
                operator.load("")

        watcher = threading.Thread(target=watch)
        watcher.start()
        beside += sends(authorization, seconds / rounds, len(alone) + len(beside))
        stop.set()
        watcher.join()
    medians = [statistics.median(times) for times in (alone, beside)]
    tails = [percentile(times, 0.99) for times in (alone, beside)]
    print(
        f"sends alone: {medians[0]:.2f} ms p50, {tails[0]:.1f} ms p99; beside {PER_SECOND} overviews a second: "
        f"{medians[1]:.2f} ms p50, {tails[1]:.1f} ms p99 ({len(alone):,} and {len(beside):,})"
    )
    if medians[1] > RATIO * medians[0]:
        failures.append(f"sends beside the overview have {medians[1] / medians[0]:.2f} times the median")
    if tails[1] > tails[0] + TAIL_MS:
        failures.append(f"sends beside the overview have a 99th percentile of {tails[1]:.0f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--seconds", type=int, default=10, help="of sends, alone and beside the overview each")
    options = parser.parse_args()
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        hub, _ = hub_client.start(options.program, folder)
        threading.Thread(target=lambda: [None for _ in hub.stderr], daemon=True).start()
        try:
            authorization = hub_client.token(f"{folder}/state")
            _, took = hub_client.exchange(hub_client.writes(authorization, 0, options.count), 256)
            print(f"{options.count:,} registrations in {took:.0f} s; {hub_client.resident(hub)} MB resident")
            exchange(hub_client.PORT, [send(authorization, n) for n in range(options.messages)], 64, {201})
            operator = Operator(options.program, folder)
            add_figures(folder)
            measure_pages(operator, options.count, failures)
            measure_sends(operator, authorization, options.seconds, failures)
        finally:
            hub.send_signal(signal.SIGTERM)
            hub.wait()
    sys.exit("; ".join(failures) if failures else 0)


if __name__ == "__main__":
    main()
