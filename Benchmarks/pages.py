#!/usr/bin/env python3
"""What the reader's page costs a browser and the hub.

    Benchmarks/pages.py .build/release/newswire [--count 2000] [--messages 50]

1. Bytes of page, script and style, uncompressed, with 50 messages and 100 categories; the time to its first byte and to its last
   (median of 200); with Chromium here, the time to the first paint (median of 20).
2. Memory and CPU time of streams of pages beside as many of agents, of the same hub after a new start, each message to all of them.
3. The time from a send to its event on a page's stream, p50 and p99 of 200.
4. The same while 10,000 readers without a session come in a minute, each from an address of its own, look at the page and subscribe.

Everything stays on loopback. Fails above 70 KB, 100 ms to the first byte or paint, 1.2 times what agents cost, or 50 ms p50; when a stream lacks a
message or gets one twice; and when a visitor gets another answer than the page and a session, or is not served within the minute.
"""
import argparse, base64, collections, hashlib, http.client, json, multiprocessing, os, re, selectors, shutil, signal, socket, sqlite3, statistics, sys
import tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{HERE}/../Tests/Browser")
sys.dont_write_bytecode = True
from hub import Hub

SHOWN, CATEGORIES = 50, 100
VISITORS, VISIT_SECONDS = 10_000, 60
BYTES, FIRST_BYTE_MS, SHARE, LATENCY_MS = 70_000, 100, 1.2, 50
CHANNEL = "A" * 43
# Streams that are open before those that are measured, and streams that are opened at once.
FIRST, AT_ONCE = 100, 100
# The agent's own template, which sessions of pages register as well.
MEMBERS = {"title": "title", "message": "messageParam", "link": "link"} | {
    name: name for name in ("category", "image", "secureId", "urgency", "story", "status", "replaces")
}
TEMPLATE = json.dumps({member: f"$({name})" for member, name in MEMBERS.items()}, separators=(",", ":"))


def sessions(hub, count):
    """Puts sessions into the hub's file, since one network may not begin so many, and gives their cookies."""
    cookies, rows, now = [], [], int(time.time() * 1000)
    for number in range(count):
        name, secret = (base64.urlsafe_b64encode(os.urandom(24)).decode() for _ in range(2))
        cookies.append(f"__Host-newswire-news={name}.{secret}")
        digest = hashlib.sha256(secret.encode()).digest()
        rows.append((name, digest, "news", "bench", f"page-{number}", CHANNEL, '["World"]', now, now))
    with sqlite3.connect(f"{hub.state}/pages.sqlite", timeout=30) as database:
        database.executemany(
            "INSERT INTO session (name, secretHash, hub, network, installation, channel, categories, createdAt, seenAt)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows,
        )
    return cookies


def cost(hub):
    """Milliseconds of CPU time and bytes resident of the hub so far."""
    with open(f"/proc/{hub.process.pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    with open(f"/proc/{hub.process.pid}/status") as file:
        resident = int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) * 1024
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), resident


def register(hub, requests):
    """Registers the agents of streams, at once and each on a connection of its own."""
    connections = []
    for path, headers in requests:
        agent = path.split("/")[3]
        body = json.dumps({
            "installationId": agent, "platform": "stream", "pushChannel": CHANNEL, "tags": ["World"],
            "templates": {"newswire": {"body": TEMPLATE}},
        })
        connection = socket.create_connection(("127.0.0.1", hub.port), 30)
        head = f"PUT /news/installations/{agent} HTTP/1.1\r\nHost: 127.0.0.1:{hub.port}\r\n{headers}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        connection.sendall((head + body).encode())
        connections.append(connection)
    for connection in connections:
        with connection:
            answer = connection.recv(1 << 16)
            if not answer.startswith(b"HTTP/1.1 20"):
                sys.exit(f"an agent cannot register: {answer[:200]}")


