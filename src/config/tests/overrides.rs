//! The override grammar, rule by rule.

use serde_json::{Value as Json, json};

use super::super::{Config, show};
use super::{problems, read};

fn value(config: &Config, key: &str) -> Json {
    show::shown_settings(config).into_iter().find(|(path, _)| path == key).unwrap().1
}

#[test]
fn an_override_sets_its_key() {
    for (rule, name, text, key, expected) in [
        ("top level", "SVC_ENVIRONMENT", "staging", "environment", json!("staging")),
        ("section", "SVC_TRACE_QUEUE__WORKERS", "7", "trace_queue.workers", json!(7)),
        (
            "deep",
            "SVC_ENGINE__CIRCUIT_BREAKER__FAILURE_THRESHOLD",
            "7",
            "engine.circuit_breaker.failure_threshold",
            json!(7),
        ),
        ("decimal", "SVC_TRACE_STORAGE__SAMPLE_RATE", "0.25", "trace_storage.sample_rate", json!(0.25)),
        ("string", "SVC_SERVER__HOST", "::1", "server.host", json!("::1")),
        ("optional number", "SVC_CORS__MAX_AGE_SECS", "60", "cors.max_age_secs", json!(60)),
        ("optional bool", "SVC_SERVER__VERBOSE_ERRORS", "false", "server.verbose_errors", json!(false)),
        (
            "optional number unset",
            "SVC_STORAGE__BACKUP_RETENTION_COUNT",
            "",
            "storage.backup_retention_count",
            Json::Null,
        ),
        ("optional enum unset", "SVC_LOGGING__FORMAT", "", "logging.format", Json::Null),
        (
            "optional string verbatim",
            "SVC_KAFKA__AUTH__SASL_USERNAME",
            " a,b ",
            "kafka.auth.sasl_username",
            json!(" a,b "),
        ),
        (
            "optional string empty",
            "SVC_KAFKA__AUTH__SASL_USERNAME",
            "",
            "kafka.auth.sasl_username",
            json!(""),
        ),
        ("list", "SVC_CHANNEL_FILTER__INCLUDE", " a ,,b*, ", "channel_filter.include", json!(["a", "b*"])),
        ("empty list", "SVC_CORS__ALLOWED_ORIGINS", "", "cors.allowed_origins", json!([])),
        (
            "list of secrets",
            "SVC_ADMIN_AUTH__API_KEYS",
            "a,b",
            "admin_auth.api_keys",
            json!(["******", "******"]),
        ),
        (
            "list of networks",
            "SVC_RATE_LIMIT__TRUSTED_PROXIES",
            "::1",
            "rate_limit.trusted_proxies",
            json!(["::1/128"]),
        ),
        ("enum, any case", "SVC_TRACE_STORAGE__MODE", "OFF", "trace_storage.mode", json!("off")),
        (
            "enum, upper-case word",
            "SVC_KAFKA__AUTH__SASL_MECHANISM",
            "plain",
            "kafka.auth.sasl_mechanism",
            json!("PLAIN"),
        ),
        (
            "topics",
            "SVC_KAFKA__TOPICS",
            "t:c, u:d",
            "kafka.topics",
            json!([{"topic": "t", "channel": "c"}, {"topic": "u", "channel": "d"}]),
        ),
        ("alias", "SVC_TRACING__MODE", "off", "trace_storage.mode", json!("off")),
    ] {
        let config = read("", &[(name, text)]).unwrap_or_else(|error| panic!("{rule}: {error}"));
        assert_eq!(value(&config, key), expected, "{rule}");
    }
}

#[test]
fn override_wins_over_the_file() {
    let text = "[server]\nport = 1\nhost = \"::1\"\n[tracing]\nmode = \"sync\"";
    let config = read(text, &[("SVC_SERVER__PORT", "2"), ("SVC_TRACE_STORAGE__MODE", "off")]).unwrap();
    assert_eq!((config.server.port, config.listen_host()), (2, "::1"));
    assert_eq!(config.trace_storage.mode.as_str(), "off");
}

