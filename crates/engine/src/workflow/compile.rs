//! From a stored workflow to a program.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;
use svc_model::{FieldError, WorkflowContent};

use crate::builtin::{self, Builtin, InputCompiler};
use crate::checks;
use crate::engine::Engine;
use crate::error::CompileError;
use crate::expression::Condition;
use crate::function::{CompileCx, CompileSecrets, Function};
use crate::reads::Reads;
use crate::recording::{MetadataReads, RecordableCall};
use crate::stubs::{self, ReplaceableFunction, ShadowFunction, StubFunction};
use crate::workflow::authored::authored_input;
use crate::workflow::program::{CompiledStep, CompiledWorkflow, Program, Span, StepNames, TaskCall};
use crate::workflow::retry_spec::only_reads;

mod composite;

/// Groups inside groups.
pub(crate) const MAX_GROUP_DEPTH: usize = 8;

/// The way in which the tasks of a workflow reach what is outside the engine.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallMode {
    /// Functions call connectors and channels.
    Live,
    /// Stubs answer for connectors and channels.
    Stubbed,
    /// The answers of another run are used; calls that only read may be made.
    Shadow,
}

/// Compiles one version of a workflow.
pub(crate) fn compile(
    engine: &Engine,
    material: CompileSecrets<'_>,
    calls: CallMode,
    id: &str,
    version: i64,
    content: &WorkflowContent,
) -> Result<CompiledWorkflow, CompileError> {
    let mut assembly = Assembly {
        engine,
        material,
        calls,
        workflow: id,
        ids: HashSet::new(),
        names: Vec::new(),
        parts: Parts::default(),
    };
    assembly.check_readable(content)?;
    let condition = assembly.condition(Some(&content.condition), "condition")?;
    let looping = match &content.loop_ {
        None | Some(Value::Null) => None,
        Some(block) => Some(assembly.looping(block)?),
    };
    assembly.elements(&content.tasks, "tasks", 0)?;
    if assembly.parts.steps.is_empty() {
        return Err(assembly.invalid("tasks", "a workflow needs at least one task"));
    }
    Ok(CompiledWorkflow {
        id: id.into(),
        versioned_id: format!("{id}:v{version}").into(),
        version,
        content_hash: content.content_hash().into(),
        condition,
        program: assembly.parts.into_program(),
        names: assembly.names.into(),
        looping,
        continue_on_error: content.continue_on_error,
        metadata_reads: MetadataReads::collect(
            content.tasks.iter().chain([&content.condition]).chain(&content.loop_),
        ),
    })
}

struct Assembly<'e> {
    engine: &'e Engine,
    material: CompileSecrets<'e>,
    calls: CallMode,
    workflow: &'e str,
    ids: HashSet<String>,
    names: Vec<StepNames>,
    /// The program that is being put together.
    parts: Parts,
}

/// The parts of a program.
#[derive(Default)]
struct Parts {
    steps: Vec<CompiledStep>,
    spans: Vec<Span>,
    reads: Reads,
}

impl Parts {
    fn into_program(self) -> Program {
        Program { steps: self.steps.into(), spans: self.spans.into(), reads: self.reads }
    }
}

