"""Prints a key pair for every algorithm: private keys in each PEM they come in, and what verifies.

Writes a token without an expiry, signed with the first of them, to the path given."""

import json
import secrets
import sys

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)


def shared(length):
    secret = secrets.token_urlsafe(length)
    return {"private": [secret], "public": secret}


def pair(private, *formats):
    public = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    forms = [private.private_bytes(Encoding.PEM, form, NoEncryption()).decode() for form in formats]
    return {"private": forms, "public": public.decode()}


def main():
    both = (PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL)
    rsa_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    keys = {"HS256": shared(32), "HS384": shared(48), "HS512": shared(64)}
    for name in ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"):
        keys[name] = pair(rsa_key, *both)
    keys["ES256"] = pair(ec.generate_private_key(ec.SECP256R1()), *both)
    keys["ES384"] = pair(ec.generate_private_key(ec.SECP384R1()), *both)
    keys["EdDSA"] = pair(ed25519.Ed25519PrivateKey.generate(), PrivateFormat.PKCS8)
    with open(sys.argv[1], "w") as endless:
        print(jwt.encode({"sub": "endless"}, keys["HS256"]["public"], algorithm="HS256"), file=endless)
    print(json.dumps(keys, indent=2))


main()
