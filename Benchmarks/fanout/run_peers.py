#!/usr/bin/env python3
"""run_peers.py - same fan-out scenarios against several servers, side by side, on loopback.

  python3 run_peers.py                              # all peers, all scenarios
  python3 run_peers.py --peers limit,nchan1 --scenarios A,D --rounds 5
  python3 run_peers.py --own own.json --peers own,limit,nchan1     # our server in the same run

own.json: {"name":"hub","cmd":["/path/hub","--port","9300"],"port":9300,
           "sub_path":"/events?tag=bench","sub_headers":["Authorization: Bearer x"],
           "pub_path":"/publish","pub_headers":["Authorization: Bearer x"],
           "pub_type":"application/json",
           "pub_template":"{\"tags\":[\"bench\"],\"text\":\"@P@\"}",
           optional: "pub_port", "env":{}, "settle":0.5,
           "prepare":["argv"] before each start (say, to empty the state directory), "setup":["argv"] once it listens (say, to
           register the subscribers), "client_args":["--channels","{n}"] for fanout_client; {n} is the number of subscribers.
           With --channels N, a %d in sub_path is the connection's number modulo N: one installation each.}
Programs, configurations and logs go to the bench folder of the system's temporary directory, one folder a peer.
Rounds are interleaved (round 1 of every peer, round 2 ...); the table shows medians.
All measuring happens under flock on bench.lock beside it, taken per round and scenario. Servers are stopped by their own pid.
"""
import argparse, fcntl, json, os, shutil, signal, socket, statistics, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
TMP = os.path.join(tempfile.gettempdir(), "bench")
LOCK = TMP + ".lock"
SCEN = {  # connections, messages, interval_us
    "A": dict(n=1000, m=200, iv=0, text="1,000 subscribers x 200 messages of 512 B, publisher closed loop"),
    "B": dict(n=10000, m=20, iv=0, text="10,000 subscribers x 20 messages of 512 B (memory = scenario C before the first message)"),
    "D": dict(n=100, m=100, iv=50000, text="100 subscribers, one 512 B message per 50 ms, 100 messages"),
    "E": dict(n=10000, m=10, iv=400000, text="10,000 subscribers, one 512 B message per 400 ms, 10 messages (unsaturated: how long until the last one has it)"),
}
TICK = os.sysconf("SC_CLK_TCK"); PAGE = os.sysconf("SC_PAGE_SIZE")


def build():
    os.makedirs(TMP, exist_ok=True)
    for src, extra in (("fanout_client", []), ("publish", [])):
        subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-o", f"{TMP}/{src}", f"{HERE}/{src}.c"] + extra, check=True)
    r = subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-DHAVE_URING", "-o", f"{TMP}/limit_server", f"{HERE}/limit_server.c", "-luring"],
                       stderr=subprocess.PIPE)
    if r.returncode:
        subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-o", f"{TMP}/limit_server", f"{HERE}/limit_server.c"], check=True)


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)
    return path


class Peer:
    """cmd: list of (argv, counted) - counted ones make up the server's CPU and memory."""
    proto = "sse"; pub_proto = "http"; sub_path = "/sub"; pub_path = "/pub"; pub_type = "text/plain"; template = "@P@"
    sub_headers = (); pub_headers = (); env = None; settle = 0.4; client_args = (); prepare = (); setup = ()

    def __init__(self, name, port, cmds, pub_port=None, **kw):
        self.name, self.port, self.cmds, self.pub_port = name, port, cmds, pub_port or port
        self.__dict__.update(kw)


def nginx_conf(workers):
    d = f"{TMP}/nchan{workers}"
    for s in ("body", "proxy", "fcgi", "uwsgi", "scgi"):
        os.makedirs(f"{d}/{s}", exist_ok=True)
    return write(f"{d}/nginx.conf", f"""
load_module /usr/lib/nginx/modules/ngx_nchan_module.so;
worker_processes {workers}; daemon off; user root; pid {d}/nginx.pid; error_log {d}/error.log warn;
worker_rlimit_nofile 20000;
events {{ worker_connections 15000; use epoll; multi_accept on; }}
http {{
  access_log off; keepalive_requests 1000000; keepalive_timeout 300s; tcp_nodelay on;
  client_body_temp_path {d}/body; proxy_temp_path {d}/proxy; fastcgi_temp_path {d}/fcgi; uwsgi_temp_path {d}/uwsgi; scgi_temp_path {d}/scgi;
  client_body_buffer_size 64k;
  nchan_shared_memory_size 256M;
  server {{
    listen 127.0.0.1:{9110 + workers} backlog=4096 {"reuseport" if workers > 1 else ""};
    location = /pub {{ nchan_publisher; nchan_channel_id bench; nchan_message_buffer_length 1000; nchan_message_timeout 5m; }}
    location = /sub {{ nchan_subscriber eventsource; nchan_channel_id bench; nchan_subscriber_first_message newest;
                       nchan_eventsource_ping_interval 0; }}
  }}
}}
""")


