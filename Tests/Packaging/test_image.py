"""The container image: unpacked, and started as its engine would start it, on a read-only root with one writable volume."""

import contextlib
import functools
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tarfile
import tempfile
import threading
import time
import unittest

from test_components import BUILT, LINKED, run

USER = 65532
STATE = "/var/lib/newswire"
# Of a start with migrations on a busy machine, in seconds.
LIMIT = 60
HAS_HEALTH = LINKED.is_file() and "\n  health " in subprocess.run([BUILT, "--help"], capture_output=True, text=True).stdout


def missing(*tools):
    return [tool for tool in tools if not shutil.which(tool)]


def unpack(archive, folder):
    """The files of an OCI archive, by the layers that its manifest names; no tool of containers is needed."""
    layout, root = pathlib.Path(folder) / "layout", pathlib.Path(folder) / "root"
    root.mkdir()
    with tarfile.open(archive) as files:
        files.extractall(layout)
    blob = lambda entry: layout / "blobs" / entry["digest"].replace(":", "/")
    manifest = json.loads(blob(json.loads((layout / "index.json").read_text())["manifests"][0]).read_text())
    for layer in manifest["layers"]:
        run("tar", "--extract", "--gzip", "--file", blob(layer), "--directory", root)
    # Root's umask is not the image's.
    for path in (folder, root):
        os.chmod(path, 0o755)
    return root, json.loads(blob(manifest["config"]).read_text())["config"]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving(folder):
    """Serves files on a free port of this machine."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


class Container:
    """A program of the image on a read-only root, as the image's user if these tests run as root."""

    def __init__(self, image, volume, **environment):
        root, self.configuration = image
        variables = dict(entry.split("=", 1) for entry in self.configuration["Env"]) | {"NEWSWIRE_HUB_PORT": "0"} | environment
        user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"] if os.geteuid() == 0 else []
        self.command = [
            *user, "bwrap", "--ro-bind", root, "/", "--bind", volume, STATE, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--die-with-parent",
            "--clearenv", *(word for name, value in variables.items() for word in ("--setenv", name, value)),
        ]  # fmt: skip
        self.volume = pathlib.Path(volume)

    def bind(self, source, target):
        self.command += ["--ro-bind", source, target]
        return self

    def run(self, *arguments):
        command = [*self.command, *self.configuration["Entrypoint"], *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)

    @contextlib.contextmanager
    def running(self, *arguments):
        """Starts a program, waits until it is ready, and ends it with the image's stop signal."""
        with tempfile.TemporaryFile("w+") as log:
            command = [*self.command, *self.configuration["Entrypoint"], *(arguments or self.configuration["Cmd"])]
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
            text = lambda: (log.seek(0), log.read())[1]
            try:
                deadline = time.monotonic() + LIMIT
                while " is ready" not in text():
                    if process.poll() is not None or time.monotonic() > deadline:
                        raise AssertionError(f"the program did not start: {text()}")
                    time.sleep(0.05)
                yield process
            finally:
                # bwrap itself ends without telling its child.
                children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split() if process.poll() is None else []
                for child in children or [process.pid]:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(child), getattr(signal, self.configuration["StopSignal"]))
                try:
                    self.status = process.wait(LIMIT)
                finally:
                    process.kill()


