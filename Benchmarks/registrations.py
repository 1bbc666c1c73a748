#!/usr/bin/env python3
"""A hub with many registrations: writing them one by one, listing them by pages, starting with a million of them.

    Benchmarks/registrations.py .build/release/newswire [--count 100000] [--total 1000000] [--connections 256]

Each registration is an Apple template with three of fifty categories and a user's tag, written as an Atom entry to an id of its own, through
HTTP on loopback; the hub answers when it is durable. In the same run, for comparison: the same requests answered without any work
(`/healthz`), and the same rows written by SQLite alone, 512 to a durable transaction. Then all are listed, the hub is killed and started
again, and must have every one; with --total the rest is written before that.

Fails below 5,000 writes a second, when one is missing or listed twice, or when the start takes more than 3 seconds.
"""
import argparse, base64, hashlib, hmac, os, random, re, select, signal, socket, sqlite3, subprocess, sys, tempfile, time, urllib.parse

PORT = 9310
CATEGORIES = [f"Category{number}" for number in range(50)]
WRITES_A_SECOND = 5_000
SECONDS_TO_START = 3.0
ENTRY = (
    '<?xml version="1.0" encoding="utf-8"?><entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml">'
    '<AppleTemplateRegistrationDescription xmlns:i="http://www.w3.org/2001/XMLSchema-instance" '
    'xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"><Tags>{tags}</Tags><DeviceToken>{handle}</DeviceToken>'
    '<BodyTemplate><![CDATA[{{"aps":{{"alert":"$(messageParam)"}}}}]]></BodyTemplate><Expiry>0</Expiry>'
    "<TemplateName>simpleAPNSTemplate</TemplateName></AppleTemplateRegistrationDescription></content></entry>"
)


def token(state, connection="full.connection"):
    with open(f"{state}/{connection}") as file:
        parts = dict(part.split("=", 1) for part in file.read().strip().split(";"))
    resource = urllib.parse.quote(f"http://127.0.0.1:{PORT}/", safe="").lower()
    expiry = int(time.time()) + 86_400
    digest = hmac.new(parts["SharedAccessKey"].encode(), f"{resource}\n{expiry}".encode(), hashlib.sha256).digest()
    signature = urllib.parse.quote(base64.b64encode(digest).decode(), safe="")
    return f"SharedAccessSignature sr={resource}&sig={signature}&se={expiry}&skn={parts['SharedAccessKeyName']}"


def start(program, folder, *options, core=None):
    """Starts the hub, on one core if that is given; returns it with the seconds until it was ready."""
    began = time.monotonic()
    hub = subprocess.Popen(
        [program, "hub", "--state", f"{folder}/state", "--port", str(PORT), *options],
        env={**os.environ, "HOME": folder}, stderr=subprocess.PIPE, text=True,
        preexec_fn=None if core is None else lambda: os.sched_setaffinity(0, {core}),
    )
    said = ""
    for line in hub.stderr:
        if "is ready" in line:
            return hub, time.monotonic() - began
        said += line
    sys.exit(f"the hub does not start: {said}")


def registrations(first, count):
    """Ids, tags and handles: the same for the same numbers."""
    for number in range(first, first + count):
        chance = random.Random(number)
        tags = ",".join(chance.sample(CATEGORIES, 3) + [f"user:{number}"])
        yield f"{chance.getrandbits(62) + 1}-{number + 1}-1", tags, f"{chance.getrandbits(256):064X}"


def writes(authorization, first, count):
    for identifier, tags, handle in registrations(first, count):
        body = ENTRY.format(tags=tags, handle=handle)
        yield (
            f"PUT /news/registrations/{identifier}?api-version=2017-04 HTTP/1.1\r\nHost: localhost:{PORT}\r\n"
            f"Authorization: {authorization}\r\nContent-Type: application/atom+xml;type=entry;charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}"
        ).encode()


def exchange(requests, connections):
    """Sends each request on the next free connection; returns how many were sent and the seconds that took."""
    poll, sockets, received = select.epoll(), {}, {}
    for _ in range(connections):
        peer = socket.create_connection(("127.0.0.1", PORT))
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sockets[peer.fileno()], received[peer.fileno()] = peer, b""
        poll.register(peer.fileno(), select.EPOLLIN)
    began, sent, answered, requests = time.monotonic(), 0, 0, iter(requests)

    def send(peer):
        nonlocal sent
        request = next(requests, None)
        if request:
            peer.sendall(request)
            sent += 1

    for peer in sockets.values():
        send(peer)
    while answered < sent:
        for number, _ in poll.poll(30) or sys.exit("the hub does not answer"):
            received[number] += sockets[number].recv(65_536)
            head, separator, body = received[number].partition(b"\r\n\r\n")
            if not separator:
                continue
            length = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
            if len(body) < length:
                continue
            if not head.startswith(b"HTTP/1.1 200"):
                sys.exit(f"the hub answered {head.splitlines()[0].decode()}: {body.decode()[:300]}")
            received[number] = b""
            answered += 1
            send(sockets[number])
    took = time.monotonic() - began
    for peer in sockets.values():
        peer.close()
    return sent, took


