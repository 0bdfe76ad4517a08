//! Building and running workflows from JSON.

use serde_json::{Map, Value, json};
use svc_engine::{
    CompileError, CompileSecrets, CompiledWorkflow, Engine, Flow, Message, RunOptions, RunOutcome,
    TraceOptions,
};
use svc_model::{LifecycleStatus, Timestamp, Workflow, WorkflowContent};
use svc_secrets::Readings;

pub(crate) fn workflow(document: &Value) -> Workflow {
    Workflow {
        workflow_id: document["workflow_id"].as_str().unwrap_or("w").to_owned(),
        version: document["version"].as_i64().unwrap_or(1),
        content: WorkflowContent {
            name: "test".into(),
            description: None,
            priority: 0,
            condition: document.get("condition").cloned().unwrap_or(json!(true)),
            tasks: document["tasks"].as_array().cloned().unwrap_or_default(),
            tags: Vec::new(),
            loop_: document.get("loop").cloned(),
            continue_on_error: document["continue_on_error"].as_bool().unwrap_or(false),
        },
        status: LifecycleStatus::Active,
        rollout_percentage: 100,
        created_at: Timestamp::now(),
        updated_at: Timestamp::now(),
    }
}

pub(crate) fn compile(engine: &Engine, document: &Value) -> Result<CompiledWorkflow, CompileError> {
    let material = CompileSecrets { references: &Readings::default(), declared: &engine.declared_secrets() };
    engine.compile(&workflow(document), material)
}

pub(crate) fn message(payload: Value) -> Message {
    Message::new(payload, Map::new())
}

/// Runs one workflow to its end with everything recorded.
pub(crate) fn run(engine: &Engine, document: &Value, message: Message) -> RunOutcome {
    let flow = Flow::single(compile(engine, document).unwrap());
    let options =
        RunOptions { trace: Some(TraceOptions::default()), capture_changes: true, ..RunOptions::default() };
    block_on(engine.run(&flow, message, options))
}

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(future)
}
