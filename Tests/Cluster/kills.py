#!/usr/bin/env python3
"""Hubs and log servers are killed and paused at random under senders and agents that move between the hubs.

Ends with 0 only if every acknowledged message came to every agent once, without a gap, and all databases are equal.
"""

import argparse
import contextlib
import hashlib
import json
import random
import signal
import sqlite3
import sys
import tempfile
import threading
import time

from cluster import Cluster, register
from traffic import Traffic

# Tables that each hub writes for itself; see `DeterministicSQL.nodeLocalTables`.
OWN_TABLES = {"clock", "generation", "logPlace", "figure", "streamProgress", "streamTime"}


class Faults(threading.Thread):
    """Kills or pauses one process after the other, so that a majority of the log servers is always there."""

    def __init__(self, cluster, chance):
        super().__init__(daemon=True)
        self.cluster, self.chance = cluster, chance
        self.stopped = threading.Event()
        self.count, self.error = 0, None

    def run(self):
        try:
            while not self.stopped.wait(self.chance.uniform(0.5, 2)):
                self.fault(self.chance.choice([*self.cluster.nodes, *self.cluster.servers]))
                self.count += 1
        except Exception as error:
            self.error = error

    def fault(self, process):
        if self.chance.random() < 0.4:
            process.send(signal.SIGSTOP)
            self.stopped.wait(self.chance.uniform(0.1, 6))
            process.send(signal.SIGCONT)
        else:
            process.kill()
            self.stopped.wait(self.chance.uniform(0, 3))
            process.start()

    def end(self):
        self.stopped.set()
        self.join(120)
        if self.error:
            raise self.error


def reading(node):
    return sqlite3.connect(f"file:{node.state}/hub.sqlite?mode=ro", uri=True)


def place(node):
    """The number of the last entry of the log that a hub has executed, from its database."""
    with contextlib.closing(reading(node)) as connection:
        return connection.execute("SELECT number FROM logPlace").fetchone()[0]


def digest(node):
    """A digest of what all hubs have in common."""
    with contextlib.closing(reading(node)) as connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        sums = {}
        for name in names:
            if name in OWN_TABLES or name.startswith("sqlite_stat"):
                continue
            rows = sorted(repr(row) for row in connection.execute(f'SELECT * FROM "{name}"'))
            sums[name] = hashlib.sha256("\n".join(rows).encode()).hexdigest()
        return sums


def differing(nodes):
    digests = [digest(node) for node in nodes]
    return sorted({table for one in digests[1:] for table in one if one[table] != digests[0].get(table)})


def wait_for_equal_positions(nodes, seconds):
    """Waits until all hubs have executed the log as it is now; returns their places if they do not get there."""
    last = json.loads(nodes[0].run("hub", "log", "status", "--json"))["logEnd"]
    end = time.monotonic() + seconds
    while True:
        places = {node.name: place(node) for node in nodes}
        if len(set(places.values())) == 1 and min(places.values()) >= last:
            return None
        if time.monotonic() > end:
            return {"end of the log": last, **places}
        time.sleep(0.02)


def end_at_one_position(nodes, seconds):
    """Ends all hubs where they have executed the same; returns their places if they do not get there.

    A stop would write, and hubs without requests write, too, every few seconds: if one wrote between the ends of two,
    all go on.
    """
    end = time.monotonic() + seconds
    while True:
        places = wait_for_equal_positions(nodes, end - time.monotonic())
        for node in nodes:
            node.send(signal.SIGKILL)
        for node in nodes:
            node.kill()
        if places:
            return places
        places = {node.name: place(node) for node in nodes}
        if len(set(places.values())) == 1:
            return None
        if time.monotonic() > end:
            return places
        for node in nodes:
            node.start()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="newswire")
    parser.add_argument("engine", help="nats-server")
    parser.add_argument("--messages", type=int, default=2_000)
    parser.add_argument("--senders", type=int, default=16)
    parser.add_argument("--agents", type=int, default=6)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--keep", action="store_true", help="keep the folder, with the logs of all processes")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    print(f"seed {options.seed}", flush=True)
    folder = tempfile.mkdtemp(prefix="newswire-cluster-")
    with Cluster(options.program, options.engine, folder) as cluster:
        for number in range(options.agents):
            status, body = register(cluster.nodes[0].port, cluster.authorization, number)
            assert status in (200, 201), (status, body)
        traffic = Traffic(
            cluster.nodes, cluster.authorization, options.senders, options.agents, options.messages, chance
        )
        begin = time.monotonic()
        traffic.start()
        faults = Faults(cluster, chance)
        faults.start()
        end = begin + 60 + options.messages / 10
        while traffic.is_sending and time.monotonic() < end:
            time.sleep(0.2)
        faults.end()
        while traffic.is_sending and time.monotonic() < end + 60:
            time.sleep(0.2)
        sending = time.monotonic() - begin
        missing = traffic.settle(60)
        traffic.stop()
        acknowledged = len(traffic.acknowledged.titles)
        problems = {
            "senders that did not end": traffic.is_sending,
            "missing": missing,
            "repeated": traffic.repeated()[:5],
            "gaps": traffic.gaps()[:5],
        }
        problems["positions that differ"] = end_at_one_position(cluster.nodes, 60)
        problems["tables that differ"] = differing(cluster.nodes)
        print(
            f"{acknowledged} messages acknowledged in {sending:.0f} s, {faults.count} faults, "
            f"{sum(agent.streams for agent in traffic.agents)} streams, refusals {dict(traffic.refusals())}"
        )
    return cluster.conclude(problems, options.keep)


if __name__ == "__main__":
    sys.exit(main())
