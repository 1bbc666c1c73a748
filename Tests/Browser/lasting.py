"""Tabs, restarts, outages, gaps, and sessions that end."""

import time

from cases import AWAY, case, check, equal, eventually, live, titles, wait_titles
from silence import Relay

TABS = 9
# Seconds.
OUTAGE = 8
LONG_OUTAGE = 60


@case("nine tabs share one stream, and the next one takes over when its tab is closed")
def nine_tabs(t):
    tabs = [t.reader("World")]
    tabs += [t.open() for _ in range(TABS - 1)]
    for tab in tabs:
        live(tab)
    equal(t.hub.streams(), 1)
    t.hub.send("One")
    for tab in tabs:
        wait_titles(tab, ["One"])
    t.shot(tabs[-1], "ninth-tab")
    tabs.pop(0).close()
    # Sent while nobody may be reading.
    t.hub.send("Two")
    for tab in tabs:
        wait_titles(tab, ["Two", "One"])
    eventually(t.hub.streams, 1)
    t.hub.send("Three")
    for tab in tabs:
        wait_titles(tab, ["Three", "Two", "One"])


# The computer sleeps: the clock goes on, and timers do not.
SLEEP = "(() => { const own = Date.now; Date.now = () => own() + 60000; })()"


@case("a stream that died silently is opened again, after sleep and on return to any tab")
def silent_stream(t):
    relay = Relay(t.hub.port)
    # The first requests may use a connection that the browser keeps, and that is silent as well.
    seconds = 60
    try:
        home = f"http://127.0.0.1:{relay.port}/-/news/"
        first = t.open(home)
        t.subscribe(first, "World")
        live(first)
        second = t.open(home)
        live(second)
        t.hub.send("Before")
        for tab in [first, second]:
            wait_titles(tab, ["Before"])
        relay.fall_silent()
        t.hub.send("Missed")
        # The tab that has the stream notices on its own.
        for tab in [first, second]:
            tab.js(SLEEP)
        for tab in [first, second]:
            wait_titles(tab, ["Missed", "Before"], seconds)
            live(tab)
        relay.fall_silent()
        t.hub.send("Missed again")
        # Another tab asks the one that has the stream, whose timers may be slow.
        first.js(SLEEP)
        second.js("dispatchEvent(new Event('focus'))")
        for tab in [first, second]:
            wait_titles(tab, ["Missed again", "Missed", "Before"], seconds)
            live(tab)
    finally:
        relay.close()


@case("a tab that opens later shows what the others show")
def late_tab(t):
    first = t.reader("World")
    t.hub.send("Flood", story="flood")
    t.hub.send("Storm", story="storm")
    t.hub.send("Flood and storm", story="weather", replaces="flood storm")
    t.hub.send("Fire", story="fire")
    t.hub.send("Larger fire", story="fire", status="update")
    expected = ["Larger fire", "Flood and storm"]
    wait_titles(first, expected)
    second = t.open()
    live(second)
    t.hub.send("Last")
    wait_titles(second, ["Last", *expected])
    wait_titles(first, ["Last", *expected])


@case("a changed choice reaches the other tabs")
def choice_in_tabs(t):
    first = t.reader("World")
    second = t.open()
    live(second)
    t.subscribe(second, "Sports")
    first.wait("document.querySelector('#choice').textContent.includes('You read: Sports')")
    live(first)
    live(second)
    equal(first.js("[...document.querySelectorAll('[name=category]:checked')].map((i) => i.value)"), ["Sports"])
    t.hub.send("Draw", "Sports")
    wait_titles(first, ["Draw"])
    wait_titles(second, ["Draw"])


def interrupted(t, seconds, force):
    t.expect_error(AWAY)
    tab = t.reader("World")
    t.hub.send("Before")
    wait_titles(tab, ["Before"])
    t.hub.stop(force)
    tab.wait("document.getElementById('connection').textContent !== 'Live'", 20)
    if seconds:
        t.shot(tab, "hub-away")
        time.sleep(seconds)
    t.hub.start()
    t.hub.send("At once after the start")
    live(tab, 60)
    wait_titles(tab, ["At once after the start", "Before"])
    t.hub.send("After")
    wait_titles(tab, ["After", "At once after the start", "Before"])
    check(tab.js("document.querySelector('[value=World]').checked"))
    tab.reload()
    live(tab)
    wait_titles(tab, ["After", "At once after the start", "Before"])


