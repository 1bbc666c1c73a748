"""Notifications while no page is open: Web Push from the hub to the browser's service worker."""

import json
import ssl
import subprocess
import tempfile
import threading
import time
from http.server import ThreadingHTTPServer

import browsers
import desktop
from cases import Try, case, check, equal, eventually, live, scroll_to, titles
from hub import Hub
from push_service import Handler, PushService

STATE = "document.getElementById('notify').dataset.state"
# A worker is active for the page's address. It need not control the page itself: a page that loads while the worker becomes
# active is one that no browser has to hand over, and neither notifications nor the next navigation need it.
WORKER = "navigator.serviceWorker.getRegistration().then((found) => Boolean(found?.active))"
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


@case("a notification comes through the browser's push service, and stops when it is switched off",
      "--push-contact", "ops@example.org")
def web_push(t):
    if t.browser.kind != "firefox":
        return unreachable_service(t)
    with tempfile.TemporaryDirectory(prefix="newswire-push-") as folder:
        service = PushService()
        front = SecureFront(service, folder)
        options = ["--push-origin", service.url, "--push-authorities", front.authority]
        options += ["--push-contact", "ops@example.org"]
        hub = Hub(t.hub.program, folder, *options)
        screen = desktop.Desktop(folder) if desktop.is_here() else None
        # Otherwise Firefox shows notifications in windows of its own, which nobody can click here.
        preferences = [
            *service.preferences, ("alerts.useSystemBackend", screen is not None),
            # Remote control sets it: then every page takes itself for the one in front.
            ("focusmanager.testmode", False),
        ]
        browser = browsers.firefox(preferences, screen.environment if screen else {})
        try:
            deliver(Try(t.case, browser, hub, t.screenshots, t.axe), service, screen)
        finally:
            browser.close()
            if screen:
                screen.close()
            hub.stop()
            front.shutdown()
            service.shutdown()


def deliver(t, service, screen):
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
    another_key(t, tab)
    if screen:
        clicked(t, tab, screen)
    switch(tab, "default")
    eventually(lambda: len(service.channels), 0)
    switch(tab, "on")
    # The hub forgets the subscription even if the browser's service does not answer.
    service.ignores_endings = True
    switch(tab, "default", 40)
    before = len(service.posts)
    tab.reload()
    live(tab)
    tab.wait(f"{STATE} === 'default'")
    t.hub.send("Too late", "Sports")
    eventually(lambda: titles(tab)[0], "Too late")
    equal(len(service.posts), before)
    equal(t.unexpected(), [])


KEY = (
    "navigator.serviceWorker.ready.then((worker) => worker.pushManager.getSubscription())"
    ".then((found) => [...new Uint8Array(found.options.applicationServerKey)].join())"
)


def another_key(t, tab):
    """A browser that has subscribed with an earlier key of the hub subscribes again at its next visit."""
    before = tab.js(KEY)
    t.hub.call("POST", "/browser-key")
    tab.reload()
    tab.wait(f"{STATE} === 'on'", 20)
    check(tab.js(KEY) != before)


def switch(tab, state, seconds=15):
    """Presses the button that switches notifications on and off."""
    scroll_to(tab, "#notify-button")
    tab.click("#notify-button")
    tab.wait(f"{STATE} === '{state}'", seconds)


def clicked(t, tab, screen):
    """A click brings the open page with the news to the front; without one it opens the story, or the hub's page."""
    equal(screen.wait(3), "Final ends in a draw")
    other = t.visitor.open("about:blank")
    other.activate()
    tab.wait("document.visibilityState === 'hidden'")
    screen.click(3)
    tab.wait("document.visibilityState === 'visible'")
    tab.go("about:blank")
    t.hub.send("Nobody is here", "Sports")
    equal(screen.wait(4), "Nobody is here")
    screen.click(4)
    addresses(t, t.hub.home)
    # Another page of the hub is open, and those that the last click opened.
    tab.go(f"{t.hub.home}feeds")
    story = f"{t.hub.home}certificate?story"
    t.hub.send("Somebody is elsewhere", "Sports", link=story)
    equal(screen.wait(5), "Somebody is elsewhere")
    screen.click(5)
    addresses(t, story)
    tab.go(t.hub.home)
    live(tab)
    tab.wait(f"{STATE} === 'on'", 20)