def make_peers(which, own):
    P = {}
    L = f"{TMP}/limit_server"
    P["limit"] = lambda: Peer("limit", 9101, [([L, "--port", "9101", "--mode", "direct"], True)])
    P["limit-uring"] = lambda: Peer("limit-uring", 9102, [([L, "--port", "9102", "--mode", "uring"], True)])
    P["limit-coalesce"] = lambda: Peer("limit-coalesce", 9103, [([L, "--port", "9103", "--mode", "coalesce"], True)])
    for w in (1, 2):
        P[f"nchan{w}"] = lambda w=w: Peer(f"nchan{w}", 9110 + w, [(["nginx", "-c", nginx_conf(w), "-e", f"{TMP}/nchan{w}/error.log"], True)])
    P["mosquitto"] = lambda: Peer("mosquitto", 9121, [(["mosquitto", "-c", write(f"{TMP}/mosquitto/m.conf",
        "listener 9121 127.0.0.1\nallow_anonymous true\npersistence false\nuser root\nset_tcp_nodelay true\n"
        "max_queued_messages 0\nmax_connections -1\nlog_dest stderr\nlog_type error\nsys_interval 0\n")], True)],
        proto="mqtt", pub_proto="mqtt", sub_path="bench", pub_path="bench")
    P["nats"] = lambda: Peer("nats", 9131, [(["nats-server", "-c", write(f"{TMP}/nats/n.conf",
        f"host: 127.0.0.1\nport: 9131\nmax_connections: 65536\nwrite_deadline: \"30s\"\nlog_file: \"{TMP}/nats/nats.log\"\n")], True)],
        proto="nats", pub_proto="nats", sub_path="bench", pub_path="bench")
    P["redis"] = lambda: Peer("redis", 9141, [(["redis-server", "--port", "9141", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
        "--maxclients", "15000", "--client-output-buffer-limit", "pubsub 0 0 0", "--tcp-backlog", "4096", "--dir", TMP,
        "--logfile", f"{TMP}/redis.log"], True)], proto="redis", pub_proto="redis", sub_path="bench", pub_path="bench")

    def pushpin():
        d = f"{TMP}/pushpin"
        os.makedirs(f"{d}/run", exist_ok=True); os.makedirs(f"{d}/log", exist_ok=True)
        with open("/usr/share/pushpin/pushpin.conf.condure") as f:
            conf = f.read()
        for a, b in (("rundir=/var/run/pushpin", f"rundir={d}/run"), ("http_port=7999", "http_port=9151"), ("logdir=/var/log/pushpin", f"logdir={d}/log"),
                     ("include={libdir}/internal.conf", f"include={d}/internal.conf"), ("services=condure,pushpin-proxy", "services=condure,zurl,pushpin-proxy"),
                     ("client_maxconn=50000", "client_maxconn=12000"), ("message_rate=2500", "message_rate=1000000"), ("message_hwm=25000", "message_hwm=1000000"),
                     ("log_level=2", "log_level=1"), ("push_in_spec=tcp://127.0.0.1:5560", "push_in_spec=tcp://127.0.0.1:9160"),
                     ("push_in_sub_specs=tcp://127.0.0.1:5562", "push_in_sub_specs=tcp://127.0.0.1:9162"), ("push_in_http_port=5561", "push_in_http_port=9161"),
                     ("command_spec=tcp://127.0.0.1:5563", "command_spec=tcp://127.0.0.1:9163")):
            conf = conf.replace(a, b)
        write(f"{d}/pushpin.conf", conf)
        with open("/usr/lib/pushpin/internal.conf") as f:  # Debian expects a system-wide zurl; ours is started by pushpin's runner
            write(f"{d}/internal.conf", f.read().replace("ipc:///var/run/zurl/", "ipc://{rundir}/{ipc_prefix}"))
        write(f"{d}/routes", "* 127.0.0.1:9159\n")
        return Peer("pushpin", 9151, [([sys.executable, f"{HERE}/grip_origin.py", "9159", "300"], False), (["pushpin", f"--config={d}/pushpin.conf"], True)],
                    pub_port=9161, sub_path="/sub", pub_path="/publish/", pub_type="application/json", settle=1.5, client_args=("--inflight", "32", "--retries", "20"),
                    template='{"items":[{"channel":"bench","formats":{"http-stream":{"content":"data: @P@\\n\\n"}}}]}'.replace("\n", "\\n"))
    P["pushpin"] = pushpin
    if own:
        o = json.load(open(own))
        P[o.get("name", "own")] = lambda: Peer(o.get("name", "own"), o["port"], [(o["cmd"], True)], pub_port=o.get("pub_port"),
            sub_path=o["sub_path"], pub_path=o["pub_path"], sub_headers=o.get("sub_headers", ()), pub_headers=o.get("pub_headers", ()),
            pub_type=o.get("pub_type", "text/plain"), template=o.get("pub_template", "@P@"), env=o.get("env"), settle=o.get("settle", 0.5),
            client_args=o.get("client_args", ()), prepare=o.get("prepare", ()), setup=o.get("setup", ()))
    if which == "all":
        return [P[k]() for k in P]
    return [P[k]() for k in which.split(",")]


