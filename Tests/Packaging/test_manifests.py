"""The files that start the image: compose, Podman and Kubernetes."""

import configparser
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from test_components import BUILT, run

try:
    import yaml
except ImportError:
    yaml = None
try:
    import kubernetes_validate
except ImportError:
    kubernetes_validate = None

USER = 65532
SETTINGS = set(re.findall(r"`(NEWSWIRE_\w+)`", pathlib.Path("docs/configuration.md").read_text()))
# The keys of podman-systemd.unit(5) that the quadlets use.
QUADLET = {
    "Container": {
        "ContainerName", "Image", "Exec", "Environment", "PublishPort", "Volume", "User", "Group", "ReadOnly", "Tmpfs", "DropCapability",
        "NoNewPrivileges", "HealthCmd", "HealthInterval", "HealthTimeout", "HealthRetries", "HealthStartPeriod", "HealthStartupCmd",
        "HealthStartupInterval", "HealthStartupTimeout", "Notify", "StopTimeout", "Network",
    },
    "Volume": {"VolumeName"},
}  # fmt: skip


def files(pattern):
    return sorted(pathlib.Path("packaging").glob(pattern))


@unittest.skipUnless(yaml, "PyYAML is missing")
class ComposeTests(unittest.TestCase):
    def setUp(self):
        self.compose = yaml.safe_load(pathlib.Path("packaging/compose.yaml").read_text())

    def test_the_schema_of_compose_accepts_the_file(self):
        program = next((name for name in ("docker-compose", "podman-compose") if shutil.which(name)), None)
        if not program:
            self.skipTest("docker-compose is missing")
        with tempfile.TemporaryDirectory() as folder:
            for name in ("compose.yaml", "newswire.yaml"):
                shutil.copy(f"packaging/{name}", folder)
            run(program, "--file", "compose.yaml", "config", cwd=folder)

    def test_services_can_write_nothing_but_their_state(self):
        self.assertEqual(list(self.compose["volumes"]), ["state"])
        for name, service in self.compose["services"].items():
            self.assertTrue(service["read_only"], name)
            self.assertEqual((service["user"], service["cap_drop"]), (f"{USER}:{USER}", ["ALL"]), name)
            writable = [volume for volume in service["volumes"] if not volume.endswith(":ro")]
            self.assertEqual(writable, ["state:/var/lib/newswire"], name)
            self.assertEqual(service["healthcheck"]["test"], ["CMD", "/usr/bin/newswire", "health", name])

    def test_secrets_are_files_that_the_configuration_names(self):
        names = ("hub-key", "hub-connection")
        self.assertEqual(self.compose["secrets"], {name: {"file": f"./secrets/{name}"} for name in names})
        self.assertIn("/run/secrets/hub-key", pathlib.Path("packaging/newswire.yaml").read_text())
        for service in self.compose["services"].values():
            self.assertLessEqual(set(service["environment"]), SETTINGS)

    def test_the_publisher_keeps_its_network_when_the_hub_ends(self):
        """A network namespace that containers share ends with the one that has made it."""
        services = self.compose["services"]
        self.assertFalse([name for name, service in services.items() if "network_mode" in service])
        environment = services["publisher"]["environment"]
        self.assertEqual(environment["NEWSWIRE_CONNECTION_FILE"], "/run/secrets/hub-connection")
        self.assertIn("Endpoint=sb://hub:8787/;", pathlib.Path("docs/container.md").read_text())
        self.assertIn("hub", services["hub"]["environment"]["NEWSWIRE_HUB_HOST_NAMES"].split(","))

    def test_a_stop_during_the_start_is_noticed(self):
        """The kernel ignores signals without a handler for the first process of a container, which Docker's own then is."""
        self.assertEqual({name: service.get("init") for name, service in self.compose["services"].items()}, {"hub": True, "publisher": True})

    def test_the_program_accepts_its_configuration(self):
        if not BUILT.is_file():
            self.skipTest(f"there is no {BUILT}")
        with tempfile.TemporaryDirectory() as folder:
            key = pathlib.Path(folder, "hub-key")
            key.write_text("c2VjcmV0IG9mIHRoZSB0ZXN0LCAzMiBieXRlcyBsb25n")
            key.chmod(0o400)
            text = pathlib.Path("packaging/newswire.yaml").read_text().replace("/run/secrets/hub-key", str(key))
            pathlib.Path(folder, "newswire.yaml").write_text(text)
            command = [BUILT, "check", "hub", "--config", f"{folder}/newswire.yaml"]
            environment = {"NEWSWIRE_HUB_STATE": f"{folder}/state", "HOME": folder}
            result = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


