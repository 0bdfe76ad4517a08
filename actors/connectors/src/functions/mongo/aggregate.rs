//! `mongo_aggregate`: what a pipeline makes of a collection.

use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value};
use svc_engine::catalogue::{ConnectorRequirement, FunctionEntry, InputField, QueryLanguage};
use svc_engine::{CompileCx, CompiledTask, Function, TaskCx, TaskError, TaskOutcome};
use svc_model::{ConnectorType, FieldError};

use super::common::{COLLECTION, CollectionTarget, DATABASE, check_allowed, check_names, documents};
use super::operator_guard::{GuardedInput, InputContext};
use super::pipeline;
use crate::directory::ConnectorDirectory;
use crate::drivers::mongo::{self, CollectionOperation, MongoSettings};
use crate::functions::QuerySettings;

/// The catalogue entry of `mongo_aggregate`.
static ENTRY: FunctionEntry = FunctionEntry {
    retry_safety: "read",
    strict: true,
    fields: &[
        InputField::connector("MongoDB connector"),
        DATABASE,
        COLLECTION,
        InputField::array("pipeline", "Stages; the names of stages are literal").required().resolvable(),
        InputField::bool("allow_disk_use", "Lets stages spill to disk"),
        InputField::output(),
    ],
    ..FunctionEntry::connector(
        "mongo_aggregate",
        "Runs an aggregation pipeline",
        ConnectorRequirement::new(&[ConnectorType::Db]).speaking(QueryLanguage::MongoDb),
    )
};

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
    fn entry(&self) -> &'static FunctionEntry {
        &ENTRY
    }

    fn check(&self, input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
        check_names(input, at, errors);
        let literal = input.get("pipeline").filter(|value| value.is_array() || value.is_object());
        if let Some(pipeline) = literal {
            pipeline::check(pipeline, &format!("{at}.pipeline"), errors);
        }
    }

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let table = &ENTRY;
        let pipeline = GuardedInput::compile(input, "pipeline", InputContext::Expression, cx);
        Ok(Box::new(MongoAggregateTask {
            target: CollectionTarget::compile(
                &self.connectors,
                self.settings.max_result_bytes,
                table,
                input,
            )?,
            pipeline: pipeline.ok_or("pipeline: required")?,
            writes: pipeline::writes(&input["pipeline"]),
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
