"""The notification service of a desktop, as far as Firefox uses it: a session bus of the test's own, and one program on it.

Source: D-Bus Specification, "Message Protocol"; Desktop Notifications Specification.
"""

import os
import re
import socket
import struct
import subprocess
import threading

INTERFACE, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
CALL, REPLY, SIGNAL = 1, 2, 4
CONFIGURATION = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path={path}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>"""


class Writer:
    """Values in D-Bus's own form, little-endian."""

    def __init__(self):
        self.bytes = bytearray()

    def align(self, size):
        self.bytes += bytes(-len(self.bytes) % size)
        return self

    def number(self, value):
        self.align(4).bytes += struct.pack("<I", value)
        return self

    def text(self, value):
        self.number(len(value.encode())).bytes += value.encode() + b"\0"
        return self

    def signature(self, value):
        self.bytes += bytes([len(value)]) + value.encode() + b"\0"
        return self

    def texts(self, values):
        inner = Writer()
        for value in values:
            inner.text(value)
        self.number(len(inner.bytes)).bytes += inner.bytes
        return self


class Reader:
    def __init__(self, data):
        self.data, self.place = data, 0

    def align(self, size):
        self.place += -self.place % size

    def number(self):
        self.align(4)
        self.place += 4
        return struct.unpack_from("<I", self.data, self.place - 4)[0]

    def text(self, length=None):
        length = self.number() if length is None else length
        self.place += length + 1
        return self.data[self.place - length - 1 : self.place - 1].decode()

    def signature(self):
        self.place += 1
        return self.text(self.data[self.place - 1])

    def texts(self):
        length = self.number()
        end, found = self.place + length, []
        while self.place < end:
            found.append(self.text())
        return found

    def fields(self, end):
        """The header's fields by their codes."""
        found = {}
        while self.place < end:
            self.align(8)
            code = self.data[self.place]
            self.place += 1
            kind = self.signature()
            found[code] = self.number() if kind == "u" else self.signature() if kind == "g" else self.text()
        return found


class Desktop:
    """What the browser's notifications are shown by; `clicked` clicks one."""

    def __init__(self, folder):
        self.path, self.serial, self.shown = f"{folder}/bus", 0, []
        self.changed = threading.Condition()
        with open(f"{folder}/bus.conf", "w") as file:
            file.write(CONFIGURATION.format(path=self.path))
        self.bus = subprocess.Popen(
            ["dbus-daemon", f"--config-file={folder}/bus.conf", "--nofork", "--print-address=1"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )
        # It prints the address when it listens.
        self.bus.stdout.readline()
        self.peer = socket.socket(socket.AF_UNIX)
        self.peer.connect(self.path)
        self.stream = self.peer.makefile("rb")
        self.peer.sendall(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
        if not self.stream.readline().startswith(b"OK"):
            raise OSError("the bus refuses this user")
        self.peer.sendall(b"BEGIN\r\n")
        bus = ("/org/freedesktop/DBus", "org.freedesktop.DBus", "org.freedesktop.DBus")
        self.send(CALL, *bus[:2], "Hello", bus[2])
        self.send(CALL, *bus[:2], "RequestName", bus[2], "su", Writer().text(INTERFACE).number(4))
        threading.Thread(target=self.serve, daemon=True).start()

    @property
    def environment(self):
        return {"DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.path}"}

    def send(self, kind, path="", interface="", member="", destination="", signature="", body=None, reply_to=0):
        body = bytes(body.bytes) if body else b""
        fields = Writer()
        for code, form, value in (
            (1, "o", path), (2, "s", interface), (3, "s", member), (5, "u", reply_to), (6, "s", destination), (8, "g", signature)
        ):
            if value:
                fields.align(8).bytes.append(code)
                fields.signature(form)
                {"u": fields.number, "g": fields.signature}.get(form, fields.text)(value)
        with self.changed:
            self.serial += 1
            head = Writer()
            head.bytes += bytes([ord("l"), kind, 0, 1])
            head.number(len(body)).number(self.serial).number(len(fields.bytes)).bytes += fields.bytes
            self.peer.sendall(bytes(head.align(8).bytes) + body)

    def serve(self):
        while len(head := self.stream.read(16)) == 16:
            _, kind, _, _, length, serial, size = struct.unpack("<BBBBIII", head)
            found = Reader(self.stream.read(size + -size % 8)).fields(size)
            body = Reader(self.stream.read(length))
            if kind == CALL:
                self.answer(found.get(3), found.get(7), serial, body)

    def answer(self, member, sender, serial, body):
        to = {"destination": sender, "reply_to": serial}
        if member == "GetCapabilities":
            self.send(REPLY, signature="as", body=Writer().texts(["actions", "body"]), **to)
        elif member == "GetServerInformation":
            self.send(REPLY, signature="ssss", body=Writer().text("test").text("newswire").text("1").text("1.2"), **to)
        elif member == "Notify":
            body.text(), body.number(), body.text()
            summary, text, actions = body.text(), body.text(), body.texts()
            with self.changed:
                self.shown.append((summary, text, actions[::2]))
                self.changed.notify_all()
            self.send(REPLY, signature="u", body=Writer().number(len(self.shown)), **to)
        else:
            self.send(REPLY, **to)

    def wait(self, count, seconds=15):
        """The title of the newest notification, as soon as there are so many."""
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.shown) >= count, seconds):
                raise AssertionError(f"the desktop shows {self.shown}, not {count} notifications")
            return self.shown[-1][0]

    def click(self, number):
        """Clicks a notification, the first being 1."""
        self.send(SIGNAL, PATH, INTERFACE, "ActionInvoked", signature="us", body=Writer().number(number).text("default"))
        self.send(SIGNAL, PATH, INTERFACE, "NotificationClosed", signature="uu", body=Writer().number(number).number(2))

    def close(self):
        self.peer.close()
        self.bus.terminate()
        self.bus.wait()


def is_here():
    """True if Firefox finds what it shows notifications of a desktop with."""
    known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    return bool(re.search(r"libnotify\.so\.4", known)) and any(
        os.access(f"{folder}/dbus-daemon", os.X_OK) for folder in os.environ.get("PATH", "").split(":")
    )
