//! The JSON Schema of a configuration file, made from the declarations of the settings.

use serde_json::{Map, Value as Json, json};

use super::Config;
use super::setting::{ALIASES, SettingEntry, SettingNode};
use super::show::mask_setting;

/// Returns the JSON Schema (2020-12) of a configuration file, for editors of TOML.
#[must_use]
pub fn config_schema() -> Json {
    let config = Config::default();
    let mut entries = Vec::new();
    config.list("", "", &mut entries);
    let mut root = section("");
    for entry in &entries {
        insert(&mut root, &entry.path, describe_setting(entry));
    }
    for (alias, key) in ALIASES {
        let entry = entries.iter().find(|entry| entry.path == key);
        if let Some(setting) = entry.and_then(|entry| entry.setting) {
            let mut schema = setting.schema();
            schema["description"] = format!("Another name of `{key}`.").into();
            insert(&mut root, alias, schema);
        }
    }
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A configuration file of svc-server",
    });
    if let (Json::Object(schema), Json::Object(root)) = (&mut schema, root) {
        schema.extend(root);
    }
    schema
}

/// Returns the schema of a setting or a section, with its documentation and its default.
fn describe_setting(entry: &SettingEntry<'_>) -> Json {
    let Some(setting) = entry.setting else { return section(entry.doc.trim()) };
    let mut schema = setting.schema();
    schema["description"] = entry.doc.lines().map(str::trim).collect::<Vec<_>>().join("\n").trim().into();
    if let Some(default) = mask_setting(entry).filter(|default| !default.is_null()) {
        schema["default"] = default;
    }
    schema
}

fn section(doc: &str) -> Json {
    json!({"description": doc, "type": "object", "properties": {}, "additionalProperties": false})
}

/// Inserts a schema at the dotted path of its key; the root replaces only the description.
fn insert(root: &mut Json, path: &str, schema: Json) {
    if path.is_empty() {
        root["description"] = schema["description"].clone();
        return;
    }
    let mut place = root;
    for key in path.split('.') {
        place = &mut place["properties"][key];
    }
    if place.is_null() {
        *place = schema;
    } else if let (Some(place), Json::Object(schema)) = (place.as_object_mut(), schema) {
        let keep = |map: &mut Map<String, Json>| map.extend(schema);
        keep(place);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn validator() -> jsonschema::Validator {
        let schema = config_schema();
        jsonschema::meta::validate(&schema).unwrap();
        jsonschema::validator_for(&schema).unwrap()
    }

    fn file(text: &str) -> Json {
        serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap()
    }

    #[test]
    fn schema_lists_every_setting_with_its_documentation() {
        let config = Config::default();
        let mut entries = Vec::new();
        config.list("", "", &mut entries);
        let schema = config_schema();
        let paths: BTreeSet<_> = entries.iter().map(|entry| entry.path.clone()).collect();
        assert!(paths.len() > 100, "{}", paths.len());
        for path in paths.iter().filter(|path| !path.is_empty()) {
            let pointer = path.split('.').fold(String::new(), |at, key| at + "/properties/" + key);
            let at = schema.pointer(&pointer).unwrap_or_else(|| panic!("{path} is missing"));
            assert!(at["description"].as_str().is_some_and(|text| !text.is_empty()), "{path}");
        }
    }

    #[test]
    fn schema_agrees_with_reader_on_shapes() {
        let validator = validator();
        for text in [
            "",
            "environment = 'staging'\nserver.port = 9000\nlogging.level = 'WARN'",
            "[server]\ndata_mounts = ['/hooks']\n[server.tls]\nenabled = false",
            "tracing.mode = 'batch'",
            "[vars]\nregion = 'eu'\nlimits = {a = 1}\n[secrets]\nkey = 'env://KEY'\nallowed_env = ['APP_*']\n\
             allowed_files = ['/etc/app/*']",
            "[kafka]\nextra_config = {'client.id' = 'x'}\n[[kafka.topics]]\ntopic = 't'\nchannel = 'c'",
            "[rate_limit]\ntrusted_proxies = ['10.0.0.0/8']",
            "[admin_auth]\napi_keys = ['k', {name = 'ci', key = 'l'}]",
        ] {
            assert!(super::super::parse("c", text, &[]).is_ok(), "{text}");
            let errors: Vec<_> = validator.iter_errors(&file(text)).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{text}: {errors:?}");
        }
        for text in [
            "sever.port = 1",
            "server.prot = 1",
            "server.port = '1'",
            "server.port = 70000",
            "server.port = -1",
            "logging.level = 'loud'",
            "server.data_mounts = '/hooks'",
            "metrics.enabled = 1",
            "secrets.key = 1",
            "admin_auth.api_keys = [{name = 'ci'}]",
        ] {
            assert!(super::super::parse("c", text, &[]).is_err(), "{text}");
            assert!(!validator.is_valid(&file(text)), "{text}");
        }
    }
}
