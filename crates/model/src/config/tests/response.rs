//! Tests of error body templates.

use serde_json::{Value, json};

use super::refusal;
use crate::config::*;
use crate::field::FieldCode;

fn bodies(bodies: Value) -> Value {
    json!({"response": {"error_bodies": bodies}})
}

#[test]
fn a_status_is_looked_up_before_the_default() {
    let config = bodies(
        json!({"401": {"body": "\"{message}\""}, "default": {"body": "plain", "content_type": "text/plain"}}),
    );
    let response = ChannelConfig::parse(&config).unwrap().response;
    assert_eq!(response.error_body(401).unwrap().content_type, "application/json");
    assert_eq!(response.error_body(503).unwrap().content_type, "text/plain");
    assert!(ResponseConfig::default().error_body(401).is_none());
}

#[test]
fn values_are_escaped_in_json_and_markup() {
    let fill = |body: &str, content_type: &str| {
        let config = bodies(json!({"default": {"body": body, "content_type": content_type}}));
        let response = ChannelConfig::parse(&config).unwrap().response;
        response.error_body(400).unwrap().render(|field| match field {
            Placeholder::Status => "400".into(),
            other => format!("\"{other:?}\""),
        })
    };
    assert_eq!(
        fill(r#"{"ok":false,"n":{status},"why":"{message}"}"#, "application/problem+json"),
        r#"{"ok":false,"n":400,"why":"\"Message\""}"#
    );
    assert_eq!(fill("{{x}} {code} {Code} { {1}", "text/plain"), "{x} \"Code\" {Code} { {1}");
    for content_type in ["Text/HTML; charset=utf-8", "application/soap+xml"] {
        assert_eq!(fill("<p>{code}</p>", content_type), "<p>&quot;Code&quot;</p>");
    }
}

#[test]
fn a_template_that_cannot_be_used_is_refused() {
    for (body, path, code) in [
        (json!({"body": "{nope}"}), "response.error_bodies.400.body", FieldCode::Invalid),
        (json!({"body": "not json"}), "response.error_bodies.400.body", FieldCode::Invalid),
        (json!({"body": "{message}"}), "response.error_bodies.400.body", FieldCode::Invalid),
        (
            json!({"body": "x".repeat(4097), "content_type": "text/plain"}),
            "response.error_bodies.400.body",
            FieldCode::TooLong,
        ),
        (
            json!({"body": "x", "content_type": "text/plain\r\nx: y"}),
            "response.error_bodies.400.content_type",
            FieldCode::Invalid,
        ),
        (
            json!({"body": "x", "content_type": ""}),
            "response.error_bodies.400.content_type",
            FieldCode::Invalid,
        ),
    ] {
        let error = refusal(&bodies(json!({"400": body})));
        assert_eq!((error.path, error.code), (format!("channel.config.{path}"), code));
    }
    for key in ["399", "600", "4xx", "+400", "0400", "Default"] {
        let error = refusal(&bodies(json!({key: {"body": "{}"}})));
        let path = format!("channel.config.response.error_bodies.{key}");
        assert_eq!((error.path, error.code), (path, FieldCode::Invalid));
    }
}

#[test]
fn unusable_template_keys_and_header_names_are_reported() {
    let config = json!({"response": {
        "mode": "raw",
        "allowed_headers": ["x-a", "x b", "x-c", ""],
        "error_bodies": {
            "400": {"body": "{nope}"},
            "404": {"body": "{}"},
            "4xx": {"body": "{}"},
            "600": {"body": "not json"},
            "503": {"boddy": "{}"},
            "default": {"body": "{}", "content_type": ""},
        },
        "moed": 1,
    }});
    let errors = ChannelConfig::parse(&config).unwrap_err();
    let found: Vec<_> = errors
        .iter()
        .map(|error| (error.path.strip_prefix("channel.config.response.").unwrap(), error.code))
        .collect();
    assert_eq!(
        found,
        [
            ("mode", FieldCode::Invalid),
            ("allowed_headers[1]", FieldCode::Invalid),
            ("allowed_headers[3]", FieldCode::Invalid),
            ("error_bodies.400.body", FieldCode::Invalid),
            ("error_bodies.4xx", FieldCode::Invalid),
            ("error_bodies.600", FieldCode::Invalid),
            ("error_bodies.600.body", FieldCode::Invalid),
            ("error_bodies.503.boddy", FieldCode::UnknownField),
            ("error_bodies.default.content_type", FieldCode::Invalid),
            ("moed", FieldCode::UnknownField),
        ]
    );
}