def addresses(t, expected):
    """Waits until a tab has this address."""
    eventually(lambda: expected in [found["url"] for found in t.browser.call("browsingContext.getTree")["contexts"]], True)


def unreachable_service(t):
    """Without its vendor's servers Chromium never answers: the page says so."""
    tab = t.reader("World")
    tab.wait(f"['default', 'denied'].includes({STATE})")
    check(tab.js("document.getElementById('notify-text').textContent").endswith("."))


REGISTERED = "goog:cdp.ServiceWorker.workerRegistrationUpdated"


def registration(tab, seconds=15):
    """The id of the hub's worker in Chromium's debugging protocol."""
    tab.browser.call("session.subscribe", events=[REGISTERED])
    tab.emulate("ServiceWorker.enable")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        # Any answer brings the events that came before it.
        tab.js("1")
        for event in tab.browser.events:
            if event.get("method") != REGISTERED:
                continue
            for found in event["params"]["params"]["registrations"]:
                if found["scopeURL"].endswith("/-/news/") and not found["isDeleted"]:
                    return found["registrationId"]
        time.sleep(0.05)
    raise AssertionError("the debugging protocol knows no worker of the hub")


@case("the worker shows what a push service brings: Chromium's debugging protocol stands in for it")
def delivered(t):
    if t.browser.kind != "chromium":
        return
    origin = t.hub.home.split("/-/")[0]
    t.browser.call(
        "permissions.setPermission", descriptor={"name": "notifications"}, state="granted", origin=origin,
        userContext=t.visitor.context,
    )
    tab = t.reader("World")
    tab.wait(WORKER)
    worker = registration(tab)

    def push(data):
        text = data if isinstance(data, str) else json.dumps(data)
        tab.emulate("ServiceWorker.deliverPushMessage", origin=origin, registrationId=worker, data=text)

    def news(title, body="", tag="", link="", **further):
        push({"web_push": 8030, "notification": {"title": title, "body": body, "tag": tag, "navigate": link}, **further})

    home = f"{origin}/-/news/"
    news("Bridge reopens", "The bridge is open.", "bridge", "https://example.org/bridge", secureId="", status="")
    eventually(lambda: tab.js(SHOWN), [["Bridge reopens", "The bridge is open.", "bridge", "https://example.org/bridge"]])
    # One notification for a story.
    news("Bridge stays closed", tag="bridge", status="correction")
    eventually(lambda: tab.js(SHOWN), [["Correction: Bridge stays closed", "", "bridge", home]])
    # What a feed's title says itself is not said again.
    for title, mark in [("RETRACTED: Bridge reopens", ""), ("Bridge reopens", "Withdrawn: ")]:
        news(title, tag="bridge", status="withdrawn")
        eventually(lambda: tab.js(SHOWN), [[mark + title, "", "bridge", home]])
    news("", secureId="77")
    eventually(lambda: sorted(shown[3] for shown in tab.js(SHOWN)), [home, f"{home}secure/77"])
    # The page of the reader's language comes before the message's.
    news("Pont", "Le pont est ouvert.", "pont", "https://example.org/en", localizedLink="https://example.org/fr")
    eventually(lambda: "https://example.org/fr" in [shown[3] for shown in tab.js(SHOWN)], True)
    # What is not ours is shown as well, since browsers end subscriptions whose pushes show nothing; its links are not followed.
    for odd in ["", "no JSON", "[]", '{"notification":7}', {"notification": {"title": "Odd", "navigate": "javascript:alert(1)"}}]:
        push(odd)
    eventually(lambda: [shown[3] for shown in tab.js(SHOWN) if shown[0] == "Odd"], [home])
    equal(t.unexpected(), [])


