//! Tests that the config reference agrees with the reader.

use serde_json::{Map, Value, json};

use super::super::ChannelConfig;
use super::super::reference::{BLOCKS, BlockReference, KeyReference};

pub(super) fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Returns the block with only its required keys.
pub(super) fn minimal(block: &BlockReference) -> Map<String, Value> {
    let mut object =
        if block.form.is_empty() { Map::new() } else { json_of(block.form).as_object().unwrap().clone() };
    let needed = block.keys.iter().filter(|key| key.required);
    object.extend(needed.map(|key| (key.name.to_owned(), json_of(key.example))));
    object
}

/// Returns [`minimal`] with one more key, and with the key that it requires.
fn with(block: &BlockReference, key: &KeyReference, value: Value) -> Map<String, Value> {
    let mut object = minimal(block);
    if key.name == "consumers" {
        // It takes the place of the keys of a channel.
        object.retain(|name, _| !["keys", "secret"].contains(&name.as_str()));
    }
    object.insert(key.name.to_owned(), value);
    if matches!(key.name, "timestamp" | "tolerance_secs") {
        for partner in block.keys.iter().filter(|key| matches!(key.name, "timestamp" | "tolerance_secs")) {
            object.entry(partner.name).or_insert_with(|| json_of(partner.example));
        }
    }
    object
}

/// Returns the example of a sign-in with one provider.
fn sign_in_example() -> Map<String, Value> {
    let key = ChannelConfig::KEYS.iter().find(|key| key.name == "oauth2_login").unwrap();
    json_of(key.example).as_object().unwrap().clone()
}

/// Returns a sign-in with the addresses of its provider, or with `providers` in place of the keys of one.
fn with_provider(mut object: Map<String, Value>) -> Map<String, Value> {
    let from_instance = object.get("providers_from_instance") == Some(&json!(true));
    if from_instance || object.contains_key("providers") {
        let own = [
            "state_secret",
            "state_cookie",
            "return_to",
            "run_workflow_on_authorize",
            "providers_from_instance",
            "providers",
        ];
        object.retain(|key, _| own.contains(&key.as_str()));
        object.insert("redirect_uri".to_owned(), json!("https://shop.example/{provider}/callback"));
        object.insert("callback_path".to_owned(), json!("/login/{provider}/callback"));
    } else {
        object.entry("issuer").or_insert_with(|| json!("https://id.example"));
    }
    object
}

/// Returns a config that contains the block.
fn place_block(block: &BlockReference, mut object: Map<String, Value>) -> Value {
    let jwt = || {
        let form = BLOCKS.iter().find(|block| block.form.contains("jwt")).unwrap();
        Value::Object(minimal(form))
    };
    if block.path == "deduplication" && !object.contains_key("key_logic") {
        // One of `header` and `key_logic` is required.
        object.entry("header").or_insert_with(|| json!("idempotency-key"));
    }
    if block.path == "queue" && object.contains_key("max_concurrent_per_key") {
        object.entry("key_logic").or_insert_with(|| json!({"var": "data.tenant"}));
    }
    if block.path == "oauth2_login" {
        object = with_provider(object);
    }
    let mut config = json!({});
    let object = Value::Object(object);
    match block.path {
        "" => {
            config = object;
            if config.get("principal_rate_limit").is_some() {
                config["auth"] = jwt();
            }
        }
        "auth.jwt_keys[]" => {
            config["auth"] = jwt();
            config["auth"]["jwt_keys"] = json!([object]);
        }
        "auth.consumers" => config["auth"] = json!({"mode": "api_key", "consumers": object}),
        "auth.source" => {
            config["auth"] = jwt();
            config["auth"]["source"] = object;
        }
        "response.error_bodies.*" => config["response"]["error_bodies"]["default"] = object,
        "principal_rate_limit" => {
            config["auth"] = jwt();
            config[block.path] = object;
        }
        path if path.starts_with("oauth2_login.providers.*") => {
            let provider = match path.strip_prefix("oauth2_login.providers.*.") {
                Some(key) => {
                    let mut provider = sign_in_example();
                    provider.insert(key.to_owned(), object);
                    provider.into()
                }
                None => object,
            };
            let mut provider: Value = provider;
            if provider.get("issuer").is_none() {
                provider["issuer"] = json!("https://id.example");
            }
            for key in ["redirect_uri", "callback_path", "state_secret"] {
                provider.as_object_mut().unwrap().remove(key);
            }
            config["oauth2_login"] = json!({
                "redirect_uri": "https://shop.example/{provider}", "callback_path": "/login/{provider}",
                "state_secret": "0123456789abcdef0123456789abcdef", "providers": {"corp": provider}
            });
        }
        path if path.starts_with("oauth2_login.") => {
            let mut block = sign_in_example();
            block.insert(path.trim_start_matches("oauth2_login.").to_owned(), object);
            config["oauth2_login"] = block.into();
        }
        "examples[]" => config["examples"] = json!([object]),
        "tracing.record" => config["tracing"] = json!({"record": object}),
        path => config[path] = object,
    }
    config
}

fn parse(block: &BlockReference, object: Map<String, Value>) -> ChannelConfig {
    let config = place_block(block, object);
    ChannelConfig::parse(&config).unwrap_or_else(|errors| panic!("{config}: {errors:?}"))
}

#[test]
fn each_key_of_the_reference_takes_its_example() {
    for block in &BLOCKS {
        for key in block.keys {
            parse(block, with(block, key, json_of(key.example)));
        }
    }
}

#[test]
fn block_without_a_required_key_is_refused() {
    for block in &BLOCKS {
        for key in block.keys.iter().filter(|key| key.required) {
            let mut object = minimal(block);
            object.remove(key.name);
            let config = place_block(block, object);
            assert!(ChannelConfig::parse(&config).is_err(), "{}: {config}", key.name);
        }
    }
}

#[test]
fn reference_default_equals_an_absent_key() {
    for block in &BLOCKS {
        for key in block.keys.iter().filter(|key| !key.default.is_empty()) {
            let given = parse(block, with(block, key, json_of(key.default)));
            let mut absent = with(block, key, Value::Null);
            absent.remove(key.name);
            assert_eq!(given, parse(block, absent), "{}.{}", block.path, key.name);
            assert_ne!(key.default, key.example, "{}.{}", block.path, key.name);
        }
    }
}
