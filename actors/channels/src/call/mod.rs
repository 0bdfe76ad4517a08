//! `channel_call`: a task that runs the workflow of another channel and takes over its data.
//!
//! A call is a part of the run that makes it. The called channel's guards and workflow run on the definition
//! that serves at that moment, in the task, the thread and the slot of the caller. No message is sent, so no
//! mailbox can be full and no actor can wait for one that waits for it: permits are taken or refused, never
//! waited for, and a chain of calls ends however many run at once. What follows from that:
//!
//! * **Supervision.** The actors of the called channel know nothing of the call. A crash in it is a crash of
//!   the caller's message: it costs that one answer and no restart budget. A channel that supervision
//!   quarantined is not called.
//! * **Draining.** A call is in flight with its caller: a reload or a stop waits for it in the caller's
//!   actor. The definition, its permits and its meters live as long as the call, whatever replaced them
//!   meanwhile.
//! * **Cancelling.** A call ends with its task, at the latest at the deadline of the caller's run, and gives
//!   back its permit.
//! * **Records.** A call leaves no trace row of its own. It counts as a message of the called channel.
//!
//! The chain of callers is kept with the run, not in its metadata: a workflow may write anything there and
//! neither hides a cycle nor changes the caller that the default rate limit counts. The metadata holds a
//! copy, which proves nothing: an expression of the called channel that reads the metadata, such as a
//! `key_logic` over headers, sees the values that the calling workflow left there.

mod callee;
mod directory;
mod task;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use svc_engine::{CompileCx, CompiledTask, EngineBuilder, Function};
use svc_functions::declarations::CHANNEL_CALL;

pub use directory::{ChannelDirectory, DirectoryHandle, NotCallable};
use task::CallTask;

/// Upper bound of [`CallLimits::max_depth`]: calls in a chain nest on the stack of their thread.
pub const MAX_DEPTH: usize = 32;

/// Bounds of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// Calls in a row, from the channel that took the message in; at most [`MAX_DEPTH`].
    pub max_depth: usize,
    /// Time limit of a call if neither the task nor the called channel sets one.
    pub default_timeout: Duration,
}

/// Registers `channel_call`. It finds channels once `calls` is bound to what serves.
#[must_use]
pub fn register(builder: EngineBuilder, calls: DirectoryHandle, limits: CallLimits) -> EngineBuilder {
    let limits = CallLimits { max_depth: limits.max_depth.min(MAX_DEPTH), ..limits };
    builder.function(Arc::new(ChannelCall { calls, limits }))
}

struct ChannelCall {
    calls: DirectoryHandle,
    limits: CallLimits,
}

impl Function for ChannelCall {
    svc_functions::declared_by!(CHANNEL_CALL);

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        Ok(Box::new(CallTask::compile(input, cx, self.calls.clone(), self.limits)?))
    }
}
