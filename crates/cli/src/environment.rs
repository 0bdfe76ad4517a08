//! The environment of the process, read once.

/// The variables of the environment. An empty one counts as unset.
#[derive(Clone, Default)]
pub(crate) struct Environment(Vec<(String, String)>);

impl Environment {
    pub(crate) fn new(variables: Vec<(String, String)>) -> Self {
        Self(variables)
    }

    /// Returns the value of a variable.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let variable = self.0.iter().find(|(known, _)| known == name);
        variable.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }
}
