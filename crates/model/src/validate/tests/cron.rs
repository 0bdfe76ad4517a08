//! Tests of the validation of cron channels.

use serde_json::{Value, json};

use super::{Marked, codes};
use crate::field::FieldCode::{Invalid, Required, TooLong, TypeMismatch, UnknownField, UnresolvedSecretRef};
use crate::{FieldCode, parse_new_channel};

fn cron(transport: Value) -> Value {
    json!({"name": "c", "channel_type": "async", "protocol": "cron", "transport_config": transport})
}

fn refusals(body: &Value) -> Vec<(String, FieldCode)> {
    let errors = parse_new_channel(body, &Marked).unwrap_err();
    codes(&errors).into_iter().map(|(path, code)| (path.to_owned(), code)).collect()
}

fn transport_refused(transport: Value) -> Vec<(String, FieldCode)> {
    let strip = |(path, code): (String, FieldCode)| {
        (path.strip_prefix("channel.transport_config.").unwrap_or(&path).to_owned(), code)
    };
    refusals(&cron(transport)).into_iter().map(strip).collect()
}

#[test]
fn a_full_schedule_passes() {
    let full = cron(
        json!({"schedule": "0 30 3 * * Mon-Fri", "timezone": "Europe/Berlin", "payload": {"span": "day"},
        "misfire_policy": "catch_up", "max_catch_up": 5, "concurrency": {"policy": "forbid", "key": "k.1", "slots": 2}}),
    );
    assert!(parse_new_channel(&full, &Marked).is_ok());
    assert!(parse_new_channel(&cron(json!({"schedule": "@daily", "timezone": null})), &Marked).is_ok());
}

#[test]
fn a_schedule_is_required_and_not_blank() {
    for transport in [json!({}), json!({"schedule": " "}), json!({"schedule": null})] {
        assert_eq!(transport_refused(transport), [("schedule".to_owned(), Required)]);
    }
    assert_eq!(transport_refused(json!({"schedule": 5})), [("schedule".to_owned(), TypeMismatch)]);
}

#[test]
fn schedule_has_five_or_six_fields_or_alias() {
    for good in ["* * * * *", "0 */5 * * * *", " 0  30 3 * * Mon-Fri ", "@hourly", "@Daily", "@yearly"] {
        assert!(parse_new_channel(&cron(json!({"schedule": good})), &Marked).is_ok(), "{good}");
    }
    for bad in ["daily", "* * * *", "0 0 0 * * * 2026", "@reboot", "@every 5m", "@"] {
        assert_eq!(transport_refused(json!({"schedule": bad})), [("schedule".to_owned(), Invalid)], "{bad}");
    }
}

#[test]
fn schedule_and_its_zone_are_read_in_full() {
    for (transport, paths) in [
        (json!({"schedule": "0 0 24 * * *"}), vec!["schedule"]),
        (json!({"schedule": "0 0 0 31 2 *"}), vec!["schedule"]),
        (json!({"schedule": "* * * * *", "timezone": "EST"}), vec!["timezone"]),
        (json!({"schedule": "? * * * *", "timezone": "Europe/Berln"}), vec!["schedule", "timezone"]),
    ] {
        let due: Vec<_> = paths.into_iter().map(|path| (path.to_owned(), Invalid)).collect();
        assert_eq!(transport_refused(transport), due);
    }
    let missing = transport_refused(json!({"timezone": "CET"}));
    assert_eq!(missing, [("schedule".to_owned(), Required), ("timezone".to_owned(), Invalid)]);
    for blank in [json!(""), json!(" "), Value::Null] {
        assert!(parse_new_channel(&cron(json!({"schedule": "@daily", "timezone": blank})), &Marked).is_ok());
    }
}

#[test]
fn refused_schedule_says_where_and_what_to_write() {
    let body = cron(json!({"schedule": "0 25 24 * * 0", "timezone": "europe/berlin"}));
    let errors = parse_new_channel(&body, &Marked).unwrap_err();
    let messages: Vec<_> = errors.iter().map(|error| error.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "hour (field 3, character 6): '24' is out of range; use 0 to 23. day of week (field 6, character 13): '0' is out \
             of range; use 1 to 7 (with six fields Sunday is 1 and Saturday 7)",
            "'europe/berlin' is no time zone; did you mean 'Europe/Berlin'?",
        ]
    );
}

