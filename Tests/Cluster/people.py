#!/usr/bin/env python3
"""People at hubs that share a log: they sign in, register devices, are notified and read secure texts, while hubs and log servers are killed and paused.

Ends with 0 only if every device got each acknowledged text for its user once and no other, every secure text was read, nobody was signed
out, readers kept their sessions, and the hubs' databases are equal.
"""
import argparse
import base64
import collections
import http.client
import json
import os
import random
import re
import sys
import tempfile
import threading
import time

from cluster import Cluster, push_channel
from kills import Faults, differing, end_at_one_position
from traffic import Agent

DEVICES = 3
SECURE_ID = re.compile(r'"secureId" *: *"(\d+)"')
CLIENT_SECONDS = 30


def basic(name):
    return "Basic " + base64.b64encode(f"{name}:{name}-password".encode()).decode()


def call(node, method, path, fields, body=None):
    """One request; returns status, fields and body."""
    connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=CLIENT_SECONDS)
    try:
        connection.request(method, path, body, {"Host": "127.0.0.1", **fields})
        reply = connection.getresponse()
        return reply.status, reply.headers, reply.read()
    finally:
        connection.close()


class Device(Agent):
    """A device of a user: an agent that is registered through the app backend."""

    def __init__(self, person, nodes, authorization, number, chance):
        super().__init__(nodes, authorization, number, chance)
        self.person = person

    def take(self, event):
        if "id" in event:
            self.cursor = event["id"]
        if event.get("event") == "gap":
            self.gaps.append(event)
        elif "data" in event and "event" not in event:
            self.received[event["data"]] += 1
            if found := SECURE_ID.search(event["data"]):
                self.person.secure.add(found[1])


class Person(threading.Thread):
    """A user who registers devices, and then notifies others and reads secure texts, at any hub."""

    def __init__(self, crowd, name, first, authorization, chance):
        super().__init__(daemon=True)
        self.crowd, self.label, self.chance = crowd, name, chance
        self.token, self.secure = None, set()
        self.answers, self.problems = collections.Counter(), []
        self.devices = [
            Device(self, crowd.nodes, authorization, first + number, random.Random(chance.random())) for number in range(DEVICES)
        ]
        self.ready = threading.Event()

    def ask(self, method, path, body=None, fields=None, until=(200,)):
        """Tries at one hub after the other until the answer is one of these."""
        while True:
            try:
                status, _, reply = call(
                    self.chance.choice(self.crowd.nodes), method, path,
                    {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **(fields or {})}, body,
                )
                self.answers[status] += 1
                if status in until:
                    return status, reply
                if status not in (429, 500, 502, 503):
                    self.problems.append((method, path, status, reply[:200]))
                    return status, reply
            except (OSError, http.client.HTTPException):
                self.answers["none"] += 1
            time.sleep(self.chance.uniform(0.1, 0.6))

    def run(self):
        _, reply = self.ask("POST", "/api/login", b"{}", {"Authorization": basic(self.label)})
        self.token = json.loads(reply)["token"]
        for device in self.devices:
            body = json.dumps({
                "installationId": f"agent{device.number}", "platform": "stream", "pushChannel": push_channel(device.number),
                "tags": [], "templates": {},
            })
            self.ask("PUT", f"/api/installations/agent{device.number}", body)
            device.start()
        for device in self.devices:
            device.opened.wait(60)
        self.ready.set()
        self.crowd.begun.wait()
        while not self.crowd.ended.wait(self.chance.uniform(0.5, 2)):
            self.act()
        read = {
            json.loads(self.ask("GET", f"/api/notifications/{number}")[1]).get("Payload") for number in self.secure
        }
        if read != {f"secret of {self.label}"}:
            self.problems.append(("secure texts", read))

    def act(self):
        """Notifies somebody, by a text of its own for each attempt."""
        other = self.chance.choice(self.crowd.people)
        text = f"for-{other.label}-{self.chance.getrandbits(64):x}"
        self.crowd.note(text, other, False)
        query = f"/api/notifications?pns=stream&to_tag={other.label}"
        try:
            status, _, reply = call(
                self.chance.choice(self.crowd.nodes), "POST", query,
                {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}, json.dumps(text),
            )
        except (OSError, http.client.HTTPException):
            self.answers["none"] += 1
            return
        self.answers[status] += 1
        if status == 200:
            self.crowd.note(text, other, True)
        elif status not in (429, 500, 502, 503):
            self.problems.append(("POST", query, status, reply[:200]))


