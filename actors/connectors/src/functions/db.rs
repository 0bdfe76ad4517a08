//! `db_read` and `db_write`: SQL as its author wrote it, with values bound to it.

use std::sync::Arc;

use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value, json};
use svc_engine::catalogue::{ConnectorRequirement, FunctionEntry, InputField, QueryLanguage};
use svc_engine::{CompileCx, CompiledTask, Function, Inputs, Path, TaskCx, TaskError, TaskOutcome};
use svc_model::{ConnectorType, FieldError};

use super::QuerySettings;
use super::call::{Caller, call_with_breaker, check_operation};
use super::input::{self, text};
use super::sql::run;
use crate::directory::ConnectorDirectory;
use crate::drivers::sql::{
    BinaryForm, BoundStatement, ResultBounds, RunStatements, StatementAccess, StatementOrigin,
    TransactionMode, is_blank, refused_everywhere,
};

const SQL_PARAMS: InputField = InputField::array(
    "params",
    "Values bound to the placeholders, in order; objects and arrays bind as JSON",
)
.resolvable();

/// The catalogue entry of `db_read`.
static READ_ENTRY: FunctionEntry = FunctionEntry {
    retry_safety: "read",
    fields: &[
        InputField::connector("SQL connector"),
        InputField::string("query", "SQL with the placeholders of the driver").required(),
        SQL_PARAMS,
        input::BINARY_AS,
        InputField::output(),
    ],
    ..FunctionEntry::connector(
        "db_read",
        "Runs a SQL query and returns its rows as objects",
        ConnectorRequirement::new(&[ConnectorType::Db]).speaking(QueryLanguage::Sql),
    )
};

/// The catalogue entry of `db_write`.
static WRITE_ENTRY: FunctionEntry = FunctionEntry {
    retry_safety: "depends_on:query",
    fields: &[
        InputField::connector("SQL connector"),
        InputField::string("query", "SQL with the placeholders of the driver").required(),
        SQL_PARAMS,
        InputField::output(),
    ],
    ..FunctionEntry::connector(
        "db_write",
        "Runs a SQL statement that writes and returns the number of rows affected",
        ConnectorRequirement::new(&[ConnectorType::Db]).speaking(QueryLanguage::Sql),
    )
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
    fn entry(&self) -> &'static FunctionEntry {
        &READ_ENTRY
    }

    fn check(&self, input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
        check(input, at, errors);
        let query = input.get("query").and_then(Value::as_str).filter(|query| !is_blank(query));
        if let Some(reason) = query.and_then(refused_everywhere) {
            errors.push(FieldError::invalid(format!("{at}.query"), reason));
        }
    }

    fn compile(&self, input: &Value, _: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        compile(&READ_ENTRY, input, &self.connectors, Operation::Read(self.bounds))
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
    fn entry(&self) -> &'static FunctionEntry {
        &WRITE_ENTRY
    }

    fn check(&self, input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
        check(input, at, errors);
    }

    fn compile(&self, input: &Value, _: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        compile(&WRITE_ENTRY, input, &self.connectors, Operation::Write)
    }
}

#[derive(Clone, Copy)]
enum Operation {
    Read(ResultBounds),
    Write,
}

fn check(input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
    if input.get("query").and_then(Value::as_str).is_some_and(is_blank) {
        errors.push(FieldError::invalid(format!("{at}.query"), "there is no statement in it"));
    }
}

fn compile(
    table: &'static FunctionEntry,
    input: &Value,
    connectors: &ConnectorDirectory,
    operation: Operation,
) -> Result<Box<dyn CompiledTask>, String> {
    Ok(Box::new(DbTask {
        connectors: connectors.clone(),
        connector: text(table, input, "connector").unwrap_or_default().into(),
        query: text(table, input, "query").unwrap_or_default().to_owned(),
        inputs: Inputs::new(table, input),
        binary: BinaryForm::from_name(text(table, input, "binary_as")),
        output: input::path(text(table, input, "output").unwrap_or("data"))?,
        operation,
    }))
}

struct DbTask {
    connectors: ConnectorDirectory,
    connector: Arc<str>,
    query: String,
    inputs: Inputs,
    binary: BinaryForm,
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
            let (origin, binary) = (StatementOrigin::Author, self.binary);
            let statement = BoundStatement { sql, params, origin, binary };
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
            Operation::Write => json!({"rows_affected": outcome.affected}),
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
