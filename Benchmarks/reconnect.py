#!/usr/bin/env python3
"""How agents come back to a hub that was away: the curve, second by second.

    Benchmarks/reconnect.py .build/release/newswire [--count 10000] [--outage 45]

Each agent is a stream that waits between its tries as `newswire subscribe` does (Sources/SubscriberAgent/Stream/Backoff.swift): a random
time of at most 2 s, then 4, 8, 16 and 20 s, and a minute once it has waited two; `Retry-After` comes on top. The hub is killed, stays away
for so many seconds, and starts again. The time of each agent counts from when the hub is ready to when its stream is open.

Fails when half of the agents take more than 10 s, when one is not back within a minute, when more than a fifth of them come back in one
second, or when the hub refuses one.
"""
import argparse, asyncio, collections, random, re, sys, time

import registrations as hub_client, stream_agents as agents

BASE, EARLY_CEILING, CEILING, EARLY = 2.0, 20.0, 60.0, 120.0
MEDIAN, PATIENCE, HERD = 10.0, 60.0, 0.2


class Agent:
    def __init__(self, number, authorization, course):
        self.number, self.authorization, self.course = number, authorization, course
        self.failures, self.waited = 0, 0.0

    def wait(self, retry_after):
        ceiling = EARLY_CEILING if self.waited < EARLY else CEILING
        jitter = min(BASE * 2 ** min(self.failures, 10), ceiling) * random.random()
        self.failures += 1
        wait = jitter if retry_after is None else retry_after + min(jitter, BASE)
        self.waited += wait
        return wait

    async def stream(self):
        """Returns when the stream has ended: the seconds that the hub asks to be left alone, None if it asks nothing."""
        writer = None
        try:
            reader, writer = await agents.open_stream(self.authorization, self.number)
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                self.course.refusals[head.split()[1].decode()] += 1
                found = re.search(rb"(?i)retry-after: (\d+)", head)
                return float(found[1]) if found else None
            self.failures, self.waited = 0, 0.0
            self.course.opened(self.number)
            while await reader.read(1 << 16):
                pass
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            if writer:
                writer.close()
        return None

    async def run(self, gate):
        async with gate:
            first = asyncio.create_task(self.stream())
            while not first.done() and self.number not in self.course.times:
                await asyncio.sleep(0.01)
        retry_after = await first
        while True:
            await asyncio.sleep(self.wait(retry_after))
            retry_after = await self.stream()


class Course:
    def __init__(self):
        self.times, self.refusals = {}, collections.Counter()

    def opened(self, number):
        self.times[number] = time.monotonic()


async def measure(options, hub):
    key = hub.token("listen.connection")
    course, gate = Course(), asyncio.Semaphore(500)
    tasks = [asyncio.create_task(Agent(n, key, course).run(gate)) for n in range(options.count)]
    deadline = time.monotonic() + 300
    while len(course.times) < options.count:
        if time.monotonic() > deadline:
            sys.exit(f"{options.count - len(course.times)} streams do not open: {dict(course.refusals)}")
        await asyncio.sleep(0.2)
    hub.kill()
    course.times.clear()
    course.refusals.clear()
    await asyncio.sleep(options.outage)
    await asyncio.to_thread(hub.start)
    ready = time.monotonic()
    while len(course.times) < options.count and time.monotonic() - ready < PATIENCE:
        await asyncio.sleep(0.2)
    for task in tasks:
        task.cancel()
    # The hub answers a moment before it says that it is ready.
    return sorted(max(0.0, at - ready) for at in course.times.values()), course.refusals


def report(options, times, refusals):
    seconds = collections.Counter(int(at) for at in times)
    back = 0
    for second in range(int(times[-1]) + 1 if times else 0):
        back += seconds[second]
        print(f"{second + 1:3} s {seconds[second]:6} {back / options.count:6.1%} {'#' * round(60 * seconds[second] / max(seconds.values()))}")
    missing, median = options.count - len(times), times[len(times) // 2] if times else PATIENCE
    print(f"median {median:.1f} s, 99th percentile {times[int(len(times) * 0.99)] if times else 0:.1f} s, most in one second "
          f"{max(seconds.values(), default=0)}, missing {missing}, refusals {dict(refusals)}")
    return median <= MEDIAN and missing == 0 and max(seconds.values()) <= HERD * options.count and not refusals


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--outage", type=float, default=45)
    options = parser.parse_args()
    agents.allow_open_files()
    with agents.ScratchHub(options.program) as hub:
        installations = (agents.installation(number, '{"title":"$(title)"}') for number in range(options.count))
        hub_client.exchange(agents.writes(hub.token(), installations), 64)
        times, refusals = asyncio.run(measure(options, hub))
    sys.exit(0 if report(options, times, refusals) else 1)


if __name__ == "__main__":
    main()
