//! Changes of traces for SQLite, as statements whose text is constant and which are prepared once: the query builder
//! builds the text of its own anew for each row.
//!
//! The clock of the database is read once for a batch, which costs less than a call of `strftime` for each column.

use chrono::NaiveDateTime;
use diesel::QueryResult;
use diesel::RunQueryDsl;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Double, Nullable, Text};
use diesel::sqlite::{Sqlite, SqliteConnection};
use svc_model::WorkflowVersion;
use uuid::Uuid;

use crate::clock;
use crate::repo::error_groups::GroupStatement;
use crate::repo::traces::open::InsertedTrace;
use crate::repo::traces::waiting::WaitStatement;
use crate::repo::traces::{NewTrace, Ownership, TraceEnd, TraceWrite};

/// Applies the changes like [`TraceWrite::apply_all`].
pub(super) fn apply(changes: &[TraceWrite], c: &mut SqliteConnection) -> QueryResult<Vec<bool>> {
    let now = clock::sqlite_now();
    insert_all(changes, now, c)?;
    changes.iter().map(|change| apply_one(change, now, c)).collect()
}

/// Inserts the new rows, several with one statement: SQLite opens each index of the table once for a statement, whether
/// a row is in it or not.
fn insert_all(changes: &[TraceWrite], now: NaiveDateTime, c: &mut SqliteConnection) -> QueryResult<()> {
    let rows = changes.iter().filter_map(TraceWrite::inserted_row);
    let (plain, others): (Vec<_>, Vec<_>) = rows.partition(|row| row.is_plain());
    insert_rows::<true>(&plain, now, c)?;
    insert_rows::<false>(&others, now, c)?;
    for row in plain.into_iter().chain(others).map(InsertedTrace::row) {
        if let Some(terms) = &row.wait {
            WaitStatement::new(row, terms, now).execute(c)?;
        }
    }
    Ok(())
}

