//! The output of `validate-config` and the reference manual. Both are kept as files, so that a changed default shows
//! in review; `UPDATE_GOLDEN=1 cargo test` rewrites them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;

use super::super::reload::is_reloadable;
use super::super::setting::{self, Setting, SettingEntry, SettingNode};
use super::super::{
    Config, ConfigFormat, SettingOrigin, config_schema, describe_settings, parse, render, show,
};
use super::read;

fn assert_golden(path: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, actual).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        expected == actual,
        "{} differs; run with UPDATE_GOLDEN=1 and look at the change",
        path.display()
    );
}

#[test]
fn the_defaults_are_those_of_the_golden_file() {
    assert_golden("src/config/tests/defaults.toml", &render(&Config::default(), ConfigFormat::Toml));
}

#[test]
fn the_manual_has_every_section_and_key() {
    assert_golden("docs/configuration.md", &manual());
}

#[test]
fn toolkit_has_the_schema_of_the_settings() {
    assert_golden("crates/toolkit/src/schema/config.schema.json", &format!("{:#}\n", config_schema()));
}

#[test]
fn no_format_shows_a_secret() {
    let key = "ab".repeat(32);
    let text = "[admin_auth]\napi_keys = [\"swordfish-1\", {name = \"ci\", key = \"swordfish-10\"}]\nread_only_api_keys = [\"swordfish-2\"]\n\
                [storage]\nurl = \"postgres://u:swordfish-3@h/d?password=swordfish-4\"\n\
                [cluster]\nredis_url = \"redis://:swordfish-5@h\"\n\
                [kafka.auth]\nsasl_password = \"swordfish-6\"\n\
                [kafka.extra_config]\n\"ssl.key.password\" = \"swordfish-7\"\n\
                [vars]\napi_token = \"swordfish-8\"\ndeep = { list = [{ password = \"swordfish-9\" }] }\n\
                [oauth2_login.providers.corp]\nclient_secret = \"swordfish-11\"\n\
                [secrets]\ndatabase_password = \"env://DB\"";
    let keys = [
        ("SVC_STORAGE__CONNECTOR_ENCRYPTION_KEY", key.as_str()),
        ("SVC_STORAGE__PREVIOUS_CONNECTOR_ENCRYPTION_KEYS", key.as_str()),
    ];
    let config = read(text, &keys).unwrap();
    let shown = [
        render(&config, ConfigFormat::Toml),
        render(&config, ConfigFormat::Json),
        render(&config, ConfigFormat::Summary),
        format!("{config:?}"),
        format!("{:?} {:?} {:?}", config.storage, config.vars, config.oauth2_login.providers),
    ];
    for text in &shown {
        assert!(!text.contains("swordfish") && !text.contains(&key), "{text}");
    }
    assert!(shown[0].contains("url = \"postgres://u:******@h/d?password=******\""), "{}", shown[0]);
    assert!(shown[0].contains("database_password = \"env://DB\""), "{}", shown[0]);
    assert!(shown[0].contains("name = \"ci\""), "{}", shown[0]);
    assert!(shown[2].contains("admin auth        off\n"), "{}", shown[2]);
}