impl Assembly<'_> {
    fn invalid(&self, at: &str, message: impl Into<String>) -> CompileError {
        CompileError::Invalid { workflow: self.workflow.into(), at: at.into(), message: message.into() }
    }

    fn check_readable(&self, content: &WorkflowContent) -> Result<(), CompileError> {
        let tasks = content.tasks.iter().map(|task| ("tasks", task));
        let others =
            content.loop_.iter().map(|block| ("loop", block)).chain([("condition", &content.condition)]);
        match tasks.chain(others).find(|(_, part)| svc_model::is_unreadable(part)) {
            Some((at, _)) => Err(self.invalid(at, "the stored JSON cannot be read")),
            None => Ok(()),
        }
    }

    fn problems(&self, errors: &[FieldError]) -> CompileError {
        let text: Vec<_> = errors.iter().map(|error| format!("{}: {}", error.path, error.message)).collect();
        let (at, message) = match errors.first() {
            Some(first) if errors.len() == 1 => (first.path.clone(), first.message.clone()),
            _ => ("tasks".into(), text.join("; ")),
        };
        self.invalid(&at, message)
    }

    fn elements(&mut self, elements: &[Value], at: &str, depth: usize) -> Result<(), CompileError> {
        for (n, element) in elements.iter().enumerate() {
            self.element(element, &format!("{at}[{n}]"), depth)?;
        }
        Ok(())
    }

    fn element(&mut self, element: &Value, at: &str, depth: usize) -> Result<(), CompileError> {
        match element.get("tasks") {
            Some(_) => self.group(element, at, depth + 1),
            None => self.task(element, at),
        }
    }

    fn id(&mut self, element: &Value, at: &str) -> Result<Arc<str>, CompileError> {
        let id = element["id"].as_str().filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| self.invalid(&format!("{at}.id"), "a task needs a non-empty id"))?;
        if !self.ids.insert(id.to_owned()) {
            return Err(CompileError::DuplicateTaskId { workflow: self.workflow.into(), task: id.into() });
        }
        Ok(id.into())
    }

    fn condition(&mut self, source: Option<&Value>, at: &str) -> Result<Condition, CompileError> {
        let Some(source) = source.filter(|source| !source.is_null()) else { return Ok(Condition::Always) };
        let condition = self.engine.evaluator.compile_condition(source);
        let condition = condition.map_err(|message| self.invalid(at, message))?;
        if let Condition::When(expression) = &condition {
            self.parts.reads.merge(expression.reads().clone());
        }
        Ok(condition)
    }

    fn flag(&self, element: &Value, field: &str, at: &str) -> Result<bool, CompileError> {
        match element.get(field) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(self.invalid(&format!("{at}.{field}"), "expected a boolean")),
        }
    }

    fn group(&mut self, element: &Value, at: &str, depth: usize) -> Result<(), CompileError> {
        let tasks_at = format!("{at}.tasks");
        if depth > MAX_GROUP_DEPTH {
            return Err(self.invalid(&tasks_at, format!("groups nest at most {MAX_GROUP_DEPTH} deep")));
        }
        let id = self.id(element, at)?;
        let condition = self.condition(element.get("condition"), &format!("{at}.condition"))?;
        let terminal = self.flag(element, "terminal", at)?;
        let members = match element["tasks"].as_array() {
            Some(members) if !members.is_empty() => members,
            _ => return Err(self.invalid(&tasks_at, "a group needs at least one task")),
        };
        if composite::is_framed(element) {
            let group = composite::GroupSource { element, members, id, at, depth };
            return self.framed_group(&group, condition, terminal);
        }
        let index = self.parts.spans.len();
        let start = self.parts.steps.len();
        self.parts.spans.push(Span { start, end: start, condition, terminal });
        self.elements(members, &tasks_at, depth)?;
        self.parts.spans[index].end = self.parts.steps.len();
        Ok(())
    }

    fn task(&mut self, element: &Value, at: &str) -> Result<(), CompileError> {
        let id = self.id(element, at)?;
        let function = &element["function"];
        let Some(name) = function["name"].as_str() else {
            return Err(self.invalid(&format!("{at}.function.name"), "a task names a function"));
        };
        let condition = self.condition(element.get("condition"), &format!("{at}.condition"))?;
        let names = StepNames {
            id,
            function: name.into(),
            connector: authored_input(function)["connector"].as_str().map(Into::into),
        };
        let position = self.names.len();
        self.names.push(names.clone());
        let source = composite::TaskSource { element, at, position, names: &names };
        let bounds = self.bounds(element, at)?;
        let halts_on_failure = bounds.halts_on_failure;
        let action = self.task_action(&source, bounds)?;
        let step = CompiledStep {
            position,
            condition,
            action,
            continue_on_error: self.flag(element, "continue_on_error", at)?,
            terminal: self.flag(element, "terminal", at)?,
            halts_on_failure,
            recordable: self.recordable(&names.function, function),
            id: names.id,
            function: names.function,
            connector: names.connector,
        };
        self.parts.steps.push(step);
        Ok(())
    }

    /// Returns the form in which the calls of a task are recorded; `None` for a task that calls nothing, or that stubs
    /// answer.
    fn recordable(&self, name: &str, function: &Value) -> Option<Box<RecordableCall>> {
        let entry = stubs::find_answerable(&self.engine.catalogue, name)?;
        (self.calls == CallMode::Live).then(|| Box::new(RecordableCall::new(entry, authored_input(function))))
    }

    /// Returns the stand-in of a function; `None` for one that is called.
    fn stand_in(&self, name: &str, task: &Value) -> Option<Arc<dyn Function>> {
        let catalogue = &self.engine.catalogue;
        match self.calls {
            CallMode::Live => None,
            CallMode::Stubbed => {
                let Some(entry) = stubs::find_stubbable(catalogue, name) else {
                    return self.engine.find_function(name)?.without_effects();
                };
                if entry.component_digest.is_none() {
                    return Some(Arc::new(StubFunction(entry)));
                }
                Some(Arc::new(ReplaceableFunction(self.engine.find_function(name)?)))
            }
            CallMode::Shadow => {
                stubs::find_answerable(catalogue, name)?;
                let function = Arc::clone(self.engine.functions.get(name)?);
                let is_read = only_reads(catalogue, task);
                Some(Arc::new(ShadowFunction { function, is_read }))
            }
        }
    }

    /// Binds the function of a task to its input.
    fn call(&mut self, id: &str, name: &str, task: &Value, at: &str) -> Result<TaskCall, CompileError> {
        let input = authored_input(&task["function"]);
        let evaluator = &self.engine.evaluator;
        if builtin::is_builtin(name) {
            let mut errors = Vec::new();
            let compiler = InputCompiler {
                evaluator,
                check_secrets: true,
                reads: RefCell::default(),
                warnings: RefCell::default(),
            };
            let built = Builtin::compile(name, input, at, &compiler, &mut errors);
            self.parts.reads.merge(compiler.reads.into_inner());
            return built.map(TaskCall::Builtin).ok_or_else(|| self.problems(&errors));
        }
        let stub = self.stand_in(name, task);
        let Some(function) = stub.or_else(|| self.engine.find_function(name)) else {
            if let Some(message) = self.engine.catalogue.absence(name) {
                let (workflow, at) = (self.workflow.into(), format!("task \"{id}\""));
                return Err(CompileError::Invalid { workflow, at, message });
            }
            return Err(CompileError::Undispatchable {
                workflow: self.workflow.into(),
                function: name.into(),
                task: id.into(),
            });
        };
        let Some(fields) = input.as_object() else {
            return Err(self.invalid(at, "expected an object"));
        };
        let errors = checks::input_errors(self.engine, name, fields, at);
        if !errors.is_empty() {
            return Err(self.problems(&errors));
        }
        let task = function.compile(input, &CompileCx { evaluator, material: self.material });
        task.map(TaskCall::Task).map_err(|message| self.invalid(at, message))
    }
}
