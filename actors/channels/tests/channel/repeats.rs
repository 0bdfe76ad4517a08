//! Messages that came before: refused by their key, or answered as before.

use std::sync::Arc;
use std::time::Duration;

use actix_supervision::{Tree, Universe};
use serde_json::{Value, json};
use svc_channels::{ChannelActor, ChannelResponse, CompiledChannel, DataRequest, Settings};
use svc_model::{Code, ServiceError};
use svc_testkit::state::eventually;

use crate::kit::{Kit, Orders, body, copy, empty_workflow, http, row, task, token, token_auth};

async fn post_with_key(orders: &Orders, key: &str) -> Result<ChannelResponse, ServiceError> {
    orders.submit(http(json!({}), &[("idempotency-key", key)])).await
}

async fn replace(tree: &Tree, orders: &Orders, definition: CompiledChannel) {
    let factory = ChannelActor::factory(&Arc::new(definition));
    tree.replace(&orders.0, None, factory).await.unwrap().commit().await.unwrap();
}

#[test]
fn key_admits_one_message_per_window() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let config = json!({"deduplication": {"header": "Idempotency-Key", "window_secs": 60}});
        let orders = kit.serve(&tree, config, &empty_workflow()).await;
        assert!(post_with_key(&orders, "k-1").await.is_ok());
        let error = post_with_key(&orders, "k-1").await.unwrap_err();
        assert_eq!(error.code(), Code::Conflict);
        assert_eq!(error.message(), "Duplicate request: idempotency key 'k-1' already seen");
        assert!(post_with_key(&orders, "k-2").await.is_ok());
        for _ in 0..2 {
            assert!(orders.post(json!({})).await.is_ok(), "without a key nothing is checked");
            assert!(post_with_key(&orders, " ").await.is_ok(), "a blank key is none");
        }
        tokio::time::advance(Duration::from_secs(61)).await;
        assert!(post_with_key(&orders, "k-1").await.is_ok());
        let page = kit.metrics_text();
        assert!(page.contains(r#"svc_messages_total{channel="orders",status="duplicate"} 1"#), "{page}");
    });
}

#[test]
fn a_key_stays_claimed_when_its_run_fails() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let config = json!({"deduplication": {"header": "idempotency-key"}});
        let orders = kit.serve(&tree, config, &json!([task("fail", json!({}))])).await;
        assert_eq!(post_with_key(&orders, "k").await.unwrap_err().code(), Code::EngineError);
        assert_eq!(post_with_key(&orders, "k").await.unwrap_err().code(), Code::Conflict);
    });
}

#[test]
fn keys_outlive_a_rebuild_that_leaves_their_settings_alone() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let config = |window| json!({"deduplication": {"header": "idempotency-key", "window_secs": window}});
        let first = kit.build(config(60), &empty_workflow()).unwrap();
        let build = |window| {
            let mut config = config(window);
            config["timeout_ms"] = json!(1000);
            kit.definition(&row(config), kit.flow(&empty_workflow()), Some(&first)).unwrap()
        };
        let (same, other) = (build(60), build(61));
        let orders = Orders::start(&tree, first).await;
        assert!(post_with_key(&orders, "k").await.is_ok());
        replace(&tree, &orders, same).await;
        assert!(post_with_key(&orders, "k").await.is_err());
        replace(&tree, &orders, other).await;
        assert!(post_with_key(&orders, "k").await.is_ok());
    });
}

async fn order(orders: &Orders, header: &str, credential: &str) -> Result<ChannelResponse, ServiceError> {
    orders.submit(http(json!({}), &[(header, credential), ("idempotency-key", "order-1")])).await
}

#[test]
fn idempotency_key_belongs_to_its_principal() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let config = json!({
            "auth": {"mode": "api_key", "header": "x-tenant", "keys": ["one", "two"]},
            "deduplication": {"header": "idempotency-key"},
        });
        let mut shared = config.clone();
        shared["deduplication"]["per_principal"] = json!(false);
        let orders = kit.serve(&tree, config, &empty_workflow()).await;
        for tenant in ["one", "two"] {
            assert!(order(&orders, "x-tenant", tenant).await.is_ok(), "{tenant}");
            let repeat = order(&orders, "x-tenant", tenant).await.unwrap_err();
            assert_eq!(repeat.code(), Code::Conflict);
        }
        replace(&tree, &orders, kit.build(shared, &empty_workflow()).unwrap()).await;
        assert!(order(&orders, "x-tenant", "one").await.is_ok());
        assert_eq!(order(&orders, "x-tenant", "two").await.unwrap_err().code(), Code::Conflict);
    });
}

