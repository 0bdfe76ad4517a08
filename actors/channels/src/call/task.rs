//! The calling task: its target, its payload and its time limit.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value, json};
use svc_engine::{
    CALL_PATH, CompileCx, CompiledTask, ErrorCode, Expression, Healing, Inputs, Path, PausedChannel,
    Redaction, TaskCx, TaskError, TaskOutcome,
};
use svc_functions::declarations::channel_call::{CHANNEL_CALL, TIMEOUT_FORM, call_timeout};

use super::callee::IncomingCall;
use super::{CallLimits, DirectoryHandle, NotCallable};

/// The input with the time limit.
const TIMEOUT: &str = "timeout_ms";

/// One `channel_call` of a workflow.
pub(super) struct CallTask {
    target: CallTarget,
    payload: CallPayload,
    output: Path,
    timeout: Option<Duration>,
    /// The time limit, if it depends on the message.
    computed_timeout: Option<Box<Inputs>>,
    calls: DirectoryHandle,
    limits: CallLimits,
}

enum CallTarget {
    Named(String),
    Computed(Expression),
}

enum CallPayload {
    /// The payload of the calling channel.
    Original,
    Literal(Value),
    Computed(Expression),
}

impl CallTask {
    pub(super) fn compile(
        input: &Value,
        cx: &CompileCx<'_>,
        calls: DirectoryHandle,
        limits: CallLimits,
    ) -> Result<Self, String> {
        let expression = |field: &str, source: &Value| {
            cx.expression(source).map_err(|reason| format!("{field}: {reason}"))
        };
        let text = |field: &str| input.get(field).and_then(Value::as_str);
        let target = match input.get("channel_logic") {
            Some(source) => CallTarget::Computed(expression("channel_logic", source)?),
            None => CallTarget::Named(text("channel").ok_or("channel: required")?.to_owned()),
        };
        let payload = match (input.get("data_logic"), input.get("data")) {
            (Some(source), _) => CallPayload::Computed(expression("data_logic", source)?),
            (None, Some(literal)) => CallPayload::Literal(literal.clone()),
            (None, None) => CallPayload::Original,
        };
        let output = text("output").or_else(|| text("response_path")).unwrap_or("data");
        Ok(Self {
            target,
            payload,
            output: Path::parse_target(output).map_err(|error| format!("output: {error}"))?,
            timeout: input.get("timeout_ms").and_then(call_timeout),
            computed_timeout: computed_timeout(input, cx)?,
            calls,
            limits,
        })
    }

    /// Makes the call and writes its result to the output path. Adds the secrets that the name of the channel
    /// and the payload carry to `redaction`: the caller redacts the error with it.
    async fn call(&self, cx: &mut TaskCx<'_>, redaction: &mut Redaction) -> Result<(), TaskError> {
        let name = match &self.target {
            CallTarget::Named(name) => name.clone(),
            CallTarget::Computed(expression) => name_of(cx.evaluate_tainted(expression, redaction)?)?,
        };
        cx.name_target(&redaction.mask_text(name.clone()));
        check_chain(cx.chain(), &name, self.limits.max_depth)?;
        let payload = match &self.payload {
            CallPayload::Original => cx.message().payload.clone(),
            CallPayload::Literal(literal) => literal.clone(),
            CallPayload::Computed(expression) => cx.evaluate_tainted(expression, redaction)?,
        };
        // Looked up last: what serves at the moment of the call.
        let callee = self.calls.find(&name).map_err(absent)?;
        let chain: Arc<[Arc<str>]> = cx.chain().iter().chain([&callee.name]).cloned().collect();
        let metadata = if callee.reads_metadata_of_calls() {
            inherited_metadata(&cx.message().metadata, &chain, cx.call_path())
        } else {
            Map::new()
        };
        let timeout = match &self.computed_timeout {
            None => self.timeout,
            Some(inputs) => Some(read_timeout(inputs, cx)?),
        };
        let call = IncomingCall {
            payload,
            metadata,
            caller: cx.chain().last().cloned().unwrap_or_default(),
            chain,
            redaction: redaction.clone(),
            limit: timeout.or(callee.timeout).unwrap_or(self.limits.default_timeout),
            until: cx.deadline(),
            trace_context: cx.trace_context().clone(),
            cancellation: cx.cancellation().cloned(),
        };
        let data = callee.run_call(call).await?;
        cx.write(&self.output, data)
    }
}

/// Prepares a time limit that is no number: an expression, or a read of the message.
fn computed_timeout(input: &Value, cx: &CompileCx<'_>) -> Result<Option<Box<Inputs>>, String> {
    let written = input.get(TIMEOUT).filter(|value| value.is_object());
    let inputs = written.map(|value| Inputs::new(&CHANNEL_CALL.entry, &json!({"timeout_ms": value}), cx));
    Ok(inputs.transpose()?.map(Box::new))
}

