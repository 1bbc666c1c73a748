#!/usr/bin/env python3
"""Three log servers and hubs with the files that `newswire hub log init` writes, on three addresses of loopback, and one that joins them.

Ends with 0 only if the servers form a cluster over TLS, a client without a certificate is refused, the hubs share a log through it from
their first start on, which is at once, and one more hub joins with a code, which works once, at its hub and over TLS only.
"""
import argparse
import http.client
import json
import os
import random
import shutil
import ssl
import socket
import subprocess
import sys
import tempfile
import time

from cluster import START_SECONDS, Node, Process, free_ports, register, request
from kills import differing, end_at_one_position
from traffic import Agent

HOSTS = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]


def changed(path, replacements):
    with open(path) as file:
        text = file.read()
    for old, new in replacements.items():
        assert old in text, (path, old)
        text = text.replace(old, new)
    with open(path, "w") as file:
        file.write(text)


# Puts files below $ROOT, and leaves out their owners: this machine has no such users.
INSTALL = """#!/usr/bin/env python3
import os, sys
words, arguments = [], iter(sys.argv[1:])
for word in arguments:
    if word in ("-o", "-g"):
        next(arguments)
    else:
        words.append(os.environ["ROOT"] + word if word.startswith("/") else word)
os.execv("/usr/bin/install", ["install", *words])
"""


