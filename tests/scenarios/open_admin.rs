//! The admin API without keys: programs and its own pages are served, other pages are not.

use serde_json::json;

use crate::support::{echo, error, launch, start};

const WORKFLOWS: &str = "/api/v1/admin/workflows";

#[test]
fn page_of_another_origin_reaches_no_admin_endpoint() {
    let server = start();
    let mut client = server.client();
    let mut refused = |method: &str, path: &str, headers: &[(&str, &str)]| {
        error(&client.send(method, path, headers, b"").unwrap(), 403, "FORBIDDEN");
    };
    // Requests that a browser sends without asking first.
    for path in
        ["/backups", "/engine/reload", "/actors/registry/restart", "/workflows/validate", "/nothing/here"]
    {
        let path = format!("/api/v1/admin{path}");
        refused("POST", &path, &[("origin", "https://evil.example"), ("content-type", "text/plain")]);
        refused("POST", &path, &[("origin", "null")]);
        refused("POST", &path, &[("sec-fetch-site", "cross-site")]);
        refused("GET", &path, &[("sec-fetch-site", "same-site")]);
        refused("GET", &path, &[("host", "evil.example:8080")]);
    }
    refused("GET", "/api/v1/%61dmin/workflows", &[("host", "evil.example")]);
    refused("GET", "/api/v1/admin/traces/0199", &[("host", "evil.example")]);
}

#[test]
fn programs_and_own_pages_see_no_change() {
    let server = start();
    let mut client = server.client();
    let own = format!("http://{}", server.address());
    assert_eq!(client.get(WORKFLOWS).unwrap().status, 200);
    for headers in [
        &[("origin", own.as_str()), ("sec-fetch-site", "same-origin")][..],
        &[("sec-fetch-site", "none")],
        &[("host", "localhost:8080")],
        &[("host", "[::1]")],
    ] {
        assert_eq!(client.send("GET", WORKFLOWS, headers, b"").unwrap().status, 200, "{headers:?}");
    }
    // The planes beside it keep their own rules.
    echo(&mut client, "e", json!({}));
    let page =
        [("host", "shop.example"), ("origin", "https://shop.example"), ("content-type", "application/json")];
    assert_eq!(client.send("POST", "/api/v1/data/e", &page, b"{}").unwrap().status, 200);
    assert_eq!(client.send("GET", "/readyz", &[("host", "svc")], b"").unwrap().status, 200);
}

#[test]
fn foreign_page_reads_no_details_of_health() {
    let server = start();
    let mut client = server.client();
    let mut has_details = |headers: &[(&str, &str)]| {
        let answer = client.send("GET", "/health", headers, b"").unwrap();
        assert_eq!((answer.status, answer.json()["status"].as_str()), (200, Some("ok")), "{headers:?}");
        answer.json()["workflows_loaded"].is_u64()
    };
    assert!(has_details(&[]) && has_details(&[("sec-fetch-site", "same-origin")]));
    for foreign in
        [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site"), ("host", "evil.example")]
    {
        assert!(!has_details(&[foreign]), "{foreign:?}");
    }
}

#[test]
fn foreign_page_reads_no_metrics() {
    let server = launch().env("SVC_METRICS__ENABLED", "true").start().unwrap();
    let mut client = server.client();
    let mut status = |headers: &[(&str, &str)]| client.send("GET", "/metrics", headers, b"").unwrap().status;
    assert_eq!(status(&[]), 200);
    assert_eq!(status(&[("host", "localhost:9090")]), 200);
    for foreign in
        [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site"), ("host", "evil.example")]
    {
        assert_eq!(status(&[foreign]), 403, "{foreign:?}");
    }
}

#[test]
fn named_hosts_and_listed_origins_are_served() {
    let server = launch()
        .env("SVC_ADMIN_AUTH__ALLOWED_HOSTS", "svc,svc.internal")
        .env("SVC_CORS__ALLOWED_ORIGINS", "https://console.example")
        .start()
        .unwrap();
    let mut client = server.client();
    let mut status = |headers: &[(&str, &str)]| client.send("GET", WORKFLOWS, headers, b"").unwrap().status;
    assert_eq!(status(&[("host", "svc:8080")]), 200);
    assert_eq!(status(&[("host", "svc.internal")]), 200);
    assert_eq!(status(&[("host", "other.internal")]), 403);
    assert_eq!(status(&[("origin", "https://console.example"), ("sec-fetch-site", "cross-site")]), 200);
    assert_eq!(status(&[("origin", "https://other.example")]), 403);
}

#[test]
fn key_decides_where_one_is_asked_for() {
    let server = launch()
        .env("SVC_ADMIN_AUTH__ENABLED", "true")
        .env("SVC_ADMIN_AUTH__API_KEYS", "0123456789abcdef0123456789abcdef")
        .start()
        .unwrap();
    let page = [("host", "svc.example"), ("origin", "https://console.example")];
    assert_eq!(server.client().send("GET", WORKFLOWS, &page, b"").unwrap().status, 401);
    let mut operator = server.client().with_header("x-api-key", "0123456789abcdef0123456789abcdef");
    assert_eq!(operator.send("GET", WORKFLOWS, &page, b"").unwrap().status, 200);
}