def sqlite_alone(folder, count):
    """The same rows by SQLite alone, as many to a transaction as the hub writes at most."""
    database = sqlite3.connect(f"{folder}/floor.sqlite", isolation_level=None)
    source = sqlite3.connect(f"{folder}/state/hub.sqlite")
    for (statement,) in source.execute(
        "SELECT sql FROM sqlite_master WHERE tbl_name IN ('hub', 'registration', 'installation') AND sql IS NOT NULL ORDER BY rowid"
    ):
        database.execute(statement)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    rows = [
        (identifier, tags, random.getrandbits(63), ENTRY.format(tags=tags, handle=handle)[-400:])
        for identifier, tags, handle in registrations(0, count)
    ]
    began = time.monotonic()
    for first in range(0, count, 512):
        database.execute("BEGIN IMMEDIATE")
        database.executemany(
            """INSERT INTO registration (hubID, registrationID, etag, platform, isTemplate, tags, handleKey, record, createdAfter,
               changedAfter, createdAt, updatedAt) VALUES (1, ?, 1, 'apns', 1, ?, ?, ?, 0, 0, 0, 0)""",
            rows[first:first + 512],
        )
        database.execute("COMMIT")
    return count / (time.monotonic() - began)


def list_all(authorization, expected):
    """Follows the pages of the list; returns how many there were and the seconds that took."""
    peer = socket.create_connection(("127.0.0.1", PORT))
    seen, pages, position, began = set(), 0, "", time.monotonic()
    while True:
        peer.sendall(
            f"GET /news/registrations?$top=100&api-version=2017-04{position} HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: {authorization}\r\n\r\n".encode()
        )
        reply = b""
        while b"\r\n\r\n" not in reply:
            reply += peer.recv(65_536) or sys.exit("the hub ended the connection")
        head, _, body = reply.partition(b"\r\n\r\n")
        length = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
        while len(body) < length:
            body += peer.recv(1 << 20) or sys.exit("the hub ended the connection")
        pages += 1
        for identifier in re.findall(rb"<RegistrationId>([0-9-]+)</RegistrationId>", body):
            if identifier in seen:
                sys.exit(f"registration {identifier.decode()} is listed twice")
            seen.add(identifier)
        following = re.search(rb"(?i)x-ms-continuationtoken: (\S+)", head)
        if not following:
            break
        position = f"&continuationtoken={following[1].decode()}"
    took = time.monotonic() - began
    if len(seen) != expected:
        sys.exit(f"{len(seen)} of {expected} registrations are listed")
    return pages, took


def resident(process):
    with open(f"/proc/{process.pid}/status") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) // 1024


def counted():
    with socket.create_connection(("127.0.0.1", PORT)) as peer:
        peer.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        reply = b""
        while part := peer.recv(65_536):
            reply += part
    found = re.search(rb'newswire_registrations\{[^}]*platform="apns"[^}]*\} (\d+)', reply)
    return int(found[1]) if found else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--total", type=int, default=1_000_000)
    parser.add_argument("--connections", type=int, default=256)
    options = parser.parse_args()
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        hub, _ = start(options.program, folder)
        try:
            authorization = token(f"{folder}/state")
            idle = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
            asked, took = exchange((idle for _ in range(options.count)), options.connections)
            limit = asked / took
            # Made before the clock runs: to make a request takes this program as long as to send it.
            prepared = list(writes(authorization, 0, options.count))
            written, took = exchange(prepared, options.connections)
            rate = written / took
            alone = sqlite_alone(folder, options.count)
            print(f"{written:,} new registrations: {rate:,.0f}/s, {rate / limit:.2f} of the {limit:,.0f}/s of requests without work,", end=" ")
            print(f"{rate / alone:.2f} of the {alone:,.0f}/s of SQLite alone; {resident(hub)} MB resident")
            again, took = exchange(prepared, options.connections)
            print(f"{again:,} written once more: {again / took:,.0f}/s")
            if min(rate, again / took) < WRITES_A_SECOND:
                failures.append(f"fewer than {WRITES_A_SECOND:,} writes a second")
            pages, took = list_all(authorization, options.count)
            print(f"listed by {pages:,} pages: {options.count / took:,.0f} registrations a second, {1000 * took / pages:.1f} ms a page")
            if options.total > options.count:
                exchange(writes(authorization, options.count, options.total - options.count), options.connections)
        finally:
            hub.send_signal(signal.SIGKILL)
            hub.wait()
        total = max(options.total, options.count)
        for ending in ["killed", "stopped"]:
            hub, took = start(options.program, folder)
            try:
                kept = counted()
                print(f"start with {kept:,} registrations, after it was {ending}: {took:.2f} s, {resident(hub)} MB resident")
                if kept != total:
                    failures.append(f"{total - kept} registrations are missing")
                if took > SECONDS_TO_START:
                    failures.append(f"the start took more than {SECONDS_TO_START:g} s")
            finally:
                hub.terminate()
                hub.wait()
    if failures:
        sys.exit("; ".join(failures))


if __name__ == "__main__":
    main()
