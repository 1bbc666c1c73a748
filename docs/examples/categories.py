#!/usr/bin/env python3
"""The tutorial "Breaking news", call by call: a phone that has chosen categories, and the back end that sends to all six.

    categories.py --connection-file full.connection [--hub news]

It speaks to the hub itself, as the tutorial's console program does with its connection string. The hub must run with --emulate: the script
reads there what the phone was sent. It ends with 0 if the phone gets the categories of its choice, once each, and no other.
"""
import json
from xml.sax.saxutils import escape

from tutorial import HTTP, Hub, arguments, expect, random_hex, run

CATEGORIES = ["World", "Politics", "Business", "Technology", "Science", "Sports"]
CHOSEN = ["World", "Sports"]
ENTRY = (
    '<?xml version="1.0" encoding="utf-8"?><entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml">'
    '<AppleTemplateRegistrationDescription xmlns:i="http://www.w3.org/2001/XMLSchema-instance" '
    'xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"><Tags>{tags}</Tags>'
    "<DeviceToken>{token}</DeviceToken><BodyTemplate>{template}</BodyTemplate></AppleTemplateRegistrationDescription></content></entry>"
)


def store_categories_and_subscribe(hub, token, categories):
    """Notifications.m: a template registration with the categories as tags."""
    template = escape('{"aps":{"alert":"$(messageParam)"},"category":"$(category)"}')
    entry = ENTRY.format(tags=",".join(categories), token=token, template=template)
    reply = hub.send("POST", "/registrations?api-version=2015-01", entry.encode(), "application/atom+xml;type=entry;charset=utf-8")
    expect(reply.status in (200, 201), f"the phone subscribes to {', '.join(categories)}", reply.text)
    return reply.headers["Content-Location"].rsplit("/", 1)[1].split("?")[0]


def send_template_notification(hub, properties, tag):
    """SendTemplateNotificationAsync of the SDK."""
    headers = {"ServiceBusNotification-Format": "template", "ServiceBusNotification-Tags": tag}
    body = json.dumps(properties).encode()
    reply = hub.send("POST", "/messages/?api-version=2015-01", body, "application/json;charset=utf-8", headers)
    expect(reply.status == 201, f"sent to {tag}", f"{reply.status} {reply.text}")


def main():
    options = arguments(__doc__, backend=False)
    hub, token = Hub(options, HTTP(options.authority)), random_hex(32).upper()
    # One more category that nobody else sends to: when its message has come, the others before it have come too.
    last = f"Last{random_hex(8)}"
    registration_id = store_categories_and_subscribe(hub, token, CHOSEN + [last])
    edition = random_hex(4)
    for category in CATEGORIES + [last]:
        text = f"Breaking {category} News : edition {edition}"
        send_template_notification(hub, {"messageParam": text, "category": category}, category)
    for seen in range(len(CHOSEN) + 1):
        hub.next_push(token, seen)
    shown = [json.loads(push["body"]) for push in hub.inbox(token)]
    expected = [
        {"aps": {"alert": f"Breaking {category} News : edition {edition}"}, "category": category}
        for category in sorted(CHOSEN + [last])
    ]
    # Other senders may be at work on the same hub.
    shown = [push for push in shown if push["aps"]["alert"].endswith(edition)]
    expect(sorted(shown, key=lambda push: push["category"]) == expected, "the phone shows each of its categories once", shown)
    reply = hub.send("DELETE", f"/registrations/{registration_id}?api-version=2015-01", headers={"If-Match": "*"})
    expect(reply.status == 200, "the registration is deleted", reply.text)


if __name__ == "__main__":
    run(main)
