use serde_json::{Value, json};

use super::*;
use crate::field::FieldCode;
use crate::mask::MASK;

fn http(config: Value) -> Result<HttpConfig, Vec<FieldError>> {
    match ConnectorConfig::parse(ConnectorType::Http, &config)? {
        ConnectorConfig::Http(http) => Ok(*http),
        other => panic!("{other:?}"),
    }
}

fn refused(config: Value) -> (String, FieldCode) {
    let error = http(config).unwrap_err().remove(0);
    (error.path, error.code)
}

#[test]
fn a_url_is_enough_and_the_rest_has_defaults() {
    let config = http(json!({"url": "https://api.example.com", "unknown": 1})).unwrap();
    assert_eq!((config.max_retries, config.retry_delay_ms), (3, 1000));
    assert_eq!(config.max_response_size, 10_485_760);
    assert!(!config.allow_private_urls && !config.retry_non_idempotent && config.methods.is_empty());
}

#[test]
fn what_is_wrong_is_named_by_its_field() {
    let url = "http://a.example";
    for (config, path) in [
        (json!({}), "connector.config.url"),
        (json!({"url": "ftp://a"}), "connector.config.url"),
        (json!({"url": url, "headers": {"a b": "x"}}), "connector.config.headers.a b"),
        (json!({"url": url, "headers": {"a": 1}}), "connector.config.headers.a"),
        (json!({"url": url, "headers": {"a": "x\r\ny: z"}}), "connector.config.headers.a"),
        (json!({"url": url, "headers": {"Content-Length": "1"}}), "connector.config.headers.Content-Length"),
        (json!({"url": url, "query_params": {"a": []}}), "connector.config.query_params.a"),
        (json!({"url": "http://a/?k=1", "query_params": {"k": 2}}), "connector.config.query_params.k"),
        (json!({"url": url, "retry": {"max_retries": 17}}), "connector.config.retry.max_retries"),
        (json!({"url": url, "retry": {"max": 1}}), "connector.config.retry.max"),
        (json!({"url": url, "operations": {"methods": ["get"]}}), "connector.config.operations.methods[0]"),
        (json!({"url": url, "auth": {"type": "digest"}}), "connector.config.auth.type"),
        (json!({"url": url, "auth": {"token": "t"}}), "connector.config.auth.type"),
        (json!({"url": url, "auth": {"type": "bearer"}}), "connector.config.auth.token"),
        (json!({"url": url, "auth": {"type": "bearer", "token": "a\nb"}}), "connector.config.auth.token"),
        (json!({"url": url, "auth": {"type": "bearer", "token": "t", "x": 1}}), "connector.config.auth.x"),
        (json!({"url": url, "max_response_size": 0}), "connector.config.max_response_size"),
    ] {
        assert_eq!(refused(config.clone()).0, path, "{config}");
    }
}

#[test]
fn the_form_of_what_is_still_open_is_not_judged() {
    for url in ["${HOST}", "https://${HOST}/x", "env://URL", "vault://a#b"] {
        assert!(
            http(json!({"url": url, "auth": {"type": "apikey", "header": "${H}", "key": "env://K"}})).is_ok()
        );
    }
}

#[test]
fn query_parameters_are_sorted_and_scalars_become_text() {
    let config = http(json!({"url": "http://a", "query_params": {"b": 2, "a": true}})).unwrap();
    let shown: Vec<_> =
        config.query_params.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
    assert_eq!(shown, [("a", "true"), ("b", "2")]);
}

#[test]
fn no_literal_but_the_known_ones_is_shown() {
    let config = json!({"url": "https://api.example.com/v1", "connection_string": "postgres://u:swordfish@h/d",
        "auth": {"type": "basic", "username": "bob", "password": "swordfish"}, "headers": {"type": "swordfish"},
        "retry": {"max_retries": 3}, "deep": [{"x": "swordfish"}], "ref": "env://PW"});
    let masked = mask_connector_config(&config);
    assert!(!masked.to_string().contains("swordfish"), "{masked}");
    assert_eq!(masked["url"], "https://api.example.com/v1");
    assert_eq!((&masked["auth"]["type"], &masked["ref"]), (&json!("basic"), &json!("env://PW")));
    assert_eq!(masked["retry"]["max_retries"], 3);
    let with_secrets = json!({"url": "https://bob:swordfish@h/?k=swordfish"});
    assert_eq!(mask_connector_config(&with_secrets)["url"], MASK);
}

#[test]
fn settings_are_not_printable() {
    let config = http(json!({"url": "http://a", "headers": {"a": "swordfish"},
        "auth": {"type": "bearer", "token": "swordfish"}, "query_params": {"k": "swordfish"}}));
    assert!(!format!("{config:?}").contains("swordfish"));
}
