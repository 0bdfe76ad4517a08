"""What the causes of alerts are made of: a server, its peers, and a Prometheus that evaluates the rules."""

import concurrent.futures
import fcntl
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Seconds within which an alert has to fire once its cause is there, on a busy machine.
LONGEST = 90
# The time for which an expression has to hold here, where a rule names any.
HOLD = "3s"


class Missed(Exception):
    """A cause that did not come about, or an alert that did not fire."""


def wait_until(what, look, limit=LONGEST):
    """Waits until something is true; its name is that of the failure."""
    deadline = time.monotonic() + limit
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            raise Missed(f"not within {limit} s: {what}")
        time.sleep(0.2)


def free_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


def request(port, method, path, body=None, headers=None, timeout=60, source=None):
    """Sends a request; its status and body, or (0, reason) without an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout, source_address=source)
    text = body if isinstance(body, (str, bytes, type(None))) else json.dumps(body)
    try:
        connection.request(method, path, text, {"content-type": "application/json"} | (headers or {}))
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException) as failure:
        return 0, str(failure).encode()
    finally:
        connection.close()


class Upstream:
    """A system behind a connector: answers a status after a while, or once it is let go."""

    def __init__(self, status=200, delay=0.0):
        self.status, self.delay, self.gate = status, delay, threading.Event()
        self.calls = 0
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers.get("content-length") or 0))
                upstream.calls += 1
                if upstream.delay:
                    upstream.gate.wait(upstream.delay)
                self.send_response(upstream.status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):
                """The service hangs up when a call takes too long."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.gate.set()
        self.server.shutdown()
        self.server.server_close()


class Server:
    """A process of the service with a directory and a database of its own."""

    def __init__(self, world, settings=None, binary=None, limits=None, stderr=None):
        self.world, self.binary, self.limits, self.stderr = world, binary or world.binary, limits, stderr
        self.port, self.directory = free_port(), world.directory(f"server-{len(world.servers)}")
        self.scheme, self.process = "http", None
        self.settings = {
            "SERVER__HOST": "127.0.0.1",
            "SERVER__PORT": str(self.port),
            "STORAGE__URL": "sqlite:svc.db",
            "METRICS__ENABLED": "true",
            "SERVER__SHUTDOWN_DRAIN_SECS": "0",
            "STORAGE__CONNECT_RETRY_SECS": "5",
        } | (settings or {})
        world.servers.append(self)

    def start(self, ready=True):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SVC_")}
        environment = kept | {f"SVC_{name}": value for name, value in self.settings.items()}
        with open(self.directory / "log", "ab") as log:
            self.process = subprocess.Popen(
                [self.binary], cwd=self.directory, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=self.stderr or log, preexec_fn=self.limits, start_new_session=True)
        if ready:
            wait_until(f"ready: {self.tail()}", lambda: self.answers("/readyz"))
        return self

    def answers(self, path):
        if self.process.poll() is not None:
            raise Missed(f"the server ended with {self.process.returncode}: {self.tail()}")
        if self.scheme == "http":
            return request(self.port, "GET", path, timeout=5)[0] == 200
        done = subprocess.run(
            ["curl", "-ks", "-o", "/dev/null", "-w", "%{http_code}", f"https://127.0.0.1:{self.port}{path}"],
            capture_output=True, text=True)
        return done.stdout == "200"

    def tail(self):
        log = self.directory / "log"
        return log.read_text(errors="replace")[-1500:] if log.exists() else ""

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def admin(self, method, path, body=None, expect=(200, 201, 202)):
        status, answer = request(self.port, method, f"/api/v1/admin/{path}", {} if body is None else body)
        if expect and status not in expect:
            raise Missed(f"{method} {path}: {status} {answer[:600]!r}")
        return json.loads(answer or b"null")

    def send(self, channel, body=None, suffix="", headers=None, timeout=60):
        return request(self.port, "POST", f"/api/v1/data/{channel}{suffix}", {} if body is None else body, headers, timeout)

    def send_many(self, channel, count, body=None, suffix="", headers=None, at_once=32):
        """Sends requests, a number of them at once; their statuses."""
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            sent = [pool.submit(self.send, channel, body, suffix, headers) for _ in range(count)]
            return [one.result()[0] for one in sent]

    def send_apart(self, channel, count, body=None, suffix=""):
        """Sends requests and awaits no answer."""
        for _ in range(count):
            threading.Thread(target=self.send, args=(channel, body, suffix), daemon=True).start()

    def define(self, kind, identity, body):
        self.admin("POST", kind, body)
        self.admin("PATCH", f"{kind}/{identity}/status", {"status": "active"})

    def connector(self, url, **more):
        config = {"url": url, "allow_private_urls": True, "timeout_secs": 600, "retry": {"max_retries": 0}} | more
        self.admin("POST", "connectors", {"id": "shop", "name": "shop", "connector_type": "http", "config": config})

    def workflow(self, name, function, **task):
        tasks = [{"id": "only", "name": "only", "function": function} | task]
        self.define("workflows", name, {"workflow_id": name, "name": name, "tasks": tasks})

    def channel(self, name, config=None, **more):
        body = {"channel_id": name, "name": name, "channel_type": "sync", "protocol": "rest", "methods": ["POST"],
                "route_pattern": f"/{name}", "workflow_id": name, "config": config or {}} | more
        self.define("channels", name, {key: value for key, value in body.items() if value is not None})

    def serve(self, name, function, config=None, **task):
        self.workflow(name, function, **task)
        self.channel(name, config)

    def schedule(self, name, function, transport, config=None):
        self.workflow(name, function)
        self.channel(name, config, channel_type="async", protocol="cron", methods=None, route_pattern=None,
                     transport_config=transport)


