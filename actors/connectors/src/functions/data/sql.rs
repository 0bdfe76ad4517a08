//! Documents over SQL databases.

use std::sync::Arc;

use serde_json::{Map, Value};
use svc_dialect::sql::{self, SqlFlavour};
use svc_dialect::{DialectRefusal, DocumentExtent, Select, WriteChange, WriteDocument, WriteOperation};
use svc_engine::TaskError;
use svc_model::config::connector::DatabaseKind;

use super::document::{DocumentTask, WriteResult, guard, refusal_error};
use crate::drivers::sql::{
    BoundStatement, ResultBounds, RunStatements, SqlSettings, StatementAccess, StatementOrigin,
    StatementResult, TransactionMode, ValueForm,
};
use crate::functions::call::check_operation;
use crate::functions::sql::run;

/// Most rows of one relation that come along.
const MOST_INCLUDED: u64 = 100_000;

/// Reads rows, and those that come along, which see the same state of the database.
pub(super) async fn query(
    base: &DocumentTask,
    extent: &DocumentExtent,
    select: &Select,
) -> Result<Vec<Value>, TaskError> {
    let outcomes = run(&base.connectors, &base.connector, |settings| {
        check_operation(&settings.operations, "read", &base.connector)?;
        guard(extent, &settings.dialect, &base.connector)?;
        let flavour = flavour(settings);
        let related = (0..select.include.len()).map(|nth| sql::include(select, nth, flavour));
        let statements = std::iter::once(sql::select(select, flavour)).chain(related);
        let bind = |statement| bound_statement(statement, base.form);
        let statements = statements.map(|statement| statement.map(bind)).collect::<Result<_, _>>();
        let statements = statements.map_err(|refusal| refusal_error(&refusal, &base.connector))?;
        let rows = if select.include.is_empty() { select.limit } else { MOST_INCLUDED };
        let bounds = settings.bound_result(ResultBounds::new(rows, base.max_result_bytes));
        let access = StatementAccess::ReadWrite;
        Ok(RunStatements { statements, bounds: Some(bounds), transaction: TransactionMode::Snapshot, access })
    });
    let mut outcomes = outcomes.await?.into_iter().map(|outcome| outcome.rows);
    let mut rows = outcomes.next().unwrap_or_default();
    if let Some(hidden) = select.include.iter().find(|one| holds(&rows, &one.relation.name)) {
        let place = format!("query.include.{}", hidden.relation.name);
        let refusal =
            DialectRefusal::invalid(&place, "the rows have a column of that name; name the fields you want");
        return Err(refusal_error(&refusal, &base.connector));
    }
    sql::attach(&mut rows, select, outcomes);
    Ok(rows)
}

/// Counts rows.
pub(super) async fn count(
    base: &DocumentTask,
    extent: &DocumentExtent,
    select: &Select,
) -> Result<u64, TaskError> {
    let outcomes = run(&base.connectors, &base.connector, |settings| {
        check_operation(&settings.operations, "read", &base.connector)?;
        guard(extent, &settings.dialect, &base.connector)?;
        let statement = sql::count(select, flavour(settings));
        let statement = statement.map_err(|refusal| refusal_error(&refusal, &base.connector))?;
        let bounds = settings.bound_result(ResultBounds::new(1, base.max_result_bytes));
        Ok(RunStatements {
            statements: vec![bound_statement(statement, ValueForm::default())],
            bounds: Some(bounds),
            transaction: TransactionMode::Snapshot,
            access: StatementAccess::ReadWrite,
        })
    });
    let row = outcomes.await?.into_iter().flat_map(|outcome| outcome.rows).next().unwrap_or_default();
    Ok(row["count"].as_u64().unwrap_or_default())
}

/// Returns true if rows already have a column of this name.
fn holds(rows: &[Value], name: &str) -> bool {
    rows.first().is_some_and(|row| row.get(name).is_some())
}

