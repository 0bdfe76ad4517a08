//! Quotas: exact over a restart, and shown to operators.

use serde_json::json;
use svc_testkit::http::{HttpClient, HttpResponse};

use crate::support::{echo, error, start};

fn post(client: &mut HttpClient, tenant: &str) -> HttpResponse {
    let headers = [("content-type", "application/json"), ("x-tenant-id", tenant)];
    client.send("POST", "/api/v1/data/orders", &headers, b"{}").unwrap()
}

#[test]
fn quota_is_exact_over_restart_and_kill() {
    let mut server = start();
    let config = json!({"quota": {"limit": 6, "per": "month", "key_logic": {"var": "headers.x-tenant-id"}}});
    echo(&mut server.client(), "orders", config);
    for _ in 0..3 {
        for _ in 0..2 {
            assert_eq!(post(&mut server.client(), "a").status, 200);
        }
        server = server.crash_and_restart().unwrap();
    }
    let mut client = server.client();
    let refused = post(&mut client, "a");
    error(&refused, 429, "QUOTA_EXCEEDED");
    let seconds: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=31 * 86_400).contains(&seconds), "to the end of the month: {seconds}");
    assert_eq!(post(&mut client, "b").status, 200);
    let shown = client.get("/api/v1/admin/channels/orders/quotas").unwrap().json()["data"].clone();
    assert_eq!(
        (&shown["limit"], &shown["per"], &shown["window"]),
        (&json!(6), &json!("month"), &json!("calendar"))
    );
    let keys: Vec<_> = shown["keys"].as_array().unwrap().iter().collect();
    assert_eq!(keys.len(), 2, "{shown}");
    for (key, expected) in keys.into_iter().zip([json!(["a", 6, 0]), json!(["b", 1, 5])]) {
        assert_eq!(json!([key["key"], key["used"], key["remaining"]]), expected, "{shown}");
    }
}

#[test]
fn use_of_quota_shows_admitted_requests() {
    let server = start();
    let mut client = server.client();
    let config =
        json!({"quota": {"limit": 1000, "per": "month", "key_logic": {"var": "headers.x-tenant-id"}}});
    echo(&mut client, "orders", config);
    for _ in 0..3 {
        assert_eq!(post(&mut client, "a").status, 200);
    }
    let shown = client.get("/api/v1/admin/channels/orders/quotas").unwrap().json()["data"].clone();
    let key = &shown["keys"][0];
    assert_eq!(json!([key["key"], key["used"], key["remaining"]]), json!(["a", 3, 997]), "{shown}");
}

#[test]
fn quota_counts_by_any_header() {
    let server = start();
    let mut client = server.client();
    let config = json!({"quota": {"limit": 1, "per": "month", "key_logic": {"var": "headers.x-customer"}}});
    echo(&mut client, "orders", config);
    let mut post = |more: &[(&str, &str)]| {
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(more);
        client.send("POST", "/api/v1/data/orders", &headers, b"{}").unwrap()
    };
    assert_eq!(post(&[("x-customer", "a")]).status, 200);
    error(&post(&[("x-customer", "a")]), 429, "QUOTA_EXCEEDED");
    assert_eq!(post(&[("x-customer", "b")]).status, 200);
    let keyless = post(&[]);
    let refused = error(&keyless, 429, "QUOTA_EXCEEDED");
    assert_eq!(refused["message"], "The request has no key that a quota could count");
    assert_eq!(keyless.header("retry-after"), Some("1"));
}
