//! A value that must not be shown.

use std::fmt;

/// A secret text. It has no `Display`, no `Serialize` and no comparison, and its `Debug` hides the value: whoever needs
/// it says so with [`Secret::expose`].
#[derive(Clone, Default)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself. Never log it, never put it into an error.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether there is no value at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(******)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_hides_the_value() {
        let shown = format!("{:?}", Secret::new("swordfish"));
        assert!(!shown.contains("swordfish"), "{shown}");
    }
}
