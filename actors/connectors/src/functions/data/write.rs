//! `data_write`: inserts, updates, deletes and upserts rows.

use futures_util::future::LocalBoxFuture;
use serde_json::Value;
use svc_dialect::{WriteChange, WriteDocument, WriteLimits};
use svc_engine::{CompileCx, CompiledTask, Function, TaskCx, TaskError, TaskOutcome};
use svc_functions::declarations::DATA_WRITE;

use super::document::{DocumentBackend, DocumentTask, WriteResult, document, join_errors, refusal_error};
#[cfg(feature = "es")]
use super::es;
#[cfg(feature = "mongo")]
use super::mongo;
#[cfg(feature = "sql")]
use super::sql;
use crate::directory::ConnectorDirectory;
use crate::functions::call::{Caller, call_with_breaker};
use crate::functions::{CallSettings, WriteSettings};

/// The task function.
pub(crate) struct DataWrite {
    connectors: ConnectorDirectory,
    settings: CallSettings,
}

impl DataWrite {
    pub(crate) const fn new(connectors: ConnectorDirectory, settings: CallSettings) -> Self {
        Self { connectors, settings }
    }
}

impl Function for DataWrite {
    svc_functions::declared_by!(DATA_WRITE);

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let table = &DATA_WRITE.entry;
        let (write, schema) = document(table, input, "write");
        let write = join_errors(WriteDocument::read(write, schema, ""))?;
        let base =
            DocumentTask::new(table, input, (&self.connectors, self.settings), write.folded_values(), cx)?;
        let WriteSettings { max_rows, allow_unfiltered } = self.settings.write;
        Ok(Box::new(DataWriteTask { base, write, limits: WriteLimits { max_rows, allow_unfiltered } }))
    }
}

struct DataWriteTask {
    base: DocumentTask,
    write: WriteDocument,
    limits: WriteLimits,
}

impl DataWriteTask {
    async fn execute(&self, change: &WriteChange) -> Result<WriteResult, TaskError> {
        match self.base.backend()? {
            #[cfg(feature = "sql")]
            DocumentBackend::Sql => sql::write(&self.base, &self.write, change).await,
            #[cfg(feature = "mongo")]
            DocumentBackend::Mongo => mongo::write(&self.base, &self.write, change).await,
            #[cfg(feature = "es")]
            DocumentBackend::Es => es::write(&self.base, &self.write, change).await,
        }
    }
}

impl CompiledTask for DataWriteTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async move {
            let DocumentTask { connectors, connector, output, .. } = &self.base;
            let values = self.base.values(cx)?;
            let change = self.write.bind(&values.bindings(), self.limits);
            let change = change.map_err(|refusal| refusal_error(&refusal, connector))?;
            let result =
                call_with_breaker(connectors, &Caller::of_task(cx), connector, self.execute(&change)).await?;
            cx.write(output, result.output)?;
            Ok(if result.partial { TaskOutcome::Partial } else { TaskOutcome::Success })
        })
    }
}