#[test]
fn token_idempotency_key_belongs_to_issuer_and_subject() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let config = json!({"auth": token_auth(), "deduplication": {"header": "idempotency-key"}});
        let orders = kit.serve(&tree, config, &empty_workflow()).await;
        let is_first = async |claims: Value| order(&orders, "authorization", &token(claims)).await.is_ok();
        assert!(is_first(json!({"sub": "a", "jti": "1", "scope": "read"})).await);
        assert!(!is_first(json!({"sub": "a", "jti": "2", "scope": "write"})).await, "a fresh token");
        assert!(is_first(json!({"sub": "b"})).await);
        assert!(is_first(json!({"iss": "other", "sub": "a"})).await);
        assert!(is_first(json!({"client_id": "m"})).await, "a token without a subject");
        assert!(!is_first(json!({"client_id": "m", "jti": "3"})).await);
        assert!(is_first(json!({"client_id": "n"})).await);
    });
}

#[test]
fn principal_is_told_to_workflow_and_key_logic() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let config = json!({
            "auth": {"mode": "api_key", "header": "x-tenant", "keys": ["one", "two"]},
            "deduplication": {"key_logic": {"var": "metadata.auth.principal"}, "per_principal": false},
        });
        let orders = kit.serve(&tree, config, &json!([copy("metadata.auth", "data.auth")])).await;
        let forged = json!({"data": {}, "metadata": {"auth": {"principal": "root"}}});
        let ask = async |tenant: &str| orders.submit(http(forged.clone(), &[("x-tenant", tenant)])).await;
        let one = body(ask("one").await)["data"]["auth"].clone();
        let two = body(ask("two").await)["data"]["auth"].clone();
        let is_digest = |auth: &Value| auth["principal"].as_str().is_some_and(|text| text.len() == 32);
        assert!(is_digest(&one) && is_digest(&two) && one != two, "{one} {two}");
        assert_eq!(ask("one").await.unwrap_err().code(), Code::Conflict);
    });
}

#[test]
fn accepted_repeat_is_answered_and_runs_once() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let config = json!({"deduplication": {"header": "idempotency-key", "on_duplicate": "accept"}});
        let mut fail = task("fail", json!({}));
        fail["condition"] = json!({"var": "payload.fail"});
        let orders = kit.serve(&tree, config, &json!([fail, task("hold", json!({}))])).await;
        kit.hold.release();
        let first = body(post_with_key(&orders, "k-1").await);
        assert!(first.get("data").is_some(), "{first}");
        for _ in 0..2 {
            assert_eq!(body(post_with_key(&orders, "k-1").await), json!({"status": "duplicate"}));
        }
        let failing = || http(json!({"fail": true}), &[("idempotency-key", "k-2")]);
        assert_eq!(orders.submit(failing()).await.unwrap_err().code(), Code::EngineError);
        assert_eq!(
            orders.submit(failing()).await.unwrap_err().code(),
            Code::EngineError,
            "a message that failed is carried out when it comes again"
        );
        kit.hold.release();
        assert!(body(post_with_key(&orders, "k-2").await).get("data").is_some());
        assert_eq!(body(post_with_key(&orders, "k-2").await), json!({"status": "duplicate"}));
        let page = kit.metrics_text();
        assert!(page.contains(r#"svc_messages_total{channel="orders",status="duplicate"} 3"#), "{page}");
    });
}

/// A channel that keeps its answers; each run answers another id.
fn keeping() -> Value {
    json!({"cache": {"enabled": true, "ttl_secs": 60}})
}

#[test]
fn local_caches_are_listed_while_channels_use_them() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let listed = || kit.services.local_caches.count();
        let mut config = keeping();
        config["deduplication"] = json!({"header": "idempotency-key"});
        let first = kit.build(config.clone(), &empty_workflow()).unwrap();
        config["timeout_ms"] = json!(1000);
        let same = kit.definition(&row(config), kit.flow(&empty_workflow()), Some(&first)).unwrap();
        let other = kit.build(json!({}), &empty_workflow()).unwrap();
        let orders = Orders::start(&tree, first).await;
        assert!(orders.post(json!({})).await.is_ok());
        assert_eq!(listed(), 1, "an answer is kept and no key claimed yet");
        for key in ["k-1", "k-2"] {
            assert!(post_with_key(&orders, key).await.is_ok());
            assert_eq!(listed(), 2);
        }
        replace(&tree, &orders, same).await;
        assert!(post_with_key(&orders, "k-3").await.is_ok());
        assert!(orders.post(json!({"another": "answer"})).await.is_ok());
        assert_eq!(listed(), 2, "a channel with the same settings goes on with the same caches");
        replace(&tree, &orders, other).await;
        eventually("no cache is listed", async || listed() == 0).await;
    });
}

