//! Documents over SQL databases.

use serde_json::{Map, Value};
use svc_dialect::sql::{self, Flavour};
use svc_dialect::{Change, Extent, Operation, Refusal, Select, Write};
use svc_engine::{ErrorCode, TaskError};
use svc_model::config::connector::Database;
use tokio::time::timeout;

use super::write::Written;
use super::{Base, guard, refused};
use crate::drivers::sql::{Outcome, Run, SqlDriver, SqlSettings, Statement};
use crate::functions::call::{gate, kind};
use crate::functions::sql::run;

/// Most rows of one relation that come along.
const MOST_INCLUDED: usize = 100_000;
/// Most rows of an update or a delete that are answered.
const MOST_RETURNED: usize = 10_000;

/// Reads rows, and those that come along.
pub(super) async fn query(base: &Base, extent: &Extent, select: &Select) -> Result<Vec<Value>, TaskError> {
    if select.include.is_empty() {
        return rows(base, extent, select).await;
    }
    // The deadline is one for both round trips.
    let loaded = base.connectors.find(&base.connector)?;
    let limit = kind::<SqlDriver>(&base.connector, &loaded)?.settings.query_timeout;
    let reading = async {
        let mut rows = rows(base, extent, select).await?;
        if let Some(hidden) = select.include.iter().find(|one| holds(&rows, &one.relation.name)) {
            let place = format!("query.include.{}", hidden.relation.name);
            let refusal =
                Refusal::at(&place, "the rows have a column of that name; name the fields you want");
            return Err(refused(&refusal, &base.connector));
        }
        let related = related(base, select, &rows).await?;
        sql::attach(&mut rows, select, related);
        Ok(rows)
    };
    timeout(limit, reading).await.unwrap_or_else(|_| {
        let message = format!("connector '{}': not done within {} ms", base.connector, limit.as_millis());
        Err(TaskError::new(ErrorCode::Timeout, message))
    })
}

/// Whether rows have a column of this name already.
fn holds(rows: &[Value], name: &str) -> bool {
    rows.first().is_some_and(|row| row.get(name).is_some())
}

async fn rows(base: &Base, extent: &Extent, select: &Select) -> Result<Vec<Value>, TaskError> {
    let outcomes = run(&base.connectors, &base.connector, |settings| {
        gate(&settings.gates, "read", &base.connector)?;
        guard(extent, &settings.dialect, &base.connector)?;
        let statement = sql::select(select, flavour(settings));
        let statement = statement.map_err(|refusal| refused(&refusal, &base.connector))?;
        Ok(Run { statements: vec![sent(statement)], cap: usize::try_from(select.limit).ok() })
    });
    Ok(outcomes.await?.into_iter().next().unwrap_or_default().rows)
}

/// The related rows of each included relation.
async fn related(base: &Base, select: &Select, rows: &[Value]) -> Result<Vec<Vec<Value>>, TaskError> {
    let keys: Vec<_> = (0..select.include.len()).map(|nth| sql::keys(rows, select, nth)).collect();
    let asked = || select.include.iter().zip(&keys).filter(|(_, keys)| !keys.is_empty());
    if asked().next().is_none() {
        return Ok(vec![Vec::new(); keys.len()]);
    }
    let outcomes = run(&base.connectors, &base.connector, |settings| {
        let statements =
            asked().map(|(included, keys)| sql::include(included, keys, flavour(settings)).map(sent));
        let statements: Result<Vec<_>, _> = statements.collect();
        let statements = statements.map_err(|refusal| refused(&refusal, &base.connector))?;
        Ok(Run { statements, cap: Some(MOST_INCLUDED) })
    });
    let mut outcomes = outcomes.await?.into_iter();
    let found = keys
        .iter()
        .map(|keys| if keys.is_empty() { Vec::new() } else { outcomes.next().unwrap_or_default().rows });
    Ok(found.collect())
}

/// Writes rows: all of them, or none.
pub(super) async fn write(base: &Base, write: &Write, change: &Change) -> Result<Written, TaskError> {
    let operation = write.operation();
    let returning = match change {
        Change::Insert { returning, .. }
        | Change::Update { returning, .. }
        | Change::Delete { returning, .. } => returning.is_some(),
    };
    let outcomes = run(&base.connectors, &base.connector, |settings| {
        gate(&settings.gates, operation.name(), &base.connector)?;
        guard(write.extent(), &settings.dialect, &base.connector)?;
        let statements = sql::change(change, flavour(settings));
        let statements = statements.map_err(|refusal| refused(&refusal, &base.connector))?;
        let mut statements: Vec<_> = statements.into_iter().map(sent).collect();
        if returning {
            // A second statement makes a transaction of it, which is undone where there are too many rows.
            statements.push(Statement { sql: "SELECT 1".to_owned(), params: Vec::new() });
        }
        Ok(Run { statements, cap: returning.then_some(MOST_RETURNED) })
    });
    let mut outcomes = outcomes.await?;
    if returning {
        outcomes.pop();
    }
    Ok(Written { output: answer(operation, returning, outcomes), partial: false })
}

fn answer(operation: Operation, returning: bool, outcomes: Vec<Outcome>) -> Value {
    let mut answer = Map::new();
    answer.insert("status".to_owned(), "ok".into());
    let affected: u64 = outcomes.iter().map(|outcome| outcome.affected).sum();
    answer.insert("rows_affected".to_owned(), affected.into());
    let inserts = matches!(operation, Operation::Insert | Operation::Upsert);
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

fn flavour(settings: &SqlSettings) -> Flavour {
    match settings.database() {
        Database::MySql => Flavour::MySql,
        Database::Sqlite => Flavour::Sqlite,
        // A SQL connector never leads to MongoDB.
        Database::Postgres | Database::Mongo => Flavour::Postgres,
    }
}

fn sent(statement: sql::Statement) -> Statement {
    Statement { sql: statement.sql, params: statement.params }
}
