//! Conditions of constant text, as the partial indexes state them. With a bound value, the planner could not know that an
//! index holds every row that is asked for.

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::expression::{AppearsOnTable, Expression, SelectableExpression, ValidGrouping, is_aggregate};
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::Bool;

use crate::schema::cron_occurrences;

/// The row waits for a worker.
#[derive(Clone, Copy, Debug, QueryId)]
pub(super) struct IsPending;

/// The row has a holder, whose lease may have expired.
#[derive(Clone, Copy, Debug, QueryId)]
pub(super) struct IsLeased;

macro_rules! condition {
    ($($name:ident: $sql:literal),*) => {$(
        impl Expression for $name {
            type SqlType = Bool;
        }
        impl AppearsOnTable<cron_occurrences::table> for $name {}
        impl SelectableExpression<cron_occurrences::table> for $name {}
        impl<GB> ValidGrouping<GB> for $name {
            type IsAggregate = is_aggregate::Never;
        }
        impl<DB: Backend> QueryFragment<DB> for $name {
            fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
                out.push_sql($sql);
                Ok(())
            }
        }
    )*};
}
condition!(IsPending: "cron_occurrences.status = 'pending'", IsLeased: "cron_occurrences.status IN ('claimed', 'running')");
