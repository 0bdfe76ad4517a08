"""Usage: check.py URL KEY FOLDER. Signs webhooks with the libraries for Python, has the service sign some, and writes those
to FOLDER/sent.json, for other libraries. FOLDER has the certificate of an endpoint."""
import json
import os
import ssl
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import stripe
from slack_sdk.signature import SignatureVerifier
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

URL, KEY, FOLDER = sys.argv[1:]
PRESETS = {"standard_webhooks": "STANDARD", "stripe": "STRIPE", "github": "GITHUB", "slack": "SLACK", "shopify": "SHOPIFY"}
SECRETS = {preset: os.environ[f"{name}_SECRET"] for preset, name in PRESETS.items()}
# What Shopify sends with every webhook, which its library asks for.
SHOPIFY = {"x-shopify-topic": "orders/create", "x-shopify-shop-domain": "shop.myshopify.com",
           "x-shopify-api-version": "2025-10", "x-shopify-webhook-id": "w-sent"}
# What receivers got: a name, headers and body.
SENT = []
ARRIVED = threading.Condition()
PATIENCE = 30


class Receiver(BaseHTTPRequestHandler):
    """Takes what the service sends, and echoes its challenges."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        with ARRIVED:
            SENT.append({"name": self.path.strip("/"), "headers": headers, "body": body.decode()})
            ARRIVED.notify_all()
        answer = json.dumps({"challenge": json.loads(body).get("data", {}).get("challenge")}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def start_receiver(is_encrypted):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    if is_encrypted:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{FOLDER}/receiver.pem", f"{FOLDER}/receiver.key")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


def call(method, path, body=b"", headers=()):
    request = urllib.request.Request(URL + path, body, dict(headers), method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"null")


def administer(method, path, document, expected):
    headers = {"content-type": "application/json", "x-api-key": KEY}
    status, body = call(method, f"/api/v1/admin/{path}", json.dumps(document).encode(), headers)
    assert status == expected, body
    return body["data"]


def serve(name, config, task):
    administer("POST", "workflows", {"workflow_id": name, "name": name, "tasks": [
        {"id": "t", "name": "t", "function": task}]}, 201)
    administer("PATCH", f"workflows/{name}/status", {"status": "active"}, 200)
    administer("POST", "channels", {
        "channel_id": name, "name": name, "channel_type": "sync", "protocol": "rest", "methods": ["POST"],
        "route_pattern": f"/{name}", "workflow_id": name, "config": config}, 201)
    administer("PATCH", f"channels/{name}/status", {"status": "active"}, 200)


def prepare():
    """Serves a channel that shows the form that it read, and one for each preset that sends what it got."""
    copy = {"name": "map", "input": {"mappings": [{"path": "data.form", "logic": {"var": "payload"}}]}}
    auth = {"mode": "hmac", "preset": "slack", "secret": "env://SLACK_SECRET"}
    serve("commands", {"auth": auth, "request": {"body_mode": "payload"}}, copy)
    port = start_receiver(False)
    for preset, name in PRESETS.items():
        administer("POST", "connectors", {"id": preset, "name": preset, "connector_type": "http", "config": {
            "url": f"http://127.0.0.1:{port}", "allow_private_urls": True,
            "sign": {"preset": preset, "secret": f"env://{name}_SECRET"}}}, 201)
        serve(f"send-{preset}", {"request": {"body_mode": "payload"}}, {"name": "http_call", "input": {
            "connector": preset, "method": "POST", "path": f"/{preset}", "headers": SHOPIFY,
            "body_logic": {"var": "payload"}}})


def post(channel, body, headers):
    return call("POST", f"/api/v1/data/{channel}", body.encode(), headers)


def check_channel(channel, body, headers, expected):
    """Sends a signed body, then the same with another byte, which is refused."""
    status, answer = post(channel, body, headers)
    assert status == expected, (channel, status, answer)
    status, refused = post(channel, body + " ", headers)
    assert (status, refused["error"]["code"]) == (401, "UNAUTHORIZED"), (channel, refused)
    return answer


def sign_for_slack(body, content_type):
    stamp = str(int(time.time()))
    signature = SignatureVerifier(SECRETS["slack"]).generate_signature(timestamp=stamp, body=body)
    return {"content-type": content_type, "x-slack-request-timestamp": stamp, "x-slack-signature": signature}


def check_incoming():
    json_type = {"content-type": "application/json"}
    body, now = '{"type": "invoice.paid", "data": {"place": "Žofín"}}', datetime.now(tz=timezone.utc)
    signature = Webhook(SECRETS["standard_webhooks"]).sign("msg-py", now, body)
    stamped = {"webhook-id": "msg-py", "webhook-timestamp": str(int(now.timestamp())), "webhook-signature": signature}
    answer = check_channel("webhooks/standard", body, json_type | stamped, 202)
    assert answer["trace_id"], answer
    status, repeated = post("webhooks/standard", body, json_type | stamped)
    assert (status, repeated["status"]) == (200, "duplicate"), repeated

    body, stamp = '{"id": "evt-py", "type": "charge.succeeded", "data": {}}', int(time.time())
    signature = stripe.WebhookSignature._compute_signature(f"{stamp}.{body}", SECRETS["stripe"])
    check_channel("webhooks/stripe", body, json_type | {"stripe-signature": f"t={stamp},v1={signature}"}, 202)

    body = '{"type": "url_verification", "challenge": "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"}'
    answer = check_channel("webhooks/slack", body, sign_for_slack(body, "application/json"), 200)
    assert answer == {"challenge": json.loads(body)["challenge"]}, answer
    fields = {"command": "/weather", "text": "94070 & more", "response_url": "https://hooks.slack.com/commands/1"}
    body = urllib.parse.urlencode(fields)
    answer = check_channel("commands", body, sign_for_slack(body, "application/x-www-form-urlencoded"), 200)
    assert answer["data"]["form"] == fields, answer


def verify(preset, body, headers):
    """Asks the library of a provider, which raises for what it does not accept."""
    if preset == "standard_webhooks":
        Webhook(SECRETS[preset]).verify(body, headers)
    elif preset == "stripe":
        stripe.WebhookSignature.verify_header(body, headers["stripe-signature"], SECRETS[preset], 300)
    elif preset == "slack":
        assert SignatureVerifier(SECRETS[preset]).is_valid_request(body, headers)


def is_refused(preset, body, headers):
    try:
        verify(preset, body, headers)
    except (WebhookVerificationError, stripe.SignatureVerificationError, AssertionError):
        return True
    return False


def check_outgoing():
    payload = {"id": "evt-sent", "type": "invoice.paid", "object": "event", "data": {"object": {"place": "Žofín"}}}
    for preset in PRESETS:
        status, answer = post(f"send-{preset}", json.dumps(payload), {"content-type": "application/json"})
        assert status == 200, answer
    assert [sent["name"] for sent in SENT] == list(PRESETS)
    for sent in SENT:
        assert json.loads(sent["body"]) == payload, sent
        verify(sent["name"], sent["body"], sent["headers"])
        if sent["name"] in ("standard_webhooks", "stripe", "slack"):
            assert is_refused(sent["name"], sent["body"] + " ", sent["headers"]), sent["name"]
        # What a connector signs, the channel of the same preset takes.
        channel = "standard" if sent["name"] == "standard_webhooks" else sent["name"]
        kept = {name: value for name, value in sent["headers"].items() if name not in ("host", "content-length")}
        check_channel(f"webhooks/{channel}", sent["body"], kept, 200 if channel == "slack" else 202)


def check_customer():
    """Registers the endpoint of a customer, which gets its challenge and an event, before and after a rotation."""
    port, first = start_receiver(True), len(SENT)
    administer("POST", "connectors", {"id": "customers", "name": "customers", "connector_type": "http", "config": {
        "url": f"https://127.0.0.1:{port}", "allow_private_urls": True, "allow_urls": [f"https:{port}"]}}, 201)
    serve("paid", {"request": {"body_mode": "payload"}}, {"name": "send_webhook", "input": {
        "topic": "order.paid", "data_logic": {"var": "payload"}}})
    endpoint = administer("POST", "webhooks", {
        "url": f"https://127.0.0.1:{port}/customer", "topics": ["order.paid"], "connector": "customers"}, 201)
    assert endpoint["state"] == "enabled", endpoint
    secrets = [endpoint["secret"]]
    for number in range(2):
        status, answer = post("paid", json.dumps({"n": number}), {"content-type": "application/json"})
        assert status == 200, answer
        with ARRIVED:
            assert ARRIVED.wait_for(lambda: len(SENT) == first + 2 + number, PATIENCE), "the event never came"
        if number == 0:
            secrets.append(administer("POST", f"webhooks/{endpoint['id']}/rotate", {}, 200)["secret"])
    challenge, before, after = SENT[first:]
    for sent, keys in [(challenge, secrets[:1]), (before, secrets[:1]), (after, secrets)]:
        for secret in keys:
            Webhook(secret).verify(sent["body"], sent["headers"])
        sent["secrets"] = keys
    assert json.loads(after["body"])["data"] == {"n": 1}, after


prepare()
check_incoming()
check_outgoing()
check_customer()
with open(f"{FOLDER}/sent.json", "w") as file:
    json.dump(SENT, file)
print("the libraries for Python sign for the channels, and accept what the service signs")