@unittest.skipUnless(LINKED.is_file(), f"there is no {LINKED}: run 'make build' first")
class ImageTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        os.chmod(cls.folder, 0o755)
        cls.report = run("packaging/image", str(cls.folder / "one"))
        cls.oci, cls.docker = (next((cls.folder / "one").glob(f"*.{kind}.tar")) for kind in ("oci", "docker"))
        cls.image = unpack(cls.oci, cls.folder_named("unpacked"))

    @classmethod
    def folder_named(cls, name):
        path = cls.folder / name
        path.mkdir()
        return path

    def volume(self, mode=0o700, owner=USER):
        path = tempfile.mkdtemp(dir=self.folder)
        os.chmod(path, mode)
        if os.geteuid() == 0:
            os.chown(path, owner, owner)
        return path

    def needs(self, *tools):
        if missing(*tools):
            self.skipTest(f"{' and '.join(missing(*tools))} missing")

    def started(self, *arguments, volume=None, **environment):
        self.needs("bwrap", *(["setpriv"] if os.geteuid() == 0 else []))
        return Container(self.image, volume or self.volume(), **environment)

    def test_two_builds_have_one_digest(self):
        second = run("packaging/image", str(self.folder / "two"))
        self.assertEqual(*(re.findall(r"digest (\S+)", report) for report in (self.report, second)))
        self.assertEqual(self.docker.read_bytes(), next((self.folder / "two").glob("*.docker.tar")).read_bytes())

    def test_other_programs_accept_the_archives(self):
        self.needs("skopeo")
        for archive in (f"oci-archive:{self.oci}", f"docker-archive:{self.docker}"):
            facts = json.loads(run("skopeo", "inspect", archive))
            self.assertEqual(facts["Labels"]["org.opencontainers.image.title"], "newswire")
            configuration = json.loads(run("skopeo", "inspect", "--config", archive))["config"]
            self.assertEqual((configuration["User"], configuration["StopSignal"]), (f"{USER}:{USER}", "SIGTERM"))
        raw = json.loads(run("skopeo", "inspect", "--raw", "--config", f"docker-archive:{self.docker}"))
        self.assertEqual(raw["config"]["Healthcheck"]["Test"], ["CMD", "/usr/bin/newswire", "health"])

    def test_umoci_unpacks_the_same_files(self):
        self.needs("umoci")
        layout = self.folder / "unpacked/layout"
        version = next(iter(json.loads((layout / "index.json").read_text())["manifests"]))["annotations"]["org.opencontainers.image.ref.name"]
        bundle = self.folder / "bundle"
        run("umoci", "unpack", *([] if os.geteuid() == 0 else ["--rootless"]), "--image", f"{layout}:{version}", str(bundle))
        listing = lambda root: sorted(str(path.relative_to(root)) for path in pathlib.Path(root).rglob("*"))
        self.assertEqual(listing(bundle / "rootfs"), listing(self.image[0]))

    def test_an_index_has_an_image_for_each_architecture(self):
        self.needs("skopeo")
        other = self.folder / "arm64.oci.tar"
        run("skopeo", "copy", "--quiet", f"oci-archive:{self.oci}", f"oci:{self.folder}/arm64:0")
        # The same program under another name: what is tested is the index.
        layout = self.folder / "arm64"
        index = json.loads((layout / "index.json").read_text())
        version = re.search(r"newswire-(.+)-\w+\.oci", self.oci.name).group(1)
        index["manifests"][0] |= {"platform": {"architecture": "arm64", "os": "linux"}, "annotations": {"org.opencontainers.image.ref.name": version}}
        (layout / "index.json").write_text(json.dumps(index))
        run("tar", "--create", "--file", str(other), "--directory", str(layout), "blobs", "index.json", "oci-layout")
        target = self.folder / "newswire.oci.tar"
        run("packaging/image", "index", str(target), str(self.oci), str(other))
        platforms = json.loads(run("skopeo", "inspect", "--raw", f"oci-archive:{target}"))["manifests"]
        self.assertEqual([entry["platform"]["architecture"] for entry in platforms], ["amd64", "arm64"])
        for architecture in ("amd64", "arm64"):
            run("skopeo", "--override-arch", architecture, "inspect", f"oci-archive:{target}")
        with self.assertRaises(subprocess.CalledProcessError):
            run("packaging/image", "index", str(target), str(self.oci), str(self.oci))

    def test_the_licences_of_everything_are_in_the_image(self):
        documents = self.image[0] / "usr/share/doc"
        self.assertIn("UNICODE LICENSE V3", (documents / "newswire/THIRD-PARTY-LICENSES").read_text())
        bill = json.loads((documents / "newswire/newswire-image.spdx.json").read_text())
        for package in (path.name for path in (self.image[0] / "var/lib/dpkg/status.d").iterdir()):
            self.assertTrue((documents / package / "copyright").is_file(), package)
            self.assertIn(package, {entry["name"] for entry in bill["packages"]})

    def test_a_hub_starts_and_keeps_its_messages_over_restarts(self):
        container = self.started()
        with container.running():
            sent = container.run("send", "--category", "World", "--message", "The bridge is open")
            self.assertEqual(sent.returncode, 0, sent.stderr)
        self.assertEqual(container.status, 0)
        with container.running():
            self.assertIn("The bridge is open", container.run("messages", "list").stdout)
        # Nothing is written elsewhere, and nobody else can read it.
        self.assertEqual([(path.name, path.stat().st_mode & 0o777) for path in container.volume.iterdir()], [("hub", 0o700)])

    @unittest.skipUnless(HAS_HEALTH, "the program has no command 'health'")
    def test_health_is_asked_for_without_a_shell(self):
        container = self.started()
        with container.running():
            self.assertEqual(container.run("health", "hub").returncode, 0)
        self.assertNotEqual(container.run("health", "hub").returncode, 0)

    def test_the_state_of_the_last_image_is_taken_over(self):
        """PREVIOUS_IMAGE names the OCI archive of the last release."""
        if not os.environ.get("PREVIOUS_IMAGE"):
            self.skipTest("PREVIOUS_IMAGE names no archive of an earlier image")
        self.needs("bwrap")
        volume = self.volume()
        before = Container(unpack(os.environ["PREVIOUS_IMAGE"], self.folder_named("previous")), volume)
        with before.running():
            self.assertEqual(before.run("send", "--category", "World", "--message", "Sent before").returncode, 0)
            keys = before.run("hub", "keys").stdout
        after = self.started(volume=volume)
        with after.running():
            self.assertIn("Sent before", after.run("messages", "list").stdout)
            secrets = lambda text: re.findall(r"SharedAccessKey=(\S+)", text)
            self.assertEqual(secrets(keys), secrets(after.run("hub", "keys").stdout))

    def test_a_volume_of_another_owner_is_an_error_that_names_it(self):
        """Root's volume for the image's user; without root, a volume that its owner may not write."""
        container = self.started(volume=self.volume(mode=0o555, owner=0))
        result = container.run("hub")
        self.assertEqual(result.returncode, 78)
        self.assertRegex(result.stderr, rf"error: cannot create state directory '{STATE}/hub': permission denied")

    def test_hub_and_publisher_of_the_compose_file_work_together(self):
        files = self.folder_named("compose")
        key = files / "hub-key"
        key.write_text("c2VjcmV0IG9mIHRoZSB0ZXN0LCAzMiBieXRlcyBsb25n")
        key.chmod(0o400)
        if os.geteuid() == 0:
            os.chown(key, USER, USER)
        entry = "<item><title>The bridge is open</title><link>https://example.org/1</link><guid>1</guid></item>"
        (files / "feed.rss").write_text(f'<rss version="2.0"><channel><title>Feed</title>{entry}</channel></rss>')
        hub = self.started().bind(files, "/run/secrets").bind("packaging/newswire.yaml", "/etc/newswire/newswire.yaml")
        with serving(files) as port, hub.running("hub"):
            self.assertIn(key.read_text(), hub.run("hub", "keys").stdout)
            (files / "world.yaml").write_text(f"category: World\nfeeds:\n  - url: http://127.0.0.1:{port}/feed.rss\n    local: true\n")
            publisher = self.started(volume=hub.volume).bind(files, "/etc/newswire/feeds")
            announced = publisher.run("publish", "--feeds", "/etc/newswire/feeds", "--announce-existing", "1")
            self.assertEqual(announced.returncode, 0, announced.stderr)
            listed = hub.run("messages", "list")
            self.assertIn("The bridge is open", listed.stdout, f"{announced.stdout}{announced.stderr}{listed.stderr}")

    def test_feeds_in_older_character_sets_are_read(self):
        """The image has the converters of the C library, and not the data of ICU."""
        titles = {"windows-1251": "Пожар", "koi8-r": "Пожар", "iso-8859-2": "Požár", "shift_jis": "火災", "gb18030": "火灾", "euc-kr": "화재"}
        folder = self.folder_named("feeds")
        for name, title in titles.items():
            entry = f"<item><title>{title}</title><link>https://example.org/1</link><guid>{name}</guid></item>"
            text = f'<?xml version="1.0" encoding="{name}"?><rss version="2.0"><channel><title>Feed</title>{entry}</channel></rss>'
            (folder / f"{name}.rss").write_bytes(text.encode(name))
        (folder / "world.yaml").write_text("category: World\nfeeds:\n  - url: https://example.org/feed.rss\n")
        with serving(folder) as port:
            container = self.started().bind(folder, "/etc/newswire/feeds")
            for name, title in titles.items():
                url = f"http://127.0.0.1:{port}/{name}.rss"
                shown = container.run("feeds", "preview", "--feeds", "/etc/newswire/feeds", "--local", url, "--category", "World", "--announce-existing", "1")
                self.assertIn(title, shown.stdout, f"{name}: {shown.stderr}")
