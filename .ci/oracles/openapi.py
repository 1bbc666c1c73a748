"""Calls a hub by docs/openapi.yaml, with Schemathesis. Reads one JSON object on standard input:

    {"url": "http://127.0.0.1:1234/news", "authorization": a token with Manage, "examples": {parameter: value},
     "routes": [{"method": "GET", "address": "/categories", "right": "listen"}, …], the hub's own JSON routes}

Exits with 1 and what is wrong: an operation that is missing, is no route or has another right; a 5xx, or an answer that the description does not
have.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import yaml

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "openapi.yaml"
METHODS = ("get", "put", "post", "patch", "delete")
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
)


def operations(document):
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield f"{method.upper()} {path} needs {item[method]['x-right']}"


question = json.load(sys.stdin)
document = yaml.safe_load(DOCUMENT.read_text())
routes = {f"{route['method']} {route['address']} needs {route['right']}" for route in question["routes"]}
described = set(operations(document))
for missing in sorted(routes - described):
    print(f"{DOCUMENT.name} lacks: {missing}")
for extra in sorted(described - routes):
    print(f"{DOCUMENT.name} has what is no route: {extra}")
if routes != described:
    sys.exit(1)

for name, value in question["examples"].items():
    document["components"]["parameters"][name]["example"] = value
with tempfile.TemporaryDirectory() as folder:
    copy = pathlib.Path(folder) / "openapi.json"
    copy.write_text(json.dumps(document))
    command = [sys.executable, "-m", "schemathesis.cli", "run", str(copy), "--url", question["url"]]
    command += ["--header", f"Authorization: {question['authorization']}", "--checks", ",".join(CHECKS)]
    command += ["--phases", "examples,coverage,fuzzing", "--max-examples", "10", "--generation-deterministic"]
    command += ["--suppress-health-check", "all", "--warnings", "off", "--no-color"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=500)
if done.returncode:
    print(done.stdout, done.stderr)
    sys.exit(1)