TEXT = "document.getElementById('notify-text').textContent"
# What makes a browser one that is in a state, run before the page's own script.
SITUATIONS = {
    "insecure": "() => Object.defineProperty(window, 'isSecureContext', {value: false})",
    "unsupported": "() => { delete window.PushManager; }",
    "homeScreen": "() => { delete window.PushManager; Object.defineProperty(navigator, 'userAgent', {value: 'iPhone'}); }",
    "denied": "() => Object.defineProperty(Notification, 'permission', {value: 'denied'})",
    "default": "() => Object.defineProperty(Notification, 'permission', {value: 'default'})",
    "dismissed": "() => { Notification.requestPermission = async () => 'default'; }",
    "untrusted": "() => { if (window.ServiceWorkerContainer) ServiceWorkerContainer.prototype.register = async () => { throw new DOMException('', 'SecurityError'); }; }",
    "refused": "() => { if (window.ServiceWorkerContainer) ServiceWorkerContainer.prototype.register = async () => { throw new DOMException('', 'SecurityError'); }; }",
    "worker": "() => { if (window.ServiceWorkerContainer) ServiceWorkerContainer.prototype.register = async () => { throw new TypeError('no script'); }; }",
    "noService": "() => { Notification.requestPermission = async () => 'granted';"
    " if (window.PushManager) PushManager.prototype.subscribe = async () => { throw new DOMException('', 'AbortError'); }; }",
    "ended": "() => { Notification.requestPermission = async () => 'granted'; const own = fetch;"
    " window.fetch = (url, ...rest) => url.endsWith('/push') ? Promise.resolve(new Response('', {status: 401})) : own(url, ...rest); }",
    "often": "() => { Notification.requestPermission = async () => 'granted'; const own = fetch;"
    " window.fetch = (url, ...rest) => url.endsWith('/push') ? Promise.resolve(new Response('', {status: 429})) : own(url, ...rest); }",
    "unreachable": "() => { Notification.requestPermission = async () => 'granted'; const own = fetch;"
    " window.fetch = (url, ...rest) => url.endsWith('/push') ? Promise.reject(new TypeError('offline')) : own(url, ...rest); }",
    "failed": "() => { Notification.requestPermission = async () => 'granted'; const own = fetch;"
    " window.fetch = (url, ...rest) => url.endsWith('/push') ? Promise.resolve(new Response('', {status: 503})) : own(url, ...rest); }",
    "timeout": "() => { Notification.requestPermission = async () => 'granted';"
    " if (window.PushManager) PushManager.prototype.subscribe = () => new Promise(() => {}); }",
}
# States that the button leads to.
PRESSED = ["dismissed", "timeout", "noService", "ended", "often", "unreachable", "failed"]
# States in which the button can be pressed.
OPEN = ["default", "worker", *(state for state in PRESSED if state != "ended")]
SAID = {
    "insecure": "https://", "unsupported": "cannot show", "homeScreen": "Add to Home Screen", "denied": "blocks notifications",
    "default": "appears as a notification", "dismissed": "not allowed", "timeout": "does not answer", "untrusted": "does not trust the hub's certificate",
    "refused": "leave private mode", "worker": "reload the page", "noService": "no push service", "ended": "has ended",
    "often": "in a minute", "unreachable": "check your connection", "failed": "tell its operator",
}


@case("each state of notifications has a text of its own", "--push-contact", "ops@example.org", slow=True)
def states(t):
    t.reader("World").close()
    for state, situation in SITUATIONS.items():
        tab = t.visitor.open("about:blank")
        script = t.browser.call("script.addPreloadScript", functionDeclaration=situation, contexts=[tab.context])["script"]
        # The session's cookie counts for both ports of this server's name, whatever the scheme.
        tab.go(t.hub.home.replace("http:", "https:") if state == "untrusted" else t.hub.home)
        if state in PRESSED:
            tab.wait(f"!document.getElementById('notify-button').disabled && {STATE}")
            scroll_to(tab, "#notify-button")
            tab.click("#notify-button")
        # The page waits 15 s for the browser's push service.
        tab.wait(f"{STATE} === '{state}'", 30)
        check(SAID[state] in tab.js(TEXT), tab.js(TEXT))
        equal(tab.js("document.getElementById('notify-button').disabled"), state not in OPEN)
        equal(tab.js("document.getElementById('notify-help').hidden"), state != "untrusted")
        # One sentence for the reader, and nothing of the browser's own words.
        check("Error" not in tab.js(TEXT) and tab.js(TEXT).endswith("."), tab.js(TEXT))
        t.shot(tab, f"notifications-{state}")
        t.browser.call("script.removePreloadScript", script=script)
        tab.close()


