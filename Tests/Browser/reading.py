"""Choosing and reading."""

from cases import case, check, equal, follow, live, titles, wait_titles
from looks import accessible
from hub import STANDARD

LONG_TITLE = "A very long title that goes on " * 330
OVERRIDE = "\u202e"


@case("a first visit shows the categories and the news of all of them", categories=["Town", "world"])
def first_visit(t):
    t.hub.send("Bridge reopens", "World", "The bridge is open.", link="https://example.org/bridge")
    t.hub.send("Final ends in a draw", "Sports")
    tab = t.open()
    equal(tab.js("document.documentElement.lang"), "en")
    equal(tab.js("[...document.querySelectorAll('[name=category]')].map((i) => i.value)"), [*STANDARD, "Town"])
    equal(tab.js("document.querySelectorAll('[name=category]:checked').length"), 0)
    equal(titles(tab), ["Final ends in a draw", "Bridge reopens"])
    equal(tab.js("document.querySelector('#messages a').href"), "https://example.org/bridge")
    equal(tab.cookies(), [])
    t.shot(tab, "first-visit")


@case("a hub without news says so")
def no_news(t):
    tab = t.open()
    check(not tab.js("document.getElementById('empty').hidden"))
    t.shot(tab, "no-news")


@case("subscribing keeps the choice, and shows its news alone")
def subscribe(t):
    t.hub.send("Draw in the final", "Sports")
    t.hub.send("Bridge reopens", "World")
    tab = t.open()
    t.subscribe(tab, "World", "Politics")
    live(tab)
    equal(titles(tab), ["Bridge reopens"])
    check("You read: World, Politics" in tab.js("document.querySelector('#choice').textContent"))
    cookie = tab.cookies()[0]
    check(cookie["httpOnly"] and cookie["secure"] and cookie["sameSite"] == "lax", cookie)
    equal(tab.js("document.cookie"), "")
    t.shot(tab, "subscribed")
    t.subscribe(tab, "Sports")
    live(tab)
    equal(titles(tab), ["Draw in the final"])
    # An empty choice is not a choice.
    t.subscribe(tab)
    equal(sorted(titles(tab)), ["Bridge reopens", "Draw in the final"])
    t.shot(tab, "nothing-chosen")


@case("news arrives by itself, newest first, with no more than fifty")
def live_news(t):
    tab = t.reader("World", "Sports")
    t.hub.send("One", "World", "Text of one", urgency="critical")
    t.hub.send("Not chosen", "Politics")
    t.hub.send("Two", "Sports", author="A. Writer", feed="The Courier")
    wait_titles(tab, ["Two", "One"])
    equal(tab.js("document.querySelector('#messages .source').textContent"), "A. Writer")
    check(tab.js("document.querySelectorAll('#messages .urgent').length === 1"))
    equal(tab.js("[...document.querySelectorAll('#messages .category')].map((c) => c.textContent)"), ["Sports", "World"])
    t.shot(tab, "live-news")
    for number in range(55):
        t.hub.send(f"Item {number}")
    expected = [f"Item {number}" for number in reversed(range(5, 55))]
    wait_titles(tab, expected)
    tab.reload()
    wait_titles(tab, expected)


@case("a story is updated, corrected and withdrawn in its place")
def stories(t):
    tab = t.reader("World")
    t.hub.send("Ten hurt in fire", story="fire")
    t.hub.send("Another story", story="other")
    t.hub.send("Eleven hurt in fire", story="fire", status="update")
    wait_titles(tab, ["Eleven hurt in fire", "Another story"])
    equal(tab.js("document.querySelector('#messages .status').textContent"), "Update")
    t.hub.send("Nobody hurt in fire", story="fire", status="correction")
    wait_titles(tab, ["Nobody hurt in fire", "Another story"])
    equal(tab.js("document.querySelector('#messages .status').textContent"), "Correction")
    former = "document.querySelector('#messages .former del').textContent"
    equal(tab.js(former), "Eleven hurt in fire")
    tab.reload()
    live(tab)
    equal(tab.js(former), "Eleven hurt in fire")
    t.shot(tab, "corrected")
    t.hub.send("There was no fire", story="fire", status="withdrawn")
    wait_titles(tab, ["There was no fire", "Another story"])
    check(tab.js("document.querySelector('#messages li').classList.contains('withdrawn')"))
    t.shot(tab, "withdrawn")
    t.hub.send("Both stories in one", story="both", replaces="other third")
    wait_titles(tab, ["Both stories in one", "There was no fire"])
    before = tab.js("document.getElementById('messages').textContent.includes('Withdrawn')")
    tab.reload()
    live(tab)
    equal((before, titles(tab)), (True, ["Both stories in one", "There was no fire"]))