@case("a restart of the hub loses nothing")
def restart(t):
    interrupted(t, 0, force=False)


@case("a hub that was killed and away loses nothing")
def outage(t):
    interrupted(t, OUTAGE, force=True)


@case("a hub that is away for a minute loses nothing", slow=True)
def long_outage(t):
    interrupted(t, LONG_OUTAGE, force=False)


@case("the choice survives a reload and a restart, and a visit shows what is new")
def choice_survives(t):
    tab = t.reader("Politics", "World")
    t.hub.send("Seen", "Politics")
    wait_titles(tab, ["Seen"])
    tab.reload()
    live(tab)
    tab.close()
    t.hub.stop()
    t.hub.start()
    t.hub.send("New", "World")
    tab = t.open()
    live(tab)
    equal(titles(tab), ["New", "Seen"])
    equal(tab.js("[...document.querySelectorAll('[name=category]:checked')].map((i) => i.value)"), ["World", "Politics"])
    equal(tab.js("[...document.querySelectorAll('#messages .new h3')].map((h) => h.textContent)"), ["New"])


@case("a session that has ended leads to a first visit")
def session_ended(t):
    tab = t.reader("World")
    t.hub.end_sessions()
    tab.wait("document.readyState === 'complete' && !document.getElementById('news').dataset.events")
    equal(tab.js("document.querySelectorAll('[name=category]:checked').length"), 0)
    t.subscribe(tab, "World")
    live(tab)
    equal(len(t.hub.sessions()), 1)


@case("a session that has ended while the hub was away leads to a first visit")
def session_ended_meanwhile(t):
    t.expect_error(AWAY)
    t.expect_error("401")
    tab = t.reader("World")
    t.hub.stop()
    t.hub.start()
    t.hub.end_sessions()
    tab.wait("document.readyState === 'complete' && !document.getElementById('news').dataset.events", 60)


@case("messages that the hub has dropped since the last visit are told", "--log-size", "1MiB", slow=True)
def gap(t):
    tab = t.reader("World")
    t.hub.send("Seen")
    wait_titles(tab, ["Seen"])
    tab.reload()
    live(tab)
    check(tab.js("document.getElementById('gap').hidden"))
    tab.go("about:blank")
    for number in range(60):
        t.hub.send(f"Large {number}", text="x" * 25_000)
    # The hub's next round of upkeep drops them, within a minute.
    eventually(lambda: t.hub.dropped() > 1, True, 90)
    tab.go(t.hub.home)
    check(not tab.js("document.getElementById('gap').hidden"), "no gap is told")
    check("missing" in tab.js("document.getElementById('gap').textContent"))
    t.shot(tab, "gap")


@case("a restore from a backup tells open pages what is missing, and keeps the choice")
def restored(t):
    t.expect_error(AWAY)
    tab = t.reader("World")
    t.hub.send("In the backup")
    wait_titles(tab, ["In the backup"])
    copy = f"{t.hub.state}/../copy"
    t.hub.command("hub", "backup", "--state", t.hub.state, copy)
    t.hub.send("Lost")
    wait_titles(tab, ["Lost", "In the backup"])
    absent = t.somebody_else()
    away = t.open(visitor=absent)
    t.subscribe(away, "World")
    live(away)
    away.close()
    t.hub.stop()
    t.hub.command("hub", "restore", "--state", t.hub.state, copy)
    t.hub.start()
    live(tab, 60)
    tab.wait("!document.getElementById('gap').hidden")
    t.shot(tab, "restored")
    back = t.open(visitor=absent)
    check("missing" in back.js("document.getElementById('gap').textContent"))
    check(not back.js("document.getElementById('gap').hidden"))
    live(back)
    t.hub.send("After the restore")
    tab.wait("document.querySelector('#messages h3').textContent === 'After the restore'")
    tab.reload()
    live(tab)
    wait_titles(tab, ["After the restore", "In the backup"])
    check(tab.js("document.querySelector('[value=World]').checked"))
