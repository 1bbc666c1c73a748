#!/usr/bin/env python3
"""Three log servers, three hubs, a load balancer, agents and a publisher on this machine.

A hub and a log server are killed while news is published, and come back. Ends with 0 only if every agent got every
story once.
"""

import argparse
import asyncio
import collections
import email.utils
import http.server
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

from cluster import Cluster

STORIES_A_PASS = 2


class LoadBalancer(threading.Thread):
    """Forwards each connection to the next hub that accepts it."""

    def __init__(self, ports):
        super().__init__(daemon=True)
        self.ports, self.next = ports, 0
        self.bound, self.ready = None, threading.Event()

    def run(self):
        asyncio.run(self.serve())

    async def serve(self):
        server = await asyncio.start_server(self.forward, "127.0.0.1", 0)
        self.bound = server.sockets[0].getsockname()[1]
        self.ready.set()
        await server.serve_forever()

    async def connect(self):
        for _ in self.ports:
            self.next += 1
            port = self.ports[self.next % len(self.ports)]
            try:
                return await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                continue
        raise OSError("no hub is there")

    async def forward(self, reader, writer):
        try:
            hub_reader, hub_writer = await self.connect()
        except OSError:
            writer.close()
            return
        await asyncio.gather(self.copy(reader, hub_writer), self.copy(hub_reader, writer))

    async def copy(self, reader, writer):
        try:
            while octets := await reader.read(65_536):
                writer.write(octets)
                await writer.drain()
        except OSError:
            pass
        writer.close()


class Feed(http.server.ThreadingHTTPServer):
    """An RSS feed that grows."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), FeedHandler)
        self.titles = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def document(self):
        items = "".join(
            f"<item><title>{title}</title><guid isPermaLink='false'>{title}</guid>"
            f"<link>http://127.0.0.1/{number}</link><pubDate>{email.utils.formatdate()}</pubDate></item>"
            for number, title in enumerate(self.titles)
        )
        return f"<rss version='2.0'><channel><title>Demo</title>{items}</channel></rss>".encode()


class FeedHandler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        document = self.server.document
        self.send_response(200)
        self.send_header("Content-Type", "application/rss+xml")
        self.send_header("Content-Length", str(len(document)))
        self.end_headers()
        self.wfile.write(document)

    def log_message(self, *_):
        pass


class Subscriber:
    """`newswire subscribe`, and the stories that it printed."""

    def __init__(self, program, folder, connection, environment):
        os.makedirs(folder)
        self.output = f"{folder}/out"
        with open(self.output, "w") as out, open(f"{folder}/log", "w") as log:
            self.process = subprocess.Popen(
                [program, "subscribe", "--categories", "World", "--json", "--connection-file", connection,
                 "--state", f"{folder}/state"],
                env=environment, stdout=out, stderr=log,
            )

    @property
    def stories(self):
        with open(self.output) as out:
            lines = [line for line in out if line.endswith("\n")]
        return collections.Counter(json.loads(line).get("link") for line in lines)


def say(text):
    print(text, flush=True)


def connection_file(node, port, path):
    with open(f"{node.state}/full.connection") as file:
        parts = file.read().strip().split(";")
    own = [part for part in parts if not part.startswith("Endpoint=")]
    with open(path, "w") as file:
        file.write(";".join([f"Endpoint=http://127.0.0.1:{port}/", *own]) + "\n")
    os.chmod(path, 0o600)


def wait_until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.1)
    return condition()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="newswire")
    parser.add_argument("engine", help="nats-server")
    parser.add_argument("--agents", type=int, default=4)
    parser.add_argument("--passes", type=int, default=10)
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="newswire-cluster-")
    say(f"three log servers and three hubs in {folder}")
    subscribers = []
    with Cluster(options.program, options.engine, folder) as cluster:
        first = cluster.nodes[0]
        balancer = LoadBalancer([node.port for node in cluster.nodes])
        balancer.start()
        balancer.ready.wait(10)
        connection = f"{folder}/balanced.connection"
        connection_file(first, balancer.bound, connection)
        feed = Feed()
        os.makedirs(f"{folder}/feeds")
        with open(f"{folder}/feeds/world.yaml", "w") as file:
            file.write(f"category: World\nfeeds:\n  - url: http://127.0.0.1:{feed.server_address[1]}/world.rss\n    local: true\n")
        try:
            for number in range(options.agents):
                subscribers.append(
                    Subscriber(options.program, f"{folder}/agent{number}", connection, first.environment)
                )
            say(f"{options.agents} agents and a publisher use them through a load balancer")

            def publish():
                return first.run(
                    "publish", "--force", "--cap", "100", "--feeds", f"{folder}/feeds", "--state", f"{folder}/publisher",
                    "--connection-file", connection, check=False,
                )

            publish()
            assert wait_until(lambda: registered(first) == options.agents, 30), "the agents do not register"
            for number in range(options.passes):
                event(number, options.passes, cluster)
                feed.titles += [f"story {number}-{story}" for story in range(STORIES_A_PASS)]
                wait_until(lambda: publish().returncode == 0, 60)
            stories = len(feed.titles)
            expected = {f"http://127.0.0.1/{number}": 1 for number in range(stories)}
            complete = wait_until(lambda: all(one.stories == expected for one in subscribers), 60)
            say(first.run("hub", "log", "status").rstrip())
            for number, subscriber in enumerate(subscribers):
                got = subscriber.stories
                twice = sum(count > 1 for count in got.values())
                say(f"agent {number}: {len(got)} of {stories} stories, {twice} of them twice")
        finally:
            for subscriber in subscribers:
                subscriber.process.terminate()
                subscriber.process.wait(30)
    if not complete:
        say(f"the folder is kept: {folder}")
        return 1
    cluster.remove()
    say("every agent got every story once")
    return 0


def registered(node):
    overview = node.run("hub", "overview", "--json", check=False)
    return sum(json.loads(overview.stdout)["installations"].values()) if overview.returncode == 0 else 0


def event(number, passes, cluster):
    """The faults of the demonstration."""
    hub, server = cluster.nodes[1], cluster.servers[1]
    if number == passes // 4:
        hub.kill()
        say(f"hub {hub.name} is killed")
    if number == passes // 2:
        server.kill()
        say("a log server is killed")
    if number == passes * 3 // 4:
        hub.start()
        server.start()
        say("both come back")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