class Streams:
    """Open streams, which are read in this thread; agents register first, as they do whenever they start."""

    def __init__(self, hub, requests):
        self.selector = selectors.DefaultSelector()
        self.data = {}
        # Heads are answered in the order of the requests; so many at once as a server's backlog takes.
        for begin in range(0, len(requests), AT_ONCE):
            opened, batch = [], requests[begin : begin + AT_ONCE]
            if "/installations/" in batch[0][0]:
                register(hub, batch)
            for path, header in batch:
                connection = socket.create_connection(("127.0.0.1", hub.port), 30)
                connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{hub.port}\r\n{header}\r\n\r\n".encode())
                self.data[connection] = bytearray()
                self.selector.register(connection, selectors.EVENT_READ)
                opened.append(connection)
            self.read_until(lambda: all(b"\r\n\r\n" in self.data[connection] for connection in opened))
        refused = [bytes(data[:200]) for data in self.data.values() if not data.startswith(b"HTTP/1.1 200")]
        if refused:
            sys.exit(f"a stream is refused: {refused[0]}")

    def read_until(self, is_done, seconds=120):
        end = time.monotonic() + seconds
        while not is_done():
            if time.monotonic() > end:
                sys.exit("streams lack messages")
            for key, _ in self.selector.select(0.05):
                bytes_read = key.fileobj.recv(1 << 18)
                if not bytes_read:
                    sys.exit("a stream has ended")
                self.data[key.fileobj] += bytes_read

    def counts(self, mark):
        return [data.count(mark) for data in self.data.values()]

    def close(self):
        self.selector.close()
        for connection in self.data:
            connection.close()


def measure_streams(hub, name, requests, messages):
    """What it costs to open streams and hold them open, and to send to all of them.

    What the hub needs once, for whatever number of streams, is taken by the first ones, which stay open.
    """
    others, requests = Streams(hub, requests[:FIRST]), requests[FIRST:]
    time.sleep(1)
    _, before = cost(hub)
    streams = Streams(hub, requests)
    time.sleep(1)
    idle, resident = cost(hub)
    for number in range(messages):
        # Streams begin with what came before them, so that each measure has its own name.
        mark = f"Message {number} for {name}.".encode()
        hub.send(f"{mark.decode()} A title of a usual length", text="And a text that says a little more.")
        # Counting all that has come each time would cost more than reading it.
        for each in (streams, others):
            each.read_until(lambda: all(mark in data[-4096:] for data in each.data.values()))
    counts = streams.counts(f" for {name}.".encode())
    busy, _ = cost(hub)
    streams.close()
    others.close()
    if set(counts) != {messages}:
        sys.exit(f"streams got between {min(counts)} and {max(counts)} of {messages} messages")
    return busy - idle, (resident - before) / len(requests), (FIRST + len(requests)) * messages


def page_size(hub, failures):
    hub.announce([f"Category-{number}" for number in range(CATEGORIES - 6)])
    for number in range(SHOWN):
        hub.send(f"A headline of a usual length, number {number}", text="A sentence or two of text. " * 5, link="https://example.org/news")
    times = []
    connection = http.client.HTTPConnection("127.0.0.1", hub.port)
    for _ in range(200):
        begin = time.perf_counter()
        connection.request("GET", "/-/news/")
        reply = connection.getresponse()
        first = time.perf_counter()
        page = reply.read().decode()
        times.append((1000 * (first - begin), 1000 * (time.perf_counter() - begin)))
    if page.count('<li class="message') != SHOWN + 1 or page.count('role="switch"') != CATEGORIES:
        sys.exit("the page is not the one to be measured")
    sizes = {"page": len(page.encode())}
    for path in re.findall(r'(?:href|src)="(/-/assets/[^"]+\.(?:css|js))"', page):
        connection.request("GET", path)
        sizes[path.split("/")[-1].split(".")[0]] = len(connection.getresponse().read())
    first, last = (statistics.median(column) for column in zip(*times))
    print(f"{sum(sizes.values()):,} bytes: " + ", ".join(f"{name} {size:,}" for name, size in sizes.items()))
    print(f"first byte {first:.1f} ms, last byte {last:.1f} ms (median of {len(times)})")
    if sum(sizes.values()) > BYTES:
        failures.append(f"more than {BYTES} bytes")
    if first > FIRST_BYTE_MS:
        failures.append(f"more than {FIRST_BYTE_MS} ms to the first byte")


def first_paint(hub, failures):
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        print("first paint: no Chromium here")
        return
    import browsers

    browser = browsers.chromium()
    try:
        visitor = browser.new_visitor()
        # A page of one word shows the time that the browser itself needs.
        times = {address: [] for address in (hub.home, f"{hub.origin}/healthz")}
        for address, starts in [*times.items()] * 21:
            tab = visitor.open(address)
            tab.activate()
            tab.wait("performance.getEntriesByName('first-paint').length")
            starts.append(tab.js("performance.getEntriesByName('first-paint')[0].startTime"))
            tab.close()
        # Of the first one the browser itself is a part.
        page, word = (statistics.median(starts[1:]) for starts in times.values())
        starts = times[hub.home][1:]
        print(f"first paint {page:.0f} ms (median of {len(starts)}; {min(starts):.0f} to {max(starts):.0f}); of a page of one word {word:.0f} ms")
        if page > FIRST_BYTE_MS:
            failures.append(f"more than {FIRST_BYTE_MS} ms to the first paint")
    finally:
        browser.close()