#[test]
fn unparsable_override_names_variable_value_and_type() {
    for (name, text, expected) in [
        ("SVC_SERVER__PORT", "80x", "expected a whole number from 0 to 65535, got \"80x\""),
        ("SVC_SERVER__PORT", "+80", "expected a whole number from 0 to 65535, got \"+80\""),
        ("SVC_SERVER__PORT", " 80", "expected a whole number from 0 to 65535, got \" 80\""),
        ("SVC_SERVER__PORT", "0x50", "expected a whole number from 0 to 65535, got \"0x50\""),
        ("SVC_SERVER__PORT", "65536", "expected a whole number from 0 to 65535, got \"65536\""),
        ("SVC_SERVER__PORT", "", "expected a whole number from 0 to 65535, got \"\""),
        ("SVC_CRON__ENABLED", "yes", "expected true or false, got \"yes\""),
        ("SVC_CRON__ENABLED", "TRUE", "expected true or false, got \"TRUE\""),
        ("SVC_CRON__ENABLED", "", "expected true or false, got \"\""),
        ("SVC_TRACE_STORAGE__SAMPLE_RATE", "inf", "expected a decimal number, got \"inf\""),
        ("SVC_TRACE_STORAGE__MODE", "never", "expected one of: sync async batch off, got \"never\""),
        ("SVC_KAFKA__TOPICS", "t:c,u", "expected a list, each entry a topic and a channel, got \"t:c,u\""),
    ] {
        assert_eq!(problems("", &[(name, text)]), [format!("{name}: {expected}")]);
    }
}

