//! Conditions on rows, as texts and values.

use svc_model::Timestamp;

use super::{AnyOf, ComposedQuery};

/// A condition on a row.
#[derive(Clone, Debug)]
pub(in crate::repo) enum RowCondition {
    /// A column has one of the values.
    AnyOf(&'static str, AnyOf),
    /// One of two columns has one of the values; the second may be null.
    EitherAnyOf(&'static str, &'static str, AnyOf),
    /// A column is before or after an instant, as the operator says.
    Time(&'static str, &'static str, Timestamp),
    /// Text alone.
    Text(String),
}

impl RowCondition {
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

    /// Returns the number of values that the condition compares with.
    pub(super) fn count_values(&self) -> usize {
        match self {
            Self::AnyOf(_, values) => values.values().len(),
            Self::EitherAnyOf(_, _, values) => values.values().len().saturating_mul(2),
            Self::Time(..) | Self::Text(_) => 0,
        }
    }

    /// Returns the condition with its values in a list of the statement, and the values; `None` for one that has none.
    pub(super) fn in_list(&self, list: &str) -> Option<(Self, Vec<String>)> {
        let (Self::AnyOf(_, values) | Self::EitherAnyOf(_, _, values)) = self else { return None };
        let values = values.storable();
        if values.is_empty() {
            return None;
        }
        let is_in = |column: &str| format!("{column} IN (SELECT value FROM {list})");
        let shared = match self {
            Self::EitherAnyOf(one, other, _) => {
                format!("({} OR {other} IS NOT NULL AND {})", is_in(one), is_in(other))
            }
            Self::AnyOf(column, _) => is_in(column),
            Self::Time(..) | Self::Text(_) => return None,
        };
        Some((Self::Text(shared), values))
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
pub(in crate::repo) fn push_all<ST>(statement: &mut ComposedQuery<ST>, conditions: &[RowCondition]) {
    let mut link = " WHERE ";
    for condition in conditions {
        statement.push(link);
        condition.push_to(statement);
        link = " AND ";
    }
}
