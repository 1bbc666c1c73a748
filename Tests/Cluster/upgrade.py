#!/usr/bin/env python3
"""Hubs are stopped and started again one after the other, as in an upgrade, under senders and agents that move.

    Tests/Cluster/upgrade.py OLD nats-server --to NEW

Ends with 0 only if every acknowledged message came to every agent once, without a gap, and all databases are equal. NEW may
have a new schema: upgraded hubs then wait until the last old one has stopped, and an old one cannot come back.
"""

import argparse
import os
import random
import sys
import tempfile
import time

from cluster import START_SECONDS, Cluster, Process, register
from kills import differing, end_at_one_position
from traffic import Traffic

READY = "the hub is ready"
WAITING = "waiting for hubs of an earlier version"


def wait_for(text, node, begin, seconds=START_SECONDS):
    """Returns the first of the texts that a node prints after `begin`."""
    end = time.monotonic() + seconds
    while True:
        printed = node.printed(begin)
        found = next((one for one in text if one in printed), None)
        if found:
            return found
        assert node.is_running and time.monotonic() < end, printed
        time.sleep(0.02)


def upgrade(node, program):
    """Replaces a hub; returns where its log begins, and what it has said."""
    node.end()
    node.program = node.command[0] = program
    begin = os.path.getsize(node.log)
    Process.start(node)
    return begin, wait_for([READY, WAITING], node, begin)


def progress(traffic, count):
    """Waits until `count` more messages are acknowledged."""
    goal = len(traffic.acknowledged.titles) + count
    end = time.monotonic() + START_SECONDS
    while len(traffic.acknowledged.titles) < goal:
        assert time.monotonic() < end, "no hub accepts messages"
        time.sleep(0.02)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="newswire")
    parser.add_argument("engine", help="nats-server")
    parser.add_argument("--to", help="the newswire of the other version; without it, hubs are only started again")
    parser.add_argument("--messages", type=int, default=200, help="acknowledged before each step (default: %(default)s)")
    options = parser.parse_args()
    new = options.to or options.program
    folder = tempfile.mkdtemp(prefix="newswire-cluster-")
    with Cluster(options.program, options.engine, folder) as cluster:
        for number in range(4):
            status, body = register(cluster.nodes[0].port, cluster.authorization, number)
            assert status in (200, 201), (status, body)
        traffic = Traffic(cluster.nodes, cluster.authorization, 8, 4, 1 << 30, random.Random())
        traffic.start()
        said = []
        for node in cluster.nodes:
            progress(traffic, options.messages)
            said.append((node, *upgrade(node, new)))
        for node, begin, _ in said:
            wait_for([READY], node, begin)
        progress(traffic, options.messages)
        traffic.end()
        missing = traffic.settle(60)
        traffic.stop()
        problems = {
            "missing": missing,
            "repeated": traffic.repeated()[:5],
            "gaps": traffic.gaps()[:5],
            "positions that differ": end_at_one_position(cluster.nodes, 60),
        }
        problems["tables that differ"] = differing(cluster.nodes)
        has_waited = any(what == WAITING for _, _, what in said)
        if has_waited:
            first = cluster.nodes[0]
            first.program = first.command[0] = options.program
            try:
                first.start()
                problems["started again"] = "a hub of the earlier version"
            except OSError as error:
                if "a newer version of newswire has written it" not in str(error):
                    problems["said"] = str(error)
        print(
            f"{len(traffic.acknowledged.titles)} messages acknowledged, refusals {dict(traffic.refusals())}"
            + (", hubs waited for each other" if has_waited else "")
        )
    return cluster.conclude(problems)


if __name__ == "__main__":
    sys.exit(main())
