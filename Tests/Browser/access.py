"""Who gets in, and what other sites cannot do."""

import http.server
import threading

from cases import case, check, equal, eventually, follow, live, titles, wait_titles
from looks import NARROW, PHONE, accessible


@case("an invitation lets one browser in, once", "--pages", "invited")
def invitation(t):
    t.hub.send("For the invited")
    t.expect_error("401|403|Failed to load resource")
    tab = t.open()
    check("You need an invitation" in tab.js("document.querySelector('h1').textContent"))
    check("For the invited" not in tab.js("document.body.textContent"))
    t.shot(tab, "uninvited")
    # As it is printed: over TLS, with the certificate of the hub's own authority.
    link = t.hub.invite()
    tab = t.open(link)
    check("You are invited" in tab.js("document.querySelector('h1').textContent"))
    t.shot(tab, "invitation")
    tab.js("window.isBeforeTheForm = true")
    tab.click("main form button")
    tab.wait("!window.isBeforeTheForm && document.getElementById('choice')")
    # An empty choice is not a choice: the news of all categories, also live.
    equal(titles(tab), ["For the invited"])
    live(tab)
    t.hub.send("Before any choice", "Sports")
    wait_titles(tab, ["Before any choice", "For the invited"])
    t.shot(tab, "invited-no-choice")
    t.subscribe(tab, "World")
    live(tab)
    equal(titles(tab), ["For the invited"])
    other = t.open(link, visitor=t.somebody_else())
    other.js("window.isBeforeTheForm = true")
    other.click("main form button")
    other.wait("!window.isBeforeTheForm && document.readyState === 'complete'")
    check("cannot be used" in other.js("document.querySelector('h1').textContent"))
    t.shot(other, "invitation-used")
    status, _, text = t.hub.get("/-/news/events")
    equal((status, text), (401, ""))


@case("the server's name alone leads readers to their pages", "--pages", "invited")
def front(t):
    tab = t.open(t.hub.origin + "/")
    equal(tab.js("document.querySelector('h1').textContent"), "This is a notification hub")
    check("news" not in tab.js("document.documentElement.outerHTML").replace("newswire", ""))
    accessible(t, tab)
    t.shot(tab, "front")
    tab.resize(PHONE)
    check(tab.js(NARROW))
    t.shot(tab, "front-320")
    secure = t.hub.invite()
    tab = t.open(secure)
    tab.js("window.isBeforeTheForm = true")
    tab.click("main form button")
    tab.wait("!window.isBeforeTheForm && document.getElementById('choice')")
    tab.go(secure.split("/-/")[0] + "/")
    equal(tab.js("location.pathname"), "/-/news/")


@case("a page explains how to trust the hub's own authority", "--pages", "invited")
def certificate(t):
    t.expect_error("401|Failed to load resource")
    tab = t.open()
    tab.click("footer a")
    tab.wait("document.querySelector('h1')?.textContent.startsWith('Trust this hub')")
    printed = t.hub.command("hub", "certificate", "--state", t.hub.state)
    check(tab.js("document.querySelector('.fingerprint').textContent").split()[1] in printed)
    accessible(t, tab)
    t.shot(tab, "certificate")
    tab.resize(PHONE)
    check(tab.js(NARROW))
    t.shot(tab, "certificate-320")
    status, headers, text = t.hub.get(tab.js("document.querySelector('a[download]').getAttribute('href')"))
    equal((status, headers["Content-Type"]), (200, "application/x-x509-ca-cert"))
    equal(text.strip(), t.hub.command("hub", "certificate", "--pem", "--state", t.hub.state))


@case("an invited reader creates an address for a feed reader, and ends it", "--pages", "invited")
def feeds(t):
    t.hub.send("In the feed")
    tab = t.open(t.hub.invite())
    tab.js("window.isBeforeTheForm = true")
    tab.click("main form button")
    tab.wait("!window.isBeforeTheForm && document.getElementById('choice')")
    equal(tab.js("document.querySelectorAll('link[rel=alternate]').length"), 0)
    follow(tab, "footer a[href$='/feeds']")
    accessible(t, tab)
    t.shot(tab, "feeds")
    follow(tab, "form[action$='/feeds'] button")
    accessible(t, tab)
    t.shot(tab, "feeds-new")
    address = tab.js("document.querySelector('.facts a').href")
    path = "/-/" + address.split("/-/")[1]
    status, _, text = t.hub.get(path)
    check(status == 200 and "In the feed" in text, text)
    tab.resize(PHONE)
    check(tab.js(NARROW), "the page scrolls sideways at 320 px")
    t.shot(tab, "feeds-new-320")
    follow(tab, "form[action$='/feeds/end'] button")
    check("token=" not in tab.js("document.documentElement.outerHTML"))
    equal(t.hub.get(path)[0], 404)
    # The operator's own.
    printed = t.hub.invite("--feed")
    equal(t.hub.get("/-/" + printed.split("/-/")[1])[0], 200)
    listed = t.hub.invite("--list")
    check(listed.startswith("feed-") and "token" not in listed, listed)
    t.hub.invite("--end", listed.split()[0])
    equal(t.hub.get("/-/" + printed.split("/-/")[1])[0], 404)


