#!/usr/bin/env python3
"""Delivery to a push service: a hub that sends to a mock APNs over HTTP/2 and TLS, beside libcurl alone in the same run.

    Benchmarks/push-delivery.py .build/release/newswire [--rounds 3] [--scenarios a,b,c] [--states FOLDER]

The mock (`push-delivery/mock-apns.c`) has a core for itself and says 200 to everything, the hub has another one; before and after each
measure `push-delivery/curl-ceiling.c` sends from the hub's core what libcurl sends at most. Progress is durable, and each device must get
exactly one.

a: one native message to 200,000 devices (--devices): sent a second, from the hub's 201 to the mock's last request.
b: the same with replies that come after 60 ms (--delay).
c: one message to 1,000,000 registrations (--templates) of two templates; meanwhile an agent is sent a message every 100 ms, and an
   installation is written every 50 ms. Then one to a random half, for what the targets of a message take in the hub's file.

Registering takes minutes; with --states the registered hubs are kept in a folder and used again. Needs gcc, openssl, and the headers of
nghttp2, OpenSSL and libcurl; two cores, with nothing else on them. Everything stays on loopback.

Fails when a device gets none or two; in the medians, below 0.7 of libcurl alone (a), below 10,000 a second (b), above 1.5 times the
seconds that libcurl alone would take, 300 MB more than idle, 50 ms to an agent or 200 ms for a write at the 99th percentile, or two bits a
registration (c).
"""
import argparse, asyncio, http.client, json, multiprocessing, os, random, re, shutil, signal, socket, sqlite3, statistics
import subprocess, sys, tempfile, threading, time

import registrations as hub_client

HERE = os.path.dirname(os.path.abspath(__file__))
CEILING_REQUESTS = 100_000
# Without news from the mock for so long, no more comes.
PATIENCE = 60
LIMITS = {
    "ratio": ("of libcurl's rate", 0.7, False),
    "rate": ("sent a second", 10_000, False),
    "times": ("times libcurl's seconds", 1.5, True),
    "memory": ("MB above idle", 300, True),
    "agent": ("ms to an agent (p99)", 50, True),
    "write": ("ms for a write (p99)", 200, True),
    "bits": ("bits a registration", 2, True),
}
SCENARIOS = {"a": ["ratio"], "b": ["rate"], "c": ["times", "memory", "agent", "write", "bits"]}
CONNECT = "http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"
ENTRY = (
    '<?xml version="1.0" encoding="utf-8"?><entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml">'
    '<{kind} xmlns:i="http://www.w3.org/2001/XMLSchema-instance" xmlns="' + CONNECT + '">{content}</{kind}></content></entry>'
)
TEMPLATES = [
    '{"aps":{"alert":{"title":"$(title)","body":"$(message)"},"sound":"default"},"link":"$(link)"}',
    '{"aps":{"alert":"{$(title) + \': \' + $(message)}","badge":1},"section":"news"}',
]
NATIVE = '{"aps":{"alert":{"title":"Something has happened","body":"And this says what it was, in a sentence of a usual length."}}}'
PROPERTIES = json.dumps({
    "title": "Something has happened", "message": "And this says what it was, in a sentence.", "link": "https://news.example.org/1",
})
AGENT_SECRET = "A" * 43


# What is made before

