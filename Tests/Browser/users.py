"""People who sign in, and send to each other by name."""

from cases import case, check, equal, follow, live, scroll_to, titles, wait_titles
from looks import NARROW, PHONE, accessible

ACCOUNT = "document.querySelector('header').textContent.replace(/\\s+/g, ' ')"
HEADING = "document.querySelector('h1').textContent"
RESULTS = "[...document.querySelectorAll('main li')].map((line) => line.textContent.replace(/\\s+/g, ' ').trim())"
HAS_FORM = "document.querySelector('#send-title') !== null"
SECURE = "[name=secure]"
TEXT = "The code is 4711"


def enter_name(tab, name, password):
    """Fills and sends the form of the sign-in."""
    tab.js(f"document.querySelector('[name=user]').value = '{name}'")
    tab.js(f"document.querySelector('[name=password]').value = '{password}'")
    follow(tab, "main form button")


def sign_in(t, name, password, visitor=None):
    """A tab of a user, whose stream is open where there is script."""
    tab = t.open("sign-in", visitor=visitor)
    enter_name(tab, name, password)
    if t.case.profile != "scriptless":
        live(tab)
    check(f"Signed in as {name}" in tab.js(ACCOUNT), tab.js(ACCOUNT))
    return tab


def choose(tab, *platforms):
    """Switches exactly these platforms on."""
    names = tab.js("[...document.querySelectorAll('[name=platform]')].map((box) => box.value)")
    for name in names:
        box = f"[name=platform][value={name}]"
        if tab.js(f"document.querySelector('{box}').checked") != (name in platforms):
            switch(tab, box)


def judge(t, tab, name):
    accessible(t, tab)
    tab.resize(PHONE)
    check(tab.js(NARROW), f"{name} scrolls sideways at 320 px")
    t.shot(tab, f"{name}-320")
    tab.resize(1024)
    t.shot(tab, name)


def fill(tab, user, text):
    tab.js(f"document.querySelector('form.card [name=user]').value = '{user}'")
    tab.js(f"document.querySelector('form.card [name=text]').value = '{text}'")


def switch(tab, selector):
    scroll_to(tab, selector)
    tab.click(selector)


def people(t):
    """Signs in, sends, looks at the devices and signs out, with whatever the page offers without script."""
    t.expect_error("400|401|Failed to load resource")
    has_script = t.case.profile != "scriptless"
    t.hub.add_user("alice", "alice password", "--may-notify")
    t.hub.add_user("bob", "bob password")
    tab = t.open()
    check(not tab.js(HAS_FORM), "nobody is signed in")
    follow(tab, "header a[href$='sign-in']")
    judge(t, tab, "sign-in")
    enter_name(tab, "alice", "a wrong password")
    equal(tab.js("document.querySelector('[role=alert]').textContent"), "The name or the password is wrong.")
    equal(tab.js("document.querySelector('[name=user]').value"), "alice")
    judge(t, tab, "sign-in-refused")
    enter_name(tab, "alice", "alice password")
    check("Signed in as alice" in tab.js(ACCOUNT), tab.js(ACCOUNT))
    check(tab.js(HAS_FORM))
    bob = sign_in(t, "bob", "bob password", visitor=t.somebody_else())
    fill(tab, "bob", "Lunch at <b>noon</b>?")
    choose(tab, "apns", "stream")
    t.shot(tab, "send-to-a-user")
    follow(tab, "form.card button")
    equal(tab.js(HEADING), "Sent to bob")
    results = tab.js(RESULTS)
    check(len(results) == 2 and "skipped" in results[0] and "accepted" in results[1], results)
    judge(t, tab, "sent-to-a-user")
    if not has_script:
        bob.reload()
    wait_titles(bob, ["From alice: Lunch at <b>noon</b>?"])
    t.shot(bob, "for-you")
    # Bob may notify himself alone.
    fill(bob, "alice", "No")
    follow(bob, "form.card button")
    equal(bob.js(HEADING), "Not sent")
    t.shot(bob, "not-sent")
    second = sign_in(t, "alice", "alice password", visitor=t.somebody_else())
    follow(tab, "header a[href$='devices']")
    equal(tab.js("document.querySelectorAll('.devices li').length"), 2)
    check("this browser" in tab.js("document.querySelector('.devices').textContent"))
    judge(t, tab, "devices")
    follow(tab, ".devices form button")
    equal(tab.js("document.querySelectorAll('.devices li').length"), 1)
    if has_script:
        second.wait("!document.querySelector('header').textContent.includes('Signed in')", 30)
    second.reload()
    check("Signed in" not in second.js(ACCOUNT), "a browser that was removed is signed out")
    follow(tab, "header form[action$='sign-out'] button")
    check("Signed in" not in tab.js(ACCOUNT))
    check(not tab.js(HAS_FORM))
    equal(t.hub.command("user", "devices", "alice", "--state", t.hub.state), "")


