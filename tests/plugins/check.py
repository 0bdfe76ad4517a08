"""Usage: check.py URL KEY FOLDER [promoted]. Puts the plugins of FOLDER on the service, calls each through channels, and
measures the own time of a call; if they were promoted, it calls them only. A plugin is a folder with plugin.toml and the
component that it names; each has the function `slug`."""
import base64
import http.client
import json
import pathlib
import statistics
import sys
import time
import tomllib
import urllib.parse

URL, KEY, FOLDER = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
# The aim of each plugin, in microseconds.
AIMS = {"compiled": 30, "javascript": 1_000, "python": 10_000}
# Seconds that a component may take to compile. An engine of JavaScript is large, and the service may be unoptimised.
PATIENCE = 1_200
# Calls of a plugin in one run, and runs measured.
CALLS, RUNS = 20, 60
SERVICE = http.client.HTTPConnection(urllib.parse.urlsplit(URL).netloc, timeout=120)


def call(method, path, document=None):
    body = None if document is None else json.dumps(document)
    SERVICE.request(method, path, body, {"content-type": "application/json", "x-api-key": KEY})
    answer = SERVICE.getresponse()
    return answer.status, json.loads(answer.read() or b"null")


def administer(method, path, document, expected):
    status, body = call(method, f"/api/v1/admin/{path}", document)
    assert status == expected, (path, status, body)
    return body["data"]


def serve(name, tasks):
    administer("POST", "workflows", {"workflow_id": name, "name": name, "tasks": tasks}, 201)
    administer("PATCH", f"workflows/{name}/status", {"status": "active"}, 200)
    administer("POST", "channels", {
        "channel_id": name, "name": name, "channel_type": "sync", "protocol": "rest", "methods": ["POST"],
        "route_pattern": f"/{name}", "workflow_id": name, "config": {"request": {"body_mode": "payload"}}}, 201)
    administer("PATCH", f"channels/{name}/status", {"status": "active"}, 200)


def post(name, document):
    return call("POST", f"/api/v1/data/{name}", document)


def read_manifest(folder):
    return tomllib.loads((folder / "plugin.toml").read_text())


def install(folder):
    """Puts a plugin on the service, with a channel of one call and one of many."""
    manifest = read_manifest(folder)
    component = (folder / manifest.pop("component")).read_bytes()
    name = manifest["name"]
    administer("POST", "plugins", {"manifest": manifest, "component": base64.b64encode(component).decode()}, 201)
    administer("PATCH", f"plugins/{name}/status", {"status": "active"}, 200)
    call_task = {"name": f"{name}.slug", "input": {"text": {"var": "payload.text"}, "output": "data.slug"}}
    serve(name, [{"id": "t", "name": "t", "function": call_task}])
    serve(f"{name}-many", [{"id": f"t{i}", "name": "t", "function": call_task} for i in range(CALLS)])


def await_compiled(name):
    """Calls until the component is compiled; until then the answer says so, and when to come back."""
    end = time.monotonic() + PATIENCE
    while True:
        status, body = post(name, {"text": "x"})
        if status == 200:
            return
        assert status == 503 and body["error"]["code"] == "PLUGIN_COMPILING", (name, status, body)
        assert time.monotonic() < end, f"{name} was not compiled in {PATIENCE} s"
        time.sleep(1)


def check(name):
    assert post(name, {"text": " Hello, World! "})[1]["data"]["slug"] == "hello-world", name
    status, body = post(name, {"text": "!"})
    assert (status, body["error"]["code"]) == (400, "VALIDATION_ERROR"), (name, status, body)
    status, body = call("POST", "/api/v1/admin/workflows/validate", {"name": "w", "tasks": [
        {"id": "t", "name": "t", "function": {"name": f"{name}.slug", "input": {"output": "data.slug"}}}]})
    assert status == 200 and not body["data"]["valid"] and "text" in json.dumps(body["data"]["errors"]), (name, body)
    _, body = call("GET", "/api/v1/admin/functions")
    entries = {entry["name"]: entry for entry in body["data"]}
    assert entries[f"{name}.slug"]["source"] == "plugin", name


def measure(name):
    """Returns the microseconds of one call without those of the run around it."""
    def median(channel):
        times = []
        for _ in range(RUNS):
            begin = time.perf_counter()
            status, body = post(channel, {"text": "Hello World"})
            times.append(time.perf_counter() - begin)
            assert status == 200, body
        return statistics.median(times)

    return (median(f"{name}-many") - median(name)) / (CALLS - 1) * 1e6


folders = [manifest.parent for manifest in sorted(FOLDER.glob("*/plugin.toml"))]
names = [read_manifest(folder)["name"] for folder in folders]
assert set(names) == set(AIMS), names
is_promoted = sys.argv[4:] == ["promoted"]
if not is_promoted:
    for folder in folders:
        install(folder)
for name in names:
    await_compiled(name)
    check(name)
if is_promoted:
    print(f"promoted: {', '.join(names)}")
    sys.exit()
for name in names:
    took, aim = measure(name), AIMS[name]
    print(f"{name}: {took:,.0f} µs a call (aim: {aim:,} µs){'' if took <= aim else ', missed'}")
