//! Changes, reloads and restarts while calls go on: who is concerned and who is not.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::{join, join_all};
use serde_json::{Value, json};
use svc_connectors::{ConnectorScope, DRIVER_FUNCTIONS};
use svc_engine::catalogue::FunctionTarget;
use svc_model::ConnectorType;
use svc_testkit::state::eventually;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::kit::{ConnectorWorld, connector_to, run};

/// Connectors in use,
const CONNECTORS: usize = 6;
/// callers of each,
const CALLERS: usize = 4;
/// and changes made meanwhile.
const ROUNDS: usize = 15;

fn name(index: usize) -> String {
    format!("c{index}")
}

/// A server that says which connector asked, and with what.
fn repeating() -> Upstream {
    Upstream::start(|asked| {
        UpstreamReply::new(200, json!([asked.target, asked.header("x-round")]).to_string())
    })
    .unwrap()
}

fn config(upstream: &Upstream, index: usize, header: &str) -> Value {
    connector_to(upstream, json!({"url": upstream.url(&format!("/{index}")), "headers": {"x-round": header}}))
}

async fn connect(world: &ConnectorWorld, upstream: &Upstream, index: usize, header: &str) {
    world.put(&name(index), "http", true, config(upstream, index, header)).await;
}

/// Each connector's actor, and how often an instance of it was started.
fn instances(world: &ConnectorWorld) -> BTreeMap<String, (u64, u64)> {
    let nodes = world.tree.snapshot().nodes.into_iter();
    let ours = nodes.map(|node| (node.path.as_str().to_owned(), (node.generation, node.restarts)));
    ours.filter(|(path, _)| path.starts_with("connectors/c")).collect()
}

/// Waits until every actor has come up.
async fn wait_until_running(world: &ConnectorWorld) {
    for path in instances(world).into_keys() {
        world.tree.wait_until_running(&path).await.unwrap();
    }
}

/// Does something while every connector is called; answers how many calls succeeded, which is all of them.
async fn under_load(world: &ConnectorWorld, change: impl AsyncFnOnce()) -> usize {
    let (over, calls) = (Cell::new(false), Cell::new(0));
    let caller = async |index: usize| {
        while !over.get() {
            let said = world.call(json!({"connector": name(index)})).await;
            assert_eq!(said[0], format!("/{index}"), "the answer is from where this connector leads");
            calls.set(calls.get() + 1);
        }
    };
    let callers = join_all((0..CONNECTORS * CALLERS).map(|number| caller(number % CONNECTORS)));
    let change = async {
        change().await;
        // Everybody has called since.
        let enough = calls.get() + CONNECTORS * CALLERS * 4;
        eventually("every caller has called since", async || calls.get() >= enough).await;
        over.set(true);
    };
    join(callers, change).await;
    calls.get()
}

#[test]
fn edit_replaces_one_actor_and_fails_no_call() {
    run(async |world| {
        let upstream = repeating();
        for index in 0..CONNECTORS {
            connect(world, &upstream, index, "0").await;
        }
        wait_until_running(world).await;
        let before = instances(world);
        under_load(world, async || {
            for round in 1..=ROUNDS {
                connect(world, &upstream, 0, &round.to_string()).await;
                let said = world.call(json!({"connector": name(0)})).await;
                assert_eq!(said[1], round.to_string(), "the change is in use when it is answered");
            }
        })
        .await;
        // The former ones drain: every actor but the last of this connector goes.
        let mut events = world.tree.subscribe();
        while instances(world).len() > CONNECTORS {
            let _ = events.recv().await;
        }
        wait_until_running(world).await;
        let after = instances(world);
        let untouched = |all: &BTreeMap<String, (u64, u64)>| -> Vec<(String, (u64, u64))> {
            all.clone().into_iter().filter(|(path, _)| !path.starts_with("connectors/c0")).collect()
        };
        assert_eq!(untouched(&after), untouched(&before));
        assert!(!after.contains_key("connectors/c0"), "{after:?}");
    });
}

#[test]
fn equivalent_config_texts_start_nothing_on_reload() {
    run(async |world| {
        let upstream = repeating();
        let set = |name: &str, value: &str| {
            world.variables.lock().insert(name.to_owned(), value.to_owned());
        };
        set("WORD", "one");
        let texts = ["${WORD}", "env://WORD", "x${WORD:-y}z", "${GONE:-w}", "$$", "plain"];
        for (index, text) in texts.iter().enumerate() {
            connect(world, &upstream, index, text).await;
        }
        wait_until_running(world).await;
        let before = instances(world);
        under_load(world, async || {
            for round in 0..ROUNDS {
                // Written again elsewhere as it is: the same settings.
                let index = round % CONNECTORS;
                world.write(&name(index), "http", true, config(&upstream, index, texts[index])).await;
                world.connectors.reload(ConnectorScope::All).await.unwrap();
            }
        })
        .await;
        assert_eq!(instances(world), before);
        set("WORD", "two");
        let said: Vec<Value> = join_all((0..CONNECTORS).map(async |index| {
            world.connectors.reload(ConnectorScope::All).await.unwrap();
            world.call(json!({"connector": name(index)})).await[1].take()
        }))
        .await;
        assert_eq!(said, ["two", "two", "xtwoz", "w", "$", "plain"]);
        let mut events = world.tree.subscribe();
        while instances(world).len() > CONNECTORS {
            let _ = events.recv().await;
        }
        let survivors: Vec<_> =
            instances(world).into_keys().filter(|path| before.contains_key(path)).collect();
        assert_eq!(
            survivors,
            ["connectors/c3", "connectors/c4", "connectors/c5"],
            "who reads the variable is replaced"
        );
    });
}

#[test]
fn actor_restart_fails_no_retryable_call() {
    run(async |world| {
        let upstream = repeating();
        for index in 0..CONNECTORS {
            connect(world, &upstream, index, "0").await;
        }
        under_load(world, async || {
            for round in 0..ROUNDS {
                let path = format!("connectors/{}", name(round % CONNECTORS));
                world.tree.restart(&path).await.unwrap();
                world.tree.wait_until_running(&path).await.unwrap();
            }
        })
        .await;
        let restarts: u64 = instances(world).values().map(|(_, restarts)| restarts).sum();
        assert_eq!(restarts, ROUNDS as u64);
    });
}

#[test]
fn heavy_functions_are_declared_without_their_driver() {
    run(async |world| {
        let is_heavy = |kind: &ConnectorType| !matches!(kind, ConnectorType::Http | ConnectorType::Cache);
        let heavy = world.engine.catalogue().entries().filter(|entry| match entry.target {
            FunctionTarget::Connector(accepted) => accepted.types.iter().all(is_heavy),
            FunctionTarget::None | FunctionTarget::Channel | FunctionTarget::Topic => false,
        });
        let expected: BTreeSet<_> = heavy.map(|entry| entry.name).collect();
        let declared: BTreeSet<_> =
            DRIVER_FUNCTIONS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        assert_eq!(declared, expected);
    });
}
