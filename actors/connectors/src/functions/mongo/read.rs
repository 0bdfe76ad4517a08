//! `mongo_read`: documents of a collection.

use futures_util::future::LocalBoxFuture;
use serde_json::Value;
use svc_engine::{CompileCx, CompiledTask, Function, TaskCx, TaskError, TaskOutcome};
use svc_functions::declarations::MONGO_READ;

use super::common::{CollectionTarget, check_allowed, document};
use super::operator_guard::{GuardedInput, InputContext};
use crate::directory::ConnectorDirectory;
use crate::drivers::mongo::{self, CollectionOperation, Find};
use crate::functions::QuerySettings;

/// The task function.
pub(crate) struct MongoRead {
    connectors: ConnectorDirectory,
    settings: QuerySettings,
}

impl MongoRead {
    pub(crate) fn new(connectors: ConnectorDirectory, settings: QuerySettings) -> Self {
        Self { connectors, settings }
    }
}

impl Function for MongoRead {
    svc_functions::declared_by!(MONGO_READ);

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let table = &MONGO_READ.entry;
        Ok(Box::new(MongoReadTask {
            target: CollectionTarget::compile(
                &self.connectors,
                self.settings.max_result_bytes,
                table,
                input,
                cx,
            )?,
            filter: GuardedInput::compile(input, "filter", InputContext::Query, cx),
            projection: GuardedInput::compile(input, "projection", InputContext::Expression, cx),
            sort: GuardedInput::compile(input, "sort", InputContext::Sealed, cx),
            settings: self.settings,
        }))
    }
}

struct MongoReadTask {
    target: CollectionTarget,
    filter: Option<GuardedInput>,
    projection: Option<GuardedInput>,
    sort: Option<GuardedInput>,
    settings: QuerySettings,
}

impl MongoReadTask {
    fn find(&self, cx: &TaskCx<'_>) -> Result<Find, TaskError> {
        let bound = |name, bound: &Option<GuardedInput>| {
            let value = bound.as_ref().map(|bound| bound.resolve(cx)).transpose()?;
            value.map(|value| document(name, value)).transpose()
        };
        Ok(Find {
            filter: bound("filter", &self.filter)?.unwrap_or_default(),
            projection: bound("projection", &self.projection)?,
            sort: bound("sort", &self.sort)?,
            limit: self.target.number(cx, "limit", 1..=self.settings.max_limit)?,
            skip: self.target.number(cx, "skip", 0..=self.settings.max_skip)?.unwrap_or(0),
        })
    }
}

impl CompiledTask for MongoReadTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async move {
            let operation = CollectionOperation::Find { find: self.find(cx)?, cap: self.settings.max_limit };
            let answer = self.target.run(cx, operation, |settings| check_allowed(settings, "read")).await?;
            let mongo::OperationResult::Documents(documents) = answer else { return Ok(TaskOutcome::Skip) };
            cx.write(&self.target.output, documents.into())?;
            Ok(TaskOutcome::Success)
        })
    }
}
