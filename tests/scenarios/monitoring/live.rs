//! A real Prometheus that scrapes a live service: every rule is evaluated, and every query of a dashboard returns series.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;

use rdkafka::ClientConfig;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseRecord, DefaultProducerContext, Producer, ThreadedProducer};
use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;
use svc_testkit::http::HttpClient;
use svc_testkit::process::ChildProcess;
use svc_testkit::server::{ServerProcess, free_port};
use svc_testkit::tls::issue_certificate;
use svc_testkit::upstream::{Upstream, UpstreamReply};
use tempfile::TempDir;

use super::{dashboards, queries, read};
use crate::cron::{schedule, telling};
use crate::support::{echo, echo_workflow, eventually, launch, serve};

const CHANNELS: &str = "/api/v1/admin/channels";
const TOPIC: &str = "orders";

/// Metrics without a sample until something happens that is not made to happen here.
const OF_RARE_EVENTS: [&str; 7] = [
    "svc_kafka_record_retries_total",
    "svc_oauth_token_requests_total",
    "svc_spans_dropped_total",
    "svc_http_connections_refused_total",
    "svc_trace_queue_rejected_total",
    "svc_job_failures_total",
    "svc_job_last_success_timestamp_seconds",
];

/// A service that has had all kinds of traffic, and its peers.
struct BusyService {
    server: ServerProcess,
    _upstream: Upstream,
    _cluster: MockCluster<'static, DefaultProducerContext>,
}

impl BusyService {
    fn start() -> Self {
        let cluster = MockCluster::new(1).unwrap();
        cluster.create_topic(TOPIC, 1, 1).unwrap();
        let brokers = cluster.bootstrap_servers();
        let server = launch()
            .over_tls(&issue_certificate().unwrap())
            .unwrap()
            .env("SVC_METRICS__ENABLED", "true")
            .env("SVC_ENGINE__CIRCUIT_BREAKER__ENABLED", "true")
            .env("SVC_ENGINE__CIRCUIT_BREAKER__FAILURE_THRESHOLD", "1")
            .env("SVC_ENGINE__CIRCUIT_BREAKER__RECOVERY_TIMEOUT_SECS", "3600")
            .env("SVC_TRACE_QUEUE__DLQ_POLL_INTERVAL_SECS", "1")
            .env("SVC_KAFKA__ENABLED", "true")
            .env("SVC_KAFKA__BROKERS", &brokers)
            .env("SVC_KAFKA__SESSION_TIMEOUT_MS", "6000")
            .env("SVC_KAFKA__LAG_POLL_INTERVAL_SECS", "1")
            .start()
            .unwrap();
        let upstream = Upstream::start(|_| UpstreamReply::new(500, "")).unwrap();
        let mut client = server.client();
        define_channels(&mut client, &upstream);
        send_record(&brokers);
        let service = Self { server, _upstream: upstream, _cluster: cluster };
        service.make_traffic();
        service
    }

    /// Calls every channel, so that each kind of series has a sample.
    fn make_traffic(&self) {
        let mut client = self.server.client();
        for path in
            ["echo", "cached", "cached", "limited", "limited", "calls", "calls", "fails", "keyed", "none"]
        {
            client.json("POST", &format!("/api/v1/data/{path}"), &json!({})).unwrap();
        }
        client.json("POST", "/api/v1/data/echo/async", &json!({})).unwrap();
    }
}

/// Serves channels of every kind.
fn define_channels(client: &mut HttpClient, upstream: &Upstream) {
    echo(client, "echo", json!({"tracing": {"mode": "sync"}}));
    echo(client, "cached", json!({"cache": {"enabled": true}}));
    echo(client, "limited", json!({"rate_limit": {"requests_per_second": 1, "burst": 1}}));
    echo(
        client,
        "keyed",
        json!({"auth": {"mode": "api_key", "keys": ["a key of forty characters, more or less"]}}),
    );
    echo(client, "quarantined", json!({"auth": {"mode": "api_key", "keys": ["env://SVC_TEST_NOT_SET"]}}));
    echo(client, "paused", json!({}));
    let paused =
        client.json("POST", &format!("{CHANNELS}/paused/pause"), &json!({"reason": "a test"})).unwrap();
    assert_eq!(paused.status, 200, "{}", paused.text());
    let config = json!({"url": upstream.url(""), "allow_private_urls": true, "retry": {"max_retries": 0}});
    let connector = json!({"id": "shop", "name": "shop", "connector_type": "http", "config": config});
    let created = client.json("POST", "/api/v1/admin/connectors", &connector).unwrap();
    assert_eq!(created.status, 201, "{}", created.text());
    let call = json!({"name": "http_call", "input": {"connector": "shop", "method": "POST"}});
    serve(client, "calls", json!([{"id": "call", "name": "Call", "function": call}]));
    let throw = json!({"name": "map", "input": {"mappings": [{"path": "data.x", "logic": {"throw": "no"}}]}});
    serve(client, "fails", json!([{"id": "fail", "name": "Fail", "function": throw}]));
    schedule(client, "tick", telling(), json!({"schedule": "* * * * * *"}), json!({}));
    create_and_activate(client, "workflows", "workflow_id", &echo_workflow("records")).unwrap();
    let channel = json!({"channel_id": "records", "name": "records", "channel_type": "async",
        "protocol": "kafka", "topic": TOPIC, "workflow_id": "records", "config": {}});
    create_and_activate(client, "channels", "channel_id", &channel).unwrap();
}

