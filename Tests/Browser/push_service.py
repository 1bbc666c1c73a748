"""The push service of a test: autopush's WebSocket protocol for Firefox, RFC 8030 for the sender, on one loopback port."""

import base64
import json
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from websocket import WebSocket, accept_key


class PushService(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.port = self.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.browser = None
        self.channels, self.acknowledged = {}, {}
        # Whether the ends of subscriptions get no answer.
        self.ignores_endings = False
        self.log, self.posts = [], []
        self.changed = threading.Condition()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def preferences(self):
        """What makes Firefox use this service."""
        return [
            ("dom.push.serverURL", f"ws://127.0.0.1:{self.port}/"),
            ("dom.push.testing.allowInsecureServerURL", True),
            # Remote control switches it off.
            ("dom.push.connection.enabled", True),
            ("permissions.default.desktop-notification", 1),
        ]

    def note(self, side, message):
        with self.changed:
            self.log.append((side, message))
            self.changed.notify_all()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        """The browser's connection."""
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", accept_key(self.headers["Sec-WebSocket-Key"]))
        if "push-notification" in self.headers.get("Sec-WebSocket-Protocol", ""):
            self.send_header("Sec-WebSocket-Protocol", "push-notification")
        self.end_headers()
        self.wfile.flush()
        self.close_connection = True
        socket = self.server.browser = WebSocket(self.rfile, self.connection, False)
        while (text := socket.receive()) is not None:
            message = json.loads(text)
            self.server.note("browser", message)
            reply = self.reply(message)
            if reply is not None:
                socket.send(json.dumps(reply))
                self.server.note("service", reply)

    def reply(self, message):
        service, kind = self.server, message.get("messageType")
        if kind is None:  # '{}' is a ping.
            return {}
        if kind == "hello":
            name = message.get("uaid") or uuid.uuid4().hex
            return {"messageType": "hello", "uaid": name, "status": 200, "use_webpush": True, "broadcasts": {}}
        if kind == "register":
            channel = message["channelID"]
            service.channels[channel] = message.get("key")
            endpoint = f"{service.url}/wpush/v2/{channel}"
            return {"messageType": "register", "channelID": channel, "status": 200, "pushEndpoint": endpoint}
        if kind == "unregister" and not service.ignores_endings:
            service.channels.pop(message["channelID"], None)
            return {"messageType": "unregister", "channelID": message["channelID"], "status": 200}
        if kind in ("ack", "nack"):
            for update in message.get("updates", [message]):
                service.acknowledged[update["version"]] = update.get("code")
        return None

    def do_POST(self):
        """The hub's push."""
        service = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        channel = self.path.rsplit("/", 1)[-1]
        service.posts.append((dict(self.headers), len(body)))
        if channel not in service.channels:
            return self.answer(410)
        version = uuid.uuid4().hex
        message = {
            "messageType": "notification", "channelID": channel, "version": version,
            "ttl": int(self.headers.get("TTL", 0)),
        }
        if body:
            message["data"] = base64.urlsafe_b64encode(body).rstrip(b"=").decode()
            message["headers"] = {"encoding": self.headers.get("Content-Encoding")}
        service.browser.send(json.dumps(message))
        service.note("service", message)
        self.answer(201, f"{service.url}/m/{version}")

    def answer(self, status, location=None):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        if location:
            self.send_header("Location", location)
        self.end_headers()
