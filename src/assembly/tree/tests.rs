//! The table compared with a running service and with the source.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use actix_rt::System;
use actix_supervision::{ChildSpec, NodeKind, NodeView, Placement, TreeView};
use actix_web::body::MessageBody;
use actix_web::dev::ServiceResponse;
use actix_web::test::{TestRequest, call_service, init_service, read_body};
use actix_web::{App, Error};
use rdkafka::mocking::MockCluster;
use serde_json::{Value, json};
use tokio::task::yield_now;
use tokio::time::timeout;

use super::*;
use crate::assembly::parts::channels::CHANNELS;
use crate::assembly::parts::kafka::KAFKA;
use crate::assembly::row::{DrainBudget, TaskRow, TreeRow};
use crate::{Config, Options, Service};

/// Longest wait for the actors of new definitions.
const LIMIT: Duration = Duration::from_secs(120);
const SHUTDOWN: Duration = Duration::from_secs(7);

/// A configuration under which every kind of node exists.
fn config(directory: &Path) -> Config {
    let mut config = Config::default();
    config.storage.url = format!("sqlite:{}", directory.join("svc.db").display());
    config.kafka.enabled = true;
    config.trace_queue.shutdown_timeout_secs = SHUTDOWN.as_secs();
    config.cron.shutdown_timeout_secs = SHUTDOWN.as_secs();
    config
}

/// An actor of an application that embeds the service.
struct HostActor;

impl actix::Actor for HostActor {
    type Context = actix_supervision::Context<Self>;
}

impl actix_supervision::Supervised for HostActor {}

/// Returns the rows of all nodes.
fn nodes() -> impl Iterator<Item = &'static TreeRow> {
    PARTS.iter().flat_map(|part| part.nodes.iter().copied())
}

/// Returns the rows of all threads and tasks.
fn tasks() -> impl Iterator<Item = &'static TaskRow> {
    PARTS.iter().flat_map(|part| part.tasks)
}

/// Returns the first row whose path matches.
fn row_of(path: &str) -> Option<&'static TreeRow> {
    let matches = |row: &&TreeRow| {
        let (parts, names) = (row.path.split('/'), path.split('/'));
        row.path.split('/').count() == path.split('/').count()
            && parts.zip(names).all(|(part, name)| is_match(part, name))
    };
    nodes().find(matches)
}

fn is_match(part: &str, name: &str) -> bool {
    match part.split_once('{') {
        Some((prefix, _)) => name.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty()),
        None => part == name,
    }
}

fn drain_of(row: &TreeRow) -> Duration {
    match row.drain {
        DrainBudget::Default => Duration::from_secs(10),
        DrainBudget::Fixed(limit) => limit,
        DrainBudget::TraceQueueShutdown | DrainBudget::CronShutdown => SHUTDOWN + Duration::from_secs(5),
    }
}

/// Sends an admin request that must succeed.
async fn send<S, B>(app: &S, request: TestRequest)
where
    S: actix_web::dev::Service<actix_http::Request, Response = ServiceResponse<B>, Error = Error>,
    B: MessageBody,
{
    let response = call_service(app, request.to_request()).await;
    let status = response.status();
    assert!(status.is_success(), "{status}: {}", String::from_utf8_lossy(&read_body(response).await));
}

fn post(path: &str, body: &Value) -> TestRequest {
    TestRequest::post().uri(&format!("/api/v1/admin/{path}")).set_json(body)
}

fn activate(path: &str) -> TestRequest {
    let uri = format!("/api/v1/admin/{path}/status");
    TestRequest::patch().uri(&uri).set_json(json!({"status": "active"}))
}

/// Runs a service with a connector, a channel, a schedule and a topic, and returns its tree once every row has a node.
#[expect(clippy::disallowed_methods, reason = "a host has threads of its own")]
fn live_tree() -> TreeView {
    let directory = tempfile::tempdir().unwrap();
    let cluster = MockCluster::new(1).unwrap();
    cluster.create_topic("orders", 1, 1).unwrap();
    System::new().block_on(async {
        let mut config = config(directory.path());
        config.kafka.brokers = vec![cluster.bootstrap_servers()];
        let service = Service::start(config, Options::default()).await.unwrap();
        let app = init_service(App::new().configure(service.routes())).await;
        let host_thread = actix_rt::Arbiter::new();
        let at = Placement::On(host_thread.handle());
        service.supervise("shop", ChildSpec::new(), at, |_| async { Ok(HostActor) }).await.unwrap();
        let workflow = json!({"workflow_id": "w", "name": "w",
            "tasks": [{"id": "t", "name": "", "function": {"name": "map",
                "input": {"mappings": [{"path": "data.a", "logic": 1}]}}}]});
        let connector = json!({"id": "api", "name": "api", "connector_type": "http",
            "config": {"url": "https://a.example"}});
        let channel = json!({"channel_id": "c", "name": "c", "channel_type": "sync", "protocol": "rest",
            "methods": ["POST"], "route_pattern": "/c", "workflow_id": "w", "config": {}});
        let schedule = json!({"channel_id": "s", "name": "s", "channel_type": "async", "protocol": "cron",
            "workflow_id": "w", "transport_config": {"schedule": "0 0 0 1 1 *"}, "config": {}});
        let topic = json!({"channel_id": "k", "name": "k", "channel_type": "async", "protocol": "kafka",
            "topic": "orders", "workflow_id": "w", "config": {}});
        send(&app, post("workflows", &workflow)).await;
        send(&app, activate("workflows/w")).await;
        send(&app, post("connectors", &connector)).await;
        for (id, body) in [("c", channel), ("s", schedule), ("k", topic)] {
            send(&app, post("channels", &body)).await;
            send(&app, activate(&format!("channels/{id}"))).await;
        }
        let is_complete = |tree: &TreeView| {
            let live: BTreeSet<_> =
                tree.nodes.iter().filter_map(|node| Some(row_of(node.path.as_str())?.path)).collect();
            live.len() == nodes().count() && tree.nodes.iter().all(has_thread)
        };
        let complete = timeout(LIMIT, async {
            while !is_complete(&service.tree()) {
                yield_now().await;
            }
        });
        let tree = match complete.await {
            Ok(()) => service.tree(),
            Err(_) => panic!("not every row has a running node: {:#?}", service.tree()),
        };
        service.shutdown(Duration::from_secs(5)).await;
        tree
    })
}