@case("a reader selects a category, searches, and goes through the news with keys")
def selecting(t):
    t.hub.send("Bridge reopens", "World", "Traffic flows again.", link="https://example.org/1")
    t.hub.send("Final ends in a draw", "Sports")
    t.hub.send("Road closed", "World")
    tab = t.reader("World", "Sports")
    follow(tab, ".filters a[href$='category=World']")
    live(tab)
    equal(titles(tab), ["Road closed", "Bridge reopens"])
    equal(tab.js("document.querySelector('.filters [aria-current]').textContent"), "World")
    t.hub.send("Late goal", "Sports")
    t.hub.send("Rain", "World")
    wait_titles(tab, ["Rain", "Road closed", "Bridge reopens"])
    accessible(t, tab)
    t.shot(tab, "selected")
    tab.press("/")
    equal(tab.js("document.activeElement.id"), "find")
    tab.press(*"traffic")
    follow(tab, ".find button")
    equal(titles(tab), ["Bridge reopens"])
    t.shot(tab, "found")
    follow(tab, ".filters a")
    live(tab)
    # The choice is as before, and nothing was marked as read on the way.
    equal(titles(tab), ["Rain", "Late goal", "Road closed", "Final ends in a draw", "Bridge reopens"])
    equal(tab.js("[...document.querySelectorAll('[name=category]:checked')].map((i) => i.value)"), ["World", "Sports"])
    focused = "document.activeElement.closest('li')?.querySelector('h3').textContent"
    for key, title in [("j", "Rain"), ("j", "Late goal"), ("k", "Rain")]:
        tab.press(key)
        equal(tab.js(focused), title)
    tab.press("?")
    check(tab.js("document.getElementById('keys').open"))
    accessible(t, tab)
    t.shot(tab, "keys")


@case("news does not move the page of somebody who reads further down")
def reading_below(t):
    for number in range(30):
        t.hub.send(f"Item {number}", "World", "A text of some lines.", story=f"s{number}")
    tab = t.reader("World")
    tab.js("scrollTo(0, document.body.scrollHeight / 2)")
    tab.wait("scrollY > 0")
    before = titles(tab)
    t.hub.send("One more", "World")
    t.hub.send("Another", "World")
    tab.wait("document.getElementById('fresh').textContent === '2 new stories'")
    equal(titles(tab), before)
    t.shot(tab, "new-stories")
    # What is wrong disappears at once.
    t.hub.send("Item 3 is wrong", "World", story="s3", status="withdrawn")
    tab.wait("![...document.querySelectorAll('#messages h3')].some((h) => h.textContent === 'Item 3')")
    t.hub.send("Not for long", "World", story="short")
    tab.wait("document.getElementById('fresh').textContent === '3 new stories'")
    t.hub.send("Not at all", "World", story="short", status="withdrawn")
    tab.wait("document.getElementById('fresh').textContent === '2 new stories'")
    tab.click("#fresh")
    tab.wait("document.getElementById('fresh').hidden && scrollY === 0")
    equal(titles(tab)[:4], ["Another", "One more", "Not at all", "Item 3 is wrong"])


CATEGORIES = "[...document.querySelectorAll('#messages .category')].map((c) => c.textContent)"


@case("a story of several categories is shown once, and so is its correction")
def several_categories(t):
    tab = t.reader("World", "Sports", "Politics")
    storm = {"story": "storm", "version": "v1"}
    corrected = {"story": "storm", "version": "v2", "status": "correction"}
    t.hub.send("Storm closes port", "World", **storm)
    t.hub.send("Final ends in a draw", "Sports")
    t.hub.send("Port closed by storm", "Sports", **storm)
    t.hub.send("Rain", "World")
    wait_titles(tab, ["Rain", "Final ends in a draw", "Storm closes port"])
    equal(tab.js(CATEGORIES), ["World", "Sports", "World, Sports"])
    t.shot(tab, "several-categories")
    tab.reload()
    live(tab)
    equal(tab.js(CATEGORIES), ["World", "Sports", "World, Sports"])
    t.hub.send("Port stays open", "Sports", **corrected)
    t.hub.send("The port is not closed", "World", **corrected)
    # What another category tells late is older than the correction.
    t.hub.send("Storm closes port", "Politics", **storm)
    t.hub.send("Snow", "World")
    expected = ["Snow", "Port stays open", "Rain", "Final ends in a draw"]
    wait_titles(tab, expected)
    equal(tab.js(CATEGORIES), ["World", "Sports, World", "World", "Sports"])
    tab.reload()
    live(tab)
    equal(titles(tab), expected)
    # An urgent message is shown unless an urgent one was; a version without a category is nobody's.
    t.hub.send("Flood", "World", story="flood", version="v")
    t.hub.send("Flood: leave now", "Sports", story="flood", version="v", urgency="critical")
    t.hub.send("Leave now", "Politics", story="flood", version="v", urgency="critical")
    wait_titles(tab, ["Flood: leave now", *expected])


def choose_language(t, tab, value):
    tab.js(f"document.querySelector('[name=language]').value = '{value}'")
    t.subscribe(tab, "World")
    live(tab)


