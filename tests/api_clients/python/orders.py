"""Usage: orders.py EXAMPLE TARGET. Copies the project of orders for a run without an issuer, and prints a token of its
callers."""
import base64
import hashlib
import hmac
import json
import shutil
import sys
import time
from pathlib import Path

KEY = "a-symmetric-key-of-32-bytes-or-so"


def part(content):
    return base64.urlsafe_b64encode(content).rstrip(b"=")


def token():
    claims = {"iss": "https://id.shop.example", "aud": "orders-api", "sub": "ada",
              "scope": "orders:read orders:write", "exp": int(time.time()) + 86400}
    signed = part(b'{"alg":"HS256"}') + b"." + part(json.dumps(claims).encode())
    return signed + b"." + part(hmac.new(KEY.encode(), signed, hashlib.sha256).digest())


example, target = map(Path, sys.argv[1:])
shutil.copytree(example, target)
for file in (target / "channels").glob("*.json"):
    channel = json.loads(file.read_text())
    config = channel["config"]
    if "auth" in config:
        config["auth"].pop("jwks_url")
        config["auth"]["algorithms"] = ["HS256"]
        config["auth"]["jwt_keys"] = [{"algorithm": "HS256", "key": KEY}]
    config.pop("principal_rate_limit", None)
    file.write_text(json.dumps(channel))
print(token().decode())
