//! The boundary of a set: what it refers to and does not hold.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// The channels and connectors that a set needs from elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Boundary {
    /// Names of channels.
    pub channels: BTreeSet<String>,
    /// Names of connectors.
    pub connectors: BTreeSet<String>,
}

impl Boundary {
    /// Creates a boundary.
    pub fn new(
        channels: impl IntoIterator<Item = String>,
        connectors: impl IntoIterator<Item = String>,
    ) -> Self {
        Self { channels: channels.into_iter().collect(), connectors: connectors.into_iter().collect() }
    }

    /// Reads the member `requires` of a package; what is no list of names is passed over.
    pub fn from_requires(requires: Option<&Value>) -> Self {
        let names = |member: &str| {
            let names = requires.and_then(|requires| requires.get(member)).and_then(Value::as_array);
            names.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
        };
        Self::new(names("channels"), names("connectors"))
    }

    /// Returns the member `requires` of a package.
    pub fn to_requires(&self) -> Value {
        json!({"channels": self.channels, "connectors": self.connectors})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_keeps_its_boundary() {
        let boundary = Boundary::new(["b".to_owned(), "a".to_owned()], ["c".to_owned()]);
        let requires = boundary.to_requires();
        assert_eq!(requires, json!({"channels": ["a", "b"], "connectors": ["c"]}));
        assert_eq!(Boundary::from_requires(Some(&requires)), boundary);
        assert_eq!(Boundary::from_requires(Some(&json!({"channels": 1}))), Boundary::default());
    }
}
