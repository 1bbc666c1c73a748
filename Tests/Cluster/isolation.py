#!/usr/bin/env python3
"""Three log servers in network namespaces, one of which loses its connection to the others while hubs still reach it.

Needs root. Ends with 0 only if the hubs that use this server have changed to another one after at most 10 s, and accept messages.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

from cluster import LogServer, Node, copy_keys, free_ports, request
from partition import ENGINE_PORT, ROUTE_PORT, ip

BRIDGES = [f"nwi{os.getpid() % 100_000}{kind}" for kind in "rc"]
LIMIT_SECONDS = 10


class Relay:
    """A port of loopback that leads to a server elsewhere: without TLS, hubs connect to this machine only."""

    def __init__(self, target):
        self.target = target
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(self.target, timeout=5)
            except OSError:
                near.close()
                continue
            far.settimeout(None)
            for source, sink in [(near, far), (far, near)]:
                threading.Thread(target=self.copy, args=(source, sink), daemon=True).start()

    @staticmethod
    def copy(source, sink):
        try:
            while data := source.recv(65_536):
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Server:
    """A log server in a namespace with a link to the other servers, and one to the hubs."""

    def __init__(self, number, engine, folder, networks):
        self.space = f"{BRIDGES[0]}{number}"
        self.links = [f"{bridge}{number}" for bridge in BRIDGES]
        ip("netns", "add", self.space)
        for kind, (bridge, link, network) in enumerate(zip(BRIDGES, self.links, networks)):
            ip("link", "add", link, "type", "veth", "peer", "name", f"eth{kind}", "netns", self.space)
            ip("link", "set", link, "master", bridge, "up")
            ip("-n", self.space, "addr", "add", f"{network}.{number + 11}/24", "dev", f"eth{kind}")
            ip("-n", self.space, "link", "set", f"eth{kind}", "up")
        ip("-n", self.space, "link", "set", "lo", "up")
        self.log = LogServer(engine, f"{folder}/log{number}", f"log{number}", ENGINE_PORT, [ROUTE_PORT] * 3, number)
        path = f"{folder}/log{number}/server.conf"
        with open(path) as file:
            text = file.read()
        text = text.replace(f"listen: 127.0.0.1:{ENGINE_PORT}", f"listen: {networks[1]}.{number + 11}:{ENGINE_PORT}")
        text = text.replace(f"listen: 127.0.0.1:{ROUTE_PORT}", f"listen: {networks[0]}.{number + 11}:{ROUTE_PORT}")
        routes = ", ".join(f'"nats://{networks[0]}.{other + 11}:{ROUTE_PORT}"' for other in range(3))
        before, _, after = text.partition("routes: [")
        with open(path, "w") as file:
            file.write(before + "routes: [" + routes + after[after.index("]"):])
        self.log.command = ["ip", "netns", "exec", self.space] + self.log.command
        self.relay = Relay((f"{networks[1]}.{number + 11}", ENGINE_PORT))

    def cut(self):
        ip("link", "set", self.links[0], "down")

    def remove(self):
        self.log.end()
        for link in self.links:
            ip("link", "del", link)
        ip("netns", "del", self.space)


def send(hub, authorization, title, seconds):
    """Sends until the hub answers 201; returns how long that took."""
    begin = time.monotonic()
    while True:
        try:
            status, _ = request(
                hub.port, "POST", "messages", authorization, json.dumps({"title": title}),
                ServiceBusNotification_Format="template", Content_Type="application/json", Idempotency_Key=title,
            )
        except OSError:
            status = 0
        elapsed = time.monotonic() - begin
        if status == 201:
            return elapsed
        assert elapsed < seconds, f"{title} is not accepted: {status}"
        time.sleep(0.1)


def connections(hub, relay):
    """Number of the hub's connections to a relay."""
    lines = subprocess.run(
        ["ss", "-Htnp", "state", "established", "dport", "=", f":{relay.port}"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return sum(f"pid={hub.process.pid}," in line for line in lines)


def run(servers, hubs):
    for server in servers:
        server.log.start("Server is ready")
    first, *others = hubs
    first.start()
    for hub in others:
        copy_keys(first, hub)
        hub.start()
    authorization = first.token()
    for hub in hubs:
        send(hub, authorization, f"before {hub.name}", 30)
    used = max(servers, key=lambda server: sum(connections(hub, server.relay) for hub in hubs))
    cut_off = [hub for hub in hubs if connections(hub, used.relay)]
    assert cut_off, "no hub uses any of the servers"
    used.cut()
    begin = time.monotonic()
    while any(connections(hub, used.relay) for hub in cut_off):
        assert time.monotonic() - begin < LIMIT_SECONDS, "a hub stays with the server"
        time.sleep(0.1)
    print(f"{len(cut_off)} of {len(hubs)} hubs used the server, and left it after {time.monotonic() - begin:.1f} s")
    # If it was the leader, the others elect another one first.
    longest = max(send(hub, authorization, f"after {hub.name}", 30) for hub in hubs)
    print(f"the longest wait of a send after that: {longest:.1f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="newswire")
    parser.add_argument("engine", help="nats-server")
    options = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("ss"):
        print("skipped: network namespaces need root, 'ip' and 'ss' (package iproute2)")
        return 0
    made = []
    folder = tempfile.mkdtemp(prefix="newswire-cluster-")
    networks = [f"10.{os.getpid() % 200 + 20}.{number}" for number in (78, 79)]
    servers, hubs = [], []
    try:
        for bridge, network in zip(BRIDGES, networks):
            try:
                ip("link", "add", bridge, "type", "bridge")
            except subprocess.CalledProcessError as error:
                print(f"skipped: {error.stderr.decode().strip()}")
                return 0
            made.append(bridge)
            ip("addr", "add", f"{network}.1/24", "dev", bridge)
            ip("link", "set", bridge, "up")
        for number in range(3):
            servers.append(Server(number, options.engine, folder, networks))
        ports = [server.relay.port for server in servers]
        hubs = [
            Node(options.program, f"{folder}/{name}", name, port, ports, 3) for name, port in zip("abc", free_ports(3))
        ]
        run(servers, hubs)
    finally:
        for hub in hubs:
            hub.end()
        for server in servers:
            server.remove()
        for bridge in made:
            ip("link", "del", bridge)
    shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
