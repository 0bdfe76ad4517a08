//! `data_query`: reads rows.

use futures_util::future::LocalBoxFuture;
use serde_json::{Value, json};
use svc_dialect::{QueryBounds, QueryDocument, Select};
use svc_engine::{CompileCx, CompiledTask, Function, TaskCx, TaskError, TaskOutcome};
use svc_functions::declarations::DATA_QUERY;

use super::document::{DocumentBackend, DocumentTask, document, join_errors, refusal_error};
#[cfg(feature = "es")]
use super::es;
#[cfg(feature = "mongo")]
use super::mongo;
#[cfg(feature = "sql")]
use super::sql;
use crate::directory::ConnectorDirectory;
use crate::functions::call::{Caller, call_with_breaker};
use crate::functions::{CallSettings, QuerySettings};

/// The task function.
pub(crate) struct DataQuery {
    connectors: ConnectorDirectory,
    settings: CallSettings,
}

impl DataQuery {
    pub(crate) const fn new(connectors: ConnectorDirectory, settings: CallSettings) -> Self {
        Self { connectors, settings }
    }
}

impl Function for DataQuery {
    svc_functions::declared_by!(DATA_QUERY);

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let table = &DATA_QUERY.entry;
        let (query, schema) = document(table, input, "query");
        let query = join_errors(QueryDocument::read(query, schema, ""))?;
        let base =
            DocumentTask::new(table, input, (&self.connectors, self.settings), query.folded_values(), cx)?;
        let QuerySettings { default_limit, max_limit, max_skip, .. } = self.settings.query;
        Ok(Box::new(DataQueryTask {
            base,
            query,
            bounds: QueryBounds { default_limit, max_limit, max_skip },
        }))
    }
}

struct DataQueryTask {
    base: DocumentTask,
    query: QueryDocument,
    bounds: QueryBounds,
}

impl DataQueryTask {
    async fn rows(&self, select: &Select) -> Result<Vec<Value>, TaskError> {
        match self.base.backend()? {
            #[cfg(feature = "sql")]
            DocumentBackend::Sql => sql::query(&self.base, self.query.extent(), select).await,
            #[cfg(feature = "mongo")]
            DocumentBackend::Mongo => mongo::query(&self.base, self.query.extent(), select).await,
            #[cfg(feature = "es")]
            DocumentBackend::Es => es::query(&self.base, self.query.extent(), select).await,
        }
    }
}

impl DataQueryTask {
    async fn count(&self, select: &Select) -> Result<u64, TaskError> {
        match self.base.backend()? {
            #[cfg(feature = "sql")]
            DocumentBackend::Sql => sql::count(&self.base, self.query.extent(), select).await,
            #[cfg(feature = "mongo")]
            DocumentBackend::Mongo => mongo::count(&self.base, self.query.extent(), select).await,
            #[cfg(feature = "es")]
            DocumentBackend::Es => es::count(&self.base, self.query.extent(), select).await,
        }
    }

    async fn answer(&self, select: &Select) -> Result<Value, TaskError> {
        if select.counts {
            return Ok(json!({"count": self.count(select).await?}));
        }
        self.rows(select).await.map(Value::Array)
    }
}

impl CompiledTask for DataQueryTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async move {
            let DocumentTask { connectors, connector, output, .. } = &self.base;
            let values = self.base.values(cx)?;
            let select = self.query.bind(&values.bindings(), self.bounds);
            let select = select.map_err(|refusal| refusal_error(&refusal, connector))?;
            let answer =
                call_with_breaker(connectors, &Caller::of_task(cx), connector, self.answer(&select)).await?;
            cx.write(output, answer)?;
            Ok(TaskOutcome::Success)
        })
    }
}
