"""Agents with installations of platform `stream`, and a hub of their own: what hostile.py, cohorts.py and reconnect.py share."""
import asyncio, base64, json, resource, signal, socket, tempfile

import registrations as hub_client


class ScratchHub:
    """A hub with a new state directory, which lasts as long as the block."""

    def __init__(self, program):
        self.program = program

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.start()
        return self

    def start(self):
        self.process, _ = hub_client.start(self.program, self.folder.name)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def token(self, connection="full.connection"):
        return hub_client.token(f"{self.folder.name}/state", connection)

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.folder.cleanup()


def allow_open_files():
    """Raises the limit of open files as far as the machine allows: each agent has one."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def secret(number):
    """The push channel of an agent."""
    return base64.urlsafe_b64encode(number.to_bytes(4, "big") * 8).decode().rstrip("=")


def installation(number, template, tags=("World",), variables=None):
    """The installation of an agent, as JSON."""
    return json.dumps({
        "installationId": f"h{number}", "platform": "stream", "pushChannel": secret(number), "tags": list(tags),
        "pushVariables": variables or {}, "templates": {"t": {"body": template}},
    })


def writes(authorization, installations):
    """The requests that write installations, in the order of their numbers."""
    for number, body in enumerate(installations):
        yield (
            f"PUT /news/installations/h{number}?api-version=2020-06 HTTP/1.1\r\nHost: localhost\r\nAuthorization: {authorization}\r\n"
            f"Newswire-Push-Channel: {secret(number)}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
        ).encode()


async def open_stream(authorization, number):
    """Requests the stream of an agent; returns reader and writer before the reply has come."""
    peer = socket.socket()
    try:
        peer.setblocking(False)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # An address has some 28,000 ports for one peer.
        peer.bind((f"127.0.0.{2 + number // 20_000}", 0))
        await asyncio.get_running_loop().sock_connect(peer, ("127.0.0.1", hub_client.PORT))
        reader, writer = await asyncio.open_connection(sock=peer, limit=1 << 16)
    except BaseException:
        peer.close()
        raise
    writer.write(
        f"GET /news/installations/h{number}/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: {authorization}\r\n"
        f"Newswire-Push-Channel: {secret(number)}\r\n\r\n".encode()
    )
    return reader, writer
