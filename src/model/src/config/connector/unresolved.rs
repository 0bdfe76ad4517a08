//! Texts that are not yet what will be used.

use crate::mask::{is_reserved_reference, is_secret_reference};

/// Returns `true` if a text is not yet what will be used: it holds a placeholder, or is a reference.
pub fn is_unresolved(text: &str) -> bool {
    text.contains("${") || is_secret_reference(text) || is_reserved_reference(text)
}