def build(folder):
    if not shutil.which("gcc") or not shutil.which("openssl"):
        sys.exit("this needs gcc and openssl: apt-get install gcc openssl")
    for package, header in (
        ("libnghttp2-dev", "nghttp2/nghttp2.h"), ("libssl-dev", "openssl/ssl.h"), ("libcurl4-openssl-dev", "curl/curl.h"),
    ):
        found = subprocess.run(["gcc", "-E", "-x", "c", "-", "-o", os.devnull], input=f"#include <{header}>", text=True, capture_output=True)
        if found.returncode:
            sys.exit(f"this needs <{header}>: apt-get install {package}")
    for name, libraries in (("mock-apns", ["-lnghttp2", "-lssl", "-lcrypto"]), ("curl-ceiling", ["-lcurl"])):
        source = f"{HERE}/push-delivery/{name}.c"
        subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-o", f"{folder}/{name}", source, *libraries], check=True)
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
            "-keyout", f"{folder}/key.pem", "-out", f"{folder}/authority.pem", "-subj", "/CN=mock-apns",
            "-addext", "subjectAltName=IP:127.0.0.1",
        ],
        check=True, capture_output=True,
    )


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def request(method, path, body, headers, connection="full"):
    """Sends a request to the hub whose state is `request.state`; returns the seconds until it was answered."""
    peer = http.client.HTTPConnection("127.0.0.1", hub_client.PORT, timeout=120)
    headers = {"Authorization": hub_client.token(request.state, f"{connection}.connection"), **headers}
    began = time.monotonic()
    peer.request(method, path, body, headers)
    reply = peer.getresponse()
    took = time.monotonic() - began
    text = reply.read().decode()
    peer.close()
    if reply.status not in (200, 201):
        sys.exit(f"{method} {path} was answered {reply.status}: {text[:500]}")
    return took


def set_credential():
    # The DER form would be the traditional one.
    pem = subprocess.run(
        ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"], check=True, capture_output=True, text=True
    ).stdout
    key = "".join(line for line in pem.splitlines() if not line.startswith("-"))
    values = {
        "AppId": "TEAM123456", "AppName": "org.example.app", "KeyId": "ABCDEF1234", "Token": key,
        "Endpoint": "https://api.push.apple.com",
    }
    properties = "".join(f"<Property><Name>{name}</Name><Value>{value}</Value></Property>" for name, value in values.items())
    content = f"<ApnsCredential><Properties>{properties}</Properties></ApnsCredential>"
    headers = {"If-Match": "*", "Content-Type": "application/atom+xml;type=entry;charset=utf-8"}
    body = ENTRY.format(kind="NotificationHubDescription", content=content)
    request("PUT", "/news?api-version=2015-01", body, headers, connection="namespace")


def registrations(authorization, count, is_template):
    """Devices are numbered; a number is a device's token."""
    for number in range(1, count + 1):
        chance = random.Random(number)
        tags = "devices,half" if chance.random() < 0.5 else "devices"
        content = f"<Tags>{tags}</Tags><DeviceToken>{number:064X}</DeviceToken>"
        kind = "AppleRegistrationDescription"
        if is_template:
            kind = "AppleTemplateRegistrationDescription"
            content += f"<BodyTemplate><![CDATA[{TEMPLATES[number % 2]}]]></BodyTemplate><TemplateName>t</TemplateName>"
        body = ENTRY.format(kind=kind, content=content)
        yield (
            f"PUT /news/registrations/{chance.getrandbits(62) + 1}-{number}-1?api-version=2017-04 HTTP/1.1\r\n"
            f"Host: localhost:{hub_client.PORT}\r\nAuthorization: {authorization}\r\n"
            f"Content-Type: application/atom+xml;type=entry;charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n{body}"
        ).encode()


def prepare(program, folder, count, is_template):
    """Makes a hub with its devices, of which each run starts with a copy; returns its folder."""
    own = f"{folder}/{'template' if is_template else 'native'}-{count}"
    if os.path.exists(f"{own}/done"):
        return own
    shutil.rmtree(own, ignore_errors=True)
    os.makedirs(own)
    hub, _ = hub_client.start(program, own)
    request.state = f"{own}/state"
    try:
        threading.Thread(target=hub.stderr.read, daemon=True).start()
        set_credential()
        authorization = hub_client.token(request.state)
        _, took = hub_client.exchange(registrations(authorization, count, is_template), 256)
        agent = {
            "installationId": "agent", "platform": "stream", "pushChannel": AGENT_SECRET, "tags": ["agent"],
            "templates": {"t": {"body": '{"title":"$(title)"}'}},
        }
        headers = {"Content-Type": "application/json"}
        request("PUT", "/news/installations/agent?api-version=2020-06", json.dumps(agent), headers)
        print(f"{count:,} {'template' if is_template else 'native'} registrations written in {took:.0f} s", flush=True)
    finally:
        hub.terminate()
        hub.wait()
    open(f"{own}/done", "w").close()
    return own


