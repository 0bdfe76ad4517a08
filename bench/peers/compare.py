"""compare.py SERVER DIRECTORY_OF_PACKAGES [PART…]: the service and its peers in one run; `run` prepares it.

http: an order is posted, a total and a tier are computed and answered; wrk with 50 connections. Node-RED keeps nothing
of a run, so the service is measured without traces beside it; n8n keeps every run by default, so the service is with
traces `sync`, on SQLite as n8n.
queues: jobs that do nothing, each put on record in a transaction of its own by 50 producers; a second counts from the
first until all have ended on record. One PostgreSQL with its defaults, fsync on. The service has one process; a peer has
one worker with its defaults, and as many workers as processors with its best settings.
"""

import datetime
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

SERVER, PACKAGES = sys.argv[1], pathlib.Path(sys.argv[2])
PARTS = sys.argv[3:] or ["http", "queues"]
HERE = pathlib.Path(__file__).resolve().parent
QUICKSTART = HERE.parent.parent / "examples" / "quickstart"
ORDER = (QUICKSTART / "order.json").read_text().strip()
SECONDS = int(os.environ.get("SECONDS_EACH", "5"))
ROUNDS = int(os.environ.get("ROUNDS", "3"))
CONNECTIONS = 50
WRK = """wrk.method = 'POST'
wrk.headers['content-type'] = 'application/json'
wrk.body = [[%s]]
done = function(s, l) io.write(string.format('FIGURES %%d %%d %%f %%f\\n', s.requests,
  s.errors.status + s.errors.connect + s.errors.read + s.errors.write + s.errors.timeout,
  s.duration / 1e6, l:percentile(99) / 1000)) end
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def call(method, url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read()


def wait_for(what, holds, limit=120):
    for _ in range(limit * 20):
        try:
            if holds():
                return
        except OSError:
            pass
        time.sleep(0.05)
    raise SystemExit(f"{what}: not within {limit} s")


class Running:
    """A process group in a directory of its own, which is killed at the end."""

    def __init__(self, command, environment=None):
        self.directory = tempfile.mkdtemp(prefix="bench-peers-")
        names = {name: value for name, value in os.environ.items() if not name.startswith("SVC_")}
        names.update({name: value.format(dir=self.directory) for name, value in (environment or {}).items()})
        command = [part.format(dir=self.directory) for part in command]
        self.log = open(pathlib.Path(self.directory) / "log", "w")
        self.process = subprocess.Popen(
            command, env=names, cwd=self.directory, stdout=self.log, stderr=self.log, start_new_session=True
        )

    def text(self):
        return (pathlib.Path(self.directory) / "log").read_text()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.log.close()
        shutil.rmtree(self.directory, ignore_errors=True)


def serve(mode, database="sqlite:{dir}/svc.db"):
    """The service with the quickstart."""
    port = free_port()
    server = Running([SERVER], {"SVC_SERVER__HOST": "127.0.0.1", "SVC_SERVER__PORT": str(port), "RUST_LOG": "warn",
                                "SVC_STORAGE__URL": database, "SVC_TRACE_STORAGE__MODE": mode})
    server.url = f"http://127.0.0.1:{port}"
    wait_for("svc", lambda: call("GET", f"{server.url}/readyz")[0] == 200)
    for kind in ("workflow", "channel"):
        for file in sorted((QUICKSTART / f"{kind}s").glob("*.json")):
            document = json.loads(file.read_text())
            path = f"{server.url}/api/v1/admin/{kind}s"
            for method, target, body in (
                ("POST", path, document),
                ("PATCH", f"{path}/{document[kind + '_id']}/status", {"status": "active"}),
            ):
                status, answer = call(method, target, body)
                if status >= 300:
                    raise SystemExit(f"{method} {target}: {status} {answer.decode()}")
    return server


def wrk(url):
    """Answered requests, their duration in seconds, and the p99 in milliseconds."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(WRK % ORDER)
        script.flush()
        said = subprocess.run(["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", "-s", script.name, url],
                              capture_output=True, text=True, check=True).stdout
    count, refused, took, p99 = re.search(r"FIGURES (\d+) (\d+) ([\d.]+) ([\d.]+)", said).groups()
    return int(count) - int(refused), float(took), float(p99)