def latency(hub, cookie, failures, what="", is_over=None):
    """Sends 200 messages one by one; or with `is_over`, four a second until then."""
    streams, times = Streams(hub, [("/-/news/events", f"Cookie: {cookie}")]), []
    while not is_over() if is_over else len(times) < 200:
        mark = f"Mark {len(times)}{what}.".encode()
        begin = time.perf_counter()
        hub.send(mark.decode())
        streams.read_until(lambda: streams.counts(mark) == [1])
        times.append(1000 * (time.perf_counter() - begin))
        if is_over:
            time.sleep(0.25)
    streams.close()
    times.sort()
    middle = times[len(times) // 2]
    print(f"from a send to a page{what}: {middle:.1f} ms p50, {times[int(len(times) * 0.99)]:.1f} ms p99")
    if middle > LATENCY_MS:
        failures.append(f"more than {LATENCY_MS} ms p50 from a send to a page{what}")


def visit(port, numbers, rate, results):
    """Visitors, each with a connection and an address of its own; puts how many there were of each pair of answers."""
    answers, begin = collections.Counter(), time.monotonic()
    for place, number in enumerate(numbers):
        time.sleep(max(0, begin + place / rate - time.monotonic()))
        # 200 networks of 50 visitors: one network may begin 100 sessions an hour.
        address = f"127.2.{number % 200}.{1 + number // 200}"
        connection = http.client.HTTPConnection("127.0.0.1", port, 30, (address, 0))
        statuses = []
        for method, path, body in (("GET", "/-/news/", None), ("POST", "/-/news/categories", "category=World")):
            connection.request(method, path, body, {"Sec-Fetch-Site": "same-origin"})
            reply = connection.getresponse()
            reply.read()
            statuses.append(reply.status)
        connection.close()
        answers[tuple(statuses)] += 1
    results.put((answers, time.monotonic() - begin))


def visitors(hub, cookie, count, failures):
    results, processes = multiprocessing.Queue(), 4
    each = [range(first, count, processes) for first in range(processes)]
    others = [
        multiprocessing.Process(target=visit, args=(hub.port, numbers, count / processes / VISIT_SECONDS, results))
        for numbers in each
    ]
    for other in others:
        other.start()
    latency(hub, cookie, failures, " beside visitors", lambda: not any(other.is_alive() for other in others))
    ended = [results.get() for _ in others]
    answers, took = sum((answers for answers, _ in ended), collections.Counter()), max(took for _, took in ended)
    print(f"{count:,} visitors in {took:.0f} s: {dict(answers)}")
    if set(answers) != {(200, 303)}:
        failures.append(f"visitors were answered {dict(answers)}")
    if took > 1.1 * VISIT_SECONDS:
        failures.append(f"{count:,} visitors took {took:.0f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=2_000)
    parser.add_argument("--messages", type=int, default=50)
    options = parser.parse_args()
    failures = []
    # So that the hub and the browser end with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    with tempfile.TemporaryDirectory() as folder:
        hub = Hub(os.path.abspath(options.program), folder)
        try:
            page_size(hub, failures)
            first_paint(hub, failures)
            cookies = sessions(hub, FIRST + options.count)
            pages = [("/-/news/events", f"Cookie: {cookie}") for cookie in cookies]
            Streams(hub, pages).close()
            token = f"Authorization: {hub.token()}\r\nNewswire-Push-Channel: {CHANNEL}"
            agents = [(f"/news/installations/agent-{number}/stream", token) for number in range(FIRST + options.count)]
            Streams(hub, agents).close()
            latency(hub, cookies[0], failures)
            figures = {}
            for name, requests in (("agents", agents), ("pages", pages)):
                hub.stop()
                hub.start()
                figures[name] = cpu, memory, count = measure_streams(hub, name, requests, options.messages)
                print(f"{name}: {1000 * cpu / count:.1f} µs of CPU a message and stream, {memory:,.0f} bytes resident a stream")
            for place, what in enumerate(("CPU", "memory")):
                ratio = figures["pages"][place] / figures["agents"][place]
                print(f"{what}: {ratio:.2f} x agents (aim: ≤ {SHARE})")
                if ratio > SHARE:
                    failures.append(f"pages cost {ratio:.2f} times the {what} of agents")
            # Last, since each of them leaves an installation.
            visitors(hub, cookies[0], VISITORS, failures)
        finally:
            hub.stop()
    sys.exit("; ".join(failures) if failures else 0)


if __name__ == "__main__":
    main()
