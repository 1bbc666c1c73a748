#!/usr/bin/env python3
"""The iOS app of the tutorials "Notify users" and "Secure push", call by call.

    ios.py --backend https://push.example.org:8787 --authority ca.pem --user alice --password-file password \\
        --connection-file full.connection [--to bob]

The hub must run with --emulate: the script reads there what the phone was sent. It ends with 0 if everything went as the app needs it.
"""
import base64, json

from tutorial import HTTP, Hub, Refused, Settings, arguments, expect, random_hex, run

REGISTRATION_ID = "RegistrationIdLocalStorageKey"


class RegisterClient:
    """RegisterClient.m"""

    def __init__(self, endpoint, http, defaults):
        self.endpoint, self.http, self.defaults = endpoint, http, defaults
        # What stringWithFormat:@"Basic %@" makes of nil.
        self.authentication_header = "(null)"
        self.statuses = []

    def create_authentication_header(self, username, password):
        self.authentication_header = base64.b64encode(f"{username}:{password}".encode()).decode()

    def register(self, token, tags, retry=True):
        # [[token description] uppercaseString] without "<", ">" and spaces.
        device_token = token.hex().upper()
        registration_id = self.retrieve_or_request_registration_id(device_token)
        status = self.upsert(registration_id, device_token, tags)
        self.statuses.append(status)
        if status == 200:
            return True
        # The id stays in the settings, so that the second attempt sends the same one.
        return status == 410 and retry and self.register(token, tags, retry=False)

    def retrieve_or_request_registration_id(self, device_token):
        if REGISTRATION_ID in self.defaults:
            return self.defaults[REGISTRATION_ID]
        reply = self.http.send("POST", f"{self.endpoint}/api/register?handle={device_token}", self.authorization)
        if reply.status != 200:
            raise Refused(reply)
        # substringWithRange:NSMakeRange(1, length - 2), whatever the first and last character are.
        self.defaults[REGISTRATION_ID] = reply.text[1:-1]
        return self.defaults[REGISTRATION_ID]

    def upsert(self, registration_id, device_token, tags):
        body = json.dumps({"Platform": "apns", "Handle": device_token, "Tags": tags}, indent=2).encode()
        url = f"{self.endpoint}/api/register/{registration_id}"
        return self.http.send("PUT", url, self.authorization, body, "application/json").status

    @property
    def authorization(self):
        return f"Basic {self.authentication_header}"


def send_notification(client, pns, username_tag, text):
    """ViewController.m: the JSON is made by hand, @"\\"%@\\""."""
    url = f"{client.endpoint}/api/notifications?pns={pns}&to_tag={username_tag}"
    return client.http.send("POST", url, client.authorization, f'"{text}"'.encode(), "application/json;charset=utf-8")


def int_value(value):
    """[value intValue]: the digits that a string begins with, else 0; a number is one already."""
    digits = ""
    for character in str(value):
        if not character.isdigit():
            break
        digits += character
    return min(int(digits or 0), 2**31 - 1)


def did_receive_remote_notification(client, user_info):
    """AppDelegate.m of "Secure push": fetches the payload that the push names."""
    payload_id = int_value(user_info.get("secureId"))
    reply = client.http.send("GET", f"{client.endpoint}/api/notifications/{payload_id}", client.authorization)
    return payload_id, json.loads(reply.body) if reply.status == 200 else reply.status


def main():
    options = arguments(__doc__)
    http = HTTP(options.authority)
    hub, token = Hub(options, http), bytes.fromhex(random_hex(32))
    client = RegisterClient(options.backend, http, Settings())

    try:
        client.register(token, [])
        expect(False, "a request before the login is refused")
    except Refused as error:
        expect(error.status == 401, "before the login 'Basic (null)' is answered with 401", error)

    client.create_authentication_header(options.user, options.password)
    expect(client.register(token, ["sports"]), "the phone is registered", client.statuses)
    stored = client.defaults[REGISTRATION_ID]
    expect(stored and '"' not in stored and stored == stored.strip(), f"its id is stored without quotes: {stored}", stored)
    expect(client.register(token, ["news"]), "the stored id is used again", client.statuses)
    expect(client.defaults[REGISTRATION_ID] == stored, "and stays")

    # A phone whose registration is gone keeps its id and sends it again.
    client.statuses.clear()
    client.defaults[REGISTRATION_ID] = f"{int(random_hex(7), 16) + 1}-{int(random_hex(7), 16) + 1}-1"
    token = bytes.fromhex(random_hex(32))
    expect(client.register(token, []), "an id that is gone is taken the second time", client.statuses)
    expect(client.statuses == [410, 200], "after 410", client.statuses)

    device = token.hex().upper()
    if options.to != options.user:
        reply = send_notification(client, "apns", options.to, "hello from iOS")
        expect(reply.status == 200 and reply.body == b"", f"a notification to {options.to} is accepted, with an empty reply", reply.body)
    reply = send_notification(client, "apns", options.user, "hello to myself")
    expect(reply.status == 200 and reply.body == b"", "a notification to the app's own user is accepted, with an empty reply", reply.body)
    expected = json.dumps({"aps": {"alert": f"From {options.user}: hello to myself"}}, separators=(",", ":"))
    expect(hub.next_push(device, 0)["body"] == expected, "the phone shows it", hub.inbox(device))
    reply = send_notification(client, "apns", options.user, 'a "quoted" word')
    expect(reply.status == 400 and "JSON" in reply.text, f"JSON that is broken by a quote is refused: {reply.text}", reply.status)

    reply = http.send("POST", f"{options.backend}/api/notifications", client.authorization)
    expect(reply.status == 200 and reply.body == b"", "a secure notification is accepted", reply.body)
    push = hub.next_push(device, 1)
    user_info = json.loads(push["body"])
    expect(user_info["aps"] == {"content-available": 1} and isinstance(user_info["secureId"], str), "the push is silent", user_info)
    headers = {header["name"]: header["value"] for header in push["headers"]}
    expect(headers["apns-push-type"] == "background" and headers["apns-priority"] == "5", "and a background push", headers)
    payload_id, fetched = did_receive_remote_notification(client, user_info)
    expect(isinstance(fetched, dict) and fetched["Id"] == payload_id, "its text is fetched", fetched)
    expect(fetched["Read"] is False, f"for the first time; the phone shows: {fetched['Payload']}", fetched)
    expect(fetched["Payload"] not in push["body"], "which no push service has seen")
    _, none = did_receive_remote_notification(client, {"secureId": "none"})
    expect(none == 404, "an id that is not a number finds nothing", none)

    for registration_id in [stored, client.defaults[REGISTRATION_ID]]:
        url = f"{options.backend}/api/register/{registration_id}"
        expect(http.send("DELETE", url, client.authorization).status == 200, "a registration is deleted")


if __name__ == "__main__":
    run(main)