#[test]
fn equal_request_gets_cached_answer_until_it_expires() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let orders = kit.serve(&tree, keeping(), &empty_workflow()).await;
        let first = orders.submit(http(json!({"a": 1, "b": 2}), &[("x", "1")])).await.unwrap();
        let again = orders.submit(http(json!({"b": 2, "a": 1}), &[("x", "2")])).await.unwrap();
        assert_eq!(again, first, "neither headers nor the order of members matter");
        let mut other = http(json!({"a": 1, "b": 2}), &[]);
        other.query.insert("q".into(), json!("z"));
        assert_ne!(orders.submit(other).await.unwrap(), first);
        assert_ne!(orders.post(json!({"a": 2})).await.unwrap(), first);
        tokio::time::advance(Duration::from_secs(61)).await;
        assert_ne!(orders.submit(http(json!({"a": 1, "b": 2}), &[])).await.unwrap(), first);
        let page = kit.metrics_text();
        assert!(page.contains(r#"svc_response_cache_hits_total{channel="orders"} 1"#), "{page}");
        assert!(page.contains(r#"svc_response_cache_misses_total{channel="orders"} 4"#), "{page}");
    });
}

#[test]
fn cached_answer_has_its_age_others_are_misses() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let orders = kit.serve(&tree, keeping(), &empty_workflow()).await;
        let notes = async |orders: &Orders| {
            let answer = orders.submit_whole(http(json!({}), &[])).await.unwrap();
            let value = |name: &str| {
                answer.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.clone())
            };
            (value("x-cache"), value("age"))
        };
        assert_eq!(notes(&orders).await, (Some("miss".to_owned()), None));
        tokio::time::advance(Duration::from_secs(7)).await;
        assert_eq!(notes(&orders).await, (Some("hit".to_owned()), Some("7".to_owned())));
        let uncached = kit.build(json!({}), &empty_workflow()).unwrap();
        replace(&tree, &orders, uncached).await;
        assert_eq!(notes(&orders).await, (None, None));
    });
}

#[test]
fn computed_key_decides_which_requests_are_equal() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let key_logic = json!({"if": [{"var": "data.fresh"}, null,
            {"cat": [{"var": "data.sku"}, " ", {"var": "metadata.headers.accept-language"}]}]});
        let config =
            json!({"cache": {"enabled": true, "key_logic": key_logic, "cache_key_fields": ["other"]}});
        let orders = kit.serve(&tree, config, &empty_workflow()).await;
        let ask = async |payload: Value, language: &str| {
            orders.submit(http(payload, &[("accept-language", language)])).await.unwrap()
        };
        let first = ask(json!({"sku": "a", "n": 1}), "de").await;
        assert_eq!(ask(json!({"sku": "a", "n": 2}), "de").await, first);
        assert_ne!(ask(json!({"sku": "a", "n": 1}), "fr").await, first);
        assert_ne!(ask(json!({"sku": "b", "n": 1}), "de").await, first);
        let fresh = ask(json!({"fresh": true}), "de").await;
        assert_ne!(ask(json!({"fresh": true}), "de").await, fresh);
    });
}

#[test]
fn equal_requests_wait_for_the_run_of_one() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let config = json!({
            "cache": {"enabled": true, "coalesce_misses": true},
            "backpressure": {"max_concurrent_per_node": 1},
        });
        let orders = kit.serve(&tree, config, &json!([task("hold", json!({}))])).await;
        let ask = || {
            let orders = orders.clone();
            actix_rt::spawn(async move { orders.post(json!({})).await })
        };
        let first = ask();
        kit.hold.wait_for_entries(1).await;
        let others = [ask(), ask()];
        assert_eq!(orders.post(json!({"n": 1})).await.unwrap_err().code(), Code::ServiceUnavailable);
        kit.hold.release();
        let first = first.await.unwrap().unwrap();
        for other in others {
            assert_eq!(other.await.unwrap().unwrap(), first);
        }
        let page = kit.metrics_text();
        assert!(page.contains(r#"svc_response_cache_coalesced_total{channel="orders"} 2"#), "{page}");
    });
}

