//! Authentication of the admin API.

use serde_json::json;

use crate::support::{echo_workflow, error, launch};

const KEY: &str = "an-admin-key-of-more-than-32-characters";
const READ: &str = "a-read-only-key-of-more-than-32-characters";
const BASE: &str = "/api/v1/admin/workflows";

fn start_guarded() -> svc_testkit::server::ServerProcess {
    launch()
        .env("SVC_ADMIN_AUTH__ENABLED", "true")
        .env("SVC_ADMIN_AUTH__API_KEYS", KEY)
        .env("SVC_ADMIN_AUTH__READ_ONLY_API_KEYS", READ)
        .env("SVC_METRICS__ENABLED", "true")
        .start()
        .unwrap()
}

#[test]
fn first_of_both_header_forms_decides() {
    let server = start_guarded();
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
    let server = start_guarded();
    let mut client = server.client().with_header("x-api-key", READ);
    assert_eq!(client.get(BASE).unwrap().status, 200);
    error(&client.json("POST", BASE, &echo_workflow("w")).unwrap(), 403, "FORBIDDEN");
    assert_eq!(client.get(BASE).unwrap().json()["total"], 0);
    // Recordings hold what callers sent.
    error(&client.get("/api/v1/admin/recordings").unwrap(), 403, "FORBIDDEN");
    error(&client.get("/api/v1/admin/recordings/none").unwrap(), 403, "FORBIDDEN");
}

#[test]
fn unregistered_path_is_guarded_probes_are_open() {
    let server = start_guarded();
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

/// The series of refused credentials with this reason.
fn count_refusals(client: &mut svc_testkit::http::HttpClient, reason: &str) -> f64 {
    let page = client.send("GET", "/metrics", &[("x-api-key", KEY)], b"").unwrap().text();
    let series = format!("svc_admin_auth_failures_total{{reason=\"{reason}\"}} ");
    page.lines().find_map(|line| line.strip_prefix(&series)).map_or(0.0, |value| value.parse().unwrap())
}

#[test]
fn wrong_keys_at_open_paths_keep_no_operator_out() {
    let server = start_guarded();
    let mut client = server.client();
    for _ in 0..20 {
        assert_eq!(client.send("GET", "/health", &[("x-api-key", "wrong")], b"").unwrap().status, 200);
        let operator = client.send("GET", BASE, &[("x-api-key", KEY)], b"").unwrap();
        assert_eq!(operator.status, 200, "a valid key is never refused");
        for _ in 0..5 {
            let guess = client.send("GET", BASE, &[("x-api-key", "wrong")], b"").unwrap();
            assert_eq!(error(&guess, 401, "UNAUTHORIZED")["message"], "Invalid API key");
        }
    }
}

#[test]
fn guesses_with_read_only_key_are_locked_out() {
    let server = start_guarded();
    let mut client = server.client();
    let mut answers = Vec::new();
    for _ in 0..50 {
        let guess = client.send("GET", BASE, &[("x-api-key", "wrong")], b"").unwrap();
        answers.push((guess.status, error(&guess, 401, "UNAUTHORIZED")["message"].clone()));
        assert_eq!(client.send("GET", BASE, &[("x-api-key", READ)], b"").unwrap().status, 200);
    }
    answers.dedup();
    assert_eq!(answers, [(401, json!("Invalid API key"))], "locked out and wrong look alike");
    let created = [("x-api-key", KEY), ("content-type", "application/json")];
    let created = client.send("POST", BASE, &created, json!(echo_workflow("w")).to_string().as_bytes());
    assert_eq!(created.unwrap().status, 201, "the right key does not wait");
    assert!(count_refusals(&mut client, "locked_out") > 0.0);
}

#[test]
fn forwarded_headers_without_trusted_proxies_are_noted_in_health() {
    let server = start_guarded();
    let mut client = server.client();
    let notes = |client: &mut svc_testkit::http::HttpClient, headers: &[(&str, &str)]| {
        client.send("GET", "/health", headers, b"").unwrap().json()["notes"].clone()
    };
    assert_eq!(notes(&mut client, &[("x-api-key", KEY)]), json!([]));
    assert_eq!(notes(&mut client, &[("x-forwarded-for", "192.0.2.9")]), json!(null), "for operators alone");
    let noted = notes(&mut client, &[("x-api-key", KEY)]);
    assert!(noted[0].as_str().is_some_and(|note| note.contains("rate_limit.trusted_proxies")), "{noted}");
}
