//! Tests of the additional checks of an import.

use serde_json::json;

use super::codes;
use crate::field::FieldCode::Invalid;
use crate::{EntityKind, MASK, check_import_item};

#[test]
fn every_mask_of_an_item_is_named() {
    let channel =
        json!({"name": MASK, "config": {"auth": {"keys": ["a", MASK]}, "cache": {"connector": MASK}}});
    let errors = check_import_item(EntityKind::Channel, &channel);
    assert_eq!(
        codes(&errors),
        [
            ("channel.config.auth.keys[1]", Invalid),
            ("channel.config.cache.connector", Invalid),
            ("channel.name", Invalid),
        ]
    );
    let workflow =
        json!({"description": MASK, "tasks": [{"function": {"input": {"key": MASK}}}], "condition": MASK});
    let errors = check_import_item(EntityKind::Workflow, &workflow);
    assert_eq!(
        codes(&errors),
        [("condition", Invalid), ("tasks[0].function.input.key", Invalid), ("workflow.description", Invalid),]
    );
}

#[test]
fn value_resembling_the_mask_passes() {
    for item in [json!({"name": "*******", "x": [null, 1, "*****"]}), json!([MASK]), json!(null)] {
        assert!(check_import_item(EntityKind::Connector, &item).is_empty(), "{item}");
    }
}
