"""Reads a feed with feedparser, or a JSON Feed with the standard library, and compares it with what it should say.

Standard input is a JSON object: "type" (rss, atom, json), "text", "self", "hub" ("" without one) and "entries", objects
with "id", "title", "link", "author", "published" and "updated" ("" or absent for nothing).
Exits with 1 and a line that says what is wrong if anything is.
"""

import calendar
import datetime
import json
import sys

import feedparser


def check(found, expected, what):
    if found != expected:
        raise ValueError(f"{what} is {found!r}, not {expected!r}")


def seconds(text):
    return int(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())


def xml(question):
    feed = feedparser.parse(question["text"].encode("utf-8"))
    if feed.bozo:
        raise ValueError(f"not well-formed: {feed.bozo_exception!r}")
    check(feed.version, {"rss": "rss20", "atom": "atom10"}[question["type"]], "the version")
    links = {link.rel: link.href for link in feed.feed.links}
    check(links.get("self"), question["self"], "the feed's own address")
    check(links.get("hub", ""), question["hub"], "the hub")
    check(len(feed.entries), len(question["entries"]), "the number of entries")
    for entry, expected in zip(feed.entries, question["entries"]):
        check(entry.id, expected["id"], "the id")
        html = entry.title_detail.type != "text/plain"
        title = expected["title"]
        if "<" not in title:
            check(entry.title.replace("&amp;", "&") if html else entry.title, title, "the title")
        elif html and "<script" in entry.title:
            raise ValueError(f"the title is markup: {entry.title!r}")
        # feedparser takes the id for the link of an entry of Atom without one.
        if expected.get("link") or entry.get("link", "") != entry.id:
            check(entry.get("link", ""), expected.get("link", ""), "the link")
        if expected.get("author"):
            check(entry.author, expected["author"], "the author")
        for name in ("published", "updated"):
            if expected.get(name):
                check(calendar.timegm(entry[f"{name}_parsed"]), seconds(expected[name]), name)
        if entry.get("summary_detail", {}).get("type") == "text/html" and "<img" in entry.get("summary", ""):
            raise ValueError(f"the summary is markup: {entry.summary!r}")


def json_feed(question):
    feed = json.loads(question["text"])
    check(feed["version"], "https://jsonfeed.org/version/1.1", "the version")
    check(feed["feed_url"], question["self"], "the feed's own address")
    check([hub["url"] for hub in feed.get("hubs", [])], [question["hub"]] if question["hub"] else [], "the hubs")
    check(len(feed["items"]), len(question["entries"]), "the number of entries")
    for item, expected in zip(feed["items"], question["entries"]):
        check(item["id"], expected["id"], "the id")
        check(item["title"], expected["title"], "the title")
        check(item.get("url", ""), expected.get("link", ""), "the link")
        if not isinstance(item["content_text"], str):
            raise ValueError("an item has no content")
        for name, member in (("published", "date_published"), ("updated", "date_modified")):
            check(seconds(item[member]), seconds(expected[name]), name)


try:
    question = json.load(sys.stdin)
    (json_feed if question["type"] == "json" else xml)(question)
except (KeyError, ValueError) as error:
    print(error if isinstance(error, ValueError) else f"missing: {error}")
    sys.exit(1)
