//! Channels at which people sign in: what reaches the workflow, and what never runs.

use std::sync::Arc;

use actix_supervision::{Tree, Universe};
use futures_util::future::{BoxFuture, ready};
use serde_json::{Map, Value, json};
use svc_auth::{IssuerAccess, ProviderAccess, ProviderAnswer, ProviderRequest};
use svc_channels::{ChannelResponse, DataRequest, Settings};
use svc_model::config::InstanceProviders;
use svc_model::{ChannelPause, Code, ServiceError, Timestamp};

use crate::kit::{Kit, Orders, copy, http, task};

/// A provider that grants every code, and knows one person.
pub(crate) struct Hub;

impl ProviderAccess for Hub {
    fn check(&self, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn issuer(&self, _: &str) -> Result<Arc<dyn IssuerAccess>, String> {
        Err("no issuer".to_owned())
    }

    fn send(&self, request: ProviderRequest) -> BoxFuture<'_, Result<ProviderAnswer, String>> {
        let body = match request.form {
            Some(_) => json!({"access_token": "the-access-token", "token_type": "Bearer"}),
            None => json!({"id": 42, "login": "ada"}),
        };
        Box::pin(ready(Ok(ProviderAnswer { status: 200, body: body.to_string().into_bytes() })))
    }
}

pub(crate) fn config() -> Value {
    json!({"oauth2_login": {"redirect_uri": "https://shop.example/callback", "callback_path": "/callback",
        "state_secret": "0123456789abcdef0123456789abcdef", "client_id": "shop", "client_secret": "s",
        "authorize_url": "https://hub.example/authorize", "token_url": "https://hub.example/token",
        "userinfo_url": "https://hub.example/user", "identity": {"subject": "id", "login": "login"}}})
}

/// Copies what the workflow sees of a sign-in into its answer.
pub(crate) fn tasks() -> Value {
    json!([
        copy("metadata.identity", "data.identity"),
        copy("metadata.oauth", "data.oauth"),
        copy("metadata.query", "data.query")
    ])
}

async fn serve(kit: &mut Kit, tree: &Tree) -> Orders {
    kit.services.identity_providers = Arc::new(Hub);
    kit.serve(tree, config(), &tasks()).await
}

pub(crate) fn request(is_callback: bool, query: Value, cookie: &str) -> DataRequest {
    let Value::Object(query) = query else { panic!("no object") };
    let headers: &[(&str, &str)] = if cookie.is_empty() { &[] } else { &[("cookie", cookie)] };
    DataRequest { method: "GET".into(), is_callback, query, body: None, ..http(json!({}), headers) }
}

fn header<'a>(answer: &'a ChannelResponse, name: &str) -> &'a str {
    let found = answer.headers.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str()).unwrap_or_default()
}

/// Begins a sign-in. Returns the state and the cookie.
pub(crate) async fn begin(orders: &Orders) -> (String, String) {
    let answer = orders.submit_whole(request(false, json!({}), "")).await.unwrap();
    assert_eq!(answer.status, 302);
    let location = header(&answer, "location");
    assert!(location.starts_with("https://hub.example/authorize?"), "{location}");
    let state = location.split('&').find_map(|pair| pair.strip_prefix("state=")).unwrap();
    let cookie = header(&answer, "set-cookie").split(';').next().unwrap();
    (state.to_owned(), cookie.to_owned())
}

/// Returns the data of the answer, which removes the cookie.
pub(crate) fn data(answer: Result<ChannelResponse, ServiceError>) -> Map<String, Value> {
    let answer = answer.unwrap();
    assert!(header(&answer, "set-cookie").starts_with("svc_sign_in=; "), "{answer:?}");
    assert_eq!(header(&answer, "cache-control"), "no-store");
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    body["data"].as_object().unwrap().clone()
}

