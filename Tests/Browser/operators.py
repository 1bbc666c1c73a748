"""The operator's view."""

import json
import time

from cases import case, check, equal, follow, scroll_to, wait_titles
from looks import NARROW, PHONE, accessible

HANDLE = "0123456789ABCDEF" * 4
MAIN = "document.querySelector('main').textContent.replace(/\\s+/g, ' ')"
HEADING = "document.querySelector('h1').textContent"
# Sends the confirmed form, and leaves the page as it is.
AGAIN = """(() => {
    const form = document.querySelector("form[action$='/send/confirmed']");
    return fetch(form.action, {method: "POST", body: new URLSearchParams(new FormData(form))}).then((reply) => reply.status);
})()"""
CELLS = "[...document.querySelectorAll('tbody tr td')].map((cell) => cell.textContent)"


def operate(t):
    """A tab with a session of the operator's view."""
    tab = t.open(t.hub.invite("--operator"))
    follow(tab, "main form button")
    return tab


def visit(tab, page):
    """Opens a page of the view where the operator got in: over TLS, by the name that the link has."""
    tab.go(f"{tab.js('location.origin')}/-/news/admin/{page}")


def fill(tab, **values):
    """Fills fields of the form that previews a message, or of a search."""
    for name, value in values.items():
        tab.js(f"document.querySelector('form.card [name={name}], form.search [name={name}]').value = {json.dumps(value)}")


def stock(t):
    """A hub with a phone, a message that is for it, and a publisher of whose feeds one fails."""
    phone = {
        "installationId": "phone-1", "platform": "apns", "pushChannel": HANDLE, "tags": ["World"],
        "templates": {"news": {"body": '{"aps":{"alert":"$(title)"}}'}},
    }
    t.hub.call("PUT", "/installations/phone-1", phone)
    t.hub.send("Bridge reopens")
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    entries = [
        {"title": "Bridge reopens", "state": "sent", "reason": "announced", "judgedAt": now},
        {"title": "An old story", "state": "firstReading", "reason": "recorded at the first reading", "date": now},
    ]
    feeds = [
        {
            "category": "World", "url": "https://example.org/world", "state": "well", "title": "World news", "entries": entries,
            "lastPoll": now, "polls": "r0u15f15u30r15",
        },
        {"category": "Sports", "url": "https://example.org/sports", "state": "failing", "error": "the server answered 404"},
    ]
    report = {
        "schedule": "watch", "lastPass": now, "exitCode": 0, "outbox": 0, "feeds": feeds,
        "actions": ["poll", "pause", "resume", "add", "remove"],
    }
    t.hub.call("PUT", "/publishers/desk", report)


def look(t, tab, name):
    """Judges a page of the operator's view, and keeps pictures of it."""
    accessible(t, tab)
    t.shot(tab, f"operator-{name}")
    tab.resize(PHONE)
    check(tab.js(NARROW), f"{name} scrolls sideways at 320 px")
    t.shot(tab, f"operator-{name}-320")
    tab.resize(1024)


def tour(t, name):
    stock(t)
    tab = operate(t)
    equal(tab.js(HEADING), "Overview of news")
    check("1 apns" in tab.js(MAIN), "the overview counts the phone")
    places = tab.js("[...document.querySelectorAll('nav[aria-label=Operator] a')].map((a) => a.getAttribute('href'))")
    check(len(places) >= 9, places)
    for place in places:
        follow(tab, f"nav[aria-label=Operator] a[href='{place}']")
        equal(tab.js("document.querySelector('nav [aria-current]').getAttribute('href')"), place)
        look(t, tab, f"{name}-{place.strip('/').split('/')[-1]}")
    for page, link, text in [
        ("messages", "tbody a", "Outcomes at push services"), ("devices", "tbody a[href*='/devices/']", HANDLE),
        ("devices", "tbody a[href*='/registrations/']", HANDLE), ("publishers", "tbody a", "the server answered 404"),
        ("publishers/desk", "tbody a[href*='world']", "recorded at the first reading"),
    ]:
        visit(tab, page)
        follow(tab, link)
        check(text in tab.js(MAIN), f"{page}: {text}")
        look(t, tab, f"{name}-{page.replace('/', '-')}-one")


@case("an operator sees the hub at a glance, and each page judges well")
def glance(t):
    tour(t, "light")


@case("the operator's view in the dark", profile="dark")
def glance_in_the_dark(t):
    tour(t, "dark")


