"""Light and dark, phone width, keyboard, accessibility, and what the page links to."""

import json
import xml.etree.ElementTree

from cases import case, check, equal, live, titles, wait_titles
from hub import STANDARD

ENTER, SPACE, TAB = "\ue007", " ", "\ue004"
PHONE = 320
NARROW = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"


def sample(t):
    t.hub.send("Bridge reopens after two years", "World", "Traffic flows again since noon.", link="https://example.org/1")
    t.hub.send("Minister resigns", "Politics", "The reason is not known.", urgency="critical", story="m")
    t.hub.send("Final ends in a draw", "Sports", "Three goals each.", story="final", link="https://example.org/2")
    t.hub.send("Final ends four to three", "Sports", "A late goal.", story="final", status="correction")
    t.hub.send("No earthquake after all", "World", story="quake", status="withdrawn")
    t.hub.send("Una notizia di prova con accenti: città, perché", "World")


def pages(t, name):
    sample(t)
    tab = t.reader("Politics", "Sports", "World")
    check(tab.js(f"{NARROW}"))
    t.shot(tab, f"{name}-desktop")
    tab.resize(PHONE)
    check(tab.js(NARROW), "the page scrolls sideways at 320 px")
    small = tab.js("[...document.querySelectorAll('button, label:has([role=switch])')].filter((e) => e.offsetHeight && e.offsetHeight < 40).length")
    equal(small, 0)
    t.shot(tab, f"{name}-320")
    return tab


@case("light, on a desk and on a phone")
def light(t):
    tab = pages(t, "light")
    equal(tab.js("getComputedStyle(document.documentElement).backgroundColor"), "rgb(246, 246, 243)")


@case("dark, on a desk and on a phone", profile="dark")
def dark(t):
    tab = pages(t, "dark")
    equal(tab.js("getComputedStyle(document.documentElement).backgroundColor"), "rgb(18, 20, 23)")
    accessible(t, tab)


def accessible(t, tab):
    """Nothing that axe finds, in the part of it that needs no opinion."""
    # axe is a script; pages are the same without it.
    if t.axe is None or t.case.profile == "scriptless":
        return
    tab.js(t.axe + "\n;true")
    found = json.loads(
        tab.js("axe.run({resultTypes: ['violations']}).then((r) => JSON.stringify(r.violations.map((v) => "
               "[v.id, v.help, v.nodes.map((n) => n.target.join(' '))])))")
    )
    check(not found, f"axe: {found}")


@case("in German, and in a language from right to left")
def languages(t):
    # Firefox has one choice of languages for all pages.
    if t.browser.kind != "chromium":
        return
    sample(t)
    for language, word, state in [("de", "Abonnieren", "Live"), ("ar-XB", "⟦Subscribe", "⟦Live ~⟧")]:
        # The windows of one browser share a stream, and what it says.
        tab = t.open(visitor=t.somebody_else())
        tab.emulate("Emulation.setUserAgentOverride", userAgent=tab.js("navigator.userAgent"), acceptLanguage=language)
        tab.reload()
        equal(tab.js("document.documentElement.lang"), language)
        check(word in tab.js("document.body.textContent"))
        t.subscribe(tab, "World", "Politics", "Sports")
        tab.wait(f"document.getElementById('connection').textContent === {json.dumps(state)}")
        for width in (PHONE, 1280):
            tab.resize(width)
            check(tab.js(NARROW), f"{language} scrolls sideways at {width} px")
            t.shot(tab, f"{language}-{width}")
        accessible(t, tab)


@case("axe finds nothing on any page", "--pages", "invited")
def axe(t):
    t.expect_error("401|404|Failed to load resource")
    sample(t)
    accessible(t, t.open())
    accessible(t, t.open("nothing-here"))
    tab = t.open(t.hub.invite())
    accessible(t, tab)
    tab.js("window.isBeforeTheForm = true")
    tab.click("main form button")
    tab.wait("!window.isBeforeTheForm && document.getElementById('choice')")
    accessible(t, tab)
    t.subscribe(tab, "World", "Sports", "Politics")
    live(tab)
    accessible(t, tab)
    tab.resize(PHONE)
    accessible(t, tab)
    t.hub.send("A live one", "World", urgency="critical", link="https://example.org/")
    tab.wait("document.querySelector('#messages h3').textContent === 'A live one'")
    # The flash of a new message ends; its colours are not those of the page.
    tab.wait("document.getAnimations().length === 0")
    accessible(t, tab)


