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

mod budget;
mod builtin;
pub mod catalogue;
mod checks;
mod compile;
mod concealed;
mod dependencies;
mod engine;
mod error;
mod error_code;
mod expression;
mod extent;
mod function;
mod inputs;
mod intake;
mod message;
mod operators;
mod pace;
pub mod path;
mod program;
mod reads;
mod run;
mod scope;
mod stubs;
mod template;
mod trace;
mod work;

pub use checks::UnknownCall;
pub use concealed::Concealed;
pub use dependencies::{ConnectorUse, Dependencies, dependencies};
pub use engine::{Engine, EngineBuilder, Limits};
pub use error::{CompileError, Failure, TaskError};
pub use error_code::{ErrorCode, FailureKind};
pub use expression::{Expression, SecretUse};
pub use extent::{MAX_DEPTH, value_bytes};
pub use function::{CompileCx, Function, Material, Outcome, Task, TaskCx};
pub use inputs::Inputs;
pub use intake::{Intake, intake};
pub use message::Message;
pub use operators::Secrets;
pub use path::Path;
pub use program::{CompiledWorkflow, Flow};
pub use run::{RunOptions, RunOutcome};
pub use stubs::Stubs;
pub use template::Template;
pub use trace::{
    AuditEntry, Change, ExecutionTrace, StepResult, TaskTiming, Timings, TraceOptions, TraceStep,
};
