//! APIs that want tokens of a real OpenID provider, over the real binary.

mod grants;
mod nodes;
mod window;

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::oidc::OidcProvider;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::support::serve;

const CONNECTORS: &str = "/api/v1/admin/connectors";

/// An API that says what it was shown.
fn api() -> Upstream {
    Upstream::start(|asked| UpstreamReply::new(200, json!(asked.header("authorization")).to_string()))
        .unwrap()
}

/// The config of a connector `api` whose tokens come from the provider's client `basic`.
fn config(provider: &OidcProvider, api: &Upstream, more: Value) -> Value {
    let mut auth = json!({"type": "oauth2", "grant": "client_credentials", "token_url": provider.token_url(),
        "client_id": "basic", "client_secret": "s3cret"});
    for (key, value) in more.as_object().unwrap() {
        auth[key] = value.clone();
    }
    json!({"url": api.url(""), "allow_private_urls": true, "retry": {"max_retries": 0}, "auth": auth})
}

/// Stores the connector `api`, and serves a channel `call` that calls it.
fn connect(client: &mut HttpClient, config: &Value) {
    let body = json!({"id": "api", "name": "api", "connector_type": "http", "config": config});
    let answer = client.json("POST", CONNECTORS, &body).unwrap();
    assert_eq!(
        (answer.status, &answer.json()["data"]["load_status"]),
        (201, &json!("loaded")),
        "{}",
        answer.text()
    );
    let input = json!({"connector": "api", "output": "data.api"});
    serve(
        client,
        "call",
        json!([{"id": "t", "name": "T", "function": {"name": "http_call", "input": input}}]),
    );
}

/// Replaces the connector's config.
fn change(client: &mut HttpClient, config: &Value) {
    let changed = client.json("PUT", &format!("{CONNECTORS}/api"), &json!({"config": config})).unwrap();
    assert_eq!(changed.status, 200, "{}", changed.text());
}

/// Returns the credential that the API received, or the status of the failure.
fn call(client: &mut HttpClient) -> Result<String, u16> {
    let answer = client.json("POST", "/api/v1/data/call", &json!({})).unwrap();
    match answer.status {
        200 => Ok(answer.json()["data"]["api"].as_str().unwrap().trim_start_matches("Bearer ").to_owned()),
        status => Err(status),
    }
}
