//! Why a schedule is refused.

use std::fmt;

use chrono::{DateTime, Utc};

/// Why a schedule is refused. The text is for the author of the schedule: it says where and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// The expression is outside the grammar: at most one fault for each field.
    #[error("{}", listed(faults))]
    Expression {
        /// Faults in the order of the fields.
        faults: Vec<ExpressionFault>,
    },
    /// The zone has no name of an area and a place.
    #[error("'{name}' is no time zone; {remedy}")]
    Zone {
        /// The zone as it was given.
        name: String,
        /// Suggested replacement.
        remedy: String,
    },
    /// Every field is well-formed, but together they name no instant that comes soon enough.
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
    /// The name of the field.
    pub field: &'static str,
    /// The number of the field, from 1.
    pub number: usize,
    /// The character of the expression it begins at, from 1.
    pub position: usize,
    /// Description of the fault.
    pub problem: String,
    /// Suggested replacement.
    pub remedy: String,
}

impl fmt::Display for ExpressionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, number, position, problem, remedy } = self;
        write!(f, "{field} (field {number}, character {position}): {problem}; {remedy}")
    }
}

fn listed(faults: &[ExpressionFault]) -> String {
    faults.iter().map(ExpressionFault::to_string).collect::<Vec<_>>().join(". ")
}

/// A piece of what was written, short enough for a message.
pub(crate) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 40;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("'{}…'", &text[..end]),
        None => format!("'{text}'"),
    }
}