@case("a reader who chooses a language reads what is said in it, and nothing else")
def language(t):
    t.hub.report_languages("World", "English", "French")
    t.hub.send("Fire in the port", "World", "It burns.", story="fire", Title_French="Feu au port", News_French="Il brûle.")
    t.hub.send("Rain")
    tab = t.reader("World")
    equal(titles(tab), ["Rain", "Fire in the port"])
    options = tab.js("[...document.querySelectorAll('[name=language] option')].map((o) => [o.value, o.textContent, o.lang])")
    equal(options[0], ["", "As published", ""])
    equal(sorted(options[1:]), [["English", "English", "en"], ["French", "français", "fr"]])
    choose_language(t, tab, "French")
    equal(titles(tab), ["Feu au port"])
    equal(tab.js("[...document.querySelectorAll('#messages [lang]')].map((e) => e.lang)"), ["fr", "fr"])
    check("You read: World (français)" in tab.js("document.querySelector('#choice').textContent"))
    equal(tab.js("document.querySelector('[name=language]').value"), "French")
    # News without a text in the language changes nothing; the other does so at once.
    t.hub.send("Snow")
    t.hub.send("Fire is out", story="fire", status="update", Title_French="Feu éteint")
    wait_titles(tab, ["Feu éteint"])
    equal(tab.js("document.querySelector('#messages h3').lang"), "fr")
    t.shot(tab, "language")
    choose_language(t, tab, "")
    equal(titles(tab), ["Fire is out", "Snow", "Rain"])
    # What another language takes back still holds in the main one, live and after a reload.
    t.hub.send_properties(Title_French="Pas de feu", story="fire", status="withdrawn")
    t.hub.send("Last")
    expected = ["Last", "Fire is out", "Snow", "Rain"]
    wait_titles(tab, expected)
    tab.reload()
    live(tab)
    equal(titles(tab), expected)
    equal(tab.js("document.querySelectorAll('#messages .withdrawn').length"), 0)


HOSTILE = [
    ("<img src=x onerror=\"document.title='taken'\">", "https://example.org/?a=\"><script>document.title='taken'</script>"),
    ("</li></ol><script>document.title='taken'</script>", "javascript:document.title='taken'"),
    ("{{frame.home}} {{{title}}} $(title) {$x}", "data:text/html,<script>alert(1)</script>"),
    ("' onmouseover='document.title=\"taken\"' x='", "vbscript:x"),
    (f"Safe {OVERRIDE}evil{OVERRIDE} text", " \tjava\nscript:document.title='taken'"),
    ("\u2066\u2067left\u200f", "//evil.example/path"),
    ("&lt;b&gt; &amp; &#60;script&#62;", "https://user:password@example.org/"),
    (LONG_TITLE, "https://example.org/" + "a" * 1000),
]


def harmless(tab):
    equal(tab.js("document.querySelectorAll('#messages script, #messages img, #messages [onerror]').length"), 0)
    check("taken" not in tab.js("document.title"))
    links = tab.js("[...document.querySelectorAll('#messages a')].map((a) => a.protocol)")
    check(all(link in ("https:", "http:") for link in links), links)
    text = tab.js("document.getElementById('messages').textContent")
    check(OVERRIDE not in text and "\u2066" not in text and "\u200f" not in text, "a control character is shown")
    check("<img src=x onerror" in text, "markup is shown as text")
    lengths = tab.js("['h3', '.text'].map((s) => Math.max(...[...document.querySelectorAll(`#messages ${s}`)].map((e) => e.textContent.length)))")
    check(lengths[0] <= 500 and lengths[1] <= 4_000, lengths)
    equal(tab.js("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), True)


@case("hostile text, links and names do no harm", categories=["a-very-long-category:name@" + "x" * 90])
def hostile(t):
    tab = t.reader("World")
    for title, link in HOSTILE:
        t.hub.send(title, "World", title, link=link, story=title[:50], urgency="<b>", status="<i>")
    tab.wait(f"document.querySelectorAll('#messages li').length === {len(HOSTILE)}")
    harmless(tab)
    t.shot(tab, "hostile-live")
    tab.reload()
    live(tab)
    tab.wait(f"document.querySelectorAll('#messages li').length === {len(HOSTILE)}")
    harmless(tab)
    tab.resize(320)
    harmless(tab)
    t.shot(tab, "hostile-reloaded-320")


@case("everything works as plain forms without script", profile="scriptless")
def without_script(t):
    t.hub.send("Bridge reopens", "World", link="https://example.org/")
    t.hub.send("Draw in the final", "Sports")
    tab = t.open()
    equal(titles(tab), ["Draw in the final", "Bridge reopens"])
    tab.click("[name=category][value=World]")
    tab.click("#choice button")
    tab.wait("document.querySelector('#choice').textContent.includes('You read: World')")
    equal(titles(tab), ["Bridge reopens"])
    check("UTC" in tab.js("document.querySelector('#messages time').textContent"))
    t.hub.send("Bridge closed again", "World")
    tab.reload()
    equal(titles(tab), ["Bridge closed again", "Bridge reopens"])
    equal(tab.js("document.querySelectorAll('#messages .new').length"), 1)
    equal(tab.js("document.getElementById('connection').textContent"), "")
    t.shot(tab, "without-script")