@case("a forged cookie is a first visit", "--pages", "public")
def forged(t):
    tab = t.reader("World")
    name = "__Host-newswire-news"
    whole = next(cookie["value"]["value"] for cookie in tab.cookies() if cookie["name"] == name)
    # What follows is the position, which decides only about marks of new messages.
    value = whole.split("~")[0]
    tab.close()
    forgeries = [value.split(".")[0] + "." + "A" * 32, "A" * 32 + "." + value.split(".")[1], "x", "", "." * 3, value + "A"]
    for forgery in forgeries:
        status, _, text = t.hub.get("/-/news/", Cookie=f"{name}={forgery}")
        check(status == 200 and "data-events" not in text, forgery)
        equal(t.hub.get("/-/news/session", Cookie=f"{name}={forgery}")[0], 401)
        equal(t.hub.get("/-/news/events", Cookie=f"{name}={forgery}")[0], 401)
    for kept in [whole, value, value + "~", value + "~x-9", whole + "A"]:
        equal(t.hub.get("/-/news/session", Cookie=f"{name}={kept}")[0], 204)
    tab = t.open()
    # Otherwise the stream may be opened with the forged cookie, which Firefox writes to its console.
    live(tab)
    tab.set_cookie_text(name, forgeries[0])
    tab.reload()
    check(not tab.js("document.getElementById('news').dataset.events"))
    equal(tab.js("document.querySelectorAll('[name=category]:checked').length"), 0)


class OtherSite(http.server.ThreadingHTTPServer):
    """A page of somebody else's, which sends a form to the hub or frames it."""

    daemon_threads = True

    def __init__(self, markup):
        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *arguments):
                pass

            def do_GET(self):
                body = ("<!doctype html><title>other</title>" + markup).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        super().__init__(("127.0.0.1", 0), Handler)
        # A browser that goes elsewhere ends its connections.
        self.handle_error = lambda *arguments: None
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __enter__(self):
        # Another name for this machine is another site.
        self.url = f"http://localhost:{self.server_address[1]}/"
        return self

    def __exit__(self, *arguments):
        self.shutdown()
        self.server_close()


@case("a form of another site changes nothing")
def cross_site(t):
    t.expect_error("403|Failed to load resource")
    tab = t.reader("World")
    for path in ("categories", "leave"):
        markup = (
            f"<form method=post action='{t.hub.home}{path}'><input name=category value=Sports></form>"
            "<script>onload = () => setTimeout(() => document.forms[0].submit())</script>"
        )
        with OtherSite(markup) as site:
            other = t.open(site.url)
            other.wait("document.querySelector('h1')?.textContent === 'This form came from another site'")
            equal(other.js("location.origin"), t.hub.origin)
    t.shot(other, "cross-site")
    tab.reload()
    equal(tab.js("[...document.querySelectorAll('[name=category]:checked')].map((i) => i.value)"), ["World"])
    for headers in ({"Origin": "http://evil.example"}, {"Sec_Fetch_Site": "same-site"}, {}):
        equal(t.hub.get("/-/news/categories", "POST", "category=World", **headers)[0], 403)


@case("no other site can frame a page, or read one")
def framing(t):
    t.expect_error("frame|X-Frame|Content.Security.Policy|Cross-Origin|CORS|Failed to load|policy violated|Refused|blocked")
    t.reader("World")
    with OtherSite(f"<iframe id=frame src='{t.hub.home}'></iframe>") as site:
        tab = t.open(site.url)
        tab.wait("document.readyState === 'complete'")
        contexts = tab.browser.call("browsingContext.getTree", root=tab.context)["contexts"][0]["children"]
        equal(len(contexts), 1)
        inner = tab.browser.call(
            "script.evaluate", expression="document.body?.textContent ?? ''", awaitPromise=False,
            target={"context": contexts[0]["context"]},
        )
        check("Categories" not in str(inner), inner)
        read = "fetch(%r, {credentials: 'include'}).then((r) => r.text(), () => 'refused')"
        for path in ("", "session", "events"):
            equal(tab.js(read % (t.hub.home + path)), "refused")
    _, headers, _ = t.hub.get("/-/news/")
    check("frame-ancestors 'none'" in headers["Content-Security-Policy"])


@case("leaving ends the session and its stream")
def leave(t):
    tab = t.reader("World")
    equal(len(t.hub.sessions()), 1)
    # No page has the button yet; the form is what one would send.
    tab.js(
        "document.body.append(Object.assign(document.createElement('form'), {method: 'post', action: 'leave'})), "
        "document.forms[document.forms.length - 1].requestSubmit()"
    )
    eventually(t.hub.sessions, [])
    eventually(t.hub.streams, 0)
    tab.wait("document.readyState === 'complete' && !document.getElementById('news').dataset.events")
    equal(tab.cookies(), [])
