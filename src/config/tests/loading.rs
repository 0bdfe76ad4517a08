//! Files: substitution, syntax, unknown keys, wrong types.

use std::path::Path;

use super::super::{ConfigFormat, load, render};
use super::{environment, problems, read};

#[test]
fn missing_file_means_defaults_and_a_note() {
    let loaded = load(None, &[]).unwrap();
    assert_eq!(loaded.config.server.port, 8080);
    assert!(loaded.notes[0].contains("no configuration file"), "{:?}", loaded.notes);
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let error = load(Some(Path::new("/nowhere/svc.toml")), &[]).unwrap_err();
    assert!(
        error.to_string().starts_with("/nowhere/svc.toml: the configuration file cannot be read: "),
        "{error}"
    );
}

#[test]
fn placeholders_are_replaced_before_the_text_is_parsed() {
    let config =
        read("server.port = ${PORT}\nserver.host = \"${HOST:-127.0.0.1}\" # ${NOT}", &[("PORT", "9000")])
            .unwrap();
    assert_eq!((config.server.port, config.listen_host()), (9000, "127.0.0.1"));
}

#[test]
fn unset_placeholders_are_named_with_file_and_position() {
    assert_eq!(
        problems("a = \"${ONE}\"\nb = \"x${TWO}\"", &[]),
        [
            "svc.toml:1:6: the variable ONE is not set; set it, or write ${ONE:-default}",
            "svc.toml:2:7: the variable TWO is not set; set it, or write ${TWO:-default}",
        ]
    );
}

#[test]
fn syntax_error_names_position_without_the_text() {
    for text in [
        "[admin_auth]\napi_keys = [\"swordfish\", swordfish",
        "[admin_auth]\napi_keys = \"swordfish",
        "[admin_auth]\napi_keys = \"swordfish\" swordfish",
        "[admin_auth]\napi_keys = swordfish",
    ] {
        let problems = problems(text, &[]);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("svc.toml:2:"), "{problems:?}");
        assert!(problems[0].contains("not valid TOML: "), "{problems:?}");
        assert!(!problems[0].contains("swordfish"), "{problems:?}");
    }
}

#[test]
fn environment_is_checked_although_the_file_is_broken() {
    let problems = problems("nonsense", &[("SVC_SERVER__PROT", "1")]);
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert_eq!(problems[1], "SVC_SERVER__PROT: is no setting; did you mean SVC_SERVER__PORT?");
}

#[test]
fn unknown_keys_of_file_name_the_nearest() {
    for (text, problem) in [
        ("server.prot = 1", "server.prot: unknown key; did you mean server.port?"),
        ("server.tls.enable = true", "server.tls.enable: unknown key; did you mean server.tls.enabled?"),
        ("[storge]\nurl = \"x\"", "storge: unknown section; did you mean storage?"),
        (
            "[engine.circuit_braker]",
            "engine.circuit_braker: unknown key; did you mean engine.circuit_breaker?",
        ),
        ("port = 8080", "port: unknown key; did you mean server.port?"),
        ("\"server.port\" = 1", "server.port: unknown key; did you mean server.port?"),
        ("frobnicate = 1", "frobnicate: unknown key; remove it"),
        (
            "[[kafka.topics]]\ntopic = \"t\"\nchanel = \"c\"",
            "kafka.topics: entry 1: expected a topic and a channel, found a table",
        ),
    ] {
        assert_eq!(problems(text, &[]), [problem], "{text}");
    }
}

#[test]
fn wrong_type_is_refused_without_telling_a_string() {
    for (text, problem) in [
        ("server.port = 70000", "server.port: expected a whole number from 0 to 65535, found 70000"),
        ("server.port = 80.0", "server.port: expected a whole number from 0 to 65535, found 80.0"),
        (
            "server.port = \"80\"",
            "server.port: expected a whole number from 0 to 65535, found a number in quotes",
        ),
        ("cron.enabled = \"true\"", "cron.enabled: expected true or false, found true in quotes"),
        (
            "storage.max_connections = -1",
            "storage.max_connections: expected a whole number from 0 to 4294967295, found -1",
        ),
        ("storage.url = 1", "storage.url: expected a string, found 1"),
        ("storage = 1", "storage: is a section, found 1"),
        ("cron.enabled = 1", "cron.enabled: expected true or false, found 1"),
        (
            "logging.level = \"loud\"",
            "logging.level: expected one of: trace debug info warn error, found another string",
        ),
        (
            "cors.allowed_origins = \"*\"",
            "cors.allowed_origins: expected a list, each entry a string, found another string",
        ),
        (
            "rate_limit.trusted_proxies = [\"::1\", \"10.0.0.0/40\"]",
            "rate_limit.trusted_proxies: entry 2: expected an IP address or a network like 10.0.0.0/8, found another string",
        ),
        ("vars.since = 2024-01-01", "vars: since: a date is no value here; write it as a string"),
        ("vars.a = [{ b = nan }]", "vars: a[0].b: NaN is no finite number"),
        ("secrets.a = 1", "secrets: a: expected a string, found 1"),
        ("secrets.allowed_env = 1", "secrets: allowed_env: expected a list of strings, found 1"),
        ("secrets.allowed_files = [1]", "secrets: allowed_files: expected a list of strings, found 1"),
    ] {
        assert_eq!(problems(text, &[]), [problem], "{text}");
    }
}

#[test]
fn all_problems_are_told_at_once() {
    let problems = problems(
        "server.prot = 1\nserver.port = 0\ncron.workers = \"many\"\n[cors]\nmax_age_secs = 90000",
        &[],
    );
    let subjects: Vec<_> = problems.iter().filter_map(|problem| problem.split(':').next()).collect();
    assert_eq!(subjects, ["cron.workers", "server.prot", "server.port", "cors.max_age_secs"]);
}

#[test]
fn the_trace_mode_has_another_name() {
    let config = read("tracing.mode = \"off\"", &[]).unwrap();
    assert_eq!(config.trace_storage.mode.as_str(), "off");
    assert_eq!(
        problems("tracing.mode = \"off\"\ntrace_storage.mode = \"sync\"", &[]),
        ["tracing.mode: is another name of trace_storage.mode, which is set too; keep one of them"]
    );
}

#[test]
fn printed_configuration_reads_back_the_same() {
    let text = "environment = \"staging\"\n[vars]\nregion = \"eu\"\nlimits = [1, 2.5]\n[vars.deep]\n\"odd key\" = true\n\
                [secrets]\nsign = \"env://SIGN\"\n[kafka]\ntopics = [{ topic = \"t\", channel = \"c\" }]\n\
                [kafka.extra_config]\n\"client.id\" = \"x\"\n[kafka.dlq]\ntopic = \"d\"";
    let printed = render(&read(text, &[]).unwrap(), ConfigFormat::Toml);
    let again = render(&read(&printed, &[]).unwrap(), ConfigFormat::Toml);
    assert_eq!(printed, again);
    assert!(printed.contains("\"client.id\" = \"x\""), "{printed}");
    let json = render(&super::parse("", text, &environment(&[])).unwrap().config, ConfigFormat::Json);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["vars"]["deep"]["odd key"], true);
    assert_eq!(json["server"]["verbose_errors"], serde_json::Value::Null);
    assert_eq!(json["kafka"]["topics"][0]["channel"], "c");
}
