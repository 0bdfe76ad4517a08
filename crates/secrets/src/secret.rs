//! A value that cannot be printed.

use std::fmt;

/// A secret text. It has no `Display`, no `Serialize` and no comparison, and its `Debug` output is masked.
/// Only [`Secret::expose`] returns the value.
#[derive(Clone, Default)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// Returns the value. It must not appear in a log or in an error.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns true if the value is empty.
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
    use std::fmt::Display;
    use std::hash::Hash;

    use serde::Serialize;

    use super::*;

    /// Fails to compile for a type that implements the trait, because the call becomes ambiguous.
    macro_rules! has_not {
        ($type:ty: $($name:ident: $bound:path),*) => {$({
            trait Doubtful<A> {
                fn $name() {}
            }
            impl<T> Doubtful<()> for T {}
            struct Bound;
            impl<T: $bound> Doubtful<Bound> for T {}
            <$type as Doubtful<_>>::$name();
        })*};
    }

    #[test]
    fn secret_is_not_printed_serialised_or_compared() {
        has_not!(Secret: printed: Display, serialised: Serialize, compared: PartialEq, ordered: PartialOrd,
            hashed: Hash, borrowed: AsRef<str>, dereferenced: std::ops::Deref, converted: Into<String>);
    }

    #[test]
    fn debug_hides_the_value() {
        let shown = format!("{:?} {:#?}", Secret::new("swordfish"), Some(Secret::new("swordfish")));
        assert!(!shown.contains("swordfish"), "{shown}");
    }
}
