//! Who may use the admin API.

use serde_json::json;

use crate::support::{echo_workflow, error, launch};

const KEY: &str = "an-admin-key-of-more-than-32-characters";
const READ: &str = "a-read-only-key-of-more-than-32-characters";
const BASE: &str = "/api/v1/admin/workflows";

fn guarded() -> svc_testkit::server::Server {
    launch()
        .env("SVC_ADMIN_AUTH__ENABLED", "true")
        .env("SVC_ADMIN_AUTH__API_KEYS", KEY)
        .env("SVC_ADMIN_AUTH__READ_ONLY_API_KEYS", READ)
        .env("SVC_METRICS__ENABLED", "true")
        .start()
        .unwrap()
}

#[test]
fn both_header_forms_are_accepted_and_the_first_present_decides_alone() {
    let server = guarded();
    let mut client = server.client();
    let bearer = format!("bearer {KEY}");
    assert_eq!(client.send("GET", BASE, &[("x-api-key", KEY)], b"").unwrap().status, 200);
    assert_eq!(client.send("GET", BASE, &[("authorization", &bearer)], b"").unwrap().status, 200);
    let mixed = [("x-api-key", "wrong"), ("authorization", bearer.as_str())];
    error(&client.send("GET", BASE, &mixed, b"").unwrap(), 401, "UNAUTHORIZED");
    let none = client.get(BASE).unwrap();
    error(&none, 401, "UNAUTHORIZED");
    assert_eq!(none.header("www-authenticate"), None);
    error(&client.send("GET", BASE, &[("authorization", KEY)], b"").unwrap(), 401, "UNAUTHORIZED");
}

#[test]
fn a_read_only_key_reads_and_writes_nothing() {
    let server = guarded();
    let mut client = server.client().with_header("x-api-key", READ);
    assert_eq!(client.get(BASE).unwrap().status, 200);
    error(&client.json("POST", BASE, &echo_workflow("w")).unwrap(), 403, "FORBIDDEN");
    assert_eq!(client.get(BASE).unwrap().json()["total"], 0);
}

#[test]
fn an_unregistered_path_is_guarded_and_the_probes_are_open() {
    let server = guarded();
    let mut client = server.client();
    error(&client.get("/api/v1/admin/no/such/thing").unwrap(), 401, "UNAUTHORIZED");
    error(&client.get("/metrics").unwrap(), 401, "UNAUTHORIZED");
    for path in ["/healthz", "/readyz", "/health"] {
        assert_eq!(client.get(path).unwrap().status, 200, "{path}");
    }
    let anonymous = client.get("/health").unwrap().json();
    assert!(anonymous.get("actors").is_none() && anonymous.get("channels").is_none(), "{anonymous}");
    assert_eq!(anonymous["components"]["actors"], "ok");
    let admin = client.send("GET", "/health", &[("x-api-key", KEY)], b"").unwrap().json();
    assert!(admin.get("actors").is_some() && admin.get("channels").is_some(), "{admin}");
}

#[test]
fn a_client_that_keeps_failing_is_locked_out_for_a_while() {
    let server = guarded();
    let mut client = server.client();
    for _ in 0..5 {
        let refused = client.send("GET", BASE, &[("x-api-key", "wrong")], b"").unwrap();
        assert_eq!(error(&refused, 401, "UNAUTHORIZED")["message"], "Invalid API key");
    }
    let locked = client.send("GET", BASE, &[("x-api-key", KEY)], b"").unwrap();
    assert_eq!(error(&locked, 401, "UNAUTHORIZED")["message"], "Invalid API key", "even the right key waits");
    let open = svc_testkit::server::wait_until(std::time::Duration::from_secs(10), || {
        Ok(client.send("GET", BASE, &[("x-api-key", KEY)], b"")?.status == 200)
    });
    assert!(open.unwrap(), "the lockout ends");
    let created = client.send(
        "POST",
        BASE,
        &[("x-api-key", KEY), ("content-type", "application/json")],
        json!(echo_workflow("w")).to_string().as_bytes(),
    );
    assert_eq!(created.unwrap().status, 201);
}
