//! Tests of strict reading, of the guards and of the request block.

use serde_json::{Value, json};

use super::refusal;
use crate::config::*;
use crate::field::FieldCode;

#[test]
fn an_empty_config_is_all_defaults() {
    let config = ChannelConfig::parse(&json!({})).unwrap();
    assert_eq!(config, ChannelConfig::default());
    let nulls: Value = ChannelConfig::KEYS.iter().map(|key| (key.name.to_owned(), Value::Null)).collect();
    assert_eq!(ChannelConfig::parse(&nulls).unwrap(), config);
    assert_eq!((config.request.body_mode, config.response.mode), (BodyMode::Auto, ResponseMode::Envelope));
}

#[test]
fn unknown_key_is_named_with_nearest_known() {
    for (config, path, hint) in [
        (json!({"rate_limits": {}}), "rate_limits", "'rate_limit'"),
        (json!({"cors": {}}), "cors", "known: auth"),
        (json!({"cache": {"enabled": true, "ttl_sec": 5}}), "cache.ttl_sec", "'ttl_secs'"),
        (json!({"tracing": {"level": 1}}), "tracing.level", "known:"),
        (json!({"request": {"zzz": 1}}), "request.zzz", "known: body"),
    ] {
        let error = refusal(&config);
        assert_eq!((error.path, error.code), (format!("channel.config.{path}"), FieldCode::UnknownField));
        let told = error.message.strip_prefix("config does not match the channel schema: unknown field, ");
        assert!(told.is_some_and(|told| told.contains(hint)), "{}", error.message);
    }
}

#[test]
fn wrong_type_is_named_by_field_without_value() {
    for (config, path, expected, got) in [
        (json!("s3cret"), "", "object", "string"),
        (json!({"auth": "s3cret"}), ".auth", "object", "string"),
        (json!({"auth": {"mode": "api_key", "keys": "s3cret"}}), ".auth.keys", "array", "string"),
        (json!({"auth": {"mode": "api_key", "keys": [["s3cret"]]}}), ".auth.keys[0]", "string", "array"),
        (json!({"auth": {"mode": "hmac", "secret": {"s3cret": 1}}}), ".auth.secret", "string", "object"),
        (
            json!({"auth": {"mode": "jwt", "algorithms": ["HS256"], "jwt_keys": [{"algorithm": "HS256", "key": ["s3cret"]}]}}),
            ".auth.jwt_keys[0].key",
            "string",
            "array",
        ),
        (json!({"timeout_ms": 1.5}), ".timeout_ms", "integer", "number"),
        (json!({"timeout_ms": "s3cret"}), ".timeout_ms", "integer", "string"),
        (json!({"origin_allow_list": "*"}), ".origin_allow_list", "array", "string"),
        (json!({"cache": {"enabled": "yes"}}), ".cache.enabled", "boolean", "string"),
    ] {
        let error = refusal(&config);
        assert_eq!(
            (error.path.as_str(), error.code),
            (&*format!("channel.config{path}"), FieldCode::TypeMismatch)
        );
        assert_eq!(
            (error.expected.clone(), error.got.clone()),
            (Some(Box::new(json!(expected))), Some(Box::new(json!(got))))
        );
        assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
    }
}

#[test]
fn a_missing_member_is_required_where_it_belongs() {
    for (config, path) in [
        (json!({"rate_limit": {}}), "rate_limit.requests_per_second"),
        (json!({"backpressure": {}}), "backpressure.max_concurrent_per_node"),
        (json!({"cache": {}}), "cache.enabled"),
        (json!({"deduplication": {}}), "deduplication.header"),
        (json!({"quota": {"per": "day"}}), "quota.limit"),
        (json!({"quota": {"limit": 5}}), "quota.per"),
        (json!({"auth": {"keys": ["k"]}}), "auth.mode"),
        (json!({"response": {"error_bodies": {"400": {}}}}), "response.error_bodies.400.body"),
    ] {
        let error = refusal(&config);
        assert_eq!((error.path, error.code), (format!("channel.config.{path}"), FieldCode::Required));
    }
}