fn send_record(brokers: &str) {
    let mut config = ClientConfig::new();
    let producer: ThreadedProducer<DefaultProducerContext> =
        config.set("bootstrap.servers", brokers).create().unwrap();
    let record: BaseRecord<'_, str, str> = BaseRecord::to(TOPIC).key("k").payload("{}");
    producer.send(record).map_err(|(error, _)| error).unwrap();
    producer.flush(std::time::Duration::from_secs(30)).unwrap();
}

/// A Prometheus that scrapes a service each second and evaluates the rules.
struct Prometheus {
    process: ChildProcess,
    client: HttpClient,
    _data: TempDir,
}

impl Prometheus {
    fn start(service: &ServerProcess, rules: &Path) -> Self {
        let (data, port) = (TempDir::new().unwrap(), free_port().unwrap());
        let config = json!({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [rules],
            "scrape_configs": [{"job_name": "svc", "scheme": "https",
                "tls_config": {"insecure_skip_verify": true},
                "static_configs": [{"targets": [service.address().to_string()]}]}],
        });
        let file = data.path().join("prometheus.yml");
        // JSON is YAML.
        std::fs::write(&file, config.to_string()).unwrap();
        let process = ChildProcess::start(
            Command::new("prometheus")
                .arg(format!("--config.file={}", file.display()))
                .arg(format!("--storage.tsdb.path={}", data.path().join("data").display()))
                .arg(format!("--web.listen-address=127.0.0.1:{port}"))
                .arg("--enable-feature=exemplar-storage"),
        );
        let process = process.unwrap();
        let mut client = HttpClient::new(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        eventually(|| client.get("/-/ready").is_ok_and(|answer| answer.status == 200));
        Self { process, client, _data: data }
    }

    /// Asks for something; the parameters are encoded.
    fn ask(&mut self, path: &str, parameters: &[(&str, &str)]) -> Value {
        let pairs = parameters.iter().map(|(name, value)| format!("{name}={}", encode(value)));
        let query = pairs.collect::<Vec<_>>().join("&");
        let answer = self.client.get(&format!("/api/v1/{path}?{query}")).unwrap();
        assert_eq!(answer.status, 200, "{path}?{query}: {}", answer.text());
        answer.json()["data"].clone()
    }

    /// Returns `true` if a query has series now.
    fn has_series(&mut self, query: &str) -> bool {
        let data = self.ask("query", &[("query", query)]);
        data["result"].as_array().is_some_and(|series| !series.is_empty())
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // It does not end with its standard input.
        self.process.kill();
    }
}

fn encode(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Returns a query as a viewer sends it who has chosen everything.
fn with_choices(query: &str) -> String {
    let choices = ["instance", "channel", "connector", "topic"];
    let chosen =
        choices.iter().fold(query.to_owned(), |query, name| query.replace(&format!("${name}"), ".*"));
    chosen.replace("$__rate_interval", "1m")
}

#[test]
fn every_query_returns_series_of_live_service() {
    if !svc_testkit::peer::is_installed("prometheus", "prometheus") {
        return;
    }
    let directory = TempDir::new().unwrap();
    let boards = dashboards(directory.path());
    let service = BusyService::start();
    let rules = directory.path().join("alerts.yaml");
    assert!(read(&rules).contains("SvcDown"));
    let mut prometheus = Prometheus::start(&service.server, &rules);
    let mut missing: BTreeSet<String> = boards.values().flat_map(queries).collect();
    let is_rare = |query: &String| OF_RARE_EVENTS.iter().any(|metric| query.contains(metric));
    missing.retain(|query| !is_rare(query));
    assert!(missing.len() > 60, "{}", missing.len());
    let came = svc_testkit::server::wait_until(std::time::Duration::from_secs(90), || {
        missing.retain(|query| !prometheus.has_series(&with_choices(query)));
        Ok(missing.is_empty())
    });
    assert!(came.unwrap(), "no series: {missing:#?}");
    let healths = prometheus.ask("rules", &[]).to_string();
    assert!(healths.contains(r#""health":"ok""#) && !healths.contains(r#""health":"err""#), "{healths}");
    let exemplars = [("query", "svc_message_duration_seconds_bucket"), ("start", "0"), ("end", "9999999999")];
    eventually(|| prometheus.ask("query_exemplars", &exemplars).to_string().contains("svc_trace_id"));
}
