"""A cause for each alert: what breaks, on a live server."""

import datetime
import os
import resource
import signal
import subprocess
import threading
import time

from world import CALL, ECHO, FAIL, Missed, free_port, request, wait_until

CAUSES = {}
# Alerts that nothing outside of the process can cause: their rules are tested with made-up series
# (tests/scenarios/monitoring/alerts.test.yaml).
ONLY_SIMULATED = {}


def causes(alert):
    def register(function):
        CAUSES[alert] = function
        return function
    return register


def on_postgres(world, settings=None, **options):
    """A server over a PostgreSQL of its own, and that database."""
    database = world.peer("postgres")
    return world.started({"STORAGE__URL": database.url} | (settings or {}), **options), database


# --- the process and the cluster


@causes("SvcDown")
def process_is_killed(world):
    server = world.started()
    world.watch()
    server.kill()


@causes("SvcAbsent")
def nothing_is_scraped(world):
    # A scrape job without targets, as an empty discovery leaves it.
    world.watch()


@causes("SvcNotReady")
def node_drains_and_never_ends(world):
    server = world.started({"SERVER__SHUTDOWN_DRAIN_SECS": "60"})
    world.watch()
    server.signal(signal.SIGTERM)


@causes("SvcProcessRestarts")
def process_ends_again_and_again(world):
    server = world.started()
    prometheus = world.watch()
    for _ in range(3):
        before = prometheus.value("process_start_time_seconds")
        server.kill()
        server.start()
        wait_until("the next start is scraped", lambda: prometheus.value("process_start_time_seconds") > before)


@causes("SvcFileDescriptorsLow")
def calls_hold_descriptors(world):
    # Connections of clients are bounded below the limit of open files; calls of connectors are not.
    bound = 350
    server = world.started(limits=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (bound, bound)))
    prometheus = world.watch()
    server.connector(world.held().url)
    task = {"for_each": {"over": {"var": "payload.items"}, "as": "one", "max_concurrency": 256, "collect": "data.one",
                         "into": "data.all"}}
    server.serve("calls", CALL, {"timeout_ms": 120000}, **task)
    server.send_apart("calls", 1, {"items": list(range(256))})
    wait_until("descriptors", lambda: prometheus.value("process_open_fds / process_max_fds") > 0.8)


@causes("SvcMemoryBoundReached")
def messages_hold_all_memory(world):
    server = world.started({"SERVER__MAX_IN_FLIGHT_BYTES": "400000"})
    world.watch()
    server.connector(world.held().url)
    server.serve("calls", CALL)
    server.send_apart("calls", 20, {"text": "x" * 50_000})


@causes("SvcLogMessagesDropped")
def reader_of_the_log_stops(world):
    read, write = os.pipe()
    world.ends.append(lambda: os.close(read))
    server = world.server({"LOGGING__LEVEL": "trace"}, stderr=write)
    # Read until the start is over, then no more.
    done = threading.Event()

    def drain():
        os.set_blocking(read, False)
        while not done.is_set():
            try:
                os.read(read, 65536)
            except BlockingIOError:
                time.sleep(0.01)

    reader = threading.Thread(target=drain, daemon=True)
    reader.start()
    server.start()
    os.close(write)
    server.serve("echo", ECHO)
    prometheus = world.watch()
    done.set()
    reader.join()
    for _ in range(40):
        server.send_many("echo", 200)
        if prometheus.value("svc_log_messages_dropped_total"):
            return
    raise Missed("no message was dropped")


def with_certificate(world, days):
    folder = world.directory("certificate")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", str(days),
         "-subj", "/CN=localhost", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"], check=True, capture_output=True)
    server = world.server({"SERVER__TLS__ENABLED": "true", "SERVER__TLS__CERT_PATH": str(folder / "cert.pem"),
                           "SERVER__TLS__KEY_PATH": str(folder / "key.pem")})
    server.scheme = "https"
    server.start()
    world.watch()


@causes("SvcCertificateExpires")
def certificate_of_ten_days(world):
    with_certificate(world, 10)


@causes("SvcCertificateExpiresSoon")
def certificate_of_one_day(world):
    with_certificate(world, 1)


@causes("SvcConfigurationLags")
def definitions_cannot_be_read(world):
    server, database = on_postgres(world)
    server.serve("echo", ECHO)
    world.watch()
    # Another node has changed something; this one cannot read it.
    database.sql("ALTER TABLE definitions RENAME TO definitions_away", "UPDATE config_epoch SET epoch = epoch + 1")


