//! Why a document cannot be carried out.

/// A refusal at run time; what was wrong with the document itself was said when it was read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DialectRefusal {
    /// A value that does not fit, a bound that is passed, or something this database cannot do.
    #[error("{0}")]
    Invalid(String),
    /// The connector does not allow it; the text is for operators.
    #[error("{0}")]
    Denied(String),
}

impl DialectRefusal {
    /// A value at a place of the document.
    pub fn at(place: &str, why: impl std::fmt::Display) -> Self {
        Self::Invalid(format!("{place}: {why}"))
    }
}
