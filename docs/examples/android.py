#!/usr/bin/env python3
"""The Android app of the tutorials "Notify users" and "Secure push", call by call.

    android.py --backend https://push.example.org:8787 --authority ca.pem --user alice --password-file password \\
        --connection-file full.connection [--to bob]

The hub must run with --emulate: the script reads there what the phone was sent. It ends with 0 if everything went as the app needs it.
The tutorial says "gcm", whose service has ended; a hub delivers to devices of that platform only with --gcm-through-fcm. Apps say "fcmv1".
"""
import base64, json

from tutorial import HTTP, Hub, Refused, Settings, arguments, expect, random_hex, run

REGID_SETTING_NAME = "ANHRegistrationId"
PLATFORM = "fcmv1"


class RegisterClient:
    """RegisterClient.java"""

    def __init__(self, endpoint, http, settings):
        self.endpoint, self.http, self.settings = f"{endpoint}/api/register", http, settings
        self.authorization_header = None
        self.statuses = []

    def register(self, handle, tags):
        registration_id = self.retrieve_registration_id_or_request_new_one(handle)
        device_info = {"Platform": PLATFORM, "Handle": handle, "Tags": tags}
        reply = self.upsert_registration(registration_id, device_info)
        if reply.status == 410:
            # The id goes; the app asks for a new one.
            del self.settings[REGID_SETTING_NAME]
            registration_id = self.retrieve_registration_id_or_request_new_one(handle)
            reply = self.upsert_registration(registration_id, device_info)
        if reply.status != 200:
            raise Refused(reply)

    def upsert_registration(self, registration_id, device_info):
        reply = self.http.send(
            "PUT", f"{self.endpoint}/{registration_id}", f"Basic {self.authorization_header}", json.dumps(device_info).encode(),
            "application/json",
        )
        self.statuses.append(reply.status)
        return reply

    def retrieve_registration_id_or_request_new_one(self, handle):
        if REGID_SETTING_NAME in self.settings:
            return self.settings[REGID_SETTING_NAME]
        reply = self.http.send("POST", f"{self.endpoint}?handle={handle}", f"Basic {self.authorization_header}")
        if reply.status != 200:
            raise Refused(reply)
        # substring(1, length - 1)
        self.settings[REGID_SETTING_NAME] = reply.text[1:-1]
        return self.settings[REGID_SETTING_NAME]


def authorization_header(username, password):
    """MainActivity.getAuthorizationHeader, with Base64.NO_WRAP."""
    return base64.b64encode(f"{username}:{password}".encode()).decode()


def send_push(client, backend, pns, user_tag, message):
    """MainActivity.sendPush; its caller puts quotes around the text. Anything but 200 is an error."""
    uri = f"{backend}/api/notifications?pns={pns}&to_tag={user_tag}"
    reply = client.http.send("POST", uri, f"Basic {client.authorization_header}", f'"{message}"'.encode(), "application/json")
    if reply.status != 200:
        raise Refused(reply)


def data(push):
    """The Bundle that the app's receiver gets."""
    body = json.loads(push["body"])
    return body.get("message", body)["data"]


def on_receive(client, backend, bundle):
    """The receiver of "Secure push"."""
    reply = client.http.send(
        "GET", f"{backend}/api/notifications/{bundle['secureId']}", f"Basic {client.authorization_header}"
    )
    if reply.status != 200:
        raise Refused(reply)
    return json.loads(reply.body)["Payload"]


def main():
    options = arguments(__doc__)
    http = HTTP(options.authority)
    hub, handle = Hub(options, http), f"android:{random_hex(40)}_-x"
    client = RegisterClient(options.backend, http, Settings())

    client.authorization_header = authorization_header("nobody-of-this-name", options.password)
    try:
        client.register(handle, [])
        expect(False, "an unknown user is refused")
    except Refused as error:
        expect(error.status == 401, "an unknown user gets no registration id", error)

    client.authorization_header = authorization_header(options.user, options.password)
    client.register(handle, ["sports"])
    stored = client.settings[REGID_SETTING_NAME]
    expect(client.statuses == [200] and stored and '"' not in stored, f"the phone is registered; its id is {stored}", client.statuses)

    # A phone whose registration is gone forgets its id and asks for a new one.
    client.statuses.clear()
    client.settings[REGID_SETTING_NAME] = f"{int(random_hex(7), 16) + 1}-{int(random_hex(7), 16) + 1}-1"
    client.register(handle, ["news"])
    expect(client.statuses == [410, 200], "an id that is gone is replaced after 410", client.statuses)
    expect(client.settings[REGID_SETTING_NAME] == stored, "by the one that this handle has", client.settings)

    if options.to != options.user:
        send_push(client, options.backend, PLATFORM, options.to, "hello from Android")
        print(f"ok: a notification to {options.to} is accepted")
    send_push(client, options.backend, PLATFORM, options.user, "hello to myself")
    expected = f"From {options.user}: hello to myself"
    expect(data(hub.next_push(handle, 0))["message"] == expected, "the phone shows a notification", hub.inbox(handle))
    try:
        send_push(client, options.backend, PLATFORM, options.user, 'a "quoted" word')
        expect(False, "JSON that is broken by a quote is refused")
    except Refused as error:
        expect(error.status == 400, f"JSON that is broken by a quote is refused: {error}", error)

    text = f"confidential {random_hex(8)}"
    reply = http.send(
        "POST", f"{options.backend}/api/notifications", f"Basic {client.authorization_header}", json.dumps(text).encode(),
        "application/json",
    )
    expect(reply.status == 200 and reply.body == b"", "a secure notification is accepted", reply.body)
    push = hub.next_push(handle, 1)
    expect(list(data(push)) == ["secureId"] and text not in push["body"], "the push has an id and nothing else", push["body"])
    expect(on_receive(client, options.backend, data(push)) == text, "the phone fetches the text and shows it")

    url = f"{client.endpoint}/{stored}"
    expect(http.send("DELETE", url, f"Basic {client.authorization_header}").status == 200, "the registration is deleted")


if __name__ == "__main__":
    run(main)