@case("people sign in, send by name, see their devices and sign out")
def with_script(t):
    people(t)


@case("people sign in, send by name, see their devices and sign out without script", profile="scriptless")
def without_script(t):
    people(t)


@case("a secure message is read by its addressee without script, after the sign-in", profile="scriptless")
def secure_without_script(t):
    t.expect_error("401|Failed to load resource")
    t.hub.add_user("alice", "alice password")
    tab = sign_in(t, "alice", "alice password")
    fill(tab, "alice", TEXT)
    switch(tab, SECURE)
    follow(tab, "form.card button")
    equal(tab.js(HEADING), "Sent to alice")
    tab.go(t.hub.home)
    equal(titles(tab), ["A secure message"])
    check(TEXT not in tab.js("document.body.textContent"))
    link = tab.js("document.querySelector('#messages a').href")
    # Elsewhere a line asks for the sign-in, and the text follows.
    other = t.open(link, visitor=t.somebody_else())
    check("This message is secure. Sign in to read it." in other.js("document.querySelector('main').textContent"))
    check(TEXT not in other.js("document.body.textContent"))
    t.shot(other, "secure-before-sign-in")
    enter_name(other, "alice", "alice password")
    check(TEXT in other.js("document.querySelector('main').textContent"))
    judge(t, other, "secure-after-sign-in")


@case("a secure message is read by its addressee alone")
def secure(t):
    t.expect_error("400|Failed to load resource")
    t.hub.add_user("alice", "alice password", "--may-notify")
    t.hub.add_user("bob", "bob password")
    bob = sign_in(t, "bob", "bob password", visitor=t.somebody_else())
    alice = sign_in(t, "alice", "alice password")
    equal(alice.js(f"document.querySelector('{SECURE}').checked"), False)
    fill(alice, "bob", TEXT)
    switch(alice, SECURE)
    check(alice.js(f"document.querySelector('{SECURE}').checked"))
    t.shot(alice, "secure-switch")
    # To all platforms or to none: some would get the text's id, and others nothing.
    switch(alice, "[name=platform]")
    follow(alice, "form.card button")
    equal(alice.js("document.querySelector('h1').textContent"), "Not sent")
    check("goes to all platforms" in alice.js("document.querySelector('.error').textContent"))
    check(alice.js(f"document.querySelector('{SECURE}').checked"), "the switch is not kept")
    equal(alice.js("document.querySelector('form.card [name=text]').value"), TEXT)
    switch(alice, "[name=platform]")
    follow(alice, "form.card button")
    equal(alice.js("document.querySelector('h1').textContent"), "Sent to bob")
    t.shot(alice, "secure-sent")
    shown = f"[...document.querySelectorAll('#messages .text')].some((e) => e.textContent.includes('{TEXT}'))"
    bob.wait(shown)
    bob.reload()
    live(bob)
    bob.wait(shown)
    check(TEXT not in bob.js("fetch(location.href).then((reply) => reply.text())"), "the text is in the page")
    t.shot(bob, "secure-received")
    link = bob.js("document.querySelector('#messages [data-secure] a').href")
    t.expect_error("404")
    alice.go(link)
    check(TEXT not in alice.js("document.body.textContent"))
    alice.go(t.hub.home)
    live(alice)
    equal(titles(alice), [])
