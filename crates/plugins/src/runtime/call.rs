//! The call of a function in a fresh instance.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use svc_engine::{ErrorCode, Function, TaskError, run_uncounted};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use wasmtime::component::Val;
use wasmtime::{PoolConcurrencyLimitError, Trap, UpdateDeadline};

use super::component::{CompiledComponent, ComponentSlot};
use super::limits::PluginLimits;
use super::memory_bound::OverMemory;
use super::{PluginRuntime, RuntimeShared};
use crate::function::{Invocation, Invoke, bind};
use crate::manifest::PluginManifest;

/// Bytes of the code that a guest gives an error, and characters of its message.
const MAX_CODE: usize = 64;
const MAX_MESSAGE: usize = 512;

/// The failure of one call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PluginCallError {
    /// The guest answered with an error.
    #[error("{code}: {message}")]
    Guest {
        /// The code that the guest gave.
        code: String,
        /// True if the guest says that the input is wrong.
        is_input_error: bool,
        /// The message of the guest.
        message: String,
    },
    /// The code of the guest trapped.
    #[error("the code of the plugin trapped: {0}")]
    Trap(String),
    /// The call is over a bound.
    #[error("the call {0}")]
    Limit(String),
    /// The call did not end in time.
    #[error("the call did not end within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// The component is still being compiled.
    #[error("the component of the plugin is still being compiled")]
    Compiling,
    /// The component could not be compiled.
    #[error("the plugin is not loaded: {0}")]
    Unusable(String),
}

impl PluginCallError {
    /// Returns the word of the failure in metrics.
    pub const fn outcome(&self) -> &'static str {
        match self {
            Self::Guest { .. } => "error",
            Self::Trap(_) => "trap",
            Self::Limit(_) => "limit",
            Self::Timeout(_) => "timeout",
            Self::Compiling => "compiling",
            Self::Unusable(_) => "unusable",
        }
    }

    fn into_task_error(self, function: &str) -> TaskError {
        let code = match &self {
            Self::Guest { .. } | Self::Unusable(_) => ErrorCode::Plugin,
            Self::Trap(_) => ErrorCode::PluginTrap,
            Self::Limit(_) => ErrorCode::PluginLimit,
            Self::Timeout(_) => ErrorCode::Timeout,
            Self::Compiling => ErrorCode::PluginCompiling,
        };
        let error = TaskError::new(code, format!("{function}: {self}"));
        match self {
            Self::Guest { code, is_input_error, message } => {
                let class = if is_input_error { "input" } else { "internal" };
                let body = json!({"code": code, "class": class, "message": message});
                TaskError { is_input_error, body: Some(Box::new(body)), ..error }
            }
            _ => error,
        }
    }
}

/// Notices the calls of plugins.
pub trait PluginCallObserver: Send + Sync {
    /// Notes a call that ended: `outcome` is `ok` or that of a [`PluginCallError`].
    fn note_call(&self, function: &'static str, outcome: &'static str, duration: Duration);
}

/// Notices nothing.
pub(super) struct Unobserved;

impl PluginCallObserver for Unobserved {
    fn note_call(&self, _: &'static str, _: &'static str, _: Duration) {}
}

/// Returns the functions of a plugin for an engine. Their component may still be compiling: a call fails until then.
pub fn plugin_functions(
    runtime: &PluginRuntime,
    manifest: &PluginManifest,
    digest: &str,
    component: &Arc<ComponentSlot>,
) -> Vec<Arc<dyn Function>> {
    let limits = runtime.shared.limits.lowered(&manifest.limits);
    let permits = usize::try_from(limits.max_concurrent_calls).unwrap_or(Semaphore::MAX_PERMITS);
    let entries = manifest.entries(digest);
    bind(manifest, digest, |label| {
        let name = entries.iter().map(|entry| entry.name).find(|name| name.ends_with(&format!(".{label}")));
        Arc::new(ComponentFunction {
            shared: Arc::clone(&runtime.shared),
            component: Arc::clone(component),
            label: label.to_owned(),
            name: name.unwrap_or_default(),
            limits,
            permits: Semaphore::new(permits.min(Semaphore::MAX_PERMITS)),
        })
    })
}

/// One function of a component.
struct ComponentFunction {
    shared: Arc<RuntimeShared>,
    component: Arc<ComponentSlot>,
    /// Its name in the component.
    label: String,
    /// Its name in workflows.
    name: &'static str,
    limits: PluginLimits,
    /// One permit for each call at once.
    permits: Semaphore,
}

impl Invoke for ComponentFunction {
    fn refusal(&self) -> Option<String> {
        self.component.outcome()?.as_ref().err().cloned()
    }

