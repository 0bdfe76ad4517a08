//! Additional checks of an import.

use serde_json::Value;

use super::scan::{each_string, place};
use crate::entity::EntityKind;
use crate::field::FieldError;
use crate::mask::{MASK, holds_mask};

/// Reports every mask in an item of an import, because there is no stored value to restore.
pub fn check_import_item(kind: EntityKind, item: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let Value::Object(object) = item else { return errors };
    for (field, value) in object {
        each_string(&place(kind, field), value, &mut |path, text| {
            let masked = if kind == EntityKind::Connector { holds_mask(text) } else { text == MASK };
            if masked {
                errors.push(FieldError::invalid(
                    path,
                    "this is the read mask, put the real value in before importing",
                ));
            }
        });
    }
    errors
}
