"""WebSockets (RFC 6455), as little as WebDriver BiDi and a push service need: one text message at a time."""

import base64
import hashlib
import os
import socket
import struct

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


def accept_key(key):
    """The value of `Sec-WebSocket-Accept` that answers a key."""
    return base64.b64encode(hashlib.sha1(key.encode() + GUID).digest()).decode()


class WebSocket:
    def __init__(self, reader, connection, masks):
        """Speaks over a connection; clients mask what they send."""
        self.reader, self.connection, self.masks = reader, connection, masks

    @classmethod
    def connect(cls, port, path, timeout=30):
        connection = socket.create_connection(("127.0.0.1", port), timeout)
        key = base64.b64encode(os.urandom(16)).decode()
        connection.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        reader = connection.makefile("rb")
        status = reader.readline()
        if b" 101 " not in status:
            raise OSError(f"no WebSocket on port {port}: {status!r}")
        while reader.readline().strip():
            pass
        return cls(reader, connection, True)

    def send(self, text, opcode=TEXT):
        data = text.encode() if isinstance(text, str) else text
        mask_bit = 0x80 if self.masks else 0
        if len(data) < 126:
            head = struct.pack(">BB", 0x80 | opcode, mask_bit | len(data))
        elif len(data) < 1 << 16:
            head = struct.pack(">BBH", 0x80 | opcode, mask_bit | 126, len(data))
        else:
            head = struct.pack(">BBQ", 0x80 | opcode, mask_bit | 127, len(data))
        if self.masks:
            key = os.urandom(4)
            head, data = head + key, masked(data, key)
        self.connection.sendall(head + data)

    def receive(self):
        """The next text message; `None` at the end."""
        message = b""
        while True:
            head = self.reader.read(2)
            if len(head) < 2:
                return None
            length = head[1] & 127
            if length == 126:
                (length,) = struct.unpack(">H", self.reader.read(2))
            elif length == 127:
                (length,) = struct.unpack(">Q", self.reader.read(8))
            key = self.reader.read(4) if head[1] & 0x80 else None
            data = self.reader.read(length)
            data = masked(data, key) if key else data
            opcode = head[0] & 15
            if opcode == CLOSE:
                return None
            if opcode == PING:
                self.send(data, PONG)
            elif opcode != PONG:
                message += data
                if head[0] & 0x80:
                    return message.decode()

    def close(self):
        try:
            self.connection.close()
        except OSError:
            pass


def masked(data, key):
    count = len(data)
    keys = (key * (count // 4 + 1))[:count]
    return (int.from_bytes(data, "big") ^ int.from_bytes(keys, "big")).to_bytes(count, "big")