@causes("SvcReloadFails")
def reload_by_an_operator_fails(world):
    server, database = on_postgres(world)
    world.watch()
    database.sql("ALTER TABLE definitions RENAME TO definitions_away")
    server.admin("POST", "engine/reload", expect=None)


@causes("SvcNodeLeaseLost")
def lease_cannot_be_written_until_it_ends(world):
    _, database = on_postgres(world, {"CLUSTER__NODE_LEASE_SECS": "3"})
    world.watch()
    database.sql("BEGIN; LOCK TABLE nodes IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(8); COMMIT")


@causes("SvcNodeLost")
def node_with_work_is_killed(world):
    database, redis = world.peer("postgres"), world.peer("redis")
    settings = {"STORAGE__URL": database.url, "CLUSTER__ENABLED": "true", "CLUSTER__REDIS_URL": redis.url,
                "CLUSTER__NODE_LEASE_SECS": "3"}
    lost, other = world.started(settings), world.started(settings)
    upstream = world.held()
    lost.connector(upstream.url)
    lost.serve("calls", CALL)
    world.watch()
    lost.send("calls", suffix="/async")
    wait_until("the job runs", lambda: upstream.calls)
    lost.kill()
    wait_until("adoption", lambda: world.prometheus.value("sum(svc_trace_adopted_total)"))


@causes("SvcVersionsDiffer")
def upgrade_stops_half_way(world):
    if not world.previous:
        raise Missed("no svc-server of another build is named")
    world.started()
    world.started(binary=world.previous)
    world.watch()


@causes("SvcCredentialsRefused")
def client_has_an_old_key(world):
    server = world.started({"ADMIN_AUTH__ENABLED": "true", "ADMIN_AUTH__API_KEYS": "0123456789abcdef0123456789abcdef",
                            "METRICS__BIND_ADDR": f"127.0.0.1:{free_port()}"})
    # Prometheus asks the listener of operators.
    public, server.port = server.port, int(server.settings["METRICS__BIND_ADDR"].rsplit(":", 1)[1])
    prometheus = world.watch()
    server.port = public

    def guess(index):
        # Guesses of one address are slowed down.
        source = (f"127.0.{index // 200 + 1}.{index % 200 + 1}", 0)
        return request(public, "GET", "/api/v1/admin/channels", headers={"x-api-key": "x" * 40}, source=source)[0]

    for round_number in range(5):
        for index in range(200):
            guess(round_number * 200 + index)
    wait_until("refused credentials", lambda: prometheus.value("sum(svc_admin_auth_failures_total)"))


# --- requests, channels, workflows


@causes("SvcServerErrors")
def requests_fail(world):
    server = world.started()
    server.serve("fails", FAIL)
    world.watch()
    for _ in range(4):
        server.send_many("fails", 20)
        time.sleep(1)


@causes("SvcRunsFail")
def runs_fail(world):
    server = world.started()
    # Its callers get a 400, so that no server error is among it.
    rules = {"name": "validation", "input": {"rules": [{"logic": False, "message": "never"}]}}
    server.serve("refuses", rules)
    server.serve("echo", ECHO)
    world.watch()
    for _ in range(4):
        server.send_many("refuses", 10)
        time.sleep(1)


def slow_calls(world):
    server = world.started()
    server.connector(world.upstream(delay=7).url)
    server.serve("calls", CALL, {"timeout_ms": 60000})
    # A first one, so that the series is known before it grows.
    server.send("calls")
    world.watch()
    server.send_many("calls", 30)


CAUSES["SvcLatencyHigh"] = slow_calls


@causes("SvcChannelQuarantined")
def secret_is_missing(world):
    server = world.started()
    world.watch()
    server.serve("locked", ECHO, {"auth": {"mode": "api_key", "keys": ["env://SVC_ALERTS_NOT_SET"]}})


@causes("SvcServiceErrors")
def result_is_too_large(world):
    server = world.started({"TRACE_QUEUE__MAX_RESULT_SIZE_BYTES": "200", "TRACE_QUEUE__DLQ_RETRY_ENABLED": "false"})
    text = {"name": "map", "input": {"mappings": [{"path": "data.x", "logic": "x" * 1000}]}}
    server.serve("large", text)
    world.watch()
    server.send("large", suffix="/async")


