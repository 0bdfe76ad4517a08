//! What is built, and what is refused rather than served weakened.

use serde_json::json;
use svc_channels::{Definition, Settings};

use crate::kit::{Kit, nothing, row};

#[test]
fn a_guard_this_version_does_not_enforce_refuses_the_channel() {
    let kit = Kit::new(Settings::default());
    for (block, config) in [
        ("auth", json!({"mode": "api_key", "keys": ["k"]})),
        ("rate_limit", json!({"requests_per_second": 1})),
        ("deduplication", json!({"header": "idempotency-key"})),
        ("cache", json!({"enabled": true})),
        ("response", json!({"mode": "shaped"})),
        ("response", json!({"error_bodies": {"default": {"body": "{}"}}})),
    ] {
        let reason = kit.build(json!({block: config}), &nothing()).unwrap_err();
        assert!(reason.starts_with(&format!("{block}: ")), "{reason}");
    }
}

#[test]
fn blocks_that_ask_for_nothing_more_are_served() {
    let kit = Kit::new(Settings::default());
    for config in [
        json!({}),
        json!({"cache": {"enabled": false}}),
        json!({"response": {"mode": "envelope"}}),
        json!({"tracing": {"mode": "sync", "sample_rate": 0.5}}),
        json!({"timeout_ms": 1, "origin_allow_list": ["*"], "backpressure": {"max_concurrent_per_node": 1}}),
    ] {
        kit.build(config.clone(), &nothing()).unwrap_or_else(|reason| panic!("{config}: {reason}"));
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
    ] {
        let reason = kit.build(config.clone(), &nothing()).unwrap_err();
        assert!(reason.starts_with(starts) && reason.contains(names), "{config}: {reason}");
    }
}

#[test]
fn a_row_whose_json_cannot_be_read_is_refused() {
    let kit = Kit::new(Settings::default());
    assert!(kit.build(svc_model::unreadable(), &nothing()).unwrap_err().contains("config_json"));
    let mut row = row(json!({}));
    row.content.transport_config = svc_model::unreadable();
    let refused = Definition::build(&row, kit.flow(&nothing()), &kit.tools, None);
    assert_eq!(refused.unwrap_err(), "transport_config_json does not parse");
}

#[test]
fn nothing_is_shown_of_a_channel_before_its_first_message() {
    let kit = Kit::new(Settings::default());
    let _definition = kit.build(json!({}), &nothing()).unwrap();
    assert!(!kit.counted().contains("{"), "{}", kit.counted());
}