/// Writes rows: all of them, or none.
pub(super) async fn write(
    base: &DocumentTask,
    write: &WriteDocument,
    change: &WriteChange,
) -> Result<WriteResult, TaskError> {
    let operation = write.operation();
    let returning = match change {
        WriteChange::Insert { returning, .. }
        | WriteChange::Update { returning, .. }
        | WriteChange::Delete { returning, .. } => returning.is_some(),
    };
    // As many as a read may answer; those of an insert came in with the message.
    let most_returned = match change {
        WriteChange::Insert { rows, .. } => base.max_limit.max(rows.len() as u64),
        WriteChange::Update { .. } | WriteChange::Delete { .. } => base.max_limit,
    };
    let outcomes = run(&base.connectors, &base.connector, |settings| {
        check_operation(&settings.operations, operation.name(), &base.connector)?;
        guard(write.extent(), &settings.dialect, &base.connector)?;
        let statements = sql::change(change, flavour(settings));
        let statements = statements.map_err(|refusal| refusal_error(&refusal, &base.connector))?;
        let inserts = match change {
            WriteChange::Insert { target, .. } => Some(Arc::clone(&target.physical)),
            WriteChange::Update { .. } | WriteChange::Delete { .. } => None,
        };
        let bind_statement = |sql::SqlStatement { sql, params }| {
            let origin = StatementOrigin::Document { inserts: inserts.clone() };
            BoundStatement { sql, params, origin, form: base.form }
        };
        let mut statements: Vec<_> = statements.into_iter().map(bind_statement).collect();
        if returning {
            // A second statement makes a transaction of it, which is undone where there are too many rows.
            let (sql, params) = ("SELECT 1".to_owned(), Vec::new());
            statements.push(bound_statement(sql::SqlStatement { sql, params }, base.form));
        }
        let bounds = settings.bound_result(ResultBounds::new(most_returned, base.max_result_bytes));
        let (bounds, transaction) = (returning.then_some(bounds), TransactionMode::Atomic);
        Ok(RunStatements { statements, bounds, transaction, access: StatementAccess::ReadWrite })
    });
    let mut outcomes = outcomes.await?;
    if returning {
        outcomes.pop();
    }
    let most = match change {
        WriteChange::Insert { rows, .. } => rows.len(),
        WriteChange::Update { .. } | WriteChange::Delete { .. } => usize::MAX,
    };
    Ok(WriteResult { output: answer(operation, most, returning, outcomes), partial: false })
}

/// Makes the output of a write of at most `most` rows; MySQL counts a row twice that an upsert changes.
fn answer(operation: WriteOperation, most: usize, returning: bool, outcomes: Vec<StatementResult>) -> Value {
    let mut answer = Map::new();
    answer.insert("status".to_owned(), "ok".into());
    let affected: u64 = outcomes.iter().map(|outcome| outcome.affected).sum();
    answer.insert("rows_affected".to_owned(), affected.min(most as u64).into());
    let inserts = matches!(operation, WriteOperation::Insert | WriteOperation::Upsert);
    let last = outcomes.iter().rev().find_map(|outcome| outcome.last_insert_id);
    if let Some(id) = last.filter(|_| inserts) {
        answer.insert("last_insert_id".to_owned(), id.into());
    }
    if returning {
        let rows = outcomes.into_iter().flat_map(|outcome| outcome.rows).collect();
        answer.insert("returning".to_owned(), Value::Array(rows));
    }
    Value::Object(answer)
}

fn flavour(settings: &SqlSettings) -> SqlFlavour {
    match settings.kind() {
        DatabaseKind::MySql => SqlFlavour::MySql,
        DatabaseKind::Sqlite => SqlFlavour::Sqlite,
        // A SQL connector never leads to MongoDB.
        DatabaseKind::Postgres | DatabaseKind::Mongo => SqlFlavour::Postgres,
    }
}

fn bound_statement(statement: sql::SqlStatement, form: ValueForm) -> BoundStatement {
    let origin = StatementOrigin::Document { inserts: None };
    BoundStatement { sql: statement.sql, params: statement.params, origin, form }
}