@case("the keyboard alone is enough")
def keyboard(t):
    t.hub.send("Bridge reopens", "World", link="https://example.org/")
    tab = t.open()
    tab.activate()
    tab.press(TAB)
    equal(tab.js("document.activeElement.className"), "skip")
    t.shot(tab, "keyboard-skip")
    tab.press(ENTER)
    equal(tab.js("document.activeElement.id"), "main")

    def focus(selector):
        for _ in range(20):
            tab.press(TAB)
            if tab.js(f"document.activeElement.matches({json.dumps(selector)})"):
                return
        raise AssertionError(f"the tabulator does not reach {selector}")

    focus("[value=World]")
    tab.press(SPACE)
    equal(tab.js("document.activeElement.checked"), True)
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    check(tab.js(outline) != "none", "the focus is not visible")
    t.shot(tab, "keyboard-switch")
    focus("#choice button")
    tab.js("window.isBeforeTheForm = true")
    tab.press(ENTER)
    tab.wait("!window.isBeforeTheForm && document.readyState === 'complete'")
    live(tab)
    equal(tab.js("[...document.querySelectorAll('[name=category]:checked')].map((i) => i.value)"), ["World"])
    focus("#messages a")
    # News that arrives does not take the focus away.
    t.hub.send("Another", "World")
    wait_titles(tab, ["Another", "Bridge reopens"])
    check(tab.js("document.activeElement.matches('#messages a')"))


@case("the page links to its feeds and its manifest", "--pages", "public")
def links(t):
    sample(t)
    tab = t.open()
    hrefs = tab.js("[...document.querySelectorAll('link[rel=alternate]')].map((l) => [l.type, l.title, l.href])")
    equal([title for _, title, _ in hrefs], STANDARD)
    for media_type, title, href in hrefs:
        status, headers, text = t.hub.get(href.removeprefix(t.hub.origin))
        equal((status, headers["Content-Type"].split(";")[0]), (200, media_type))
        root = xml.etree.ElementTree.fromstring(text)
        equal(root.tag, "{http://www.w3.org/2005/Atom}feed")
        shown = [entry.findtext("{http://www.w3.org/2005/Atom}title") for entry in root.findall("{http://www.w3.org/2005/Atom}entry")]
        equal(bool(shown), title in ("World", "Politics", "Sports"))
    href = tab.js("document.querySelector('link[rel=manifest]').href")
    status, headers, text = t.hub.get(href.removeprefix(t.hub.origin))
    equal((status, headers["Content-Type"]), (200, "application/manifest+json"))
    manifest = json.loads(text)
    equal((manifest["start_url"], manifest["scope"]), ("/-/news/", "/-/news/"))
    for icon in manifest["icons"]:
        equal(t.hub.get(icon["src"])[0], 200)
    # iPhones take this one for their home screens, and no SVG.
    picture = "(() => { const i = new Image(); i.src = document.querySelector('link[rel=apple-touch-icon]').href;"
    equal(tab.js(picture + " return i.decode().then(() => [i.naturalWidth, i.naturalHeight]); })()"), [180, 180])


@case("dates are in the reader's language and zone")
def dates(t):
    t.hub.send("Now")
    tab = t.open()
    shown, full, stamp = tab.js(
        "(() => { const t = document.querySelector('time'); return [t.textContent, t.title, t.dateTime]; })()"
    )
    equal(tab.js("Intl.DateTimeFormat().resolvedOptions().timeZone"), "Europe/Rome")
    style = "{dateStyle: 'medium', timeStyle: 'short'}"
    equal(full, tab.js(f"new Intl.DateTimeFormat(undefined, {style}).format(new Date({json.dumps(stamp)}))"))
    equal(shown, tab.js("new Intl.RelativeTimeFormat(undefined, {numeric: 'auto'}).format(0, 'second')"))
    equal(titles(tab), ["Now"])