class Crowd:
    def __init__(self, nodes):
        self.nodes, self.people = nodes, []
        # Addressee and acknowledgment by text.
        self.sent, self.lock = {}, threading.Lock()
        self.begun, self.ended = threading.Event(), threading.Event()

    def note(self, text, addressee, is_acknowledged):
        with self.lock:
            self.sent[text] = (addressee, is_acknowledged)

    def missing(self):
        with self.lock:
            acknowledged = [(text, person) for text, (person, is_acknowledged) in self.sent.items() if is_acknowledged]
        return [
            (device.number, text) for text, person in acknowledged for device in person.devices
            if not any(text in data for data in list(device.received))
        ]

    def wrong(self):
        return [
            (device.number, data) for person in self.people for device in person.devices for data in device.received
            if f"for-{person.label}-" not in data
        ]

    def repeated(self):
        return [
            (device.number, data) for person in self.people for device in person.devices
            for data, count in device.received.items() if count > 1
        ]


class Reader(threading.Thread):
    """A browser with a session, which looks at the page of one hub after the other."""

    def __init__(self, crowd, link, chance):
        super().__init__(daemon=True)
        self.crowd, self.chance = crowd, chance
        self.problems, self.views = [], 0
        status, fields, reply = call(
            chance.choice(crowd.nodes), "POST", "/-/news/enter",
            {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}, f"code={link.split('code=')[1]}",
        )
        assert status == 303, (status, reply[:300])
        self.cookie = fields["Set-Cookie"].split(";")[0]

    def run(self):
        while not self.crowd.ended.wait(self.chance.uniform(0.2, 1)):
            try:
                status, _, reply = call(self.chance.choice(self.crowd.nodes), "GET", "/-/news/", {"Cookie": self.cookie})
            except (OSError, http.client.HTTPException):
                continue
            self.views += 1
            if status not in (200, 500, 502, 503):
                self.problems.append((status, reply[:100]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="newswire")
    parser.add_argument("engine", help="nats-server")
    parser.add_argument("--users", type=int, default=8)
    parser.add_argument("--readers", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--keep", action="store_true", help="keep the folder, with the logs of all processes")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    print(f"seed {options.seed}", flush=True)
    folder = tempfile.mkdtemp(prefix="newswire-people-")
    with Cluster(options.program, options.engine, folder, people=True) as cluster:
        crowd = Crowd(cluster.nodes)
        for number in range(options.users):
            name, node = f"user{number}", cluster.nodes[number % len(cluster.nodes)]
            password = f"{folder}/password"
            with open(os.open(password, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
                file.write(f"{name}-password\n")
            node.manage("user", "add", name, "--may-notify", "--password-file", password)
            crowd.people.append(
                Person(crowd, name, 1_000 + number * DEVICES, node.token("listen.connection"), random.Random(chance.random()))
            )
        listed = cluster.nodes[-1].manage("user", "list").splitlines()
        assert len(listed) == options.users, listed
        readers = [
            Reader(crowd, cluster.nodes[number % len(cluster.nodes)].manage("hub", "invite").strip(), random.Random(chance.random()))
            for number in range(options.readers)
        ]
        for person in crowd.people:
            person.start()
        for person in crowd.people:
            assert person.ready.wait(120), (person.label, person.answers, person.problems)
        sender = crowd.people[0]
        for other in crowd.people:
            text = f"secret of {other.label}"
            status, reply = sender.ask("POST", "/api/notifications", json.dumps({"to": other.label, "payload": text}))
            assert status == 200, (status, reply)
        for reader in readers:
            reader.start()
        crowd.begun.set()
        faults = Faults(cluster, chance)
        faults.start()
        time.sleep(options.seconds)
        faults.end()
        crowd.ended.set()
        for person in crowd.people:
            person.join(60)
            if person.is_alive():
                person.problems.append(("does not end", dict(person.answers)))
        # Nobody sends any more.
        end = time.monotonic() + 60
        while crowd.missing() and time.monotonic() < end:
            time.sleep(0.2)
        for person in crowd.people:
            for device in person.devices:
                device.stopped.set()
        for reader in readers:
            reader.join(60)
        answers = sum((person.answers for person in crowd.people), collections.Counter())
        problems = {
            "missing": crowd.missing()[:5],
            # Secure pushes carry an id, and no text.
            "to a wrong person": [found for found in crowd.wrong() if "for-" in found[1]][:5],
            "repeated": [found for found in crowd.repeated() if "for-" in found[1]][:5],
            "refused": [found for person in crowd.people for found in person.problems][:5],
            "readers without their session": [found for reader in readers for found in reader.problems][:5],
            "gaps": [gap for person in crowd.people for device in person.devices for gap in device.gaps][:5],
        }
        problems["positions that differ"] = end_at_one_position(cluster.nodes, 60)
        problems["tables that differ"] = differing(cluster.nodes)
        acknowledged = sum(is_acknowledged for _, is_acknowledged in crowd.sent.values())
        print(
            f"{acknowledged} of {len(crowd.sent)} texts acknowledged in {options.seconds} s, {faults.count} faults, "
            f"{sum(reader.views for reader in readers)} pages, answers {dict(answers)}"
        )
    return cluster.conclude(problems, options.keep)


if __name__ == "__main__":
    sys.exit(main())