# What runs beside

class Mock:
    """The mock APNs, and what it has counted last."""

    def __init__(self, tools, core, delay, count):
        command = [f"{tools}/mock-apns", f"{tools}/authority.pem", f"{tools}/key.pem", "--core", str(core), "--delay", str(delay)]
        self.process = subprocess.Popen([*command, "--count-tokens", str(count)], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().split()[1])
        self.counts, self.heard = {"requests": 0, "distinct": 0}, time.monotonic()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            self.counts, self.heard = json.loads(line), time.monotonic()

    def reset(self):
        self.process.send_signal(signal.SIGUSR1)
        while self.counts["requests"]:
            time.sleep(0.01)

    def wait(self, count):
        """Returns when so many devices have got something, or nothing comes any more."""
        while self.counts["distinct"] < count and time.monotonic() - self.heard < PATIENCE:
            time.sleep(0.05)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def ceiling(tools, mock, core):
    """Requests a second of libcurl alone."""
    command = [f"{tools}/curl-ceiling", str(mock.port), f"{tools}/authority.pem", str(CEILING_REQUESTS), "--core", str(core)]
    result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return result["requests"] / result["seconds"]


class Start:
    """A hub on a copy of its state, on a core of its own."""

    def __init__(self, program, prepared, tools, mock, core):
        self.folder = tempfile.mkdtemp(dir=os.path.dirname(prepared))
        shutil.copytree(f"{prepared}/state", f"{self.folder}/state")
        os.sync()
        options = ["--push-origin", f"https://127.0.0.1:{mock.port}", "--push-authorities", f"{tools}/authority.pem"]
        self.process, _ = hub_client.start(program, self.folder, *options, core=core)
        self.said = []
        threading.Thread(target=lambda: self.said.extend(self.process.stderr), daemon=True).start()
        request.state = f"{self.folder}/state"
        self.database = sqlite3.connect(f"file:{self.folder}/state/hub.sqlite?mode=ro", uri=True, check_same_thread=False)

    def memory(self, name):
        with open(f"/proc/{self.process.pid}/status") as file:
            return int(re.search(rf"{name}:\s+(\d+)", file.read())[1]) / 1024

    def forget_peak(self):
        with open(f"/proc/{self.process.pid}/clear_refs", "w") as file:
            file.write("5")

    def bits(self):
        """What the targets of messages take now."""
        return 8 * (self.database.execute("SELECT sum(length(targets) + length(done)) FROM deliveryBlock").fetchone()[0] or 0)

    def is_over(self):
        return not self.database.execute("SELECT count(*) FROM delivery WHERE endedAt IS NULL AND platform = 'apns'").fetchone()[0]

    def ended(self):
        """When the last outcome was durable."""
        milliseconds = self.database.execute("SELECT max(endedAt) FROM delivery WHERE platform = 'apns'").fetchone()[0]
        return milliseconds / 1000 - time.time() + time.monotonic()

    def outcomes(self):
        return dict(self.database.execute("SELECT outcome, sum(count) FROM deliveryOutcome WHERE platform = 'apns' GROUP BY outcome"))

    def stop(self):
        self.database.close()
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