def node_red(is_best):
    port = free_port()
    level = "fatal" if is_best else "info"
    program = str(PACKAGES / "node-red/node_modules/node-red/red.js")
    running = Running(["node", program, "-u", "{dir}", "-p", str(port), "-D", f"logging.console.level={level}",
                       str(HERE / "node_red.json")])
    running.url = f"http://127.0.0.1:{port}/orders"
    return running


def n8n(is_best):
    port = free_port()
    program = str(PACKAGES / "n8n/node_modules/n8n/bin/n8n")
    names = {"N8N_USER_FOLDER": "{dir}", "N8N_PORT": str(port), "N8N_LISTEN_ADDRESS": "127.0.0.1",
             "N8N_DIAGNOSTICS_ENABLED": "false", "N8N_VERSION_NOTIFICATIONS_ENABLED": "false",
             "N8N_TEMPLATES_ENABLED": "false", "N8N_PERSONALIZATION_ENABLED": "false"}
    if is_best:
        names |= {"EXECUTIONS_DATA_SAVE_ON_SUCCESS": "none", "EXECUTIONS_DATA_SAVE_ON_ERROR": "none",
                  "N8N_LOG_LEVEL": "error", "N8N_CONCURRENCY_PRODUCTION_LIMIT": "-1"}
    steps = (f'node {program} import:workflow --input={HERE / "n8n.json"} && '
             f'{{{{ node {program} publish:workflow --id=benchOrders00001 || '
             f'node {program} update:workflow --id=benchOrders00001 --active=true; }}}} && exec node {program} start')
    running = Running(["sh", "-c", steps], names)
    running.url = f"http://127.0.0.1:{port}/webhook/orders"
    return running


def report(name, rates, note=""):
    print(f"  {name:<44} {statistics.median(rates):>10,.0f}  {note}", flush=True)
    return statistics.median(rates)


def measure_http():
    print(f"Orders posted, computed and answered, {CONNECTIONS} connections, requests a second, median of {ROUNDS}")
    sides = [
        ("svc, traces off", lambda: serve("off"), "/api/v1/data/orders"),
        ("svc, traces sync", lambda: serve("sync"), "/api/v1/data/orders"),
        ("Node-RED, defaults", lambda: node_red(False), ""),
        ("Node-RED, without its log", lambda: node_red(True), ""),
    ]
    if (PACKAGES / "n8n/holds").exists():
        sides += [
            ("n8n, defaults (runs kept)", lambda: n8n(False), ""),
            ("n8n, no run kept", lambda: n8n(True), ""),
        ]
    medians = {}
    for name, start, path in sides:
        with start() as running:
            url = running.url + path
            try:
                wait_for(name, lambda: call("POST", url, json.loads(ORDER))[0] == 200)
            except SystemExit as late:
                print(f"  {name}: {late}: {running.text()[-400:]}")
                continue
            wrk(url)
            rounds = [wrk(url) for _ in range(ROUNDS)]
        p99 = statistics.median(p99 for *_, p99 in rounds)
        medians[name] = report(name, [count / took for count, took, _ in rounds], f"p99 {p99:.1f} ms")
    for peer, own in (("Node-RED", "svc, traces off"), ("n8n", "svc, traces sync")):
        best = max((rate for name, rate in medians.items() if name.startswith(peer)), default=None)
        if best:
            print(f"  {own} beside the best of {peer}: {medians[own] / best:.1f} ×")


