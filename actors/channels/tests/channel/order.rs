//! The order of the guards: of two that would refuse, the earlier one does.

use actix_supervision::Universe;
use serde_json::{Value, json};
use svc_channels::{ChannelResponse, DataRequest, Delivery, Settings};
use svc_model::ServiceError;

use crate::kit::{Kit, http, task, token, token_auth};

/// The refusal of each guard, in the order of the guards. The last one refuses every message of this test.
const ANSWERS: [(&str, u16, &str); 9] = [
    ("rate_limit", 429, "Too many requests"),
    ("auth", 401, "Channel authentication failed"),
    ("authorization", 403, "insufficient_scope"),
    ("principal_rate_limit", 429, "Too many requests"),
    ("origin_allow_list", 403, "Origin not allowed"),
    ("request.schema", 400, "body.kind: this field is required"),
    ("validation_logic", 400, "Input validation failed"),
    ("deduplication", 409, "Duplicate request: idempotency key 'seen' already seen"),
    ("cache", 200, ""),
];
const AT_CAPACITY: (u16, &str) = (503, "at capacity");

fn every_guard() -> Value {
    let mut auth = token_auth();
    auth["authorization_logic"] = json!({"==": [{"var": "claims.role"}, "buyer"]});
    json!({
        "auth": auth,
        "rate_limit": {"requests_per_second": 1000, "key_logic": {"var": "headers.x-tenant-id"}},
        "principal_rate_limit": {"requests_per_second": 1000, "key_logic": {"var": "auth.claims.sub"}},
        "origin_allow_list": ["https://a.example"],
        "request": {"schema": {"required": ["kind"]}},
        "validation_logic": {"==": [{"var": "data.ok"}, true]},
        "deduplication": {"header": "Idempotency-Key"},
        "cache": {"enabled": true, "cache_key_fields": ["id"]},
        "backpressure": {"max_concurrent_per_node": 1},
    })
}

/// A message that fails exactly these guards; `id` is new with every message.
fn failing(guards: &[&str], id: usize) -> DataRequest {
    let fails = |guard: &str| guards.contains(&guard);
    let mut claims = json!({"role": "buyer", "sub": "u-1"});
    if fails("authorization") {
        claims["role"] = json!("guest");
    }
    if fails("principal_rate_limit") {
        claims["sub"] = json!(" ");
    }
    let mut body = json!({
        "ok": !fails("validation_logic"),
        "id": if fails("cache") { json!("kept") } else { json!(id) },
        "hold": guards.contains(&"nothing, and holds"),
    });
    if !fails("request.schema") {
        body["kind"] = json!("order");
    }
    let token = token(claims);
    let fresh = format!("key-{id}");
    let mut headers = vec![
        ("origin", if fails("origin_allow_list") { "https://b.example" } else { "https://a.example" }),
        ("idempotency-key", if fails("deduplication") { "seen" } else { &fresh }),
    ];
    if !fails("rate_limit") {
        headers.push(("x-tenant-id", "t-1"));
    }
    if !fails("auth") {
        headers.push(("authorization", &token));
    }
    http(body, &headers)
}

fn summarize(answer: Result<ChannelResponse, ServiceError>) -> (u16, String) {
    match answer {
        Ok(answer) => (answer.status, String::new()),
        Err(error) => (error.status(), error.message().to_owned()),
    }
}

#[test]
fn earlier_of_two_refusing_guards_refuses() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let mut hold = task("hold", json!({}));
        hold["condition"] = json!({"var": "payload.hold"});
        let orders = kit.serve(&tree, every_guard(), &json!([hold])).await;
        // A key that was seen and an answer that is kept; then the one permit is taken.
        let first = failing(&["deduplication", "cache"], 0);
        assert_eq!(summarize(orders.submit(first).await).0, 200);
        let running = orders.clone();
        let running =
            actix_rt::spawn(async move { running.submit(failing(&["nothing, and holds"], 1)).await });
        kit.hold.wait_for_entries(1).await;
        let mut id = 2;
        for (at, (first, status, text)) in ANSWERS.iter().enumerate() {
            for (second, ..) in &ANSWERS[at..] {
                id += 1;
                let (answered, message) = summarize(orders.submit(failing(&[first, second], id)).await);
                assert_eq!(answered, *status, "{first} before {second}");
                assert!(message.contains(text), "{first} before {second}: {message}");
            }
        }
        let (answered, message) = summarize(orders.submit(failing(&[], id + 1)).await);
        assert!(answered == AT_CAPACITY.0 && message.contains(AT_CAPACITY.1), "{message}");
        let page = kit.metrics_text();
        let counted = r#"svc_channel_auth_rejections_total{mode="origin",reason="origin_not_allowed"}"#;
        assert!(page.contains(counted), "{page}");
        kit.hold.release();
        assert_eq!(summarize(running.await.unwrap()).0, 200);
        let again = failing(&[], id + 1);
        assert_eq!(summarize(orders.submit(again).await).0, 200, "what found no capacity may come again");
    });
}

#[test]
fn queued_message_meets_every_guard_but_cache() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let orders = kit.serve(&tree, every_guard(), &json!([task("log", json!({"message": "m"}))])).await;
        assert_eq!(summarize(orders.submit(failing(&["deduplication", "cache"], 0)).await).0, 200);
        for (guard, status, text) in ANSWERS.iter().filter(|(guard, ..)| *guard != "cache") {
            let request = DataRequest { delivery: Delivery::Async, ..failing(&[guard], 1) };
            let (answered, message) = summarize(orders.submit(request).await);
            assert!(answered == *status && message.contains(text), "{guard}: {message}");
        }
        // Past the guards: there is an answer kept, but nothing here takes the message.
        let request = DataRequest { delivery: Delivery::Async, ..failing(&["cache"], 2) };
        assert_eq!(summarize(orders.submit(request).await).0, 503);
        let again = failing(&[], 2);
        assert_eq!(summarize(orders.submit(again).await).0, 200, "what was not accepted keeps no key");
    });
}

#[test]
fn embedded_message_meets_validation_and_capacity_only() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let mut hold = task("hold", json!({}));
        hold["condition"] = json!({"var": "payload.hold"});
        let orders = kit.serve(&tree, every_guard(), &json!([hold])).await;
        let embedded = |body| orders.submit(DataRequest::embedded(body));
        assert_eq!(
            summarize(embedded(json!({"ok": true})).await).0,
            400,
            "no kind, which its schema requires"
        );
        assert_eq!(summarize(embedded(json!({"kind": "order", "ok": false})).await).0, 400);
        assert_eq!(summarize(embedded(json!({"kind": "order", "ok": true})).await).0, 200);
        let running = orders.clone();
        let running = actix_rt::spawn(async move {
            running.submit(DataRequest::embedded(json!({"kind": "order", "ok": true, "hold": true}))).await
        });
        kit.hold.wait_for_entries(1).await;
        assert_eq!(summarize(embedded(json!({"kind": "order", "ok": true})).await).0, 503);
        kit.hold.release();
        assert_eq!(summarize(running.await.unwrap()).0, 200);
    });
}
