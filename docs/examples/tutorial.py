"""What the scripts in this folder share: arguments, requests, an app's settings, and the emulated push service.

No app needs this file. It stands in for the phone: for its HTTP library, its settings, and the push service that it gets messages from.
"""
import argparse, base64, hashlib, hmac, json, os, ssl, sys, time, urllib.error, urllib.parse, urllib.request

# Seconds until a push must have arrived.
PATIENCE = 60


def expect(is_so, what, found=""):
    """Prints what was checked; ends the script if it is not so."""
    print(f"{'ok' if is_so else 'FAILED'}: {what}")
    if not is_so:
        sys.exit(f"found: {found!r}")


def arguments(description, backend=True):
    """Reads the command line; every script needs the hub's connection string, because it asks the emulator what a device was sent."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connection-file", required=True, help="full.connection in the hub's state directory")
    parser.add_argument("--hub", default="news", help="name of the hub")
    parser.add_argument("--authority", help="the certificate that signed the server's, such as ca.pem, for https://")
    if backend:
        parser.add_argument("--backend", help="the constant BACKEND_ENDPOINT of the app; without it the hub's address")
        parser.add_argument("--user", required=True)
        parser.add_argument("--password-file", required=True)
        parser.add_argument("--to", help="user who is notified; without it the app's own")
    options = parser.parse_args()
    if backend:
        options.backend = options.backend or endpoint(connection(options))
        with open(options.password_file) as file:
            options.password = file.read().rstrip("\n")
        options.to = options.to or options.user
    return options


def connection(options):
    """The parts of the connection string."""
    with open(options.connection_file) as file:
        return dict(part.split("=", 1) for part in file.read().strip().split(";"))


def endpoint(parts):
    """The address of the hub's server: an endpoint with sb:// is called with https://."""
    scheme, _, rest = parts["Endpoint"].rstrip("/").partition("://")
    return f"{'http' if scheme == 'http' else 'https'}://{rest}"


class Refused(Exception):
    """A status with which the app gives up."""

    def __init__(self, reply):
        super().__init__(f"{reply.status} {reply.text}")
        self.status = reply.status


def run(main):
    try:
        main()
    except Refused as error:
        sys.exit(f"FAILED: the server answered {error}")


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def text(self):
        return self.body.decode()


class HTTP:
    """Sends requests; no status is an exception."""

    def __init__(self, authority=None):
        context = ssl.create_default_context(cafile=authority)
        # No proxy of the environment: the server is this machine's or a test's.
        handlers = [urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)]
        self.opener = urllib.request.build_opener(*handlers)

    def send(self, method, url, authorization=None, body=None, content_type=None, headers={}):
        request = urllib.request.Request(url, method=method, data=body, headers=dict(headers))
        if authorization is not None:
            request.add_header("Authorization", authorization)
        # urllib adds a type of its own to a body without one.
        if body is not None:
            request.add_header("Content-Type", content_type or "application/octet-stream")
        try:
            with self.opener.open(request, timeout=120) as reply:
                return Reply(reply.status, reply.headers, reply.read())
        except urllib.error.HTTPError as error:
            return Reply(error.code, error.headers, error.read())
        except urllib.error.URLError as error:
            sys.exit(f"FAILED: cannot reach {url}: {error.reason}")


class Hub:
    """The hub itself, called with a connection string, and with `newswire hub --emulate` its push services."""

    def __init__(self, options, http):
        parts = connection(options)
        self.address = f"{endpoint(parts)}/{options.hub}"
        self.key_name, self.key, self.http = parts["SharedAccessKeyName"], parts["SharedAccessKey"], http

    def token(self):
        resource = urllib.parse.quote(self.address.lower(), safe="").lower()
        expiry = int(time.time()) + 3_600
        digest = hmac.new(self.key.encode(), f"{resource}\n{expiry}".encode(), hashlib.sha256).digest()
        signature = urllib.parse.quote(base64.b64encode(digest).decode(), safe="")
        return f"SharedAccessSignature sr={resource}&sig={signature}&se={expiry}&skn={self.key_name}"

    def send(self, method, path, body=None, content_type=None, headers={}):
        return self.http.send(method, f"{self.address}{path}", self.token(), body, content_type, headers)

    def inbox(self, handle):
        """What the emulated push service was sent for a device, oldest first."""
        reply = self.send("GET", f"/emulator/inbox?handle={urllib.parse.quote(handle, safe='')}")
        if reply.status != 200:
            sys.exit(f"no inbox: {reply.status} {reply.text} (the hub must run with --emulate)")
        return json.loads(reply.body)["deliveries"]

    def next_push(self, handle, seen):
        """Waits for the push that comes after so many."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            deliveries = self.inbox(handle)
            if len(deliveries) > seen:
                return deliveries[seen]
            time.sleep(0.05)
        sys.exit(f"FAILED: no push to {handle} within {PATIENCE} s")


class Settings(dict):
    """What an app keeps between two starts: NSUserDefaults, SharedPreferences, ApplicationData."""


def random_hex(count):
    return os.urandom(count).hex()
