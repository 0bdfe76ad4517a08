//! Steps that are more than a task or a plain group: retries, fan-outs, groups with a frame.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Assembly, CallMode, Parts};
use crate::error::CompileError;
use crate::expression::{Condition, Expression, SecretPolicy};
use crate::truth::ResultUse;
use crate::workflow::fan_out_spec::FanOutSpec;
use crate::workflow::loop_spec::{Loop, LoopList, parse_loop};
use crate::workflow::program::{
    CompiledStep, Composite, FanOut, GroupFrame, GroupMembers, GuardedTask, Program, StepAction, StepNames,
};
use crate::workflow::retry_spec::{StepBounds, TaskRetry, required_key};

/// The function that the records of a group with a frame name.
const GROUP: &str = "group";

/// Keys of a group that make it more than a list.
const FRAME_KEYS: [&str; 5] = ["for_each", "parallel", "on_error", "finally", "timeout_ms"];

/// A task as it is read.
pub(super) struct TaskSource<'s> {
    pub(super) element: &'s Value,
    pub(super) at: &'s str,
    pub(super) position: usize,
    pub(super) names: &'s StepNames,
}

/// A group as it is read.
pub(super) struct GroupSource<'s> {
    pub(super) element: &'s Value,
    pub(super) members: &'s [Value],
    pub(super) id: Arc<str>,
    pub(super) at: &'s str,
    pub(super) depth: usize,
}

/// Returns `true` for a group that is more than a list of its members.
pub(super) fn is_framed(group: &Value) -> bool {
    let is_set = |value: &Value| !matches!(value, Value::Null | Value::Bool(false));
    FRAME_KEYS.iter().any(|key| group.get(*key).is_some_and(is_set))
}

fn fields(element: &Value) -> &Map<String, Value> {
    static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    element.as_object().unwrap_or(&EMPTY)
}

