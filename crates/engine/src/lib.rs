//! The workflow engine: compile once, run many.
//!
//! This crate owns what a workflow means: its expressions, its paths, the order of its tasks, what an outcome
//! does, and the functions that need no connector. [`Engine::compile`] makes compiled workflows of stored ones;
//! [`Engine::run`] takes a message and returns it with its audit trail, errors and, on request, an execution
//! trace. Functions that reach outside are registered by others through [`Function`].
//! Nothing survives a restart. The engine opens no socket or file, spawns nothing, and never puts the value
//! of a secret into a message, a trace, an error or a log.
//!
//! Compiled workflows are shared between threads; a run stays on the thread that started it.
//!
//! ```
//! use serde_json::{Map, json};
//! use svc_engine::{CompileSecrets, Engine, Flow, Message, RunOptions};
//! use svc_model::{LifecycleStatus, Timestamp, Workflow, WorkflowContent};
//! use svc_secrets::Readings;
//!
//! let task = json!({"id": "total", "name": "Total", "function": {"name": "map", "input": {"mappings": [
//!     {"path": "data.total", "logic": {"+": [{"var": "data.net"}, {"var": "data.tax"}]}},
//! ]}}});
//! let workflow = Workflow {
//!     workflow_id: "invoice".to_owned(),
//!     version: 1,
//!     content: WorkflowContent {
//!         name: "Invoice".to_owned(),
//!         description: None,
//!         priority: 0,
//!         condition: json!(true),
//!         tasks: vec![task],
//!         tags: Vec::new(),
//!         loop_: None,
//!         continue_on_error: false,
//!     },
//!     status: LifecycleStatus::Active,
//!     rollout_percentage: 100,
//!     created_at: Timestamp::now(),
//!     updated_at: Timestamp::now(),
//! };
//! let engine = Engine::builder().build();
//! let secrets = CompileSecrets { references: &Readings::default(), declared: &engine.declared_secrets() };
//! let flow = Flow::single(engine.compile(&workflow, secrets)?);
//!
//! let mut message = Message::new(json!({}), Map::new());
//! message.data = json!({"net": 100, "tax": 19});
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
//! # let outcome = runtime.block_on(async {
//! let outcome = engine.run(&flow, message, RunOptions::default()).await;
//! # outcome
//! # });
//! assert!(outcome.failure.is_none());
//! assert_eq!(outcome.message.data["total"], json!(119));
//! # Ok::<(), svc_engine::CompileError>(())
//! ```

#![warn(missing_docs)]

mod bounds;
mod builtin;
pub mod catalogue;
mod checks;
mod clock;
mod closure_function;
mod engine;
mod error;
mod error_code;
mod expression;
mod failing_calls;
mod function;
mod inputs;
mod message;
mod operators;
pub mod path;
mod reads;
mod recording;
mod redaction;
mod run;
mod run_state;
mod scope;
mod stubs;
mod template;
mod trace;
mod truth;
mod workflow;

pub use bounds::bounded_json::{ParseJsonError, RunStopped, parse_json_within};
pub use bounds::budget::run_uncounted;
pub use bounds::extent::{MAX_DEPTH, value_bytes};
pub use bounds::limits::EngineLimits;
pub use builtin::{CsvBounds, ParseCsvError, ParseXmlError, add_field, parse_csv_within, parse_xml_within};
pub use checks::{UnknownCall, recorded_secrets};
pub use closure_function::ClosureFunction;
pub use engine::{Engine, EngineBuilder};
pub use error::{CompileError, ElementIndex, ElementIndexes, PausedChannel, RunFailure, TaskError};
pub use error_code::{ErrorCode, FailureKind, Healing};
pub use expression::{Expression, SecretPolicy};
pub use function::{
    CALL_PATH, CompileCx, CompileSecrets, CompiledTask, Function, TaskCx, TaskExecution, TaskOutcome,
};
pub use inputs::{Inputs, holds_computed, is_computed};
pub use message::Message;
pub use operators::DeclaredSecrets;
pub use path::Path;
pub use recording::{
    AnsweredCall, CallMatch, CallRecording, DrawnValue, DropPath, FollowedRun, MetadataReads,
    RecordedCallError, RecordingMode, RecordingOptions, RecordingResult, ReplayReport, RunRecording,
    RunRecordingEnd, SECRET_STAND_IN, Unrecorded,
};
pub use redaction::Redaction;
pub use run::{RunOptions, RunOutcome};
pub use stubs::{StubCall, Stubs};
pub use template::Template;
pub use trace::{
    AuditChange, AuditTrailEntry, ExecutionTrace, StepResult, TaskTiming, Timings, TraceOptions, TraceStep,
};
pub use truth::ConstantTruth;
pub use workflow::dependencies::{ChannelCallUse, ConnectorUse, Dependencies};
pub use workflow::program::{CompiledWorkflow, Flow, TaskNames};
pub use workflow::secret_uses::{SecretUses, secret_uses};
