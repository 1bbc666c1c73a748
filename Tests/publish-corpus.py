#!/usr/bin/env python3
"""Publishes a corpus of real feeds and checks that each entry becomes one message, once.

    Tests/publish-corpus.py .build/release/newswire ../shared/corpus/feeds

Every document of kind `feed` is served from loopback and has a feed list of its own. `publish --announce-existing all --cap none`
must announce as many entries of each document as it holds distinct ones, and a second pass with `--force` none. The
distinct ones are counted here, by the rules of the order id, link, title and date, from what `newswire feeds check` reads.
Documents that are refused are listed with their reasons. Nothing leaves the machine.
"""
import http.server, json, os, re, shutil, sqlite3, subprocess, sys, tempfile, threading, urllib.request

# Entries that may share an id or a link before the next rule decides.
SHARED = 3


class Site(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    documents = {}

    def do_GET(self):
        record, path = self.documents[self.path]
        with open(path, "rb") as file:
            body = file.read()
        self.send_response(200)
        if record.get("content_type"):
            self.send_header("Content-Type", record["content_type"])
        if record.get("content_encoding"):
            self.send_header("Content-Encoding", record["content_encoding"])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def distinct(entries):
    """How many entries a person would tell apart, by the rule that tells most of them apart."""
    rules = [
        lambda entry: entry.get("id"),
        lambda entry: entry.get("link"),
        lambda entry: (entry.get("title"), entry.get("date") or entry.get("published") or entry.get("updated")),
    ]

    def key(entry, first):
        for number, rule in enumerate(rules[first:], first):
            value = rule(entry)
            if value and value != (None, None) and value != ("", None):
                return number, value
        return 3, entry.get("summary")

    for first in range(3):
        keys = [key(entry, first) for entry in entries]
        counts = {value: keys.count(value) for value in set(keys)}
        if max(counts.values(), default=0) <= SHARED:
            break
    return len(set(keys))


def accepted(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        return int(re.search(rb'^newswire_messages_accepted_total\{.*\} (\d+)$', page.read(), re.M)[1])


def main():
    program, corpus = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    with open(f"{corpus}/expected.jsonl") as file:
        records = [record for record in map(json.loads, file) if record["kind"] == "feed"]
    folder = tempfile.mkdtemp()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NEWSWIRE_")}
    environment |= {"XDG_STATE_HOME": f"{folder}/state", "XDG_CONFIG_HOME": f"{folder}/none"}
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    hub = subprocess.Popen([program, "hub", "--port", "0"], env=environment, stderr=subprocess.PIPE, text=True)
    try:
        for line in hub.stderr:
            if found := re.search(r"listen.address=127.0.0.1:(\d+)", line):
                port = int(found[1])
                break
        else:
            sys.exit("the hub does not start")
        threading.Thread(target=hub.stderr.read, daemon=True).start()
        os.mkdir(f"{folder}/feeds")
        for number, record in enumerate(records):
            Site.documents[f"/{number}"] = (record, f"{corpus}/{record['file']}")
            with open(f"{folder}/feeds/d{number}.yaml", "w") as lists:
                lists.write(
                    f"category: D{number}\nfeeds:\n  - url: http://127.0.0.1:{site.server_port}/{number}\n    local: true\n"
                )
        wrong = check(program, environment, folder, records, port, f"http://127.0.0.1:{site.server_port}")
    finally:
        hub.terminate()
        hub.wait()
        site.shutdown()
        shutil.rmtree(folder)
    sys.exit(1 if wrong else 0)


def check(program, environment, folder, records, port, address):
    publish = [program, "publish", "--feeds", f"{folder}/feeds", "--announce-existing", "all", "--cap", "none"]
    first = subprocess.run(publish, env=environment, capture_output=True, text=True)
    print(f"first pass: exit {first.returncode}")
    database = sqlite3.connect(f"file:{folder}/state/newswire/publisher/publisher.sqlite?mode=ro", uri=True)
    announced = dict(database.execute("SELECT category, count(*) FROM outbox WHERE NOT is_digest GROUP BY category"))
    digests = database.execute("SELECT count(*) FROM outbox WHERE is_digest").fetchone()[0]
    listed = subprocess.run(
        [program, "feeds", "list", "--json", "--feeds", f"{folder}/feeds"], env=environment, capture_output=True, text=True, check=True
    )
    health = {feed["category"]: feed for feed in json.loads(listed.stdout)}
    with open(f"{folder}/batch", "w") as batch:
        for number, record in enumerate(records):
            asked = {"file": Site.documents[f"/{number}"][1], "url": f"{address}/{number}", "content_type": record.get("content_type")}
            batch.write(json.dumps(asked) + "\n")
    read = subprocess.run(
        [program, "feeds", "check", "--json", "--batch", f"{folder}/batch"], env=environment, capture_output=True, text=True
    )
    understood = [json.loads(line) for line in read.stdout.splitlines()]
    assert len(understood) == len(records), read.stderr

    refused, wrong, entries = [], 0, 0
    for number, (record, document) in enumerate(zip(records, understood)):
        name = f"D{number}"
        if health[name]["lastSuccess"] is None or health[name].get("state") == "failing":
            refused.append((record["file"], health[name].get("trouble") or health[name]["state"]))
            if health[name]["lastSuccess"] is None:
                continue
        expected = distinct(document.get("entries", []))
        entries += expected
        if announced.get(name, 0) != expected:
            wrong += 1
            print(f"{record['file']}: {announced.get(name, 0)} announced, {expected} distinct entries of {len(document.get('entries', []))}")
    for file, reason in refused:
        print(f"refused: {file}: {reason}")
    total = sum(announced.values())
    print(f"{len(records)} documents, {len(refused)} refused, {entries} distinct entries, {total} announced, {digests} digests")
    if accepted(port) != total + digests:
        wrong += 1
        print(f"the hub took {accepted(port)} messages")
    before = accepted(port)
    second = subprocess.run(publish + ["--force"], env=environment, capture_output=True, text=True)
    after = accepted(port)
    print(f"second pass: exit {second.returncode}, {after - before} announced")
    return wrong + (after != before)


if __name__ == "__main__":
    main()
