#!/usr/bin/env python3
"""A hub whose Listen key is held by somebody hostile: one broadcast to thousands of heavy templates.

    Benchmarks/hostile.py .build/release/newswire [--count 10000]

Half of the agents have a template that makes 200 KB of a message, the other half one that would make 400 KB and gets a gap instead. All are
written with Listen, within the quotas, and have their streams open; one agent in a hundred is an ordinary one. One message goes to all.
Meanwhile another client asks for /healthz, and reads and writes an installation.

Fails when a stream does not get the message or its gap within five minutes, when the 99th percentile of the other requests is above
100 ms, or when the hub grows by more than 200 MB.
"""
import argparse, asyncio, sys, time

import registrations as hub_client, stream_agents as agents

MILLISECONDS = 100
MEGABYTES = 200
SECONDS = 300


def template(copies):
    members = [f'"m{n}":"{{{"+".join(["$(v)"] * 100)}}}"' for n in range(copies // 100)]
    return '{"title":"$(title)",' + ",".join(members) + "}"


def installation(number):
    if number % 100 == 0:
        return agents.installation(number, '{"title":"$(title)"}')
    # Each is a cohort of its own.
    variables = {"v": f"{number:06}" + "x" * 994}
    return agents.installation(number, template(200 if number % 2 else 400), variables=variables)


def resident(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024


async def listen(authorization, number, opened, done, gate):
    await gate.acquire()
    reader, writer = await agents.open_stream(authorization, number)
    kept = b""
    while part := await reader.read(1 << 16):
        kept = kept[-64:] + part
        if not opened[number] and b"200 OK" in kept:
            opened[number] = True
            gate.release()
        if b'"title":"hostile"' in kept or b"event: gap" in kept:
            done[number] = time.monotonic()
            break
    writer.close()


async def ask(authorization, body, took, stop):
    reader, writer = await asyncio.open_connection("127.0.0.1", hub_client.PORT)
    turn = 0
    while not stop.is_set():
        turn += 1
        line = ["GET /healthz", "GET /news/installations/h0", "PUT /news/installations/h0"][turn % 3]
        content = body if line.startswith("PUT") else ""
        began = time.monotonic()
        writer.write(
            f"{line} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {authorization}\r\nNewswire-Push-Channel: {agents.secret(0)}\r\n"
            f"Content-Length: {len(content)}\r\n\r\n{content}".encode()
        )
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(l.split(b":")[1]) for l in head.lower().splitlines() if l.startswith(b"content-length"))
        await reader.readexactly(length)
        took.append(time.monotonic() - began)
        await asyncio.sleep(0.01)
    writer.close()


def requests(authorization, body, stop, results):
    """In a process of its own: the readers of the streams would be timed as well."""
    async def run():
        took, event = [], asyncio.Event()
        task = asyncio.create_task(ask(authorization, body, took, event))
        while not stop.is_set():
            await asyncio.sleep(0.05)
        event.set()
        await task
        results.put(took)
    asyncio.run(run())


async def measure(arguments, hub, body, listen_key, full_key):
    """One broadcast; `body` is the installation of agent 0, which the other requests write again."""
    import multiprocessing
    pid = hub.process.pid
    opened, done = [False] * arguments.count, [None] * arguments.count
    # A hub takes a few thousand connections that have not shown a token yet.
    gate = asyncio.Semaphore(500)
    tasks = [asyncio.create_task(listen(listen_key, n, opened, done, gate)) for n in range(arguments.count)]
    patience = time.monotonic() + SECONDS
    while not all(opened):
        if time.monotonic() > patience:
            sys.exit(f"{opened.count(False)} streams do not open")
        await asyncio.sleep(0.2)
    before = resident(pid)
    stop, results = multiprocessing.Event(), multiprocessing.Queue()
    others = multiprocessing.Process(target=requests, args=(listen_key, body, stop, results))
    others.start()
    await asyncio.sleep(1)
    began, highest = time.monotonic(), before
    reader, writer = await asyncio.open_connection("127.0.0.1", hub_client.PORT)
    message = '{"title":"hostile"}'
    writer.write(
        f"POST /news/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: {full_key}\r\nServiceBusNotification-Format: template\r\n"
        f"ServiceBusNotification-Tags: World\r\nContent-Length: {len(message)}\r\n\r\n{message}".encode()
    )
    status = (await reader.readline()).split()[1]
    accepted = time.monotonic() - began
    while any(d is None for d in done) and time.monotonic() - began < SECONDS:
        highest = max(highest, resident(pid))
        await asyncio.sleep(0.05)
    stop.set()
    took = sorted(results.get())
    others.join()
    for task in tasks:
        task.cancel()
    missing = sum(d is None for d in done)
    ordinary = [d - began for n, d in enumerate(done) if d and n % 100 == 0]
    p99 = took[int(len(took) * 0.99)] * 1000
    print(f"answered {status.decode()} after {accepted * 1000:.0f} ms; ordinary agents had it after {max(ordinary) * 1000:.0f} ms, "
          f"all {arguments.count - missing} after {max(d or 0 for d in done) - began:.1f} s, {missing} missing")
    print(f"other requests: {len(took)}, median {took[len(took) // 2] * 1000:.1f} ms, p99 {p99:.1f} ms, longest {took[-1] * 1000:.0f} ms")
    print(f"memory: {before:.0f} MB before, at most {highest:.0f} MB: {highest - before:.0f} MB more")
    arguments.p99, arguments.first = p99, min(d for d in done if d) - began
    return missing == 0 and p99 <= MILLISECONDS and highest - before <= MEGABYTES


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=10_000)
    arguments = parser.parse_args()
    agents.allow_open_files()
    with agents.ScratchHub(arguments.program) as hub:
        listen_key = hub.token("listen.connection")
        count, took = hub_client.exchange(agents.writes(listen_key, map(installation, range(arguments.count))), 64)
        print(f"{count} installations written with Listen in {took:.1f} s; the hub has {resident(hub.process.pid):.0f} MB")
        good = asyncio.run(measure(arguments, hub, installation(0), listen_key, hub.token()))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