fn insert_rows<const PLAIN: bool>(
    rows: &[InsertedTrace<'_>],
    now: NaiveDateTime,
    c: &mut SqliteConnection,
) -> QueryResult<()> {
    let (sixteens, rest) = rows.as_chunks::<16>();
    let (fours, rest) = rest.as_chunks::<4>();
    let (ones, _) = rest.as_chunks::<1>();
    insert_chunks::<16, PLAIN>(sixteens, now, c)?;
    insert_chunks::<4, PLAIN>(fours, now, c)?;
    insert_chunks::<1, PLAIN>(ones, now, c)
}

fn insert_chunks<const ROWS: usize, const PLAIN: bool>(
    chunks: &[[InsertedTrace<'_>; ROWS]],
    now: NaiveDateTime,
    c: &mut SqliteConnection,
) -> QueryResult<()> {
    for rows in chunks {
        InsertStatement::<ROWS, PLAIN>::new(rows, now).execute(c)?;
    }
    Ok(())
}

/// Applies a change of a row that is there.
fn apply_one(change: &TraceWrite, now: NaiveDateTime, c: &mut SqliteConnection) -> QueryResult<bool> {
    let changed = match change {
        TraceWrite::Insert(_) | TraceWrite::InsertOpen(_) => return Ok(true),
        TraceWrite::Start(id, workflow, claim) => {
            StartStatement::new(*id, workflow.as_ref(), claim.as_ref(), now).execute(c)
        }
        TraceWrite::Recover(id, claim) => RecoverStatement::new(*id, claim, now).execute(c),
        TraceWrite::Finish(end) => FinishStatement::new(end, now).execute(c),
        TraceWrite::Group(group) => GroupStatement::new(group, now).execute(c),
    };
    changed.map(|rows| rows > 0)
}

/// Returns an instant as the columns of SQLite store it.
fn stored_time(instant: NaiveDateTime) -> String {
    instant.to_string()
}

/// Inserts as many rows; plain ones without the columns that are null in them.
struct InsertStatement<'a, const ROWS: usize, const PLAIN: bool> {
    rows: [InsertedRow<'a>; ROWS],
    now: String,
}

impl<'a, const ROWS: usize, const PLAIN: bool> InsertStatement<'a, ROWS, PLAIN> {
    fn new(rows: &[InsertedTrace<'a>; ROWS], now: NaiveDateTime) -> Self {
        Self { rows: rows.map(InsertedRow::new), now: stored_time(now) }
    }
}

/// The values of a new row that its columns do not store as they are.
struct InsertedRow<'a> {
    id: String,
    trace: &'a NewTrace,
    mode: &'static str,
    status: &'static str,
    result: Option<&'a str>,
    duration_ms: Option<f64>,
    task_trace: Option<&'a str>,
    channel_id: Option<&'a str>,
    owner: Option<&'a str>,
    workflow: Option<&'a str>,
    workflow_version: Option<i64>,
    error_group: Option<&'a str>,
    started_at: Option<String>,
    completed_at: Option<String>,
}

impl<'a> InsertedRow<'a> {
    fn new(inserted: InsertedTrace<'a>) -> Self {
        let (trace, workflow) = (inserted.row(), inserted.workflow());
        Self {
            id: trace.id.to_string(),
            trace,
            mode: trace.mode.name(),
            status: inserted.status().name(),
            result: inserted.result_json(),
            duration_ms: inserted.duration_ms(),
            task_trace: inserted.task_trace_json(),
            channel_id: trace.channel_id.as_deref(),
            owner: trace.owner.as_deref(),
            workflow: workflow.map(|workflow| &*workflow.id),
            workflow_version: workflow.map(|workflow| workflow.version),
            error_group: trace.error_group.as_ref().map(|group| &*group.id),
            started_at: inserted.started_at().map(stored_time),
            completed_at: inserted.completed_at().map(stored_time),
        }
    }

    /// Pushes the values, in parentheses.
    fn push_values<'b, const PLAIN: bool>(
        &'b self,
        now: &'b String,
        out: &mut AstPass<'_, 'b, Sqlite>,
    ) -> QueryResult<()> {
        out.push_sql("(");
        out.push_bind_param::<Text, _>(&self.id)?;
        for text in [&*self.trace.channel, self.mode, self.status] {
            out.push_sql(", ");
            out.push_bind_param::<Text, _>(text)?;
        }
        for text in [&self.channel_id, &self.workflow, &self.result, &self.task_trace] {
            out.push_sql(", ");
            out.push_bind_param::<Nullable<Text>, _>(text)?;
        }
        let NewTrace { input_json, request_id, run_key, .. } = self.trace;
        for text in [input_json, request_id, run_key, &self.started_at, &self.completed_at] {
            out.push_sql(", ");
            out.push_bind_param::<Nullable<Text>, _>(text)?;
        }
        out.push_sql(", ");
        out.push_bind_param::<Nullable<Double>, _>(&self.duration_ms)?;
        out.push_sql(", ");
        out.push_bind_param::<Nullable<BigInt>, _>(&self.workflow_version)?;
        for _ in ["created_at", "updated_at"] {
            out.push_sql(", ");
            out.push_bind_param::<Text, _>(now)?;
        }
        if !PLAIN {
            let NewTrace { error_message, access_token_hash, distributed_trace_id, .. } = self.trace;
            for text in [error_message, access_token_hash, distributed_trace_id] {
                out.push_sql(", ");
                out.push_bind_param::<Nullable<Text>, _>(text)?;
            }
            for text in [&self.owner, &self.trace.error_code, &self.error_group] {
                out.push_sql(", ");
                out.push_bind_param::<Nullable<Text>, _>(text)?;
            }
        }
        out.push_sql(")");
        Ok(())
    }
}

/// Changes pending to running.
struct StartStatement<'a> {
    id: String,
    workflow: Option<&'a str>,
    workflow_version: Option<i64>,
    claim: OwnershipCondition<'a>,
    now: String,
}

impl<'a> StartStatement<'a> {
    fn new(
        id: Uuid,
        workflow: Option<&'a WorkflowVersion>,
        claim: Option<&'a Ownership>,
        now: NaiveDateTime,
    ) -> Self {
        Self {
            id: id.to_string(),
            workflow: workflow.map(|workflow| &*workflow.id),
            workflow_version: workflow.map(|workflow| workflow.version),
            claim: OwnershipCondition::from_claim(claim),
            now: stored_time(now),
        }
    }
}

/// Changes pending or running to running with the incremented number of recoveries. Idempotent.
struct RecoverStatement<'a> {
    id: String,
    owner: &'a str,
    recoveries: i64,
    now: String,
}