ECHO = {"name": "map", "input": {"mappings": [{"path": "data.x", "logic": 1}]}}
FAIL = {"name": "map", "input": {"mappings": [{"path": "data.x", "logic": {"throw": "no"}}]}}
CALL = {"name": "http_call", "input": {"connector": "shop", "method": "POST", "timeout_ms": 600000}}


class Peer:
    """A server of tests/peers."""

    def __init__(self, world, name):
        self.script, self.directory = ROOT / "tests/peers" / name, world.folder / name
        # It ends with the last who holds this.
        self.users = open(f"{self.directory}.users", "w")
        os.set_inheritable(self.users.fileno(), True)
        fcntl.flock(self.users, fcntl.LOCK_SH)
        self.url = self.run("start")

    def run(self, command):
        done = subprocess.run([self.script, command, self.directory], capture_output=True, text=True)
        if done.returncode:
            raise Missed(f"{self.script.name} {command}: {done.stderr}")
        return done.stdout.strip()

    def sql(self, *statements):
        """Executes statements on a connection of their own."""
        commands = [part for statement in statements for part in ("-c", statement)]
        done = subprocess.run(["psql", "-qAt", "-v", "ON_ERROR_STOP=1", self.url, *commands], capture_output=True, text=True)
        if done.returncode:
            raise Missed(f"{statements}: {done.stderr}")
        return done.stdout.strip()

    def stop(self):
        self.run("stop")
        shutil.rmtree(self.directory, ignore_errors=True)
        self.users.close()


def quicken(rules):
    """The rules with a short time to hold."""
    return re.sub(r"^(\s+for: )(?!0m$).*$", rf"\g<1>{HOLD}", rules, flags=re.M)


class Prometheus:
    """A Prometheus that scrapes each second and evaluates the rules."""

    def __init__(self, world, targets):
        folder, self.port = world.directory("prometheus"), free_port()
        (folder / "rules.yaml").write_text(quicken(world.rules))
        groups = [{"targets": [f"127.0.0.1:{server.port}"], "labels": {"__scheme__": server.scheme}} for server in targets]
        config = {"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": ["rules.yaml"],
                  "scrape_configs": [{"job_name": "svc", "tls_config": {"insecure_skip_verify": True},
                                      "static_configs": groups}]}
        # JSON is YAML.
        (folder / "prometheus.yml").write_text(json.dumps(config))
        with open(folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                ["prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data",
                 f"--web.listen-address=127.0.0.1:{self.port}"], cwd=folder, stdout=log, stderr=log, start_new_session=True)
        wait_until("Prometheus", lambda: request(self.port, "GET", "/-/ready", timeout=5)[0] == 200)
        for server in targets:
            wait_until("two scrapes", lambda: self.value(f'count_over_time(up{{instance="127.0.0.1:{server.port}"}}[5m])') >= 3)
        if targets:
            # Rules were evaluated before the first scrape.
            wait_until("calm", lambda: not self.query('ALERTS{alertname="SvcAbsent"}'))
        self.began = time.monotonic()

    def query(self, text):
        status, answer = request(self.port, "GET", "/api/v1/query?" + urllib.parse.urlencode({"query": text}))
        if status != 200:
            raise Missed(f"{text}: {answer!r}")
        return json.loads(answer)["data"]["result"]

    def value(self, text):
        found = self.query(text)
        return float(found[0]["value"][1]) if found else 0.0

    def fired(self):
        """The names of the alerts that fire, or have fired since the start."""
        since = max(1, int(time.monotonic() - self.began))
        return {one["metric"]["alertname"] for one in self.query(f'max_over_time(ALERTS{{alertstate="firing"}}[{since}s])')}

    def stop(self):
        self.process.kill()
        self.process.wait()


class World:
    """Where one alert is caused."""

    def __init__(self, folder, binary, previous, brokers, rules):
        self.folder, self.binary, self.previous, self.brokers_program = folder, binary, previous, brokers
        self.rules, self.servers, self.ends, self.prometheus = rules, [], [], None
        folder.mkdir()

    def directory(self, name):
        (self.folder / name).mkdir(exist_ok=True)
        return self.folder / name

    def server(self, settings=None, **options):
        return Server(self, settings, **options)

    def started(self, settings=None, **options):
        return self.server(settings, **options).start()

    def upstream(self, status=200, delay=0.0):
        upstream = Upstream(status, delay)
        self.ends.append(upstream.stop)
        return upstream

    def held(self):
        """An upstream that answers once it is let go."""
        return self.upstream(delay=3600)

    def peer(self, name):
        peer = Peer(self, name)
        self.ends.append(peer.stop)
        return peer

    def brokers(self):
        """A mock cluster of Kafka brokers: its process and its address."""
        process = subprocess.Popen([self.brokers_program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ends.append(lambda: (process.kill(), process.wait()))
        return process, process.stdout.readline().strip()

    def watch(self, *servers):
        """Starts Prometheus, which has seen the servers well before the cause comes."""
        self.prometheus = Prometheus(self, servers or self.servers)
        return self.prometheus

    def end(self):
        for server in self.servers:
            if server.process and server.process.poll() is None:
                os.killpg(server.process.pid, signal.SIGCONT)
            server.kill()
        if self.prometheus:
            self.prometheus.stop()
        for end in reversed(self.ends):
            end()