@causes("SvcTracesLost")
def traces_cannot_be_stored(world):
    server, database = on_postgres(world, {"TRACE_STORAGE__MODE": "async"})
    server.serve("echo", ECHO)
    world.watch()
    database.sql("ALTER TABLE traces RENAME TO traces_away")
    server.send_many("echo", 20)


@causes("SvcSpansDropped")
def collector_is_away(world):
    server = world.started({"TRACING__ENABLED": "true", "TRACING__OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}"})
    server.serve("echo", ECHO)
    world.watch()
    for _ in range(10):
        server.send_many("echo", 10)
        time.sleep(1)


# --- accepted work


def fill_queue(world, settings, count, body=None):
    """A server whose one worker waits for an upstream while work is accepted."""
    upstream = world.held()
    server = world.started({"TRACE_QUEUE__WORKERS": "1"} | settings)
    server.connector(upstream.url)
    server.serve("calls", CALL)
    world.watch()
    server.send("calls", suffix="/async")
    wait_until("the worker is busy", lambda: upstream.calls)
    server.send_apart("calls", count, body, "/async")
    return server


@causes("SvcQueueNearFull")
def queue_fills(world):
    fill_queue(world, {"TRACE_QUEUE__BUFFER_SIZE": "20"}, 18)


@causes("SvcQueueMemoryNearFull")
def payloads_fill_memory(world):
    fill_queue(world, {"TRACE_QUEUE__MAX_QUEUE_MEMORY_BYTES": "1000000"}, 18, {"text": "x" * 50_000})


@causes("SvcWorkRefused")
def queue_is_full(world):
    server = fill_queue(world, {"TRACE_QUEUE__BUFFER_SIZE": "5"}, 10)
    for _ in range(6):
        server.send_apart("calls", 5, None, "/async")
        time.sleep(1)


@causes("SvcWorkWaits")
def one_worker_for_all(world):
    fill_queue(world, {}, 5)


@causes("SvcWaitingNearBound")
def much_work_is_delayed(world):
    server = world.started({"TRACE_QUEUE__MAX_WAITING": "10"})
    server.serve("echo", ECHO)
    world.watch()
    server.send_many("echo", 9, suffix="/async", headers={"svc-delay": "1h"})


@causes("SvcDeadLettersExhausted")
def job_fails_for_good(world):
    server = world.started({"TRACE_QUEUE__DLQ_MAX_RETRIES": "1", "TRACE_QUEUE__DLQ_POLL_INTERVAL_SECS": "1"})
    server.connector(world.upstream(status=500).url)
    server.serve("calls", CALL)
    world.watch()
    server.send("calls", suffix="/async")


# --- schedules

EACH_SECOND = {"schedule": "* * * * * *"}


def busy_schedules(world):
    """One worker for runs that take longer than the time between two instants."""
    server = world.started({"CRON__WORKERS": "1", "CRON__POLL_INTERVAL_MS": "500"})
    server.connector(world.upstream(delay=12).url)
    world.watch()
    server.schedule("slow", CALL, EACH_SECOND | {"misfire_policy": "catch_up", "max_catch_up": 100})


CAUSES["SvcScheduleLate"] = busy_schedules
CAUSES["SvcScheduleBacklog"] = busy_schedules


@causes("SvcScheduleMisfires")
def no_node_plans_for_a_while(world):
    server = world.started({"CRON__MISFIRE_GRACE_SECS": "1", "CRON__POLL_INTERVAL_MS": "500"})
    server.schedule("tick", ECHO, EACH_SECOND | {"misfire_policy": "skip"})
    prometheus = world.watch()
    wait_until("runs", lambda: prometheus.value('svc_cron_occurrences_total{status="completed"}') > 1)
    server.signal(signal.SIGSTOP)
    time.sleep(2)
    server.signal(signal.SIGCONT)
    server.kill()
    time.sleep(6)
    server.start()


@causes("SvcScheduleRunsFail")
def occurrence_fails(world):
    server = world.started()
    world.watch()
    due = datetime.datetime.utcnow() + datetime.timedelta(seconds=3)
    # Once, so that it is the first of its kind that this process counts.
    server.schedule("fails", FAIL, {"schedule": f"{due.second} {due.minute} {due.hour} * * *"})


