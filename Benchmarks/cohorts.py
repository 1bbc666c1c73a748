#!/usr/bin/env python3
"""What one broadcast costs other requests when agents have chosen in few ways, and when each has chosen in its own.

    Benchmarks/cohorts.py .build/release/newswire [--count 50000] [--cohorts 50]

All agents have the standard template; their tags put them into so many cohorts, and then each into one of its own. One message goes to all;
meanwhile another client reads and writes an installation. Prints the 99th percentile of its requests and the time until the first stream
has the message, for both, and their ratio. Fails when a stream does not get the message, or the 99th percentile is more than twice as high.
"""
import argparse, asyncio, sys

import hostile, registrations as hub_client, stream_agents as agents

TEMPLATE = '{"title":"$(title)","message":"$(messageParam)","link":"$(link)"}'


def measure(program, count, cohorts):
    bodies = [agents.installation(number, TEMPLATE, tags=("World", f"c{number % cohorts}")) for number in range(count)]
    arguments = argparse.Namespace(count=count)
    with agents.ScratchHub(program) as hub:
        full = hub.token()
        hub_client.exchange(agents.writes(full, bodies), 64)
        # With Manage: the quotas of Listen are not what is measured.
        print(f"{cohorts} cohorts:")
        good = asyncio.run(hostile.measure(arguments, hub, bodies[0], full, full))
    return good, arguments.p99, arguments.first


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=50_000)
    parser.add_argument("--cohorts", type=int, default=50)
    arguments = parser.parse_args()
    agents.allow_open_files()
    few, many = (measure(arguments.program, arguments.count, cohorts) for cohorts in (arguments.cohorts, arguments.count))
    ratio = many[1] / few[1]
    print(f"p99 {few[1]:.1f} ms and {many[1]:.1f} ms: {ratio:.2f} times; first stream after {few[2] * 1000:.1f} and {many[2] * 1000:.1f} ms")
    sys.exit(0 if few[0] and many[0] and ratio <= 2 else 1)


if __name__ == "__main__":
    main()
