//! A function made of a closure: for computations that need no connection and no secret.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::catalogue::FunctionEntry;
use crate::error::TaskError;
use crate::function::{CompileCx, CompiledTask, Function, TaskCx, TaskExecution, TaskOutcome};
use crate::inputs::Inputs;
use crate::path::Path;
use crate::template::Template;

/// The root that a result is written to when the task names none.
const DEFAULT_OUTPUT: &str = "data";

/// A [`Function`] of an embedding application that computes a value of its inputs. The result is written to the input
/// `output` of the task, by default `data`.
///
/// The closure gets the inputs folded over the message: those that the entry declares, each of its kind and present
/// if required, or all but `output` if the entry accepts any input. It runs on the thread of the run and must
/// not block.
///
/// ```
/// use serde_json::{Map, Value};
/// use svc_engine::catalogue::{FunctionEntry, InputField};
/// use svc_engine::{ClosureFunction, Engine};
///
/// static DOUBLE: FunctionEntry = FunctionEntry {
///     retry_safety: "pure",
///     accepts_any_input: false,
///     fields: &[InputField::number("of", "The number").required().resolvable(), InputField::output()],
///     ..FunctionEntry::plugin("double", "Doubles a number")
/// };
/// let double = |inputs: &Map<String, Value>| {
///     Ok(inputs.get("of").and_then(Value::as_f64).map(|number| number * 2.0).into())
/// };
/// let engine = Engine::builder().function(std::sync::Arc::new(ClosureFunction::new(&DOUBLE, double)));
/// ```
pub struct ClosureFunction<F> {
    entry: &'static FunctionEntry,
    compute: Arc<F>,
}

impl<F> ClosureFunction<F>
where
    F: Fn(&Map<String, Value>) -> Result<Value, TaskError> + Send + Sync + 'static,
{
    /// Makes a function of its entry and a closure.
    pub fn new(entry: &'static FunctionEntry, compute: F) -> Self {
        Self { entry, compute: Arc::new(compute) }
    }
}

impl<F> Function for ClosureFunction<F>
where
    F: Fn(&Map<String, Value>) -> Result<Value, TaskError> + Send + Sync + 'static,
{
    fn entry(&self) -> &'static FunctionEntry {
        self.entry
    }

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let output = input.get("output").and_then(Value::as_str).unwrap_or(DEFAULT_OUTPUT);
        let output = Path::parse_target(output).map_err(|error| error.to_string())?;
        let inputs = if self.entry.accepts_any_input {
            let mut input = input.clone();
            input.as_object_mut().map(|input| input.remove("output"));
            ClosureInputs::Any(cx.template(&input))
        } else {
            ClosureInputs::Declared(self.entry, Inputs::new(self.entry, input))
        };
        Ok(Box::new(ClosureTask { inputs, output, compute: Arc::clone(&self.compute) }))
    }
}

/// The inputs of one task.
enum ClosureInputs {
    /// All of them, unchecked.
    Any(Template),
    /// Those of the table.
    Declared(&'static FunctionEntry, Inputs),
}

impl ClosureInputs {
    fn fold(&self, cx: &TaskCx<'_>) -> Result<Map<String, Value>, TaskError> {
        match self {
            Self::Any(template) => match cx.resolve(template) {
                Value::Object(inputs) => Ok(inputs),
                _ => Ok(Map::new()),
            },
            Self::Declared(entry, inputs) => {
                let mut folded = Map::new();
                for field in entry.fields.iter().filter(|field| field.resolvable) {
                    let value = match inputs.get(cx, field.name)? {
                        None if field.required => inputs.require(cx, field.name).map(Some)?,
                        value => value,
                    };
                    folded.extend(value.map(|value| (field.name.to_owned(), value)));
                }
                Ok(folded)
            }
        }
    }
}

/// One task of a workflow that calls the function.
struct ClosureTask<F> {
    inputs: ClosureInputs,
    output: Path,
    compute: Arc<F>,
}

impl<F> CompiledTask for ClosureTask<F>
where
    F: Fn(&Map<String, Value>) -> Result<Value, TaskError> + Send + Sync,
{
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> TaskExecution<'a> {
        Box::pin(async move {
            let inputs = self.inputs.fold(cx)?;
            cx.write(&self.output, (self.compute)(&inputs)?)?;
            Ok(TaskOutcome::Success)
        })
    }
}
