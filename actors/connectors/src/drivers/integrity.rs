//! Violations of a database's constraints, the same classes whatever the database.

use std::fmt;

use svc_engine::ErrorCode;

/// The kind of constraint that a write violates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Integrity {
    /// Another row has the value already.
    Unique,
    /// The row refers to one that does not exist, or others refer to it.
    #[cfg(feature = "sql")]
    ForeignKey,
    /// A value is missing.
    #[cfg(feature = "sql")]
    NotNull,
    /// A condition of the table does not hold.
    Check,
}

impl Integrity {
    /// Returns the class of the task error.
    pub(crate) const fn error_code(self) -> ErrorCode {
        match self {
            Self::Unique => ErrorCode::IntegrityUnique,
            #[cfg(feature = "sql")]
            Self::ForeignKey => ErrorCode::IntegrityForeignKey,
            #[cfg(feature = "sql")]
            Self::NotNull => ErrorCode::IntegrityNotNull,
            Self::Check => ErrorCode::IntegrityCheck,
        }
    }
}

impl fmt::Display for Integrity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unique => "unique",
            #[cfg(feature = "sql")]
            Self::ForeignKey => "foreign key",
            #[cfg(feature = "sql")]
            Self::NotNull => "not-null",
            Self::Check => "check",
        })
    }
}
