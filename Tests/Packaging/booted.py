#!/usr/bin/env python3
"""Boots a minimal system with systemd, and runs the Debian package's services in it as an operator would.

    Tests/Packaging/booted.py PACKAGE.deb [--distribution bookworm]

mmdebstrap makes the system, and systemd-nspawn boots it without a network. Prints each step; skipped with a notice where tools or root are missing, and
where systemd cannot be booted.
"""

import argparse
import contextlib
import os
import pathlib
import pty
import re
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

TOOLS = {"mmdebstrap": "mmdebstrap", "systemd-nspawn": "systemd-container", "dpkg-deb": "dpkg", "nsenter": "util-linux", "unshare": "util-linux"}
DOCS = pathlib.Path(__file__).resolve().parent.parent.parent / "docs"
PACKAGES = "systemd,systemd-sysv,dbus,libpam-systemd,ca-certificates,curl,openssl"
NAME = "news.example.org"
INSTALL_SECONDS, WAIT_SECONDS, COMMAND_SECONDS = 60, 60, 300
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SERVICES = ["newswire-agent@newsdesk.service", "newswire-hub.service", "newswire-publish.timer"]
FEED = """<?xml version="1.0"?><rss version="2.0"><channel><title>Town</title><link>https://example.org/</link><description>x</description>
%s</channel></rss>"""


def step(text):
    print(f"booted: {text}", flush=True)


def skipped(reason):
    print(f"booted: skipped, because {reason}")
    sys.exit(0)


def equal(found, expected, what):
    assert found == expected, f"{what}:\n  found    {found}\n  expected {expected}"


def wait_until(condition, what, seconds=WAIT_SECONDS):
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.2)
    return value


