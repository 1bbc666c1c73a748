"""Log servers and hubs on this machine, each a process with a folder of its own."""

import base64
import hashlib
import hmac
import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import time
import urllib.parse

START_SECONDS = 60
HUB = "news"


def free_ports(count):
    """Ports that no connection gets by chance meanwhile: the system gives connections those from 32768 on."""
    listeners = []
    while len(listeners) < count:
        try:
            listeners.append(socket.create_server(("127.0.0.1", random.randrange(10_000, 32_768))))
        except OSError:
            continue
    ports = [listener.getsockname()[1] for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports


class Process:
    """A program that can be ended in every way, and started again."""

    def __init__(self, folder, command, environment=None):
        self.folder, self.command, self.environment = folder, command, environment
        self.log = f"{folder}/log"
        self.process = None
        os.makedirs(folder, exist_ok=True)

    @property
    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def start(self, ready=None):
        """Returns when the log has `ready`; at once without it."""
        with open(self.log, "a") as log:
            begin = log.tell()
            self.process = subprocess.Popen(self.command, env=self.environment, stdout=log, stderr=log)
        end = time.monotonic() + START_SECONDS
        while ready and ready not in self.printed(begin):
            if self.process.poll() is not None or time.monotonic() > end:
                raise OSError(f"{self.command[0]} does not start: {self.printed(begin)[-2000:]}")
            time.sleep(0.02)

    def printed(self, begin=0):
        with open(self.log, errors="replace") as log:
            log.seek(begin)
            return log.read()

    def send(self, number):
        if self.is_running:
            self.process.send_signal(number)

    def kill(self):
        self.end(signal.SIGKILL)

    def end(self, number=signal.SIGTERM):
        if self.process is None:
            return
        self.send(signal.SIGCONT)
        self.send(number)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class LogServer(Process):
    def __init__(self, program, folder, name, port, routes, own):
        text = f"""
            server_name: {name}
            listen: 127.0.0.1:{port}
            jetstream {{ store_dir: "{folder}/store", sync_interval: always }}
            max_payload: 1MB
        """
        if len(routes) > 1:
            peers = ", ".join(f'"nats://127.0.0.1:{route}"' for route in routes)
            text += f"cluster {{ name: newswire, listen: 127.0.0.1:{routes[own]}, routes: [{peers}] }}\n"
        super().__init__(folder, [program, "-c", f"{folder}/server.conf"])
        with open(f"{folder}/server.conf", "w") as file:
            file.write(text)
        self.port = port


class Node(Process):
    """A hub that follows the log."""

    def __init__(self, program, folder, name, port, servers, replicas, people=False):
        self.program, self.name, self.port, self.state = program, name, port, f"{folder}/state"
        environment = {key: value for key, value in os.environ.items() if not key.startswith("NEWSWIRE_")}
        environment |= {"HOME": folder, "XDG_CONFIG_HOME": f"{folder}/none"}
        command = [program, "hub", "--config", f"{folder}/newswire.yaml", "--state", self.state, "--port", str(port)]
        super().__init__(folder, command, environment)
        with open(f"{folder}/newswire.yaml", "w") as file:
            file.write(
                f"hub:\n  listen: 127.0.0.1\n  pages: {'invited' if people else 'off'}\n  app-backend: {str(people).lower()}\n"
                f"  log:\n    servers: [{', '.join(f'nats://127.0.0.1:{port}' for port in servers)}]\n"
                f"    name: {HUB}\n    node: {name}\n    replicas: {replicas}\n"
            )

    def start(self):
        super().start("is ready")

    def run(self, *arguments, check=True):
        """Runs a command of the program that asks this hub, and returns its output."""
        if arguments[0] != "publish":
            arguments = [*arguments, "--connection-file", f"{self.state}/full.connection"]
        within = self.command[:self.command.index(self.program)]
        done = subprocess.run(
            [*within, self.program, *arguments], env=self.environment, capture_output=True, text=True, timeout=120
        )
        assert not check or done.returncode == 0, f"{arguments}: {done.stderr}"
        return done.stdout if check else done

    def manage(self, *arguments):
        """Runs a command of the hub's own machine, and returns its output."""
        done = subprocess.run(
            [self.program, *arguments, "--config", f"{self.folder}/newswire.yaml", "--state", self.state],
            env=self.environment, capture_output=True, text=True, timeout=120,
        )
        assert done.returncode == 0, f"{arguments}: {done.stderr}"
        return done.stdout

    def token(self, connection="full.connection"):
        with open(f"{self.state}/{connection}") as file:
            parts = dict(part.split("=", 1) for part in file.read().strip().split(";"))
        resource = urllib.parse.quote(f"http://127.0.0.1/{HUB}", safe="").lower()
        expiry = int(time.time()) + 86_400
        digest = hmac.new(parts["SharedAccessKey"].encode(), f"{resource}\n{expiry}".encode(), hashlib.sha256).digest()
        signature = urllib.parse.quote(base64.b64encode(digest).decode(), safe="")
        return f"SharedAccessSignature sr={resource}&sig={signature}&se={expiry}&skn={parts['SharedAccessKeyName']}"


class Cluster:
    """As many log servers and hubs, in one folder."""

    def __init__(self, program, engine, folder, servers=3, nodes=3, people=False):
        self.folder = folder
        ports, routes = free_ports(servers), free_ports(servers)
        self.servers = [
            LogServer(engine, f"{folder}/log{number}", f"log{number}", ports[number], routes, number)
            for number in range(servers)
        ]
        self.nodes = [
            Node(program, f"{folder}/{name}", name, port, ports, servers, people)
            for name, port in zip("abcdefgh"[:nodes], free_ports(nodes))
        ]

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self):
        for server in self.servers:
            server.start("Server is ready")
        first, *others = self.nodes
        first.start()
        for node in others:
            copy_keys(first, node)
            node.start()
        self.authorization = first.token()

    def __exit__(self, *_):
        for process in [*self.nodes, *self.servers]:
            process.end()

    def conclude(self, problems, keep=False):
        """Prints what was found, by name; removes the folder if nothing was. Returns the exit code."""
        found = {name: what for name, what in problems.items() if what}
        for name, what in found.items():
            print(f"{name}: {what}")
        if found or keep:
            print(f"the folder is {self.folder}")
        else:
            self.remove()
        return 1 if found else 0

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def copy_keys(source, target):
    """Gives a hub what all hubs of a log have in common."""
    os.makedirs(target.state, mode=0o700, exist_ok=True)
    for name in ["secrets.key", "ca.pem", "ca-key.pem"]:
        shutil.copy2(f"{source.state}/{name}", target.state)