def install(folder, root):
    """Runs the script that `hub log init` has written, on a machine whose files are below `root`."""
    programs = f"{root}/programs"
    os.makedirs(programs)
    for name, text in {"install": INSTALL, "id": "#!/bin/sh\n", "systemctl": "#!/bin/sh\n", "nats-server": "#!/bin/sh\n"}.items():
        with open(f"{programs}/{name}", "w") as file:
            file.write(text)
        os.chmod(f"{programs}/{name}", 0o755)
    environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}", "ROOT": root}
    done = subprocess.run(["sh", f"{folder}/install.sh"], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    written = {f"etc/nats/{name}": f"nats/{name}" for name in ["ca.crt", "log.crt", "log.key"]}
    for path, source in written.items():
        with open(f"{root}/{path}") as one, open(f"{folder}/{source}") as other:
            assert one.read() == other.read(), path


class WrittenServer(Process):
    """A log server with its written files, of which only the folders and ports are changed."""

    def __init__(self, program, root, ports):
        changed(f"{root}/etc/nats-server.conf", {
            "/etc/nats/": f"{root}/etc/nats/", "/var/lib/nats": f"{root}/var/lib/nats",
            ":4222": f":{ports[0]}", ":6222": f":{ports[1]}",
        })
        super().__init__(f"{root}/server", [program, "-c", f"{root}/etc/nats-server.conf"])


class WrittenNode(Node):
    def __init__(self, program, root, port, ports):
        # The files that the class writes are not used.
        super().__init__(program, f"{root}/hub", os.path.basename(root), port, [], 3)
        changed(f"{root}/etc/newswire/newswire.yaml", {
            "listen: 0.0.0.0": "listen: 127.0.0.1", "/etc/newswire/log/": f"{root}/etc/newswire/log/", ":4222": f":{ports[0]}",
        })
        shutil.move(f"{root}/etc/newswire/newswire.yaml", f"{root}/hub/newswire.yaml")
        shutil.move(f"{root}/var/lib/newswire/hub", self.state)


class JoinedNode(Node):
    """A hub on one more machine, with nothing but the program."""

    def __init__(self, program, folder, port):
        super().__init__(program, folder, os.path.basename(folder), port, [], 3)
        os.remove(f"{folder}/newswire.yaml")
        self.file = f"{folder}/etc/newswire.yaml"
        self.command[self.command.index(f"{folder}/newswire.yaml")] = self.file

    def configure(self, text):
        os.makedirs(os.path.dirname(self.file))
        with open(self.file, "w") as file:
            file.write(text)

    def join(self, port, code):
        with open(f"{self.folder}/code", "w") as file:
            file.write(f"{code}\n")
        return subprocess.run(
            [self.program, "hub", "join", f"https://127.0.0.1:{port}", "--code-file", f"{self.folder}/code",
             "--config", self.file, "--state", self.state],
            env=self.environment, capture_output=True, text=True, timeout=120,
        )


def start_at_once(nodes):
    """Starts hubs as a service manager does, which starts one again that has ended."""
    end = time.monotonic() + START_SECONDS
    while any("is ready" not in (node.printed() if os.path.exists(node.log) else "") for node in nodes):
        for node in nodes:
            if not node.is_running:
                Process.start(node)
        time.sleep(0.1)
        assert time.monotonic() < end, [node.printed() for node in nodes]


def refuses(done, status, text):
    assert done.returncode == status and text in done.stderr, (done.returncode, done.stderr)


def check_joining(options, folder, nodes):
    first, second = nodes[0], nodes[1]
    joined = JoinedNode(options.program, f"{folder}/d", free_ports(1)[0])
    register(first.port, first.token(), 1)
    agent = Agent([joined], first.token("listen.connection"), 1, random.Random(1))
    invite = ["hub", "invite", "--config", f"{second.folder}/newswire.yaml", "--state", second.state, "--node", "d"]
    refuses(subprocess.run([options.program, *invite], env=second.environment, capture_output=True, text=True), 78, "there is no key")
    code = first.manage("hub", "invite", "--node", "d").strip()
    refuses(joined.join(second.port, code), 1, "is not the hub that has made the code")
    refuses(joined.join(first.port, code[:-1] + ("A" if code[-1] != "A" else "B")), 1, "does not know the code")
    refuses(joined.join(first.port, "x"), 64, "is not a code")
    # Whoever sends the code in the clear has shown it to the network.
    status, _ = raw_post(first.port, code.split(".")[1])
    assert status == 400, status
    refuses(joined.join(first.port, code), 1, "does not know the code")
    refuses(joined.join(first.port, first.manage("hub", "invite", "--node", "b").strip()), 1, "is running")
    assert not os.path.exists(joined.file), "something was written"
    former = first.manage("hub", "invite", "--node", "d").strip()
    code = first.manage("hub", "invite", "--node", "d").strip()
    refuses(joined.join(first.port, former), 1, "does not know the code")
    # What is in the way here does not use up the code.
    odd = JoinedNode(options.program, f"{folder}/odd", free_ports(1)[0])
    odd.configure("hub: {pages: off}\n")
    refuses(odd.join(first.port, code), 1, "nothing was changed")
    assert not os.path.exists(f"{odd.state}/secrets.key")
    # Settings in which hubs must not differ do not stay.
    joined.configure("hub:\n  log-level: info\n  pages: public\n  log-name: other\n  log-credentials: /none\n")
    done = joined.join(first.port, code)
    assert done.returncode == 0, done.stderr
    with open(joined.file) as file:
        text = file.read()
    assert "log-level: info" in text and not any(word in text for word in ["pages", "other", "credentials"]), text
    refuses(joined.join(first.port, code), 1, "does not know the code")
    left = [name for name in os.listdir(first.state) if "invitation" in name] + [
        name for name in os.listdir(joined.state) if ".tmp" in name]
    assert not left, left
    modes = {name: oct(os.stat(f"{joined.folder}/{name}").st_mode & 0o777) for name in ["state/secrets.key", "etc/log/hub.key"]}
    assert set(modes.values()) == {"0o600"}, modes
    joined.start()
    try:
        agent.start()
        assert agent.opened.wait(30), joined.printed()
        status, body = request(first.port, "POST", "messages?api-version=2020-06", first.token(), '{"title":"to d"}',
                               ServiceBusNotification_Format="template", Content_Type="application/json")
        assert status == 201, (status, body)
        end = time.monotonic() + 30
        while not agent.received["to d"]:
            assert time.monotonic() < end, joined.printed()
            time.sleep(0.1)
        refuses(joined.join(first.port, first.manage("hub", "invite", "--node", "e").strip()), 75, "stop it first")
        joined.end()
        # A copy that is too old is replaced in the same way.
        done = joined.join(first.port, first.manage("hub", "invite", "--node", "d").strip())
        assert done.returncode == 0, done.stderr
        joined.start()
        alone = JoinedNode(options.program, f"{folder}/e", free_ports(1)[0])
        alone.configure("hub:\n  pages: off\n")
        alone.start()
        alone.end()
        refuses(alone.join(first.port, first.manage("hub", "invite", "--node", "e").strip()), 78, "content of its own")
        with open(f"{alone.state}/secrets.key") as file:
            own = file.read()
        os.remove(f"{alone.state}/hub.sqlite")
        refuses(alone.join(first.port, first.manage("hub", "invite", "--node", "e").strip()), 78, "is of another hub")
        with open(f"{alone.state}/secrets.key") as file:
            assert file.read() == own
        position = end_at_one_position([*nodes, joined], 30)
        assert not position, position
        assert not differing([*nodes, joined])
    finally:
        agent.stopped.set()
        agent.join(15)
        joined.end()


def raw_post(port, text):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("POST", "/$join/", text, {"Host": "127.0.0.1"})
        reply = connection.getresponse()
        return reply.status, reply.read()
    finally:
        connection.close()


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
    roots = [f"{folder}/{host}" for host in HOSTS]
    for host, root in zip(HOSTS, roots):
        install(f"{out}/{host}", root)
    servers = [WrittenServer(options.engine, root, ports) for root in roots]
    nodes = [WrittenNode(options.program, root, port, ports) for root, port in zip(roots, free_ports(3))]
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
        first = nodes[0]
        start_at_once(nodes)
        status, body = request(nodes[1].port, "POST", "messages?api-version=2020-06", first.token(), '{"title":"one"}',
                               ServiceBusNotification_Format="template", Content_Type="application/json")
        assert status == 201, (status, body)
        for node in nodes:
            end = time.monotonic() + 30
            while len((report := json.loads(node.run("hub", "log", "status", "--json")))["peers"]) < 2:
                assert time.monotonic() < end, report
                time.sleep(0.2)
        check_joining(options, folder, nodes)
    finally:
        for process in [*nodes, *servers]:
            process.end()
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
