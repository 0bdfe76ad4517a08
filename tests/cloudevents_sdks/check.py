"""Usage: check.py URL KEY FILE. Serves channels that read and send events, exchanges events with them by the SDK, and writes
what they sent to FILE, for another SDK."""
import json
import sys
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cloudevents.core.bindings import http
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

URL, KEY, FILE = sys.argv[1:]
FORMAT = JSONFormat()
# The requests that the service sent, each with its headers and its body.
SENT = []


class Receiver(BaseHTTPRequestHandler):
    """Takes the events that the service sends."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        SENT.append({"headers": headers, "body": body.decode()})
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def call(method, path, body=b"", headers=()):
    request = urllib.request.Request(URL + path, body, dict(headers), method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"null")


def define(kind, name, document):
    headers = {"content-type": "application/json", "x-api-key": KEY}
    status, body = call("POST", f"/api/v1/admin/{kind}", json.dumps(document).encode(), headers)
    assert status == 201, body
    if kind != "connectors":
        active = json.dumps({"status": "active"}).encode()
        status, body = call("PATCH", f"/api/v1/admin/{kind}/{name}/status", active, headers)
        assert status == 200, body


def serve(name, config, task):
    workflow = {"workflow_id": name, "name": name, "tasks": [{"id": "t", "name": "t", "function": task}]}
    channel = {"channel_id": name, "name": name, "channel_type": "sync", "protocol": "rest", "methods": ["POST"],
               "route_pattern": f"/{name}", "workflow_id": name, "config": config}
    define("workflows", name, workflow)
    define("channels", name, channel)


def prepare():
    receiver = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    define("connectors", "receiver", {"id": "receiver", "name": "receiver", "connector_type": "http", "config": {
        "url": f"http://127.0.0.1:{receiver.server_port}", "allow_private_urls": True}})
    copy = {"name": "map", "input": {"mappings": [
        {"path": "data.payload", "logic": {"var": "payload"}},
        {"path": "data.event", "logic": {"var": "metadata.cloudevent"}}]}}
    serve("events", {"request": {"body": "cloudevents"}}, copy)
    serve("arrivals", {"request": {"body": "cloudevents", "mode": "accept"}}, copy)
    for mode in ["binary", "structured"]:
        event = {"type": "order.placed", "source": "/shop", "subject": {"var": "payload.subject"}, "mode": mode}
        serve(mode, {"request": {"body_mode": "payload"}}, {"name": "http_call", "input": {
            "connector": "receiver", "method": "POST", "body_logic": {"var": "payload"}, "cloudevent": event}})


def sample(data, datacontenttype):
    return CloudEvent({"type": "order.placed", "source": "/shop", "id": "e-1", "subject": "café 50%", "tenant": "t-1",
                       "datacontenttype": datacontenttype}, data)


def check_incoming():
    for data, datacontenttype, payload in [
        ({"n": 1}, "application/json", {"n": 1}),
        ("good day", "text/plain", "good day"),
        (b"\xff\xfe", "application/octet-stream", "//4="),
    ]:
        for write in [http.to_binary, http.to_structured]:
            message = write(sample(data, datacontenttype), FORMAT)
            status, answer = call("POST", "/api/v1/data/events", message.body, message.headers)
            assert status == 200, (write.__name__, answer)
            received = answer["data"]
            assert received["payload"] == payload, (write.__name__, received)
            event = received["event"]
            assert (event["id"], event["subject"], event["tenant"]) == ("e-1", "café 50%", "t-1"), event
            assert event["datacontenttype"] == datacontenttype, event
    documents = [http.to_structured(sample({"n": n}, "application/json"), FORMAT).body for n in range(3)]
    headers = {"content-type": "application/cloudevents-batch+json"}
    status, answer = call("POST", "/api/v1/data/arrivals", b"[" + b",".join(documents) + b"]", headers)
    assert (status, len(answer["events"])) == (202, 3), answer


def check_outgoing():
    payload = {"n": 7, "subject": "order-7"}
    for mode in ["binary", "structured"]:
        headers = {"content-type": "application/json"}
        status, answer = call("POST", f"/api/v1/data/{mode}", json.dumps(payload).encode(), headers)
        assert status == 200, answer
    for sent in SENT:
        event = http.from_http(http.HTTPMessage(sent["headers"], sent["body"].encode()), FORMAT)
        assert (event.get_type(), event.get_source(), event.get_subject()) == ("order.placed", "/shop", "order-7")
        assert event.get_data() == payload and len(event.get_id()) == 64 and event.get_time() is not None
    assert len(SENT) == 2
    with open(FILE, "w") as file:
        json.dump(SENT, file)


prepare()
check_incoming()
check_outgoing()
print("the SDK for Python reads and sends the same events")