impl<'a> RecoverStatement<'a> {
    fn new(id: Uuid, claim: &'a Ownership, now: NaiveDateTime) -> Self {
        let now = stored_time(now);
        Self { id: id.to_string(), owner: &claim.owner, recoveries: claim.recoveries, now }
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
struct FinishStatement<'a> {
    id: String,
    end: &'a TraceEnd,
    status: &'static str,
    workflow: Option<&'a str>,
    workflow_version: Option<i64>,
    error_group: Option<&'a str>,
    claim: OwnershipCondition<'a>,
    /// Start time of a row that was never marked as running.
    began: String,
    now: String,
}

impl<'a> FinishStatement<'a> {
    fn new(end: &'a TraceEnd, now: NaiveDateTime) -> Self {
        let took = chrono::Duration::nanoseconds(nanoseconds(end.duration_ms.unwrap_or_default()));
        let workflow = end.workflow.as_ref();
        Self {
            id: end.id.to_string(),
            end,
            status: end.status.name(),
            workflow: workflow.map(|workflow| &*workflow.id),
            workflow_version: workflow.map(|workflow| workflow.version),
            error_group: end.error_group.as_ref().map(|group| &*group.id),
            claim: OwnershipCondition::from_claim(end.ownership.as_ref()),
            began: stored_time(now.checked_sub_signed(took).unwrap_or(now)),
            now: stored_time(now),
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a run lasts less than centuries")]
fn nanoseconds(milliseconds: f64) -> i64 {
    (milliseconds * 1e6) as i64
}

impl<const ROWS: usize, const PLAIN: bool> QueryFragment<Sqlite> for InsertStatement<'_, ROWS, PLAIN> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql(
            "INSERT OR FAIL INTO traces (id, channel, mode, status, channel_id, workflow_id, result_json, \
             task_trace_json, input_json, request_id, run_key, started_at, completed_at, duration_ms, \
             workflow_version, created_at, updated_at",
        );
        if !PLAIN {
            out.push_sql(
                ", error_message, access_token_hash, distributed_trace_id, owner, error_code, error_group",
            );
        }
        out.push_sql(") VALUES ");
        for (index, row) in self.rows.iter().enumerate() {
            if index > 0 {
                out.push_sql(", ");
            }
            row.push_values::<PLAIN>(&self.now, &mut out)?;
        }
        Ok(())
    }
}

impl<const ROWS: usize, const PLAIN: bool> QueryId for InsertStatement<'_, ROWS, PLAIN> {
    type QueryId = InsertStatement<'static, ROWS, PLAIN>;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl<C, const ROWS: usize, const PLAIN: bool> RunQueryDsl<C> for InsertStatement<'_, ROWS, PLAIN> {}

// `OR FAIL`: a table with a trigger otherwise makes SQLite keep a journal for each statement, to undo what a constraint
// stops halfway. A batch is rolled back as a whole then.

impl QueryFragment<Sqlite> for OwnershipCondition<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql(" AND coalesce(owner, '') = coalesce(");
        out.push_bind_param::<Nullable<Text>, _>(&self.owner)?;
        out.push_sql(", owner, '') AND recoveries = coalesce(");
        out.push_bind_param::<Nullable<BigInt>, _>(&self.recoveries)?;
        out.push_sql(", recoveries)");
        Ok(())
    }
}