@case("an operator asks a publisher, without a script and by keyboard")
def requests(t):
    stock(t)
    tab = operate(t)
    visit(tab, "publishers/desk")
    follow(tab, "tbody a[href*='world']")
    check(tab.js("document.querySelector('.strip').getAttribute('aria-label')") == "2 read, 2 not changed, 1 failed")
    follow(tab, "input[value=pause] ~ button")
    equal(tab.js("location.pathname"), "/-/news/admin/publishers/desk")
    check("waits for the publisher" in tab.js(MAIN))
    tab.js("document.querySelector('main [name=category]').value = 'World'")
    tab.js("document.querySelector('main [name=url]').value = 'https://example.org/new'")
    follow(tab, "input[value=add] ~ button")
    check("https://example.org/new" in tab.js(MAIN))
    look(t, tab, "requests")


@case("an operator finds devices, and why one of them got a message")
def search(t):
    stock(t)
    tab = operate(t)
    for by, text in [("tag", "World"), ("handle", HANDLE), ("tag", "Sports")]:
        follow(tab, "nav[aria-label=Operator] a[href$='/devices']")
        fill(tab, by=by, q=text)
        follow(tab, "form.search button")
        # What was found has an address.
        check(tab.js("location.search").endswith(f"by={by}&q={text}"), tab.js("location.search"))
        equal("phone-1" in tab.js(MAIN), text != "Sports")
        tab.reload()
        equal("phone-1" in tab.js(MAIN), text != "Sports")
    follow(tab, "nav[aria-label=Operator] a[href$='/devices']")
    fill(tab, by="id", q="phone-1")
    follow(tab, "form.search button")
    equal(tab.js("location.pathname"), "/-/news/admin/devices/phone-1")
    follow(tab, "a[href*='messages?device=phone-1']")
    follow(tab, "tbody a")
    check("This device" in tab.js(MAIN))
    t.shot(tab, "operator-explained")
    fill(tab, device="nobody")
    follow(tab, "form.search button")
    check(tab.js("location.search").endswith("device=nobody"))
    accessible(t, tab)


def send_by_hand(t, reader=None):
    """Sends, schedules and cancels with forms, which need no script."""
    stock(t)
    tab = operate(t)
    visit(tab, "categories")
    follow(tab, "tbody a[href$='send?category=World']")
    fill(tab, title="Bridge <b>closed</b>", text="Until further notice.", link="https://example.org/bridge")
    check(tab.js("document.querySelector('[name=category][value=World]').checked"))
    follow(tab, "form.card button")
    check("1 apns" in tab.js(MAIN), "recipients are counted before it is sent")
    equal(tab.js("document.querySelector('.message h3').textContent"), "Bridge <b>closed</b>")
    accessible(t, tab)
    t.shot(tab, "operator-preview")
    equal(len(messages(t)), 1)
    confirm = "form[action$='/send/confirmed'] button"
    if reader:
        # Twice is once, as when the button is pressed again before the next page comes.
        equal(tab.js(AGAIN), 200)
    follow(tab, confirm)
    equal(len(messages(t)), 2)
    if reader:
        wait_titles(reader, ["Bridge <b>closed</b>", "Bridge reopens"])
    visit(tab, "send")
    scroll_to(tab, "details summary")
    tab.click("details summary")
    fill(tab, audience="everybody", text="For all", tags="World")
    follow(tab, "form.card button")
    check(tab.js("document.querySelector('[role=alert]').textContent"), "a contradiction is refused")
    t.shot(tab, "operator-refused")
    fill(tab, tags="", at=time.strftime("%Y-%m-%dT%H:%M", time.gmtime(time.time() + 86_400)))
    follow(tab, "form.card button")
    equal(tab.js(f"document.querySelector(`{confirm}`).textContent"), "Schedule")
    follow(tab, confirm)
    check("Scheduled" in tab.js("[...document.querySelectorAll('.facts dd')].map((fact) => fact.textContent)"))
    follow(tab, "nav[aria-label=Operator] a[href$='/scheduled']")
    t.shot(tab, "operator-scheduled")
    follow(tab, "tbody form[action$='/cancel'] button")
    check("No message is scheduled." in tab.js(MAIN))
    follow(tab, "nav[aria-label=Operator] a[href$='/audit']")
    actions = tab.js("[...document.querySelectorAll('tbody td:nth-child(3)')].map((cell) => cell.textContent)")
    equal(actions, ["cancel", "schedule", *["send"] * (2 if reader else 1), "enter"])
    t.shot(tab, "operator-audit")


