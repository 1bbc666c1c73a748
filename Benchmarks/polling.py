#!/usr/bin/env python3
"""One publish pass over many feeds of a server on loopback.

    Benchmarks/polling.py .build/release/newswire

First 6,000 feeds that all answer 304: wall time at most 5 s, resident memory at most 60 MB. Then 1,000 feeds of 50 KB with
one new entry each, announced in digests: at most 8 s. Prints the best of three passes each and what the server saw, and
fails above a limit. The server has a process of its own; nothing leaves the machine.
"""
import asyncio, multiprocessing, os, re, subprocess, sys, tempfile, time

ROUNDS = 3
FEEDS_OF_A_LIST = 1000


class Site(asyncio.Protocol):
    """Answers GET /{kind}/{number}: 'same' has an ETag, 'news' grows by an entry whenever `round` is raised."""

    filler = "<description>" + "news of the day, told at some length. " * 13 + "</description>"
    round = None

    def connection_made(self, transport):
        self.transport, self.buffer = transport, b""

    def data_received(self, data):
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head, self.buffer = self.buffer[:end], self.buffer[end + 4:]
            _, kind, number = head.split(b" ", 2)[1].decode().split("/")
            if kind == "same" and b"If-None-Match" in head:
                self.transport.write(b'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n\r\n')
                continue
            body = self.document(kind, number).encode()
            etag = b'ETag: "1"\r\n' if kind == "same" else b""
            self.transport.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/rss+xml\r\n%sContent-Length: %d\r\n\r\n" % (etag, len(body)) + body
            )

    def document(self, kind, number):
        last = self.round.value if kind == "news" else 0
        first = last - (79 if kind == "news" else 0)
        items = "".join(
            f"<item><guid isPermaLink='false'>{number}-{i}</guid><title>Story {i} of feed {number}</title>"
            f"<link>http://news.example/{number}/{i}</link>{self.filler}</item>"
            for i in range(last, first - 1, -1)
        )
        return f"<?xml version='1.0'?><rss version='2.0'><channel><title>Feed {number}</title>{items}</channel></rss>"


def serve(port, round):
    async def run():
        Site.round = round
        server = await asyncio.get_running_loop().create_server(Site, "127.0.0.1", 0, backlog=1024)
        port.value = server.sockets[0].getsockname()[1]
        await server.serve_forever()
    asyncio.run(run())


def lists(folder, kind, count, port):
    os.makedirs(folder)
    for start in range(0, count, FEEDS_OF_A_LIST):
        with open(f"{folder}/{start}.yaml", "w") as file:
            file.write(f"category: {kind}{start}\nfeeds:\n")
            for number in range(start, min(count, start + FEEDS_OF_A_LIST)):
                file.write(f"  - url: http://127.0.0.1:{port}/{kind}/{number}\n    local: true\n")


def publish(program, folder, environment):
    """Seconds, CPU seconds, resident MB, and what was said."""
    start = time.monotonic()
    with tempfile.TemporaryFile("w+") as said:
        child = subprocess.Popen(
            [program, "publish", "--feeds", folder, "--force", "--cap", "1", "--log-level", "debug"],
            env=environment, stdout=said, stderr=said,
        )
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.monotonic() - start
        said.seek(0)
        text = said.read()
    if status:
        sys.exit(f"publish ended with {status}: {text[-2000:]}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, text


def measure(name, program, folder, environment, check, before=lambda: None):
    publish(program, folder, environment)
    passes = []
    for _ in range(ROUNDS):
        before()
        *figures, text = publish(program, folder, environment)
        check(text)
        passes.append(figures)
    seconds, cpu, memory = min(passes)
    memory = max(figures[2] for figures in passes)
    print(f"{name}: {seconds:.2f} s, {cpu:.2f} s of CPU, {memory:.0f} MB resident (best of {ROUNDS}, most memory of all)")
    return seconds, memory


def expect(text, pattern, count):
    found = len(re.findall(pattern, text))
    if found != count:
        sys.exit(f"expected {count} × '{pattern}', found {found}: {text[-2000:]}")


def main():
    program = os.path.abspath(sys.argv[1])
    port, round = multiprocessing.Value("i", 0), multiprocessing.Value("i", 100)
    site = multiprocessing.Process(target=serve, args=(port, round), daemon=True)
    site.start()
    while not port.value:
        time.sleep(0.05)
    with tempfile.TemporaryDirectory() as folder:
        lists(f"{folder}/same", "same", 6000, port.value)
        lists(f"{folder}/news", "news", 1000, port.value)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("NEWSWIRE_")}
        environment |= {"XDG_STATE_HOME": f"{folder}/state", "XDG_CONFIG_HOME": f"{folder}/none"}
        hub = subprocess.Popen([program, "hub", "--port", "0"], env=environment, stderr=subprocess.PIPE, text=True)
        try:
            while "is ready" not in hub.stderr.readline():
                pass
            def unchanged(text):
                expect(text, "feed.unchanged=true", 6000)
            def announced(text):
                expect(text, "feed.announced=1 ", 1000)
            def another():
                round.value += 1
            same = measure("6,000 feeds, all 304", program, f"{folder}/same", environment, unchanged)
            news = measure("1,000 feeds of 50 KB, one new entry each", program, f"{folder}/news", environment, announced, another)
        finally:
            hub.terminate()
            hub.wait()
    site.terminate()
    if same[0] > 5 or same[1] > 60 or news[0] > 8:
        sys.exit("above a limit: 5 s and 60 MB, 8 s")


main()
