"""Senders and agents that move between the hubs of a cluster, and what they saw."""

import collections
import http.client
import itertools
import json
import random
import socket
import threading
import time

from cluster import HUB, ask, push_channel

# A client's own patience: a hub answers 503 after 10 s without its log.
REQUEST_SECONDS = 30


class Sender(threading.Thread):
    """Sends messages one after the other, each until it is acknowledged, at any node."""

    def __init__(self, nodes, authorization, name, count, acknowledged, chance):
        super().__init__(daemon=True)
        self.nodes, self.authorization, self.label, self.count = nodes, authorization, name, count
        self.acknowledged, self.chance = acknowledged, chance
        self.refusals = collections.Counter()
        self.connection = None
        self.has_ended = False

    def run(self):
        for number in range(self.count):
            title = f"{self.label}-{number}"
            while not self.attempt(title):
                time.sleep(self.chance.uniform(0.05, 0.3))
            self.acknowledged.add(title)
            if self.has_ended:
                return

    def attempt(self, title):
        try:
            if self.connection is None:
                node = self.chance.choice(self.nodes)
                self.connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=REQUEST_SECONDS)
            status, body = ask(
                self.connection, "POST", "messages", self.authorization, json.dumps({"title": title}),
                ServiceBusNotification_Format="template", Content_Type="application/json", Idempotency_Key=title,
            )
        except (OSError, http.client.HTTPException):
            status = 0
        if status == 201:
            return True
        self.refusals[status] += 1
        if self.connection:
            self.connection.close()
        self.connection = None
        return False


class Agent(threading.Thread):
    """A stream that resumes at another node when it ends, and keeps what came."""

    def __init__(self, nodes, authorization, number, chance):
        super().__init__(daemon=True)
        self.nodes, self.authorization, self.number, self.chance = nodes, authorization, number, chance
        self.received = collections.Counter()
        self.gaps, self.streams, self.cursor = [], 0, None
        self.stopped = threading.Event()
        self.opened = threading.Event()

    def run(self):
        while not self.stopped.is_set():
            try:
                self.stream(self.chance.choice(self.nodes))
            except (OSError, http.client.HTTPException):
                pass
            self.stopped.wait(self.chance.uniform(0.05, 0.5))

    def stream(self, node):
        host = getattr(node, "host", "127.0.0.1")
        with socket.create_connection((host, node.port), timeout=10) as connection:
            cursor = f"Last-Event-ID: {self.cursor}\r\n" if self.cursor else ""
            connection.sendall(
                f"GET /{HUB}/installations/agent{self.number}/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                f"Authorization: {self.authorization}\r\nNewswire-Push-Channel: {push_channel(self.number)}\r\n"
                f"{cursor}\r\n".encode()
            )
            head = b""
            while b"\r\n\r\n" not in head:
                octets = connection.recv(65_536)
                if not octets:
                    return
                head += octets
            head, rest = head.split(b"\r\n\r\n", 1)
            if not head.startswith(b"HTTP/1.1 200"):
                return
            self.streams += 1
            self.opened.set()
            self.read(connection, rest, time.monotonic() + self.chance.uniform(5, 30))

    def read(self, connection, rest, move):
        """Reads events, and leaves for another node after a while."""
        connection.settimeout(1)
        event = {}
        while not self.stopped.is_set() and time.monotonic() < move:
            *lines, rest = rest.split(b"\n")
            for line in lines:
                if line:
                    name, _, value = line.decode().partition(":")
                    event[name] = value.removeprefix(" ")
                    continue
                self.take(event)
                event = {}
            try:
                octets = connection.recv(65_536)
            except TimeoutError:
                continue
            if not octets:
                return
            rest += octets

    def take(self, event):
        if "id" in event:
            self.cursor = event["id"]
        if event.get("event") == "gap":
            self.gaps.append(event)
        elif "data" in event and "event" not in event:
            self.received[json.loads(event["data"])["body"]["title"]] += 1


class Acknowledged:
    """The titles that a hub answered 201 for."""

    def __init__(self):
        self.titles, self.lock = [], threading.Lock()

    def add(self, title):
        with self.lock:
            self.titles.append(title)


class Traffic:
    def __init__(self, nodes, authorization, senders, agents, messages, chance):
        self.acknowledged = Acknowledged()
        share = -(-messages // senders)
        self.senders = [
            Sender(nodes, authorization, f"s{number}", share, self.acknowledged, random.Random(chance.random()))
            for number in range(senders)
        ]
        self.agents = [Agent(nodes, authorization, number, random.Random(chance.random())) for number in range(agents)]

    def start(self):
        for agent in self.agents:
            agent.start()
        for agent in self.agents:
            assert agent.opened.wait(30), "an agent gets no stream"
        for sender in self.senders:
            sender.start()

    @property
    def is_sending(self):
        return any(sender.is_alive() for sender in self.senders)

    def end(self):
        """Ends the senders, each after its current message."""
        for sender in self.senders:
            sender.has_ended = True
        for sender in self.senders:
            sender.join(60)
            assert not sender.is_alive(), "a sender does not end"

    def settle(self, seconds):
        """Waits until every agent has every acknowledged message; returns what is missing."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            missing = list(itertools.islice(self.missing(), 5))
            if not missing:
                break
            time.sleep(0.1)
        return list(itertools.islice(self.missing(), 5))

    def missing(self):
        for agent in self.agents:
            for title in self.acknowledged.titles:
                if not agent.received[title]:
                    yield agent.number, title

    def stop(self):
        for agent in self.agents:
            agent.stopped.set()
        for agent in self.agents:
            agent.join(15)

    def repeated(self):
        """Messages that came twice on one agent's streams, whose cursors rule that out."""
        return [
            (agent.number, title) for agent in self.agents for title, count in agent.received.items() if count > 1
        ]

    def gaps(self):
        return [(agent.number, gap) for agent in self.agents for gap in agent.gaps]

    def refusals(self):
        return sum((sender.refusals for sender in self.senders), collections.Counter())
