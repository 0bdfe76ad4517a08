//! Changes of one trace, as statements that are prepared once: the query builder does not cache its updates.

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Double, Nullable, Text};
use diesel::sqlite::Sqlite;
use uuid::Uuid;

use crate::clock::{FromNow, Now};
use crate::repo::traces::{Ownership, TraceEnd};

/// Changes pending to running.
pub(super) struct StartStatement<'a> {
    id: String,
    claim: OwnershipCondition<'a>,
}

impl<'a> StartStatement<'a> {
    pub(super) fn new(id: Uuid, claim: &'a Option<Ownership>) -> Self {
        Self { id: id.to_string(), claim: OwnershipCondition::from_claim(claim.as_ref()) }
    }
}

/// Changes pending or running to running with the incremented number of recoveries. Idempotent.
pub(super) struct RecoverStatement<'a> {
    id: String,
    owner: &'a str,
    recoveries: i64,
}

impl<'a> RecoverStatement<'a> {
    pub(super) fn new(id: Uuid, claim: &'a Ownership) -> Self {
        Self { id: id.to_string(), owner: &claim.owner, recoveries: claim.recoveries }
    }
}

/// The claim that a row must still have, as a condition. An absent value compares the column with itself.
struct OwnershipCondition<'a> {
    owner: Option<&'a str>,
    recoveries: Option<i64>,
}

impl<'a> OwnershipCondition<'a> {
    fn from_claim(claim: Option<&'a Ownership>) -> Self {
        Self { owner: claim.map(|claim| &*claim.owner), recoveries: claim.map(|claim| claim.recoveries) }
    }
}

/// Changes pending or running to the outcome.
pub(super) struct FinishStatement<'a> {
    id: String,
    end: &'a TraceEnd,
    status: &'static str,
    workflow: Option<&'a str>,
    workflow_version: Option<i64>,
    claim: OwnershipCondition<'a>,
    /// Start time of a row that was never marked as running.
    began: FromNow,
}

impl<'a> FinishStatement<'a> {
    pub(super) fn new(end: &'a TraceEnd) -> Self {
        let began = FromNow::seconds(-end.duration_ms.unwrap_or_default() / 1000.0);
        let claim = OwnershipCondition::from_claim(end.ownership.as_ref());
        let workflow = end.workflow.as_ref();
        Self {
            id: end.id.to_string(),
            end,
            status: end.status.name(),
            workflow: workflow.map(|workflow| &*workflow.id),
            workflow_version: workflow.map(|workflow| workflow.version),
            claim,
            began,
        }
    }
}

macro_rules! statements {
    ($($db:ty),*) => {$(
        impl QueryFragment<$db> for OwnershipCondition<'_> {
            fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, $db>) -> QueryResult<()> {
                out.push_sql(" AND coalesce(owner, '') = coalesce(");
                out.push_bind_param::<Nullable<Text>, _>(&self.owner)?;
                out.push_sql(", owner, '') AND recoveries = coalesce(");
                out.push_bind_param::<Nullable<BigInt>, _>(&self.recoveries)?;
                out.push_sql(", recoveries)");
                Ok(())
            }
        }

        impl QueryFragment<$db> for RecoverStatement<'_> {
            fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, $db>) -> QueryResult<()> {
                out.push_sql("UPDATE traces SET status = 'running', recoveries = ");
                out.push_bind_param::<BigInt, _>(&self.recoveries)?;
                out.push_sql(", started_at = ");
                QueryFragment::<$db>::walk_ast(&Now, out.reborrow())?;
                out.push_sql(", updated_at = ");
                QueryFragment::<$db>::walk_ast(&Now, out.reborrow())?;
                out.push_sql(" WHERE status IN ('pending', 'running') AND id = ");
                out.push_bind_param::<Text, _>(&self.id)?;
                out.push_sql(" AND owner = ");
                out.push_bind_param::<Text, _>(self.owner)?;
                out.push_sql(" AND recoveries <= ");
                out.push_bind_param::<BigInt, _>(&self.recoveries)
            }
        }

        impl QueryFragment<$db> for StartStatement<'_> {
            fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, $db>) -> QueryResult<()> {
                out.push_sql("UPDATE traces SET status = 'running', started_at = ");
                QueryFragment::<$db>::walk_ast(&Now, out.reborrow())?;
                out.push_sql(", updated_at = ");
                QueryFragment::<$db>::walk_ast(&Now, out.reborrow())?;
                out.push_sql(" WHERE status = 'pending' AND id = ");
                out.push_bind_param::<Text, _>(&self.id)?;
                QueryFragment::<$db>::walk_ast(&self.claim, out.reborrow())
            }
        }

        impl QueryFragment<$db> for FinishStatement<'_> {
            fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, $db>) -> QueryResult<()> {
                out.push_sql("UPDATE traces SET status = ");
                out.push_bind_param::<Text, _>(self.status)?;
                out.push_sql(", result_json = ");
                out.push_bind_param::<Nullable<Text>, _>(&self.end.result_json)?;
                out.push_sql(", error_message = ");
                out.push_bind_param::<Nullable<Text>, _>(&self.end.error_message)?;
                out.push_sql(", duration_ms = ");
                out.push_bind_param::<Nullable<Double>, _>(&self.end.duration_ms)?;
                out.push_sql(", task_trace_json = ");
                out.push_bind_param::<Nullable<Text>, _>(&self.end.task_trace_json)?;
                out.push_sql(", workflow_id = ");
                out.push_bind_param::<Nullable<Text>, _>(&self.workflow)?;
                out.push_sql(", workflow_version = ");
                out.push_bind_param::<Nullable<BigInt>, _>(&self.workflow_version)?;
                out.push_sql(", started_at = coalesce(started_at, ");
                QueryFragment::<$db>::walk_ast(&self.began, out.reborrow())?;
                out.push_sql("), completed_at = ");
                QueryFragment::<$db>::walk_ast(&Now, out.reborrow())?;
                out.push_sql(", updated_at = ");
                QueryFragment::<$db>::walk_ast(&Now, out.reborrow())?;
                out.push_sql(" WHERE status IN ('pending', 'running') AND id = ");
                out.push_bind_param::<Text, _>(&self.id)?;
                QueryFragment::<$db>::walk_ast(&self.claim, out.reborrow())
            }
        }
    )*};
}
statements!(Sqlite, Pg);

impl QueryId for StartStatement<'_> {
    type QueryId = StartStatement<'static>;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl QueryId for RecoverStatement<'_> {
    type QueryId = RecoverStatement<'static>;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl QueryId for FinishStatement<'_> {
    type QueryId = FinishStatement<'static>;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl<C> diesel::RunQueryDsl<C> for StartStatement<'_> {}
impl<C> diesel::RunQueryDsl<C> for RecoverStatement<'_> {}
impl<C> diesel::RunQueryDsl<C> for FinishStatement<'_> {}
