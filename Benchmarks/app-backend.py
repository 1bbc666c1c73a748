#!/usr/bin/env python3
"""An app backend in front of a hub: registrations and notifications with bearer tokens, and clients beside a flood of wrong logins.

    Benchmarks/app-backend.py .build/release/newswire [--separate] [--count 20000] [--connections 64] [--seconds 20] [--rate 1000]

The app backend is the one that the hub mounts; with --separate it is a process of its own, which two cores share with the hub's.

Each registration is one `PUT /api/register/{id}`, with a new push handle or with the one that the device has, which is one `PUT` of a registration at
the hub; each notification is one
`POST /api/notifications?pns=stream` to a user of its own, which is one message. In the same run the hub gets those very calls from this program,
with a key that has Manage. Nobody may notify more than 60 times a minute, so notifications have as many senders as they need.

Then clients with tokens register devices while others try wrong passwords: so many a second, for a thousand names, from addresses in networks of
127.0.0.0/8 that the limit on guesses counts one by one. The clients' 99th percentile is taken without and with them.

Fails when registrations or notifications have less than half the rate of the hub's calls, when a client with a token waits more than 50 ms at the
99th percentile during the flood or is refused, when the flood is slower than 0.9 of its rate, or when a wrong login gets another answer than 401,
429 or 503.
"""
import argparse, base64, collections, json, multiprocessing, os, random, re, select, signal, socket, subprocess, sys, tempfile, threading, time

import registrations as hub_client

SEPARATE_PORT = 9320
RATIO = 0.5
MILLISECONDS = 50
PASSWORD = "correct horse"
# Users who register; each has a share of the devices.
USERS = 50
# Notifications that one sender may send, and one addressee get, in a minute: 60 and 30.
EACH = 25
GUESSED_NAMES = 1_000
GUESSING_NETWORKS = 200
GUESSING_CONNECTIONS = 64
ENTRY = (
    '<?xml version="1.0" encoding="utf-8"?><entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml">'
    '<AppleRegistrationDescription xmlns:i="http://www.w3.org/2001/XMLSchema-instance" '
    'xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"><Tags>World,username:{user}</Tags>'
    "<DeviceToken>{handle}</DeviceToken></AppleRegistrationDescription></content></entry>"
)


# Where the app backend is: by default at the hub.
backend_port = hub_client.PORT


