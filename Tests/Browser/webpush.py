"""Notifications while no page is open: Web Push from the hub to the browser's service worker."""

import ssl
import subprocess
import tempfile
import threading
from http.server import ThreadingHTTPServer

import browsers
from cases import Try, case, check, equal, eventually, live
from hub import Hub
from push_service import Handler, PushService

STATE = "document.getElementById('notify').dataset.state"
SHOWN = (
    "navigator.serviceWorker.getRegistration('/-/news/').then((r) => r.getNotifications())"
    ".then((all) => all.map((n) => [n.title, n.body, n.tag, n.data.url]))"
)


class SecureFront(ThreadingHTTPServer):
    """The same push service with TLS, since hubs send to https only."""

    daemon_threads = True

    def __init__(self, service, folder):
        super().__init__(("127.0.0.1", 0), Handler)
        self.service, self.authority = service, f"{folder}/push.crt"
        key = f"{folder}/push.key"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", self.authority],
            check=True, capture_output=True,
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.authority, key)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        # Browsers get endpoints of this server.
        service.url = f"https://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __getattr__(self, name):
        """What the handler asks for is the service's."""
        return getattr(self.service, name)


@case("a notification comes through the browser's push service, and stops when it is switched off")
def web_push(t):
    if t.browser.kind != "firefox":
        return unreachable_service(t)
    with tempfile.TemporaryDirectory(prefix="newswire-push-") as folder:
        service = PushService()
        front = SecureFront(service, folder)
        options = ["--push-origin", service.url, "--push-authorities", front.authority]
        options += ["--push-contact", "ops@example.org"]
        hub = Hub(t.hub.program, folder, *options)
        browser = browsers.firefox(service.preferences)
        try:
            deliver(Try(t.case, browser, hub, t.screenshots, t.axe), service)
        finally:
            browser.close()
            hub.stop()
            front.shutdown()
            service.shutdown()


def deliver(t, service):
    tab = t.reader("World")
    tab.wait(f"{STATE} === 'default'")
    tab.click("#notify-button")
    tab.wait(f"{STATE} === 'on'", 20)
    t.shot(tab, "notifications-on")
    t.hub.send("Bridge reopens", "World", "The bridge is open.", link="https://example.org/bridge", story="bridge")
    eventually(lambda: tab.js(SHOWN), [["Bridge reopens", "The bridge is open.", "bridge", "https://example.org/bridge"]])
    t.hub.send("Bridge stays closed", "World", story="bridge", status="correction")
    eventually(lambda: [shown[0] for shown in tab.js(SHOWN)], ["Correction: Bridge stays closed"])
    # The choice is that of both installations.
    t.subscribe(tab, "Sports")
    live(tab)
    tab.wait(f"{STATE} === 'on'", 20)
    before = len(service.posts)
    t.hub.send("Nobody asked", "World")
    t.hub.send("Final ends in a draw", "Sports")
    eventually(lambda: len(tab.js(SHOWN)), 2)
    equal(len(service.posts), before + 1)
    tab.click("#notify-button")
    tab.wait(f"{STATE} === 'default'")
    eventually(lambda: len(service.channels), 0)
    equal(t.unexpected(), [])


def unreachable_service(t):
    """Without its vendor's servers Chromium never answers: the page says so."""
    tab = t.reader("World")
    tab.wait(f"['default', 'denied'].includes({STATE})")
    check(tab.js("document.getElementById('notify-text').textContent").endswith("."))


@case("without a hub that sends to browsers the page says so")
def no_contact(t):
    tab = t.reader("World")
    tab.wait(STATE)
    equal(tab.js(f"fetch(document.getElementById('notify').dataset.push).then((reply) => reply.status)"), 404)
    t.expect_error("404|Failed to load resource")


@case("the worker answers nothing but a page that says that the hub is away", slow=True)
def away(t):
    tab = t.reader("World")
    tab.wait("navigator.serviceWorker.controller !== null")
    t.expect_error("can.t establish a connection|connection .* was interrupted|net::ERR_|Failed to load resource|503")
    t.hub.stop()
    tab.reload()
    check("not reachable" in tab.js("document.body.textContent"))
    t.shot(tab, "away")
    t.hub.start()
    tab.reload()
    live(tab)
