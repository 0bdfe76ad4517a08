//! Each grant, from the connector's config to the header of a call.

use serde_json::{Value, json};
use svc_testkit::oidc::OidcProvider;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use super::{CONNECTORS, api, call, change, config, connect};
use crate::support::{error, launch, start};

#[test]
fn tokens_of_every_grant_are_obtained_once_and_shown() {
    let Some(provider) = OidcProvider::start(600) else { return };
    let (api, server) = (api(), start());
    let mut client = server.client();
    connect(&mut client, &config(&provider, &api, json!({})));
    assert!(provider.token_events().unwrap().is_empty(), "nothing is asked before it is needed");
    for more in [
        json!({}),
        json!({"client_id": "body", "client_auth": "body", "scopes": ["read", "write"], "resource": "urn:other"}),
        json!({"grant": "account_credentials", "account_id": "account-1"}),
        json!({"grant": "refresh_token", "refresh_token": provider.issue_refresh_token().unwrap()}),
    ] {
        change(&mut client, &config(&provider, &api, more.clone()));
        let before = provider.token_events().unwrap().len();
        let tokens: Vec<_> = (0..3).map(|_| call(&mut client).unwrap()).collect();
        let log = provider.token_events().unwrap();
        assert_eq!(log.len(), before + 1, "{more}");
        let granted = log[before].access_token.as_ref().unwrap();
        assert!(tokens.iter().all(|token| token == granted), "{more}");
        assert!(!server.log_text().contains(granted.as_str()));
    }
    let test = client.json("POST", &format!("{CONNECTORS}/api/test"), &json!({})).unwrap().json();
    assert_eq!(test["data"]["reachable"], true, "{test}");
    assert!(!server.log_text().contains("s3cret"));
}

#[test]
fn provider_refusal_is_named_only_to_operators() {
    let Some(provider) = OidcProvider::start(600) else { return };
    let (api, server) = (api(), launch().env("SVC_METRICS__ENABLED", "true").start().unwrap());
    let mut client = server.client();
    connect(&mut client, &config(&provider, &api, json!({"client_secret": "swordfish"})));
    for _ in 0..5 {
        let refused = client.json("POST", "/api/v1/data/call", &json!({})).unwrap();
        assert_eq!(refused.status, 400, "{}", refused.text());
        assert!(!refused.text().contains("invalid_client"), "{}", refused.text());
    }
    assert_eq!(provider.token_events().unwrap().len(), 1, "a refusal stands for a while");
    let test = client.json("POST", &format!("{CONNECTORS}/api/test"), &json!({})).unwrap().json();
    let said = test["data"]["error"].as_str().unwrap();
    assert_eq!(said, "connector 'api': the token endpoint refused with status 401: invalid_client");
    let metrics = client.get("/metrics").unwrap().text();
    let line = "svc_oauth_token_requests_total{connector=\"api\",outcome=\"rejected\"} 1";
    assert!(metrics.contains(line), "{metrics}");
    change(
        &mut client,
        &config(&provider, &api, json!({"grant": "account_credentials", "account_id": "other"})),
    );
    assert_eq!(call(&mut client), Err(400));
    assert!(api.requests().is_empty() && !server.log_text().contains("swordfish"));
    change(&mut client, &config(&provider, &api, json!({})));
    assert!(call(&mut client).is_ok(), "an edited block clears it at once");
}

#[test]
fn impossible_block_is_refused_at_its_place() {
    let server = start();
    let mut client = server.client();
    let least = json!({"type": "oauth2", "grant": "client_credentials", "token_url": "https://id.example/token",
        "client_id": "id", "client_secret": "swordfish"});
    for (key, value, place) in [
        ("grant", json!("password"), "grant"),
        ("refresh_token", json!("r"), "refresh_token"),
        ("account_id", json!("a"), "account_id"),
        ("extra_params", json!({"client_id": "x"}), "extra_params.client_id"),
        ("refresh_margin_secs", json!(3601), "refresh_margin_secs"),
        ("token_url", json!("http://127.0.0.1/token"), "token_url"),
    ] {
        let mut auth = least.clone();
        auth[key] = value;
        let body = json!({"name": "x", "connector_type": "http", "config": {"url": "https://a.example", "auth": auth}});
        let refused = error(&client.json("POST", CONNECTORS, &body).unwrap(), 400, "VALIDATION_ERROR");
        let path = format!("connector.config.auth.{place}");
        assert_eq!(refused["details"][0]["path"], path, "{refused}");
        assert!(!refused.to_string().contains("swordfish"));
    }
    let mut auth = least;
    auth["extra_params"] = json!({"k": "swordfish"});
    let body =
        json!({"name": "x", "connector_type": "http", "config": {"url": "https://a.example", "auth": auth}});
    let answer = client.json("POST", CONNECTORS, &body).unwrap();
    let shown = answer.json()["data"]["config"]["auth"].clone();
    assert_eq!(answer.status, 201, "{}", answer.text());
    assert_eq!((&shown["client_id"], &shown["client_secret"]), (&json!("id"), &json!("******")));
    assert_eq!(shown["extra_params"], json!({"k": "******"}));
}

#[test]
fn rotated_token_survives_kill_and_is_sealed() {
    let Some(provider) = OidcProvider::start(600) else { return };
    // What an API answers is in traces: this one repeats nothing.
    let (api, key) = (Upstream::start(|_| UpstreamReply::new(200, "\"fine\"")).unwrap(), "a1".repeat(32));
    let shown = || api.requests().last().unwrap().header("authorization").unwrap().to_owned();
    let server = launch().env("SVC_STORAGE__CONNECTOR_ENCRYPTION_KEY", &key).start().unwrap();
    let mut client = server.client();
    let more = json!({"grant": "refresh_token", "refresh_token": provider.issue_refresh_token().unwrap()});
    connect(&mut client, &config(&provider, &api, more.clone()));
    assert!(call(&mut client).is_ok());
    let granted = provider.token_events().unwrap().remove(0);
    let (token, kept) = (granted.access_token.unwrap(), granted.refresh_token.unwrap());
    assert_eq!(shown(), format!("Bearer {token}"));
    let server = server.crash_and_restart().unwrap();
    let mut client = server.client();
    assert!(call(&mut client).is_ok());
    assert_eq!(shown(), format!("Bearer {token}"), "it is still good");
    assert_eq!(provider.token_events().unwrap().len(), 1);
    for secret in [&token, &kept] {
        for file in std::fs::read_dir(server.directory()).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            assert!(!bytes.windows(secret.len()).any(|part| part == secret.as_bytes()));
        }
    }
    // A change of the block alone ends what was stored: the seed is spent.
    let mut edited = more;
    edited["scopes"] = json!(["read"]);
    change(&mut client, &config(&provider, &api, edited));
    assert_eq!(call(&mut client), Err(400));
    let fresh: Value =
        json!({"grant": "refresh_token", "refresh_token": provider.issue_refresh_token().unwrap()});
    change(&mut client, &config(&provider, &api, fresh));
    assert!(call(&mut client).is_ok());
    assert_eq!(client.send("DELETE", &format!("{CONNECTORS}/api?force=true"), &[], b"").unwrap().status, 204);
}