@causes("SvcScheduleLeasesFail")
def lease_of_a_run_cannot_be_renewed(world):
    upstream = world.held()
    server, database = on_postgres(world, {"CRON__CLAIM_LEASE_SECS": "20", "CRON__HEARTBEAT_INTERVAL_SECS": "1"})
    server.connector(upstream.url)
    server.schedule("slow", CALL, {"schedule": "* * * * * *", "concurrency": {"policy": "forbid"}})
    world.watch()
    wait_until("the run", lambda: upstream.calls)
    database.sql("ALTER TABLE cron_occurrences RENAME TO cron_occurrences_away")


@causes("SvcJobsFail")
def old_rows_cannot_be_removed(world):
    _, database = on_postgres(world, {"TRACE_QUEUE__CLEANUP_INTERVAL_SECS": "1"})
    world.watch()
    database.sql("ALTER TABLE traces RENAME TO traces_away")


# --- Kafka


def with_kafka(world, function, settings=None, config=None):
    """A server with a channel of a topic, and one that publishes to it."""
    process, address = world.brokers()
    server = world.started({"KAFKA__ENABLED": "true", "KAFKA__BROKERS": address, "KAFKA__SESSION_TIMEOUT_MS": "6000",
                            "KAFKA__LAG_POLL_INTERVAL_SECS": "1"} | (settings or {}))
    kafka = {"brokers": address.split(","), "allow_private_urls": True}
    server.admin("POST", "connectors", {"id": "events", "name": "events", "connector_type": "kafka", "config": kafka})
    publish = {"name": "publish_kafka", "input": {
        "connector": "events", "topic": "orders", "value_logic": {"var": "payload"}}}
    server.serve("publish", publish)
    return process, server, lambda: receive(server, function, config)


def receive(server, function, config=None):
    server.workflow("records", function)
    server.channel("records", config, channel_type="async", protocol="kafka", topic="orders", methods=None, route_pattern=None)


def publish(server):
    status, answer = server.send("publish", {"id": 1})
    if status != 200:
        raise Missed(f"publish: {status} {answer!r}")


@causes("SvcKafkaDegraded")
def brokers_end(world):
    brokers, server, serve = with_kafka(world, ECHO)
    serve()
    publish(server)
    prometheus = world.watch()
    wait_until("a record", lambda: prometheus.value("sum(svc_kafka_records_total)"))
    brokers.kill()


@causes("SvcKafkaLag")
def records_come_faster(world):
    # One run publishes them all.
    _, server, serve = with_kafka(world, CALL, {"ENGINE__CPU_BUDGET_MS": "60000"})
    server.connector(world.upstream(delay=0.3).url)
    serve()
    many = {"name": "publish_kafka", "input": {"connector": "events", "topic": "orders", "value_logic": {"x": 1}}}
    task = {"for_each": {"over": {"var": "payload.items"}, "as": "one", "max_concurrency": 64,
                         "collect": "data.one", "into": "data.all"}}
    server.serve("flood", many, {"timeout_ms": 120000}, **task)
    world.watch()
    status, answer = server.send("flood", {"items": list(range(10_500))}, timeout=120)
    if status != 200:
        raise Missed(f"flood: {status} {answer[:500]!r}")


@causes("SvcKafkaBlocked")
def record_holds_its_partition_up(world):
    _, server, serve = with_kafka(world, CALL)
    server.connector(world.upstream(status=500).url)
    serve()
    world.watch()
    publish(server)


@causes("SvcKafkaDeadLetters")
def record_becomes_a_dead_letter(world):
    _, server, serve = with_kafka(world, FAIL, {"KAFKA__DLQ__ENABLED": "true"})
    serve()
    prometheus = world.watch()
    # One, the first that this process counts.
    publish(server)
    wait_until("the dead letter", lambda: prometheus.value('sum(svc_kafka_records_total{outcome="dead_letter"})'))


# --- connectors


@causes("SvcBreakerOpen")
def breaker_opens(world):
    server = world.started({"ENGINE__CIRCUIT_BREAKER__ENABLED": "true", "ENGINE__CIRCUIT_BREAKER__FAILURE_THRESHOLD": "2",
                            "ENGINE__CIRCUIT_BREAKER__RECOVERY_TIMEOUT_SECS": "3600"})
    server.connector(world.upstream(status=500).url)
    server.serve("calls", CALL)
    world.watch()
    server.send_many("calls", 3)


