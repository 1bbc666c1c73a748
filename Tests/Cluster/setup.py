#!/usr/bin/env python3
"""Three log servers and hubs with the files that `newswire hub log init` writes, on three addresses of loopback.

Ends with 0 only if the servers form a cluster over TLS, a client without a certificate is refused, and the hubs share a log through it.
"""
import argparse
import json
import os
import shutil
import ssl
import socket
import subprocess
import sys
import tempfile
import time

from cluster import Node, Process, copy_keys, free_ports, request

HOSTS = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]


def changed(path, replacements):
    with open(path) as file:
        text = file.read()
    for old, new in replacements.items():
        assert old in text, (path, old)
        text = text.replace(old, new)
    with open(path, "w") as file:
        file.write(text)


class WrittenServer(Process):
    """A log server with its written files, of which only the folders and ports are changed."""

    def __init__(self, program, folder, ports):
        changed(f"{folder}/nats-server.conf", {
            "/etc/nats/": f"{folder}/nats/", "/var/lib/nats": f"{folder}/store", ":4222": f":{ports[0]}", ":6222": f":{ports[1]}",
        })
        super().__init__(f"{folder}/server", [program, "-c", f"{folder}/nats-server.conf"])


class WrittenNode(Node):
    def __init__(self, program, folder, port, ports):
        # The files that the class writes are not used.
        super().__init__(program, f"{folder}/hub", "x", port, [], 3)
        changed(f"{folder}/newswire.yaml", {
            "listen: 0.0.0.0": "listen: 127.0.0.1", "/etc/newswire/log/": f"{folder}/log/", ":4222": f":{ports[0]}",
        })
        shutil.move(f"{folder}/newswire.yaml", f"{folder}/hub/newswire.yaml")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="newswire")
    parser.add_argument("engine", help="nats-server")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="newswire-setup-")
    out = f"{folder}/cluster"
    command = [options.program, "hub", "log", "init", *HOSTS, "--public-address", "https://news.example.org", "--out", out]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [f"{out}/{host}" for host in HOSTS], done.stdout
    again = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert again.returncode == 64 and "exists already" in again.stderr, again.stderr
    modes = {name: oct(os.stat(f"{out}/{name}").st_mode & 0o777) for name in ["ca.key", f"{HOSTS[0]}/log/hub.key"]}
    assert set(modes.values()) == {"0o600"}, modes
    ports = free_ports(2)
    servers = [WrittenServer(options.engine, f"{out}/{host}", ports) for host in HOSTS]
    nodes = [WrittenNode(options.program, f"{out}/{host}", port, ports) for host, port in zip(HOSTS, free_ports(3))]
    try:
        for server in servers:
            server.start("Server is ready")
        stranger = ssl.create_default_context(cafile=f"{out}/ca.crt")
        stranger.check_hostname = False
        try:
            with socket.create_connection((HOSTS[0], ports[0]), timeout=10) as connection:
                connection.recv(65_536)
                with stranger.wrap_socket(connection) as secured:
                    secured.sendall(b'CONNECT {"tls_required":true}\r\nPING\r\n')
                    answer = secured.recv(65_536)
            assert b"PONG" not in answer, answer
        except (ssl.SSLError, ConnectionError):
            pass
        first, *others = nodes
        first.start()
        for node in others:
            copy_keys(first, node)
            node.start()
        status, body = request(nodes[1].port, "POST", "messages?api-version=2020-06", first.token(), '{"title":"one"}',
                               ServiceBusNotification_Format="template", Content_Type="application/json")
        assert status == 201, (status, body)
        for node in nodes:
            end = time.monotonic() + 30
            while len((report := json.loads(node.run("hub", "log", "status", "--json")))["peers"]) < 2:
                assert time.monotonic() < end, report
                time.sleep(0.2)
    finally:
        for process in [*nodes, *servers]:
            process.end()
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
