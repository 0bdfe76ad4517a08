"""The recorded traffic of the examples: each runs on a server of the drill, and is sent requests of its own kind."""

import base64
import hashlib
import hmac
import json
import os
import random
import socketserver
import subprocess
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from world import ROOT, Server, request, wait_until

# Examples that run on a PostgreSQL, a mail server and an HTTP API. The others need brokers, a schedule or a provider.
PROJECTS = ["quickstart", "pipeline", "orders", "payments", "login", "webhooks", "suppliers", "slow-api"]
# Guards of channels that need callers or peers of their own: what they admit is the same for every version.
GUARDS = ["auth", "rate_limit", "principal_rate_limit", "deduplication", "cache", "on_failure"]
ISSUER, TOKEN_KEY = "https://shop.example", "0123456789abcdef0123456789abcdef"
CONFIG = '[vars]\nshop = "Ada\'s Shop"\noperator = "ops@shop.example"\n'


class Api(BaseHTTPRequestHandler):
    """The API of suppliers and of the carrier: the total of an order, or no such supplier."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        order = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        known = order.get("order_id") != "gone"
        answer = {"status": "ok", "data": {"total": order.get("qty", 0) * order.get("price", 0)}} if known else {}
        body = json.dumps(answer).encode()
        self.send_response(200 if known else 404)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Mailbox(socketserver.StreamRequestHandler):
    """A mail server that accepts everything."""

    def handle(self):
        self.say("220 mail")
        while line := self.rfile.readline().strip().upper():
            if line == b"DATA":
                self.say("354 go on")
                while self.rfile.readline().rstrip(b"\r\n") != b".":
                    pass
                self.say("250 taken")
            elif line == b"QUIT":
                return self.say("221 bye")
            else:
                self.say("250 mail")

    def say(self, text):
        self.wfile.write(text.encode() + b"\r\n")


def serve(server):
    """Serves on a thread of its own; the port."""
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def token(claims):
    """A token of the issuer."""
    encode = lambda part: base64.urlsafe_b64encode(part).rstrip(b"=")
    parts = [{"alg": "HS256", "typ": "JWT"}, {"iss": ISSUER, "exp": int(time.time()) + 3600} | claims]
    text = b".".join(encode(json.dumps(part).encode()) for part in parts)
    return (text + b"." + encode(hmac.new(TOKEN_KEY.encode(), text, hashlib.sha256).digest())).decode()


def compile_project(cli, name):
    """The definitions of an example."""
    command = [cli, "compile", ROOT / "examples" / name, "--name", name, "--version", "1.0.0"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


class Traffic:
    """Sends the requests of the examples. The same seed sends the same."""

    def __init__(self, server, seed, count):
        self.server, self.random, self.count = server, random.Random(seed), count

    def send(self, method, path, body=None, headers=None):
        status, answer = request(self.server.port, method, f"/api/v1/data/{path}", body, headers)
        if status in (0, 429) or status >= 503:
            raise RuntimeError(f"{method} {path}: {status} {answer!r}")
        return json.loads(answer) if answer.startswith((b"{", b"[")) else answer

    def chance(self, share):
        return self.random.random() < share

    def repeat(self):
        return range(self.count)

    def quickstart(self):
        for n in self.repeat():
            price = self.random.choice([5, 10, 25, 99, 250])
            order = {"order_id": f"A-{n}", "qty": self.random.randint(1, 20), "price": price}
            if self.chance(0.1):
                order.pop(self.random.choice(["qty", "price"]))
            self.send("POST", "orders", order)

    def pipeline(self):
        for n in self.repeat():
            cents = self.random.choice([99, 500, 1250])
            order = {"id": f"a-{n}", "qty": self.random.randint(1, 20), "unit_cents": cents}
            self.send("POST", "pricing", order)
            self.send("POST", "intake/async", order | ({"qty": 0} if self.chance(0.1) else {}))

    def orders(self):
        # The quickstart has the same path on a server of its own.
        callers = [{"authorization": f"Bearer {token({'sub': name})}"} for name in ("ada", "bob")]
        for n in self.repeat():
            caller = self.random.choice(callers)
            order = {"item": self.random.choice(["lamp", "desk", "chair"]), "qty": self.random.randint(1, 12)}
            if self.chance(0.2):
                order = order | self.random.choice([{"item": ""}, {"qty": 0}, {"qty": 1.5}, {"qty": 2000}, {"item": 5}])
            self.send("POST", "orders", order, caller)
            number = self.random.randint(1, n + 2)
            self.send("GET", f"orders/{number if self.chance(0.9) else 'none'}", None, caller)
            query = self.random.choice(["", "?limit=5", "?limit=2&after=3", "?after=10", "?limit=100"])
            self.send("GET", f"orders{query}", None, caller)
            if self.chance(0.5):
                self.send("DELETE", f"orders/{self.random.randint(1, n + 2)}", None, caller)
            self.send("GET", "order-stats")

    def payments(self):
        for n in self.repeat():
            amount, currency = self.random.randint(100, 99_999), self.random.choice(["eur", "usd"])
            paid = {"id": f"pi_{n}", "amount": amount, "currency": currency}
            if self.chance(0.8):
                paid["receipt_email"] = f"customer{n}@example.com"
            kind = "payment_intent.succeeded" if self.chance(0.85) else "payment_intent.created"
            event = {"id": f"evt_{n - self.chance(0.15)}", "type": kind, "data": {"object": paid}}
            self.send("POST", "webhooks/stripe/async", event)
            if self.chance(0.3):
                report = {"trace_id": f"t{n}", "channel": "stripe", "error": "the mail server is away", "data": event}
                self.send("POST", "alerts/async", report)

    def login(self):
        names = [f"user{n}" for n in range(4)]
        for name in names:
            self.send("POST", "accounts", {"name": name, "password": f"the password of {name}"})
        # Each backtest compares the passwords again, which is slow by design.
        for _ in range(min(self.count, 16)):
            name = self.random.choice([*names, "eve"])
            password = f"the password of {name}" if self.chance(0.7) else "a guess that is wrong"
            answer = self.send("POST", "login", {"name": name, "password": password})
            if given := answer.get("data", {}).get("token"):
                self.send("GET", "me", None, {"authorization": f"Bearer {given}"})

    def webhooks(self):
        for n in self.repeat():
            event = self.random.choice(["push", "pull_request", "release"])
            self.send("POST", "webhooks/github/async", {"ref": f"refs/heads/{n}"}, {"x-github-event": event})
            topic = self.random.choice(["orders/create", "orders/paid"])
            self.send("POST", "webhooks/shopify/async", {"id": n}, {"x-shopify-topic": topic})
            self.send("POST", "webhooks/stripe-events/async", {"id": f"evt_{n}", "type": "charge.refunded"})
            slack = {"type": "event_callback", "event": {"type": self.random.choice(["message", "app_mention"])}}
            zoom = {"event": self.random.choice(["meeting.started", "meeting.ended"]), "payload": {"object": {"id": n}}}
            if self.chance(0.1):
                slack = {"type": "url_verification", "challenge": f"c{n}"}
                zoom = {"event": "endpoint.url_validation", "payload": {"plainToken": f"token-{n}"}}
            self.send("POST", "webhooks/slack", slack)
            self.send("POST", "webhooks/zoom", zoom)

    def suppliers(self):
        for _ in self.repeat():
            asked = self.random.sample(["north", "south", "east", "west", "gone"], self.random.randint(1, 3))
            offers = [{"id": name, "price": self.random.randint(10, 60)} for name in asked]
            self.send("POST", "offers", {"qty": self.random.randint(1, 9), "suppliers": offers})

    def slow_api(self):
        for n in self.repeat():
            name = "gone" if self.chance(0.05) else f"A-{n}"
            self.send("POST", "quotes/async", {"order_id": name, "qty": self.random.randint(1, 9), "price": 50})


def define(server, project, mail_port):
    """Serves the definitions of an example, without the guards that need peers."""
    for connector in project["connectors"]:
        if connector["connector_type"] == "smtp":
            connector["config"] |= {"port": mail_port, "tls": "none"}
        if connector["connector_type"] != "cache":
            server.admin("POST", "connectors", connector | {"id": connector["name"]})
    for workflow in project["workflows"]:
        workflow.pop("activate", None)
        server.define("workflows", workflow["workflow_id"], workflow)
    for channel in project["channels"]:
        channel.pop("activate", None)
        config = channel.get("config", {})
        auth = config.get("auth", {})
        channel["config"] = {key: value for key, value in config.items() if key not in GUARDS}
        if auth.get("mode") == "jwt":
            keys = [{"algorithm": "HS256", "key": "env://TOKEN_KEY"}]
            channel["config"]["auth"] = {"mode": "jwt", "algorithms": ["HS256"], "issuer": ISSUER, "jwt_keys": keys,
                                         "claims_to_metadata": auth.get("claims_to_metadata", [])}
        if channel["channel_id"] == "stripe" and channel["workflow_id"] == "take-event":
            channel["route_pattern"] = "/webhooks/stripe-events"
        server.define("channels", channel["channel_id"], channel)


def count_recordings(server):
    return server.admin("GET", "recordings?limit=1")["total"]


def has_open_work(server):
    return any(server.admin("GET", f"traces?status={state}&limit=1")["data"] for state in ("pending", "running"))


def record(world, cli, name, seed, count):
    """Runs an example, and records what its requests do. Returns its workflows, and their runs as lines by workflow."""
    project = compile_project(cli, name)
    schema, url = ROOT / "examples" / name / "schema.sql", ""
    if schema.exists():
        database = world.peer("postgres")
        database.sql(schema.read_text())
        url = urllib.parse.urlsplit(database.url)._replace(scheme="postgres").geturl()
    api = serve(ThreadingHTTPServer(("127.0.0.1", 0), Api))
    mail = serve(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Mailbox))
    os.environ |= {"SHOP_DB": url, "ORDERS_DB": url, "PAYMENTS_DB": url, "ACCOUNTS_DB": url, "TOKEN_KEY": TOKEN_KEY,
                   "ZOOM_SECRET": "secret-of-zoom", "PAYMENTS_MAIL_HOST": "127.0.0.1",
                   "SUPPLIERS_URL": f"http://127.0.0.1:{api}", "CARRIER_URL": f"http://127.0.0.1:{api}"}
    server = Server(world, {"TRACE_STORAGE__RECORD__SHARE": "1"})
    (server.directory / "svc.toml").write_text(CONFIG)
    server.start()
    define(server, project, mail)
    getattr(Traffic(server, f"{seed} {name}", count), name.replace("-", "_"))()
    wait_until("the end of accepted work", lambda: not has_open_work(server))
    known = -1
    while known != (known := count_recordings(server)):
        time.sleep(2)
    runs = {}
    for workflow in project["workflows"]:
        command = [cli, "--server", f"http://127.0.0.1:{server.port}", "recordings", "export", "--workflow",
                   workflow["workflow_id"], "--limit", "10000"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        runs[workflow["workflow_id"]] = done.stdout
    server.kill()
    return project["workflows"], runs