def messages(t):
    return json.loads(t.hub.command("messages", "list", "--json", "--connection-file", f"{t.hub.state}/full.connection"))["messages"]


@case("an operator sends with a preview, schedules and cancels")
def sending(t):
    t.expect_error("400|Failed to load resource")
    send_by_hand(t, t.reader("World"))


@case("an operator sends, schedules and cancels without script", profile="scriptless")
def sending_without_script(t):
    send_by_hand(t)


@case("a link lets one operator in, once, until the operator leaves")
def operator_link(t):
    t.expect_error("401|403|Failed to load resource")
    tab = t.open("admin/")
    equal(tab.js(HEADING), "This page is for operators")
    accessible(t, tab)
    t.shot(tab, "operator-outside")
    link = t.hub.invite("--operator")
    tab = t.open(link)
    accessible(t, tab)
    t.shot(tab, "operator-link")
    follow(tab, "main form button")
    equal(tab.js(HEADING), "Overview of news")
    equal(tab.js("document.cookie"), "")
    other = t.open(link, visitor=t.somebody_else())
    follow(other, "main form button")
    equal(other.js(HEADING), "This link cannot be used")
    t.shot(other, "operator-link-used")
    follow(tab, ".operator form[action$='/leave'] button")
    visit(tab, "messages")
    equal(tab.js(HEADING), "This page is for operators")


def press(tab, label, action):
    """Presses the button of the only alarm that sends to this address."""
    selector = f"tbody form[action$='{action}'] button"
    equal(tab.js(f"[...document.querySelectorAll(`{selector}`)].map((button) => button.textContent)"), [label])
    follow(tab, selector)


@case("an operator silences an alarm, for a day or until it ends, and ends the silence")
def alarms(t):
    t.hub.raise_alarm("silentCategory", "World")
    tab = operate(t)
    check("Active alarms" in tab.js("document.querySelector('main').textContent"))
    follow(tab, "nav[aria-label=Operator] a[href$='/alarms']")
    equal(tab.js("document.querySelector('h1').textContent"), "Alarms")
    cells = tab.js(CELLS)
    equal((cells[0], cells[3]), ("No news in 'World'", "sent"))
    check(tab.js("document.querySelector('tbody td').classList.contains('error')"))
    t.shot(tab, "alarms")
    press(tab, "Silence for a day", "/silence?for=day")
    cells = tab.js(CELLS)
    check(cells[3].startswith("silenced until ") and cells[3] != "silenced until it ends", cells)
    check(not tab.js("document.querySelector('tbody td').classList.contains('error')"))
    press(tab, "End the silence", "/unsilence")
    equal(tab.js(CELLS)[3], "sent")
    press(tab, "Silence until it ends", "/silence")
    equal(tab.js(CELLS)[3], "silenced until it ends")
    # A reload sends no form again, and a restart forgets no silence.
    tab.reload()
    equal(tab.js(CELLS)[3], "silenced until it ends")
    t.hub.stop()
    t.hub.start()
    tab.reload()
    equal(tab.js(CELLS)[3], "silenced until it ends")
    accessible(t, tab)
    tab.resize(PHONE)
    check(tab.js(NARROW), "the page scrolls sideways at 320 px")
    t.shot(tab, "alarms-320")
    follow(tab, "nav[aria-label=Operator] a[href$='/audit']")
    text = tab.js("document.querySelector('main').textContent")
    equal((text.count("unsilence alarm"), text.count("silence alarm")), (1, 3))


@case("a breaking story is sent by keyboard alone")
def keyboard(t):
    t.reader("World")
    tab = operate(t)
    visit(tab, "send")
    # Beside the text: two fields on, a category, the preview, and from it to the button.
    presses = ["\ue004", "\ue004", " ", "\ue007", "\ue004", "\ue007"]
    tab.press(*"Minister resigns", presses[0], *"The reason is not known.", *presses[1:3])
    tab.js("window.isBeforeTheForm = true")
    tab.press(presses[3])
    tab.wait("!window.isBeforeTheForm && !!document.getElementById('confirm')")
    tab.js("window.isBeforeTheForm = true")
    tab.press(presses[4])
    equal(tab.js("document.activeElement.id"), "confirm")
    tab.press(presses[5])
    tab.wait("!window.isBeforeTheForm && document.readyState === 'complete' && document.querySelector('h1').textContent === 'Message'")
    check("Minister resigns" in tab.js(MAIN))