#[test]
fn follower_of_a_failed_run_runs_itself() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let mut fail = task("fail", json!({}));
        fail["continue_on_error"] = json!(true);
        let config = json!({"cache": {"enabled": true, "coalesce_misses": true}});
        let orders = kit.serve(&tree, config, &json!([task("hold", json!({})), fail])).await;
        let ask = || {
            let orders = orders.clone();
            actix_rt::spawn(async move { body(orders.post(json!({})).await)["id"].clone() })
        };
        let first = ask();
        kit.hold.wait_for_entries(1).await;
        let other = ask();
        (0..2).for_each(|_| kit.hold.release());
        assert_ne!(first.await.unwrap(), other.await.unwrap());
    });
}

#[test]
fn envelope_parameters_distinguish_requests_of_plain_routes() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let orders = kit.serve(&tree, keeping(), &empty_workflow()).await;
        let ask = async |fact: &str, value: &str| {
            let envelope = json!({"data": {}, "metadata": {fact: {"id": value}}});
            orders.submit(http(envelope, &[])).await.unwrap()
        };
        for fact in ["params", "query"] {
            let first = ask(fact, "1").await;
            assert_eq!(ask(fact, "1").await, first, "{fact}");
            assert_ne!(ask(fact, "2").await, first, "{fact}");
        }
        let stamped = async |claimed: &str| {
            let envelope = json!({"data": {}, "metadata": {"query": {"q": claimed}}});
            let mut request = http(envelope, &[]);
            request.query.insert("q".into(), json!("z"));
            orders.submit(request).await.unwrap()
        };
        assert_eq!(stamped("1").await, stamped("2").await, "what the service stamps over is not seen");
    });
}

#[test]
fn cached_answer_needs_no_permit_and_claims_key() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let mut config = keeping();
        config["backpressure"] = json!({"max_concurrent_per_node": 1});
        config["deduplication"] = json!({"header": "idempotency-key"});
        let mut hold = task("hold", json!({}));
        hold["condition"] = json!({"var": "payload.hold"});
        let orders = kit.serve(&tree, config, &json!([hold])).await;
        assert!(orders.post(json!({})).await.is_ok());
        let running = orders.clone();
        let running = actix_rt::spawn(async move { running.post(json!({"hold": true})).await });
        kit.hold.wait_for_entries(1).await;
        assert!(post_with_key(&orders, "k").await.is_ok(), "from the cache, without a permit");
        assert_eq!(post_with_key(&orders, "k").await.unwrap_err().code(), Code::Conflict);
        kit.hold.release();
        assert!(running.await.unwrap().is_ok());
    });
}

#[test]
fn answers_with_errors_or_profile_are_not_cached() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings { profiles: true, ..Settings::default() });
        let mut fail = task("fail", json!({}));
        fail["continue_on_error"] = json!(true);
        fail["condition"] = json!({"var": "payload.fail"});
        let orders = kit.serve(&tree, keeping(), &json!([fail])).await;
        let id = async |request: DataRequest| body(orders.submit(request).await)["id"].clone();
        let failing = || http(json!({"fail": true}), &[]);
        assert_ne!(id(failing()).await, id(failing()).await);
        let profiled = || DataRequest { profile: true, ..http(json!({}), &[]) };
        assert_ne!(id(profiled()).await, id(profiled()).await);
    });
}

#[test]
fn answers_of_a_changed_channel_or_workflow_are_forgotten() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let flow = kit.flow(&json!([copy("payload", "data.seen")]));
        let build = |config: Value, flow, previous| kit.definition(&row(config), flow, previous).unwrap();
        let first = build(keeping(), flow.clone(), None);
        let same = build(keeping(), flow.clone(), Some(&first));
        let mut timed = keeping();
        timed["timeout_ms"] = json!(1000);
        let changed = build(timed, flow, Some(&first));
        let rewritten = build(keeping(), kit.flow(&empty_workflow()), Some(&first));
        let orders = Orders::start(&tree, first).await;
        let before = orders.post(json!({})).await.unwrap();
        replace(&tree, &orders, same).await;
        assert_eq!(orders.post(json!({})).await.unwrap(), before);
        for definition in [changed, rewritten] {
            replace(&tree, &orders, definition).await;
            assert_ne!(orders.post(json!({})).await.unwrap(), before);
        }
    });
}