#[test]
fn name_outside_a_set_is_invalid_in_place() {
    for (config, path, known) in [
        (json!({"tracing": {"mode": "s3cret"}}), "tracing.mode", json!(["sync", "async", "batch", "off"])),
        (json!({"request": {"body_mode": "s3cret"}}), "request.body_mode", json!(["auto", "payload"])),
        (
            json!({"request": {"body": "s3cret"}}),
            "request.body",
            json!(["json", "form", "text", "csv", "xml", "multipart", "raw", "auto", "cloudevents"]),
        ),
        (json!({"response": {"mode": "s3cret"}}), "response.mode", json!(["envelope", "shaped"])),
        (json!({"auth": {"mode": "s3cret"}}), "auth.mode", json!(["api_key", "hmac", "jwt"])),
    ] {
        let error = refusal(&config);
        assert_eq!((error.path.clone(), error.code), (format!("channel.config.{path}"), FieldCode::Invalid));
        assert_eq!(error.expected, Some(Box::new(known)));
        assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
    }
}

#[test]
fn every_block_reports_its_first_problem() {
    let config =
        json!({"zzz": 1, "yyy": 2, "cache": {}, "timeout_ms": -1, "tracing": {"mode": "loud", "x": 1}});
    let errors = ChannelConfig::parse(&config).unwrap_err();
    let mut paths: Vec<_> =
        errors.iter().map(|error| error.path.strip_prefix("channel.config.").unwrap()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["cache.enabled", "timeout_ms", "tracing.mode", "yyy", "zzz"]);
}

#[test]
fn broken_rules_are_reported_at_their_field() {
    let quota = json!({"requests_per_second": 1});
    for (config, path) in [
        (json!({"timeout_ms": 0}), "timeout_ms"),
        (json!({"timeout_ms": -1}), "timeout_ms"),
        (json!({"rate_limit": {"requests_per_second": 0}}), "rate_limit.requests_per_second"),
        (json!({"rate_limit": {"requests_per_second": 1, "key_headers": []}}), "rate_limit.key_headers"),
        (
            json!({"rate_limit": {"requests_per_second": 1, "key_headers": ["X-A", "x-a"]}}),
            "rate_limit.key_headers[1]",
        ),
        (
            json!({"rate_limit": {"requests_per_second": 1, "key_headers": ["a b"]}}),
            "rate_limit.key_headers[0]",
        ),
        (json!({"principal_rate_limit": quota}), "principal_rate_limit.key_logic"),
        (
            json!({"principal_rate_limit": {"requests_per_second": 1, "key_logic": "x"}}),
            "principal_rate_limit",
        ),
        (json!({"backpressure": {"max_concurrent_per_node": 0}}), "backpressure.max_concurrent_per_node"),
        (json!({"queue": {"max_concurrent": 0}}), "queue.max_concurrent"),
        (json!({"queue": {"max_concurrent_per_key": 2}}), "queue.max_concurrent_per_key"),
        (json!({"queue": {"max_waiting": 0}}), "queue.max_waiting"),
        (json!({"cache": {"enabled": true, "cache_key_fields": []}}), "cache.cache_key_fields"),
        (
            json!({"cache": {"enabled": true, "cache_key_fields": ["a.b", "a..b"]}}),
            "cache.cache_key_fields[1]",
        ),
        (json!({"cache": {"enabled": true, "cache_key_fields": [""]}}), "cache.cache_key_fields[0]"),
        (json!({"cache": {"enabled": true, "statuses": []}}), "cache.statuses"),
        (json!({"cache": {"enabled": true, "statuses": [200, 99]}}), "cache.statuses[1]"),
        (json!({"cache": {"enabled": true, "statuses": ["200"]}}), "cache.statuses[0]"),
        (json!({"cache": {"enabled": true, "per_principal": 1}}), "cache.per_principal"),
        (json!({"cache": {"enabled": true, "namespaces": []}}), "cache.namespaces"),
        (json!({"cache": {"enabled": true, "namespaces": vec!["a"; 9]}}), "cache.namespaces"),
        (json!({"cache": {"enabled": true, "namespaces": ["a", "a"]}}), "cache.namespaces[1]"),
        (json!({"cache": {"enabled": true, "namespaces": ["A"]}}), "cache.namespaces[0]"),
        (json!({"deduplication": {"header": " "}}), "deduplication.header"),
        (json!({"quota": {"limit": 0, "per": "day"}}), "quota.limit"),
        (json!({"quota": {"limit": 1, "per": "week"}}), "quota.per"),
        (json!({"rate_limit": {"requests_per_second": 1, "group": " "}}), "rate_limit.group"),
        (json!({"tracing": {"sample_rate": 1.1}}), "tracing.sample_rate"),
        (json!({"request": {"cookies_to_metadata": []}}), "request.cookies_to_metadata"),
        (json!({"request": {"cors_origins": ["*", "https://a.example"]}}), "request.cors_origins"),
        (json!({"request": {"cors_origins": ["https://a.example/"]}}), "request.cors_origins[0]"),
        (json!({"request": {"cloudevents_origins": []}}), "request.cloudevents_origins"),
        (json!({"request": {"cloudevents_origins": ["*", "a.example"]}}), "request.cloudevents_origins"),
        (
            json!({"request": {"cloudevents_origins": ["https://a.example"]}}),
            "request.cloudevents_origins[0]",
        ),
        (json!({"request": {"cookies_to_metadata": ["ok", "a=b"]}}), "request.cookies_to_metadata[1]"),
        (json!({"request": {"cookies_to_metadata": [""]}}), "request.cookies_to_metadata[0]"),
        (json!({"response": {"allowed_headers": ["a:b"]}}), "response.allowed_headers[0]"),
    ] {
        assert_eq!(refusal(&config).path, format!("channel.config.{path}"), "{config}");
    }
    let long = refusal(&json!({"cache": {"enabled": true, "namespaces": ["n".repeat(65)]}}));
    assert_eq!((&*long.path, long.code), ("channel.config.cache.namespaces[0]", FieldCode::TooLong));
    let missing = refusal(&json!({"principal_rate_limit": quota}));
    assert_eq!(missing.code, FieldCode::Required);
}

