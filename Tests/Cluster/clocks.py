#!/usr/bin/env python3
"""A hub whose clock is two hours ahead joins another one, which then stops.

Ends with 0 only if the hub with the wrong clock says so, takes no duties and releases nothing early, and takes them when its
clock is right.
"""

import argparse
import datetime
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from cluster import Cluster, copy_keys, request

OFFSET_SECONDS = 7_200
# Longer than a hub waits before it takes over from one that is gone.
SILENCE_SECONDS = 20
# Moves the wall clock of one process.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*original)(clockid_t, struct timespec *);
    if (!original) original = dlsym(RTLD_NEXT, "clock_gettime");
    int status = original(clock, time);
    const char *offset = getenv("CLOCK_OFFSET");
    if (!status && offset && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += atol(offset);
    return status;
}
int gettimeofday(struct timeval *restrict value, void *restrict zone) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    value->tv_sec = now.tv_sec;
    value->tv_usec = now.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *value) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (value) *value = now.tv_sec;
    return now.tv_sec;
}
"""


def shim(folder, compiler):
    with open(f"{folder}/shim.c", "w") as file:
        file.write(SHIM)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", f"{folder}/shim.so", f"{folder}/shim.c", "-ldl"], check=True)
    return f"{folder}/shim.so"


def metrics(hub):
    connection = http.client.HTTPConnection("127.0.0.1", hub.port, timeout=30)
    try:
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
    finally:
        connection.close()
    return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))


def wait(condition, seconds, complaint):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, complaint
        time.sleep(0.2)


def run(cluster, library):
    right, wrong = cluster.nodes
    for server in cluster.servers:
        server.start("Server is ready")
    right.start()
    authorization = right.token()
    due = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    status, body = request(
        right.port, "POST", "schedulednotifications", authorization, json.dumps({"title": "in an hour"}),
        ServiceBusNotification_Format="template", Content_Type="application/json",
        ServiceBusNotification_ScheduleTime=due.strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
    assert status == 201, (status, body)
    copy_keys(right, wrong)
    usual = wrong.environment
    wrong.environment = usual | {"LD_PRELOAD": library, "CLOCK_OFFSET": str(OFFSET_SECONDS)}
    wrong.start()
    wait(lambda: metrics(wrong)["newswire_node_may_have_duties"] == "0", 20, "the wrong clock is not noticed")
    assert metrics(right)["newswire_node_may_have_duties"] == "1"
    difference = 'newswire_node_clock_ahead_seconds{node="b"}'
    wait(lambda: difference in metrics(right), 20, "the other hub does not report its time")
    ahead = float(metrics(right)[difference])
    assert abs(ahead - OFFSET_SECONDS) < 5, ahead
    text = wrong.run("hub", "log", "status")
    assert re.search(r"(?m)^duties +none at this hub: its clock is", text), text
    assert "this node takes no duties" in wrong.printed()

    right.end()
    time.sleep(SILENCE_SECONDS)
    found = metrics(wrong)
    assert found['newswire_messages_scheduled{hub="news"}'] == "1", "the message was released early"
    assert "has the hub's duties" not in wrong.printed()

    wrong.end()
    wrong.environment = usual
    begin = os.path.getsize(wrong.log)
    wrong.start()
    wait(lambda: "has the hub's duties" in wrong.printed(begin), 40, "nobody has the duties")
    assert metrics(wrong)['newswire_messages_scheduled{hub="news"}'] == "1"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="newswire")
    parser.add_argument("engine", help="nats-server")
    options = parser.parse_args()
    compiler = next(filter(None, map(shutil.which, ["cc", "gcc", "clang"])), None)
    if compiler is None:
        print("skipped: a C compiler makes the wrong clock")
        return 0
    folder = tempfile.mkdtemp(prefix="newswire-cluster-")
    cluster = Cluster(options.program, options.engine, folder, nodes=2)
    try:
        run(cluster, shim(folder, compiler))
    finally:
        for process in [*cluster.nodes, *cluster.servers]:
            process.end()
    cluster.remove()
    print("the hub with the wrong clock had no duties")
    return 0


if __name__ == "__main__":
    sys.exit(main())