#[test]
fn answers_per_principal_go_to_their_own_principal_alone() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let mut config = json!({"auth": {"mode": "api_key", "header": "x-api-key", "keys": ["one", "two"]}});
        config["cache"] = json!({"enabled": true, "per_principal": true});
        let orders = kit.serve(&tree, config, &empty_workflow()).await;
        let ask = async |key: &str| orders.submit(http(json!({}), &[("x-api-key", key)])).await.unwrap();
        let first = ask("one").await;
        assert_ne!(ask("two").await, first, "another tenant has an answer of its own");
        assert_eq!(ask("one").await, first);
    });
}

#[test]
fn only_tokens_of_one_subject_share_answers() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let config = json!({"auth": token_auth(), "cache": {"enabled": true, "per_principal": true}});
        let orders = kit.serve(&tree, config, &empty_workflow()).await;
        let ask = async |claims: Value| {
            let token = token(claims);
            orders.submit(http(json!({}), &[("authorization", &token)])).await.unwrap()
        };
        let first = ask(json!({"role": "buyer", "sub": "u-1", "jti": "1"})).await;
        assert_eq!(ask(json!({"role": "buyer", "sub": "u-1", "jti": "2"})).await, first);
        assert_ne!(ask(json!({"role": "buyer", "sub": "u-2", "jti": "1"})).await, first);
        assert_ne!(ask(json!({"role": "buyer", "sub": "u-1", "tenant": "t"})).await, first);
        let nameless = ask(json!({"role": "buyer"})).await;
        assert_ne!(ask(json!({"role": "buyer"})).await, nameless);
    });
}

#[test]
fn metadata_of_the_body_tells_answers_apart() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let orders = kit.serve(&tree, keeping(), &empty_workflow()).await;
        let ask = async |tenant: &str| {
            let envelope = json!({"data": {}, "metadata": {"tenant": tenant}});
            orders.submit(http(envelope, &[("x-tenant-id", tenant)])).await.unwrap()
        };
        let first = ask("one").await;
        assert_eq!(ask("one").await, first);
        assert_ne!(ask("two").await, first);
    });
}

#[test]
fn shaped_refusal_is_cached_if_status_is_listed() {
    Universe::new(1).run(async |tree| {
        let kit = Kit::new(Settings::default());
        let shape = json!([
            copy("payload.status", "data._svc.response.status"),
            copy("metadata.processed_at", "data.at"),
        ]);
        let serve = async |statuses: Option<Value>| {
            let mut config = keeping();
            config["response"] = json!({"mode": "shaped"});
            if let Some(statuses) = statuses {
                config["cache"]["statuses"] = statuses;
            }
            kit.definition(&row(config), kit.flow(&shape), None).unwrap()
        };
        let orders = Orders::start(&tree, serve(None).await).await;
        let ask = async |status: u16| orders.post(json!({"status": status})).await.unwrap();
        assert_eq!(ask(404).await.status, 404);
        let is_kept = async |status: u16| ask(status).await == ask(status).await;
        assert_eq!((is_kept(200).await, is_kept(404).await, is_kept(503).await), (true, false, false));
        replace(&tree, &orders, serve(Some(json!([404]))).await).await;
        assert_eq!((is_kept(200).await, is_kept(404).await), (false, true));
    });
}

#[test]
fn cache_before_caller_dependent_workflow_is_warned_of() {
    let warnings = |config: Value| {
        let (kit, log) = Kit::with_log();
        kit.build(config, &empty_workflow()).unwrap();
        log.lines().iter().filter(|line| line.contains("shared by callers")).count()
    };
    let with = |key: &str, value: Value| {
        let mut config = keeping();
        config[key] = value;
        config
    };
    assert_eq!(warnings(keeping()), 0);
    assert_eq!(warnings(with("auth", json!({"mode": "api_key", "keys": ["k"]}))), 1);
    assert_eq!(warnings(with("auth", token_auth())), 1);
    for decided in [true, false] {
        let mut config = with("auth", token_auth());
        config["cache"]["per_principal"] = json!(decided);
        assert_eq!(warnings(config), 0);
    }
    assert_eq!(warnings(with("request", json!({"cookies_to_metadata": ["sid"]}))), 1);
    let unkept = json!({"auth": token_auth(), "cache": {"enabled": false}});
    assert_eq!(warnings(unkept), 0);
}