#[test]
fn guards_have_their_defaults() {
    let config = ChannelConfig::parse(&json!({
        "rate_limit": {"requests_per_second": 5, "key_headers": ["X-Team"]},
        "cache": {"enabled": true},
        "deduplication": {"header": "idempotency-key", "on_backend_error": "deny"},
        "backpressure": {"max_concurrent_per_node": 3},
        "tracing": {"sample_rate": 1}
    }))
    .unwrap();
    let limit = config.rate_limit.unwrap();
    assert_eq!((limit.burst, limit.on_backend_error), (3, BackendError::Allow));
    assert_eq!(limit.key_headers, ["x-team"]);
    assert_eq!(config.cache.unwrap().ttl_secs, 300);
    let deduplication = config.deduplication.unwrap();
    assert_eq!((deduplication.window_secs, deduplication.on_backend_error), (300, BackendError::Deny));
    assert_eq!((deduplication.store, deduplication.max_answer_bytes), (None, 65_536));
    assert_eq!(config.backpressure.unwrap().max_concurrent_per_node, 3);
    assert_eq!(
        (config.tracing.sample_rate, config.tracing.mode, config.tracing.task_details),
        (Some(1.0), None, false)
    );
    let slow = ChannelConfig::parse(&json!({"rate_limit": {"requests_per_second": 1, "burst": 0}})).unwrap();
    assert_eq!(slow.rate_limit.unwrap().burst, 1);
}

#[test]
fn the_cookies_of_a_request_are_listed() {
    let request = json!({"request": {"body_mode": "payload", "cookies_to_metadata": ["session", "theme"]}});
    let config = ChannelConfig::parse(&request).unwrap();
    assert_eq!(config.request.body_mode, BodyMode::Payload);
    assert_eq!(config.request.cookies_to_metadata, ["session", "theme"]);
}

#[test]
fn decompression_takes_all_encodings_or_a_list() {
    use ContentEncoding::{Brotli, Deflate, Gzip, Zstd};
    let read = |value: Value| {
        ChannelConfig::parse(&json!({"request": {"decompress": value}}))
            .map(|config| config.request.decompress)
    };
    assert_eq!(read(json!(true)), Ok(vec![Gzip, Deflate, Brotli, Zstd]));
    assert_eq!(read(json!(false)), Ok(Vec::new()));
    assert_eq!(read(json!(["br", "gzip"])), Ok(vec![Brotli, Gzip]));
    for (value, path, remedy) in [
        (json!(["gzipp"]), "decompress[0]", "use one of gzip, deflate, br, zstd"),
        (json!(["gzip", "gzip"]), "decompress[1]", "gzip is listed twice"),
        (json!([1]), "decompress[0]", "string"),
        (json!([]), "decompress", "omit the field or write false"),
        (json!("gzip"), "decompress", "boolean or an array of strings"),
    ] {
        let error = refusal(&json!({"request": {"decompress": value}}));
        assert_eq!(error.path, format!("channel.config.request.{path}"));
        assert!(error.message.contains(remedy), "{}", error.message);
    }
}

#[test]
fn encoding_is_found_by_name_in_any_case() {
    for (name, found) in [
        ("GZip", Some(ContentEncoding::Gzip)),
        ("x-gzip", Some(ContentEncoding::Gzip)),
        ("zstd", Some(ContentEncoding::Zstd)),
        ("compress", None),
    ] {
        assert_eq!(ContentEncoding::from_name(name), found, "{name}");
    }
}
