//! Credentials: admitted callers, refusals, and the metadata of the caller.

use std::sync::Arc;

use actix_supervision::Universe;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use svc_auth::{Jwks, KeySet, KeySets};
use svc_channels::Settings;
use svc_model::{Code, ServiceError};

use crate::kit::{Kit, Orders, body, copy, empty_workflow, http, token, token_auth};

/// The visible parts of a refusal.
fn wire(error: &ServiceError) -> (u16, String, Option<u32>, Option<String>) {
    let challenge = error.challenge().map(str::to_owned);
    (error.status(), error.body(None).to_string(), error.retry_after(), challenge)
}

async fn refusal(orders: &Orders, headers: &[(&str, &str)]) -> ServiceError {
    orders.submit(http(json!({}), headers)).await.unwrap_err()
}

#[test]
fn wrong_credentials_all_get_the_same_answer() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let config = json!({"auth": {"mode": "api_key", "keys": ["literal", "env://ORDERS_KEY"]}});
        let orders = kit.serve(&tree, config, &empty_workflow()).await;
        for key in ["Bearer literal", "Bearer k-from-env"] {
            assert!(orders.submit(http(json!({}), &[("authorization", key)])).await.is_ok(), "{key}");
        }
        let missing = refusal(&orders, &[]).await;
        assert_eq!((missing.code(), missing.challenge()), (Code::Unauthorized, None));
        assert_eq!(missing.message(), "Channel authentication failed");
        for key in ["Bearer wrong", "literal", "Basic literal", "Bearer ", ""] {
            assert_eq!(wire(&refusal(&orders, &[("authorization", key)]).await), wire(&missing), "{key:?}");
        }
        let page = kit.metrics_text();
        assert!(page.contains(r#"svc_messages_total{channel="orders",status="unauthorized"} 6"#), "{page}");
        let reasons = r#"svc_channel_auth_rejections_total{mode="api_key",reason="missing"}"#;
        assert!(page.contains(reasons), "{page}");
    });
}

#[test]
fn a_signature_is_over_the_bytes_as_received() {
    use hmac::{Hmac, KeyInit, Mac};
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let config = json!({"auth": {"mode": "hmac", "secret": "s3cret"}});
        let orders = kit.serve(&tree, config, &empty_workflow()).await;
        let raw = br#"{ "a": 1 }"#;
        let mut mac = Hmac::<sha2::Sha256>::new_from_slice(b"s3cret").unwrap();
        mac.update(raw);
        let signature: String = mac.finalize().into_bytes().iter().map(|b| format!("{b:02x}")).collect();
        for (raw, admitted) in [(&raw[..], true), (br#"{"a":1}"#, false), (b"", false)] {
            let mut request = http(json!({"a": 1}), &[("x-signature", &signature)]);
            request.raw = raw.to_vec().into();
            assert_eq!(orders.submit(request).await.is_ok(), admitted, "{raw:?}");
        }
    });
}

