//! Detection of texts with unresolved placeholders or references.

use crate::config::value_reference::is_value_reference;
use crate::mask::{is_reserved_reference, is_secret_reference};

/// Returns true if the text is not the final value: it is a reference, or contains a placeholder.
pub fn is_unresolved(text: &str) -> bool {
    text.contains("${")
        || is_secret_reference(text)
        || is_reserved_reference(text)
        || is_value_reference(text)
}
