//! Actors that panic while requests come in.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use actix_supervision::CallErrorKind;
use serde_json::json;
use svc_channels::ProbeVersion;
use svc_testkit::http::HttpClient;

use crate::kit::{RunningService, expect_soon, panics, wait, with_quickstart};

const ORDERS: &str = "/api/v1/data/orders";
/// Connections that send orders while an actor fails.
const CLIENTS: usize = 4;

fn order(client: &mut HttpClient) -> u16 {
    client.json("POST", ORDERS, &json!({"order_id": "A-1", "qty": 3, "price": 50})).unwrap().status
}

/// The channel's actors in `/health`.
fn nodes(running: &RunningService) -> Vec<serde_json::Value> {
    let health = running.client().get("/health").unwrap().json();
    let nodes = health["actors"]["nodes"].as_array().unwrap().clone();
    let of_channel =
        |node: &serde_json::Value| node["path"].as_str().unwrap().starts_with("channels/orders/");
    nodes.into_iter().filter(of_channel).collect()
}

#[test]
fn panicked_actor_serves_again_and_restart_shows() {
    with_quickstart(panics("channels/orders/*", "ProbeVersion", 1..=1), |running| {
        let (done, served) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                let (mut client, done) = (running.client().keep_alive(), Arc::clone(&done));
                let served = Arc::clone(&served);
                thread::spawn(move || {
                    let mut statuses = BTreeSet::from([order(&mut client)]);
                    served.fetch_add(1, Ordering::Relaxed);
                    while !done.load(Ordering::Relaxed) {
                        statuses.insert(order(&mut client));
                    }
                    statuses
                })
            })
            .collect();
        expect_soon(|| served.load(Ordering::Relaxed) == CLIENTS);
        let actor = running.actor("orders").unwrap();
        let failed = wait(actor.call(ProbeVersion)).unwrap_err();
        assert!(matches!(failed.kind, CallErrorKind::Crashed), "{:?}", failed.kind);
        wait(actor.call(ProbeVersion)).expect("the next instance answers under the same address");
        done.store(true, Ordering::Relaxed);
        for client in clients {
            let statuses = client.join().unwrap();
            assert!(statuses.contains(&200), "{statuses:?}");
            assert!(statuses.iter().all(|status| [200, 500, 503].contains(status)), "typed: {statuses:?}");
        }
        assert_eq!(order(&mut running.client()), 200);

        // The instance answers a moment before the keeper has heard of it.
        let restarted =
            || nodes(running).into_iter().filter(|node| node["restarts"] == 1).collect::<Vec<_>>();
        expect_soon(|| restarted().first().is_some_and(|node| node["state"] == "running"));
        let restarted = restarted();
        assert_eq!(restarted.len(), 1, "{restarted:?}");
        assert_eq!((&restarted[0]["generation"], &restarted[0]["state"]), (&json!(2), &json!("running")));
        let path = restarted[0]["path"].as_str().unwrap();
        let tree = running.client().get("/api/v1/admin/actors").unwrap().json();
        let history = tree["data"]["history"].as_array().unwrap();
        assert!(history.iter().any(|event| event["path"] == path && event["event"] == "exited"), "{tree}");
        let metrics = running.client().get("/metrics").unwrap().text();
        let line = format!("svc_actor_restarts_total{{path=\"{path}\"}} 1\n");
        assert!(metrics.contains(&line), "{line} not in\n{metrics}");
    });
}

#[test]
fn exhausted_channel_alone_is_quarantined_until_restarted() {
    with_quickstart(panics("channels/orders/*", "ProbeVersion", 1..=20), |running| {
        let mut client = running.client();
        let neighbour = json!({"channel_id": "other", "name": "other", "channel_type": "sync", "protocol": "rest",
            "methods": ["POST"], "route_pattern": "/other", "workflow_id": "order-intake", "config": {}});
        svc_testkit::example::create_and_activate(&mut client, "channels", "channel_id", &neighbour).unwrap();
        while let Some(actor) = running.actor("orders") {
            let _ = wait(actor.call(ProbeVersion));
        }
        let refused = client.json("POST", ORDERS, &json!({})).unwrap();
        assert_eq!((refused.status, refused.header("retry-after")), (503, None), "{}", refused.text());
        assert_eq!(refused.json()["error"]["code"], "SERVICE_UNAVAILABLE");
        assert_eq!(refused.json()["error"]["message"], "Channel is unavailable");
        let health = client.get("/health").unwrap();
        assert_eq!((health.status, &health.json()["components"]["channels"]), (200, &json!("degraded")));
        assert_eq!(health.json()["channels"]["quarantined"][0]["channel"], "orders");
        let order = json!({"order_id": "A-1", "qty": 3, "price": 50});
        assert_eq!(client.json("POST", "/api/v1/data/other", &order).unwrap().status, 200);

        let path = "/api/v1/admin/actors/channels/orders/restart";
        assert_eq!(client.json("POST", path, &json!({})).unwrap().status, 200);
        expect_soon(|| client.json("POST", ORDERS, &order).unwrap().status == 200);
        let audit = client.get("/api/v1/admin/audit-logs?action=restart").unwrap().json();
        assert_eq!(audit["data"][0]["resource_id"], "channels/orders", "{audit}");
        // The actor of another thread may be later.
        expect_soon(|| client.get("/health").unwrap().json()["components"]["channels"] == "ok");
    });
}