fn read_timeout(inputs: &Inputs, cx: &TaskCx<'_>) -> Result<Duration, TaskError> {
    let millis = inputs.require(cx, TIMEOUT)?;
    call_timeout(&millis).ok_or_else(|| TaskError::validation(format!("{TIMEOUT}: {TIMEOUT_FORM}")))
}

impl CompiledTask for CallTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async move {
            let mut redaction = cx.redaction().clone();
            self.call(cx, &mut redaction).await.map_err(|mut error| {
                // The name of the channel may have been made of a secret.
                error.redact(&redaction);
                error
            })?;
            Ok(TaskOutcome::Success)
        })
    }
}

/// A channel that serves again later may be called by a later run.
fn absent(absent: NotCallable) -> TaskError {
    let (code, healing) = match absent {
        NotCallable::Scheduled(_) => (ErrorCode::Function, None),
        NotCallable::Paused { .. } => (ErrorCode::ChannelUnavailable, Some(Healing::Transient)),
        _ => (ErrorCode::Function, Some(Healing::Transient)),
    };
    let message = absent.to_string();
    let paused_channel = match absent {
        NotCallable::Paused { id, .. } => Some(Box::new(PausedChannel { id })),
        _ => None,
    };
    TaskError { healing, paused_channel, ..TaskError::new(code, message) }
}

fn name_of(value: Value) -> Result<String, TaskError> {
    match value {
        Value::String(name) if !name.trim().is_empty() => Ok(name),
        _ => Err(TaskError::validation("channel_logic: expected the name of a channel")),
    }
}

/// Refuses a call that would come back to a channel of its own chain, or make the chain too long.
fn check_chain(chain: &[Arc<str>], name: &str, max_depth: usize) -> Result<(), TaskError> {
    let reason = if chain.iter().any(|channel| **channel == *name) {
        "would go in a circle".to_owned()
    } else if chain.len().saturating_sub(1) >= max_depth {
        format!("would be more than {max_depth} in a row")
    } else {
        return Ok(());
    };
    let links: Vec<&str> = chain.iter().map(|channel| &**channel).chain([name]).collect();
    Err(TaskError::validation(format!("channel calls {reason}: {}", links.join(" -> "))))
}

/// The metadata of the caller, as the called channel sees it.
fn inherited_metadata(metadata: &Map<String, Value>, chain: &[Arc<str>], path: String) -> Map<String, Value> {
    let mut inherited = metadata.clone();
    inherited.shift_remove("_svc_errors");
    inherited.insert("channel".into(), chain.last().map(|name| &**name).into());
    inherited.insert("_svc_call_depth".into(), chain.len().saturating_sub(1).into());
    inherited.insert(CALL_PATH.into(), path.into());
    inherited.insert("_svc_call_chain".into(), json!(chain.iter().map(|name| &**name).collect::<Vec<_>>()));
    inherited
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(names: &[&str]) -> Vec<Arc<str>> {
        names.iter().map(|name| Arc::from(*name)).collect()
    }

    #[test]
    fn circles_and_too_long_chains_are_refused() {
        assert!(check_chain(&chain(&["a", "b"]), "c", 2).is_ok());
        assert!(check_chain(&[], "a", 1).is_ok());
        let circle = check_chain(&chain(&["a", "b"]), "a", 2).unwrap_err();
        assert_eq!(circle.code, ErrorCode::Validation);
        assert_eq!(circle.message, "channel calls would go in a circle: a -> b -> a");
        let itself = check_chain(&chain(&["a"]), "a", 2).unwrap_err();
        assert!(itself.message.ends_with("a -> a"));
        let long = check_chain(&chain(&["a", "b", "c"]), "d", 2).unwrap_err();
        assert_eq!(long.message, "channel calls would be more than 2 in a row: a -> b -> c -> d");
    }

    #[test]
    fn metadata_is_inherited_without_errors_of_caller() {
        let parent = json!({"channel": "a", "auth": {"claims": {"sub": "u"}}, "_svc_errors": [{"task_id": "t"}],
            "_svc_call_depth": 7});
        let inherited = inherited_metadata(parent.as_object().unwrap(), &chain(&["a", "b"]), "t".to_owned());
        assert_eq!(
            Value::Object(inherited),
            json!({"channel": "b", "auth": {"claims": {"sub": "u"}}, "_svc_call_depth": 1,
                "_svc_call_chain": ["a", "b"], "_svc_call_path": "t"})
        );
    }
}