def request(port, method, path, authorization, body=None, timeout=30, host="127.0.0.1", **headers):
    """One request; returns status and body."""
    connection = http.client.HTTPConnection(host, port, timeout=timeout)
    try:
        return ask(connection, method, path, authorization, body, **headers)
    finally:
        connection.close()


def ask(connection, method, path, authorization, body=None, **headers):
    """A request on a connection that is kept."""
    fields = {"Authorization": authorization, "Host": "127.0.0.1", **{k.replace("_", "-"): v for k, v in headers.items()}}
    connection.request(method, f"/{HUB}/{path}", body, fields)
    reply = connection.getresponse()
    return reply.status, reply.read()


def push_channel(number):
    """The secret of an agent."""
    return base64.urlsafe_b64encode(number.to_bytes(4, "big") * 8).decode().rstrip("=")


def register(port, authorization, number, tags=("World",), host="127.0.0.1"):
    body = json.dumps({
        "installationId": f"agent{number}", "platform": "stream", "pushChannel": push_channel(number),
        "tags": list(tags), "templates": {"t": {"body": '{"title":"$(title)"}'}},
    })
    return request(
        port, "PUT", f"installations/agent{number}?api-version=2020-06", authorization, body, host=host,
        Newswire_Push_Channel=push_channel(number),
    )