class Container:
    """A system with its own service manager; only inside mount and process namespaces of the test's own."""

    def __init__(self, root):
        self.root, self.process, self.leader = pathlib.Path(root), None, None
        self.has_manager = pathlib.Path("/run/systemd/system").exists()
        if not self.has_manager:
            # nspawn leaves folders there.
            pathlib.Path("/run/systemd").mkdir(exist_ok=True)
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run/systemd"], check=True)
        mounts = [line.split() for line in pathlib.Path("/proc/mounts").read_text().splitlines()]
        self.groups = [pathlib.Path(words[1], f"newswire-test-{os.getpid()}") for words in mounts if words[2] == "cgroup2" or "name=systemd" in words[3]]

    def path(self, name):
        return self.root / name.lstrip("/")

    def write(self, name, text, mode=0o644):
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)

    def boot(self):
        """Returns what is wrong if the system does not come up."""
        command = ["systemd-nspawn", "--quiet", f"--directory={self.root}", "--machine=newswire-test", "--register=no", "--private-network", "--boot", "--console=pipe"]
        # systemd needs bpf() for IPAddressDeny=.
        command += ["--capability=CAP_BPF,CAP_PERFMON,CAP_NET_ADMIN", "--system-call-filter=bpf"]
        enter = None
        if not self.has_manager:
            # Nobody else makes a control group for it.
            command.append("--keep-unit")
            for group in self.groups:
                group.mkdir(exist_ok=True)
            enter = lambda: [(group / "cgroup.procs").write_text("0") for group in self.groups]
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT, preexec_fn=enter, env=os.environ | {"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"}
        )
        deadline, own, state = time.monotonic() + WAIT_SECONDS, os.readlink("/proc/self/ns/pid"), ""
        while state not in ("running", "degraded"):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.log.seek(0)
                return f"{state} {self.log.read()[-1000:]}"
            time.sleep(0.2)
            with contextlib.suppress(OSError, AssertionError):
                children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
                leaders = [child for child in children if os.readlink(f"/proc/{child}/ns/pid") != own]
                if leaders:
                    self.leader = leaders[0]
                    state = self.run("systemctl", "is-system-running").stdout.strip()
        return None

    def arguments(self, *command):
        variables = [f"PATH={PATH}", "HOME=/root", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"]
        return ["nsenter", "--target", self.leader, "--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd=/", "env", "-i", *variables, *command]

    def run(self, *command):
        return subprocess.run(self.arguments(*command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=COMMAND_SECONDS)

    def command(self, *command, status=0):
        """What a command of root prints; fails if it ends with another status."""
        done = self.run(*command)
        text = done.stdout + done.stderr
        assert done.returncode == status, f"{shlex.join(command)} ended with {done.returncode}, not {status}:\n{text}"
        return text

    def dialogue(self, answers, *command):
        """What a command prints on a terminal, where each of the answers follows a question."""
        terminal, other = pty.openpty()
        process = subprocess.Popen(self.arguments(*command), stdin=other, stdout=other, stderr=other, start_new_session=True)
        os.close(other)
        text, read, answers, deadline = "", 0, list(answers), time.monotonic() + COMMAND_SECONDS
        try:
            while time.monotonic() < deadline:
                if not select.select([terminal], [], [], 1)[0]:
                    continue
                try:
                    data = os.read(terminal, 65536)
                except OSError:
                    break
                text += data.decode(errors="replace").replace("\r", "")
                if answers and re.search(r"\[[^\]\n]*\] $", text[read:]):
                    read = len(text)
                    os.write(terminal, f"{answers.pop(0)}\n".encode())
            status = process.wait(COMMAND_SECONDS)
        finally:
            process.kill()
            os.close(terminal)
        assert status == 0 and not answers, f"{shlex.join(command)} ended with {status}, {answers} not used:\n{text}"
        return text

    def shut_down(self):
        if self.process and self.process.poll() is None:
            self.run("systemctl", "poweroff")
            try:
                self.process.wait(WAIT_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for group in self.groups:
            for folder in sorted(group.rglob("*"), key=lambda path: -len(path.parts)) + [group]:
                with contextlib.suppress(OSError):
                    folder.rmdir()

    def process_of(self, unit):
        return self.command("systemctl", "show", "--property=MainPID", "--value", unit).strip()

    def active(self):
        lines = self.command("systemctl", "list-units", "--plain", "--no-legend", "--state=active", "newswire*").splitlines()
        return [line.split()[0] for line in lines]

    def journal(self, *arguments):
        return self.command("journalctl", "--no-pager", "--output=cat", *arguments)


class Newsroom:
    def __init__(self, container):
        self.container, self.items = container, ""

    def configure(self):
        for path in self.container.path("/etc/newswire/feeds").glob("*.yaml"):
            path.unlink()
        self.container.write("/etc/newswire/feeds/world.yaml", "category: World\nfeeds:\n  - url: file:///srv/feed.xml\n    local: true\n    every: 1s\n")
        self.container.write("/etc/newswire/agent/newsdesk.conf", "NEWSWIRE_SUBSCRIBE=--categories World\n")
        self.add("Old entry")
        self.container.command("systemctl", "start", "newswire-publish")
        self.container.command("systemctl", "enable", "--quiet", "--now", "newswire-agent@newsdesk")

    def add(self, title):
        self.items = f"<item><title>{title}</title><guid isPermaLink='false'>{title}</guid></item>{self.items}"
        self.container.write("/srv/feed.xml", FEED % self.items)

    def announce(self, title):
        """An entry of the feed, and a message of root's, reach the agent."""
        self.add(title)
        wait_until(lambda: self.passes() and title in self.inbox(), f"'{title}' in the inbox")
        self.container.command("newswire", "send", "--category", "World", "--message", f"{title}, says root")
        wait_until(lambda: f"{title}, says root" in self.inbox(), "a message of root's in the inbox")
        assert "Old entry" not in self.inbox()

    def passes(self):
        """True after a pass, in which the feed may not be due yet."""
        # Not too many starts for the service manager.
        self.container.run("systemctl", "reset-failed", "newswire-publish")
        return self.container.command("systemctl", "start", "newswire-publish") == ""

    def inbox(self):
        return self.container.command("newswire", "inbox", "--profile", "newsdesk")


def copy_with_version(package, version, folder):
    content, copy = folder / "content", folder / "newswire_next.deb"
    subprocess.run(["dpkg-deb", "--raw-extract", package, content], check=True)
    control = content / "DEBIAN/control"
    control.write_text(re.sub(r"^Version: .*", f"Version: {version}", control.read_text(), flags=re.M))
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", content, copy], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(content)
    return copy


def set_up(container):
    container.command("hostnamectl", "hostname", NAME)
    text = container.dialogue(["nonsense name", "", "own", "invited", "all", "none", "yes"], "newswire", "setup")
    equal(len(re.findall(r"\[[^\]\n]*\] ", text)), 7, "questions, one of them twice")
    assert f"https://{NAME}:8787/-/news/\n" in text, text
    equal(container.active(), SERVICES[1:], "active units after 'newswire setup'")
    container.write("/root/ca.pem", container.command("newswire", "hub", "certificate", "--pem"))
    page = ["curl", "--silent", "--show-error", "--cacert", "/root/ca.pem", "--resolve", f"{NAME}:8787:127.0.0.1", "--cookie-jar", "/root/jar", "--cookie", "/root/jar"]
    equal(container.command(*page, f"https://{NAME}:8787/readyz").strip(), "ready", "the hub's answer")
    link = re.search(r"https://\S+/admin/enter\?code=\S+", text).group()
    form = container.command(*page, "--fail", link)
    action, code = (re.search(pattern, form).group(1) for pattern in (r'action="([^"]+)"', r'name="code" value="([^"]+)"'))
    container.command(*page, "--fail", "--header", f"Origin: https://{NAME}:8787", "--data-urlencode", f"code={code}", f"https://{NAME}:8787{action}")
    assert "Overview" in container.command(*page, "--fail", f"https://{NAME}:8787/-/news/admin/")
    step("'newswire setup' on a terminal starts the hub; its address and the operator's link work")
    before = container.process_of("newswire-hub")
    assert "nothing is to be changed" in container.dialogue([""] * 5 + ["no"], "newswire", "setup")
    equal(container.process_of("newswire-hub"), before, "the hub's process after a second setup")
    step("set up again, nothing is changed or restarted")


def check_sandbox(container):
    hub = container.process_of("newswire-hub")
    status = dict(line.split(":\t", 1) for line in container.command("cat", f"/proc/{hub}/status").splitlines())
    equal((status["NoNewPrivs"], status["Seccomp"], status["CapBnd"].strip("0"), status["Umask"]), ("1", "2", "", "0077"), "the hub's restrictions")
    seen = container.command("stat", "--format=%a", f"/proc/{hub}/root/etc/newswire/agent", f"/proc/{hub}/root/home", f"/proc/{hub}/root/root").split()
    equal(seen, ["0", "0", "0"], "modes of what the hub may not see")
    units = sorted(f"/usr/lib/systemd/system/{path.name}" for path in container.path("/usr/lib/systemd/system").glob("newswire*"))
    equal(container.command("systemd-analyze", "verify", "--man=no", *units), "", "systemd's remarks on the units")
    step("the hub runs with the restrictions of its unit")


def refuse_certificate(container):
    """Files in a home, which the unit hides, and in a folder that is closed to the hub's user; their modes let that user read them."""
    options = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}"]
    container.command("install", "-d", "-m", "700", "/srv/closed")
    before = container.process_of("newswire-hub")
    for folder in ("/home", "/srv/closed"):
        container.command("openssl", "req", *options, "-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem")
        container.command("chown", "root:newswire-hub", f"{folder}/key.pem")
        container.command("chmod", "640", f"{folder}/key.pem")
        setup = ["newswire", "setup", "--host-name", NAME, "--no-operator-link", "--certificate", f"{folder}/cert.pem {folder}/key.pem"]
        assert f"cannot read '{folder}/cert.pem'" in container.command(*setup, status=78)
    equal(container.process_of("newswire-hub"), before, "the hub's process")
    step("a certificate that the hub's service cannot read is refused, and the hub goes on")


def back_up(container):
    for kind, text in re.findall(r"```(\w+)\n(.*?)```", (DOCS / "backup.md").read_text(), re.S):
        name = re.search(r"^# (/\S+)$", text, re.M)
        if kind in ("sh", "ini") and name:
            container.write(name.group(1), text)
        elif kind == "console":
            container.command("sh", "-euc", "\n".join(line.removeprefix("# ") for line in text.splitlines()))
    found = container.command("find", "/srv/backup", "-type", "f", "-printf", "%f %m\n")
    equal(sorted(re.sub(r"-\d{4}-\d\d-\d\d", "", found).splitlines()), ["etc.tar 600", "hub.sqlite 600", "keys.tar 600"], "files of the documented backup")
    step("the documented backup runs as a service")


def run(package, distribution, folder):
    field = lambda name: subprocess.run(["dpkg-deb", "--field", package, name], check=True, capture_output=True, text=True).stdout.strip()
    depends = [re.match(r"[^ ]+", entry.strip()).group() for entry in field("Depends").split(",")]
    root = folder / "root"
    step(f"mmdebstrap makes '{distribution}'")
    components = ["--components=main,universe"] if distribution == "noble" else []
    include = ",".join([PACKAGES, *depends])
    subprocess.run(["mmdebstrap", "--quiet", "--mode=root", "--variant=apt", *components, f"--include={include}", distribution, root], check=True, timeout=600)
    container = Container(root)
    try:
        problem = container.boot()
        if problem:
            skipped(f"systemd cannot be booted here: {problem.strip()}")
        step(container.command("systemctl", "--version").splitlines()[0] + " is booted")
        live(container, package, field("Version"), folder)
    finally:
        container.shut_down()


def live(container, package, version, folder):
    container.path("/root/first.deb").write_bytes(package.read_bytes())
    start = time.monotonic()
    container.command("apt-get", "install", "--yes", "--quiet", "/root/first.deb")
    seconds = time.monotonic() - start
    assert seconds < INSTALL_SECONDS, f"installing takes {seconds:.0f} s"
    equal(container.active(), [], "active units after installing")
    equal(container.command("find", "/etc/systemd", "-name", "newswire*"), "", "enabled units after installing")
    step(f"installed in {seconds:.0f} s; no service is started")

    set_up(container)
    check_sandbox(container)
    newsroom = Newsroom(container)
    newsroom.configure()
    newsroom.announce("Bridge closed")
    assert "publisher: last pass" in container.command("newswire", "health")
    step("an entry of a feed and a message reach the agent's service")
    refuse_certificate(container)
    back_up(container)

    before = container.process_of("newswire-hub")
    container.command("sh", "-c", f"kill -9 {before}")
    wait_until(lambda: container.process_of("newswire-hub") not in (before, "0") and container.run("newswire", "health", "hub").returncode == 0, "a new hub")
    newsroom.announce("Bridge open")
    step("a killed hub comes back")

    container.shut_down()
    problem = container.boot()
    assert not problem, problem
    equal(container.active(), SERVICES, "active units after the next boot")
    newsroom.announce("Road closed")
    equal([line for line in container.journal("--boot", "--unit=newswire-*").splitlines() if "error" in line], [], "errors in the journal")
    step("after the next boot everything runs again")

    container.path("/root/next.deb").write_bytes(copy_with_version(package, f"{version}+next", folder).read_bytes())
    before = [container.process_of(unit) for unit in SERVICES[:2]]
    container.command("apt-get", "install", "--yes", "--quiet", "/root/next.deb")
    assert all(container.process_of(unit) not in (process, "0") for unit, process in zip(SERVICES, before)), "an upgrade does not restart the services"
    equal(container.active(), SERVICES, "active units after an upgrade")
    newsroom.announce("Road open")
    assert "Bridge closed" in container.command("newswire", "messages", "list")
    step("an upgrade restarts what runs, with its data")

    container.command("apt-get", "remove", "--yes", "--quiet", "newswire")
    equal((container.active(), container.run("pgrep", "-f", "/usr/bin/newswire").stdout), ([], ""), "what runs after removing")
    container.command("apt-get", "purge", "--yes", "--quiet", "newswire")
    equal(container.command("systemctl", "list-units", "--all", "--plain", "--no-legend", "newswire*"), "", "units after purging")
    left = container.command("find", "/etc/systemd", "/var/lib/newswire", "/usr/lib/systemd", "-name", "*newswire*", "-not", "-name", "backup-*", status=1)
    equal([line for line in left.splitlines() if not line.startswith("find:")], [], "paths after purging")
    step("removed and purged, nothing of it runs")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", type=pathlib.Path)
    parser.add_argument("--distribution")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        run(options.package.resolve(), options.distribution, pathlib.Path(options.inside))
        return
    if os.geteuid() != 0:
        skipped("only root can boot a container")
    missing = [package for tool, package in TOOLS.items() if not shutil.which(tool)]
    if missing:
        skipped(f"tools are missing: apt-get install {' '.join(missing)}")
    if not options.distribution:
        release = dict(line.rstrip().split("=", 1) for line in open("/etc/os-release") if "=" in line)
        options.distribution = release.get("VERSION_CODENAME", "").strip('"') or skipped("this machine's distribution has no codename")
    folder = tempfile.mkdtemp(prefix="newswire-booted.")
    os.chmod(folder, 0o755)
    try:
        # Mounts and processes end with the namespaces; the folder is removed outside of them, and nothing else through a mount.
        namespaces = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc"]
        inside = [sys.executable, __file__, str(options.package), "--distribution", options.distribution, "--inside", folder]
        sys.exit(subprocess.run([*namespaces, *inside]).returncode)
    finally:
        subprocess.run(["rm", "-rf", "--one-file-system", folder], check=True)


main()
