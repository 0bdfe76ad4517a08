//! Text that is never printed.

use std::fmt;

use crate::mask::MASK;

/// A secret or a reference to one. `Debug` prints a mask; only [`expose`](Self::expose) returns the text.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(String);

impl SecretText {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text. It must not appear in logs, messages or responses.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns true if the text is blank.
    pub fn is_blank(&self) -> bool {
        self.0.trim().is_empty()
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}