def tree(pids):
    out, todo = [], list(pids)
    while todo:
        p = todo.pop()
        try:
            for t in os.listdir(f"/proc/{p}/task"):
                with open(f"/proc/{p}/task/{t}/children") as f:
                    todo += [int(x) for x in f.read().split()]
            out.append(p)
        except OSError:
            pass
    return out


def cpu_s(pids):
    """CPU seconds of the processes, ns resolution (schedstat); process stat as the lower bound (ended threads)."""
    tot = 0.0
    for p in pids:
        try:
            a = 0
            for t in os.listdir(f"/proc/{p}/task"):
                with open(f"/proc/{p}/task/{t}/schedstat") as f:
                    a += int(f.read().split()[0])
            with open(f"/proc/{p}/stat") as f:
                s = f.read().rsplit(")", 1)[1].split()
            b = (int(s[11]) + int(s[12])) / TICK
            tot += max(a / 1e9, b - 0.02)
        except OSError:
            pass
    return tot


def mem_kib(pids):
    rss = pss = 0
    for p in pids:
        try:
            with open(f"/proc/{p}/smaps_rollup") as f:
                for l in f:
                    if l.startswith("Rss:"): rss += int(l.split()[1])
                    if l.startswith("Pss:"): pss += int(l.split()[1])
        except OSError:
            pass
    return rss, pss


def kmem():
    d = {}
    with open("/proc/meminfo") as f:
        for l in f:
            if l.startswith(("Slab:", "SUnreclaim:")): d[l.split(":")[0]] = int(l.split()[1])
    with open("/proc/net/sockstat") as f:
        for l in f:
            if l.startswith("TCP:"):
                w = l.split(); d["tcp_pages"] = int(w[w.index("mem") + 1])
    return d


def sys_cpu():
    with open("/proc/stat") as f:
        v = [int(x) for x in f.readline().split()[1:]]
    return (sum(v[:3]) + v[5] + v[6]) / TICK, v[7] / TICK  # busy, steal


def wait_port(port, timeout):
    end = time.time() + timeout
    while time.time() < end:
        s = socket.socket(); s.settimeout(0.5)
        try:
            s.connect(("127.0.0.1", port)); s.close(); return
        except OSError:
            s.close(); time.sleep(0.05)
    raise RuntimeError(f"port {port} did not open")


def stop(procs):
    for p in procs:
        if p.poll() is None:
            kids = tree([p.pid])
            p.send_signal(signal.SIGTERM)
            try:
                p.wait(8)
            except subprocess.TimeoutExpired:
                for k in kids:
                    try: os.kill(k, signal.SIGKILL)
                    except OSError: pass
                p.wait(5)
            for k in kids:  # children that outlived their parent (ours by construction)
                for _ in range(20):
                    if not os.path.exists(f"/proc/{k}"): break
                    time.sleep(0.05)
                else:
                    try: os.kill(k, signal.SIGKILL)
                    except OSError: pass