#[test]
fn only_an_expired_token_gets_its_reason() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let orders = kit.serve(&tree, json!({"auth": token_auth()}), &empty_workflow()).await;
        let good = token(json!({"sub": "u-1"}));
        assert!(orders.submit(http(json!({}), &[("authorization", &good)])).await.is_ok());
        let missing = refusal(&orders, &[]).await;
        assert_eq!(missing.challenge(), Some(r#"Bearer error="invalid_token""#));
        let mut tampered = good.clone();
        tampered.push('x');
        for token in ["Bearer junk", "Bearer a.b.c", &tampered, "Basic x"] {
            assert_eq!(wire(&refusal(&orders, &[("authorization", token)]).await), wire(&missing), "{token}");
        }
        let expired = refusal(&orders, &[("authorization", &token(json!({"exp": 1000})))]).await;
        let challenge = r#"Bearer error="invalid_token", error_description="token expired""#;
        assert_eq!(expired.challenge(), Some(challenge));
        assert_eq!(expired.body(None), missing.body(None));
        let page = kit.metrics_text();
        assert!(page.contains(r#"svc_jwt_rejections_total{reason="expired"} 1"#), "{page}");
        assert!(page.contains(r#"svc_jwt_rejections_total{reason="missing"} 1"#), "{page}");
    });
}

#[test]
fn claims_must_satisfy_the_authorization_or_it_is_403() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let mut auth = token_auth();
        auth["claims_to_metadata"] = json!(["sub"]);
        auth["authorization_logic"] = json!({">": [{"length": {"var": "claims.roles"}}, 1]});
        let orders = kit.serve(&tree, json!({"auth": auth}), &empty_workflow()).await;
        let with = |claims: Value| {
            let (orders, token) = (orders.clone(), token(claims));
            async move { orders.submit(http(json!({}), &[("authorization", &token)])).await }
        };
        assert!(with(json!({"roles": ["a", "b"]})).await.is_ok(), "it sees claims that are not exposed");
        for claims in [json!({"roles": []}), json!({}), json!({"roles": 7})] {
            let error = with(claims.clone()).await.unwrap_err();
            assert_eq!(error.code(), Code::Forbidden, "{claims}");
            assert!(error.message().starts_with("insufficient_scope:"), "{}", error.message());
            assert_eq!(error.challenge(), Some(r#"Bearer error="insufficient_scope""#));
        }
        let page = kit.metrics_text();
        let counted = r#"svc_channel_auth_rejections_total{mode="jwt",reason="insufficient_scope"} 3"#;
        assert!(page.contains(counted), "{page}");
    });
}

#[test]
fn validation_and_workflow_see_claims_without_token() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let mut auth = token_auth();
        auth["claims_to_metadata"] = json!(["sub", "absent"]);
        auth["source"] = json!({"header": "X-Token"});
        let logic = json!({"==": [{"var": "metadata.auth.claims.sub"}, "u-1"]});
        let config = json!({"auth": auth, "validation_logic": logic});
        let orders = kit.serve(&tree, config, &json!([copy("metadata", "data.seen")])).await;
        let token = token(json!({"sub": "u-1", "role": "x"})).replace("Bearer ", "");
        let request =
            http(json!({"metadata": {"auth": {"claims": {"role": "root"}}}}), &[("x-token", &token)]);
        let view = body(orders.submit(request).await)["data"]["seen"].clone();
        assert_eq!(view["auth"]["claims"], json!({"sub": "u-1"}));
        assert_eq!(view["headers"], json!({"x-token": "******"}));
    });
}

#[test]
fn absent_optional_token_leaves_no_claims() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let mut auth = token_auth();
        auth["required"] = json!(false);
        auth["authorization_logic"] = json!({"var": "claims.sub"});
        let config = json!({"auth": auth});
        let orders = kit.serve(&tree, config, &json!([copy("metadata.auth", "data.auth")])).await;
        assert_eq!(body(orders.post(json!({})).await)["data"]["auth"], Value::Null);
        let error = refusal(&orders, &[("authorization", "Bearer junk")]).await;
        assert_eq!(error.code(), Code::Unauthorized, "a token that is there must be good");
    });
}

/// The key sets of an issuer that is away.
struct AwayKeySets;

impl KeySets for AwayKeySets {
    fn key_set(&self, _: &str) -> Result<Arc<dyn KeySet>, String> {
        Ok(Arc::new(Self))
    }
}

impl KeySet for AwayKeySets {
    fn fresh(&self) -> Option<Arc<Jwks>> {
        None
    }

    fn obtain(&self) -> BoxFuture<'_, Option<Arc<Jwks>>> {
        Box::pin(std::future::ready(None))
    }

    fn renew<'s>(&'s self, _: &'s Arc<Jwks>) -> BoxFuture<'s, Option<Arc<Jwks>>> {
        Box::pin(std::future::ready(None))
    }
}

#[test]
fn unjudged_token_is_unavailable_and_bad_token_refused() {
    Universe::new(1).run(async |tree| {
        let mut kit = Kit::new(Settings::default());
        kit.services.key_sets = Arc::new(AwayKeySets);
        let auth = json!({"mode": "jwt", "algorithms": ["RS256"], "jwks_url": "https://id.example/keys"});
        let orders = kit.serve(&tree, json!({ "auth": auth }), &empty_workflow()).await;
        let token = "Bearer eyJhbGciOiJSUzI1NiIsImtpZCI6ImsifQ.eyJleHAiOjk5OTk5OTk5OTl9.c2ln";
        let unjudged = refusal(&orders, &[("authorization", token)]).await;
        assert_eq!((unjudged.code(), unjudged.retry_after()), (Code::ServiceUnavailable, Some(5)));
        let malformed = refusal(&orders, &[("authorization", "Bearer no-token")]).await;
        assert_eq!((malformed.code(), malformed.retry_after()), (Code::Unauthorized, None));
    });
}
