//! A function made of a closure: for computations that need no connection and no secret.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::catalogue::{FunctionEntry, InputField};
use crate::error::TaskError;
use crate::function::{CompileCx, CompiledTask, Function, TaskCx, TaskExecution, TaskOutcome};
use crate::inputs::Inputs;
use crate::path::Path;
use crate::template::Template;

/// The input with the path that the result is written to.
const OUTPUT: &str = "output";
/// The root that a result is written to when the task names none.
const DEFAULT_OUTPUT: &str = "data";

/// A [`Function`] of an embedding application that computes a value of its inputs. The result is written to the input
/// `output` of the task, by default `data`.
///
/// The closure gets the inputs that the entry declares, each of its kind and present if required: those that are
/// [resolvable](InputField::resolvable) folded over the message, the others as they are written. If the entry accepts
/// any input it gets all but `output`, folded. It runs on the thread of the run and must not block.
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
        let output = input.get(OUTPUT).and_then(Value::as_str).unwrap_or(DEFAULT_OUTPUT);
        let output = Path::parse_target(output).map_err(|error| error.to_string())?;
        let inputs = if self.entry.accepts_any_input {
            let mut input = input.clone();
            input.as_object_mut().map(|input| input.remove(OUTPUT));
            ClosureInputs::Any(cx.template(&input))
        } else {
            let written = self.entry.fields.iter().filter(|field| !is_folded(field) && field.name != OUTPUT);
            let written = written.filter_map(|field| {
                let value = input.get(field.name).or_else(|| input.get(field.alias?))?;
                (!value.is_null()).then(|| (field.name.to_owned(), value.clone()))
            });
            ClosureInputs::Declared {
                entry: self.entry,
                folded: Inputs::new(self.entry, input, cx)?,
                written: written.collect(),
            }
        };
        Ok(Box::new(ClosureTask { inputs, output, compute: Arc::clone(&self.compute) }))
    }
}

/// The inputs of one task.
enum ClosureInputs {
    /// All of them, unchecked.
    Any(Template),
    /// Those of the table.
    Declared {
        entry: &'static FunctionEntry,
        folded: Inputs,
        /// The inputs that never change.
        written: Map<String, Value>,
    },
}

/// Returns `true` for an input that is folded over every message.
fn is_folded(field: &InputField) -> bool {
    (field.resolvable || field.template) && field.secret_at.is_empty()
}

impl ClosureInputs {
    fn fold(&self, cx: &TaskCx<'_>) -> Result<Map<String, Value>, TaskError> {
        match self {
            Self::Any(template) => match cx.resolve(template) {
                Value::Object(inputs) => Ok(inputs),
                _ => Ok(Map::new()),
            },
            Self::Declared { entry, folded, written } => {
                let mut inputs = written.clone();
                for field in entry.fields.iter().filter(|field| is_folded(field)) {
                    let value = match folded.get(cx, field.name)? {
                        None if field.required => folded.require(cx, field.name).map(Some)?,
                        value => value,
                    };
                    inputs.extend(value.map(|value| (field.name.to_owned(), value)));
                }
                Ok(inputs)
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
