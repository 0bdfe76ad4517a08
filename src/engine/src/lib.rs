//! The workflow engine: compile once, run many.
//!
//! This crate owns what a workflow means: its expressions, its paths, the order of its tasks, what an outcome does,
//! and the functions that need no connector. In go stored workflows ([`Engine::compile`]) and messages
//! ([`Engine::run`]); out come compiled workflows, and messages with their audit trail, errors and, when asked for,
//! an execution trace. Functions that reach outside are registered by others through [`Function`].
//! Nothing survives a restart. The engine opens no socket or file, spawns nothing, and never puts the value of a
//! secret into a message, a trace, an error or a log.
//!
//! Compiled workflows are shared between threads; a run stays on the thread that started it.

mod authored;
mod budget;
mod builtin;
pub mod catalogue;
mod checks;
mod clock;
mod compile;
mod dependencies;
mod engine;
mod error;
mod error_code;
mod evaluation_budget;
mod expression;
mod extent;
mod failing_calls;
mod function;
mod inputs;
mod limits;
mod loop_spec;
mod message;
mod operators;
pub mod path;
mod program;
mod reads;
mod redaction;
mod run;
mod run_state;
mod scope;
mod secret_uses;
mod stubs;
mod template;
mod trace;

pub use checks::UnknownCall;
pub use dependencies::{ConnectorUse, Dependencies};
pub use engine::{Engine, EngineBuilder};
pub use error::{CompileError, RunFailure, TaskError};
pub use error_code::{ErrorCode, FailureKind};
pub use expression::{Expression, SecretPolicy};
pub use extent::{MAX_DEPTH, value_bytes};
pub use function::{CompileCx, CompileSecrets, CompiledTask, Function, TaskCx, TaskFuture, TaskOutcome};
pub use inputs::Inputs;
pub use limits::EngineLimits;
pub use message::Message;
pub use operators::DeclaredSecrets;
pub use path::Path;
pub use program::{CompiledWorkflow, Flow};
pub use redaction::Redaction;
pub use run::{RunOptions, RunOutcome};
pub use secret_uses::{SecretUses, secret_uses};
pub use stubs::Stubs;
pub use template::Template;
pub use trace::{
    AuditChange, AuditTrailEntry, ExecutionTrace, StepResult, TaskTiming, Timings, TraceOptions, TraceStep,
};
