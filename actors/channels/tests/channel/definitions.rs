//! Compilation: channels that are built, and channels that are refused instead of served without a guard.

use serde_json::json;
use svc_channels::Settings;

use crate::kit::{Kit, empty_workflow, row, token_auth};

#[test]
fn every_block_that_makes_sense_is_served() {
    let kit = Kit::new(Settings::default());
    for config in [
        json!({}),
        json!({"cache": {"enabled": false}}),
        json!({"response": {"mode": "shaped", "error_bodies": {"default": {"body": "{}"}}}}),
        json!({"auth": {"mode": "api_key", "keys": ["env://ORDERS_KEY"]}}),
        json!({"rate_limit": {"requests_per_second": 1}, "deduplication": {"header": "Idempotency-Key"}}),
        json!({"cache": {"enabled": true, "connector": "redis"}, "deduplication": {"header": "k", "connector": "redis"}}),
        json!({"tracing": {"mode": "sync", "sample_rate": 0.5}}),
        json!({"timeout_ms": 1, "origin_allow_list": ["*"], "backpressure": {"max_concurrent_per_node": 1}}),
    ] {
        kit.build(config.clone(), &empty_workflow()).unwrap_or_else(|reason| panic!("{config}: {reason}"));
    }
}

#[test]
fn a_config_that_cannot_be_built_says_why() {
    let kit = Kit::new(Settings::default());
    for (config, starts, names) in [
        (json!({"cors": {}}), "config_json does not parse", "cors"),
        (json!({"timeout_ms": 0}), "config_json does not parse", "timeout_ms"),
        (json!([]), "config_json does not parse", "channel.config"),
        (
            json!({"validation_logic": {"==": [{"secret": "k"}, 1]}}),
            "validation_logic does not compile",
            "secret",
        ),
        (
            json!({"validation_logic": {"and": [true, {"==": [1, 1], "in": [1, [1]]}]}}),
            "validation_logic does not compile: .and[1]",
            "'and' or 'or'",
        ),
        (
            json!({"rate_limit": {"requests_per_second": 1, "key_logic": {"secret": "k"}}}),
            "rate_limit.key_logic does not compile",
            "secret",
        ),
        (
            json!({"auth": token_auth(), "principal_rate_limit": {"requests_per_second": 1, "key_logic": {"secret": "k"}}}),
            "principal_rate_limit.key_logic does not compile",
            "secret",
        ),
        (json!({"request": {"schema": {"$ref": "a.json"}}}), "request.schema: $.$ref", "leads out"),
        (json!({"auth": {"mode": "api_key", "keys": ["env://UNSET"]}}), "auth:", "UNSET"),
    ] {
        let reason = kit.build(config.clone(), &empty_workflow()).unwrap_err();
        assert!(reason.starts_with(starts) && reason.contains(names), "{config}: {reason}");
    }
}

#[test]
fn declared_value_is_served_undeclared_one_refuses() {
    let vars = Some(json!({"timeout": 500, "name": "x", "list": [1]}));
    let kit = Kit::new(Settings { vars, ..Settings::default() });
    let build = |config| kit.build(config, &empty_workflow());
    build(json!({"timeout_ms": "var://timeout", "validation_logic": {"==": ["var://gone", 1]}})).unwrap();
    for (value, part) in [
        ("gone", "var://gone is not declared in [vars]; declared: "),
        ("list", "var://list is of the type array"),
        ("name", "expected integer, got string"),
    ] {
        let reason = build(json!({"timeout_ms": format!("var://{value}")})).unwrap_err();
        assert!(reason.contains("timeout_ms") && reason.contains(part), "{reason}");
    }
}

#[test]
fn a_row_whose_json_cannot_be_read_is_refused() {
    let kit = Kit::new(Settings::default());
    assert!(kit.build(svc_model::unreadable(), &empty_workflow()).unwrap_err().contains("config_json"));
    let mut row = row(json!({}));
    row.content.transport_config = svc_model::unreadable();
    let refused = kit.definition(&row, kit.flow(&empty_workflow()), None);
    assert_eq!(refused.unwrap_err(), "transport_config_json does not parse");
}

#[test]
fn an_authorization_that_does_not_compile_refuses_the_channel() {
    let kit = Kit::new(Settings::default());
    let mut auth = token_auth();
    auth["authorization_logic"] = json!({"secret": "k"});
    let reason = kit.build(json!({"auth": auth}), &empty_workflow()).unwrap_err();
    assert!(reason.starts_with("auth.authorization_logic does not compile"), "{reason}");
}

#[test]
fn channel_has_no_metrics_before_its_first_message() {
    let kit = Kit::new(Settings::default());
    let _definition = kit.build(json!({}), &empty_workflow()).unwrap();
    // The reasons of errors and the outcomes of shadows are there from the start.
    let text = kit.metrics_text();
    let shown = text.lines().filter(|line| line.contains('{'));
    let own: Vec<_> = shown
        .filter(|line| !line.starts_with("svc_errors_total{") && !line.starts_with("svc_shadow_"))
        .collect();
    assert!(own.is_empty(), "{own:?}");
}
