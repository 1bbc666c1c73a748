"""Minimal systems in folders, made by mmdebstrap, for the tests of the Debian package; in a chroot, its services are run as their units say."""

import argparse
import os
import pathlib
import queue
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

INSTALL_SECONDS = 60
WAIT_SECONDS = 60
# A command of apt may have to download; all others take seconds.
COMMAND_SECONDS = 300
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
VARIABLES = [f"PATH={PATH}", "HOME=/root", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"]
# systemd does not run in a chroot: this takes down what the package's scripts ask of it.
RECORDER = """#!/bin/sh
echo "$*" >>/run/systemctl.log
"""
LISTS = "/etc/newswire/feeds"
FEED = """<?xml version="1.0"?><rss version="2.0"><channel><title>Town</title><link>https://example.org/</link><description>x</description>
%s</channel></rss>"""
TEST = pathlib.Path(sys.argv[0]).stem


def step(text):
    print(f"{TEST}: {text}", flush=True)


def skipped(reason):
    step(f"skipped, because {reason}")
    sys.exit(0)


def equal(found, expected, what):
    assert found == expected, f"{what}:\n  found    {found}\n  expected {expected}"


def field_of(package, name):
    return subprocess.run(["dpkg-deb", "--field", package, name], check=True, capture_output=True, text=True).stdout.strip()


def with_version(package, version, folder):
    """A copy of a package with another version."""
    content, copy = folder / "content", folder / f"newswire_{version}.deb"
    subprocess.run(["dpkg-deb", "--raw-extract", package, content], check=True)
    control = content / "DEBIAN/control"
    control.write_text(re.sub(r"^Version: .*", f"Version: {version}", control.read_text(), flags=re.M))
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", content, copy], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(content)
    return copy


def make_system(root, distribution, packages):
    """A minimal system of a distribution, from the mirror $MIRROR with the keys in $KEYRING.

    'minbase' has the packages that every installed system has, as Debian's container images do; 'apt' lacks userdel from Debian 13 on.
    """
    step(f"mmdebstrap makes '{distribution}'")
    options = ["--quiet", "--mode=root", "--variant=minbase", f"--include={','.join(['apt', *packages])}"]
    # libnats is in Ubuntu's universe, and apt is not required there.
    options += ["--components=main,universe"] if distribution == "noble" else []
    keyring, mirror = os.environ.get("KEYRING"), os.environ.get("MIRROR")
    options += [f"--keyring={keyring}"] if keyring else []
    subprocess.run(["mmdebstrap", *options, distribution, root, *([mirror] if mirror else [])], check=True, timeout=600)


def run_as_root(document, tools, run, *options):
    """Calls run(arguments, folder) with the command line and a scratch folder, in mount and process namespaces of its own."""
    parser = argparse.ArgumentParser(description=document, formatter_class=argparse.RawDescriptionHelpFormatter)
    path = lambda name: pathlib.Path(name).resolve()
    parser.add_argument("package", type=path)
    for option in options:
        parser.add_argument(option, type=path)
    parser.add_argument("--distribution")
    parser.add_argument("--inside", type=pathlib.Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        run(arguments, arguments.inside)
        return
    if os.geteuid() != 0:
        skipped("only root can make a system")
    missing = [package for tool, package in tools.items() if not shutil.which(tool)]
    if missing:
        skipped(f"tools are missing: apt-get install {' '.join(missing)}")
    if not arguments.distribution:
        release = dict(line.rstrip().split("=", 1) for line in open("/etc/os-release") if "=" in line)
        arguments.distribution = release.get("VERSION_CODENAME", "").strip('"') or skipped("this machine's distribution has no codename")
    folder = tempfile.mkdtemp(prefix=f"newswire-{TEST}.")
    os.chmod(folder, 0o755)
    try:
        # Mounts and processes end with the namespaces; the folder is removed outside of them, and nothing else through a mount.
        namespaces = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc"]
        inside = [*sys.argv, "--distribution", arguments.distribution, "--inside", folder]
        sys.exit(subprocess.run([*namespaces, sys.executable, *inside]).returncode)
    finally:
        subprocess.run(["rm", "-rf", "--one-file-system", folder], check=True)


def write_settings(system):
    """One list with one feed, and an agent, newsdesk, that shows its category."""
    for file in system.path(LISTS).glob("*.yaml"):
        file.unlink()
    system.write(f"{LISTS}/world.yaml", "category: World\nfeeds:\n  - url: file:///srv/feed.xml\n    local: true\n    every: 1s\n")
    system.write("/etc/newswire/agent/newsdesk.conf", "NEWSWIRE_SUBSCRIBE=--categories World\n")


def write_feed(system, titles):
    items = [f"<item><title>{title}</title><guid isPermaLink='false'>{title}</guid></item>" for title in reversed(titles)]
    system.write("/srv/feed.xml", FEED % "\n".join(items))


class System:
    """A system in a folder, in which a subclass runs commands."""

    def __init__(self, root):
        self.root = pathlib.Path(root)

    def entered(self):
        """The command that runs another one in the system."""
        raise NotImplementedError

    def arguments(self, *command):
        return [*self.entered(), "/usr/bin/env", "-i", *VARIABLES, *command]

    def path(self, name):
        return self.root / name.lstrip("/")

    def write(self, name, text, mode=0o644):
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)

    def run(self, *command, text_in=""):
        return subprocess.run(self.arguments(*command), input=text_in, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=COMMAND_SECONDS)

    def command(self, *command, status=0, text_in="", with_errors=False):
        """The output of a command of root; fails if it ends with another status."""
        done = self.run(*command, text_in=text_in)
        assert done.returncode == status, f"{shlex.join(command)} ended with {done.returncode}, not {status}:\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr if with_errors else done.stdout


class Machine(System):
    """A chroot. Only inside a mount namespace of the test's own: what it mounts is never unmounted."""

    def __init__(self, root):
        super().__init__(root)
        for name in ("dev", "proc"):
            options = ["--rbind", "/dev"] if name == "dev" else ["-t", "proc", "proc"]
            subprocess.run(["mount", *options, self.root / name], check=True)
        # Not in /usr/local/bin, where apt does not look for it.
        self.command("dpkg-divert", "--quiet", "--local", "--rename", "--add", "/usr/bin/systemctl")
        self.write("/usr/bin/systemctl", RECORDER, 0o755)
        self.write("/etc/resolv.conf", pathlib.Path("/etc/resolv.conf").read_text())

    def entered(self):
        return ["chroot", str(self.root)]

    def shell(self, line):
        return self.command("sh", "-euc", line)

    def boot(self, runs):
        """Lets the package's scripts see a running systemd, or none."""
        path = self.path("/run/systemd/system")
        path.mkdir(parents=True, exist_ok=True) if runs else (path.exists() and path.rmdir())

    def asked(self):
        """The arguments that systemctl has got since the last call."""
        log = self.path("/run/systemctl.log")
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return lines

    def named(self, *prunes):
        """Every path with the program's name."""
        pruned = [word for path in ("/proc", "/dev", "/sys", *prunes) for word in ("-path", path, "-prune", "-o")]
        return sorted(self.command("find", "/", *pruned, "-name", "*newswire*", "-print").split())

    def tree(self, *names):
        """Each path below with its kind, mode, owner and content."""
        found = self.command("find", *names, "-printf", "%p %y %m %u:%g %l\n")
        hashes = self.command("find", *names, "-type", "f", "-exec", "sha256sum", "{}", "+")
        return sorted(found.splitlines()) + sorted(hashes.splitlines())

    def service(self, name, *more):
        return Service(self, name, more)


class Service:
    """A process with user, state directory, credential, environment and command of its unit and drop-ins."""

    def __init__(self, machine, name, more):
        template, at, instance = name.partition("@")
        unit = f"{template}@.service" if at else f"{name}.service"
        values = {"Environment": [], "EnvironmentFile": [], "LoadCredential": []}
        for path in [machine.path(f"/usr/lib/systemd/system/{unit}"), *sorted(machine.path(f"/etc/systemd/system/{unit}.d").glob("*.conf"))]:
            for line in path.read_text().splitlines():
                key, equals, value = line.replace("%i", instance).replace("%S", "/var/lib").partition("=")
                if equals and not key.startswith("#"):
                    values[key] = [*values[key], value] if isinstance(values.get(key), list) else value
        user, state = values["User"], values["StateDirectory"]
        directory = machine.path(f"/var/lib/{state}")
        if not directory.exists():
            machine.command("install", "-d", "-m", "755", "/var/lib/newswire")
            machine.command("install", "-d", "-m", "755", str(pathlib.Path("/var/lib", state).parent))
            machine.command("install", "-d", "-m", values["StateDirectoryMode"], "-o", user, "-g", user, f"/var/lib/{state}")
        environment = {"PATH": PATH, "HOME": "/nonexistent", "STATE_DIRECTORY": f"/var/lib/{state}"}
        for file in values["EnvironmentFile"]:
            path = machine.path(file.lstrip("-"))
            values["Environment"] += path.read_text().splitlines() if path.exists() else []
        environment |= dict(line.split("=", 1) for line in values["Environment"])
        for credential in values["LoadCredential"]:
            key, file = credential.split(":", 1)
            environment["CREDENTIALS_DIRECTORY"] = f"/run/credentials/{name}"
            machine.command("install", "-D", "-m", "400", "-o", user, file, f"/run/credentials/{name}/{key}")
            machine.command("chown", user, f"/run/credentials/{name}")
        command = []
        for word in values["ExecStart"].split():
            is_variable = word.startswith("$") and not word.startswith("${")
            command += environment.get(word[1:], "").split() if is_variable else [word.replace("${STATE_DIRECTORY}", environment["STATE_DIRECTORY"])]
        # An abstract name, which is the same inside and outside of the chroot.
        notifications = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notifications.bind("")
        notifications.settimeout(WAIT_SECONDS)
        environment["NOTIFY_SOCKET"] = notifications.getsockname().decode().replace("\0", "@")
        identity = ["--reuid", user, "--regid", user, "--init-groups", "--inh-caps=-all"]
        self.process = subprocess.Popen(
            ["chroot", machine.root, "setpriv", *identity, *command, *more], env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, umask=0o077,
        )
        self.name, self.lines, self.printed = name, queue.Queue(), []
        threading.Thread(target=self._read, daemon=True).start()
        with notifications:
            if values["Type"] == "notify":
                self._wait_until_ready(notifications)

    def _wait_until_ready(self, notifications):
        try:
            while b"READY=1" not in notifications.recv(4096).split(b"\n"):
                pass
        except TimeoutError:
            raise AssertionError(f"{self.name} is not ready: {list(self.lines.queue)}") from None

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def wait_for(self, text):
        """Returns the line with the text, once it is printed."""
        while True:
            try:
                line = self.lines.get(timeout=WAIT_SECONDS)
            except queue.Empty:
                line = None
            if line is None:
                raise AssertionError(f"{self.name} has not printed '{text}':\n{''.join(self.printed)}")
            self.printed.append(line)
            if text in line:
                return line

    def end(self):
        """Waits for a service that ends on its own."""
        assert self.process.wait(WAIT_SECONDS) == 0, f"{self.name} ended with {self.process.returncode}: {list(self.lines.queue)}"

    def stop(self):
        self.process.terminate()
        self.end()
