//! Validation: the rules of every section, production, and unavailable features.

use std::collections::BTreeSet;

use super::super::{Config, ConfigError, load, parse, unavailable};
use super::{environment, problems, read};

/// The subjects of all problems.
fn refusals(text: &str) -> Vec<String> {
    match read(text, &[]) {
        Ok(_) => Vec::new(),
        Err(ConfigError { problems }) => problems.into_iter().map(|problem| problem.subject).collect(),
    }
}

fn notes(text: &str) -> Vec<String> {
    parse("", text, &environment(&[])).unwrap().notes
}

#[test]
fn a_value_outside_its_rule_is_refused_by_key() {
    for (text, key) in [
        ("environment = \" \"", "environment"),
        ("server.host = \"\"", "server.host"),
        ("server.port = 0", "server.port"),
        ("server.backlog = 0", "server.backlog"),
        ("server.max_connections = 0", "server.max_connections"),
        ("server.max_connections_per_address = 0", "server.max_connections_per_address"),
        ("server.head_timeout_secs = 0", "server.head_timeout_secs"),
        ("server.keep_alive_secs = 0", "server.keep_alive_secs"),
        ("server.body_timeout_secs = 86401", "server.body_timeout_secs"),
        ("server.min_transfer_rate = 2000000000", "server.min_transfer_rate"),
        ("server.transfer_window_secs = 0", "server.transfer_window_secs"),
        ("server.max_admin_body_size = 0", "server.max_admin_body_size"),
        ("server.console.path = \"/\"", "server.console.path"),
        ("server.console.path = \"console\"", "server.console.path"),
        ("server.console.path = \"/a b\"", "server.console.path"),
        ("server.console.path = \"/docs/console\"", "server.console.path"),
        ("server.console.max_viewers = 0", "server.console.max_viewers"),
        ("server.console.max_viewers = 1001", "server.console.max_viewers"),
        ("admin_auth.allowed_hosts = [\"http://svc\"]", "admin_auth.allowed_hosts"),
        ("admin_auth.allowed_hosts = [\"svc:8080\"]", "admin_auth.allowed_hosts"),
        ("admin_auth.allowed_hosts = [\"\"]", "admin_auth.allowed_hosts"),
        ("rate_limit.ipv6_prefix = 0", "rate_limit.ipv6_prefix"),
        ("rate_limit.ipv6_prefix = 129", "rate_limit.ipv6_prefix"),
        ("storage.url = \"oracle://h\"", "storage.url"),
        ("storage.url = \"sqlite:\"", "storage.url"),
        ("storage.url = \"sqlite:svc.db?mode=ro\"", "storage.url"),
        ("storage.url = \"postgres://svc@db/svc?sslmode=requier\"", "storage.url"),
        ("storage.url = \"postgres://svc@db/svc?sslmode=verify-ca&sslrootcert=/no/such\"", "storage.url"),
        ("storage.busy_timeout_ms = 0", "storage.busy_timeout_ms"),
        ("storage.acquire_timeout_secs = 0", "storage.acquire_timeout_secs"),
        ("storage.acquire_timeout_secs = 10000000001", "storage.acquire_timeout_secs"),
        ("storage.connect_retry_secs = 9223372036854775807", "storage.connect_retry_secs"),
        ("audit.cleanup_interval_secs = 10000000001", "audit.cleanup_interval_secs"),
        ("trace_storage.max_pending = 1000000001", "trace_storage.max_pending"),
        ("trace_queue.cleanup_interval_secs = 10000000001", "trace_queue.cleanup_interval_secs"),
        ("trace_queue.shutdown_timeout_secs = 10000000001", "trace_queue.shutdown_timeout_secs"),
        ("trace_queue.dlq_poll_interval_secs = 10000000001", "trace_queue.dlq_poll_interval_secs"),
        ("cron.shutdown_timeout_secs = 10000000001", "cron.shutdown_timeout_secs"),
        ("storage.min_connections = 51", "storage.min_connections"),
        ("storage.backup_retention_count = 0", "storage.backup_retention_count"),
        ("webhooks.max_endpoints = 0", "webhooks.max_endpoints"),
        ("webhooks.max_endpoints = 10001", "webhooks.max_endpoints"),
        ("webhooks.retry_schedule = [\"5s\", \"5 m\"]", "webhooks.retry_schedule"),
        ("webhooks.retry_schedule = [\"0s\"]", "webhooks.retry_schedule"),
        ("webhooks.disable_after = \"31d\"", "webhooks.disable_after"),
        ("webhooks.disable_after = \"\"", "webhooks.disable_after"),
        ("webhooks.on_disabled = \" \"", "webhooks.on_disabled"),
        ("webhooks.attempt_timeout_secs = 61", "webhooks.attempt_timeout_secs"),
        ("webhooks.max_concurrent = 3", "webhooks.max_concurrent"),
        ("webhooks.max_concurrent_per_host = 0", "webhooks.max_concurrent_per_host"),
        ("backups.schedule = \"at noon\"", "backups.schedule"),
        ("backups.schedule = \"0 0 0 30 2 *\"", "backups.schedule"),
        ("backups.schedule = \"@daily\"\nstorage.url = \"postgres://svc@db/svc\"", "backups.schedule"),
        (
            "backups.schedule = \"@daily\"\nstorage.backup_retention_count = 3",
            "storage.backup_retention_count",
        ),
        ("backups.to = \"files\"", "backups.to"),
        ("backups.schedule = \"@daily\"\nbackups.to = \" \"", "backups.to"),
        ("backups.keep = 0", "backups.keep"),
        ("backups.verify_days = 366", "backups.verify_days"),
        ("ingest.max_payload_size = 0", "ingest.max_payload_size"),
        ("ingest.max_object_members = 0", "ingest.max_object_members"),
        ("ingest.max_array_elements = 0", "ingest.max_array_elements"),
        ("engine.cpu_budget_ms = 0", "engine.cpu_budget_ms"),
        ("engine.cpu_budget_ms = 3600001", "engine.cpu_budget_ms"),
        ("engine.shadow_max_concurrency = 1001", "engine.shadow_max_concurrency"),
        ("metrics.bind_addr = \"9090\"", "metrics.bind_addr"),
        ("packages.apply = [\" \"]", "packages.apply"),
        ("packages.apply = [\"a.json\", \"a.json\"]", "packages.apply"),
        ("packages.apply_timeout_secs = 0", "packages.apply_timeout_secs"),
        ("packages.trust.public_keys = [\"key\"]", "packages.trust.public_keys"),
        ("packages.trust.required = true", "packages.trust.required"),
        ("plugins.memory_mib = 0", "plugins.memory_mib"),
        ("plugins.timeout_ms = 0", "plugins.timeout_ms"),
        ("plugins.max_instances = 0", "plugins.max_instances"),
        ("plugins.trust.public_keys = [\"key\"]", "plugins.trust.public_keys"),
        ("plugins.trust.required = true", "plugins.trust.required"),
        ("metrics.bind_addr = \"a b:9090\"", "metrics.bind_addr"),
        ("metrics.bind_addr = \"[::1\"", "metrics.bind_addr"),
        ("logging.access_sample = 1.5", "logging.access_sample"),
        ("trace_storage.sample_rate = 1.5", "trace_storage.sample_rate"),
        ("trace_storage.batch_size = 0", "trace_storage.batch_size"),
        ("trace_storage.record.share = 2.0", "trace_storage.record.share"),
        ("trace_storage.record.max_bytes = 0", "trace_storage.record.max_bytes"),
        ("trace_storage.record.drop = ['card']", "trace_storage.record.drop"),
        ("trace_storage.batch_size = 1001", "trace_storage.batch_size"),
        ("trace_queue.workers = 0", "trace_queue.workers"),
        ("trace_queue.workers = 10001", "trace_queue.workers"),
        ("trace_storage.async_workers = 10001", "trace_storage.async_workers"),
        ("trace_storage.batch_workers = 10001", "trace_storage.batch_workers"),
        ("trace_queue.buffer_size = 0", "trace_queue.buffer_size"),
        ("trace_queue.shutdown_timeout_secs = 0", "trace_queue.shutdown_timeout_secs"),
        ("trace_queue.processing_timeout_ms = 0", "trace_queue.processing_timeout_ms"),
        ("trace_queue.dlq_max_retries = 17", "trace_queue.dlq_max_retries"),
        ("trace_queue.dlq_batch_size = 0", "trace_queue.dlq_batch_size"),
        ("trace_queue.dlq_lease_secs = 0", "trace_queue.dlq_lease_secs"),
        ("trace_queue.max_recoveries = 0", "trace_queue.max_recoveries"),
        ("trace_queue.max_waiting = 0", "trace_queue.max_waiting"),
        ("trace_queue.max_delay_days = 0", "trace_queue.max_delay_days"),
        ("cluster.node_lease_secs = 2", "cluster.node_lease_secs"),
        ("audit.max_pending = 0", "audit.max_pending"),
        ("audit.drain_timeout_secs = 0", "audit.drain_timeout_secs"),
        ("engine.health_check_timeout_secs = 0", "engine.health_check_timeout_secs"),
        ("engine.max_channel_call_depth = 0", "engine.max_channel_call_depth"),
        ("engine.max_channel_call_depth = 33", "engine.max_channel_call_depth"),
        ("engine.default_channel_call_timeout_ms = 0", "engine.default_channel_call_timeout_ms"),
        ("query.default_limit = 1001", "query.default_limit"),
        ("query.default_limit = 0", "query.default_limit"),
        ("write.max_rows = 0", "write.max_rows"),
        ("cron.poll_interval_ms = 99", "cron.poll_interval_ms"),
        ("cron.workers = 0", "cron.workers"),
        ("cron.workers = 10001", "cron.workers"),
        ("cron.claim_batch_size = 0", "cron.claim_batch_size"),
        ("cron.heartbeat_interval_secs = 0", "cron.heartbeat_interval_secs"),
        ("cron.heartbeat_interval_secs = 60", "cron.heartbeat_interval_secs"),
        ("cron.poll_interval_ms = 5001", "cron.misfire_grace_secs"),
        ("cron.enabled = false\ncron.max_catch_up = 1001", "cron.max_catch_up"),
        ("cron.default_timeout_ms = 0", "cron.default_timeout_ms"),
        ("cron.shutdown_timeout_secs = 0", "cron.shutdown_timeout_secs"),
        ("bulk.max_running = 0", "bulk.max_running"),
        ("bulk.max_running = 101", "bulk.max_running"),
        (
            "cluster.instance_id = \"0123456789012345678901234567890123456789012345678901234567890123x\"",
            "cluster.instance_id",
        ),
        ("cluster.epoch_poll_interval_ms = 0", "cluster.epoch_poll_interval_ms"),
        ("admin_auth.enabled = true", "admin_auth.api_keys"),
        ("admin_auth.enabled = true\nadmin_auth.api_keys = [\"\"]", "admin_auth.api_keys"),
        ("admin_auth.enabled = true\nadmin_auth.read_only_api_keys = [\"k\"]", "admin_auth.api_keys"),
        ("admin_auth.read_only_api_keys = [\"sha256:abc\"]", "admin_auth.read_only_api_keys"),
        ("admin_auth.api_keys = [{ name = \"anonymous\", key = \"k\" }]", "admin_auth.api_keys"),
        ("admin_auth.api_keys = [{ name = \"a\" }]", "admin_auth.api_keys"),
        ("admin_auth.api_keys = [{ name = \"a\", key = \"k\", role = \"r\" }]", "admin_auth.api_keys"),
        (
            "[admin_auth]\napi_keys = [{ name = \"a\", key = \"k\" }]\n\
             read_only_api_keys = [{ name = \"a\", key = \"l\" }]",
            "admin_auth.read_only_api_keys",
        ),
        ("admin_auth.header = \"a b\"", "admin_auth.header"),
        ("cors.allowed_origins = [\"*\", \"https://a\"]", "cors.allowed_origins"),
        ("cors.allowed_origins = [\"https://a.example/\"]", "cors.allowed_origins"),
        ("cors.allowed_origins = [\"a.example\"]", "cors.allowed_origins"),
        ("cors.allow_credentials = true", "cors.allow_credentials"),
        ("cors.additional_allowed_headers = [\"*\"]", "cors.additional_allowed_headers"),
        ("cors.additional_exposed_headers = [\"a b\"]", "cors.additional_exposed_headers"),
        ("cors.max_age_secs = 86401", "cors.max_age_secs"),
        ("[vars]\n1a = 1", "vars"),
        ("[vars]\n\"a-b\" = 1", "vars"),
        ("vars.a = \"env://X\"", "vars.a"),
        ("vars.a.b = [\"x\", \"vault://p#f\"]", "vars.a.b[1]"),
        ("oauth2_login.providers.corp.clientid = \"shop\"", "oauth2_login.providers.corp.clientid"),
        ("oauth2_login.providers.corp.issuer = \"http://id\"", "oauth2_login.providers.corp.issuer"),
        ("oauth2_login.providers.default = {}", "oauth2_login.providers.default"),
        ("secrets.a = \"plain\"", "secrets.a"),
        ("secrets.a = \"env://\"", "secrets.a"),
        ("secrets.a = \"aws-sm://x\"", "secrets.a"),
        ("secrets.a = \"file://a\"", "secrets.a"),
        ("secrets.allowed_env = [\"A-B\"]", "secrets.allowed_env"),
        ("secrets.allowed_files = [\"a/*\"]", "secrets.allowed_files"),
        ("admin_auth.api_keys = [\"file://run/key\"]", "admin_auth.api_keys"),
        ("admin_auth.read_only_api_keys = [\"file:///none/key\"]", "admin_auth.read_only_api_keys"),
    ] {
        assert_eq!(refusals(text), [key], "{text}");
    }
}

