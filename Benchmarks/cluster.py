#!/usr/bin/env python3
"""Three hubs that share a log on three log servers, on this machine: rate, latency and lag, beside one hub alone.

    Benchmarks/cluster.py .build/release/newswire nats-server [--senders 64] [--seconds 8] [--streams 900]

* durable messages a second from 64 senders to one hub alone, to one of three hubs, and to all three equally
* how much later a message is at an agent of another hub than at one of the hub that accepted it
* one broadcast to as many streams at one hub alone, and to a third of them at each of three hubs: the last delivery

The engine syncs each entry (`sync_interval: always`). All processes share the machine's cores: read the ratios. wrk sends the
messages (`apt-get install wrk`).
Fails when a message is lost or comes twice, or when three hubs loaded equally do less than 80 % of one of three.
"""

import argparse
import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Tests", "Cluster"))
from cluster import HUB, Cluster, Node, free_ports, push_channel, register  # noqa: E402

EQUAL_SHARE = 0.8


class Alone:
    """One hub with a log of its own."""

    def __init__(self, program, folder):
        self.node = Node(program, f"{folder}/alone", "alone", free_ports(1)[0], [], 1)
        path = f"{self.node.folder}/newswire.yaml"
        with open(path) as file:
            text = file.read()
        with open(path, "w") as file:
            file.write(text[: text.index("  log:")])

    def __enter__(self):
        self.node.start()
        self.authorization = self.node.token()
        self.nodes = [self.node]
        return self

    def __exit__(self, *_):
        self.node.end()


