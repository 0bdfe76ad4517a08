//! The functions of plugins as the engine calls them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Map, Value};
use svc_engine::catalogue::{FunctionEntry, InputField};
use svc_engine::{
    CompileCx, CompiledTask, ErrorCode, Function, Inputs, ParseJsonError, Path, TaskCx, TaskError,
    TaskExecution, TaskOutcome,
};

use crate::manifest::PluginManifest;

/// The input with the path that the result is written to.
const OUTPUT: &str = "output";
/// The root that a result is written to when the task names none.
const DEFAULT_OUTPUT: &str = "data";

/// A call of a function in a component, as a future that stays on the thread of its run.
pub(crate) type Invocation<'a> = Pin<Box<dyn Future<Output = Result<String, TaskError>> + 'a>>;

/// Runs the calls of one function.
pub(crate) trait Invoke: Send + Sync {
    /// Returns the reason for which no workflow may be compiled with the function.
    fn refusal(&self) -> Option<String>;

    /// Calls the function with the text of its inputs; returns the text of its result.
    fn invoke(&self, input: String) -> Invocation<'_>;
}

/// Returns functions that are checked and declared, and cannot run: their component is not here.
pub fn declared_functions(manifest: &PluginManifest) -> Vec<Arc<dyn Function>> {
    bind(manifest, "", |_| Arc::new(AbsentComponent { refusal: None }))
}

/// Returns functions with which no workflow can be compiled, for the reason that is given.
pub fn unusable_functions(manifest: &PluginManifest, digest: &str, reason: &str) -> Vec<Arc<dyn Function>> {
    bind(manifest, digest, |_| Arc::new(AbsentComponent { refusal: Some(reason.to_owned()) }))
}

/// Returns the functions of a manifest, each with what runs the calls of its label.
pub(crate) fn bind(
    manifest: &PluginManifest,
    digest: &str,
    make: impl Fn(&str) -> Arc<dyn Invoke>,
) -> Vec<Arc<dyn Function>> {
    let entries = manifest.entries(digest).into_iter().zip(&manifest.functions);
    let functions = entries.map(|(entry, function)| {
        Arc::new(PluginFunction { entry, invoke: make(&function.name) }) as Arc<dyn Function>
    });
    functions.collect()
}

/// Stands for a component that is not here.
struct AbsentComponent {
    refusal: Option<String>,
}

impl Invoke for AbsentComponent {
    fn refusal(&self) -> Option<String> {
        self.refusal.clone()
    }

    fn invoke(&self, _: String) -> Invocation<'_> {
        let reason =
            self.refusal.clone().unwrap_or_else(|| "the component of the plugin is not here".to_owned());
        Box::pin(async move { Err(TaskError::new(ErrorCode::Plugin, reason)) })
    }
}

/// One function of a plugin.
struct PluginFunction {
    entry: &'static FunctionEntry,
    invoke: Arc<dyn Invoke>,
}

impl Function for PluginFunction {
    fn entry(&self) -> &'static FunctionEntry {
        self.entry
    }

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        if let Some(reason) = self.invoke.refusal() {
            return Err(format!("the plugin of \"{}\" is not loaded: {reason}", self.entry.name));
        }
        let output = input.get(OUTPUT).and_then(Value::as_str).unwrap_or(DEFAULT_OUTPUT);
        let output = Path::parse_target(output).map_err(|error| error.to_string())?;
        let written = self.entry.fields.iter().filter(|field| !is_folded(field) && field.name != OUTPUT);
        let written = written.filter_map(|field| {
            let value = input.get(field.name).filter(|value| !value.is_null())?;
            Some((field.name.to_owned(), value.clone()))
        });
        Ok(Box::new(PluginTask {
            entry: self.entry,
            folded: Inputs::new(self.entry, input, cx)?,
            written: written.collect(),
            output,
            invoke: Arc::clone(&self.invoke),
        }))
    }
}

/// Returns `true` for an input that depends on the message.
fn is_folded(field: &InputField) -> bool {
    field.resolvable || field.template
}

/// One task of a workflow that calls a plugin.
struct PluginTask {
    entry: &'static FunctionEntry,
    folded: Inputs,
    /// The inputs that never change.
    written: Map<String, Value>,
    output: Path,
    invoke: Arc<dyn Invoke>,
}

impl PluginTask {
    fn inputs(&self, cx: &TaskCx<'_>) -> Result<Map<String, Value>, TaskError> {
        let mut inputs = self.written.clone();
        for field in self.entry.fields.iter().filter(|field| is_folded(field)) {
            let value = match self.folded.get(cx, field.name)? {
                None if field.required => self.folded.require(cx, field.name).map(Some)?,
                value => value,
            };
            inputs.extend(value.map(|value| (field.name.to_owned(), value)));
        }
        Ok(inputs)
    }
}

impl CompiledTask for PluginTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> TaskExecution<'a> {
        Box::pin(async move {
            let inputs = Value::Object(self.inputs(cx)?).to_string();
            let result = self.invoke.invoke(inputs).await?;
            let result = cx.parse_json(result.as_bytes()).map_err(|error| match error {
                ParseJsonError::Malformed(_) => {
                    TaskError::new(ErrorCode::Plugin, format!("{}: its result is {error}", self.entry.name))
                }
                error => error.into_task_error(self.entry.name),
            })?;
            cx.write(&self.output, result)?;
            Ok(TaskOutcome::Success)
        })
    }
}
