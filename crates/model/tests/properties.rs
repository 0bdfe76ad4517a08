//! Property tests for documents, paths and patterns.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use svc_model::lifecycle::{self, Rollout, VersionState};
use svc_model::{
    ChannelChecks, ChannelConfig, EntityKind, FieldError, Issue, LifecycleStatus, MASK, RequestPath,
    RoutePattern, WorkflowChecks, WorkflowContent, canonical_json, check_import_item, content_hash, mask,
    mask_channel_config, parse_new_channel, parse_new_workflow, rollout, validate_channel, validate_workflow,
};

struct NoChecks;

impl WorkflowChecks for NoChecks {
    fn check(&self, _: &WorkflowContent, _: &mut Vec<FieldError>, _: &mut Vec<Issue>) {}
}

impl ChannelChecks for NoChecks {
    fn compiles(&self, _: &Value) -> Result<(), String> {
        Ok(())
    }
}

/// A secret text that must never appear in a message.
const SECRET: &str = "s3cret-never-shown";

/// Known keys, so that random documents reach deep into the rules.
const KEYS: [&str; 40] = [
    "name",
    "tasks",
    "id",
    "function",
    "input",
    "condition",
    "loop",
    "max",
    "use",
    "$from",
    "channel_type",
    "protocol",
    "methods",
    "route_pattern",
    "transport_config",
    "schedule",
    "payload",
    "concurrency",
    "config",
    "auth",
    "mode",
    "keys",
    "secret",
    "secrets",
    "preset",
    "message",
    "timestamp",
    "jwt_keys",
    "key",
    "algorithm",
    "algorithms",
    "source",
    "rate_limit",
    "requests_per_second",
    "response",
    "error_bodies",
    "default",
    "body",
    "request",
    "cache",
];

fn scalar() -> impl Strategy<Value = Value> {
    let words = [
        "rest", "cron", "sync", "async", "api_key", "hmac", "jwt", "env://A", MASK, "{body}", "/a/{b}",
        "HS256", "",
    ];
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        proptest::sample::select(words.to_vec()).prop_map(Value::from),
        Just(Value::from(SECRET)),
    ]
}

