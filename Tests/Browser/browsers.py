"""Firefox and Chromium, driven by WebDriver BiDi: Firefox speaks it itself, Chromium through chromedriver.

Each browser has a profile of its own, and each case a user context of its own, with its own cookies, locks and channels.
"""

import base64
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request

from websocket import WebSocket

START_SECONDS = 60
FIREFOX_PREFERENCES = {
    "app.update.enabled": False,
    "browser.aboutwelcome.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "dom.push.connection.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "remote.prefs.recommended": True,
    "toolkit.telemetry.server": "",
}
CHROMIUM_ARGUMENTS = [
    "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--no-first-run",
]
# Violations of a page's policy reach the log of Firefox alone; this has both browsers report them.
REPORT_VIOLATIONS = """() => document.addEventListener("securitypolicyviolation", (event) =>
    console.error(`policy violated: ${event.violatedDirective} ${event.blockedURI}`))"""


class BrowserError(Exception):
    """What a browser answers to a command that it refuses."""


class Browser:
    """A running browser."""

    def __init__(self, kind, process, folder, socket):
        self.kind, self.process, self.folder, self.socket = kind, process, folder, socket
        self.number = 0
        self.events = []

    def begin(self):
        self.call("session.subscribe", events=["log.entryAdded", "browsingContext.userPromptOpened"])
        self.call("script.addPreloadScript", functionDeclaration=REPORT_VIOLATIONS)

    def call(self, method, /, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            text = self.socket.receive()
            if text is None:
                raise OSError(f"{self.kind} has ended")
            message = json.loads(text)
            if message.get("id") == self.number:
                if message["type"] == "error":
                    raise BrowserError(f"{method}: {message['error']}: {message['message'][:300]}")
                return message["result"]
            self.events.append(message)

    def new_visitor(self):
        """A user context: nobody whom any page knows."""
        return Visitor(self, self.call("browser.createUserContext")["userContext"])

    def errors(self):
        """What pages have logged as errors since the last call."""
        self.call("session.status")
        entries = [event["params"] for event in self.events if event.get("method") == "log.entryAdded"]
        self.events.clear()
        return [entry.get("text") or "?" for entry in entries if entry["level"] == "error"]

    def close(self):
        self.socket.close()
        try:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(10)
        except ProcessLookupError:
            self.process.wait()
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        for _ in range(50):
            shutil.rmtree(self.folder, ignore_errors=True)
            if not os.path.exists(self.folder):
                break
            time.sleep(0.05)


class Visitor:
    """A person with cookies of their own."""

    def __init__(self, browser, context):
        self.browser, self.context = browser, context

    def open(self, url, width=None):
        """Opens a page in a new tab."""
        created = self.browser.call("browsingContext.create", type="tab", userContext=self.context)
        tab = Tab(self.browser, created["context"], self.context)
        if width:
            tab.resize(width)
        tab.go(url)
        return tab

    def leave(self):
        self.browser.call("browser.removeUserContext", userContext=self.context)


class Tab:
    """An open page."""

    def __init__(self, browser, context, user):
        self.browser, self.context, self.user = browser, context, user

    def go(self, url):
        self.browser.call("browsingContext.navigate", context=self.context, url=url, wait="complete")

    def reload(self):
        self.browser.call("browsingContext.reload", context=self.context, wait="complete")

    def activate(self):
        self.browser.call("browsingContext.activate", context=self.context)

    def close(self):
        self.browser.call("browsingContext.close", context=self.context)

    def resize(self, width, height=720):
        viewport = {"width": width, "height": height}
        self.browser.call("browsingContext.setViewport", context=self.context, viewport=viewport)

    def js(self, expression):
        """The value of an expression, in the page."""
        result = self.browser.call(
            "script.evaluate", expression=expression, target={"context": self.context}, awaitPromise=True
        )
        if result["type"] == "exception":
            raise BrowserError(result["exceptionDetails"]["text"])
        return plain(result["result"])

    def wait(self, expression, seconds=15):
        """The value of an expression, as soon as it is true."""
        end = time.monotonic() + seconds
        last = None
        while time.monotonic() < end:
            try:
                last = self.js(expression)
            except BrowserError as error:
                # The page has just been left for another.
                last = str(error)
            else:
                if last:
                    return last
            time.sleep(0.02)
        raise AssertionError(f"not within {seconds} s: {expression} (last: {last!r})")

    def locate(self, selector):
        """References to the elements that a CSS selector names."""
        locator = {"type": "css", "value": selector}
        return self.browser.call("browsingContext.locateNodes", context=self.context, locator=locator)["nodes"]

    def click(self, selector, index=0):
        """A click of the mouse: works without script, too."""
        element = {"sharedId": self.locate(selector)[index]["sharedId"]}
        self.browser.call(
            "input.performActions",
            context=self.context,
            actions=[
                {
                    "type": "pointer",
                    "id": "mouse",
                    "actions": [
                        {"type": "pointerMove", "x": 0, "y": 0, "origin": {"type": "element", "element": element}},
                        {"type": "pointerDown", "button": 0},
                        {"type": "pointerUp", "button": 0},
                    ],
                }
            ],
        )

    def press(self, *keys):
        presses = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.browser.call(
            "input.performActions", context=self.context, actions=[{"type": "key", "id": "keys", "actions": presses}]
        )

    def set_cookie_text(self, name, value):
        """Overwrites the value of a cookie of this page."""
        cookie = next(cookie for cookie in self.cookies() if cookie["name"] == name)
        kept = {key: cookie[key] for key in ("name", "domain", "path", "httpOnly", "secure", "sameSite", "expiry")}
        self.browser.call(
            "storage.setCookie",
            # Not the page's partition, which would have a second cookie of this name.
            partition={"type": "storageKey", "userContext": self.user},
            cookie={**kept, "value": {"type": "string", "value": value}},
        )

    def cookies(self):
        partition = {"type": "context", "context": self.context}
        return self.browser.call("storage.getCookies", partition=partition)["cookies"]

    def screenshot(self, path, origin="document"):
        """Keeps a picture of the whole page, or of what the window shows (`viewport`)."""
        shot = self.browser.call("browsingContext.captureScreenshot", context=self.context, origin=origin)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def emulate(self, method, **parameters):
        """Chromium's own commands."""
        session = self.browser.call("goog:cdp.getSession", context=self.context)["session"]
        return self.browser.call("goog:cdp.sendCommand", method=method, params=parameters, session=session)


def plain(value):
    kind, content = value["type"], value.get("value")
    if kind == "array":
        return [plain(item) for item in content]
    if kind == "object":
        return {name: plain(item) for name, item in content}
    return content


def wait_for(probe, process, log):
    """What `probe` gives, as soon as it gives something; fails when the process ends first."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        found = probe()
        if found:
            return found
        time.sleep(0.02)
    with open(log) as file:
        raise OSError(f"the browser does not start: {file.read()[-500:]}")


def spawn(command, folder, environment={}):
    # Pages show dates in the browser's zone and language: the same ones everywhere.
    environment = {**os.environ, "HOME": folder, "LANG": "en_GB.UTF-8", "TZ": "Europe/Rome", **environment}
    with open(f"{folder}/log", "w") as log:
        return subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, env=environment
        )


def firefox(preferences=(), environment={}):
    folder = tempfile.mkdtemp(prefix="newswire-firefox-")
    with open(f"{folder}/user.js", "w") as file:
        for name, value in {**FIREFOX_PREFERENCES, **dict(preferences)}.items():
            file.write(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n")
    process = spawn(
        ["firefox-esr", "--headless", "--no-remote", "--profile", folder, "--remote-debugging-port", "0", "about:blank"],
        folder, environment,
    )

    def port():
        try:
            with open(f"{folder}/WebDriverBiDiServer.json") as file:
                return json.load(file)["ws_port"]
        except (OSError, ValueError, KeyError):
            return None

    number = wait_for(port, process, f"{folder}/log")
    browser = Browser("firefox", process, folder, WebSocket.connect(number, "/session"))
    browser.call("session.new", capabilities={"alwaysMatch": {"acceptInsecureCerts": True}})
    browser.begin()
    return browser


def chromium(accepts_any_certificate=True):
    folder = tempfile.mkdtemp(prefix="newswire-chromium-")
    process = spawn(["chromedriver", "--port=0"], folder)

    def port():
        with open(f"{folder}/log") as file:
            match = re.search(r"successfully on port (\d+)", file.read())
        return int(match[1]) if match else None

    driver = f"http://127.0.0.1:{wait_for(port, process, f'{folder}/log')}/session"
    options = {"binary": "/usr/bin/chromium", "args": [*CHROMIUM_ARGUMENTS, f"--user-data-dir={folder}/profile"]}
    wanted = {
        "browserName": "chrome", "webSocketUrl": True, "acceptInsecureCerts": accepts_any_certificate,
        "goog:chromeOptions": options,
        "unhandledPromptBehavior": "ignore",
    }
    request = urllib.request.Request(
        driver, json.dumps({"capabilities": {"alwaysMatch": wanted}}).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=START_SECONDS) as reply:
        session = json.load(reply)["value"]["sessionId"]
    number = int(driver.split(":")[2].split("/")[0])
    browser = Browser("chromium", process, folder, WebSocket.connect(number, f"/session/{session}"))
    browser.begin()
    return browser