class Postgres:
    """A PostgreSQL of its own with its defaults: every commit is on disk."""

    def __enter__(self):
        initdb = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        self.bin = initdb[-1].parent if initdb else pathlib.Path(os.path.realpath(shutil.which("initdb"))).parent
        self.directory = tempfile.mkdtemp(prefix="bench-postgres-")
        if os.getuid() == 0:
            shutil.chown(self.directory, "postgres")
        self.port = free_port()
        self.own("initdb", "-D", f"{self.directory}/data", "-A", "trust", "-U", "svc", "-E", "UTF8", "--locale=C")
        self.own("pg_ctl", "-D", f"{self.directory}/data", "-w", "-l", f"{self.directory}/log", "-o",
                 f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=. -c max_connections=300",
                 "start")
        return self

    def own(self, program, *args):
        owner = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        subprocess.run([*owner, str(self.bin / program), *args], check=True, cwd="/", stdout=subprocess.DEVNULL)

    def database(self, name):
        url = f"postgres://svc@127.0.0.1:{self.port}"
        subprocess.run(["psql", "-q", f"{url}/postgres", "-c", f'CREATE DATABASE "{name}"'], check=True)
        return f"{url}/{name}"

    def __exit__(self, *_):
        self.own("pg_ctl", "-D", f"{self.directory}/data", "-m", "immediate", "-w", "stop")
        shutil.rmtree(self.directory, ignore_errors=True)


def produce(command):
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    figures = json.loads(said.strip().splitlines()[-1])
    return figures["ended"] / figures["took"], figures["added"] - figures["ended"]


def queue_round(postgres, name, programs, settings, number):
    """One round of a peer on an empty database."""
    url = postgres.database(f"{name}-{settings}-{number}")
    worker, producer, schema = programs(settings, url)
    if schema:
        subprocess.run(schema, check=True, capture_output=True)
    running = []
    try:
        for _ in range(os.cpu_count() if settings == "best" else 1):
            running.append(Running(worker))
            wait_for(f"{name}'s worker", lambda: "works" in running[-1].text())
        return produce(producer)
    finally:
        for process in running:
            process.__exit__()


def node_queue(kind):
    def programs(settings, url):
        program = ["node", str(HERE / "queues.mjs")]
        rest = [kind, settings, url, str(SECONDS), str(PACKAGES / "queues")]
        return [*program, "worker", *rest], [*program, "producer", *rest], None

    return programs


def procrastinate(settings, url):
    program = [sys.executable, str(HERE / "procrastinate_jobs.py")]
    rest = [settings, url, str(SECONDS)]
    return [*program, "worker", *rest], [*program, "producer", *rest], [*program, "schema", *rest]


def svc_round(server):
    begin = time.monotonic()
    count, _, _ = wrk(f"{server.url}/api/v1/data/orders/async")
    for status in ("pending", "running"):
        path = f"{server.url}/api/v1/admin/traces?status={status}&mode=async&limit=1"
        wait_for("the end of all jobs", lambda: not json.loads(call("GET", path)[1])["data"])
    return count / (time.monotonic() - begin)


def measure_queues():
    print(f"Durable jobs on PostgreSQL, from the first until all have ended, a second, median of {ROUNDS}")
    with Postgres() as postgres:
        medians = {}
        with serve("sync", postgres.database("svc")) as server:
            svc_round(server)
            medians["svc"] = report("svc, POST /async", [svc_round(server) for _ in range(ROUNDS)])
        for name, programs in (("graphile-worker", node_queue("graphile")), ("pg-boss", node_queue("pgboss")),
                               ("procrastinate", procrastinate)):
            for settings in ("default", "best"):
                rounds = [queue_round(postgres, name, programs, settings, number) for number in range(ROUNDS)]
                left = max(left for _, left in rounds)
                note = f"{left:,} had not ended 20 s later" if left else ""
                medians[f"{name} {settings}"] = report(f"{name}, {settings}", [rate for rate, _ in rounds], note)
        peers = {name: rate for name, rate in medians.items() if name != "svc"}
        fastest = max(peers, key=peers.get)
        print(f"  svc beside the fastest, {fastest}: {medians['svc'] / peers[fastest]:.1f} ×")


def main():
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    print(f"{datetime.date.today().isoformat()}, {os.cpu_count()} cores, {model[1] if model else 'unknown'}")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    held = [PACKAGES / part / "holds" for part in ("queues", "node-red", "n8n")]
    packages = " ".join(holds.read_text().strip() for holds in held if holds.exists())
    print(f"node {version}, {packages}, procrastinate 3.10.0", flush=True)
    for part in PARTS:
        {"http": measure_http, "queues": measure_queues}[part]()


main()
