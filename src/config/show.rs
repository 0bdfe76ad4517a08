//! Output of the configuration without its secrets.

use std::fmt::{self, Write as _};

use serde_json::{Map, Value as Json};
use svc_api::EffectiveSetting;
use svc_secrets::mask::mask;

use super::Config;
use super::load::{SettingOrigin, SettingOrigins};
use super::reload::is_reloadable;
use super::setting::{SettingEntry, SettingNode, variable_name};

/// The output format of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ConfigFormat {
    /// A configuration file; keys that are unset are comments.
    Toml,
    /// One object; keys that are unset are null.
    Json,
    /// The headline settings.
    Summary,
}

/// The whole configuration as text. Values under secret-looking keys read `******`, passwords in URLs are
/// struck out.
#[must_use]
pub fn render(config: &Config, format: ConfigFormat) -> String {
    match format {
        ConfigFormat::Toml => toml(&shown_settings(config)),
        ConfigFormat::Json => format!("{:#}\n", nest(shown_settings(config))),
        ConfigFormat::Summary => summary(config),
    }
}

/// Settings below a node, sections left out, each with the value to show.
pub(crate) fn shown_settings(node: &dyn SettingNode) -> Vec<(String, Json)> {
    let mut entries = Vec::new();
    node.list("", "", &mut entries);
    entries.iter().filter_map(|entry| mask_setting(entry).map(|value| (entry.path.clone(), value))).collect()
}

/// The value of an entry with its secrets struck out.
pub(crate) fn mask_setting(entry: &SettingEntry<'_>) -> Option<Json> {
    let mut value = entry.setting?.show();
    let key = entry.path.rsplit('.').next().unwrap_or_default();
    // `[secrets]` and other tables of the user's own names are judged by those names, not by their own; entries that are
    // tables by those of their members.
    let has_names = value.is_object() || value.as_array().is_some_and(|all| all.iter().any(Json::is_object));
    mask(if has_names { "" } else { key }, &mut value);
    Some(value)
}

/// Describes every setting of a configuration, secrets struck out, with the place that gave its value. A value that differs
/// from its default, and that no place gave, is one of the program.
pub(crate) fn describe_settings(config: &Config, origins: &SettingOrigins) -> Vec<EffectiveSetting> {
    let defaults = Config::default();
    let (mut entries, mut default_entries) = (Vec::new(), Vec::new());
    config.list("", "", &mut entries);
    defaults.list("", "", &mut default_entries);
    let described = entries.iter().zip(&default_entries).filter_map(|(entry, default)| {
        let (setting, value) = (entry.setting?, mask_setting(entry)?);
        let is_default =
            default.setting.is_some_and(|default| default.compared_value() == setting.compared_value());
        let without_origin = if is_default { "default" } else { "program" };
        Some(EffectiveSetting {
            source: origins.get(&entry.path).map_or(without_origin, SettingOrigin::name).to_owned(),
            value,
            default: mask_setting(default)?,
            variable: setting.overridable().then(|| variable_name(&entry.path)),
            reloadable: is_reloadable(&entry.path),
            key: entry.path.clone(),
        })
    });
    described.collect()
}

/// `Debug` of a section.
pub(crate) fn debug(name: &str, node: &dyn SettingNode, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut fields = f.debug_struct(name);
    for (path, value) in shown_settings(node) {
        fields.field(&path, &format_args!("{value}"));
    }
    fields.finish()
}

/// Settings in the order of declaration under the headings of their sections.
fn toml(settings: &[(String, Json)]) -> String {
    let mut text = String::new();
    let mut heading = "";
    for (path, value) in settings {
        let (section, key) = path.rsplit_once('.').unwrap_or(("", path));
        if let Json::Object(members) = value {
            heading = path;
            let _ = write!(text, "\n[{heading}]\n");
            for (name, value) in members {
                let _ = writeln!(text, "{} = {}", toml_key(name), toml_value(value));
            }
            continue;
        }
        if section != heading {
            heading = section;
            let _ = write!(text, "\n[{heading}]\n");
        }
        let _ = match value {
            Json::Null => writeln!(text, "# {key} is unset"),
            value => writeln!(text, "{key} = {}", toml_value(value)),
        };
    }
    text
}

fn toml_value(value: &Json) -> String {
    toml::Value::try_from(value).map_or_else(|_| "\"\"".to_owned(), |value| value.to_string())
}

/// A key as it is written: bare if it can be, else quoted.
fn toml_key(name: &str) -> String {
    let bare = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if bare { name.to_owned() } else { toml::Value::from(name).to_string() }
}

/// Dotted paths as objects in objects.
fn nest(settings: Vec<(String, Json)>) -> Json {
    let mut root = Map::new();
    for (path, value) in settings {
        insert(&mut root, &path, value);
    }
    Json::Object(root)
}

fn insert(object: &mut Map<String, Json>, path: &str, value: Json) {
    let Some((section, rest)) = path.split_once('.') else {
        object.insert(path.to_owned(), value);
        return;
    };
    let inner = object.entry(section).or_insert_with(|| Json::Object(Map::new()));
    if let Json::Object(inner) = inner {
        insert(inner, rest, value);
    }
}

fn summary(config: &Config) -> String {
    let on = |enabled: bool| if enabled { "on" } else { "off" }.to_owned();
    let auth = &config.admin_auth;
    let lines = [
        ("environment", config.environment.clone()),
        ("listens on", config.listen_address()),
        ("tls", on(config.server.tls.enabled)),
        ("storage", svc_secrets::mask::mask_url(&config.storage.url)),
        (
            "admin auth",
            match auth.enabled {
                true => format!(
                    "on, {} keys, {} read-only keys",
                    auth.api_keys.len(),
                    auth.read_only_api_keys.len()
                ),
                false => "off".to_owned(),
            },
        ),
        ("log level", config.logging.level.as_str().to_owned()),
        ("metrics", on(config.metrics.enabled)),
        ("metrics listener", config.metrics.bind_addr.clone().unwrap_or_else(|| "none".to_owned())),
        ("trace storage", config.trace_storage.mode.as_str().to_owned()),
        ("cron", on(config.cron.enabled)),
        ("kafka", on(config.kafka.enabled)),
        ("cluster", on(config.cluster.enabled)),
        ("rate limit", on(config.rate_limit.enabled)),
        ("cors origins", config.cors.allowed_origins.join(", ")),
        ("vars", config.vars.0.len().to_string()),
        ("secrets", config.secrets.references.len().to_string()),
    ];
    lines.iter().fold(String::new(), |text, (name, value)| text + &format!("{name:<18}{value}\n"))
}