def run_once(peer, sc, size):
    S = SCEN[sc]
    log = open(f"{TMP}/{peer.name}.log", "ab")
    procs, counted, client, res = [], [], None, {"peer": peer.name, "scenario": sc, "size": size}
    fill = lambda argv: [a.replace("{n}", str(S["n"])) for a in argv]
    try:
        if peer.prepare: subprocess.run(fill(peer.prepare), stdout=log, stderr=log, check=True, timeout=60)
        for cmd, c in peer.cmds:
            p = subprocess.Popen(cmd, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env={**os.environ, **(peer.env or {})})
            procs.append(p)
            if c: counted.append(p.pid)
        wait_port(peer.port, 10); wait_port(peer.pub_port, 10)
        if peer.setup: subprocess.run(fill(peer.setup), stdout=log, stderr=log, check=True, timeout=300, env={**os.environ, **(peer.env or {})})
        time.sleep(peer.settle)
        T = lambda: tree(counted)
        r0, k0 = mem_kib(T()), kmem()
        argv = [f"{TMP}/fanout_client", "--port", str(peer.port), "--proto", peer.proto, "--connections", str(S["n"]), "--path", peer.sub_path,
                "--expect-messages", str(S["m"]), "--timeout", "90", "--idle-timeout", "8", "--connect-timeout", "60", *fill(peer.client_args)]
        for h in peer.sub_headers: argv += ["--header", h]
        client = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=log, text=True)
        ready = client.stdout.readline().strip()
        res["ready"] = ready
        if not ready.startswith(f"READY {S['n']} of"):
            raise RuntimeError("client: " + ready)
        time.sleep(1.0 if sc in "BE" else 0.3)
        r1, k1 = mem_kib(T()), kmem()
        res.update(rss_base_kib=r0[0], rss_bytes_per_conn=(r1[0] - r0[0]) * 1024 / S["n"], pss_bytes_per_conn=(r1[1] - r0[1]) * 1024 / S["n"],
                   pss_total_kib=r1[1], kernel_slab_bytes_per_pair=(k1["Slab"] - k0["Slab"]) * 1024 / S["n"])
        pub = [f"{TMP}/publish", "--port", str(peer.pub_port), "--proto", peer.pub_proto, "--path", peer.pub_path, "--messages", str(S["m"]), "--size", str(size),
               "--interval-us", str(S["iv"]), "--template", peer.template, "--content-type", peer.pub_type, "--timeout", "80"]
        for h in peer.pub_headers: pub += ["--header", h]
        c0, b0 = cpu_s(T()), sys_cpu()
        pr = subprocess.run(pub, stdout=subprocess.PIPE, stderr=log, text=True, timeout=100)
        rest = client.stdout.read()
        client.wait(10)
        c1, b1 = cpu_s(T()), sys_cpu()
        cl = json.loads(rest[rest.index("{"):]); pj = json.loads(pr.stdout[pr.stdout.index("{"):])
        res.update(cl); res["publisher"] = pj
        srv = c1 - c0
        res.update(server_cpu_s=srv, cpu_us_per_delivery=srv * 1e6 / max(1, cl["unique"]), client_us_per_delivery=cl["client_cpu_s"] * 1e6 / max(1, cl["unique"]),
                   foreign_cpu_s=b1[0] - b0[0] - srv - cl["client_cpu_s"] - pj["cpu_s"], steal_s=b1[1] - b0[1], sends_per_read=cl["unique"] / max(1, cl["reads"]))
    except Exception as e:  # noqa: BLE001 - one failed run must not end the series
        res["error"] = f"{type(e).__name__}: {e}"
    finally:
        if client and client.poll() is None:
            client.kill(); client.wait()
        stop(procs[::-1])
        log.close()
    return res


def med(rows, k):
    v = [r[k] for r in rows if k in r and "error" not in r]
    return statistics.median(v) if v else None


def spread(rows, k):
    v = [r[k] for r in rows if k in r and "error" not in r]
    return (min(v), max(v)) if v else (None, None)


def f(x, p=0):
    return "-" if x is None else f"{x:,.{p}f}"