class QuadletTests(unittest.TestCase):
    def test_every_key_is_one_of_podmans(self):
        self.assertEqual([path.name for path in files("quadlet/*")], ["newswire-hub.container", "newswire-publisher.container", "newswire.volume"])
        for path in files("quadlet/*"):
            unit = configparser.RawConfigParser(strict=False)
            unit.optionxform = str
            unit.read(path)
            section = path.suffix[1:].capitalize()
            self.assertLessEqual(set(unit[section]), QUADLET[section], path)
            if section == "Container":
                # Podman runs a health check that is not a list with a shell, which the image does not have.
                for key in {"HealthCmd", "HealthStartupCmd"} & set(unit[section]):
                    self.assertEqual(json.loads(unit[section][key])[:2], ["/usr/bin/newswire", "health"])
                self.assertEqual((unit[section]["User"], unit[section]["ReadOnly"]), (str(USER), "true"))

    def test_systemd_accepts_the_other_sections(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd-analyze is missing")
        with tempfile.TemporaryDirectory() as folder:
            for path in files("quadlet/*.container"):
                # As Podman's generator does: its own section is left out, and the command is added.
                text = re.sub(r"\[Container\].*?(?=\n\[)", "", path.read_text(), flags=re.S)
                text = text.replace("[Service]", "[Service]\nExecStart=/bin/true")
                pathlib.Path(folder, f"{path.stem}.service").write_text(text)
            units = sorted(str(path) for path in pathlib.Path(folder).iterdir())
            result = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *units], capture_output=True, text=True)
            self.assertEqual((result.returncode, result.stderr), (0, ""))


@unittest.skipUnless(yaml and kubernetes_validate, "kubernetes-validate is missing")
class KubernetesTests(unittest.TestCase):
    def setUp(self):
        self.objects = list(yaml.safe_load_all(pathlib.Path("packaging/kubernetes.yaml").read_text()))

    def test_the_schemas_of_kubernetes_accept_the_objects(self):
        for entry in self.objects:
            # Strict: without keys that the schema does not have.
            for version in ("1.30", kubernetes_validate.latest_version()):
                kubernetes_validate.validate(entry, version, strict=True)

    def test_the_pod_meets_the_restricted_standard(self):
        spec = next(entry for entry in self.objects if entry["kind"] == "StatefulSet")["spec"]
        pod = spec["template"]["spec"]
        self.assertEqual(spec["replicas"], 1)
        self.assertTrue(pod["securityContext"]["runAsNonRoot"])
        self.assertEqual((pod["securityContext"]["runAsUser"], pod["securityContext"]["fsGroup"]), (USER, USER))
        for container in pod["containers"]:
            context = container["securityContext"]
            self.assertEqual((context["allowPrivilegeEscalation"], context["readOnlyRootFilesystem"]), (False, True))
            self.assertEqual(context["capabilities"], {"drop": ["ALL"]})
            self.assertLessEqual({entry["name"] for entry in container.get("env", [])}, SETTINGS)
            mounts = {mount["name"] for mount in container["volumeMounts"]}
            volumes = {volume["name"] for volume in pod["volumes"] + [claim["metadata"] for claim in spec["volumeClaimTemplates"]]}
            self.assertLessEqual(mounts, volumes)

    def test_the_configuration_is_that_of_compose(self):
        configuration = next(entry for entry in self.objects if entry["metadata"]["name"] == "newswire" and entry["kind"] == "ConfigMap")
        shared = yaml.safe_load(pathlib.Path("packaging/newswire.yaml").read_text())
        self.assertEqual(yaml.safe_load(configuration["data"]["newswire.yaml"]), shared)