    fn invoke(&self, input: String) -> Invocation<'_> {
        Box::pin(async move {
            let began = Instant::now();
            let result = self.call(input).await;
            let outcome = result.as_ref().map_or_else(PluginCallError::outcome, |_| "ok");
            self.shared.observer.note_call(self.name, outcome, began.elapsed());
            result.map_err(|error| error.into_task_error(self.name))
        })
    }
}

impl ComponentFunction {
    async fn call(&self, input: String) -> Result<String, PluginCallError> {
        let component = match self.component.outcome() {
            None => return Err(PluginCallError::Compiling),
            Some(Err(reason)) => return Err(PluginCallError::Unusable(reason.clone())),
            Some(Ok(component)) => component,
        };
        let (length, limit) = (input.len() as u64, self.limits.max_request_bytes);
        if length > limit {
            let message = format!("has an input of {length} bytes; at most {limit}");
            return Err(PluginCallError::Limit(message));
        }
        let deadline = Instant::now() + self.limits.timeout;
        let permits = async { (self.permits.acquire().await, self.shared.instances.acquire().await) };
        let Ok(_permits) = tokio::time::timeout_at(deadline, permits).await else {
            return Err(PluginCallError::Limit("waited for its turn: too many calls run at once".to_owned()));
        };
        // The time of a call is bounded by its own deadline, with which its task fails, not the whole run.
        let call = run_uncounted(self.call_instance(component, input));
        let result = match tokio::time::timeout_at(deadline, call).await {
            Err(_) => return Err(PluginCallError::Timeout(self.limits.timeout)),
            Ok(result) => result?,
        };
        let (length, limit) = (result.len() as u64, self.limits.max_response_bytes);
        if length > limit {
            return Err(PluginCallError::Limit(format!("has a result of {length} bytes; at most {limit}")));
        }
        Ok(result)
    }

    /// Calls the function in a new instance, which is dropped with the call.
    async fn call_instance(
        &self,
        component: &CompiledComponent,
        input: String,
    ) -> Result<String, PluginCallError> {
        let mut store = component.store(&self.shared, self.limits.memory_bytes);
        let mut turns = self.shared.turns.begin_call();
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(move |_| Ok(UpdateDeadline::YieldCustom(1, turns.end_turn())));
        let _ticked = self.shared.ticker.enter();
        let instance = component.instance.instantiate_async(&mut store).await.map_err(failure)?;
        let invoke = instance.get_func(&mut store, component.invoke);
        let Some(invoke) = invoke else { return Err(PluginCallError::Trap("it has no function".to_owned())) };
        let parameters = [Val::String(self.label.clone()), Val::String(input)];
        let mut results = [Val::Bool(false)];
        invoke.call_async(&mut store, &parameters, &mut results).await.map_err(failure)?;
        let [result] = results;
        read_result(result)
    }
}

/// Converts the error of an instance to that of its call.
fn failure(error: wasmtime::Error) -> PluginCallError {
    if let Some(over) = error.downcast_ref::<OverMemory>() {
        return PluginCallError::Limit(over.to_string());
    }
    if let Some(full) = error.downcast_ref::<PoolConcurrencyLimitError>() {
        return PluginCallError::Limit(full.to_string());
    }
    match error.downcast_ref::<Trap>() {
        Some(trap) => PluginCallError::Trap(trap.to_string()),
        // The canonical form of a text or of a result is broken: the guest is at fault as well.
        None => PluginCallError::Trap(cut(&format!("{error:#}"))),
    }
}

fn read_result(result: Val) -> Result<String, PluginCallError> {
    match result {
        Val::Result(Ok(Some(text))) => match *text {
            Val::String(text) => Ok(text),
            _ => Err(PluginCallError::Trap("its result is no text".to_owned())),
        },
        Val::Result(Err(Some(error))) => Err(read_error(*error)),
        _ => Err(PluginCallError::Trap("its answer is no result".to_owned())),
    }
}

/// Reads the error of a guest. A code of another form is replaced: workflows branch on codes.
fn read_error(error: Val) -> PluginCallError {
    let Val::Record(members) = error else {
        return PluginCallError::Trap("its error is no record".to_owned());
    };
    let (mut code, mut message, mut is_input_error) = (String::new(), String::new(), false);
    for (name, value) in members {
        match (name.as_str(), value) {
            ("code", Val::String(text)) => code = text,
            ("message", Val::String(text)) => message = cut(&text),
            ("class", Val::Enum(class)) => is_input_error = class == "input",
            _ => {}
        }
    }
    let is_code = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    if code.is_empty() || code.len() > MAX_CODE || !code.chars().all(is_code) {
        code = "BAD_CODE".to_owned();
    }
    PluginCallError::Guest { code, is_input_error, message }
}

fn cut(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(MAX_MESSAGE).collect()
}
