//! HTTP/2 within TLS, as a program with `reqwest` speaks it to the real server.

use std::sync::Arc;

use reqwest::{Method, Version};
use serde_json::{Value, json};
use svc_testkit::server::{ServerCommand, ServerProcess};
use svc_testkit::tls::{IssuedCertificate, issue_certificate};

const ADMIN: &str = "/api/v1/admin";
const KEY: &str = "0123456789abcdef0123456789abcdef";

/// A client that offers HTTP/2 first, and the address of the server.
struct Http2Client {
    inner: reqwest::Client,
    base: String,
}

impl Http2Client {
    #[expect(clippy::disallowed_methods, reason = "it dials the server of the test alone")]
    fn new(server: &ServerProcess, issued: &IssuedCertificate) -> Self {
        let mut settings = Arc::unwrap_or_clone(issued.client_settings(None).unwrap());
        settings.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let builder = reqwest::ClientBuilder::new().tls_backend_preconfigured(settings).no_proxy();
        Self { inner: builder.build().unwrap(), base: format!("https://{}", server.address()) }
    }

    /// Sends a request, checks that the answer came over HTTP/2, and returns its status and body.
    async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> (u16, Value) {
        let request = self.inner.request(method, format!("{}{path}", self.base)).bearer_auth(KEY);
        let request = match body {
            Some(body) => request.header("content-type", "application/json").body(body.to_string()),
            None => request,
        };
        let answer = request.send().await.unwrap();
        assert_eq!(answer.version(), Version::HTTP_2, "{path}");
        assert!(answer.headers().contains_key("x-request-id"), "{path}");
        let status = answer.status().as_u16();
        (status, serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap_or_default())
    }
}

#[tokio::test]
async fn reqwest_over_http_2_uses_both_planes() {
    let issued = issue_certificate().unwrap();
    let program = std::env::current_exe().unwrap();
    let program = program.parent().and_then(|deps| deps.parent()).unwrap().join("svc-server");
    let server = ServerCommand::new(program)
        .unwrap()
        .over_tls(&issued)
        .unwrap()
        .env("SVC_ADMIN_AUTH__ENABLED", "true")
        .env("SVC_ADMIN_AUTH__API_KEYS", KEY)
        .start()
        .unwrap();
    let client = Http2Client::new(&server, &issued);
    let workflow = json!({"workflow_id": "echo", "name": "echo", "tasks": [{"id": "take", "name": "Take",
        "function": {"name": "parse_json", "input": {"source": "payload", "target": "input"}}}]});
    let channel = json!({"channel_id": "echo", "name": "echo", "channel_type": "sync", "protocol": "rest",
        "methods": ["POST"], "route_pattern": "/echo", "workflow_id": "echo"});
    for (kind, document) in [("workflows", workflow), ("channels", channel)] {
        let (status, body) = client.send(Method::POST, &format!("{ADMIN}/{kind}"), Some(&document)).await;
        assert_eq!(status, 201, "{body}");
        let active = json!({"status": "active"});
        let path = format!("{ADMIN}/{kind}/echo/status");
        let (status, body) = client.send(Method::PATCH, &path, Some(&active)).await;
        assert_eq!((status, &body["data"]["status"]), (200, &json!("active")), "{body}");
    }
    // Streams of one connection, answered side by side.
    let payloads: Vec<_> = (0..32).map(|n| json!({"n": n, "text": "x".repeat(n * 1000)})).collect();
    let mut calls = tokio::task::JoinSet::new();
    let client = Arc::new(client);
    for payload in payloads {
        let client = Arc::clone(&client);
        calls.spawn(async move {
            let (status, body) = client.send(Method::POST, "/api/v1/data/echo", Some(&payload)).await;
            assert_eq!((status, &body["data"]["input"]), (200, &payload), "{body}");
        });
    }
    while let Some(call) = calls.join_next().await {
        call.unwrap();
    }
    let (status, body) = client.send(Method::GET, &format!("{ADMIN}/workflows"), None).await;
    assert_eq!((status, &body["total"]), (200, &json!(1)), "{body}");
    let (status, body) = client.send(Method::POST, "/api/v1/data/absent", Some(&json!({}))).await;
    assert_eq!((status, &body["error"]["code"]), (404, &json!("NOT_FOUND")), "{body}");
    let (status, _) = client.send(Method::DELETE, &format!("{ADMIN}/channels/echo"), None).await;
    assert_eq!(status, 204);
}