#[test]
fn list_in_brackets_is_refused_with_the_remedy() {
    let remedy = "; write its items apart by commas, without brackets and quotes";
    for (name, text) in [
        ("SVC_CHANNEL_FILTER__EXCLUDE", r#"["orders", "bills"]"#),
        ("SVC_CHANNEL_FILTER__EXCLUDE", "['orders']"),
        ("SVC_KAFKA__BROKERS", "[]"),
        ("SVC_ADMIN_AUTH__API_KEYS", r#"["swordfish"]"#),
    ] {
        let problems = problems("", &[(name, text)]);
        let [problem] = &problems[..] else { panic!("{problems:?}") };
        assert!(problem.starts_with(&format!("{name}: expected a list")), "{problem}");
        assert!(problem.ends_with(remedy) && !problem.contains("swordfish"), "{problem}");
    }
}

#[test]
fn rule_broken_by_an_override_names_the_variable() {
    assert_eq!(
        problems("", &[("SVC_CRON__WORKERS", "0")]),
        ["cron.workers (SVC_CRON__WORKERS): must be greater than 0"]
    );
}

#[test]
fn tables_of_free_names_cannot_be_overridden() {
    for (name, key) in [
        ("SVC_VARS", "vars"),
        ("SVC_VARS__REGION", "vars"),
        ("SVC_SECRETS__SIGN", "secrets"),
        ("SVC_OAUTH2_LOGIN__PROVIDERS__CORP", "oauth2_login.providers"),
        ("SVC_KAFKA__EXTRA_CONFIG", "kafka.extra_config"),
        ("SVC_KAFKA__EXTRA_CONFIG__X", "kafka.extra_config"),
    ] {
        let expected = format!("{name}: cannot be set from the environment; write {key} in the file");
        assert_eq!(problems("", &[(name, "x")]), [expected]);
    }
}

#[test]
fn unknown_double_underscore_names_are_all_refused() {
    let variables =
        [("SVC_SERVER__PROT", "1"), ("SVC_FROB__NICATE", "1"), ("SVC_TRACE_QUEUE_WORKERS__", "1")];
    assert_eq!(
        problems("", &variables),
        [
            "SVC_SERVER__PROT: is no setting; did you mean SVC_SERVER__PORT?",
            "SVC_FROB__NICATE: is no setting; unset it",
            "SVC_TRACE_QUEUE_WORKERS__: is no setting; did you mean SVC_TRACE_QUEUE__WORKERS?",
        ]
    );
}

#[test]
fn foreign_variables_are_ignored_unless_nearly_settings() {
    let others =
        [("SVC_PORT", "1"), ("SVC_SERVICE_HOST", "h"), ("SVC_API_KEY", "k"), ("SVC_ADMIN_TOKEN", "t")];
    assert_eq!(problems("", &others), [""; 0]);
    let problems = problems("", &[("SVC_ENVIRONMEN", "x")]);
    assert_eq!(problems, ["SVC_ENVIRONMEN: is no setting; did you mean SVC_ENVIRONMENT?"]);
}

#[test]
fn secrets_and_placeholders_may_have_any_name() {
    assert_eq!(
        problems("", &[("SVC_SECRET_DB__MAIN", "x"), ("svc_server__prot", "x"), ("OTHER__X", "x")]),
        [""; 0]
    );
    let text = "server.host = \"${SVC_MY__HOST}\"";
    assert_eq!(read(text, &[("SVC_MY__HOST", "::1")]).unwrap().listen_host(), "::1");
}

#[test]
fn retired_names_are_refused_first_with_their_successor() {
    let variables = [
        ("SVC_NO__SETTING", "x"),
        ("SVC_ENV", "prod"),
        ("SVC_QUEUE__WORKERS", "1"),
        ("SVC_CHANNELS__INCLUDE", "a"),
        ("SVC_TRACING__STORAGE__MODE", "off"),
        ("SVC_KAFKA__MAX_INFLIGHT", "1"),
        ("SVC_ENGINE__RELOAD_TIMEOUT_SECS", "1"),
    ];
    assert_eq!(
        problems("", &variables),
        [
            "SVC_ENV: is now called SVC_ENVIRONMENT",
            "SVC_QUEUE__WORKERS: is now called SVC_TRACE_QUEUE__WORKERS",
            "SVC_CHANNELS__INCLUDE: is now called SVC_CHANNEL_FILTER__INCLUDE",
            "SVC_TRACING__STORAGE__MODE: is now called SVC_TRACE_STORAGE__MODE",
            "SVC_KAFKA__MAX_INFLIGHT: no longer exists; unset it",
            "SVC_ENGINE__RELOAD_TIMEOUT_SECS: no longer exists; unset it",
            "SVC_NO__SETTING: is no setting; unset it",
        ]
    );
}

#[test]
fn setting_and_its_alias_together_are_refused() {
    assert_eq!(
        problems("", &[("SVC_TRACING__MODE", "off"), ("SVC_TRACE_STORAGE__MODE", "sync")]),
        ["SVC_TRACING__MODE: is another name of SVC_TRACE_STORAGE__MODE, which is set too; keep one of them"]
    );
}

#[test]
fn a_secret_is_told_by_no_refusal() {
    let secret = "swordfish";
    let told = [
        problems("", &[("SVC_ADMIN_AUTH__HEADER", "a b"), ("SVC_ADMIN_AUTH__API_KEYS", "sha256:swordfish")]),
        problems("", &[("SVC_STORAGE__URL", "ftp://u:swordfish@h"), ("SVC_CLUSTER__REDIS_URL", secret)]),
        problems("", &[("SVC_STORAGE__CONNECTOR_ENCRYPTION_KEY", secret), ("SVC_NO__SUCH", secret)]),
        problems(
            "[secrets]\na = \"swordfish\"\n[admin_auth]\napi_keys = 1\n[storage]\nurl = \"u:swordfish\"",
            &[],
        ),
        problems(
            "[admin_auth.api_keys]\nx = \"swordfish\"\n[kafka.auth]\nsasl_mechanism = \"swordfish\"",
            &[],
        ),
    ];
    for problems in told {
        assert!(!problems.is_empty());
        assert!(!problems.concat().contains(secret), "{problems:?}");
    }
}