@causes("SvcConnectorFails")
def upstream_fails(world):
    server = world.started()
    upstream = world.upstream(status=500)
    server.connector(upstream.url)
    server.serve("calls", CALL)
    world.watch()
    for _ in range(4):
        server.send_many("calls", 10)
        time.sleep(1)


CAUSES["SvcConnectorSlow"] = slow_calls


@causes("SvcTokensRefused")
def client_secret_is_wrong(world):
    server = world.started()
    provider = world.upstream(status=401)
    token = {"type": "oauth2", "grant": "client_credentials", "token_url": provider.url + "/token", "client_id": "svc",
             "client_secret": "wrong"}
    server.connector(world.upstream().url, auth=token)
    server.serve("calls", CALL)
    world.watch()
    deadline = time.monotonic() + 75
    while "SvcTokensRefused" not in world.prometheus.fired() and time.monotonic() < deadline:
        server.send("calls")
        time.sleep(2)


# --- webhooks


def with_dead_endpoint(world, settings=None):
    """A server whose channel `pay` sends an event to an endpoint at which nobody listens."""
    server, port = world.started(settings), free_port()
    server.connector(f"https://127.0.0.1:{port}", allow_urls=[f"https:{port}"])
    endpoint = {"url": f"https://127.0.0.1:{port}/in", "topics": ["paid"], "connector": "shop"}
    created = server.admin("POST", "webhooks", endpoint)["data"]
    server.admin("POST", f"webhooks/{created['id']}/enable", {"verify": False})
    server.serve("pay", {"name": "send_webhook", "input": {"topic": "paid", "data_logic": 1}})
    world.watch()
    return server


@causes("SvcWebhooksFail")
def endpoint_is_away(world):
    server = with_dead_endpoint(world)
    for _ in range(4):
        server.send_many("pay", 10)
        time.sleep(1)


@causes("SvcWebhookDeadLetters")
def endpoint_stays_away(world):
    with_dead_endpoint(world, {"WEBHOOKS__RETRY_SCHEDULE": "1s"}).send("pay")


# --- the database


@causes("SvcDatabaseDown")
def database_stops(world):
    _, database = on_postgres(world)
    world.watch()
    database.run("stop")


@causes("SvcDatabaseErrors")
def table_is_gone(world):
    server, database = on_postgres(world)
    server.serve("echo", ECHO)
    world.watch()
    database.sql("ALTER TABLE traces RENAME TO traces_away")
    server.send("echo", suffix="/async")


@causes("SvcDatabaseSlow")
def database_is_slow(world):
    server, database = on_postgres(world)
    server.serve("echo", ECHO)
    server.send("echo")
    world.watch()
    for _ in range(3):
        server.send_apart("echo", 20)
        database.sql("BEGIN; LOCK TABLE traces IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(2); COMMIT")


@causes("SvcNodeLeaseRenewalsFail")
def lease_cannot_be_renewed(world):
    _, database = on_postgres(world, {"CLUSTER__NODE_LEASE_SECS": "30"})
    world.watch()
    database.sql("ALTER TABLE nodes RENAME TO nodes_away")


@causes("SvcBackupIsOld")
def no_backup_can_be_made(world):
    server = world.server({"BACKUPS__SCHEDULE": "@daily"})
    # A file in the place of the directory.
    (server.directory / "backups").write_text("")
    server.start()
    world.watch()


@causes("SvcBackupIsUnverified")
def no_check_succeeds_for_fifteen_days(world):
    server = world.started({"BACKUPS__SCHEDULE": "0 0 3 1 1 *", "BACKUPS__VERIFY_DAYS": "7"})
    backups = server.directory / "backups"
    wait_until("the first backup is checked", lambda: (backups / "svc_backup_verified").exists())
    server.signal(signal.SIGTERM)
    server.process.wait()
    for file in backups.glob("*.db"):
        file.write_bytes(b"this is no database")
    then = time.time() - 15 * 86400
    os.utime(backups / "svc_backup_verified", (then, then))
    server.start()
    world.watch()


ONLY_SIMULATED |= {
    "SvcActorsRestart": "no request makes an actor panic; tests/service/faults.rs does, inside the process",
    "SvcActorsQuarantined": "as SvcActorsRestart",
    "SvcKafkaCommitsFail": "the mock cluster refuses no commit alone; brokers that are away are SvcKafkaDegraded",
}
assert not set(CAUSES) & set(ONLY_SIMULATED)
