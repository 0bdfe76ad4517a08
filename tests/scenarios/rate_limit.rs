//! The platform's own limit on requests: which part of the service, which client, and what a refusal looks
//! like.

use std::net::{Ipv4Addr, SocketAddr};

use serde_json::json;
use svc_testkit::http::{HttpClient, HttpResponse};
use svc_testkit::server::free_port;

use crate::support::{echo, error, launch};

/// Sends the same request until it is refused for its number. A bucket of one token refills once a second, so
/// of many requests some are refused, however slow the machine.
fn until_limited(mut request: impl FnMut() -> HttpResponse) -> HttpResponse {
    let answers = std::iter::repeat_with(&mut request).take(50);
    answers.into_iter().find(|answer| answer.status == 429).expect("one of many requests is over the limit")
}

fn preflight(client: &mut HttpClient, path: &str) -> HttpResponse {
    let headers = [("origin", "https://shop.example"), ("access-control-request-method", "POST")];
    client.send("OPTIONS", path, &headers, b"").unwrap()
}

#[test]
fn refused_admin_key_is_limited_before_the_check() {
    let server = launch()
        .env("SVC_ADMIN_AUTH__ENABLED", "true")
        .env("SVC_ADMIN_AUTH__API_KEYS", "right")
        .env("SVC_RATE_LIMIT__ENABLED", "true")
        .env("SVC_RATE_LIMIT__ENDPOINTS__ADMIN_RPS", "1")
        .env("SVC_CORS__ALLOWED_ORIGINS", "https://shop.example")
        .start()
        .unwrap();
    let mut client = server.client();
    let mut guess = || {
        let headers = [("x-api-key", "wrong"), ("origin", "https://shop.example")];
        client.send("GET", "/api/v1/admin/no/such/path", &headers, b"").unwrap()
    };
    error(&guess(), 401, "UNAUTHORIZED");
    let refused = until_limited(guess);
    assert_eq!(error(&refused, 429, "RATE_LIMITED")["message"], "Too many requests");
    for (name, value) in [
        ("retry-after", "1"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
        ("referrer-policy", "strict-origin-when-cross-origin"),
        ("permissions-policy", "camera=(), microphone=(), geolocation=()"),
        ("cache-control", "no-store"),
        ("access-control-allow-origin", "https://shop.example"),
        ("access-control-expose-headers", "x-request-id, x-trace-id, retry-after, location"),
        ("content-type", "application/json"),
    ] {
        assert_eq!(refused.header(name), Some(value), "{name}");
    }
    assert!(refused.headers.iter().all(|(name, _)| !name.starts_with("x-ratelimit")));
    let mut client = server.client();
    let right = [("x-api-key", "right")];
    let limited = until_limited(|| client.send("GET", "/api/v1/admin/workflows", &right, b"").unwrap());
    error(&limited, 429, "RATE_LIMITED");
    for _ in 0..30 {
        assert_eq!(
            preflight(&mut client, "/api/v1/admin/workflows").status,
            200,
            "a preflight is never limited"
        );
    }
    assert_eq!(client.get("/healthz").unwrap().status, 200, "the other parts have buckets of their own");
}

#[test]
fn data_plane_mounts_share_a_client_bucket() {
    let server = launch()
        .env("SVC_SERVER__DATA_MOUNTS", "/hooks")
        .env("SVC_METRICS__ENABLED", "true")
        .env("SVC_RATE_LIMIT__ENABLED", "true")
        .env("SVC_RATE_LIMIT__ENDPOINTS__DATA_RPS", "1")
        .env("SVC_RATE_LIMIT__TRUSTED_PROXIES", "127.0.0.0/8")
        .start()
        .unwrap();
    let mut client = server.client();
    echo(&mut client, "e", json!({}));
    let mut paths = ["/api/v1/data/e", "/hooks/nothing", "/api/v1/data/%zz"].into_iter().cycle();
    let mut from = |client: &mut HttpClient, address: &str| {
        let headers = [("x-forwarded-for", address), ("content-type", "application/json")];
        client.send("POST", paths.next().unwrap(), &headers, b"{}").unwrap()
    };
    assert_eq!(from(&mut client, "192.0.2.1").status, 200);
    let refused = until_limited(|| from(&mut client, "192.0.2.1"));
    error(&refused, 429, "RATE_LIMITED");
    for n in 2..32 {
        let answer = from(&mut client, &format!("192.0.2.{n}"));
        assert_ne!(answer.status, 429, "another client has tokens of its own");
    }
    assert_eq!(preflight(&mut client, "/hooks/nothing").status, 200);
    let metrics = client.get("/metrics").unwrap().text();
    let counted = |scope| format!("svc_rate_limit_rejections_total{{scope=\"{scope}\"}} ");
    assert!(metrics.contains(&counted("data")), "{metrics}");
    assert!(!metrics.contains(&counted("admin")), "{metrics}");
}

#[test]
fn probes_are_limited_but_not_on_operations_listener() {
    let operations = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port().unwrap()));
    let server = launch()
        .env("SVC_METRICS__ENABLED", "true")
        .env("SVC_METRICS__BIND_ADDR", &operations.to_string())
        .env("SVC_RATE_LIMIT__ENABLED", "true")
        .env("SVC_RATE_LIMIT__DEFAULT_RPS", "1")
        .env("SVC_RATE_LIMIT__DEFAULT_BURST", "1")
        .start()
        .unwrap();
    let mut client = server.client();
    for path in ["/healthz", "/nothing/here"] {
        error(&until_limited(|| client.get(path).unwrap()), 429, "RATE_LIMITED");
    }
    let mut operator = HttpClient::new(operations);
    for _ in 0..30 {
        assert_eq!(operator.get("/healthz").unwrap().status, 200);
    }
    let metrics = operator.get("/metrics").unwrap().text();
    assert!(metrics.contains("svc_rate_limit_rejections_total{scope=\"operational\"} "), "{metrics}");
    let limits = "svc_http_requests_total{method=\"GET\",path=\"/healthz\",status=\"429\"} ";
    assert!(metrics.contains(limits), "a refusal is counted like any answer: {metrics}");
}
