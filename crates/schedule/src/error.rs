//! Reasons to refuse a schedule.

use std::fmt;

use chrono::{DateTime, Utc};

/// The reason to refuse a schedule. The text is for the author of the schedule: it names the place and the
/// remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// The expression violates the grammar; at most one fault per field.
    #[error("{}", join_faults(faults))]
    Expression {
        /// The faults, in the order of the fields.
        faults: Vec<ExpressionFault>,
    },
    /// The zone is unknown or an abbreviation.
    #[error("{} is no time zone; {remedy}", excerpt(name))]
    Zone {
        /// The zone as given.
        name: String,
        /// The remedy for the author.
        remedy: String,
    },
    /// Every field is valid, but together they name no instant that comes soon enough.
    #[error(
        "no instant within five years of {}: the days and months it names do not meet; choose days that do",
        from.format("%Y-%m-%d")
    )]
    NeverFires {
        /// Start of the search.
        from: DateTime<Utc>,
    },
}

/// A fault at one place of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionFault {
    /// Name of the field.
    pub field: &'static str,
    /// Number of the field, from 1.
    pub number: usize,
    /// Position of its first character in the expression, from 1.
    pub position: usize,
    /// Description of the fault.
    pub problem: String,
    /// The remedy for the author.
    pub remedy: String,
}

impl fmt::Display for ExpressionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, number, position, problem, remedy } = self;
        write!(f, "{field} (field {number}, character {position}): {problem}; {remedy}")
    }
}

fn join_faults(faults: &[ExpressionFault]) -> String {
    faults.iter().map(ExpressionFault::to_string).collect::<Vec<_>>().join(". ")
}

/// Returns the beginning of the input, short enough for a message.
pub(crate) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 40;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("'{}…'", &text[..end]),
        None => format!("'{text}'"),
    }
}
