//! Tests of definitions whose values are declared elsewhere.

use serde_json::{Value, json};

use super::{Marked, codes};
use crate::field::FieldCode::{Invalid, UnknownField};
use crate::{FieldError, mask_channel_config, parse_new_channel, parse_new_connector, validate_channel};

struct NoRules;

impl super::super::ConnectorChecks for NoRules {}

fn channel(config: Value) -> Value {
    json!({"name": "c", "protocol": "rest", "methods": ["POST"], "route_pattern": "/c", "workflow_id": "w",
        "config": config})
}

fn connector(kind: &str, config: Value) -> Result<(), Vec<FieldError>> {
    let body = json!({"name": "c", "connector_type": kind, "config": config});
    parse_new_connector(&body, &NoRules).map(drop)
}

#[test]
fn reference_is_accepted_in_fields_of_every_type() {
    let config = json!({
        "timeout_ms": "var://timeout", "cache": {"enabled": "var://cached", "per_principal": true, "ttl_secs": "var://ttl"},
        "request": {"mode": "var://mode"}, "origin_allow_list": ["var://origin"],
        "auth": {"mode": "api_key", "keys": ["var://key"]}, "rate_limit": {"requests_per_second": "var://rate"},
    });
    let stored = parse_new_channel(&channel(config.clone()), &Marked).unwrap().1;
    assert_eq!(stored.config, config, "the stored document keeps the references");
    assert_eq!(mask_channel_config(&config), config, "a value is no secret");
    let config =
        json!({"url": "var://url", "allow_private_urls": "var://private", "max_response_size": "var://size"});
    assert_eq!(connector("http", config), Ok(()));
    assert_eq!(connector("kafka", json!({"brokers": ["var://broker"], "topic": "var://topic"})), Ok(()));
    let cron = json!({"name": "c", "protocol": "cron", "workflow_id": "w",
        "transport_config": {"schedule": "var://nightly", "timezone": "var://zone"}});
    assert!(validate_channel(&cron, &Marked).valid(), "{:?}", validate_channel(&cron, &Marked));
}

#[test]
fn other_problems_are_reported_next_to_references() {
    let config = json!({"timeout_ms": "var://timeout", "tracng": {}});
    let errors = parse_new_channel(&channel(config), &Marked).unwrap_err();
    assert_eq!(codes(&errors), [("channel.config.tracng", UnknownField)]);
}

#[test]
fn reference_without_a_name_is_refused() {
    for text in ["var://", "var://a-b", "var://1a", "var://a b"] {
        let errors = parse_new_channel(&channel(json!({"timeout_ms": text})), &Marked).unwrap_err();
        assert_eq!(codes(&errors), [("channel.config.timeout_ms", Invalid)], "{text}");
    }
}

#[test]
fn reference_in_a_field_read_early_is_refused() {
    let config = json!({"on_failure": "var://alerts", "request": {"by_name": "var://open"}});
    let errors = parse_new_channel(&channel(config), &Marked).unwrap_err();
    let expected = [("channel.config.on_failure", Invalid), ("channel.config.request.by_name", Invalid)];
    assert_eq!(codes(&errors), expected);
}
