"""Verifies tokens and encrypted messages, one JSON object a line on standard input.

    {"kind": "vapid", "token": JWT, "key": the 65-byte public key, "audience": ORIGIN}
    {"kind": "content", "body": …, "privateKey": the browser's, 32 bytes, "auth": …, "plaintext": …}
    {"kind": "apns", "token": JWT, "publicKey": PEM}
    {"kind": "google", "assertion": JWT, "publicKey": PEM}

Bytes are base64url without padding. Exits with 1 and a line that says what is wrong if anything is.
"""

import base64
import json
import sys
import time

import http_ece
import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from py_vapid import Vapid02


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def check(condition, reason):
    if not condition:
        raise ValueError(reason)


def vapid(line):
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decoded(line["key"]))
    required = {"require": ["aud", "exp", "sub"]}
    claims = jwt.decode(line["token"], key, algorithms=["ES256"], audience=line["audience"], options=required)
    check(jwt.get_unverified_header(line["token"]).get("typ") == "JWT", "'typ' is not JWT")
    check(type(claims["exp"]) is int, "'exp' is not a whole number")
    check(claims["exp"] <= time.time() + 86_400, "'exp' is more than 24 hours ahead")
    check(claims["sub"].startswith(("mailto:", "https:")), "'sub' is not a mailto: or https: address")
    # py-vapid takes the last space for the end of the scheme.
    check(Vapid02.verify(f"vapid t={line['token']},k={line['key']}"), "py-vapid does not verify the signature")


def content(line):
    key = ec.derive_private_key(int.from_bytes(decoded(line["privateKey"]), "big"), ec.SECP256R1())
    text = http_ece.decrypt(
        decoded(line["body"]), private_key=key, auth_secret=decoded(line["auth"]), version="aes128gcm"
    )
    check(text == decoded(line["plaintext"]), "http-ece reads another text")


def apns(line):
    header = jwt.get_unverified_header(line["token"])
    check(header.get("kid"), "'kid' is missing")
    claims = jwt.decode(line["token"], line["publicKey"], algorithms=["ES256"], options={"require": ["iss", "iat"]})
    check(type(claims["iat"]) is int, "'iat' is not a whole number")
    check(abs(time.time() - claims["iat"]) < 3_600, "'iat' is more than an hour away")


def google(line):
    claims = jwt.decode(
        line["assertion"],
        line["publicKey"],
        algorithms=["RS256"],
        options={"require": ["iss", "aud", "iat", "exp", "scope"], "verify_aud": False},
    )
    check(type(claims["iat"]) is int and type(claims["exp"]) is int, "'iat' or 'exp' is not a whole number")
    check(0 < claims["exp"] - claims["iat"] <= 3_600, "it is not valid for at most an hour")


def main():
    kinds = {"vapid": vapid, "content": content, "apns": apns, "google": google}
    failures = 0
    count = 0
    for count, text in enumerate(sys.stdin, 1):
        kind = "?"
        try:
            line = json.loads(text)
            kind = line["kind"]
            check(kind in kinds, "the kind is unknown")
            kinds[kind](line)
        except Exception as error:
            failures += 1
            print(f"line {count}, {kind}: {type(error).__name__}: {error}")
    if not count:
        print("line 0: nothing to verify")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