def table(rows, peers, scens):
    out = []
    for sc in scens:
        out.append(f"\n### {sc}: {SCEN[sc]['text']}\n")
        out.append("| peer | runs | deliveries/s (min-max) | of limit (paired) | p50 us | p99 us | max us | message to last subscriber p50 / max us | cpu-us/delivery (min-max) | x limit (paired) | client us/delivery | msgs per client read | lost | dup |")
        out.append("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
        for p in peers:
            rs = [r for r in rows if r["peer"] == p and r["scenario"] == sc]
            ok = [r for r in rs if "error" not in r]
            if not ok:
                if rs: out.append(f"| {p} | 0/{len(rs)} | failed: {rs[-1].get('error')} |" + " |" * 11)
                continue
            lim = {r["round"]: r for r in rows if r["peer"] == "limit" and r["scenario"] == sc and "error" not in r}
            pair = [(r["deliveries_per_s"] / lim[r["round"]]["deliveries_per_s"], r["cpu_us_per_delivery"] / lim[r["round"]]["cpu_us_per_delivery"]) for r in ok if r["round"] in lim]
            pd, pc = (statistics.median(x) for x in zip(*pair)) if pair else (None, None)
            d, c = med(ok, "deliveries_per_s"), med(ok, "cpu_us_per_delivery")
            ds, cs = spread(ok, "deliveries_per_s"), spread(ok, "cpu_us_per_delivery")
            out.append(f"| {p} | {len(ok)}/{len(rs)} | {f(d)} ({f(ds[0])}-{f(ds[1])}) | {f(pd, 2)} | {f(med(ok, 'lat_p50_us'))} | {f(med(ok, 'lat_p99_us'))} | {f(med(ok, 'lat_max_us'))} "
                       f"| {f(med(ok, 'ttl_p50_us'))} / {f(med(ok, 'ttl_max_us'))} | {f(c, 2)} ({f(cs[0], 2)}-{f(cs[1], 2)}) | {f(pc, 2)} | {f(med(ok, 'client_us_per_delivery'), 2)} | {f(med(ok, 'sends_per_read'), 1)} "
                       f"| {sum(r['missing'] for r in ok)} | {sum(r['duplicates'] for r in ok)} |")
    if "B" in scens:
        out.append("\n### C: memory with 10,000 idle subscribers (measured in B before the first message)\n")
        out.append("| peer | server RSS bytes/conn | server PSS bytes/conn | server PSS total MiB | kernel slab bytes per connection (both ends) | connect time for 10,000, s |")
        out.append("|---|---|---|---|---|---|")
        for p in peers:
            ok = [r for r in rows if r["peer"] == p and r["scenario"] == "B" and "error" not in r]
            if ok:
                out.append(f"| {p} | {f(med(ok, 'rss_bytes_per_conn'))} | {f(med(ok, 'pss_bytes_per_conn'))} | {f(med(ok, 'pss_total_kib') / 1024, 1)} | {f(med(ok, 'kernel_slab_bytes_per_pair'))} | {f(med(ok, 'connect_s'), 2)} |")
    return "\n".join(out)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--peers", default="all"); ap.add_argument("--scenarios", default="A,B,D,E"); ap.add_argument("--rounds", type=int, default=5)
    ap.add_argument("--size", type=int, default=512); ap.add_argument("--own"); ap.add_argument("--out", default=f"{TMP}/results.jsonl")
    ap.add_argument("--from", dest="src", nargs="*", help="no measuring: print the table of earlier result files")
    ap.add_argument("--scale", action="append", default=[], help="e.g. A:n=2000,m=50 (override a scenario)")
    a = ap.parse_args()
    for s in a.scale:
        k, v = s.split(":")
        for kv in v.split(","):
            x, y = kv.split("="); SCEN[k][x] = int(y)
        SCEN[k]["text"] += f" [overridden: {v}]"
    if a.rounds > 50: ap.error("rounds > 50")
    if a.src:
        rows = [json.loads(l) for fn in a.src for l in open(fn)]
        names = list(dict.fromkeys(r["peer"] for r in rows))
        print(table(rows, names, [s for s in SCEN if any(r["scenario"] == s for r in rows)]))
        return
    build()
    peers = make_peers(a.peers, a.own)
    scens = a.scenarios.split(",")
    rows = []
    for rnd in range(a.rounds):
        for sc in scens:
            with open(LOCK, "a") as lk:  # one lock per (round, scenario): peers of a round run back to back
                fcntl.flock(lk, fcntl.LOCK_EX)
                for p in peers:
                    r = run_once(p, sc, a.size)
                    r.update(round=rnd, t=time.strftime("%H:%M:%S"), load1=os.getloadavg()[0])
                    rows.append(r)
                    with open(a.out, "a") as fo:
                        fo.write(json.dumps(r) + "\n")
                    print(f"[{rnd + 1}/{a.rounds}] {sc} {p.name}: " + (r.get("error") or
                          f"{r['deliveries_per_s']:,.0f}/s p50 {r['lat_p50_us']:.0f} p99 {r['lat_p99_us']:.0f} us, {r['cpu_us_per_delivery']:.2f} cpu-us, "
                          f"{r['rss_bytes_per_conn']:.0f} B/conn, missing {r['missing']}, foreign cpu {r['foreign_cpu_s']:.2f} s"), file=sys.stderr, flush=True)
    print(table(rows, [p.name for p in peers], scens))


if __name__ == "__main__":
    main()
