//! The settings of the client: option, environment, file; the file itself.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::support::CliClient;

fn listing() -> Upstream {
    Upstream::start(|_| UpstreamReply::new(200, r#"{"data": [], "total": 0}"#)).unwrap()
}

#[test]
fn key_for_local_server_avoids_proxies() {
    let (server, proxy) = (listing(), listing());
    let port = server.address().port();
    for (variable, host) in [
        ("http_proxy", "127.0.0.1"),
        ("HTTP_PROXY", "localhost"),
        ("ALL_PROXY", "127.0.0.1"),
        ("all_proxy", "localhost"),
    ] {
        let cli = CliClient::new().env(variable, &proxy.url("")).env("SVC_API_KEY", "secret-key");
        cli.ok(&["workflows", "list", "--server", &format!("http://{host}:{port}")]);
    }
    assert_eq!((server.requests().len(), proxy.requests().len()), (4, 0));
}

#[test]
fn clear_key_through_proxy_is_warned_of() {
    let proxy = listing();
    let cli = CliClient::new().env("http_proxy", &proxy.url("")).env("SVC_API_KEY", "secret-key");
    let run = cli.run(&["workflows", "list", "--server", "http://svc.example:8080"]);
    assert_eq!((run.code, proxy.requests().len()), (0, 1), "{run:?}");
    assert!(run.err.contains("the key crosses the network in clear"), "{run:?}");
}

#[test]
fn option_wins_over_environment_environment_over_file() {
    let servers = [listing(), listing(), listing()];
    let [option, environment, file] = servers.each_ref().map(|server| format!("http://{}", server.address()));
    let count = || servers.each_ref().map(|server| server.requests().len());
    let cli = CliClient::new();
    cli.ok(&["config", "set-server", &file]);
    cli.ok(&["config", "set", "api_key", "key-of-the-file"]);
    cli.ok(&["config", "set", "default_output", "json"]);

    assert!(cli.ok(&["workflows", "list"]).starts_with("{\n"), "the file chose JSON");
    assert_eq!(count(), [0, 0, 1]);
    assert_eq!(servers[2].requests()[0].header("authorization"), Some("Bearer key-of-the-file"));

    let cli = cli.env("SVC_SERVER_URL", &environment).env("SVC_API_KEY", "key-of-the-environment");
    cli.ok(&["workflows", "list"]);
    assert_eq!(servers[1].requests()[0].header("authorization"), Some("Bearer key-of-the-environment"));

    let args = [
        "workflows",
        "list",
        "--server",
        &option,
        "--api-key",
        "k",
        "--api-key-header",
        "X-Key",
        "-o",
        "table",
    ];
    assert!(cli.ok(&args).starts_with("ID"), "the option chose a table");
    assert_eq!(count(), [1, 1, 1]);
    assert_eq!(servers[0].requests()[0].header("x-key"), Some("k"));
    assert_eq!(servers[0].requests()[0].header("authorization"), None);
}

#[test]
fn config_show_lists_effective_settings_with_sources() {
    let cli = CliClient::new();
    let bare = cli.json(&["config", "show"]);
    let expected = json!({"server_url": "http://localhost:8080", "default_output": "json", "api_key": null,
        "api_key_header": "Authorization", "change_context": null,
        "sources": {"server_url": "default", "default_output": "option --output", "api_key": "not set",
            "api_key_header": "default", "change_context": "not set"}});
    assert_eq!(bare, expected);

    cli.ok(&["config", "set-server", "http://file.example:1"]);
    cli.ok(&["config", "set", "api_key", "key-of-the-file"]);
    let file = format!("file {}", cli.home().join(".svc/config.toml").display());
    let cli = cli.env("SVC_API_KEY", "key-of-the-environment").env("SVC_CHANGE_CONTEXT", "release 7");
    let args = ["config", "show", "--api-key-header", "X-Key"];
    let shown = cli.json(&args);
    for (setting, value, source) in [
        ("server_url", "http://file.example:1", file.as_str()),
        ("api_key", "******", "environment SVC_API_KEY"),
        ("api_key_header", "X-Key", "option --api-key-header"),
        ("change_context", "release 7", "environment SVC_CHANGE_CONTEXT"),
    ] {
        assert_eq!((&shown[setting], &shown["sources"][setting]), (&json!(value), &json!(source)), "{shown}");
    }
    let table = cli.ok(&args);
    let line = |setting: &str| table.lines().find(|line| line.starts_with(setting)).unwrap().to_owned();
    assert!(table.starts_with("SETTING"), "{table}");
    assert!(
        line("api_key ").contains("******") && line("api_key ").ends_with("environment SVC_API_KEY"),
        "{table}"
    );
    assert!(
        line("default_output").contains("table") && line("default_output").ends_with("default"),
        "{table}"
    );
    assert!(!table.contains("key-of"), "{table}");

    let cli = cli.env("SVC_SERVER_URL", "https://user:hunter2@host.example/svc");
    let shown = cli.ok(&["config", "show"]);
    assert!(shown.contains("https://******@host.example/svc") && !shown.contains("hunter2"), "{shown}");
}

#[test]
fn config_get_prints_effective_setting_with_source() {
    let cli = CliClient::new();
    let get = |cli: &CliClient, args: &[&str]| {
        let run = cli.run(&[&["config", "get"], args].concat());
        assert_eq!(run.code, 0, "{args:?}: {run:?}");
        (run.out, run.err)
    };
    let output = |value: &str, source: &str| (value.to_owned(), format!("note: source: {source}\n"));
    assert_eq!(get(&cli, &["server_url"]), output("http://localhost:8080\n", "default"));
    assert_eq!(get(&cli, &["api_key"]), output("", "not set"));

    cli.ok(&["config", "set-server", "http://file.example:1"]);
    let file = format!("file {}", cli.home().join(".svc/config.toml").display());
    assert_eq!(get(&cli, &["server_url"]), output("http://file.example:1\n", &file));
    assert_eq!(get(&cli, &["server_url", "-q"]), ("http://file.example:1\n".to_owned(), String::new()));

    let cli = cli.env("SVC_SERVER_URL", "https://user:hunter2@host.example/svc").env("SVC_API_KEY", "mine");
    let cli = cli.env("SVC_CHANGE_CONTEXT", "release 7");
    let expected = output("https://******@host.example/svc\n", "environment SVC_SERVER_URL");
    assert_eq!(get(&cli, &["server_url"]), expected);
    assert_eq!(get(&cli, &["api_key"]), output("******\n", "environment SVC_API_KEY"));
    assert_eq!(get(&cli, &["change_context"]), output("release 7\n", "environment SVC_CHANGE_CONTEXT"));
    let expected = output("http://option.example:2\n", "option --server");
    assert_eq!(get(&cli, &["server_url", "--server", "http://option.example:2"]), expected);

    let expected = json!({"setting": "api_key", "value": "******", "source": "environment SVC_API_KEY"});
    assert_eq!(cli.json(&["config", "get", "api_key"]), expected);
    // As `show` has it.
    let shown = cli.json(&["config", "show"]);
    for setting in ["server_url", "default_output", "api_key", "api_key_header", "change_context"] {
        let row = cli.json(&["config", "get", setting]);
        assert_eq!((&row["value"], &row["source"]), (&shown[setting], &shown["sources"][setting]), "{shown}");
    }
}

#[test]
fn file_is_private_and_its_key_masked() {
    let cli = CliClient::new();
    cli.ok(&["config", "set", "api_key", "secret-of-mine"]);
    let path = cli.home().join(".svc/config.toml");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    for args in [&["config", "show"][..], &["config", "show", "-o", "json"], &["config", "get", "api_key"]] {
        let out = cli.ok(args);
        assert!(out.contains("******") && !out.contains("secret-of-mine"), "{out}");
    }
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let run = cli.run(&["health", "--server", "http://127.0.0.1:1"]);
    assert!(run.err.contains("others can read it") && !run.err.contains("secret-of-mine"), "{run:?}");
    cli.ok(&["config", "set", "api_key", ""]);
    assert_eq!(cli.ok(&["config", "get", "api_key"]), "");
}

#[test]
fn comments_of_the_file_stay_and_mistakes_are_named() {
    let cli = CliClient::new();
    let path = cli.home().join(".svc/config.toml");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "# ours\nserver_url = \"http://a:1\"\n").unwrap();
    cli.ok(&["config", "set", "api_key_header", "X-Key"]);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("# ours\n") && text.contains("X-Key"), "{text}");
    assert_eq!(cli.ok(&["config", "get", "server_url"]), "http://a:1\n");
    assert!(cli.fails(&["config", "set-server", "nonsense"], 1).contains("no server address"));
    cli.fails(&["config", "set", "default_output", "xml"], 2);
    for (setting, value, why) in [
        ("api_key_header", "X Key", "the name of the key's header is empty, or holds a character"),
        ("api_key", "a\nb", "the key cannot be sent in a header: it holds a line break"),
    ] {
        assert!(cli.fails(&["config", "set", setting, value], 1).contains(why), "{setting}");
    }
    let error = cli.fails(&["send", "orders", "-d", "{}", "--header", "X Tenant: a"], 1);
    assert!(error.contains("the name of the header is empty, or holds a character"), "{error}");

    std::fs::write(&path, "server = \"http://a:1\"\n").unwrap();
    let error = cli.fails(&["health"], 1);
    assert!(error.contains("config.toml: unknown setting 'server'"), "{error}");
}

#[test]
fn settings_kept_elsewhere_are_changed_there() {
    let cli = CliClient::new();
    let (link, kept) = (cli.home().join(".svc/config.toml"), cli.home().join("kept.toml"));
    std::fs::create_dir_all(link.parent().unwrap()).unwrap();
    std::fs::write(&kept, "server_url = \"http://a:1\"\n").unwrap();
    std::os::unix::fs::symlink(&kept, &link).unwrap();
    cli.ok(&["config", "set", "api_key", "secret-of-mine"]);
    assert!(link.is_symlink());
    let text = std::fs::read_to_string(&kept).unwrap();
    assert_eq!(text, "server_url = \"http://a:1\"\napi_key = \"secret-of-mine\"\n");
    assert_eq!(std::fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn key_in_clear_to_another_machine_is_warned_of() {
    let run = CliClient::new().run(&[
        "health",
        "--server",
        "http://192.0.2.1:1",
        "--api-key",
        "k",
        "--request-timeout",
        "1",
    ]);
    assert!(run.err.contains("warning: the key crosses the network in clear"), "{run:?}");
}
