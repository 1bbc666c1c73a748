#!/usr/bin/env python3
"""The hub that writes is paused while clients change things through the other hubs, and goes on later.

Ends with 0 only if the others answer soon, nothing that was answered with 503 is executed afterwards, newer changes stay,
and what has an idempotency key is executed once.
"""

import argparse
import concurrent.futures
import json
import random
import signal
import sys
import tempfile
import time

from cluster import Cluster, push_channel, register, request
from kills import differing, end_at_one_position, wait_for_equal_positions
from traffic import Agent

# A claim to write lasts two seconds; the rest is for a busy machine.
ANSWER_SECONDS = 6


def send(node, authorization, title, key=None):
    headers = {"Idempotency_Key": key} if key else {}
    return request(
        node.port, "POST", "messages", authorization, json.dumps({"title": title}),
        ServiceBusNotification_Format="template", Content_Type="application/json", **headers,
    )


def tags(node, authorization, number):
    status, body = request(
        node.port, "GET", f"installations/agent{number}", authorization, Newswire_Push_Channel=push_channel(number)
    )
    assert status == 200, (status, body)
    return json.loads(body)["tags"]


def timed(call, *arguments):
    begin = time.monotonic()
    status, body = call(*arguments)
    return status, body, time.monotonic() - begin


def writer(cluster, authorization):
    """The hub that the others pass requests to: it has written what was sent to each of them."""
    for _ in range(20):
        names = set()
        for node in cluster.nodes:
            assert send(node, authorization, "probe")[0] == 201
            names.add(json.loads(node.run("hub", "log", "status", "--json"))["writer"])
        if len(names) == 1:
            return next(node for node in cluster.nodes if node.name in names)
        time.sleep(0.5)
    raise AssertionError(f"several hubs write: {names}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="newswire")
    parser.add_argument("engine", help="nats-server")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8, help="the length of a pause")
    parser.add_argument("--keep", action="store_true", help="keep the folder, with the logs of all processes")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="newswire-cluster-")
    problems = {"late answers": [], "wrong answers": [], "undone": [], "executed late": [], "not once": []}
    with Cluster(options.program, options.engine, folder) as cluster, \
            concurrent.futures.ThreadPoolExecutor(8) as pool:
        authorization = cluster.authorization
        for number in (0, 1):
            assert register(cluster.nodes[0].port, authorization, number)[0] in (200, 201)
        agent = Agent(cluster.nodes, authorization, 0, random.Random(1))
        for attempt in range(options.rounds):
            assert send(cluster.nodes[attempt % 3], authorization, f"before-{attempt}")[0] == 201
            time.sleep(1.5)
            paused = writer(cluster, authorization)
            one, other = (node for node in cluster.nodes if node is not paused)
            agent.nodes = [one, other]
            if not agent.is_alive():
                agent.start()
                assert agent.opened.wait(30), "an agent gets no stream"
            paused.send(signal.SIGSTOP)
            calls = [
                pool.submit(timed, register, one.port, authorization, 1, (f"Old{attempt}",)),
                pool.submit(timed, send, one, authorization, f"late-{attempt}"),
                pool.submit(timed, send, other, authorization, f"keyed-{attempt}", f"key-{attempt}"),
            ]
            answers = [call.result() for call in calls]
            print(f"{paused.name} is paused:", [(status, round(seconds, 1)) for status, _, seconds in answers], flush=True)
            if [status for status, _, _ in answers] != [503, 503, 201]:
                problems["wrong answers"].append([answer[:2] for answer in answers])
            problems["late answers"] += [seconds for _, _, seconds in answers if seconds > ANSWER_SECONDS]
            # The client changes over, and goes on.
            status, body = register(other.port, authorization, 1, (f"New{attempt}",))
            assert status == 200, (status, body)
            time.sleep(options.seconds)
            paused.send(signal.SIGCONT)
            assert send(paused, authorization, f"after-{attempt}", f"after-{attempt}")[0] in (201, 503)
            time.sleep(1.5)
            assert wait_for_equal_positions(cluster.nodes, 60) is None
            found = {node.name: tags(node, authorization, 1) for node in cluster.nodes}
            if any(list(names) != [f"New{attempt}"] for names in found.values()):
                problems["undone"].append(found)
            # A repeat finds what was executed.
            assert send(paused, authorization, f"keyed-{attempt}", f"key-{attempt}")[0] == 201
            assert send(one, authorization, f"end-{attempt}", f"end-{attempt}")[0] == 201
            end = time.monotonic() + 30
            while not agent.received[f"end-{attempt}"] and time.monotonic() < end:
                time.sleep(0.05)
            if agent.received[f"late-{attempt}"]:
                problems["executed late"].append(attempt)
            if any(agent.received[f"{name}-{attempt}"] != 1 for name in ("before", "keyed", "end")):
                problems["not once"].append(dict(agent.received))
        agent.stopped.set()
        agent.join(15)
        problems["gaps"] = agent.gaps
        problems["positions that differ"] = end_at_one_position(cluster.nodes, 60)
        problems["tables that differ"] = differing(cluster.nodes)
    code = cluster.conclude(problems, options.keep)
    if code == 0:
        print("nothing was executed late")
    return code


if __name__ == "__main__":
    sys.exit(main())
