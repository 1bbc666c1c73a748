"""A hub of a test, on a port and in a folder of its own."""

import base64
import contextlib
import hashlib
import hmac
import http.client
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import time
import urllib.parse

# Those that every hub has.
STANDARD = ["World", "Politics", "Business", "Technology", "Science", "Sports"]
START_SECONDS = 60


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Hub:
    def __init__(self, program, folder, *options, categories=()):
        self.program, self.state, self.options = program, f"{folder}/hub", options
        self.port = free_port()
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("NEWSWIRE_")}
        self.environment |= {"HOME": folder, "XDG_CONFIG_HOME": f"{folder}/none"}
        self.log = f"{folder}/hub.log"
        self.process = None
        self.start()
        if categories:
            self.announce(list(categories))

    @property
    def origin(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def home(self):
        return f"{self.origin}/-/news/"

    def start(self):
        with open(self.log, "a") as log:
            begin = log.tell()
            self.process = subprocess.Popen(
                [self.program, "hub", "--state", self.state, "--port", str(self.port), *self.options],
                env=self.environment, stdout=log, stderr=log,
            )
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            with open(self.log) as log:
                log.seek(begin)
                if "is ready" in log.read():
                    return
            time.sleep(0.02)
        with open(self.log) as log:
            raise OSError(f"the hub does not start: {log.read()[-1000:]}")

    def stop(self, force=False):
        """Ends the process that this object has started."""
        if self.process is None:
            return
        self.process.send_signal(signal.SIGKILL if force else signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def command(self, *arguments):
        """What a command of the program prints."""
        done = subprocess.run(
            [self.program, *arguments], env=self.environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, f"{arguments}: {done.stderr}"
        return done.stdout.strip()

    def invite(self, *options):
        return self.command("hub", "invite", "--state", self.state, *options)

    def add_user(self, name, password, *options):
        """Adds a user who can sign in at the pages."""
        path = f"{self.state}/../{name}.password"
        with open(path, "w") as file:
            file.write(password)
        os.chmod(path, 0o600)
        self.command("user", "add", name, "--password-file", path, "--state", self.state, *options)

    def raise_alarm(self, kind, subject):
        """Restarts the hub with an alarm; an alarm of its own takes a hub at least 15 minutes."""
        self.stop()
        with contextlib.closing(sqlite3.connect(f"{self.state}/hub.sqlite")) as database, database:
            # The hub writes its state when it stops.
            ((hub, text),) = database.execute("SELECT hubID, state FROM alarmState").fetchall()
            state = json.loads(text)
            since = int((time.time() - 86_400) * 1_000)
            # Swift writes a dictionary whose keys are no strings as keys and values in turn.
            state["judge"]["standing"] += [{"kind": kind, "subject": subject}, {"isTold": True, "finding": {"since": since}}]
            database.execute("UPDATE alarmState SET state = ? WHERE hubID = ?", [json.dumps(state), hub])
        self.start()

    def token(self):
        with open(f"{self.state}/full.connection") as file:
            parts = dict(part.split("=", 1) for part in file.read().strip().split(";"))
        resource = urllib.parse.quote(f"{self.origin}/news", safe="").lower()
        expiry = int(time.time()) + 3600
        digest = hmac.new(parts["SharedAccessKey"].encode(), f"{resource}\n{expiry}".encode(), hashlib.sha256).digest()
        signature = urllib.parse.quote(base64.b64encode(digest).decode(), safe="")
        return f"SharedAccessSignature sr={resource}&sig={signature}&se={expiry}&skn={parts['SharedAccessKeyName']}"

    def call(self, method, path, body=None, **headers):
        """A request with the key of the operator."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(
            method, f"/news{path}", body if body is None else json.dumps(body),
            {"Authorization": self.token(), "Content-Type": "application/json", **names},
        )
        reply = connection.getresponse()
        text = reply.read().decode()
        connection.close()
        assert 200 <= reply.status < 300, f"{method} {path}: {reply.status} {text}"
        return text

    def announce(self, categories):
        self.call("PUT", "/categories/test", {"categories": categories})

    def report_languages(self, category, *languages):
        """Reports a publisher that has a feed in each of these languages."""
        feeds = [
            {"category": category, "url": f"https://example.org/{language}", "state": "well", "language": language}
            for language in languages
        ]
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        report = {"schedule": "pass", "lastPass": now, "exitCode": 0, "outbox": 0, "feeds": feeds}
        self.call("PUT", "/publishers/test", report)

    def send(self, title, category="World", text="", **properties):
        """Sends a message to the readers of a category."""
        names = {"messageParam": text} | properties if text else properties
        self.send_properties(category, title=title, **names)

    def send_properties(self, category="World", **properties):
        """Sends a message that need not have a title."""
        self.call(
            "POST", "/messages", {"category": category, **properties},
            ServiceBusNotification_Format="template", ServiceBusNotification_Tags=f'{category}',
        )

    def get(self, path, method="GET", body=None, **headers):
        """A request of somebody whom the hub does not know: status, headers, text."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        reply = connection.getresponse()
        text = reply.read().decode(errors="replace")
        connection.close()
        return reply.status, reply.headers, text

    def streams(self):
        """Number of streams that are open."""
        _, _, text = self.get("/metrics")
        return sum(float(value) for value in re.findall(r"^newswire_streams(?:\{.*\})? (\S+)$", text, re.M))

    def dropped(self):
        """Number of messages that were dropped before they expired."""
        _, _, text = self.get("/metrics")
        return sum(float(value) for value in re.findall(r"^newswire_log_dropped_unexpired_total(?:\{.*\})? (\S+)$", text, re.M))

    def sessions(self):
        """The installations of all sessions."""
        with sqlite3.connect(f"{self.state}/pages.sqlite") as database:
            return [row[0] for row in database.execute("SELECT installation FROM session")]

    def end_sessions(self):
        """Forgets all sessions, as expiry does."""
        installations = self.sessions()
        with sqlite3.connect(f"{self.state}/pages.sqlite") as database:
            database.execute("DELETE FROM session")
        for installation in installations:
            self.call("DELETE", f"/installations/{installation}")
