#!/usr/bin/env python3
"""Installs, upgrades, removes and purges the Debian package in a chroot, from a signed repository on loopback.

    Tests/Packaging/debian.py PACKAGE.deb [--previous PACKAGE.deb] [--distribution bookworm]

The chroot is made by mmdebstrap, of this machine's distribution unless another is named; MIRROR and KEYRING are those of packaging/deb/build-in. Without
--previous, the upgrade is from the same package with a lower version. Prints each step; skipped with a notice where tools or root are missing.
"""

import functools
import http.server
import os
import pathlib
import re
import shutil
import subprocess
import threading
import time

from machine import INSTALL_SECONDS, LISTS, Machine, equal, field_of, make_system, run_as_root, step, with_version, write_feed, write_settings

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOOLS = {"mmdebstrap": "mmdebstrap", "reprepro": "reprepro", "gpg": "gpg", "gpgv": "gpgv", "dpkg-deb": "dpkg", "unshare": "util-linux", "chroot": "coreutils"}
# The placeholder of docs/installing.md.
PLACEHOLDER = "https://packages.example.org/newswire"
ROLES = ("hub", "backend", "publisher", "agent")


class Repository:
    """A repository on loopback, written by packaging/repository and signed by a key of this test's own."""

    def __init__(self, folder, distribution):
        self.folder, self.distribution = folder, distribution
        self.public = folder / "public"
        self.public.mkdir()
        handler = functools.partial(QuietHandler, directory=self.public)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.environment = os.environ | {"GNUPGHOME": str(folder / "keys"), "REPOSITORY_URL": self.url, "DISTRIBUTIONS": distribution}
        self.environment |= {"PACKAGES": str(folder / "packages"), "REPOSITORY": str(self.public)}
        (folder / "keys").mkdir(mode=0o700)
        self.key = self.make_key("first@example.org")

    def run(self, *command, environment=()):
        done = subprocess.run(command, cwd=ROOT, env=self.environment | dict(environment), capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"{command} ended with {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout

    def make_key(self, name):
        self.run("gpg", "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", "", "--quick-generate-key", f"newswire test <{name}>", "ed25519", "sign", "1d")
        return re.search(r"^fpr:+([0-9A-F]{40}):", self.run("gpg", "--batch", "--with-colons", "--list-secret-keys", name), re.M).group(1)

    def publish(self, package, key=None):
        packages = self.folder / "packages" / self.distribution
        shutil.rmtree(packages, ignore_errors=True)
        packages.mkdir(parents=True)
        shutil.copy(package, packages)
        self.run("packaging/repository", environment={"SIGNING_KEY": key or self.key})

    def verify(self):
        ring = self.folder / "ring.gpg"
        ring.unlink(missing_ok=True)
        self.run("gpg", "--batch", "--dearmor", "--output", str(ring), str(self.public / "newswire.asc"))
        self.run("gpgv", "--quiet", "--keyring", str(ring), str(self.public / f"dists/{self.distribution}/InRelease"))


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


def version_of(package):
    return field_of(package, "Version")


def older(package, version, folder):
    """A copy of a package with a version before `version`, unless it has one."""
    if subprocess.run(["dpkg", "--compare-versions", version_of(package), "lt", version]).returncode == 0:
        return package
    return with_version(package, f"{version}~before", folder)


def documented_installation(url):
    """The commands of docs/installing.md, with the address of the repository."""
    page = (ROOT / "docs/installing.md").read_text()
    block = next(block for block in re.findall(r"```console\n(.*?)```", page, re.S) if PLACEHOLDER in block)
    lines = [line.removeprefix("# ") for line in block.splitlines()]
    assert len(lines) <= 5, f"the installation has {len(lines)} lines"
    return "\n".join(lines).replace(PLACEHOLDER, url).replace("apt install", "apt-get install --yes --no-install-recommends")


def check_installed(machine, version):
    equal(machine.command("dpkg-query", "-W", "-f", "${Version} ${Status}", "newswire"), f"{version} install ok installed", "state of the package")
    # A "c" marks settings, which an operator may change and delete.
    changed = [line for line in machine.command("dpkg", "--verify", "newswire").splitlines() if line.split()[1] != "c"]
    equal(changed, [], "changed files")
    for role in ROLES:
        name, _, _, _, _, home, shell = machine.command("getent", "passwd", f"newswire-{role}").strip().split(":")
        equal((home, shell), (f"/var/lib/newswire/{role}", "/usr/sbin/nologin"), name)
    files = machine.command("dpkg", "-L", "newswire").split("\n")
    files = [file for file in files if file and file != "/." and machine.path(file).exists()]
    loose = machine.command("find", *files, "-maxdepth", "0", "(", "-not", "-user", "root", "-o", "-not", "-type", "l", "-perm", "/022", ")")
    equal(loose, "", "files that others than root own or may write")
    units = {path.name for path in (ROOT / "systemd").glob("newswire*.*") if path.suffix in (".service", ".timer")}
    equal({path.name for path in machine.path("/usr/lib/systemd/system").glob("newswire*")}, units, "system units")
    assert machine.command("newswire", "--version").strip()


def enabled(machine):
    folder = machine.path("/etc/systemd/system")
    return sorted(str(path.relative_to(folder)) for path in folder.glob("*/newswire*") if path.is_symlink())


class Newsroom:
    """What an operator sets up, and what the services store."""

    def __init__(self, machine):
        self.machine, self.titles = machine, []
        self.hub = self.agent = None

    def configure(self):
        with http.server.HTTPServer(("127.0.0.1", 0), QuietHandler) as listener:
            port = listener.server_port
        write_settings(self.machine)
        self.machine.write("/etc/systemd/system/newswire-hub.service.d/override.conf", f"[Service]\nEnvironment=NEWSWIRE_HUB_PORT={port}\n")
        self.machine.command("systemctl.distrib", "--root=/", "enable", "newswire-hub.service", "newswire-publish.timer", "newswire-agent@newsdesk.service")

    def start(self):
        self.hub = self.machine.service("newswire-hub")
        self.agent = self.machine.service("newswire-agent@newsdesk")

    def stop(self):
        self.agent.stop()
        self.hub.stop()

    def send(self, text):
        # Not the shorter commands of root, which earlier versions do not have.
        self.machine.command("newswire", "send", "--connection-file", "/var/lib/newswire/hub/full.connection", "--category", "World", "--message", text)
        self.agent.wait_for(text)

    def publish(self, *titles):
        """A pass over the feed with these entries more; the agent must get each of them, if there was a pass before."""
        is_first = not self.titles
        self.titles += titles
        write_feed(self.machine, self.titles)
        self.machine.service("newswire-publish", "--force").end()
        for title in [] if is_first else titles:
            self.agent.wait_for(title)

    def stored(self):
        """What must outlive an upgrade."""
        keys = self.machine.command("newswire", "hub", "keys")
        users = self.machine.command("newswire", "user", "list")
        inbox = [re.search(r'"message":"([^"]*)"', line).group(1) for line in self.machine.command("newswire", "inbox", "--profile", "newsdesk", "--json").splitlines()]
        return keys, users, inbox


def users_of(machine):
    return [machine.command("getent", "passwd", f"newswire-{role}") for role in ROLES]


def run(arguments, folder):
    package, previous, distribution = arguments.package, arguments.previous, arguments.distribution
    version = version_of(package)
    if shutil.which("lintian"):
        step("lintian finds no error and no warning")
        subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", package], check=True, env=os.environ | {"TMPDIR": str(folder)})
    else:
        step("not checked against Debian's policy: apt-get install lintian")

    repository = Repository(folder, distribution)
    if not previous:
        step("without --previous: the upgrade is from this package itself")
    before = older(previous or package, version, folder)
    repository.publish(before)
    repository.verify()
    root = folder / "root"
    make_system(root, distribution, ["systemd", "curl", "ca-certificates"])
    machine = Machine(root)
    newsroom = Newsroom(machine)
    untouched = machine.named()

    start = time.monotonic()
    machine.shell(documented_installation(repository.url))
    seconds = time.monotonic() - start
    step(f"the commands of docs/installing.md install {version_of(before)} in {seconds:.0f} s")
    assert seconds < INSTALL_SECONDS, f"installing takes {seconds:.0f} s, more than {INSTALL_SECONDS}"
    check_installed(machine, version_of(before))
    equal(machine.command("dpkg", "--verify", "newswire"), "", "changed files")
    assert not machine.path("/var/lib/newswire").exists() and not enabled(machine), "installing has started or enabled something"
    lists = sorted(f"{LISTS}/{path.name}" for path in (ROOT / "feeds").glob("*.yaml"))
    equal(sorted(re.findall(r"^ (\S+) ", machine.command("dpkg-query", "-W", "-f", "${Conffiles}", "newswire"), re.M)), lists, "conffiles")

    step("a newsroom is set up and stores messages, entries, an account and an inbox")
    newsroom.configure()
    newsroom.start()
    newsroom.send("Before the upgrade")
    newsroom.publish("Old entry")
    newsroom.publish("Bridge closed")
    as_hub = ["setpriv", "--reuid", "newswire-hub", "--regid", "newswire-hub", "--init-groups", "newswire"]
    machine.command(*as_hub, "user", "add", "alice", "--state", "/var/lib/newswire/hub", "--password-file", "-", text_in="correct horse battery\n")
    newsroom.stop()
    loose = machine.command("find", "/var/lib/newswire", "-mindepth", "1", "-perm", "/077", "-not", "-path", "/var/lib/newswire/agent", "-not", "-name", "ca.pem")
    equal(loose, "", "state that others may read")
    settings, state, users, links = machine.tree("/etc/newswire", "/etc/systemd/system"), machine.tree("/var/lib/newswire"), users_of(machine), enabled(machine)
    equal(len(links), 3, "enabled units")

    repository.publish(package)
    machine.boot(True)
    machine.asked()
    machine.shell("apt-get update --quiet && apt-get upgrade --yes --quiet")
    step(f"apt upgrades to {version}")
    check_installed(machine, version)
    asked = machine.asked()
    equal([line.split()[1] for line in asked if line.startswith("try-restart ")][:2], ["newswire-hub.service", "newswire-backend.service"], "restarts")
    assert "daemon-reload" in asked and "try-restart newswire-agent@*.service" in asked, asked
    assert not [line for line in asked if line.split()[0] in ("start", "restart", "enable", "stop")], asked
    equal((machine.tree("/etc/newswire", "/etc/systemd/system"), machine.tree("/var/lib/newswire")), (settings, state), "settings and state after an upgrade")
    equal((users_of(machine), enabled(machine)), (users, links), "users and enabled units after an upgrade")

    newsroom.start()
    keys, accounts, inbox = newsroom.stored()
    assert "alice" in accounts and len(inbox) == 2, (accounts, inbox)
    newsroom.send("After the upgrade")
    newsroom.publish("Bridge open")
    newsroom.stop()
    step("the new version serves what the former has stored, and announces no entry twice")
    settings, state = machine.tree("/etc/newswire"), machine.tree("/var/lib/newswire")

    machine.command("apt-get", "remove", "--yes", "--quiet", "newswire")
    step("apt removes it")
    assert any(line.startswith("stop ") for line in machine.asked()), "removing does not stop the services"
    assert not machine.path("/usr/bin/newswire").exists() and not machine.path("/usr/lib/systemd/system/newswire-hub.service").exists()
    equal(enabled(machine), [], "enabled units after removing")
    equal((machine.tree("/etc/newswire"), machine.tree("/var/lib/newswire"), users_of(machine)), (settings, state, users), "settings, state and users after removing")

    machine.boot(False)
    machine.command("apt-get", "install", "--yes", "--quiet", "--no-install-recommends", "newswire")
    check_installed(machine, version)
    equal((machine.tree("/etc/newswire"), users_of(machine)), (settings, users), "settings and users after installing again")
    newsroom.start()
    equal(newsroom.stored()[:2], (keys, accounts), "keys and accounts after installing again")
    newsroom.send("After installing again")
    newsroom.stop()
    step("installed again, it goes on with the stored state")

    machine.command("apt-get", "purge", "--yes", "--quiet", "newswire")
    own = ["/etc/newswire", "/etc/apt/keyrings/newswire.asc", "/etc/apt/sources.list.d/newswire.sources"]
    equal([path for path in machine.named("/var/cache/apt", "/var/lib/apt", "/run/credentials") if path not in untouched], sorted(own), "paths after purging")
    equal(machine.command("find", "/etc/newswire", "-type", "f").split(), ["/etc/newswire/agent/newsdesk.conf"], "files of the operator's own after purging")
    for role in ROLES:
        machine.command("getent", "passwd", f"newswire-{role}", status=2)
    step("apt purges settings, state and users, and leaves the operator's own files")

    repository.publish(package, key=repository.make_key("second@example.org"))
    machine.command("sh", "-c", "apt-get update --quiet --error-on=any", status=100)
    step("apt refuses a repository that another key has signed")
    step("passed")


run_as_root(__doc__, TOOLS, run, "--previous")