fn document() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(5, 60, 6, |inner| {
        let key = proptest::sample::select(KEYS.to_vec()).prop_map(str::to_owned);
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            proptest::collection::vec((key, inner), 0..8)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// Generates a document with a well-typed head, so that the rules below it are reached.
fn channel() -> impl Strategy<Value = Value> {
    let protocol = proptest::sample::select(vec!["rest", "kafka", "cron"]);
    (protocol, document(), document()).prop_map(|(protocol, transport, config)| {
        json!({"name": "c", "channel_type": "async", "protocol": protocol, "transport_config": transport, "config": config})
    })
}

/// Generates an `auth` block with secrets; its other fields may be anything.
fn auth() -> impl Strategy<Value = Value> {
    let mode = proptest::sample::select(vec!["api_key", "hmac", "jwt", "odd"]);
    let secret = prop_oneof![
        Just(json!(SECRET)),
        Just(json!([SECRET])),
        Just(json!({"key": SECRET})),
        Just(json!([[SECRET]]))
    ];
    let field =
        proptest::sample::select(vec!["keys", "secret", "secrets", "jwt_keys"]).prop_map(str::to_owned);
    (mode, proptest::collection::vec((field, secret), 0..4)).prop_map(|(mode, fields)| {
        let mut auth: Map<_, _> = fields.into_iter().collect();
        auth.insert("mode".into(), mode.into());
        Value::Object(auth)
    })
}

proptest! {
    #[test]
    fn any_document_gives_content_or_problems(body in document()) {
        if let Err(errors) = parse_new_workflow(&body, &NoChecks) {
            prop_assert!(!errors.is_empty());
            prop_assert!(errors.iter().all(|error| !error.path.is_empty() && !error.message.is_empty()));
        }
        prop_assert_eq!(validate_workflow(&body, &NoChecks).valid(), parse_new_workflow(&body, &NoChecks).is_ok());
        prop_assert_eq!(validate_channel(&body, &NoChecks).valid(), parse_new_channel(&body, &NoChecks).is_ok());
        check_import_item(EntityKind::Workflow, &body);
    }

    #[test]
    fn an_accepted_channel_has_a_config_that_parses(body in channel()) {
        if let Ok((_, content)) = parse_new_channel(&body, &NoChecks) {
            prop_assert!(ChannelConfig::parse(&content.config).is_ok());
        }
    }

    #[test]
    fn no_problem_of_an_auth_block_repeats_a_secret(auth in auth()) {
        let config = json!({"auth": auth});
        let shown = match ChannelConfig::parse(&config) {
            Ok(parsed) => format!("{parsed:?}"),
            Err(errors) => format!("{errors:?}"),
        };
        prop_assert!(!shown.contains(SECRET), "{}", shown);
        let masked = mask_channel_config(&config).to_string();
        prop_assert!(!masked.contains(SECRET), "{}", masked);
    }

    #[test]
    fn masked_config_sent_back_is_the_stored_one(keys in proptest::collection::vec("[a-z]{1,8}|env://[A-Z]{1,4}", 0..5)) {
        let stored = json!({"auth": {"mode": "api_key", "keys": keys}, "timeout_ms": 3});
        let mut update = mask_channel_config(&stored);
        prop_assert!(mask::restore_channel_config(&mut update, Some(&stored)).is_empty());
        prop_assert_eq!(update, stored);
    }

    #[test]
    fn canonical_json_says_the_same_in_one_way(value in document()) {
        let text = canonical_json(&value);
        let back: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&back, &value);
        prop_assert_eq!(content_hash(&back), content_hash(&value));
    }

    #[test]
    fn a_path_survives_percent_encoding(segments in proptest::collection::vec("[^/]{1,6}", 1..4)) {
        let encode = |text: &String| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
        let path = segments.iter().map(encode).collect::<Vec<_>>().join("/");
        prop_assert_eq!(RequestPath::parse(&path).unwrap(), RequestPath { segments, is_async: false });
    }

    #[test]
    fn any_path_is_read_or_refused_with_400(path in "\\PC{0,20}") {
        if let Err(error) = RequestPath::parse(&path) {
            prop_assert_eq!(error.status(), 400);
        }
    }

    #[test]
    fn patterns_of_one_shape_match_the_same_paths(
        segments in proptest::collection::vec(("[a-c]", any::<bool>()), 1..4),
        path in proptest::collection::vec("[a-c]", 1..4),
    ) {
        let write = |prefix: &str| segments.iter().enumerate().fold(String::new(), |pattern, (at, (text, param))| {
            if *param { format!("{pattern}/{{{prefix}{at}}}") } else { format!("{pattern}/{text}") }
        });
        let (one, other) = (RoutePattern::parse(&write("a")).unwrap(), RoutePattern::parse(&write("b")).unwrap());
        prop_assert_eq!(one.shape(), other.shape());
        prop_assert_eq!(one.matches(&path).is_some(), other.matches(&path).is_some());
        if let Some(params) = one.matches(&path) {
            prop_assert_eq!(params.len(), one.params().count());
        }
    }

    #[test]
    fn every_bucket_of_an_activated_workflow_has_one_version(
        percentage in 0_i64..=100,
        older in 1_i64..=99,
        identity in "\\PC{0,12}",
    ) {
        let state = |version, status, rollout_percentage| VersionState { version, status, rollout_percentage };
        let rows = [
            state(1, LifecycleStatus::Active, 100 - older),
            state(2, LifecycleStatus::Active, older),
            state(3, LifecycleStatus::Draft, 100),
        ];
        let mut active: Vec<_> = lifecycle::activate_workflow("w", &rows, Rollout { percentage, replace_canary: true }).unwrap().changes;
        active.retain(|change| change.status == LifecycleStatus::Active);
        active.sort_unstable_by_key(|change| -change.version);
        prop_assert!(rollout::check(active.iter().map(|change| change.rollout_percentage)).is_ok());
        let shares = active.iter().map(|change| u8::try_from(change.rollout_percentage).unwrap());
        prop_assert!(rollout::pick(shares, rollout::bucket(&identity)).is_some());
    }
}
