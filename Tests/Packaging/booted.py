#!/usr/bin/env python3
"""Boots a minimal system with systemd, and runs the Debian package's services in it as an operator would.

    Tests/Packaging/booted.py PACKAGE.deb [--distribution bookworm]

mmdebstrap makes the system, of this machine's distribution unless another is named, and systemd-nspawn boots it without a network; MIRROR and KEYRING are
those of packaging/deb/build-in. Prints each step; skipped with a notice where tools or root are missing, and where systemd cannot be booted.
"""

import contextlib
import os
import pathlib
import pty
import re
import select
import shlex
import subprocess
import tempfile
import time

from machine import COMMAND_SECONDS, INSTALL_SECONDS, WAIT_SECONDS
from machine import System, equal, field_of, make_system, run_as_root, skipped, step, with_version, write_feed, write_settings

TOOLS = {"mmdebstrap": "mmdebstrap", "systemd-nspawn": "systemd-container", "dpkg-deb": "dpkg", "nsenter": "util-linux", "unshare": "util-linux"}
DOCS = pathlib.Path(__file__).resolve().parent.parent.parent / "docs"
PACKAGES = ["systemd", "systemd-sysv", "dbus", "libpam-systemd", "ca-certificates", "curl", "openssl"]
NAME = "news.example.org"
SERVICES = ["newswire-agent@newsdesk.service", "newswire-hub.service", "newswire-publish.timer"]


def wait_until(condition, what, seconds=WAIT_SECONDS):
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.2)
    return value


class Container(System):
    """A system with its own service manager; only inside mount and process namespaces of the test's own."""

    def __init__(self, root):
        super().__init__(root)
        self.process, self.leader = None, None
        self.has_manager = pathlib.Path("/run/systemd/system").exists()
        if not self.has_manager:
            # nspawn leaves folders there.
            pathlib.Path("/run/systemd").mkdir(exist_ok=True)
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run/systemd"], check=True)
        mounts = [line.split() for line in pathlib.Path("/proc/mounts").read_text().splitlines()]
        self.groups = [pathlib.Path(words[1], f"newswire-test-{os.getpid()}") for words in mounts if words[2] == "cgroup2" or "name=systemd" in words[3]]

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

    def entered(self):
        return ["nsenter", "--target", self.leader, "--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd=/"]

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
        self.container, self.titles = container, []

    def configure(self):
        write_settings(self.container)
        self.add("Old entry")
        self.container.command("systemctl", "start", "newswire-publish")
        self.container.command("systemctl", "enable", "--quiet", "--now", "newswire-agent@newsdesk")

    def add(self, title):
        self.titles.append(title)
        write_feed(self.container, self.titles)

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
        return self.container.command("systemctl", "start", "newswire-publish", with_errors=True) == ""

    def inbox(self):
        return self.container.command("newswire", "inbox", "--profile", "newsdesk")


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
    equal(container.command("systemd-analyze", "verify", "--man=no", *units, with_errors=True), "", "systemd's remarks on the units")
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
        assert f"cannot read '{folder}/cert.pem'" in container.command(*setup, status=78, with_errors=True)
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


def run(arguments, folder):
    package, root = arguments.package, folder / "root"
    depends = [re.match(r"[^ ]+", entry.strip()).group() for entry in field_of(package, "Depends").split(",")]
    make_system(root, arguments.distribution, PACKAGES + depends)
    container = Container(root)
    try:
        problem = container.boot()
        if problem:
            skipped(f"systemd cannot be booted here: {problem.strip()}")
        step(container.command("systemctl", "--version").splitlines()[0] + " is booted")
        live(container, package, field_of(package, "Version"), folder)
        step("passed")
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

    container.path("/root/next.deb").write_bytes(with_version(package, f"{version}+next", folder).read_bytes())
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
    # One of the folders is gone.
    left = container.command("find", "/etc/systemd", "/var/lib/newswire", "/usr/lib/systemd", "-name", "*newswire*", "-not", "-name", "backup-*", status=1)
    equal(left, "", "paths after purging")
    step("removed and purged, nothing of it runs")


run_as_root(__doc__, TOOLS, run)
