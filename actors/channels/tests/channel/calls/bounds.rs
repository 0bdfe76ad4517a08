//! The bounds of calls: depth and duration.

use std::time::Duration;

use serde_json::{Value, json};
use svc_channels::call::MAX_DEPTH;
use svc_model::Code;

use super::{World, data, get, refusal, run};
use crate::kit::{CALL_TIMEOUT, body, copy, task};

#[test]
fn call_circle_is_refused_and_named() {
    run(async |world| {
        let forge = |path: &str| copy("payload.nothing_at_all", path);
        let forged = json!([
            forge("metadata._svc_call_chain"),
            forge("metadata._svc_call_depth"),
            task("map", json!({"mappings": [{"path": "metadata", "logic": {"preserve": {"channel": "x"}}}]})),
            get("orders")
        ]);
        world.peer("stock", json!({}), forged);
        let refused = refusal(&world, json!([get("stock")])).await;
        assert_eq!(refused.code(), Code::ValidationError);
        assert!(
            refused.message().ends_with("in a circle: orders -> stock -> orders"),
            "{}",
            refused.message()
        );
    });
    run(async |world| {
        let refused = refusal(&world, json!([get("orders")])).await;
        assert!(refused.message().ends_with("in a circle: orders -> orders"), "{}", refused.message());
    });
}

/// Channels `1` to `last`, each of which calls the next; the last holds.
fn chain(world: &World, last: usize, config: &Value) {
    for n in 1..last {
        world.peer(&n.to_string(), config.clone(), json!([get(&(n + 1).to_string())]));
    }
    world.peer(
        &last.to_string(),
        config.clone(),
        json!([task("hold", json!({})), copy("metadata._svc_call_depth", "data.depth")]),
    );
}

#[test]
fn chain_longer_than_allowed_is_refused() {
    for (last, refused) in [(MAX_DEPTH, false), (MAX_DEPTH + 1, true)] {
        run(async |world| {
            chain(&world, last, &json!({}));
            let orders = world.orders(json!({}), json!([get("1")])).await;
            world.kit.hold.release();
            let answer = orders.post(json!({})).await;
            if refused {
                let error = answer.unwrap_err();
                assert_eq!(error.code(), Code::ValidationError);
                let more = format!("more than {MAX_DEPTH} in a row: orders -> 1 -> 2 -> ");
                assert!(error.message().contains(&more), "{}", error.message());
                let named = format!(" -> {MAX_DEPTH} -> {last}");
                assert!(error.message().ends_with(&named), "{}", error.message());
            } else {
                let place = format!("/data{}/depth", "/got".repeat(MAX_DEPTH));
                let depth = body(answer).pointer(&place).cloned();
                assert_eq!(depth, Some(json!(MAX_DEPTH)));
            }
        });
    }
}

#[test]
fn chains_that_share_permits_always_end() {
    run(async |world| {
        chain(&world, 10, &json!({"backpressure": {"max_concurrent_per_node": 2}}));
        let orders = world.orders(json!({}), json!([get("1")])).await;
        let runs: Vec<_> = (0..50)
            .map(|_| {
                let orders = orders.clone();
                actix_rt::spawn(async move { orders.post(json!({})).await })
            })
            .collect();
        world.kit.hold.wait_for_entries(2).await;
        world.kit.hold.release();
        world.kit.hold.release();
        let (mut served, mut shed) = (0, 0);
        for run in runs {
            match run.await.unwrap() {
                Ok(_) => served += 1,
                Err(error) => {
                    assert_eq!((error.code(), error.retry_after()), (Code::ServiceUnavailable, Some(1)));
                    shed += 1;
                }
            }
        }
        assert_eq!((served, shed), (2, 48));
        world.kit.hold.release();
        assert!(orders.post(json!({})).await.is_ok(), "the permits came back");
    });
}

#[test]
fn call_is_bounded_by_task_and_callee_timeout() {
    let second = Duration::from_secs(1);
    for (input, target, caller, limit) in [
        (json!({"timeout_ms": 2000}), json!({"timeout_ms": 5000}), json!({}), 2 * second),
        (json!({"timeout_ms": 9000}), json!({"timeout_ms": 5000}), json!({}), 9 * second),
        (json!({"timeout_ms": {"*": [3, 1000]}}), json!({"timeout_ms": 5000}), json!({}), 3 * second),
        (json!({}), json!({"timeout_ms": 5000}), json!({}), 5 * second),
        (json!({}), json!({}), json!({}), CALL_TIMEOUT),
        (json!({"timeout_ms": 9000}), json!({}), json!({"timeout_ms": 3000}), 3 * second),
    ] {
        run(async |world| {
            let mut call = get("stock");
            call["function"]["input"].as_object_mut().unwrap().extend(input.as_object().unwrap().clone());
            call["continue_on_error"] = json!(true);
            world.peer("stock", target.clone(), json!([task("hang", json!({}))]));
            let own = caller.get("timeout_ms").is_some();
            let orders = world.orders(caller, json!([call])).await;
            let started = tokio::time::Instant::now();
            let answer = orders.post(json!({})).await;
            let took = started.elapsed();
            assert!(took >= limit && took < limit + second, "{input} {target}: {took:?}");
            match answer {
                Ok(_) => assert!(!own, "a deadline of the call can be tolerated"),
                Err(error) => assert_eq!((error.code(), own), (Code::Timeout, true), "its own cannot"),
            }
            let counted = world.kit.metrics_text();
            assert!(
                counted.contains(r#"svc_messages_total{channel="stock",status="timeout"} 1"#),
                "{counted}"
            );
        });
    }
}

#[test]
fn replaced_channel_finishes_the_calls_it_began() {
    run(async |world| {
        world.peer("stock", json!({}), json!([task("hold", json!({})), copy("payload", "data.n")]));
        let orders = world.orders(json!({}), json!([get("stock")])).await;
        let running = orders.clone();
        let running = actix_rt::spawn(async move { data(&running, json!(7)).await });
        world.kit.hold.wait_for_entries(1).await;
        world.peers.0.lock().clear();
        world.kit.hold.release();
        assert_eq!(running.await.unwrap(), json!({"got": {"n": 7}}));
    });
}

#[test]
fn a_crash_in_the_called_workflow_costs_one_answer() {
    run(async |world| {
        world.peer(
            "stock",
            json!({"backpressure": {"max_concurrent_per_node": 1}}),
            json!([task("crash", json!({}))]),
        );
        let orders = world.orders(json!({}), json!([get("stock")])).await;
        for _ in 0..20 {
            let error = orders.post(json!({})).await.unwrap_err();
            assert_eq!(error.code(), Code::InternalError, "the permit came back and nothing restarted");
        }
    });
}
