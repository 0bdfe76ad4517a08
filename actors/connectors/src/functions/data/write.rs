//! `data_write`: inserts, updates, deletes and upserts rows.

use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value};
use svc_dialect::{WriteChange, WriteDocument, WriteLimits};
use svc_engine::catalogue::{ConnectorRequirement, FunctionEntry, InputField};
use svc_engine::{CompileCx, CompiledTask, Function, TaskCx, TaskError, TaskOutcome};
use svc_model::{ConnectorType, FieldError};

use super::{Backend, Base, check, compiled, document, es, mongo, refused, schema, sql};
use crate::functions::call::{channel_of, guarded};
use crate::functions::{CallSettings, WriteSettings};
use crate::handle::Connectors;

/// The catalogue entry of `data_write`.
static ENTRY: FunctionEntry = FunctionEntry {
    retry_safety: "depends_on:op",
    fields: &[
        InputField::connector("Database or Elasticsearch connector"),
        InputField::object("write", "Operation, target, values, set, filter and on_conflict")
            .required()
            .resolvable()
            .dialect(&["values", "set"]),
        InputField::string("database", "Database, for MongoDB"),
        InputField::object("schema", "How entities map to tables and columns"),
        InputField::object("params", "Named values the write refers to").resolvable(),
        InputField::output(),
    ],
    ..FunctionEntry::connector(
        "data_write",
        "Inserts, updates, deletes or upserts with one write document, whatever the database",
        ConnectorRequirement::new(&[ConnectorType::Db, ConnectorType::Es]),
    )
};

/// The function.
pub(crate) struct DataWrite {
    connectors: Connectors,
    settings: CallSettings,
}

impl DataWrite {
    pub(crate) const fn new(connectors: Connectors, settings: CallSettings) -> Self {
        Self { connectors, settings }
    }
}

impl Function for DataWrite {
    fn entry(&self) -> &'static FunctionEntry {
        &ENTRY
    }

    fn check(&self, input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
        if let (Some(write), Ok(schema)) =
            (input.get("write").filter(|write| write.is_object()), schema(input))
        {
            check(WriteDocument::read(write, schema, at), WriteDocument::missing_params, input, errors);
        }
    }

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let table = &ENTRY;
        let (write, schema) = document(table, input, "write");
        let write = compiled(WriteDocument::read(write, schema, ""))?;
        let base = Base::new(table, input, (&self.connectors, self.settings), write.folded(), cx)?;
        let WriteSettings { max_rows, allow_unfiltered } = self.settings.write;
        Ok(Box::new(DataWriteTask { base, write, limits: WriteLimits { max_rows, allow_unfiltered } }))
    }
}

/// What a write came to.
pub(super) struct Written {
    pub(super) output: Value,
    /// Whether only a part of it was applied.
    pub(super) partial: bool,
}

struct DataWriteTask {
    base: Base,
    write: WriteDocument,
    limits: WriteLimits,
}

impl DataWriteTask {
    async fn written(&self, change: &WriteChange) -> Result<Written, TaskError> {
        match self.base.backend()? {
            Backend::Sql => sql::write(&self.base, &self.write, change).await,
            Backend::Mongo => mongo::write(&self.base, &self.write, change).await,
            Backend::Es => es::write(&self.base, &self.write, change).await,
        }
    }
}

impl CompiledTask for DataWriteTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async move {
            let Base { connectors, connector, output, .. } = &self.base;
            let values = self.base.values(cx)?;
            let change = self.write.bind(&values.bindings(), self.limits);
            let change = change.map_err(|refusal| refused(&refusal, connector))?;
            let written = guarded(connectors, &channel_of(cx), connector, self.written(&change)).await?;
            cx.write(output, written.output)?;
            Ok(if written.partial { TaskOutcome::Partial } else { TaskOutcome::Success })
        })
    }
}
