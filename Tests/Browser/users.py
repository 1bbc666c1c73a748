"""People who sign in, and send to each other by name."""

from cases import case, check, equal, follow, live, scroll_to, titles

SECURE = "[name=secure]"
TEXT = "The code is 4711"


def sign_in(t, name, password, visitor=None):
    """A tab of a user whose stream is open."""
    tab = t.open("sign-in", visitor=visitor)
    tab.js(f"document.querySelector('[name=user]').value = '{name}'")
    tab.js(f"document.querySelector('[name=password]').value = '{password}'")
    follow(tab, "main form button")
    live(tab)
    check(f"Signed in as {name}" in tab.js("document.body.textContent.replace(/\\s+/g, ' ')"))
    return tab


def fill(tab, user, text):
    tab.js(f"document.querySelector('form.card [name=user]').value = '{user}'")
    tab.js(f"document.querySelector('form.card [name=text]').value = '{text}'")


def switch(tab, selector):
    scroll_to(tab, selector)
    tab.click(selector)


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
