"""Verifies the tokens made here with PyJWT; prints who accepted how many."""

import json
import sys
from importlib.metadata import version

import jwt

here = sys.argv[1]
keys = json.load(open(f"{here}/keys.json"))
made = json.load(open(f"{here}/tokens.json"))
for token in made["tokens"]:
    name = token["algorithm"]
    claims = jwt.decode(
        token["token"],
        keys[name]["public"],
        algorithms=[name],
        audience="billing",
        issuer="https://issuer.example",
        options={"require": ["exp", "iat", "nbf", "iss", "aud"]},
    )
    assert claims == made["claims"], name
    assert jwt.get_unverified_header(token["token"]) == {"alg": name, "typ": "JWT", "kid": "k1"}, name
print(f"PyJWT {version('PyJWT')}: {len(made['tokens'])} accepted")