impl Assembly<'_> {
    /// Reads the bounds and the retries of a step.
    pub(super) fn bounds(&self, element: &Value, at: &str) -> Result<StepBounds, CompileError> {
        let mut errors = Vec::new();
        let bounds = StepBounds::parse(&self.engine.catalogue, fields(element), at, &mut errors);
        if errors.is_empty() { Ok(bounds) } else { Err(self.problems(&errors)) }
    }

    fn fan_out_spec<'v>(&self, element: &'v Value, at: &str) -> Result<Option<FanOutSpec<'v>>, CompileError> {
        let mut errors = Vec::new();
        let spec = FanOutSpec::parse(&self.engine.catalogue, fields(element), at, &mut errors);
        if errors.is_empty() { Ok(spec) } else { Err(self.problems(&errors)) }
    }

    /// Compiles the steps of a nested program.
    fn nested(
        &mut self,
        compile: impl FnOnce(&mut Self) -> Result<(), CompileError>,
    ) -> Result<Program, CompileError> {
        let outer = std::mem::take(&mut self.parts);
        let compiled = compile(self);
        let parts: Parts = std::mem::replace(&mut self.parts, outer);
        compiled.map(|()| parts.into_program())
    }

    /// Compiles the action of a task: its call, with its retries, for one message or for each element of a list.
    pub(super) fn task_action(
        &mut self,
        task: &TaskSource<'_>,
        bounds: StepBounds,
    ) -> Result<StepAction, CompileError> {
        let Some(spec) = self.fan_out_spec(task.element, task.at)? else {
            return self.call_action(task, bounds);
        };
        let over = self.over(&spec, task.at)?;
        let program = self.nested(|assembly| {
            let action = assembly.call_action(task, bounds)?;
            let recordable = assembly.recordable(&task.names.function, &task.element["function"]);
            assembly.parts.steps.push(CompiledStep {
                position: task.position,
                id: Arc::clone(&task.names.id),
                function: Arc::clone(&task.names.function),
                connector: task.names.connector.clone(),
                condition: Condition::Always,
                action,
                continue_on_error: false,
                terminal: false,
                halts_on_failure: false,
                recordable,
            });
            Ok(())
        })?;
        Ok(fan_out(spec, over, program))
    }

    fn call_action(&mut self, task: &TaskSource<'_>, bounds: StepBounds) -> Result<StepAction, CompileError> {
        let input_at = format!("{}.function.input", task.at);
        let call = self.call(&task.names.id, &task.names.function, task.element, &input_at)?;
        let StepBounds { retry, timeout, .. } = bounds;
        // The answer of a stub does not change while one waits.
        let retry = match self.calls {
            CallMode::Live | CallMode::Shadow => retry,
            CallMode::Stubbed => retry.map(TaskRetry::without_delay),
        };
        if retry.is_none() && timeout.is_none() {
            return Ok(call.into());
        }
        let key = required_key(&self.engine.catalogue, fields(task.element)).filter(|_| retry.is_some());
        let key = key.map(|key| {
            let key = self.engine.evaluator.compile_for(ResultUse::Value, key, SecretPolicy::Allowed);
            key.map_err(|message| self.invalid(&format!("{input_at}.idempotency_key"), message))
        });
        Ok(StepAction::Guarded(Box::new(GuardedTask { call, retry, key: key.transpose()?, timeout })))
    }

    /// Compiles the expression of a list. Its elements are in the records of the run.
    fn over(&self, spec: &FanOutSpec<'_>, at: &str) -> Result<Expression, CompileError> {
        let policy = SecretPolicy::Refused("for_each.over");
        let over = self.engine.evaluator.compile_for(ResultUse::Value, spec.over, policy);
        over.map_err(|message| self.invalid(&format!("{at}.for_each.over"), message))
    }

    /// Compiles a group with a frame as one step.
    pub(super) fn framed_group(
        &mut self,
        group: &GroupSource<'_>,
        condition: Condition,
        terminal: bool,
    ) -> Result<(), CompileError> {
        let bounds = self.bounds(group.element, group.at)?;
        let position = self.names.len();
        let spec = self.fan_out_spec(group.element, group.at)?;
        let over = spec.as_ref().map(|spec| self.over(spec, group.at)).transpose()?;
        let program = self.frame(group, &bounds)?;
        let action = match (spec, over) {
            (Some(spec), Some(over)) => {
                let program = match program {
                    FramedProgram::Plain(program) => program,
                    FramedProgram::Frame(frame) => {
                        let action = StepAction::Composite(Box::new(Composite::Group(*frame)));
                        let step = group_step(group, position, Condition::Always, action, false);
                        Parts { steps: vec![step], ..Parts::default() }.into_program()
                    }
                };
                fan_out(spec, over, program)
            }
            _ => StepAction::Composite(Box::new(Composite::Group(match program {
                FramedProgram::Frame(frame) => *frame,
                FramedProgram::Plain(program) => GroupFrame {
                    members: GroupMembers::InOrder(program),
                    on_error: None,
                    finally: None,
                    timeout: None,
                },
            }))),
        };
        self.parts.steps.push(group_step(group, position, condition, action, terminal));
        Ok(())
    }

    /// Compiles the loop block of a workflow.
    pub(super) fn looping(&mut self, block: &Value) -> Result<Loop, CompileError> {
        let ceiling = self.engine.limits.max_loop_iterations;
        let mut errors = Vec::new();
        let parsed = parse_loop(block, ceiling, &mut errors).ok_or_else(|| self.problems(&errors))?;
        let list = match parsed.element {
            None => None,
            Some(element) => {
                let policy = SecretPolicy::Refused("loop.over");
                let over = self.engine.evaluator.compile_for(ResultUse::Value, &block["over"], policy);
                let over = over.map_err(|message| self.invalid("loop.over", message))?;
                let most = usize::try_from(ceiling).ok().filter(|most| *most > 0 && parsed.max.is_none());
                Some(LoopList { over, element, most })
            }
        };
        let setup = match &block["setup"] {
            Value::Null => None,
            Value::Array(steps) if steps.is_empty() => None,
            Value::Array(steps) => Some(self.nested(|assembly| assembly.elements(steps, "loop.setup", 0))?),
            _ => return Err(self.invalid("loop.setup", "expected a list of tasks")),
        };
        Ok(Loop {
            counter: parsed.counter,
            init: parsed.init,
            increment: parsed.increment,
            max: parsed.max.unwrap_or(i64::MAX),
            list,
            scratch: parsed.scratch,
            setup,
        })
    }

    /// Compiles the members of a group, with the frame around them if there is one.
    fn frame(&mut self, group: &GroupSource<'_>, bounds: &StepBounds) -> Result<FramedProgram, CompileError> {
        let at = group.at;
        let is_parallel = self.flag(group.element, "parallel", at)?;
        let tasks_at = format!("{at}.tasks");
        let members = if is_parallel {
            let mut programs = Vec::new();
            for (n, member) in group.members.iter().enumerate() {
                let at = format!("{tasks_at}[{n}]");
                programs.push(self.nested(|assembly| assembly.element(member, &at, group.depth))?);
            }
            GroupMembers::AtOnce(programs.into())
        } else {
            let members = group.members;
            let program = self.nested(|assembly| assembly.elements(members, &tasks_at, group.depth))?;
            GroupMembers::InOrder(program)
        };
        let on_error = self.handler(group, "on_error")?;
        let finally = self.handler(group, "finally")?.map(Arc::new);
        match members {
            GroupMembers::InOrder(program)
                if on_error.is_none() && finally.is_none() && bounds.timeout.is_none() =>
            {
                Ok(FramedProgram::Plain(program))
            }
            members => {
                let timeout = bounds.timeout;
                Ok(FramedProgram::Frame(Box::new(GroupFrame { members, on_error, finally, timeout })))
            }
        }
    }

    /// Compiles the tasks of a group that run after its members.
    fn handler(&mut self, group: &GroupSource<'_>, key: &str) -> Result<Option<Program>, CompileError> {
        let at = format!("{}.{key}", group.at);
        match group.element.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Array(tasks)) if !tasks.is_empty() => {
                self.nested(|assembly| assembly.elements(tasks, &at, group.depth)).map(Some)
            }
            Some(_) => Err(self.invalid(&at, "expected a list of at least one task")),
        }
    }
}

/// The members of a group, with their frame.
enum FramedProgram {
    Plain(Program),
    Frame(Box<GroupFrame>),
}

fn fan_out(spec: FanOutSpec<'_>, over: Expression, program: Program) -> StepAction {
    StepAction::Composite(Box::new(Composite::Each(FanOut {
        over,
        element: spec.element,
        index: spec.index,
        max_concurrency: spec.max_concurrency,
        collect: spec.collect,
        into: spec.into,
        continue_on_error: spec.continue_on_error,
        program,
    })))
}

fn group_step(
    group: &GroupSource<'_>,
    position: usize,
    condition: Condition,
    action: StepAction,
    terminal: bool,
) -> CompiledStep {
    CompiledStep {
        position,
        id: Arc::clone(&group.id),
        function: GROUP.into(),
        connector: None,
        condition,
        action,
        continue_on_error: false,
        terminal,
        halts_on_failure: false,
        recordable: None,
    }
}
