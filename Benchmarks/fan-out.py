#!/usr/bin/env python3
"""Fan-out of a hub to its agents, beside a bare-metal floor and nchan, in the same run.

    Benchmarks/fan-out.py .build/release/newswire [--rounds 3] [--scenarios A,B,D] [--peers limit,newswire,nchan1]

Every connection is an agent with an installation of its own: all have chosen one of six categories, and each message goes to
a tag that all have. Messages are durable before they are sent. nchan (nginx with libnginx-mod-nchan, one worker) is compared
when it is installed; `fanout/run_peers.py` lists more peers, and the scenarios. Needs gcc; everything stays on loopback.

Prints the tables and the ratios; fails when a message is lost, repeated or misrouted, or a stream costs over 8 KB.
"""
import argparse, base64, hashlib, hmac, http.client, json, os, statistics, subprocess, sys, tempfile, threading, time, urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
PORT = 9300
AGENTS = 10_000
CATEGORIES = ["World", "Politics", "Business", "Technology", "Science", "Sports"]
TEMPLATE = '{"title":"$(title)","message":"$(messageParam)","link":"$(link)","category":"$(category)"}'
# One for all of them: what a device draws at random costs the hub the same.
CHANNEL = "A" * 43
BYTES_A_STREAM = 8192


def token(state, name):
    with open(f"{state}/{name}.connection") as file:
        parts = dict(part.split("=", 1) for part in file.read().strip().split(";"))
    resource = urllib.parse.quote(f"http://127.0.0.1:{PORT}/news", safe="").lower()
    expiry = int(time.time()) + 86_400
    digest = hmac.new(parts["SharedAccessKey"].encode(), f"{resource}\n{expiry}".encode(), hashlib.sha256).digest()
    signature = urllib.parse.quote(base64.b64encode(digest).decode(), safe="")
    return f"SharedAccessSignature sr={resource}&sig={signature}&se={expiry}&skn={parts['SharedAccessKeyName']}"


def register(state, first, step, failures):
    try:
        connection = http.client.HTTPConnection("127.0.0.1", PORT)
        for index in range(first, AGENTS, step):
            installation = {
                "installationId": f"b{index}",
                "platform": "stream",
                "pushChannel": CHANNEL,
                "tags": ["all", CATEGORIES[index % len(CATEGORIES)]],
                "templates": {"newswire": {"body": TEMPLATE}},
            }
            headers = {"Authorization": token(state, "listen"), "Content-Type": "application/json"}
            connection.request("PUT", f"/news/installations/b{index}", json.dumps(installation), headers)
            reply = connection.getresponse()
            reply.read()
            if reply.status != 200:
                raise RuntimeError(f"registering answered {reply.status}")
    except Exception as error:  # A thread's own exception ends nothing.
        failures.append(error)


def prepare(program, folder):
    """Makes a hub with its agents; each run starts on a copy of it."""
    state = f"{folder}/pristine"
    hub = subprocess.Popen(
        [program, "hub", "--state", state, "--port", str(PORT)], env={**os.environ, "HOME": folder}, stderr=subprocess.PIPE, text=True
    )
    try:
        for line in hub.stderr:
            if "is ready" in line:
                break
        else:
            sys.exit("the hub does not start")
        failures = []
        threads = [threading.Thread(target=register, args=(state, first, 8, failures)) for first in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            sys.exit(f"the agents are not registered: {failures[0]}")
    finally:
        hub.terminate()
        hub.wait()
    own = {
        "name": "newswire",
        "cmd": [program, "hub", "--state", f"{folder}/run", "--port", str(PORT), "--log-level", "error"],
        "env": {"HOME": folder},
        "port": PORT,
        "prepare": ["sh", "-c", f"rm -rf {folder}/run && cp -a {state} {folder}/run"],
        "settle": 1.0,
        "sub_path": "/news/installations/b%d/stream",
        "sub_headers": [f"Authorization: {token(state, 'listen')}", f"Newswire-Push-Channel: {CHANNEL}"],
        "client_args": ["--channels", "{n}"],
        "pub_path": "/news/messages",
        "pub_headers": [
            f"Authorization: {token(state, 'full')}", "ServiceBusNotification-Format: template", "ServiceBusNotification-Tags: all",
        ],
        "pub_type": "application/json",
        "pub_template": '{"messageParam":"@P@"}',
    }
    with open(f"{folder}/own.json", "w") as file:
        json.dump(own, file)


def verdict(rows):
    """The ratios of paired runs, and whether what must hold does."""
    own = {(row["scenario"], row["round"]): row for row in rows if row["peer"] == "newswire"}
    good = True
    for peer in sorted({row["peer"] for row in rows} - {"newswire"}):
        for scenario, figure, better in (("A", "deliveries_per_s", "≥"), ("B", "deliveries_per_s", "≥"), ("D", "lat_p50_us", "≤")):
            ratios = [
                own[key][figure] / row[figure]
                for row in rows
                if row["peer"] == peer and row["scenario"] == scenario and "error" not in row
                for key in [(scenario, row["round"])]
                if "error" not in own.get(key, {"error": ""})
            ]
            if ratios:
                wanted = "1" if better == "≥" else "2"
                aim = f" (aim: {better} {wanted})" if peer == "nchan1" else ""
                print(f"{scenario}: {statistics.median(ratios):.2f} x {peer} in {figure}{aim}")
    for row in own.values():
        if "error" in row:
            print(f"{row['scenario']}: {row['error']}")
            good = False
            continue
        wrong = {name: row[name] for name in ("missing", "duplicates", "misrouted") if row.get(name)}
        if wrong:
            print(f"{row['scenario']}: {wrong}")
            good = False
        if row["scenario"] == "B" and row["rss_bytes_per_conn"] > BYTES_A_STREAM:
            print(f"B: {row['rss_bytes_per_conn']:.0f} bytes resident for a stream")
            good = False
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scenarios", default="A,B,D")
    parser.add_argument("--peers", help="without it: limit, newswire, and nchan1 where it is installed")
    options = parser.parse_args()
    has_nchan = os.path.exists("/usr/lib/nginx/modules/ngx_nchan_module.so")
    peers = options.peers or ",".join(["limit", "newswire"] + (["nchan1"] if has_nchan else []))
    with tempfile.TemporaryDirectory() as folder:
        prepare(os.path.abspath(options.program), folder)
        results = f"{folder}/results.jsonl"
        subprocess.run(
            [
                sys.executable, f"{HERE}/fanout/run_peers.py", "--own", f"{folder}/own.json", "--out", results,
                "--peers", peers, "--scenarios", options.scenarios, "--rounds", str(options.rounds),
            ],
            check=True,
        )
        with open(results) as file:
            rows = [json.loads(line) for line in file]
    print()
    sys.exit(0 if verdict(rows) else 1)


if __name__ == "__main__":
    main()
