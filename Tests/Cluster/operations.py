#!/usr/bin/env python3
"""What an operator does with hubs that share a log: a single hub becomes the first, a copy of it the second, the log is
lost with its disks and begun again, and a hub leaves it.

Ends with 0 only if each step tells what it did, nothing is lost, and agents see a gap where they must and nowhere else.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

from cluster import Cluster, copy_keys, register, request
from traffic import Agent


def send(node, authorization, title):
    status, body = request(
        node.port, "POST", "messages", authorization, json.dumps({"title": title}),
        ServiceBusNotification_Format="template", Content_Type="application/json", Idempotency_Key=title,
    )
    assert status == 201, (status, body)


def expect_refusal(node, words, but=None):
    """The hub does not start, and says why in one line, which lacks some words."""
    process = subprocess.run(node.command, env=node.environment, capture_output=True, text=True, timeout=60)
    lines = process.stderr.strip().splitlines()
    assert process.returncode == 78 and lines and words in lines[-1], (process.returncode, process.stderr)
    assert not but or but not in process.stderr, process.stderr


def command(node, *arguments):
    done = subprocess.run(
        [node.program, *arguments, "--state", node.state, "--config", f"{node.folder}/newswire.yaml"],
        env=node.environment, capture_output=True, text=True, timeout=60,
    )
    return done.returncode, done.stdout + done.stderr


def read_until(agent, node, title, seconds=30):
    """Lets an agent read at one node until it has a message."""
    agent.nodes = [node]
    agent.stopped.clear()
    if not agent.is_alive():
        agent.start()
    end = time.monotonic() + seconds
    while agent.received[title] == 0 and time.monotonic() < end:
        time.sleep(0.05)
    assert agent.received[title] == 1, (title, agent.received)


def configure(node, shares):
    path = f"{node.folder}/newswire.yaml"
    with open(path) as file:
        text = file.read()
    with open(path, "w") as file:
        file.write(text.replace("\n  log:", "\n  # log:").replace("\n    ", "\n  #   ") if not shares
                   else text.replace("\n  # log:", "\n  log:").replace("\n  #   ", "\n    "))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="newswire")
    parser.add_argument("engine", help="nats-server")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="newswire-cluster-")
    cluster = Cluster(options.program, options.engine, folder, servers=1, nodes=3)
    (server,), (a, b, c) = cluster.servers, cluster.nodes
    try:
        server.start("Server is ready")

        # A hub that was alone becomes the first of several.
        configure(a, shares=False)
        a.start()
        authorization = a.token()
        assert register(a.port, authorization, 0)[0] in (200, 201)
        send(a, authorization, "alone")
        agent = Agent([a], authorization, 0, random.Random(1))
        read_until(agent, a, "alone")
        a.end()
        configure(a, shares=True)
        a.start()
        send(a, authorization, "shared")

        # An empty database cannot follow, and neither can one with other content.
        # Without the files that hubs have in common, it makes none of its own.
        expect_refusal(c, f"'{c.state}/secrets.key' and '{c.state}/ca.pem'")
        assert not set(os.listdir(c.state)) & {"secrets.key", "ca.pem", "hub.sqlite"}, os.listdir(c.state)
        copy_keys(a, c)
        expect_refusal(c, "does not follow this node's last entry")
        shutil.rmtree(c.state)
        configure(c, shares=False)
        c.start()
        c.end()
        configure(c, shares=True)
        expect_refusal(c, "content of its own")
        shutil.rmtree(c.state)

        # A copy can, with what came since, while the first hub runs.
        assert command(a, "hub", "backup", f"{folder}/copy")[0] == 0
        send(a, authorization, "after the copy")
        copy_keys(a, b)
        code, text = command(b, "hub", "restore", f"{folder}/copy")
        assert code == 0, text
        b.start()
        send(b, authorization, "from b")
        read_until(agent, b, "from b")
        read_until(agent, a, "from b")
        assert agent.received["after the copy"] == agent.received["shared"] == 1
        assert not agent.gaps, agent.gaps

        # One of them cannot be started twice, nor rotate a key on its own.
        other = subprocess.run(
            [a.program, "hub", "--config", f"{a.folder}/newswire.yaml", "--state", f"{folder}/other", "--port", "0"],
            env=a.environment, capture_output=True, text=True, timeout=60,
        )
        assert other.returncode == 75 and "already has this name" in other.stderr, other.stderr
        code, text = command(a, "hub", "keys", "--rotate", "DefaultListenSharedAccessSignature")
        assert code != 0 and "cannot rotate the key" in text, text
        code, text = command(a, "hub", "keys")
        assert code == 0 and "Endpoint=" in text, text

        # The log is lost with its disk.
        agent.stopped.set()
        agent.join(15)
        b.end()
        code, position = command(b, "hub", "log", "status", "--offline", "--json")
        assert code == 0, position
        send(a, authorization, "b lacks it")
        a.end()
        server.end()
        shutil.rmtree(f"{server.folder}/store")
        server.start("Server is ready")
        expect_refusal(a, "hub log reseed")
        code, text = command(b, "hub", "log", "reseed")
        assert code != 0 and "--yes" in text, text
        code, text = command(b, "hub", "log", "reseed", "--yes")
        assert code == 0, text
        expect_refusal(a, "copy the database", but="reseed")
        b.start()
        send(b, authorization, "again")
        expect_refusal(a, "copy the database", but="reseed")
        resumed = Agent([b], authorization, 0, random.Random(2))
        resumed.cursor = agent.cursor
        read_until(resumed, b, "again")
        assert len(resumed.gaps) == 1, resumed.gaps

        # A hub leaves the log, and goes on alone without a gap.
        resumed.stopped.set()
        resumed.join(15)
        assert command(b, "hub", "backup", f"{folder}/second")[0] == 0
        code, text = command(a, "hub", "restore", f"{folder}/second")
        assert code == 0, text
        a.start()
        b.end()
        send(a, authorization, "b lacks this, too")
        configure(b, shares=False)
        expect_refusal(b, "newswire hub log leave")
        code, text = command(b, "hub", "log", "leave")
        assert code == 78 and "--offline" in text, text
        configure(b, shares=True)
        code, text = command(b, "hub", "log", "leave")
        assert code == 0, text
        # The other one was forgotten.
        assert a.process.wait(30) == 78, a.process.returncode
        expect_refusal(a, "was closed by 'newswire hub log leave' on hub 'b'")
        configure(b, shares=False)
        b.start()
        send(b, authorization, "alone again")
        last = Agent([b], authorization, 0, random.Random(3))
        last.cursor = resumed.cursor
        read_until(last, b, "alone again")
        assert last.received["b lacks this, too"] == 1, last.received
        assert not last.gaps, last.gaps
        last.stopped.set()
        last.join(15)
    finally:
        for process in [a, b, c, server]:
            process.end()
    cluster.remove()
    print("every step does what it says")
    return 0


if __name__ == "__main__":
    sys.exit(main())