fn has_thread(node: &NodeView) -> bool {
    node.kind == NodeKind::Group || node.thread.is_some()
}

#[test]
fn every_running_node_matches_its_row() {
    let tree = live_tree();
    let mut threads = BTreeMap::<RunsOn, BTreeSet<String>>::new();
    for node in &tree.nodes {
        let path = node.path.as_str();
        let row = row_of(path).unwrap_or_else(|| panic!("no row for {path}"));
        assert_eq!(node.kind, row.kind, "{path}");
        assert_eq!(node.essential, row.essential, "{path}");
        let rows = |paths: &mut dyn Iterator<Item = String>| paths.collect::<BTreeSet<_>>();
        let needs =
            rows(&mut node.needs.iter().filter_map(|need| Some(row_of(need.as_str())?.path.to_owned())));
        let expected = rows(&mut row.needs.iter().map(|need| (*need).to_owned()));
        assert_eq!(needs, expected, "needs of {path}");
        if row.kind == NodeKind::Actor {
            assert_eq!(node.drain_deadline, drain_of(row), "drain of {path}");
            threads.entry(row.runs_on).or_default().extend(node.thread.clone());
        }
    }
    let mut seen = BTreeSet::new();
    for (runs_on, names) in threads {
        assert_eq!(names.len(), 1, "{runs_on:?} is one thread here: {names:?}");
        assert!(seen.is_disjoint(&names), "{runs_on:?} shares a thread with another place: {names:?}");
        seen.extend(names);
    }
}

/// Receivers whose `spawn` starts a node of the tree, a future of an actor, or nothing at all.
const NOT_TASKS: [&str; 6] = ["ctx", "context", "tree", "deployer", "scope", "self"];

/// Returns the number of places in a text that start a thread or a task outside the tree.
fn count_spawns(text: &str) -> usize {
    let text: String =
        text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let names = [".spawn(", "::spawn(", "spawn_blocking(", "spawn_local("];
    let is_task = |name: &str, at: usize| {
        // The settings of a connector start its actor.
        !text[at + name.len()..].starts_with("context)") && is_task(&text[..at])
    };
    names.iter().map(|name| text.match_indices(name).filter(|(at, _)| is_task(name, *at)).count()).sum()
}

fn is_task(before: &str) -> bool {
    let before = before.trim_end();
    let receiver = before.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
    !NOT_TASKS.contains(&receiver) && !before.ends_with("fn") && !before.ends_with("use tokio::task::")
}

fn count_spawns_below(directory: &Path) -> usize {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let count = |path: std::path::PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if name == "tests" { 0 } else { count_spawns_below(&path) }
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            count_spawns(&fs::read_to_string(&path).unwrap())
        } else {
            0
        }
    };
    entries.map(count).sum()
}

#[test]
fn every_thread_or_task_start_is_listed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut listed = BTreeMap::<String, usize>::new();
    for row in tasks() {
        *listed.entry(row.directory.to_owned()).or_default() += row.places;
    }
    let mut found = BTreeMap::from([("src".to_owned(), count_spawns_below(&root.join("src")))]);
    for group in ["crates", "actors"] {
        for entry in fs::read_dir(root.join(group)).unwrap() {
            let path = entry.unwrap().path();
            let count = count_spawns_below(&path.join("src"));
            if count > 0 {
                found.insert(format!("{group}/{}", path.file_name().unwrap().to_string_lossy()), count);
            }
        }
    }
    assert_eq!(found, listed, "the left side is the source, the right side the table");
}

#[test]
fn needs_of_every_row_are_paths_of_rows() {
    let paths: BTreeSet<_> = nodes().map(|row| row.path).collect();
    for row in nodes() {
        assert!(row.needs.iter().all(|need| paths.contains(need)), "{row:?}");
    }
}

#[test]
fn early_ending_nodes_have_their_step_budget() {
    for row in nodes() {
        let is_consistent = match row.ended_by {
            EndedBy::TracesStop => row.drain == DrainBudget::TraceQueueShutdown,
            EndedBy::CronStop => row.drain == DrainBudget::CronShutdown,
            EndedBy::KafkaStop => row.path.starts_with(KAFKA.path),
            EndedBy::ChannelRetirement => row.path.starts_with(CHANNELS.path),
            EndedBy::TreeShutdown => !row.path.starts_with(CHANNELS.path),
            _ => false,
        };
        assert!(is_consistent, "{row:?}");
    }
}

#[test]
fn tasks_have_distinct_names_and_a_place() {
    let names: BTreeSet<_> = tasks().map(|task| task.name).collect();
    assert_eq!(names.len(), tasks().count());
    assert!(tasks().all(|task| task.runs_on != RunsOn::Nowhere));
    // Only the runners of actors end with the tree: a task must not outlive what it works for unnoticed.
    assert_eq!(tasks().filter(|task| task.ended_by == EndedBy::TreeShutdown).count(), 1);
}
