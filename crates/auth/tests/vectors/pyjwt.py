"""Prints a token of every algorithm, made by PyJWT, with the key that verifies it."""

import json
import secrets
from importlib.metadata import version

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

CLAIMS = {
    "iss": "https://issuer.example",
    "aud": ["orders", "billing"],
    "sub": "zoë",
    "iat": 1_700_000_000,
    "nbf": 1_700_000_000,
    "exp": 4_102_444_800,
}


def shared(length):
    secret = secrets.token_urlsafe(length)
    return secret, secret


def pair(private):
    public = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return private, public.decode()


def keys():
    yield "HS256", shared(32)
    yield "HS384", shared(48)
    yield "HS512", shared(64)
    for name in ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"):
        yield name, pair(rsa.generate_private_key(public_exponent=65537, key_size=2048))
    yield "ES256", pair(ec.generate_private_key(ec.SECP256R1()))
    yield "ES384", pair(ec.generate_private_key(ec.SECP384R1()))
    yield "EdDSA", pair(ed25519.Ed25519PrivateKey.generate())


def main():
    tokens = []
    for name, (private, public) in keys():
        kid = f"py-{name}"
        token = jwt.encode(CLAIMS, private, algorithm=name, headers={"kid": kid})
        tokens.append({"algorithm": name, "kid": kid, "key": public, "token": token})
    maker = f"PyJWT {version('PyJWT')}, cryptography {version('cryptography')}"
    print(json.dumps({"maker": maker, "claims": CLAIMS, "tokens": tokens}, indent=2))


main()
