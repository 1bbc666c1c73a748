#!/usr/bin/env python3
"""Three machines as network namespaces, one of which is cut off from the others, and later comes back.

Needs root. Ends with 0 only if the one that is cut off answers 503 and ends its streams within 15 s, the others go on
after at most 10 s, and all have every acknowledged message in the end.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from cluster import HUB, LogServer, Node, copy_keys, push_channel, register, request
from kills import differing, end_at_one_position
from traffic import Agent

BRIDGE = f"nw{os.getpid() % 100_000}"
PORT, ENGINE_PORT, ROUTE_PORT = 8080, 4222, 6222
CUT_OFF_SECONDS, SILENCE_SECONDS = 15, 10
# Reads a stream until it ends.
READING = """
import socket
connection = socket.create_connection(("127.0.0.1", {port}), timeout=60)
connection.sendall(b"GET /{hub}/installations/agent1/stream HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nAuthorization: {authorization}"
                   b"\\r\\nNewswire-Push-Channel: {secret}\\r\\n\\r\\n")
assert connection.recv(65536).startswith(b"HTTP/1.1 200")
print("open")
while connection.recv(65536):
    pass
"""


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


class Machine:
    """A namespace with an address on the bridge, a log server and a hub."""

    def __init__(self, number, name, program, engine, folder, addresses):
        self.name, self.address = f"{BRIDGE}{name}", addresses[number]
        self.link = f"{BRIDGE}{number}"
        ip("netns", "add", self.name)
        ip("link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        ip("link", "set", self.link, "master", BRIDGE, "up")
        ip("-n", self.name, "addr", "add", f"{self.address}/24", "dev", "eth0")
        for device in ["lo", "eth0"]:
            ip("-n", self.name, "link", "set", device, "up")
        inside = ["ip", "netns", "exec", self.name]
        self.server = LogServer(engine, f"{folder}/log{number}", f"log{number}", ENGINE_PORT, [ROUTE_PORT] * 3, number)
        self.rewrite(f"{folder}/log{number}/server.conf", addresses)
        self.hub = Node(program, f"{folder}/{name}", name, PORT, [ENGINE_PORT], 3)
        self.rewrite(f"{folder}/{name}/newswire.yaml", addresses)
        for process in [self.server, self.hub]:
            process.command = inside + process.command

    def rewrite(self, path, addresses):
        """Lets a server or a hub listen beyond its machine, and know the others."""
        with open(path) as file:
            text = file.read()
        text = text.replace("listen: 127.0.0.1\n", "listen: 0.0.0.0\n  insecure-listen: true\n")
        text = text.replace(f"listen: 127.0.0.1:{ROUTE_PORT}", f"listen: 0.0.0.0:{ROUTE_PORT}")
        routes = ", ".join(f'"nats://{address}:{ROUTE_PORT}"' for address in addresses)
        before, found, after = text.partition("routes: [")
        text = before + found + routes + after[after.index("]"):] if found else text
        with open(path, "w") as file:
            file.write(text)

    def cut(self, is_cut):
        ip("link", "set", self.link, "down" if is_cut else "up")

    def inside(self, script):
        """Runs Python in the namespace, where the hub is at loopback even if the machine is cut off."""
        done = subprocess.run(
            ["ip", "netns", "exec", self.name, sys.executable, "-c", script],
            capture_output=True, text=True, timeout=60, cwd=os.path.dirname(os.path.abspath(__file__)),
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def started_inside(self, script):
        return subprocess.Popen(
            ["ip", "netns", "exec", self.name, sys.executable, "-u", "-c", script],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )

    def remove(self):
        self.hub.end()
        self.server.end()
        # The namespace alone would keep it until the kernel gets to that.
        ip("link", "del", self.link)
        ip("netns", "del", self.name)


class Hub:
    """A hub as an agent in this namespace reaches it."""

    def __init__(self, machine):
        self.host, self.port = machine.address, PORT


def send(machine, authorization, title, seconds):
    """Sends until the hub answers 201; returns how long that took."""
    begin = time.monotonic()
    while True:
        try:
            status, _ = request(
                PORT, "POST", "messages", authorization, json.dumps({"title": title}), host=machine.address,
                ServiceBusNotification_Format="template", Content_Type="application/json", Idempotency_Key=title,
            )
        except OSError:
            status = 0
        elapsed = time.monotonic() - begin
        if status == 201:
            return elapsed
        assert elapsed < seconds, f"{title} is not accepted: {status}"
        time.sleep(0.1)


def run(machines):
    for machine in machines:
        machine.server.start("Server is ready")
    first, second, third = machines
    first.hub.start()
    for machine in [second, third]:
        copy_keys(first.hub, machine.hub)
        machine.hub.start()
    authorization = first.hub.token()
    for number in range(2):
        status, body = register(PORT, authorization, number, host=first.address)
        assert status in (200, 201), (status, body)
    send(first, authorization, "before", 30)
    agent = Agent([Hub(third)], authorization, 0, random.Random(1))
    agent.start()
    wait(lambda: agent.received["before"], 20, "the agent has no stream at the third hub")

    inside = third.started_inside(READING.format(port=PORT, hub=HUB, authorization=authorization, secret=push_channel(1)))
    assert inside.stdout.readline() == "open\n", "there is no stream inside the third machine"

    third.cut(True)
    cut = time.monotonic()
    ends = []
    # Beside the sends, which may take longer.
    watch = threading.Thread(target=lambda: (inside.wait(), ends.append(time.monotonic())), daemon=True)
    watch.start()
    agent.nodes = [Hub(first), Hub(second)]
    longest = max(send(machine, authorization, f"cut {number}", 60) for number in range(4) for machine in machines[:2])
    print(f"the longest wait of a send after the cut: {longest:.1f} s")
    assert longest < SILENCE_SECONDS, longest
    watch.join(60)
    assert ends, "the stream inside the third machine does not end"
    assert inside.returncode == 0, inside.stderr.read()
    ended = ends[0] - cut
    print(f"a stream inside the third machine ended after {ended:.1f} s")
    assert ended < CUT_OFF_SECONDS, ended
    status = third.inside(
        "from cluster import request\n"
        "import http.client, time\n"
        f"end = time.monotonic() + {CUT_OFF_SECONDS}\n"
        "while True:\n"
        f"    status = request({PORT}, 'GET', 'installations/agent0', {authorization!r})[0]\n"
        "    if status == 503 or time.monotonic() > end: break\n"
        "    time.sleep(0.5)\n"
        f"connection = http.client.HTTPConnection('127.0.0.1', {PORT}, timeout=30)\n"
        "connection.request('GET', '/readyz')\n"
        "print(status, connection.getresponse().status)\n"
    )
    assert status == "503 503", status
    wait(lambda: agent.received["cut 3"], 60, "the agent does not move")

    third.cut(False)
    send(third, authorization, "after", 60)
    wait(lambda: agent.received["after"], 30, "the agent lacks the last message")
    agent.stopped.set()
    agent.join(15)
    assert not agent.gaps and max(agent.received.values()) == 1, (agent.gaps, agent.received)
    places = end_at_one_position([machine.hub for machine in machines], 30)
    assert not places, places
    tables = differing([machine.hub for machine in machines])
    assert not tables, tables


def wait(condition, seconds, complaint):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, complaint
        time.sleep(0.1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="newswire")
    parser.add_argument("engine", help="nats-server")
    options = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which("ip"):
        print("skipped: network namespaces need root and 'ip' (package iproute2)")
        return 0
    try:
        ip("link", "add", BRIDGE, "type", "bridge")
    except subprocess.CalledProcessError as error:
        print(f"skipped: {error.stderr.decode().strip()}")
        return 0
    folder = tempfile.mkdtemp(prefix="newswire-cluster-")
    network = f"10.{os.getpid() % 200 + 20}.77"
    machines = []
    try:
        ip("addr", "add", f"{network}.1/24", "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")
        addresses = [f"{network}.{number + 11}" for number in range(3)]
        for number, name in enumerate("abc"):
            machines.append(Machine(number, name, options.program, options.engine, folder, addresses))
        run(machines)
    finally:
        for machine in machines:
            machine.remove()
        ip("link", "del", BRIDGE)
    shutil.rmtree(folder, ignore_errors=True)
    print("the one that was cut off has caught up")
    return 0


if __name__ == "__main__":
    sys.exit(main())
