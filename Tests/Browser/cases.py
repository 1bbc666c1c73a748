"""The table of cases, and what each of them has at hand."""

import json
import re
import time

CASES = []

# True once a page has followed the one with the mark. Between the two Firefox has an empty one, which is complete as well.
NEXT_PAGE = "!window.isBeforeTheForm && document.readyState === 'complete' && !!document.querySelector('main')"


class Case:
    def __init__(self, name, function, options, profile, categories, slow):
        self.name, self.function, self.options = name, function, options
        self.profile, self.categories, self.slow = profile, categories, slow


def case(name, *options, profile="light", categories=(), slow=False):
    """Adds a case: `options` are the hub's, `profile` is `light`, `dark` or `scriptless`, `categories` are
    announced, and a `slow` case runs in the first round alone.
    """

    def add(function):
        CASES.append(Case(name, function, options, profile, categories, slow))
        return function

    return add


class Try:
    """One case in one browser, with a hub and a visitor of its own."""

    def __init__(self, case, browser, hub, screenshots, axe):
        self.browser, self.hub, self.visitor = browser, hub, browser.new_visitor()
        self.case, self.screenshots, self.axe = case, screenshots, axe
        self.expected = []
        self.visitors = [self.visitor]

    def open(self, path="", width=None, visitor=None):
        """Opens a page of the hub in a new tab."""
        tab = (visitor or self.visitor).open("about:blank", width)
        if self.browser.kind == "chromium":
            if self.case.profile == "scriptless":
                tab.emulate("Emulation.setScriptExecutionDisabled", value=True)
            scheme = "dark" if self.case.profile == "dark" else "light"
            tab.emulate("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        tab.go(path if "://" in path else self.hub.home + path)
        return tab

    def somebody_else(self):
        visitor = self.browser.new_visitor()
        self.visitors.append(visitor)
        return visitor

    def subscribe(self, tab, *categories):
        """Chooses exactly these categories with the form."""
        wanted = set(categories)
        if not tab.js("document.getElementById('choice').open"):
            tab.click("#choice summary")
        for index, name in enumerate(tab.js("[...document.querySelectorAll('[name=category]')].map((i) => i.value)")):
            if tab.js(f"document.querySelectorAll('[name=category]')[{index}].checked") != (name in wanted):
                tab.click("[name=category]", index)
        tab.js("window.isBeforeTheForm = true")
        tab.click("#choice button")
        tab.wait(NEXT_PAGE)

    def reader(self, *categories, width=None):
        """A tab of a reader whose stream is open."""
        tab = self.open(width=width)
        self.subscribe(tab, *categories)
        live(tab)
        return tab

    def shot(self, tab, state):
        """Keeps a picture of a page, for people to look at."""
        tab.screenshot(f"{self.screenshots}/{self.browser.kind}-{state}.png")

    def expect_error(self, pattern):
        """Errors in the console that belong to the case, such as those of a hub that is away."""
        self.expected.append(re.compile(pattern))

    def finish(self):
        for visitor in self.visitors:
            visitor.leave()

    def unexpected(self):
        """Errors in the console that no case has announced."""
        return [text for text in self.browser.errors() if not any(pattern.search(text) for pattern in self.expected)]


def live(tab, seconds=20):
    tab.wait("document.getElementById('connection').textContent === 'Live'", seconds)


def scroll_to(tab, selector):
    """Moves an element to where the mouse can reach it."""
    tab.js(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center', behavior: 'instant'}})")


def follow(tab, selector):
    """Presses a form's button, or a link, and waits for the page that it leads to."""
    scroll_to(tab, selector)
    tab.js("window.isBeforeTheForm = true")
    tab.click(selector)
    tab.wait(NEXT_PAGE)


def titles(tab):
    """The titles on the page, from the top."""
    return tab.js("[...document.querySelectorAll('#messages h3')].map((h) => h.textContent)")


def wait_titles(tab, expected, seconds=15):
    """Waits for exactly these titles, from the top."""
    end = time.monotonic() + seconds
    while titles(tab) != expected:
        if time.monotonic() > end:
            raise AssertionError(f"the page shows {titles(tab)}, not {expected}")
        time.sleep(0.02)


def check(condition, text="not as expected"):
    if not condition:
        raise AssertionError(str(text))


def equal(actual, expected):
    if actual != expected:
        raise AssertionError(f"{actual!r}, not {expected!r}")


def eventually(probe, expected, seconds=15):
    """Waits for a value from outside of the browser."""
    end = time.monotonic() + seconds
    while (actual := probe()) != expected:
        if time.monotonic() > end:
            raise AssertionError(f"{actual!r}, not {expected!r}, after {seconds} s")
        time.sleep(0.05)


# What browsers themselves log of a hub that is away.
AWAY = "can.t establish a connection|connection .* was interrupted|net::ERR_|Failed to load resource"