def request(method, target, authorization, body=b"", headers=""):
    return (
        f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {authorization}\r\nContent-Type: application/json\r\n"
        f"{headers}Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def start_backend(program, folder):
    backend = subprocess.Popen(
        [program, "backend", "--state", f"{folder}/state", "--port", str(SEPARATE_PORT)],
        env={**os.environ, "HOME": folder}, stderr=subprocess.PIPE, text=True,
    )
    said = ""
    for line in backend.stderr:
        if "is ready" in line:
            # Nobody reads on: a pipe that is full would stop it.
            threading.Thread(target=lambda: collections.deque(backend.stderr, 0), daemon=True).start()
            return backend
        said += line
    sys.exit(f"the app backend does not start: {said}")


def add_users(program, folder, names):
    """Adds users as an operator does; a derivation of scrypt each is what that costs."""
    with open(f"{folder}/password", "w") as file:
        file.write(PASSWORD)
    for name in names:
        arguments = ["user", "add", name, "--may-notify", "--password-file", f"{folder}/password", "--state", f"{folder}/state"]
        done = subprocess.run([program, *arguments], env={**os.environ, "HOME": folder}, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"cannot add a user: {done.stderr}")


class Client:
    """One connection on which requests wait for their replies."""

    def __init__(self, port, address=None):
        self.peer = socket.socket()
        self.peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if address:
            self.peer.bind((address, 0))
        self.peer.connect(("127.0.0.1", port))
        self.peer.settimeout(60)

    def send(self, data):
        self.peer.sendall(data)
        reply = b""
        while b"\r\n\r\n" not in reply:
            reply += self.peer.recv(65_536) or sys.exit("the connection ended")
        head, _, body = reply.partition(b"\r\n\r\n")
        length = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
        while len(body) < length:
            body += self.peer.recv(65_536) or sys.exit("the connection ended")
        return int(head.split()[1]), body


def log_in(names):
    client, tokens = Client(backend_port), {}
    for name in names:
        basic = base64.b64encode(f"{name}:{PASSWORD}".encode()).decode()
        status, body = client.send(request("POST", "/api/login", f"Basic {basic}"))
        if status != 200:
            sys.exit(f"no login: {status} {body.decode()}")
        tokens[name] = f"Bearer {json.loads(body)['token']}"
    return tokens


def exchange(port, requests, connections, successes):
    """As hub_client.exchange, for any port and these statuses; returns the rate."""
    poll, sockets, received = select.epoll(), {}, {}
    for _ in range(connections):
        peer = socket.create_connection(("127.0.0.1", port))
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sockets[peer.fileno()], received[peer.fileno()] = peer, b""
        poll.register(peer.fileno(), select.EPOLLIN)
    began, sent, answered = time.monotonic(), 0, 0
    for peer in list(sockets.values())[:len(requests)]:
        peer.sendall(requests[sent])
        sent += 1
    while answered < len(requests):
        for number, _ in poll.poll(30) or sys.exit("no answer"):
            received[number] += sockets[number].recv(65_536)
            head, separator, body = received[number].partition(b"\r\n\r\n")
            if not separator:
                continue
            length = re.search(rb"(?i)content-length: (\d+)", head)
            if len(body) < (int(length[1]) if length else 0):
                continue
            if int(head.split()[1]) not in successes:
                sys.exit(f"the answer was {head.splitlines()[0].decode()}: {body.decode()[:300]}")
            received[number] = b""
            answered += 1
            if sent < len(requests):
                sockets[number].sendall(requests[sent])
                sent += 1
    took = time.monotonic() - began
    for peer in sockets.values():
        peer.close()
    return len(requests) / took


def reserve(tokens, count):
    """Asks for registration ids, not more than the fifty unused ones that a user may have."""
    client, names, ids = Client(backend_port), list(tokens), []
    for number in range(count):
        name = names[number % len(names)]
        status, body = client.send(request("POST", "/api/register", tokens[name]))
        if status != 200:
            sys.exit(f"no id: {status} {body.decode()}")
        ids.append((name, body.decode()[1:-1]))
    return ids


def measure_registrations(options, key, tokens):
    """Registers devices over and over, each time with a new handle; then with the handle that they have."""
    devices = reserve(tokens, min(options.count, 20 * len(tokens)))

    def handle(number):
        return f"{random.Random(number).getrandbits(256):064X}"

    def through_backend(number):
        name, identifier = devices[number % len(devices)]
        body = json.dumps({"Platform": "apns", "Handle": handle(number), "Tags": ["World"]}).encode()
        return request("PUT", f"/api/register/{identifier}", tokens[name], body)

    def at_the_hub(number):
        name, _ = devices[number % len(devices)]
        body = ENTRY.format(user=name, handle=handle(number + options.count)).encode()
        return request("PUT", f"/news/registrations/{number % len(devices) + 1}-1-1?api-version=2017-04", key, body)

    def measure(what, numbers):
        hub = exchange(hub_client.PORT, [at_the_hub(n) for n in numbers], options.connections, {200})
        backend = exchange(backend_port, [through_backend(n) for n in numbers], options.connections, {200})
        print(f"{what}: {backend:,.0f}/s, {backend / hub:.2f} of the {hub:,.0f}/s of the hub's own calls")
        return backend / hub

    changed = measure("registrations with new handles", range(options.count))
    # The last handle of each device, as apps do at each start.
    last = range(options.count - len(devices), options.count)
    again = measure("the same once more", [n for _ in range(options.count // len(devices)) for n in last])
    return min(changed, again)


def measure_notifications(options, key, tokens):
    names = list(tokens)
    count = min(options.count, EACH * len(names))

    def through_backend(number):
        # Sender and addressee both change with every request.
        target = f"/api/notifications?pns=stream&to_tag={names[(number + 1) % len(names)]}"
        return request("POST", target, tokens[names[number % len(names)]], b'"hello"')

    def at_the_hub(number):
        headers = (
            "ServiceBusNotification-Format: stream\r\n"
            f"ServiceBusNotification-Tags: username:{names[(number + 1) % len(names)]}\r\n"
        )
        return request("POST", "/news/messages/?api-version=2020-06", key, b'{"message":"From alice: hello"}', headers)

    hub = exchange(hub_client.PORT, [at_the_hub(n) for n in range(count)], options.connections, {201})
    backend = exchange(backend_port, [through_backend(n) for n in range(count)], options.connections, {200})
    print(f"notifications: {backend:,.0f}/s, {backend / hub:.2f} of the {hub:,.0f}/s of the hub's own calls ({count:,} of each)")
    return backend / hub


# MARK: wrong logins beside clients


def flood(rate, stop, results):
    """Tries wrong passwords at a rate, in a process of its own; puts how many there were of each answer, and the seconds."""
    chance, statuses, lock = random.Random(1), collections.Counter(), threading.Lock()
    began, next_guess = time.monotonic(), 0

    def turn():
        """The time of the next guess, which any free connection takes: those whose password is being checked wait long."""
        nonlocal next_guess
        with lock:
            # What could not be sent for a second is not made up for.
            next_guess = max(next_guess + 1, int((time.monotonic() - began - 1) * rate))
            return began + next_guess / rate, f"user{chance.randrange(GUESSED_NAMES)}", chance.getrandbits(64)

    def guess(number):
        network = number % GUESSING_NETWORKS
        client = Client(backend_port, f"127.{1 + network // 250}.{network % 250}.{1 + number % 250}")
        while not stop.is_set():
            due, name, password = turn()
            time.sleep(max(0, due - time.monotonic()))
            basic = base64.b64encode(f"{name}:wrong-{password:x}".encode()).decode()
            status, _ = client.send(request("DELETE", "/api/register/1-1-1", f"Basic {basic}"))
            with lock:
                statuses[status] += 1

    for number in range(GUESSING_CONNECTIONS):
        threading.Thread(target=guess, args=(number,), daemon=True).start()
    stop.wait()
    with lock:
        results.put((collections.Counter(statuses), time.monotonic() - began))
    results.close()
    results.join_thread()
    # Some threads still wait for an answer.
    os._exit(0)


def signed_in(tokens, devices, seconds):
    """Eight clients register their devices, one request after the other; returns how long each took and the answers."""
    took, statuses, lock, end = [], collections.Counter(), threading.Lock(), time.monotonic() + seconds

    def work(number):
        client, chance = Client(backend_port), random.Random(number)
        while time.monotonic() < end:
            name, identifier = devices[number]
            body = json.dumps({"Platform": "apns", "Handle": f"{chance.getrandbits(256):064X}"}).encode()
            began = time.monotonic()
            status, _ = client.send(request("PUT", f"/api/register/{identifier}", tokens[name], body))
            duration = time.monotonic() - began
            with lock:
                took.append(duration)
                statuses[status] += 1
            time.sleep(0.01)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(devices))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took.sort()
    return took, statuses


def percentile(took):
    return 1_000 * took[int(len(took) * 0.99)]


def measure_flood(options, tokens):
    devices = reserve(tokens, 8)
    quiet, _ = signed_in(tokens, devices, options.seconds)
    stop, results = multiprocessing.Event(), multiprocessing.Queue()
    others = multiprocessing.Process(target=flood, args=(options.rate, stop, results))
    others.start()
    time.sleep(1)
    busy, statuses = signed_in(tokens, devices, options.seconds)
    stop.set()
    answers, seconds = results.get()
    others.join()
    rate = sum(answers.values()) / seconds
    print(f"wrong logins: {rate:,.0f}/s, answered {dict(sorted(answers.items()))}")
    print(f"clients with tokens: p99 {percentile(quiet):.1f} ms of {len(quiet):,} alone, {percentile(busy):.1f} ms of {len(busy):,} beside them")
    failures = []
    if rate < 0.9 * options.rate:
        failures.append(f"only {rate:,.0f} wrong logins a second")
    if set(answers) - {401, 429, 503}:
        failures.append(f"wrong logins were answered {dict(answers)}")
    if set(statuses) != {200}:
        failures.append(f"clients with tokens were answered {dict(statuses)}")
    if percentile(busy) > MILLISECONDS:
        failures.append(f"the 99th percentile of clients with tokens is {percentile(busy):.1f} ms")
    return failures


def main():
    global backend_port
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--rate", type=int, default=1_000)
    parser.add_argument("--users", type=int, default=USERS)
    parser.add_argument("--separate", action="store_true")
    options = parser.parse_args()
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        hub, _ = hub_client.start(options.program, folder, *(["--no-app-backend"] if options.separate else []))
        names = [f"user{number}" for number in range(options.users)]
        backend = None
        try:
            add_users(options.program, folder, names)
            if options.separate:
                backend, backend_port = start_backend(options.program, folder), SEPARATE_PORT
            tokens, key = log_in(names), hub_client.token(f"{folder}/state")
            for what, measure in [("registrations", measure_registrations), ("notifications", measure_notifications)]:
                if measure(options, key, tokens) < RATIO:
                    failures.append(f"{what} have less than {RATIO:g} of the rate of the hub's calls")
            failures += measure_flood(options, tokens)
        finally:
            for process in [backend, hub]:
                if process:
                    process.send_signal(signal.SIGTERM)
                    process.wait()
    if failures:
        sys.exit("; ".join(failures))


if __name__ == "__main__":
    main()