async def probe(authorization, stop, results):
    """Sends an agent a message every 100 ms and writes an installation every 50 ms; each is due at its time, however late the others are."""
    sent, agent, write, free = {}, [], [], []

    async def call(line, extra, body):
        reader, writer = free.pop() if free else await asyncio.open_connection("127.0.0.1", hub_client.PORT)
        writer.write(
            f"{line} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {authorization}\r\nContent-Type: application/json\r\n{extra}"
            f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        await reader.readexactly(int(length[1]) if length else 0)
        if not re.match(rb"HTTP/1.1 20[01] ", head):
            raise RuntimeError(f"{line} was answered {head.splitlines()[0].decode()}")
        free.append((reader, writer))

    async def listen():
        reader, writer = await asyncio.open_connection("127.0.0.1", hub_client.PORT)
        writer.write(
            f"GET /news/installations/agent/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: {authorization}\r\n"
            f"Newswire-Push-Channel: {AGENT_SECRET}\r\n\r\n".encode()
        )
        while line := await reader.readline():
            if found := re.search(rb'"title":"probe (\d+)"', line):
                due = sent.pop(int(found[1]))
                agent.append((due, time.monotonic() - due))

    async def publish(number, due):
        sent[number] = due
        headers = "ServiceBusNotification-Format: template\r\nServiceBusNotification-Tags: agent\r\n"
        await call("POST /news/messages?api-version=2020-06", headers, json.dumps({"title": f"probe {number}"}))

    async def install(number, due):
        name = f"p{number % 500}"
        body = {"installationId": name, "platform": "apns", "pushChannel": f"{(1 << 240) + number % 500:064x}", "tags": [f"t{number % 7}"]}
        await call(f"PUT /news/installations/{name}?api-version=2020-06", "", json.dumps(body))
        write.append((due, time.monotonic() - due))

    async def tick(work, interval, tasks):
        number, due = 0, time.monotonic() + 0.5
        while not stop.is_set():
            await asyncio.sleep(max(0, due - time.monotonic()))
            tasks.append(asyncio.create_task(work(number, due)))
            number, due = number + 1, due + interval

    listening, tasks = asyncio.create_task(listen()), []
    await asyncio.gather(tick(publish, 0.1, tasks), tick(install, 0.05, tasks))
    await asyncio.gather(*tasks)
    patience = time.monotonic() + 5
    while sent and time.monotonic() < patience:
        await asyncio.sleep(0.05)
    listening.cancel()
    results.put((agent, write, len(sent)))


class Probes:
    """In a process of their own, so that this one's work is not timed."""

    def __init__(self):
        context = multiprocessing.get_context("fork")
        self.stop, self.results = context.Event(), context.Queue()
        authorization = hub_client.token(request.state)
        self.process = context.Process(target=lambda: asyncio.run(probe(authorization, self.stop, self.results)), daemon=True)
        self.process.start()

    def end(self):
        """Returns when messages and writes were due with what they took, and the number of messages that never came."""
        self.stop.set()
        try:
            return self.results.get(timeout=30)
        except Exception:
            sys.exit("the agent or the writes beside the delivery have failed")


def p99(samples, first, last):
    took = sorted(took for due, took in samples if first <= due <= last)
    return 1000 * took[int(len(took) * 0.99)] if took else float("inf")


# Measures

def send(form, tags, body):
    """Returns when the message was accepted, and the seconds that took."""
    headers = {"ServiceBusNotification-Format": form, "Content-Type": "application/json"}
    took = request("POST", "/news/messages?api-version=2020-06", body, {**headers, **({"ServiceBusNotification-Tags": tags} if tags else {})})
    return time.monotonic(), took


def deliver(hub, mock, count, form, tags, body):
    """Sends one message and waits until its delivery is over; returns when it was accepted, when the last was sent, and the most bits."""
    mock.reset()
    bits, over = 0, threading.Event()

    def look():
        nonlocal bits
        while not over.wait(0.5):
            bits = max(bits, hub.bits())

    looking = threading.Thread(target=look)
    accepted, took = send(form, tags, body)
    looking.start()
    mock.heard = time.monotonic()
    mock.wait(count)
    patience = time.monotonic() + 10
    while not hub.is_over() and time.monotonic() < patience:
        time.sleep(0.05)
    over.set()
    looking.join()
    # What is sent twice may come late.
    time.sleep(2)
    counts = mock.counts
    if counts["distinct"] != count or counts["repeats"] or counts["strangers"] or not hub.is_over():
        print("".join(hub.said[-20:]), file=sys.stderr)
        sys.exit(f"{count} devices should have got one each: {counts}; outcomes {hub.outcomes()}, is over: {hub.is_over()}")
    print(
        f"   accepted after {1000 * took:.0f} ms, first sent {1000 * (counts['first'] - accepted):.0f} ms later; "
        f"at most {counts['most_streams']:,} under way; over {1000 * (hub.ended() - counts['last']):.0f} ms after the last", flush=True
    )
    return accepted, counts["last"], bits


def measure(name, options, prepared, tools, cores):
    is_template = name == "c"
    count = options.templates if is_template else options.devices
    mock = Mock(tools, cores[0], options.delay if name == "b" else 0, count)
    try:
        before = ceiling(tools, mock, cores[1])
        hub = Start(options.program, prepared, tools, mock, cores[1])
        try:
            time.sleep(1)
            if is_template:
                result = with_probes(hub, mock, count)
            else:
                accepted, last, bits = deliver(hub, mock, count, "apple", None, NATIVE)
                result = {"seconds": last - accepted}
        finally:
            hub.stop()
        after = ceiling(tools, mock, cores[1])
    finally:
        mock.stop()
    alone = (before + after) / 2
    result["rate"] = count / result["seconds"]
    result["ratio"] = result["rate"] / alone
    result["times"] = 1 / result["ratio"]
    print(
        f"{name}: {count:,} in {result['seconds']:.2f} s: {result['rate']:,.0f} a second, {result['ratio']:.2f} of libcurl's "
        f"{before:,.0f} before and {after:,.0f} after", flush=True
    )
    return result


def with_probes(hub, mock, count):
    probes = Probes()
    began = time.monotonic() + 1
    time.sleep(6)
    idle = hub.memory("VmRSS")
    hub.forget_peak()
    accepted, last, bits = deliver(hub, mock, count, "template", "devices", PROPERTIES)
    memory = hub.memory("VmHWM") - idle
    agent, write, lost = probes.end()
    if lost:
        sys.exit(f"{lost} messages did not come to the agent")
    half = sum(random.Random(number).random() < 0.5 for number in range(1, count + 1))
    _, _, of_half = deliver(hub, mock, half, "template", "half", PROPERTIES)
    result = {
        "seconds": last - accepted, "memory": memory, "agent": p99(agent, accepted, last), "write": p99(write, accepted, last),
        "bits": max(bits, of_half) / count,
    }
    print(
        f"   p99 {result['agent']:.1f} ms to the agent ({p99(agent, began, accepted - 1):.1f} idle), {result['write']:.1f} ms for a write "
        f"({p99(write, began, accepted - 1):.1f} idle); {memory:.0f} MB above {idle:.0f} MB; {bits / count:.2f} bits a registration for a "
        f"message to all, {of_half / count:.2f} to a half", flush=True
    )
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--devices", type=int, default=200_000)
    parser.add_argument("--templates", type=int, default=1_000_000)
    parser.add_argument("--delay", type=int, default=60, help="milliseconds")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scenarios", default="a,b,c")
    parser.add_argument("--states", help="where registered hubs are kept for the next run")
    options = parser.parse_args()
    options.program = os.path.abspath(options.program)
    available = sorted(os.sched_getaffinity(0))
    if len(available) < 2:
        sys.exit("this needs two cores")
    # The hub's and libcurl's; all else shares the mock's, which is idle for most of the time.
    cores = available[0], available[-1]
    hub_client.PORT = free_port()
    chosen = options.scenarios.split(",")
    results = {name: [] for name in chosen}
    with tempfile.TemporaryDirectory() as folder:
        build(folder)
        states = options.states or folder
        prepared = {name: prepare(options.program, states, options.templates if name == "c" else options.devices, name == "c") for name in chosen}
        os.sched_setaffinity(0, {cores[0]})
        for _ in range(options.rounds):
            for name in chosen:
                results[name].append(measure(name, options, prepared[name], folder, cores))
    print(f"\nmedians of {options.rounds} rounds:")
    failures = []
    for name in chosen:
        for figure in SCENARIOS[name]:
            meaning, limit, is_most = LIMITS[figure]
            median = statistics.median(result[figure] for result in results[name])
            bad = median > limit if is_most else median < limit
            print(f"{name}: {median:,.2f} {meaning} ({'at most' if is_most else 'at least'} {limit:,}){' – NOT MET' if bad else ''}")
            failures += [f"{name}: {meaning}"] if bad else []
    sys.exit(f"not met: {'; '.join(failures)}" if failures else 0)


if __name__ == "__main__":
    main()
