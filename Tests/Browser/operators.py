"""The operator's view."""

from cases import case, check, equal, follow
from looks import NARROW, PHONE, accessible

CELLS = "[...document.querySelectorAll('tbody tr td')].map((cell) => cell.textContent)"


def operate(t):
    """A tab with a session of the operator's view."""
    tab = t.open(t.hub.invite("--operator"))
    follow(tab, "main form button")
    return tab


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
    check(cells[3].startswith("silenced until 2"), cells)
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