@case("a browser that does not trust the hub's certificate says so, and leads to the page on trust",
      "--push-contact", "ops@example.org", slow=True)
def untrusted(t):
    # Firefox takes a worker from a server on this machine for which an exception was made.
    if t.browser.kind != "chromium":
        return
    browser = browsers.chromium(accepts_any_certificate=False)
    try:
        t = Try(t.case, browser, t.hub, t.screenshots, t.axe)
        tab = t.visitor.open("about:blank")
        try:
            tab.go(t.hub.home.replace("http:", "https:"))
        except Exception as error:  # The browser's warning, which the reader passes.
            check("ERR_CERT_AUTHORITY_INVALID" in str(error), error)
        else:
            check(False, "the browser does not warn")
        tab.press(*"thisisunsafe")
        tab.wait("document.getElementById('choice') !== null")
        t.subscribe(tab, "World")
        tab.wait(f"{STATE} === 'untrusted'", 20)
        check(tab.js(TEXT).startswith("This browser does not trust the hub's certificate"), tab.js(TEXT))
        t.shot(tab, "notifications-untrusted-really")
        scroll_to(tab, "#notify-help")
        tab.click("#notify-help")
        tab.wait("document.querySelector('.fingerprint') !== null")
    finally:
        browser.close()


@case("every spelling of the page's address leads to the one where notifications can be switched on", "--push-contact", "ops@example.org")
def spellings(t):
    t.reader("World").close()
    for path in ["/-/news", "/-/NEWS/", "/-/n%65ws"]:
        tab = t.open(t.hub.origin + path)
        equal(tab.js("location.pathname"), "/-/news/")
        tab.wait(WORKER)
        tab.close()


@case("60 KB of cookies of other programs on the host keep no reader out, over HTTP/1.1 and HTTP/2")
def crowded(t):
    tab = t.reader("World")
    tab.js("Array.from({ length: 15 }, (_, i) => (document.cookie = `other${i}=${'x'.repeat(4000)}; path=/`)).length")
    check(tab.js("document.cookie.length") > 60_000, "the browser does not keep these cookies")
    tab.reload()
    live(tab)
    tab.go(t.hub.home.replace("http:", "https:"))
    equal(tab.js("performance.getEntriesByType('navigation')[0].nextHopProtocol"), "h2")
    tab.wait("document.getElementById('choice') !== null")


@case("without a hub that sends to browsers the page says so")
def no_contact(t):
    tab = t.reader("World")
    tab.wait(f"{STATE} === 'unavailable'")
    check("push-contact" in tab.js(TEXT), tab.js(TEXT))
    check(tab.js("document.getElementById('notify-button').disabled"))
    tab.wait(WORKER)
    t.shot(tab, "notifications-unavailable")
    equal(tab.js(f"fetch(document.getElementById('notify').dataset.push).then((reply) => reply.status)"), 404)
    t.expect_error("404|Failed to load resource")


@case("the worker answers nothing but a page that says that the hub is away", slow=True)
def away(t):
    tab = t.reader("World")
    tab.wait(WORKER)
    t.expect_error("can.t establish a connection|connection .* was interrupted|net::ERR_|Failed to load resource|503")
    t.hub.stop()
    tab.reload()
    check("not reachable" in tab.js("document.body.textContent"))
    t.shot(tab, "away")
    t.hub.start()
    tab.reload()
    live(tab)
