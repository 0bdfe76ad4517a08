//! The error of binding and rendering a document.

/// A refusal at run time. Problems of the document itself are reported when it is read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DialectRefusal {
    /// A value has the wrong type, exceeds a bound, or needs something that this database does not support.
    #[error("{0}")]
    Invalid(String),
    /// The connector does not allow it; the text is for operators.
    #[error("{0}")]
    Denied(String),
}

impl DialectRefusal {
    /// Creates the refusal of a value at a place of the document.
    pub fn invalid(place: &str, why: impl std::fmt::Display) -> Self {
        Self::Invalid(format!("{place}: {why}"))
    }
}
