//! Tests of the read mask in connectors: restored in its own field, refused in any other.

use serde_json::{Value, json};

use super::codes;
use crate::config::connector::{ConnectorConfig, mask_connector_config};
use crate::field::FieldCode::Invalid;
use crate::{
    ConnectorChecks, ConnectorContent, FieldError, MASK, parse_connector_update, parse_new_connector,
    validate_connector,
};

pub(super) struct Lenient;

impl ConnectorChecks for Lenient {
    fn config(&self, _: &ConnectorConfig) -> Vec<FieldError> {
        Vec::new()
    }
}

fn stored_content() -> ConnectorContent {
    ConnectorContent {
        name: "api".into(),
        connector_type: "http".into(),
        config: json!({"url": "https://u:pw@a.example/v1?key=k&page=2", "headers": {"x": "secret"},
            "auth": {"type": "bearer", "token": "t"}}),
        enabled: true,
        tags: vec!["a".into()],
    }
}

/// Asserts that create and update refuse a config with a problem at this path.
fn expect_refusal(config: &Value, path: &str) {
    let body = json!({"name": "api", "connector_type": "http", "config": config});
    let created = parse_new_connector(&body, &Lenient).unwrap_err();
    assert!(codes(&created).contains(&(path, Invalid)), "{config}: {created:?}");
    let updated =
        parse_connector_update(&json!({"config": config}), &stored_content(), &Lenient).unwrap_err();
    assert!(codes(&updated).contains(&(path, Invalid)), "{config}: {updated:?}");
}

#[test]
fn authored_mask_is_refused_at_every_depth() {
    let url = "https://a.example/";
    for (config, path) in [
        (json!({"url": url, "headers": {"y": MASK}}), "connector.config.headers.y"),
        (json!({"url": url, "query_params": {"y": MASK}}), "connector.config.query_params.y"),
        (json!({"url": "https://a.example/?page=******"}), "connector.config.url"),
        (json!({"url": "https://a.example/******/x"}), "connector.config.url"),
        (json!({"url": url, "x": [{"deep": [[MASK]]}]}), "connector.config.x[0].deep[0][0]"),
        (json!({"url": url, "operations": {"methods": [MASK]}}), "connector.config.operations.methods[0]"),
    ] {
        expect_refusal(&config, path);
    }
    let body = json!({"name": MASK, "connector_type": "http", "config": {"url": url}, "tags": [MASK]});
    let errors = parse_new_connector(&body, &Lenient).unwrap_err();
    assert_eq!(codes(&errors), [("connector.name", Invalid), ("connector.tags[0]", Invalid)]);
}

#[test]
fn shown_config_is_accepted_moved_masks_are_not() {
    let stored = stored_content();
    let shown = mask_connector_config(&stored.config);
    let updated = parse_connector_update(&json!({"config": shown}), &stored, &Lenient).unwrap();
    assert_eq!(updated.config, stored.config);
    for (pointer, moved) in
        [("/url", json!("https://u:******@a.example/v1?key=******&page=******")), ("/url", json!(MASK))]
    {
        let mut config = shown.clone();
        *config.pointer_mut(pointer).unwrap() = moved;
        assert!(parse_connector_update(&json!({"config": config}), &stored, &Lenient).is_err(), "{config}");
    }
}

#[test]
fn credential_sent_as_written_is_warned_of() {
    let warned = |token: &str| {
        let config = json!({"url": "https://a.example", "auth": {"type": "bearer", "token": token}});
        let body = json!({"name": "api", "connector_type": "http", "config": config});
        let report = validate_connector(&body, &Lenient);
        assert!(report.valid(), "{report:?}");
        report.warnings.into_iter().map(|issue| issue.field).collect::<Vec<_>>()
    };
    for token in ["Bearer abc", "bearer ${TOKEN}", "$TOKEN", "{{TOKEN}}", "env:TOKEN"] {
        assert_eq!(warned(token), ["connector.config.auth.token"], "{token}");
    }
    for token in ["${TOKEN}", "env://TOKEN", "bearer", "T0KEN"] {
        assert_eq!(warned(token), [""; 0], "{token}");
    }
}

#[test]
fn security_foreign_to_a_port_is_warned_of() {
    let warned = |port: u16, tls: &str| {
        let config = json!({"host": "mail.example", "port": port, "tls": tls, "from": "a@example.com"});
        let body = json!({"name": "post", "connector_type": "smtp", "config": config});
        let report = validate_connector(&body, &Lenient);
        assert!(report.valid(), "{report:?}");
        report.warnings.into_iter().map(|issue| issue.field).collect::<Vec<_>>()
    };
    for (port, tls) in [(465, "starttls"), (587, "implicit"), (25, "implicit"), (25, "none")] {
        assert_eq!(warned(port, tls), ["connector.config.tls"], "{port} {tls}");
    }
    for (port, tls) in [(465, "implicit"), (587, "starttls"), (2525, "implicit")] {
        assert_eq!(warned(port, tls), [""; 0], "{port} {tls}");
    }
}
