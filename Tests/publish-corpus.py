#!/usr/bin/env python3
"""Publishes a corpus of real feeds and checks that each entry becomes one message, once.

    Tests/publish-corpus.py .build/release/newswire FOLDER

FOLDER holds the documents, and `expected.jsonl` with an object for each: `file` (its path in FOLDER), `kind`, and optionally `content_type` and
`content_encoding`. Every document of kind `feed` is served from loopback and has a feed list of its own. `publish --announce-existing all --cap none`
must announce as many entries of each document as it holds distinct ones, and a second pass with `--force` none. The
distinct ones are counted here, by the rules of the order id, link, title and date, from what `newswire feeds check` reads.
Documents that are refused are listed with their reasons. Nothing leaves the machine.
"""
import collections, http.server, json, os, re, shutil, sqlite3, subprocess, sys, tempfile, threading, time, urllib.request

# Entries that may share an id or a link before the next rule decides.
SHARED = 3
# A publisher's folder holds at most 256 lists.
LISTS = 250


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
    """How many entries can be told apart, by the best rule that does.

    An identifier that stands on every entry, or on many, tells nothing. The link of the feed itself is none of an entry.
    """

    def key(entry, first):
        if first <= 0 and entry.get("id"):
            return "id", entry["id"]
        if first <= 1 and entry.get("link"):
            return "link", entry["link"]
        date = entry.get("published") or entry.get("updated")
        if first <= 2 and date:
            return "date", entry.get("title"), date
        if entry.get("title") or entry.get("summary"):
            return "text", entry.get("title"), entry.get("summary")
        return ("id", entry["id"]) if entry.get("id") else None

    for first in range(4):
        keys = [key(entry, first) for entry in entries]
        told = [value for value in keys if value is not None]
        most = max(map(told.count, told), default=1)
        if most <= SHARED and (most == 1 or most < len(keys) or any(entry.get("updated") for entry in entries)):
            break
    return len(set(told))


def is_silent(alert):
    """Whether an alert is a test, not for the public, or over: such an entry is recorded and not announced."""
    if not alert:
        return False
    ends = [info["expires"] for info in alert.get("info", []) if info.get("expires")]
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return alert.get("status") != "Actual" or alert.get("scope") != "Public" or (bool(ends) and max(ends) <= now)


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
            if found := re.search(r"address=127.0.0.1:(\d+)", line):
                port = int(found[1])
                break
        else:
            sys.exit("the hub does not start")
        threading.Thread(target=hub.stderr.read, daemon=True).start()
        for number, record in enumerate(records):
            Site.documents[f"/{number}"] = (record, f"{corpus}/{record['file']}")
        tally = collections.Counter()
        for start in range(0, len(records), LISTS):
            check(program, environment, folder, start, records[start : start + LISTS], port, site.server_port, tally)
        print(", ".join(f"{count} {name}" for name, count in tally.items()))
    finally:
        hub.terminate()
        hub.wait()
        site.shutdown()
        shutil.rmtree(folder)
    sys.exit(1 if tally["wrong"] else 0)


def check(program, environment, folder, start, records, port, site, tally):
    lists, state = f"{folder}/feeds-{start}", f"{folder}/state-{start}"
    os.mkdir(lists)
    for number in range(start, start + len(records)):
        with open(f"{lists}/d{number}.yaml", "w") as file:
            file.write(f"category: D{number}\nfeeds:\n  - url: http://127.0.0.1:{site}/{number}\n    local: true\n")
    publish = [
        program, "publish", "--feeds", lists, "--state", state, "--publisher", f"corpus{start}", "--announce-existing", "all",
        "--cap", "none",
    ]
    before = accepted(port)
    first = subprocess.run(publish, env=environment, capture_output=True, text=True)
    if first.returncode not in (0, 1):
        sys.exit(first.stderr)
    taken = accepted(port) - before
    database = sqlite3.connect(f"file:{state}/publisher.sqlite?mode=ro", uri=True)
    announced = dict(database.execute("SELECT category, count(*) FROM outbox WHERE NOT isDigest GROUP BY category"))
    listed = subprocess.run(
        [program, "feeds", "list", "--json", "--feeds", lists, "--state", state],
        env=environment, capture_output=True, text=True, check=True,
    )
    health = {feed["category"]: feed for feed in json.loads(listed.stdout)}
    with open(f"{folder}/batch", "w") as batch:
        for number, record in enumerate(records, start):
            path = Site.documents[f"/{number}"][1]
            url = f"http://127.0.0.1:{site}/{number}"
            batch.write(json.dumps({"file": path, "url": url, "content_type": record.get("content_type")}) + "\n")
    read = subprocess.run(
        [program, "feeds", "check", "--json", "--batch", f"{folder}/batch"], env=environment, capture_output=True, text=True
    )
    understood = [json.loads(line) for line in read.stdout.splitlines()]
    if len(understood) != len(records):
        sys.exit(read.stderr)

    for number, (record, document) in enumerate(zip(records, understood), start):
        feed = health[f"D{number}"]
        found = announced.get(f"D{number}", 0)
        tally["documents"] += 1
        if feed.get("lastSuccess") is None:
            tally["refused"] += 1
            print(f"refused: {record['file']}: {feed.get('trouble') or feed['state']}")
            if found == 0:
                continue
        entries = document.get("entries", [])
        for entry in entries:
            if entry.get("link") == document.get("link"):
                entry["link"] = None
        heard = [entry for entry in entries if not is_silent(entry.get("cap"))]
        tally["alerts that are tests or have expired"] += len(entries) - len(heard)
        expected = distinct(heard)
        tally["distinct entries"] += expected
        tally["announced"] += found
        if found != expected:
            tally["wrong"] += 1
            print(f"{record['file']}: {found} announced, {expected} distinct of {len(entries)}")
    if taken != sum(announced.values()):
        tally["wrong"] += 1
        print(f"{sum(announced.values())} announced, but the hub took {taken}")
    before = accepted(port)
    subprocess.run(publish + ["--force"], env=environment, capture_output=True, text=True)
    if again := accepted(port) - before:
        tally["wrong"] += 1
        print(f"a second pass announced {again}")


if __name__ == "__main__":
    main()