def message(node, authorization, title):
    body = json.dumps({"title": title}).encode()
    return (
        f"POST /{HUB}/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {authorization}\r\n"
        "ServiceBusNotification-Format: template\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body


SENDERS = """
wrk.method = "POST"
wrk.headers["Authorization"] = os.getenv("AUTHORIZATION")
wrk.headers["ServiceBusNotification-Format"] = "template"
wrk.headers["Content-Type"] = "application/json"
wrk.body = '{"title":"a message of a few words"}'
function done(summary, latency)
    local failed = 0
    for _, count in pairs(summary.errors) do failed = failed + count end
    io.stderr:write(string.format('{"count":%d,"failed":%d,"p50":%f,"p99":%f}\\n',
        summary.requests, failed, latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
"""


def cpu_seconds(processes):
    """CPU time of processes until now."""
    seconds = 0
    for process in processes:
        with open(f"/proc/{process.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return seconds


def rate(cluster, nodes, senders, seconds):
    """Messages a second, the highest 50th and 99th percentile of their times in ms, and CPU time in us a message.

    Each sender waits for the answer to its message. wrk, a program in C, leaves the cores to the hubs.
    """
    servers = getattr(cluster, "servers", [])
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(SENDERS)
        script.flush()
        before = cpu_seconds(cluster.nodes), cpu_seconds(servers)
        programs = [
            subprocess.Popen(
                [
                    "wrk", "-t1", f"-c{senders // len(nodes) + (place < senders % len(nodes))}", f"-d{seconds}",
                    "-s", script.name, f"http://127.0.0.1:{node.port}/{HUB}/messages",
                ],
                env={**os.environ, "AUTHORIZATION": cluster.authorization},
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            )
            for place, node in enumerate(nodes)
        ]
        results = [json.loads(program.communicate()[1].splitlines()[-1]) for program in programs]
        after = cpu_seconds(cluster.nodes), cpu_seconds(servers)
    assert not any(result["failed"] for result in results), results
    count = sum(result["count"] for result in results)
    cpu = [(end - begin) / count * 1e6 for begin, end in zip(before, after)]
    return count / seconds, max(result["p50"] for result in results), max(result["p99"] for result in results), *cpu


class Stream:
    """An agent's stream, with the time of each message."""

    def __init__(self, node, authorization, number):
        self.node, self.authorization, self.number = node, authorization, number
        self.times = {}

    async def open(self):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.node.port)
        self.writer.write(
            f"GET /{HUB}/installations/agent{self.number}/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Authorization: {self.authorization}\r\nNewswire-Push-Channel: {push_channel(self.number)}\r\n\r\n".encode()
        )
        head = await self.reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        self.task = asyncio.create_task(self.read())

    async def read(self):
        while line := await self.reader.readline():
            if line.startswith(b"data:") and b'"title"' in line:
                title = json.loads(line[5:])["body"]["title"]
                assert title not in self.times, f"{title} comes twice"
                self.times[title] = time.monotonic()


async def opened(nodes, authorization, numbers):
    streams = [Stream(nodes[number % len(nodes)], authorization, number) for number in numbers]
    for begin in range(0, len(streams), 100):
        await asyncio.gather(*(stream.open() for stream in streams[begin : begin + 100]))
    return streams


async def post(node, authorization, title):
    reader, writer = await asyncio.open_connection("127.0.0.1", node.port)
    writer.write(message(node, authorization, title))
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 201")
    writer.close()


async def arrival(streams, title, seconds=30):
    end = time.monotonic() + seconds
    while not all(title in stream.times for stream in streams):
        assert time.monotonic() < end, f"{title} is missing at {sum(title not in s.times for s in streams)} streams"
        await asyncio.sleep(0.005)


def lag(cluster, messages=300):
    """Median and 99th percentile in ms of the delay at an agent of another hub."""
    for number in range(2):
        assert register(cluster.nodes[0].port, cluster.authorization, number)[0] in (200, 201)

    async def run():
        streams = await opened(cluster.nodes[:2], cluster.authorization, range(2))
        for number in range(messages):
            await post(cluster.nodes[0], cluster.authorization, f"lag {number}")
            await arrival(streams, f"lag {number}")
        return sorted(streams[1].times[title] - at for title, at in streams[0].times.items() if title.startswith("lag"))
    delays = asyncio.run(run())
    return statistics.median(delays) * 1000, delays[len(delays) * 99 // 100] * 1000


def broadcast(cluster, count, rounds=5):
    """The median in ms of the time until the last of `count` streams has a message."""
    for number in range(count):
        assert register(cluster.nodes[0].port, cluster.authorization, number)[0] in (200, 201)

    async def run():
        streams = await opened(cluster.nodes, cluster.authorization, range(count))
        taken = []
        for number in range(rounds):
            begin = time.monotonic()
            await post(cluster.nodes[0], cluster.authorization, f"all {number}")
            await arrival(streams, f"all {number}")
            taken.append(max(stream.times[f"all {number}"] for stream in streams) - begin)
        return taken
    return statistics.median(asyncio.run(run())) * 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="newswire")
    parser.add_argument("engine", help="nats-server")
    parser.add_argument("--senders", type=int, default=64)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--streams", type=int, default=900)
    options = parser.parse_args()
    engine = shutil.which(options.engine) or options.engine
    if not shutil.which("wrk"):
        sys.exit("cluster.py: it needs wrk: apt-get install wrk")
    print(f"{subprocess.run([engine, '--version'], capture_output=True, text=True).stdout.strip()}, sync_interval: always")
    folder = tempfile.mkdtemp(prefix="newswire-cluster-")

    def show(name, figures):
        per_second, middle, p99, hubs, servers = figures
        print(
            f"{name:<28} {per_second:8.0f} messages/s   p50 {middle:6.1f} ms   p99 {p99:6.1f} ms   "
            f"CPU us a message: hubs {hubs:.0f}, log servers {servers:.0f}",
            flush=True,
        )
        return per_second

    with Alone(options.program, folder) as alone:
        show("one hub alone", rate(alone, alone.nodes, options.senders, options.seconds))
        last_alone = broadcast(alone, options.streams)
    with Cluster(options.program, engine, folder) as cluster:
        one = show("one of three hubs", rate(cluster, cluster.nodes[:1], options.senders, options.seconds))
        equal = show("three hubs, loaded equally", rate(cluster, cluster.nodes, options.senders, options.seconds))
        middle, p99 = lag(cluster)
        last = broadcast(cluster, options.streams)
    print(f"loaded equally               {equal / one:8.2f} of one of three")
    print(f"lag of another hub           p50 {middle:.1f} ms, p99 {p99:.1f} ms")
    print(f"last of {options.streams} streams         {last_alone:.1f} ms alone, {last:.1f} ms at three hubs, "
          f"{last / last_alone:.2f} times")
    shutil.rmtree(folder, ignore_errors=True)
    return 0 if equal >= EQUAL_SHARE * one else 1


if __name__ == "__main__":
    sys.exit(main())