#[test]
fn settings_are_described_with_source_and_without_secrets() {
    let text = "[server]\nport = 9000\n[admin_auth]\nenabled = true\napi_keys = [\"swordfish-1\"]\n\
                [storage]\nurl = \"postgres://u:swordfish-2@h/d\"\n[vars]\napi_token = \"swordfish-3\"";
    let variables = [
        ("SVC_SERVER__PORT".to_owned(), "9001".to_owned()),
        ("SVC_LOGGING__LEVEL".to_owned(), "debug".to_owned()),
    ];
    let loaded = parse("svc.toml", text, &variables).unwrap();
    let mut config = loaded.config.clone();
    config.trace_queue.workers = 7;
    let mut origins = loaded.origins;
    origins.set("server.host", Some(SettingOrigin::Flag));
    let described = describe_settings(&config, &origins);
    let shown = serde_json::to_string(&described).unwrap();
    assert!(!shown.contains("swordfish"), "{shown}");
    let find = |key: &str| described.iter().find(|setting| setting.key == key).unwrap();
    for (key, source, value) in [
        ("server.port", "environment", json!(9001)),
        ("logging.level", "environment", json!("debug")),
        ("admin_auth.enabled", "file", json!(true)),
        ("storage.url", "file", json!("postgres://u:******@h/d")),
        ("trace_queue.workers", "program", json!(7)),
        ("server.host", "flag", json!(null)),
        ("server.backlog", "default", json!(1024)),
    ] {
        assert_eq!((find(key).source.as_str(), &find(key).value), (source, &value), "{key}");
    }
    let port = find("server.port");
    assert_eq!((&port.default, port.variable.as_deref()), (&json!(8080), Some("SVC_SERVER__PORT")));
    assert!(!port.reloadable && find("admin_auth.api_keys").reloadable && find("vars").variable.is_none());
}

/// The manual, from the declarations of the settings.
fn manual() -> String {
    let config = Config::default();
    let mut entries = Vec::new();
    config.list("", "", &mut entries);
    let mut text = include_str!("manual.md").to_owned();
    // Sections with a setting that a reload takes have a column for it.
    let section_of = |path: &str| path.rsplit_once('.').map_or("", |(section, _)| section).to_owned();
    let settings = entries.iter().filter(|entry| entry.setting.is_some());
    let reloadable: BTreeSet<String> = settings
        .map(|entry| &entry.path)
        .filter(|path| is_reloadable(path))
        .map(|path| section_of(path))
        .collect();
    let heading = |section: &str| match reloadable.contains(section) {
        true => "| Key | Variable | Value | Default | Takes effect | Meaning |\n|---|---|---|---|---|---|\n",
        false => "| Key | Variable | Value | Default | Meaning |\n|---|---|---|---|---|\n",
    };
    for entry in &entries {
        let lines: Vec<_> = entry.doc.lines().map(str::trim).collect();
        // One line in a row of a table; the lines of the comment above it.
        let (doc, prose) = (lines.join(" "), lines.join("\n"));
        match entry.setting {
            None if entry.path.is_empty() => {
                let _ = write!(text, "\n## Top level\n\n{}", heading(""));
            }
            None => {
                let _ = write!(text, "\n## `[{}]`\n\n{prose}\n\n{}", entry.path, heading(&entry.path));
            }
            // Tables of the user's own names have a section of their own, like in a file.
            Some(setting) if setting.show().is_object() && !entry.path.contains('.') => {
                let _ = write!(
                    text,
                    "\n## `[{}]`\n\n{prose}\n\nIn the file only: {}.\n",
                    entry.path,
                    setting.describe_expected()
                );
            }
            Some(setting) => {
                let name = if setting.overridable() {
                    format!("`{}`", setting::variable_name(&entry.path))
                } else {
                    "–".into()
                };
                let effect = match (reloadable.contains(&section_of(&entry.path)), is_reloadable(&entry.path))
                {
                    (false, _) => "",
                    (true, false) => " restart |",
                    (true, true) => " reload |",
                };
                let _ = writeln!(
                    text,
                    "| `{}` | {name} | {} | {} |{effect} {doc} |",
                    entry.path,
                    describe_values(setting),
                    default(entry)
                );
            }
        }
    }
    text
}

/// Returns the column for the values of a setting. The range of 32 bits is left out: the column for the meaning has the
/// bounds.
fn describe_values(setting: &dyn Setting) -> String {
    setting.describe_expected().replace(&format!(" from 0 to {}", u32::MAX), "")
}

fn default(entry: &SettingEntry<'_>) -> String {
    match show::mask_setting(entry) {
        None | Some(serde_json::Value::Null) => "unset".to_owned(),
        Some(value) => format!("`{value}`"),
    }
}
