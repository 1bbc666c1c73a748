#!/usr/bin/env python3
"""The Windows app of the tutorials "Notify users" and "Secure push", call by call.

    windows.py --backend https://push.example.org:8787 --authority ca.pem --user alice --password-file password \\
        --connection-file full.connection [--to bob]

The hub must run with --emulate: the script reads there what the PC was sent. It ends with 0 if everything went as the app needs it.
"""
import base64, json
import xml.etree.ElementTree as ElementTree

from tutorial import HTTP, Hub, Refused, Settings, arguments, expect, random_hex, run


class RegisterClient:
    """RegisterClient.cs"""

    def __init__(self, endpoint, http, settings):
        self.post_url, self.http, self.settings = f"{endpoint}/api/register", http, settings
        self.statuses = []

    def register(self, handle, tags):
        registration = {"Platform": "wns", "Handle": handle, "Tags": tags}
        status = self.update_registration(self.retrieve_registration_id_or_request_new_one(), registration)
        if status == 410:
            # "regId is expired, deleting from local storage & recreating"
            del self.settings["__NHRegistrationId"]
            status = self.update_registration(self.retrieve_registration_id_or_request_new_one(), registration)
        return status

    def update_registration(self, registration_id, registration):
        reply = self.http.send(
            "PUT", f"{self.post_url}/{registration_id}", self.authorization, json.dumps(registration).encode(),
            "application/json; charset=utf-8",
        )
        self.statuses.append(reply.status)
        return reply.status

    def retrieve_registration_id_or_request_new_one(self):
        if "__NHRegistrationId" not in self.settings:
            # PostAsync with an empty StringContent, and without a handle.
            reply = self.http.send("POST", self.post_url, self.authorization, b"", "text/plain; charset=utf-8")
            if not 200 <= reply.status < 300:
                raise Refused(reply)
            # Substring(1, Length - 2)
            self.settings["__NHRegistrationId"] = reply.text[1:-1]
        return self.settings["__NHRegistrationId"]

    @property
    def authorization(self):
        return f"Basic {self.settings['AuthenticationToken']}"


def log_in(settings, username, password):
    """MainPage.SetAuthenticationTokenInLocalStorage"""
    settings["AuthenticationToken"] = base64.b64encode(f"{username}:{password}".encode()).decode()


def send_push(client, backend, pns, user_tag, message):
    """MainPage.sendPush; apps of this family read a reply that has a body as XML."""
    url = f"{backend}/api/notifications?pns={pns}&to_tag={user_tag}"
    reply = client.http.send("POST", url, client.authorization, f'"{message}"'.encode(), "application/json; charset=utf-8")
    if reply.body and reply.status == 200:
        ElementTree.fromstring(reply.text)
    return reply


def toast_text(push):
    """What Windows shows of a toast."""
    return "".join(ElementTree.fromstring(push["body"]).itertext())


def on_raw_notification(client, backend, content):
    """The background task of "Secure push": the raw notification is the id."""
    reply = client.http.send("GET", f"{backend}/api/notifications/{content}", client.authorization)
    return json.loads(reply.body) if reply.status == 200 else reply.status


def channel_uri():
    """A channel at the emulator; only the path names the device, because the port changes with each start."""
    return f"https://127.0.0.1/wns/{random_hex(16)}"


def main():
    options = arguments(__doc__)
    http = HTTP(options.authority)
    hub = Hub(options, http)
    channel, settings = channel_uri(), Settings()
    client = RegisterClient(options.backend, http, settings)

    log_in(settings, options.user, options.password + "x")
    try:
        client.register(channel, [])
        expect(False, "a wrong password is refused")
    except Refused as error:
        expect(error.status == 401, "a wrong password is answered with 401", error)
    log_in(settings, options.user, options.password)
    expect(client.register(channel, ["sports"]) == 200, "the PC is registered", client.statuses)
    stored = settings["__NHRegistrationId"]
    expect(stored and '"' not in stored, f"its id is stored without quotes: {stored}", stored)

    client.statuses.clear()
    settings["__NHRegistrationId"] = f"{int(random_hex(7), 16) + 1}-{int(random_hex(7), 16) + 1}-1"
    gone = channel_uri()
    expect(client.register(gone, ["news"]) == 200, "an id that is gone is replaced", client.statuses)
    expect(client.statuses == [410, 200], "after 410", client.statuses)
    expect(settings["__NHRegistrationId"] != stored, "by a new one, since no handle was named", settings)

    if options.to != options.user:
        reply = send_push(client, options.backend, "wns", options.to, "hello from Windows")
        expect(reply.status == 200 and reply.body == b"", f"a notification to {options.to} is accepted, with an empty reply", reply.body)
    reply = send_push(client, options.backend, "wns", options.user, "hello to myself & <friends>")
    expect(reply.status == 200 and reply.body == b"", "a notification to the app's own user is accepted, with an empty reply", reply.body)
    for device in [channel, gone]:
        expected = f"From {options.user}: hello to myself & <friends>"
        expect(toast_text(hub.next_push(device, 0)) == expected, "the PC shows it", hub.inbox(device))
    reply = send_push(client, options.backend, "wns", options.user, 'a "quoted" word')
    expect(reply.status == 400, f"JSON that is broken by a quote is refused: {reply.text}", reply.status)

    text = f"confidential {random_hex(8)}"
    body = json.dumps({"to": options.user, "payload": text}).encode()
    reply = http.send("POST", f"{options.backend}/api/notifications", client.authorization, body, "application/json")
    expect(reply.status == 200 and reply.body == b"", "a secure notification is accepted", reply.body)
    push = hub.next_push(channel, 1)
    kind = [header["value"] for header in push["headers"] if header["name"] == "x-wns-type"]
    expect(kind == ["wns/raw"] and push["body"].isdigit(), "the push is raw and has the id alone", push)
    fetched = on_raw_notification(client, options.backend, push["body"])
    expect(isinstance(fetched, dict) and fetched["Payload"] == text, "the PC fetches the text and shows it", fetched)
    again = on_raw_notification(client, options.backend, push["body"])
    expect(again == {**fetched, "Read": True} and not fetched["Read"], "the second fetch says that it was read", again)

    for registration_id in [stored, settings["__NHRegistrationId"]]:
        url = f"{client.post_url}/{registration_id}"
        expect(http.send("DELETE", url, client.authorization).status == 200, "a registration is deleted")


if __name__ == "__main__":
    run(main)
