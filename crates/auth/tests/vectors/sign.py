"""Signs with the providers' Python libraries, and with openssl for providers that have none."""

import hashlib
import json
import pathlib
import subprocess
import sys
from datetime import datetime, timezone
from importlib.metadata import version

import slack_sdk.signature
import stripe
from standardwebhooks.webhooks import Webhook

HERE = pathlib.Path(__file__).parent
INPUTS = json.loads((HERE / "inputs.json").read_text())
GOLDEN = pathlib.Path(sys.argv[1])


def raw(body):
    if "hex" in body:
        return bytes.fromhex(body["hex"])
    if "repeat" in body:
        return (body["repeat"][0] * body["repeat"][1]).encode()
    return body["text"].encode()


def cases(binary=False):
    """Every body with three of the secrets, each time at another instant."""
    number = 0
    for body in INPUTS["bodies"] + (INPUTS["binary"] if binary else []):
        for _ in range(3):
            secret = INPUTS["secrets"][number % len(INPUTS["secrets"])]
            offset = INPUTS["offsets"][number // 2 % len(INPUTS["offsets"])]
            number += 1
            yield secret, INPUTS["now"] + offset, body


def write(name, origin, config, vectors):
    text = json.dumps({"origin": origin, "config": config, "vectors": vectors}, ensure_ascii=False, indent=1)
    (GOLDEN / f"{name}.json").write_text(text + "\n")
    print(f"{name}: {len(vectors)} vectors")


def vector(secret, body, headers):
    return {"secret": secret, "now": INPUTS["now"], "headers": headers, "body": body}


def openssl(algorithm, secret, message):
    key = f"hexkey:{secret.encode().hex()}"
    command = ["openssl", "dgst", f"-{algorithm}", "-mac", "HMAC", "-macopt", key, "-r"]
    return subprocess.run(command, input=message, capture_output=True, check=True).stdout.split()[0].decode()


def stripe_vectors():
    for secret, stamp, body in cases():
        header = stripe.WebhookSignature.generate_signature_header(raw(body).decode(), secret, stamp)
        yield vector(secret, body, {"stripe-signature": header})


class At(slack_sdk.signature.Clock):
    def now(self):
        return INPUTS["now"]


def slack_vectors():
    published = {
        "secret": "8f742231b10e8888abcd99yyyzzz85a5",
        "stamp": 1531420618,
        "body": "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V"
        "&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text="
        "&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN"
        "&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
        "signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
    }
    found = vector(published["secret"], {"text": published["body"]}, {})
    found["now"] = published["stamp"] + 60
    found["published"] = "the provider's documentation, Verifying requests from Slack"
    found["headers"] = {
        "x-slack-request-timestamp": str(published["stamp"]),
        "x-slack-signature": published["signature"],
    }
    yield found
    for secret, stamp, body in cases():
        verifier = slack_sdk.signature.SignatureVerifier(secret, At())
        signature = verifier.generate_signature(timestamp=str(stamp), body=raw(body))
        headers = {"x-slack-request-timestamp": str(stamp), "x-slack-signature": signature}
        assert verifier.is_valid_request(raw(body), headers)
        yield vector(secret, body, headers)


def zoom_vectors():
    for secret, stamp, body in cases(binary=True):
        signature = openssl("sha256", secret, f"v0:{stamp}:".encode() + raw(body))
        headers = {"x-zm-request-timestamp": str(stamp), "x-zm-signature": f"v0={signature}"}
        yield vector(secret, body, headers)


def webex_vectors():
    for secret, _, body in cases(binary=True):
        yield vector(secret, body, {"x-spark-signature": openssl("sha1", secret, raw(body))})


def standard_vectors():
    for number, (secret, stamp, body) in enumerate(cases()):
        webhook = Webhook(secret.encode())
        at = datetime.fromtimestamp(stamp, timezone.utc)
        headers = {
            "webhook-id": f"msg_{number}",
            "webhook-timestamp": str(stamp),
            "webhook-signature": webhook.sign(f"msg_{number}", at, raw(body).decode()),
        }
        yield vector(secret, body, headers)


OPENSSL = subprocess.run(["openssl", "version"], capture_output=True, check=True, text=True).stdout.strip()
OPENSSL = " ".join(OPENSSL.split()[:2])
STANDARD = {
    "header": "webhook-signature",
    "signature_prefix": "v1,",
    "encoding": "base64",
    "message": "{header:webhook-id}.{header:webhook-timestamp}.{body}",
    "timestamp": "webhook-timestamp",
    "tolerance_secs": 300,
}

write(
    "stripe-python",
    f"PyPI stripe {version('stripe')}, WebhookSignature.generate_signature_header",
    {"preset": "stripe"},
    list(stripe_vectors()),
)
write(
    "slack-python",
    f"PyPI slack_sdk {version('slack_sdk')}, SignatureVerifier.generate_signature",
    {"preset": "slack"},
    list(slack_vectors()),
)
write(
    "standard-webhooks",
    f"PyPI standardwebhooks {version('standardwebhooks')}, Webhook.sign with the bytes of the secret",
    STANDARD,
    list(standard_vectors()),
)
# zoom-node holds what the provider's library takes.
write(
    "zoom",
    f"{OPENSSL}, dgst -sha256 over the documented base string",
    {"preset": "zoom"},
    list(zoom_vectors()),
)
write("webex", f"{OPENSSL}, dgst -sha1 over the body, as documented", {"preset": "webex"}, list(webex_vectors()))
