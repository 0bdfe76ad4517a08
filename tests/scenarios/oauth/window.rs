//! The one moment that no client can close: the provider has answered, and the node is killed before it has
//! committed.

use std::time::Duration;

use serde_json::json;
use svc_testkit::http::HttpClient;
use svc_testkit::oidc::OidcProvider;
use svc_testkit::server::wait_until;

use super::{CONNECTORS, api, call, change, config, connect};
use crate::support::{eventually, start};

/// The lease of the node that was killed has to end first.
const LEASE: Duration = Duration::from_secs(60);

#[test]
fn fresh_seed_heals_kill_before_commit() {
    let Some(provider) = OidcProvider::start(600) else { return };
    let (api, server) = (api(), start());
    let mut client = server.client();
    let seeded =
        || json!({"grant": "refresh_token", "refresh_token": provider.issue_refresh_token().unwrap()});
    connect(&mut client, &config(&provider, &api, seeded()));
    provider.hold_responses().unwrap();
    let address = server.address();
    let caller = std::thread::spawn(move || {
        HttpClient::new(address).json("POST", "/api/v1/data/call", &json!({})).is_err()
    });
    eventually(|| provider.token_events().unwrap().len() == 1);
    let server = server.crash_and_restart().unwrap();
    assert!(caller.join().unwrap(), "its caller was given nothing");
    provider.release_responses().unwrap();
    let mut client = server.client();
    assert!(call(&mut client).is_err_and(|status| status >= 500), "the turn is still that of the one killed");
    assert_eq!(provider.token_events().unwrap().len(), 1, "and nobody shows the token meanwhile");
    assert!(wait_until(LEASE, || Ok(call(&mut client) == Err(400))).unwrap());
    let test = client.json("POST", &format!("{CONNECTORS}/api/test"), &json!({})).unwrap().json();
    let said = test["data"]["error"].as_str().unwrap();
    assert!(said.ends_with("invalid_grant; update the connector with a fresh refresh_token"), "{said}");
    server.wait_for_log(&["a refresh was begun and never ended"]).unwrap();
    let refused = provider.token_events().unwrap().iter().filter(|event| event.event == "refused").count();
    assert_eq!(refused, 1, "it is asked once, not in a loop");
    change(&mut client, &config(&provider, &api, seeded()));
    assert!(call(&mut client).is_ok());
    assert!(api.requests().len() == 1);
}