impl QueryFragment<Sqlite> for RecoverStatement<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql("UPDATE OR FAIL traces SET status = 'running', recoveries = ");
        out.push_bind_param::<BigInt, _>(&self.recoveries)?;
        for column in [", started_at = ", ", updated_at = "] {
            out.push_sql(column);
            out.push_bind_param::<Text, _>(&self.now)?;
        }
        out.push_sql(" WHERE status IN ('pending', 'running') AND id = ");
        out.push_bind_param::<Text, _>(&self.id)?;
        out.push_sql(" AND owner = ");
        out.push_bind_param::<Text, _>(self.owner)?;
        out.push_sql(" AND recoveries <= ");
        out.push_bind_param::<BigInt, _>(&self.recoveries)
    }
}

impl QueryFragment<Sqlite> for StartStatement<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql("UPDATE OR FAIL traces SET status = 'running', workflow_id = coalesce(");
        out.push_bind_param::<Nullable<Text>, _>(&self.workflow)?;
        out.push_sql(", workflow_id), workflow_version = coalesce(");
        out.push_bind_param::<Nullable<BigInt>, _>(&self.workflow_version)?;
        out.push_sql(", workflow_version)");
        for column in [", started_at = ", ", updated_at = "] {
            out.push_sql(column);
            out.push_bind_param::<Text, _>(&self.now)?;
        }
        out.push_sql(" WHERE status = 'pending' AND id = ");
        out.push_bind_param::<Text, _>(&self.id)?;
        self.claim.walk_ast(out)
    }
}

impl QueryFragment<Sqlite> for FinishStatement<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql("UPDATE OR FAIL traces SET status = ");
        out.push_bind_param::<Text, _>(self.status)?;
        out.push_sql(", result_json = ");
        out.push_bind_param::<Nullable<Text>, _>(&self.end.result_json)?;
        out.push_sql(", error_message = ");
        out.push_bind_param::<Nullable<Text>, _>(&self.end.error_message)?;
        out.push_sql(", error_code = ");
        out.push_bind_param::<Nullable<Text>, _>(&self.end.error_code)?;
        out.push_sql(", error_group = ");
        out.push_bind_param::<Nullable<Text>, _>(&self.error_group)?;
        out.push_sql(", duration_ms = ");
        out.push_bind_param::<Nullable<Double>, _>(&self.end.duration_ms)?;
        out.push_sql(", task_trace_json = ");
        out.push_bind_param::<Nullable<Text>, _>(&self.end.task_trace_json)?;
        // A run that ended without a result keeps the workflow it was started with.
        out.push_sql(", workflow_id = coalesce(");
        out.push_bind_param::<Nullable<Text>, _>(&self.workflow)?;
        out.push_sql(", workflow_id), workflow_version = coalesce(");
        out.push_bind_param::<Nullable<BigInt>, _>(&self.workflow_version)?;
        out.push_sql(", workflow_version), started_at = coalesce(started_at, ");
        out.push_bind_param::<Text, _>(&self.began)?;
        out.push_sql(")");
        for column in [", completed_at = ", ", updated_at = "] {
            out.push_sql(column);
            out.push_bind_param::<Text, _>(&self.now)?;
        }
        out.push_sql(" WHERE status IN ('pending', 'running') AND id = ");
        out.push_bind_param::<Text, _>(&self.id)?;
        self.claim.walk_ast(out)
    }
}

macro_rules! prepared_once {
    ($($statement:ident),*) => {$(
        impl QueryId for $statement<'_> {
            type QueryId = $statement<'static>;
            const HAS_STATIC_QUERY_ID: bool = true;
        }

        impl<C> RunQueryDsl<C> for $statement<'_> {}
    )*};
}
prepared_once!(StartStatement, RecoverStatement, FinishStatement);