#[test]
fn all_problems_of_a_schedule_are_reported_together() {
    let errors =
        transport_refused(json!({"shedule": "x", "timezone": 1, "payload": [], "misfire_policy": "never",
        "max_catch_up": 0, "concurrency": {"policy": "queue_one", "key": "-", "slots": 65, "x": 1}}));
    let expected = [
        ("concurrency.key", Invalid),
        ("concurrency.policy", Invalid),
        ("concurrency.slots", Invalid),
        ("concurrency.x", UnknownField),
        ("max_catch_up", Invalid),
        ("misfire_policy", Invalid),
        ("payload", TypeMismatch),
        ("schedule", Required),
        ("shedule", UnknownField),
        ("timezone", TypeMismatch),
    ];
    assert_eq!(errors, expected.map(|(path, code)| (path.to_owned(), code)));
}

#[test]
fn bounds_depend_on_their_policy() {
    let with = |extra: Value| {
        let mut transport = json!({"schedule": "@daily"});
        transport.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        transport
    };
    for (extra, path, code) in [
        (json!({"misfire_policy": "catch_up"}), "max_catch_up", Required),
        (json!({"max_catch_up": 1001}), "max_catch_up", Invalid),
        (json!({"max_catch_up": -1}), "max_catch_up", Invalid),
        (json!({"max_catch_up": 1.5}), "max_catch_up", TypeMismatch),
        (json!({"concurrency": {"slots": 2}}), "concurrency.slots", Invalid),
        (json!({"concurrency": {"policy": "allow", "slots": 2}}), "concurrency.slots", Invalid),
        (json!({"concurrency": []}), "concurrency", TypeMismatch),
        (json!({"concurrency": {"policy": "forbid", "key": "k".repeat(129)}}), "concurrency.key", TooLong),
        (json!({"payload": {"x": "p".repeat(1_048_576)}}), "payload", TooLong),
    ] {
        assert_eq!(transport_refused(with(extra)), [(path.to_owned(), code)], "{path}");
    }
}

#[test]
fn a_payload_names_no_secret() {
    let payload = json!({"a": {"secret": "s"}, "b": [{"secret": ["s"]}], "c": "env://A", "d": "vault://a#b",
        "e": "secret://x", "f": {"g": "var://x"}, "fine": {"secret": "s", "and": 1}, "also": {"secret": 5}});
    let paths: Vec<_> = transport_refused(json!({"schedule": "@daily", "payload": payload}))
        .into_iter()
        .map(|(path, code)| {
            assert_eq!(code, UnresolvedSecretRef);
            path
        })
        .collect();
    assert_eq!(paths, ["payload.a", "payload.b[0]", "payload.c", "payload.d", "payload.e", "payload.f.g"]);
}

#[test]
fn settings_that_need_a_caller_are_refused() {
    let mut body = cron(json!({"schedule": "@daily"}));
    body["channel_type"] = json!("sync");
    body["methods"] = json!(["GET"]);
    body["route_pattern"] = json!("/c");
    body["topic"] = json!("t");
    body["consumer_group"] = json!("g");
    body["config"] = json!({"auth": {"mode": "?"}, "origin_allow_list": [], "rate_limit": {}, "principal_rate_limit": {},
        "deduplication": {}, "cache": {}, "oauth2_login": {}, "request": {}, "response": {}, "timeout_ms": 5, "tracing": {"mode": "off"}});
    let errors = refusals(&body);
    assert!(errors.iter().all(|(_, code)| *code == Invalid));
    let paths: Vec<_> = errors.iter().map(|(path, _)| path.strip_prefix("channel.").unwrap()).collect();
    assert_eq!(
        paths,
        [
            "channel_type",
            "config.auth",
            "config.cache",
            "config.deduplication",
            "config.oauth2_login",
            "config.origin_allow_list",
            "config.principal_rate_limit",
            "config.rate_limit",
            "config.request",
            "config.response",
            "consumer_group",
            "methods",
            "route_pattern",
            "topic",
        ]
    );
    let mut nulls = cron(json!({"schedule": "@daily"}));
    nulls["config"] = json!({"auth": null, "cache": null, "timeout_ms": 5});
    assert!(parse_new_channel(&nulls, &Marked).is_ok());
}

#[test]
fn rest_of_refused_config_is_still_checked() {
    let mut body = cron(json!({"schedule": "@daily"}));
    body["config"] = json!({"auth": {}, "timeout_ms": 0});
    let paths: Vec<_> = refusals(&body).into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["channel.config.auth", "channel.config.timeout_ms"]);
}

#[test]
fn schema_of_the_payload_is_taken_alone() {
    let config = |request: serde_json::Value| {
        json!({"name": "c", "protocol": "cron", "workflow_id": "w", "transport_config": {"schedule": "@daily"},
            "config": {"request": request}})
    };
    assert!(parse_new_channel(&config(json!({"schema": {"required": ["do"]}})), &Marked).is_ok());
    let errors = parse_new_channel(&config(json!({"schema": {}, "mode": "accept"})), &Marked).unwrap_err();
    assert_eq!(codes(&errors), [("channel.config.request", Invalid)]);
}
