//! `mongo_aggregate`: what a pipeline makes of a collection.

use futures_util::future::LocalBoxFuture;
use serde_json::Value;
use svc_engine::{CompileCx, CompiledTask, Function, TaskCx, TaskError, TaskOutcome};
use svc_functions::declarations::MONGO_AGGREGATE;
use svc_functions::declarations::mongo::pipeline_writes;

use super::common::{CollectionTarget, check_allowed, documents};
use super::operator_guard::{GuardedInput, InputContext};
use crate::directory::ConnectorDirectory;
use crate::drivers::mongo::{self, CollectionOperation, MongoSettings};
use crate::functions::QuerySettings;

/// The task function.
pub(crate) struct MongoAggregate {
    connectors: ConnectorDirectory,
    settings: QuerySettings,
}

impl MongoAggregate {
    pub(crate) fn new(connectors: ConnectorDirectory, settings: QuerySettings) -> Self {
        Self { connectors, settings }
    }
}

impl Function for MongoAggregate {
    svc_functions::declared_by!(MONGO_AGGREGATE);

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let table = &MONGO_AGGREGATE.entry;
        let pipeline = GuardedInput::compile(input, "pipeline", InputContext::Expression, cx);
        Ok(Box::new(MongoAggregateTask {
            target: CollectionTarget::compile(
                &self.connectors,
                self.settings.max_result_bytes,
                table,
                input,
                cx,
            )?,
            pipeline: pipeline.ok_or("pipeline: required")?,
            writes: pipeline_writes(&input["pipeline"]),
            allow_disk_use: input["allow_disk_use"].as_bool().unwrap_or(false),
            settings: self.settings,
        }))
    }
}

struct MongoAggregateTask {
    target: CollectionTarget,
    pipeline: GuardedInput,
    writes: bool,
    allow_disk_use: bool,
    settings: QuerySettings,
}

impl MongoAggregateTask {
    fn check_operation(&self, settings: &MongoSettings) -> Result<(), String> {
        check_allowed(settings, "read")?;
        if self.writes && !settings.aggregate_write_stages {
            return Err("does not allow $out and $merge; set aggregate_write_stages".to_owned());
        }
        Ok(())
    }
}

impl CompiledTask for MongoAggregateTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async move {
            let operation = CollectionOperation::Aggregate {
                pipeline: documents("pipeline", self.pipeline.resolve(cx)?)?,
                allow_disk_use: self.allow_disk_use,
                cap: self.settings.max_limit,
            };
            let answer = self.target.run(cx, operation, |settings| self.check_operation(settings)).await?;
            let mongo::OperationResult::Documents(documents) = answer else { return Ok(TaskOutcome::Skip) };
            cx.write(&self.target.output, documents.into())?;
            Ok(TaskOutcome::Success)
        })
    }
}