#[test]
fn data_mount_is_a_plain_distinct_path() {
    for mount in
        ["hooks", "/hooks/", "/a//b", "/a b", "/%41", "/{id}", "/api", "/api/v2", "/health", "/docs/x", ""]
    {
        assert_eq!(refusals(&format!("server.data_mounts = [{mount:?}]")), ["server.data_mounts"], "{mount}");
    }
    for mounts in [r#"["/a", "/a"]"#, r#"["/a", "/a/b"]"#, r#"["/a/b", "/a"]"#, r#"["/", "/a"]"#] {
        assert_eq!(refusals(&format!("server.data_mounts = {mounts}")), ["server.data_mounts"], "{mounts}");
    }
    assert_eq!(refusals(r#"server.data_mounts = ["/a", "/ab", "/apis", "/x/y"]"#), [""; 0]);
    assert!(notes("server.data_mounts = [\"/\"]")[0].starts_with("server.data_mounts: "));
}

#[test]
fn metrics_address_may_not_clash_with_main_one() {
    for (host, address, clash) in [
        ("0.0.0.0", "127.0.0.1:8080", true),
        ("127.0.0.1", "0.0.0.0:8080", true),
        ("127.0.0.1", "[::]:8080", true),
        ("127.0.0.1", "localhost:8080", true),
        ("127.0.0.1", "127.0.0.2:8080", false),
        ("0.0.0.0", "127.0.0.1:9090", false),
    ] {
        let text = format!("server.host = {host:?}\nmetrics.bind_addr = {address:?}");
        assert_eq!(refusals(&text) == ["metrics.bind_addr"], clash, "{host} {address}");
    }
}

#[test]
fn rules_of_disabled_section_are_not_checked() {
    let off = "[kafka]\nbrokers = []\ngroup_id = \"\"\n[rate_limit]\ndefault_rps = 0\n[tracing]\notlp_endpoint = \"\"";
    assert_eq!(refusals(off), [""; 0]);
    let kafka = "[kafka]\nenabled = true\nbrokers = [\"h\"]\ngroup_id = \"\"\n\
                 topics = [{ topic = \"t\", channel = \"c\" }, { topic = \"t\", channel = \"c\" }, { topic = \"\", channel = \"d\" }]\n\
                 [kafka.auth]\nsecurity_protocol = \"sasl_ssl\"";
    let topics = ["kafka.topics"; 3];
    let sasl = ["kafka.auth.sasl_mechanism", "kafka.auth.sasl_username", "kafka.auth.sasl_password"];
    let expected = [&["kafka.brokers", "kafka.group_id"][..], &topics, &sasl].concat();
    assert_eq!(refusals(kafka), expected);
    let kafka = "[kafka]\nenabled = true\nprocessing_timeout_ms = 0\nmax_parallel_partitions = 0\n\
                 session_timeout_ms = 0\n[kafka.dlq]\nenabled = true\ntopic = \"\"\n\
                 [kafka.extra_config]\n\"Enable.Auto.Commit\" = \"true\"\n\"client.id\" = \"x\"";
    let numbers = ["processing_timeout_ms", "max_parallel_partitions", "session_timeout_ms"];
    let expected: Vec<_> =
        numbers.into_iter().chain(["dlq.topic", "extra_config"]).map(|key| format!("kafka.{key}")).collect();
    assert_eq!(refusals(kafka), expected);
    let traces = "[trace_storage]\nmode = \"async\"\nmax_pending = 0\nasync_workers = 0";
    assert_eq!(refusals(traces), ["trace_storage.max_pending", "trace_storage.async_workers"]);
    let limit = "[rate_limit]\nenabled = true\ndefault_rps = 0\ndefault_burst = 0\nendpoints.data_rps = 0";
    assert_eq!(
        refusals(limit),
        ["rate_limit.default_rps", "rate_limit.default_burst", "rate_limit.endpoints.data_rps"]
    );
    let cluster = "[cluster]\nenabled = true";
    assert_eq!(refusals(cluster), ["cluster.redis_url", "storage.url"]);
}

#[test]
fn production_is_any_environment_that_starts_with_prod() {
    for (environment, production) in [
        ("production", true),
        ("Prod-eu", true),
        ("PROD", true),
        ("pro", false),
        ("preprod", false),
        ("prö", false),
    ] {
        let config = Config { environment: environment.into(), ..Config::default() };
        assert_eq!(config.is_production(), production, "{environment}");
        assert_eq!(config.verbose_errors(), !production, "{environment}");
    }
}

#[test]
fn open_service_without_host_listens_on_loopback() {
    for (text, host, is_noted) in [
        ("", "127.0.0.1", true),
        ("server.host = \"0.0.0.0\"", "0.0.0.0", false),
        ("server.host = \"[::]\"", "::", false),
        ("[admin_auth]\nenabled = true\napi_keys = [\"0123456789012345678901234567890x\"]", "0.0.0.0", false),
    ] {
        assert_eq!(read(text, &[]).unwrap().listen_host(), host, "{text}");
        assert_eq!(notes(text).iter().any(|note| note.starts_with("server.host: ")), is_noted, "{text}");
    }
}

#[test]
fn console_needs_keys_or_loopback_unless_set() {
    let key = "api_keys = [\"0123456789012345678901234567890x\"]";
    let auth = format!("[admin_auth]\nenabled = true\n{key}");
    let production = format!("environment = \"production\"\n{auth}\n[cors]\nallowed_origins = []");
    for (text, is_on) in [
        (String::new(), true),
        ("server.host = \"localhost\"".into(), true),
        ("server.host = \"::1\"".into(), true),
        ("server.host = \"0.0.0.0\"".into(), false),
        ("server.host = \"svc.example\"".into(), false),
        ("server.host = \"0.0.0.0\"\nserver.console.enabled = true".into(), true),
        ("server.console.enabled = false".into(), false),
        (auth.clone(), true),
        (format!("server.console.enabled = false\n{auth}"), false),
        (production.clone(), false),
        (format!("server.console.enabled = true\n{production}"), true),
    ] {
        assert_eq!(read(&text, &[]).unwrap().console_is_on(), is_on, "{text}");
    }
}

#[test]
fn data_mount_at_console_is_refused_while_served() {
    let mounts = |mount: &str, rest: &str| format!("server.data_mounts = [{mount:?}]\n{rest}");
    for mount in ["/console", "/console/hooks"] {
        assert_eq!(refusals(&mounts(mount, "")), ["server.data_mounts"], "{mount}");
        assert_eq!(refusals(&mounts(mount, "server.console.enabled = false")), [""; 0], "{mount}");
        assert_eq!(refusals(&mounts(mount, "server.console.path = \"/ops\"")), [""; 0], "{mount}");
    }
    assert_eq!(refusals(&mounts("/ops", "server.console.path = \"/ops/console\"")), ["server.data_mounts"]);
    for mount in ["/", "/consoles"] {
        assert_eq!(refusals(&mounts(mount, "")), [""; 0], "{mount}");
    }
}

#[test]
fn production_refuses_what_elsewhere_is_a_warning() {
    let weak = "cron.enabled = false\nserver.host = \"::1\"\nadmin_auth.api_keys = [\"short\"]\nserver.verbose_errors = true";
    let keys = ["admin_auth.enabled", "admin_auth.api_keys", "cors.allowed_origins"];
    let noted: Vec<_> = notes(weak).iter().map(|note| note.split(':').next().unwrap().to_owned()).collect();
    assert_eq!(noted, keys);
    let refused = refusals(&format!("environment = \"production\"\n{weak}"));
    assert_eq!(refused, [&keys[..], &["server.verbose_errors"]].concat());
    let strict = "environment = \"production\"\ncron.enabled = false\n[admin_auth]\nenabled = true\n\
                  api_keys = [\"0123456789012345678901234567890x\"]\n[cors]\nallowed_origins = []";
    assert_eq!(problems(strict, &[]), [""; 0]);
    assert_eq!(notes(strict), [""; 0]);
}

#[test]
fn cluster_takes_a_postgres_database_and_a_redis_url() {
    let cluster = "cluster.enabled = true\nstorage.url = \"postgres://h/d\"\n";
    assert_eq!(refusals(&format!("{cluster}cluster.redis_url = \"rediss://u:p@h:6380/1\"")), [""; 0]);
    for url in ["http://h", "redis://:swordfish@", "h:6379"] {
        let problems = problems(&format!("{cluster}cluster.redis_url = {url:?}"), &[]);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("cluster.redis_url: ") && !problems[0].contains("swordfish"));
    }
}

#[test]
fn a_migrating_cluster_is_refused_in_production() {
    let text = "environment = \"production\"\ncluster.enabled = true\nstorage.url = \"postgres://h/d\"\n\
                cluster.redis_url = \"redis://h\"";
    assert!(refusals(text).contains(&"storage.auto_migrate".to_owned()));
}

#[test]
fn collector_address_is_scheme_host_and_port_only() {
    let config = |endpoint: &str| format!("[tracing]\nenabled = true\notlp_endpoint = {endpoint:?}");
    for endpoint in [
        "",
        "localhost:4317",
        "http://localhost",
        "grpc://h:4317",
        "http://h:4317/v1/traces",
        "http://u:p@h:4317",
    ] {
        assert_eq!(refusals(&config(endpoint)), ["tracing.otlp_endpoint"], "{endpoint}");
    }
    for endpoint in ["http://localhost:4317", "https://collector.example:443/", "http://[::1]:4317"] {
        assert_eq!(refusals(&config(endpoint)), [""; 0], "{endpoint}");
    }
    let rate = "[tracing]\nenabled = true\nsample_rate = 1.5";
    assert_eq!(refusals(rate), ["tracing.sample_rate"]);
}

#[test]
fn telemetry_endpoint_has_path_over_http_alone() {
    let config = |protocol: &str, endpoint: &str| {
        format!("[telemetry]\nlogs = true\nprotocol = {protocol:?}\nendpoint = {endpoint:?}")
    };
    for (protocol, endpoint, is_taken) in [
        ("grpc", "http://localhost:4317", true),
        ("grpc", "http://localhost:4317/otlp", false),
        ("http/protobuf", "https://collector.example:4318/otlp", true),
        ("http/protobuf", "https://collector.example:4318/otlp?key=1", false),
        ("http/protobuf", "https://u:p@collector.example:4318", false),
        ("http/protobuf", "", false),
    ] {
        let expected: &[&str] = if is_taken { &[] } else { &["telemetry.endpoint"] };
        assert_eq!(refusals(&config(protocol, endpoint)), expected, "{protocol} {endpoint}");
    }
    assert_eq!(
        refusals("[telemetry]\nmetrics = true\nmetrics_interval_secs = 0"),
        ["telemetry.metrics_interval_secs"]
    );
    assert_eq!(refusals("[telemetry]\nendpoint = \"\"\nmetrics_interval_secs = 0"), [""; 0]);
}

#[test]
fn address_of_traces_names_their_id() {
    let config = |address: &str| format!("[tracing]\nui_url = {address:?}");
    for address in [
        "",
        "https://traces.example/trace",
        "traces.example/{trace_id}",
        "javascript:alert('{trace_id}')",
        "https://u:p@traces.example/{trace_id}",
        "https:///{trace_id}",
    ] {
        assert_eq!(refusals(&config(address)), ["tracing.ui_url"], "{address}");
    }
    for address in
        ["https://traces.example/trace/{trace_id}", "http://[::1]:16686/#/search?traceID={trace_id}"]
    {
        assert_eq!(refusals(&config(address)), [""; 0], "{address}");
    }
}

#[test]
fn every_unavailable_setting_is_refused() {
    let cases = [("storage.url", "storage.url = \"mysql://h/d\"")];
    for (key, text) in &cases {
        let problems = problems(text, &[]);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with(&format!("{key}: not available in this version; ")), "{problems:?}");
    }
    let tested: BTreeSet<&str> = cases.iter().map(|(key, _)| *key).collect();
    assert_eq!(tested, unavailable::keys().collect(), "a case for each line of the list");
}

