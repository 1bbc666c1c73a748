"""A minimal system in a folder, with the package's services run as their units say."""

import os
import pathlib
import queue
import shlex
import socket
import subprocess
import threading

# A command of apt may have to download; all others take seconds.
COMMAND_SECONDS = 300
WAIT_SECONDS = 60
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# systemd does not run here: this takes down what the package's scripts ask of it.
RECORDER = """#!/bin/sh
echo "$*" >>/run/systemctl.log
"""


class Machine:
    """Only inside a mount namespace of the test's own: what it mounts is never unmounted."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        for name in ("dev", "proc"):
            options = ["--rbind", "/dev"] if name == "dev" else ["-t", "proc", "proc"]
            subprocess.run(["mount", *options, self.root / name], check=True)
        # Not in /usr/local/bin, where apt does not look for it.
        self.command("dpkg-divert", "--quiet", "--local", "--rename", "--add", "/usr/bin/systemctl")
        self.write("/usr/bin/systemctl", RECORDER, 0o755)
        self.write("/etc/resolv.conf", pathlib.Path("/etc/resolv.conf").read_text())

    def path(self, name):
        return self.root / name.lstrip("/")

    def write(self, name, text, mode=0o644):
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)

    def command(self, *arguments, status=0, text_in=""):
        """What a command of root prints; fails if it ends with another status."""
        done = subprocess.run(
            ["chroot", self.root, *arguments], env={"PATH": PATH, "HOME": "/root", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"},
            input=text_in, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=COMMAND_SECONDS,
        )
        if done.returncode != status:
            raise AssertionError(f"{shlex.join(arguments)} ended with {done.returncode}, not {status}:\n{done.stdout}{done.stderr}")
        return done.stdout

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
