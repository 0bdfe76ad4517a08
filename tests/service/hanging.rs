//! Blocked threads.

use std::future::ready;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use actix::{Actor, Handler, Message};
use actix_supervision::{ChildSpec, Context, Placement, StartError, Supervised};
use serde_json::json;
use svc_model::LifecycleStatus;
use svc_registry::ReloadScope;
use svc_store::{AuditEntry, AuditReceipt, ChannelRequirements, Mutation};
use svc_testkit::http::HttpClient;

use crate::kit::{RunningService, WORKERS, expect_soon, wait, with_quickstart};

/// Blocks its thread.
struct Blocker;

impl Actor for Blocker {
    type Context = Context<Self>;
}

impl Supervised for Blocker {}

/// Activates the draft of the channel `orders`, without HTTP: its threads may be blocked.
async fn activate(running: &RunningService) {
    let state = running.service.state();
    let audit = AuditEntry {
        principal: "anonymous".into(),
        action: "activate".into(),
        resource_type: "channel".into(),
        resource_id: "orders".into(),
        details: None,
        receipt: AuditReceipt::default(),
    };
    let mutation = Mutation::new(audit);
    let requirements = ChannelRequirements::default();
    state
        .store
        .channels()
        .set_status("orders", LifecycleStatus::Active, None, requirements, mutation)
        .await
        .unwrap();
    let report = state.reload(ReloadScope::channel("orders")).await.unwrap();
    assert_eq!((report.built, report.quarantined, report.retired), (1, 0, 0));
}

/// Blocks the handler until the other end is dropped.
#[derive(Message)]
#[rtype(result = "()")]
struct Block(Receiver<()>);

impl Handler<Block> for Blocker {
    type Result = ();

    fn handle(&mut self, Block(release): Block, _: &mut Self::Context) {
        let _ = release.recv();
    }
}

/// Blocks the first `count` worker threads until the returned senders are dropped.
fn block(running: &RunningService, count: usize) -> Vec<Sender<()>> {
    let tree = &running.service.state().tree;
    let mut releases = Vec::new();
    for (number, worker) in running.workers().iter().take(count).enumerate() {
        let at = Placement::On(worker.clone());
        let factory = |_| ready(Ok::<_, StartError>(Blocker));
        let path = format!("blocker-{number}");
        let actor = wait(tree.spawn(&path, ChildSpec::new(), at, factory)).unwrap();
        wait(tree.wait_until_running(&path)).unwrap();
        let (release, wait) = channel();
        actor.cast(Block(wait)).unwrap();
        releases.push(release);
    }
    let blocked = || tree.snapshot().nodes.iter().filter(|node| node.handling == Some("Block")).count();
    expect_soon(|| blocked() == count);
    releases
}

#[test]
fn operational_listener_answers_while_every_worker_is_blocked() {
    with_quickstart(vec![], |running| {
        let operations = running.service.listen_for_operations("127.0.0.1:0").unwrap();
        let mut own = HttpClient::new(operations.address());
        let releases = block(running, WORKERS);
        for path in ["/healthz", "/readyz", "/health", "/metrics"] {
            assert_eq!(own.get(path).unwrap().status, 200, "{path}");
        }
        assert_eq!(own.get("/api/v1/data/orders").unwrap().status, 404);
        let health = own.get("/health").unwrap().json();
        let nodes = health["actors"]["nodes"].as_array().unwrap();
        let blocked: Vec<_> = nodes.iter().filter(|node| node["handling"] == "Block").collect();
        assert_eq!(blocked.len(), WORKERS, "{health}");
        for node in blocked {
            assert!(node["thread"].as_str().is_some_and(|name| !name.is_empty()), "{node}");
            assert!(node["busy_ms"].is_u64(), "{node}");
        }
        drop(releases);
        let order = json!({"order_id": "A-1", "qty": 3, "price": 50});
        let answer = running.client().json("POST", "/api/v1/data/orders", &order).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
        wait(operations.stop());
    });
}

#[test]
fn blocked_workers_leave_essential_parts_responsive() {
    with_quickstart(vec![], |running| {
        let releases = block(running, WORKERS);
        let tree = &running.service.state().tree;
        assert!(wait(tree.find_unresponsive(Duration::from_secs(60))).is_empty());
        drop(releases);
    });
}

#[test]
fn changed_channel_goes_live_despite_blocked_workers() {
    with_quickstart(vec![], |running| {
        let order = json!({"order_id": "A-1", "qty": 3, "price": 50});
        let served = || {
            let snapshot = running.service.state().serving.registry.snapshot();
            snapshot.channel_by_name("orders").map(|entry| entry.row.version)
        };
        for (version, blocked) in [(2, 1), (3, WORKERS)] {
            let draft = running.client().json("POST", "/api/v1/admin/channels/orders/versions", &json!({}));
            assert_eq!(draft.unwrap().status, 201);
            let releases = block(running, blocked);
            let tree = &running.service.state().tree;
            let of_orders = |node: &str| node.starts_with("channels/orders");
            wait(activate(running));
            assert_eq!(served(), Some(version));
            // The activation waited neither for the blocked threads nor for the drain deadline of their old
            // actors.
            let old = format!("version {}", version - 1);
            let nodes = tree.snapshot().nodes;
            let still_there = nodes.iter().filter(|node| node.fingerprint.as_ref() == Some(&old)).count();
            assert!(still_there >= blocked, "{still_there} actors of {old}");
            drop(releases);
            for number in 0..blocked {
                wait(tree.retire(&format!("blocker-{number}"), Duration::from_secs(5))).unwrap();
            }
            for _ in 0..2 * WORKERS {
                let answer = running.client().json("POST", "/api/v1/data/orders", &order).unwrap();
                assert_eq!(answer.status, 200, "{}", answer.text());
            }
            // One group and its actors: the old ones have ended.
            expect_soon(|| {
                let nodes = tree.snapshot().nodes;
                nodes.iter().filter(|node| of_orders(node.path.as_str())).count() == 1 + WORKERS
            });
        }
    });
}
