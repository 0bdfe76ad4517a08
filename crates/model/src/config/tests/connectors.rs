//! Tests that the reference of connectors agrees with their readers.

use serde_json::{Map, Value, json};

use super::reference::{json_of, minimal};
use crate::config::connector::{CONNECTORS, ConnectorConfig, ConnectorReference};
use crate::config::reference::{BlockReference, KeyReference};

/// Returns a config that holds the block.
fn place_block(reference: &ConnectorReference, block: &BlockReference, object: Map<String, Value>) -> Value {
    if block.path.is_empty() {
        return Value::Object(object);
    }
    let mut config = Value::Object(minimal(&reference.blocks[0]));
    config[block.path] = Value::Object(object);
    config
}

/// Returns [`minimal`] with one more key, and with what that key needs.
fn with(block: &BlockReference, key: &KeyReference, value: Value) -> Map<String, Value> {
    let mut object = minimal(block);
    object.insert(key.name.to_owned(), value);
    match key.name {
        "refresh_token" => object.insert("grant".to_owned(), json!("refresh_token")),
        // A header of one signature holds that of one secret.
        "secrets" => object.insert("signature_prefix".to_owned(), json!("v1=")),
        "account_id" => object.insert("grant".to_owned(), json!("account_credentials")),
        _ => None,
    };
    object
}

fn each_block(mut visit: impl FnMut(&ConnectorReference, &BlockReference)) {
    for reference in &CONNECTORS {
        reference.blocks.iter().for_each(|block| visit(reference, block));
    }
}

#[test]
fn connector_keys_take_their_example_and_default() {
    each_block(|reference, block| {
        for key in block.keys {
            for text in [key.example, key.default].into_iter().filter(|text| !text.is_empty()) {
                let mut config = place_block(reference, block, with(block, key, json_of(text)));
                if (reference.kind.name(), key.name) == ("smtp", "auth") {
                    config["auth"] = json!({"type": "none"});
                }
                let parsed = ConnectorConfig::parse(reference.kind, &config);
                assert!(parsed.is_ok(), "{} {}: {parsed:?}", reference.kind, key.name);
            }
        }
    });
}

#[test]
fn connector_without_a_required_key_is_refused() {
    each_block(|reference, block| {
        for key in block.keys.iter().filter(|key| key.required) {
            let mut object = minimal(block);
            object.remove(key.name);
            let config = place_block(reference, block, object);
            let parsed = ConnectorConfig::parse(reference.kind, &config);
            assert!(parsed.is_err(), "{} {}: {config}", reference.kind, key.name);
        }
    });
}
