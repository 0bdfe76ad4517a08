//! A tenant that claims the idempotency keys of another one, and fills the store of the keys.

use std::io;

use serde_json::json;
use svc_testkit::http::{HttpClient, HttpResponse};

use crate::Attack;
use crate::target::{AttackTarget, serve};
use crate::verdict::{AttackOutcome, Promise};

pub(crate) const ATTACK: Attack = (
    Promise {
        name: "idempotency",
        text: "no tenant's order is refused or paid for by the keys and request ids of another one",
        before: "50 of 50 first orders refused, 5 of 5 orders under one payment key, 100 KB repeated in a refusal",
    },
    attack,
);

const TENANTS: [&str; 2] = ["the-first-tenants-key", "the-second-tenants-key"];
const ORDERS: usize = 50;
const LONG_KEY: usize = 7_000;

fn attack(target: &AttackTarget) -> io::Result<AttackOutcome> {
    let server = target.launch()?.start()?;
    let mut client = server.client();
    let auth = json!({"mode": "api_key", "keys": TENANTS});
    let config = json!({"auth": auth, "deduplication": {"header": "idempotency-key"}});
    let answer = json!([{"id": "answer", "name": "Answer", "function": {"name": "map", "input": {"mappings": [
        {"path": "data.run", "logic": {"var": "metadata.run.key"}}]}}}]);
    serve(&mut client, "pay", &config, &answer)?;
    serve(&mut client, "charge", &json!({"auth": auth}), &answer)?;
    let mut refused = 0;
    for n in 0..ORDERS {
        let key = ("idempotency-key", format!("order-{n}"));
        let taken = send(&mut client, "pay", TENANTS[1], &key)?;
        let first = send(&mut client, "pay", TENANTS[0], &key)?;
        refused += usize::from(first.status != 200);
        let repeat = send(&mut client, "pay", TENANTS[0], &key)?;
        if (taken.status, repeat.status) != (200, 409) {
            return Err(io::Error::other(format!("the channel does not work: {}", repeat.text())));
        }
    }
    let mut runs = Vec::new();
    for _ in 0..5 {
        let order = send(&mut client, "charge", TENANTS[0], &("x-request-id", "one".to_owned()))?.json();
        runs.push(order["data"]["run"].as_str().unwrap_or_default().to_owned());
    }
    runs.sort_unstable();
    runs.dedup();
    let long = ("idempotency-key", "k".repeat(LONG_KEY));
    send(&mut client, "pay", TENANTS[0], &long)?;
    let repeated = send(&mut client, "pay", TENANTS[0], &long)?;
    let figure = format!(
        "first orders refused: {refused} of {ORDERS}; payment keys of 5 orders: {}; a refusal: {} bytes",
        runs.len(),
        repeated.body.len()
    );
    Ok(AttackOutcome::new(refused == 0 && runs.len() == 5 && repeated.body.len() < 1_000, figure))
}

fn send(
    client: &mut HttpClient,
    channel: &str,
    tenant: &str,
    (name, value): &(&str, String),
) -> io::Result<HttpResponse> {
    let credential = format!("Bearer {tenant}");
    let headers = [
        ("content-type", "application/json"),
        ("authorization", credential.as_str()),
        (*name, value.as_str()),
    ];
    client.send("POST", &format!("/api/v1/data/{channel}"), &headers, b"{}")
}
