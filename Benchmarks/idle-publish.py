#!/usr/bin/env python3
"""CPU time of a publish pass in which none of 50 feeds is due.

    Benchmarks/idle-publish.py .build/release/newswire

Prints the median of 20 passes, and fails above 25 ms or when a pass says anything. Nothing leaves the machine.
"""
import os, resource, statistics, subprocess, sys, tempfile

LIMIT_MS = 25
PASSES = 20
FEED = "<rss version='2.0'><channel><title>f</title><item><guid>{0}</guid><title>{0}</title></item></channel></rss>"

program = os.path.abspath(sys.argv[1])
with tempfile.TemporaryDirectory() as folder:
    os.makedirs(f"{folder}/feeds")
    for category in range(5):
        with open(f"{folder}/feeds/{category}.yaml", "w") as lists:
            lists.write(f"category: C{category}\nevery: 1d\nfeeds:\n")
            for feed in range(10):
                path = f"{folder}/{category}-{feed}.rss"
                with open(path, "w") as document:
                    document.write(FEED.format(f"{category}-{feed}"))
                lists.write(f"  - url: file://{path}\n    local: true\n")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NEWSWIRE_")}
    environment |= {"XDG_STATE_HOME": f"{folder}/state", "XDG_CONFIG_HOME": f"{folder}/none"}
    hub = subprocess.Popen([program, "hub", "--port", "0"], env=environment, stderr=subprocess.PIPE, text=True)
    try:
        while "is ready" not in hub.stderr.readline():
            pass
        publish = [program, "publish", "--feeds", f"{folder}/feeds"]
        subprocess.run(publish, env=environment, check=True)
        times = []
        for _ in range(PASSES):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run(publish, env=environment, check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            if done.stdout or done.stderr:
                sys.exit(f"a pass with nothing new said: {done.stdout + done.stderr}")
            times.append(1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
    finally:
        hub.terminate()
        hub.wait()
median = statistics.median(times)
print(f"{median:.1f} ms of CPU (median of {PASSES}; {min(times):.1f} to {max(times):.1f})")
sys.exit(0 if median <= LIMIT_MS else f"more than {LIMIT_MS} ms")