#[test]
fn workflow_sees_who_signed_in() {
    Universe::new(1).run(async |tree| {
        let mut kit = Kit::new(Settings::default());
        let orders = serve(&mut kit, &tree).await;
        let (state, cookie) = begin(&orders).await;
        let back = json!({"code": "c0de", "state": state, "page": "1"});
        let data = data(orders.submit_whole(request(true, back, &cookie)).await);
        let expected = json!({"provider": "default", "kind": "oauth2", "subject": "42", "login": "ada"});
        assert_eq!(data["identity"], expected);
        assert_eq!(data["oauth"]["grant"]["access_token"], "the-access-token");
        assert_eq!(data["query"], json!({"page": "1"}));
        let metrics = kit.metrics_text();
        for (leg, outcome) in [("authorize", "redirected"), ("callback", "signed_in")] {
            let series = format!(r#"provider="default",leg="{leg}",outcome="{outcome}"}} 1"#);
            assert!(metrics.contains(&series), "{metrics}");
        }
    });
}

#[test]
fn refused_consent_runs_the_workflow() {
    Universe::new(1).run(async |tree| {
        let mut kit = Kit::new(Settings::default());
        let orders = serve(&mut kit, &tree).await;
        let (state, cookie) = begin(&orders).await;
        let back = json!({"error": "access_denied", "state": state});
        let data = data(orders.submit_whole(request(true, back, &cookie)).await);
        assert_eq!((&data["oauth"]["error"], data.get("identity")), (&json!("access_denied"), None));
    });
}

#[test]
fn state_that_does_not_match_runs_nothing() {
    Universe::new(1).run(async |tree| {
        let mut kit = Kit::new(Settings::default());
        let orders = serve(&mut kit, &tree).await;
        let (state, cookie) = begin(&orders).await;
        for (state, cookie) in
            [("other", cookie.as_str()), (state.as_str(), ""), (state.as_str(), "svc_sign_in=x")]
        {
            let back = json!({"code": "c0de", "state": state});
            let refused = orders.submit_whole(request(true, back, cookie)).await.unwrap_err();
            assert_eq!((refused.status(), refused.message()), (401, "Sign-in failed; begin again"));
            let [(name, value)] = refused.headers() else { panic!("{:?}", refused.headers()) };
            assert!(*name == "set-cookie" && value.starts_with("svc_sign_in=; "), "{value}");
        }
        let metrics = kit.metrics_text();
        for outcome in ["state_mismatch", "state_missing", "state_forged"] {
            assert!(metrics.contains(&format!(r#"outcome="{outcome}"}} 1"#)), "{metrics}");
        }
        assert!(!metrics.contains(r#"outcome="signed_in""#), "{metrics}");
    });
}

#[test]
fn paused_channel_signs_nobody_in() {
    Universe::new(1).run(async |tree| {
        let mut kit = Kit::new(Settings::default());
        let orders = serve(&mut kit, &tree).await;
        let (state, cookie) = begin(&orders).await;
        let (since, reason) = (Timestamp::now(), "an incident".to_owned());
        let pause = Arc::new(ChannelPause { since, until: None, by: "ops".to_owned(), reason });
        let back = json!({"code": "c0de", "state": state});
        for request in [request(false, json!({}), ""), request(true, back.clone(), &cookie)] {
            let paused = DataRequest { pause: Some(Arc::clone(&pause)), ..request };
            let refused = orders.submit_whole(paused).await.unwrap_err();
            assert_eq!((refused.status(), refused.code()), (503, Code::ChannelPaused));
        }
        // The code is not used up.
        let data = data(orders.submit_whole(request(true, back, &cookie)).await);
        assert_eq!(data["identity"]["subject"], "42");
        let metrics = kit.metrics_text();
        assert!(
            metrics.contains(r#"outcome="signed_in"} 1"#) && metrics.contains(r#"outcome="redirected"} 1"#)
        );
    });
}

#[test]
fn workflow_adds_to_a_sign_in_or_stops_it() {
    Universe::new(1).run(async |tree| {
        let mut kit = Kit::new(Settings::default());
        kit.services.identity_providers = Arc::new(Hub);
        let mut config = config();
        config["oauth2_login"]["run_workflow_on_authorize"] = json!(true);
        config["response"] = json!({"mode": "shaped"});
        let hint = json!({"var": "metadata.query.hint"});
        let status = json!({"if": [{"==": [{"var": "metadata.query.hint"}, "mallory"]}, 403, null]});
        let tasks = json!([task(
            "map",
            json!({"mappings": [
            {"path": "data._svc.oauth.extra_params.login_hint", "logic": hint},
            {"path": "data._svc.response.status", "logic": status}]})
        )]);
        let orders = kit.serve(&tree, config, &tasks).await;
        let answer = orders.submit_whole(request(false, json!({"hint": "ada"}), "")).await.unwrap();
        assert_eq!(answer.status, 302, "{answer:?}");
        assert!(header(&answer, "location").contains("login_hint=ada"), "{answer:?}");
        let stopped = orders.submit_whole(request(false, json!({"hint": "mallory"}), "")).await.unwrap();
        assert_eq!((stopped.status, header(&stopped, "set-cookie"), &*stopped.body), (403, "", &b"{}"[..]));
        assert!(kit.metrics_text().contains(r#"leg="authorize",outcome="refused"} 1"#));
    });
}

#[test]
fn instance_completes_providers_of_a_channel() {
    Universe::new(1).run(async |tree| {
        let mut config = config();
        let hub = config["oauth2_login"].as_object().unwrap().clone();
        let own = ["redirect_uri", "callback_path", "state_secret"];
        let hub: Map<String, Value> =
            hub.into_iter().filter(|(key, _)| !own.contains(&key.as_str())).collect();
        let providers = json!({ "hub": hub }).as_object().unwrap().clone();
        let sign_in_providers = InstanceProviders::new(providers);
        let mut kit = Kit::new(Settings { sign_in_providers, ..Settings::default() });
        kit.services.identity_providers = Arc::new(Hub);
        config["oauth2_login"] = json!({"redirect_uri": "https://shop.example/{provider}/callback",
            "callback_path": "/{provider}/callback", "state_secret": "0123456789abcdef0123456789abcdef",
            "providers_from_instance": true, "providers": {"hub": {"client_id": "other"}}});
        let orders = kit.serve(&tree, config.clone(), &tasks()).await;
        let mut asked = request(false, json!({}), "");
        asked.params.insert("provider".to_owned(), json!("hub"));
        let answer = orders.submit_whole(asked).await.unwrap();
        let location = header(&answer, "location");
        assert!(location.starts_with("https://hub.example/authorize?"), "{location}");
        assert!(
            location.contains("client_id=other&") && location.contains("%2Fhub%2Fcallback"),
            "{location}"
        );
        let elsewhere = Kit::new(Settings::default());
        let reason = elsewhere.build(config, &tasks()).unwrap_err();
        assert!(reason.contains("oauth2_login.providers.hub"), "{reason}");
    });
}

#[test]
fn caller_brings_no_identity_of_its_own() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let orders = kit.serve(&tree, json!({}), &tasks()).await;
        let forged =
            json!({"data": {}, "metadata": {"identity": {"subject": "root"}, "oauth": {"grant": {}}}});
        let answer = orders.post(forged).await.unwrap();
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!((body["data"].get("identity"), body["data"].get("oauth")), (None, None));
    });
}

#[test]
fn channel_with_a_missing_secret_is_not_served() {
    let mut kit = Kit::new(Settings::default());
    kit.services.identity_providers = Arc::new(Hub);
    let mut config = config();
    config["oauth2_login"]["client_secret"] = json!("env://GONE");
    let reason = kit.build(config, &tasks()).unwrap_err();
    assert_eq!(reason, "oauth2_login.client_secret: env://GONE: the variable is not set");
}