#[test]
fn tls_needs_both_of_its_files() {
    let problems = refusals("server.tls.enabled = true\nserver.tls.cert_path = \"/nowhere.pem\"");
    assert_eq!(problems, ["server.tls.cert_path", "server.tls.key_path"]);
    let file = tempfile::NamedTempFile::new().unwrap();
    let files = format!("cert_path = {:?}\nkey_path = {:?}", file.path(), file.path());
    assert_eq!(refusals(&format!("[server.tls]\nenabled = true\n{files}")), [""; 0]);
    let clients = format!("[server.tls]\nenabled = true\n{files}\nclient_ca_path = \"/nowhere.pem\"");
    assert_eq!(refusals(&clients), ["server.tls.client_ca_path"]);
}

#[test]
fn settings_of_tls_need_tls() {
    let unused = "server.tls.client_ca_path = \"/ca.pem\"\nmetrics.tls_enabled = true";
    assert_eq!(refusals(unused), ["server.tls.client_ca_path", "metrics.tls_enabled"]);
    let warns = |text: &str| notes(text).iter().any(|note| note.starts_with("server.tls.enabled: "));
    assert!(warns("server.tls.cert_path = \"/cert.pem\"") && warns("server.tls.key_path = \"/key.pem\""));
    assert!(!warns(""));
}

#[test]
fn the_defaults_are_valid() {
    assert!(load(None, &[]).is_ok());
}
