//! Conditions on rows, as texts and values.

use svc_model::Timestamp;

use super::{AnyOf, ComposedQuery};

/// A condition on a row.
#[derive(Clone, Debug)]
pub(in crate::repo) enum Condition {
    /// A column has one of the values.
    AnyOf(&'static str, AnyOf),
    /// One of two columns has one of the values; the second may be null.
    EitherAnyOf(&'static str, &'static str, AnyOf),
    /// A column is before or after an instant, as the operator says.
    Time(&'static str, &'static str, Timestamp),
    /// Text alone.
    Text(String),
}

impl Condition {
    /// Returns the conditions of a range of time, whose end has the operator.
    pub(in crate::repo) fn of_range(
        column: &'static str,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
        until_operator: &'static str,
    ) -> Vec<Self> {
        let since = since.map(|instant| Self::Time(column, ">=", instant));
        since.into_iter().chain(until.map(|instant| Self::Time(column, until_operator, instant))).collect()
    }

    /// Appends the condition to a statement.
    pub(super) fn push_to<ST>(&self, statement: &mut ComposedQuery<ST>) {
        match self {
            Self::AnyOf(column, values) => statement.push_any_of(column, values),
            Self::EitherAnyOf(one, other, values) => {
                statement.push("(");
                statement.push_any_of(one, values);
                statement.push(format!(" OR {other} IS NOT NULL AND "));
                statement.push_any_of(other, values);
                statement.push(")");
            }
            Self::Time(column, operator, instant) => {
                statement.push(format!("{column} {operator} "));
                statement.push_time(instant.naive());
            }
            Self::Text(text) => statement.push(text.clone()),
        }
    }
}

/// Appends all conditions, the first behind `WHERE`.
pub(in crate::repo) fn push_all<ST>(statement: &mut ComposedQuery<ST>, conditions: &[Condition]) {
    let mut link = " WHERE ";
    for condition in conditions {
        statement.push(link);
        condition.push_to(statement);
        link = " AND ";
    }
}
