//! `db_read` and `db_write`: SQL as its author wrote it, with values bound to it.

use std::sync::Arc;

use futures_util::future::LocalBoxFuture;
use serde_json::{Value, json};
use svc_engine::catalogue::FunctionEntry;
use svc_engine::{CompileCx, CompiledTask, Function, Inputs, Path, TaskCx, TaskError, TaskOutcome};
use svc_functions::declarations::sql::is_insert;
use svc_functions::declarations::{DB_READ, DB_WRITE};

use super::QuerySettings;
use super::call::{Caller, call_with_breaker, check_operation};
use super::input::{self, text};
use super::sql::run;
use crate::directory::ConnectorDirectory;
use crate::drivers::sql::{
    BoundStatement, ResultBounds, RunStatements, StatementAccess, StatementOrigin, TransactionMode, ValueForm,
};

/// `db_read`.
pub(crate) struct DbRead {
    connectors: ConnectorDirectory,
    bounds: ResultBounds,
}

impl DbRead {
    /// A result beyond the bounds of `settings` is refused.
    pub(crate) fn new(connectors: ConnectorDirectory, settings: QuerySettings) -> Self {
        Self { connectors, bounds: ResultBounds::new(settings.max_limit, settings.max_result_bytes) }
    }
}

impl Function for DbRead {
    svc_functions::declared_by!(DB_READ);

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        compile(&DB_READ.entry, input, &self.connectors, Operation::Read(self.bounds), cx)
    }
}

/// `db_write`.
pub(crate) struct DbWrite {
    connectors: ConnectorDirectory,
}

impl DbWrite {
    pub(crate) fn new(connectors: ConnectorDirectory) -> Self {
        Self { connectors }
    }
}

impl Function for DbWrite {
    svc_functions::declared_by!(DB_WRITE);

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        compile(&DB_WRITE.entry, input, &self.connectors, Operation::Write, cx)
    }
}

#[derive(Clone, Copy)]
enum Operation {
    Read(ResultBounds),
    Write,
}

fn compile(
    table: &'static FunctionEntry,
    input: &Value,
    connectors: &ConnectorDirectory,
    operation: Operation,
    cx: &CompileCx<'_>,
) -> Result<Box<dyn CompiledTask>, String> {
    Ok(Box::new(DbTask {
        connectors: connectors.clone(),
        connector: text(table, input, "connector").unwrap_or_default().into(),
        query: text(table, input, "query").unwrap_or_default().to_owned(),
        inputs: Inputs::new(table, input, cx)?,
        form: ValueForm::from_names(text(table, input, "binary_as"), text(table, input, "numeric_as")),
        inserts: text(table, input, "query").is_some_and(is_insert),
        output: input::path(text(table, input, "output").unwrap_or("data"))?,
        operation,
    }))
}

struct DbTask {
    connectors: ConnectorDirectory,
    connector: Arc<str>,
    query: String,
    inputs: Inputs,
    form: ValueForm,
    /// True if the key of an inserted row is reported.
    inserts: bool,
    output: Path,
    operation: Operation,
}

impl DbTask {
    fn params(&self, cx: &TaskCx<'_>) -> Result<Vec<Value>, TaskError> {
        match self.inputs.get(cx, "params")? {
            Some(Value::Array(params)) => Ok(params),
            _ => Ok(Vec::new()),
        }
    }

    async fn outcome(&self, params: &[Value]) -> Result<Value, TaskError> {
        let (operation, bounds, access) = match self.operation {
            Operation::Read(bounds) => ("read", Some(bounds), StatementAccess::ReadOnly),
            Operation::Write => ("raw_write", None, StatementAccess::ReadWrite),
        };
        let outcomes = run(&self.connectors, &self.connector, |settings| {
            check_operation(&settings.operations, operation, &self.connector)?;
            let (sql, params) = (self.query.clone(), params.to_vec());
            let (origin, form) = (StatementOrigin::Author, self.form);
            let statement = BoundStatement { sql, params, origin, form };
            let bounds = bounds.map(|bounds| settings.bound_result(bounds));
            Ok(RunStatements {
                statements: vec![statement],
                bounds,
                transaction: TransactionMode::default(),
                access,
            })
        });
        let outcome = outcomes.await?.into_iter().next().unwrap_or_default();
        Ok(match self.operation {
            Operation::Read(_) => Value::Array(outcome.rows),
            Operation::Write => {
                let mut written = json!({"rows_affected": outcome.affected});
                if let Some(id) = outcome.last_insert_id.filter(|_| self.inserts) {
                    written["last_insert_id"] = id.into();
                }
                written
            }
        })
    }
}

impl CompiledTask for DbTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async move {
            let params = self.params(cx)?;
            let caller = Caller::of_task(cx);
            let call = self.outcome(&params);
            let value = call_with_breaker(&self.connectors, &caller, &self.connector, call).await?;
            cx.write(&self.output, value)?;
            Ok(TaskOutcome::Success)
        })
    }
}
