//! The engine: one per process, shared by every channel.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value};
use slog::Logger;
use svc_model::mask::is_secret_reference;
use svc_model::{FieldError, Issue, Workflow, WorkflowContent};

use crate::bounds::limits::EngineLimits;
use crate::builtin;
use crate::catalogue::Catalogue;
use crate::checks::{Misspellings, UnknownCall, literal_reads, unknown_calls, warn_of_paths};
use crate::clock::{EngineClock, system_time};
use crate::error::CompileError;
use crate::expression::{Evaluator, Expression, SecretPolicy};
use crate::failing_calls::failing_calls;
use crate::function::{CompileSecrets, Function};
use crate::operators::DeclaredSecrets;
use crate::truth::{ConstantTruth, ResultUse};
use crate::workflow::compile::{self, CallMode};
use crate::workflow::dependencies::Dependencies;
use crate::workflow::program::CompiledWorkflow;

/// Compiles workflows and runs them.
pub struct Engine {
    pub(crate) evaluator: Evaluator,
    pub(crate) functions: HashMap<&'static str, Arc<dyn Function>>,
    pub(crate) catalogue: Catalogue,
    pub(crate) vars: Option<Value>,
    pub(crate) limits: EngineLimits,
    pub(crate) logger: Logger,
    pub(crate) version: String,
    pub(crate) clock: EngineClock,
}

impl Engine {
    /// Creates an engine with the built-in functions only; more are added by the builder.
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }

    /// Writes the facts of the engine into the metadata of a message.
    pub(crate) fn stamp(&self, metadata: &mut Map<String, Value>, now: DateTime<Utc>) {
        metadata.insert("processed_at".into(), now.to_rfc3339_opts(SecondsFormat::Micros, true).into());
        metadata.insert("engine_version".into(), self.version.as_str().into());
        if let Some(vars) = &self.vars {
            metadata.insert("vars".into(), vars.clone());
        }
    }

    /// Compiles one version of a workflow with the secrets it [takes](crate::secret_uses).
    ///
    /// # Errors
    /// The reason why its channels cannot serve: two tasks of one id, a function without a handler, anything
    /// malformed, a secret that is undeclared or would be recorded.
    pub fn compile(
        &self,
        workflow: &Workflow,
        material: CompileSecrets<'_>,
    ) -> Result<CompiledWorkflow, CompileError> {
        let (id, content) = (&workflow.workflow_id, &workflow.content);
        compile::compile(self, material, CallMode::Live, id, workflow.version, content)
    }

    /// Compiles as [`compile`](Self::compile) does, with stand-ins for all that reaches outside the engine.
    /// The answers come with each run: [`RunOptions::stubs`](crate::RunOptions::stubs).
    ///
    /// # Errors
    /// As [`compile`](Self::compile).
    pub fn compile_stubbed(
        &self,
        workflow: &Workflow,
        material: CompileSecrets<'_>,
    ) -> Result<CompiledWorkflow, CompileError> {
        let (id, content) = (&workflow.workflow_id, &workflow.content);
        compile::compile(self, material, CallMode::Stubbed, id, workflow.version, content)
    }

    /// Compiles as [`compile`](Self::compile) does, for runs that follow another one with
    /// [`RecordingMode::Shadow`](crate::RecordingMode::Shadow): calls that only read may be made, all others get the
    /// answers of that run.
    ///
    /// # Errors
    /// As [`compile`](Self::compile).
    pub fn compile_shadow(
        &self,
        workflow: &Workflow,
        material: CompileSecrets<'_>,
    ) -> Result<CompiledWorkflow, CompileError> {
        let (id, content) = (&workflow.workflow_id, &workflow.content);
        compile::compile(self, material, CallMode::Shadow, id, workflow.version, content)
    }

    /// Returns an engine of the same functions and limits whose expressions read these secrets.
    #[must_use]
    pub fn with_secrets(&self, secrets: DeclaredSecrets) -> Self {
        Self {
            evaluator: Evaluator::new(secrets, &self.limits),
            functions: self.functions.clone(),
            catalogue: self.catalogue.clone(),
            vars: self.vars.clone(),
            limits: self.limits,
            logger: self.logger.clone(),
            version: self.version.clone(),
            clock: Arc::clone(&self.clock),
        }
    }

    /// Returns the declared secrets that expressions read now.
    pub fn declared_secrets(&self) -> Arc<DeclaredSecrets> {
        self.evaluator.secrets()
    }

    /// Lets expressions read these values from now on. The names must be those the engine was built with:
    /// they were checked when workflows were compiled.
    pub fn replace_secrets(&self, secrets: Arc<DeclaredSecrets>) {
        self.evaluator.declare(secrets);
    }

    /// Compiles an expression outside a workflow; it may not read secrets, nor hold a reference
    /// to one, which nothing would resolve.
    ///
    /// # Errors
    /// A text for the author.
    pub fn compile_expression(&self, source: &Value) -> Result<Expression, String> {
        refuse_references(source)?;
        self.evaluator.compile_for(ResultUse::Value, source, OUTSIDE_WORKFLOW)
    }

    /// Compiles an expression outside a workflow of which only the truth counts.
    ///
    /// # Errors
    /// A text for the author, also for a value that is true, or not, for every message.
    pub fn compile_guard(&self, source: &Value) -> Result<Expression, String> {
        refuse_references(source)?;
        self.evaluator.compile_for(ResultUse::Truth, source, OUTSIDE_WORKFLOW)
    }

    /// Compiles an expression outside a workflow for its author; [`Self::constant_truths`] reports constant truths.
    pub(crate) fn compile_authored(&self, source: &Value) -> Result<Expression, String> {
        refuse_references(source)?;
        self.evaluator.compile(source, OUTSIDE_WORKFLOW)
    }

    /// Returns the values in an expression whose truth counts and is the same for every message. Paths begin at `at`;
    /// `only_truth` is set if the result of the whole is used as a truth.
    pub fn constant_truths(&self, at: &str, source: &Value, only_truth: bool) -> Vec<ConstantTruth> {
        let used_as = if only_truth { ResultUse::Truth } else { ResultUse::Value };
        self.evaluator.constant_truths(at, source, used_as)
    }

    /// Returns `true` if an expression calls an operator, at whatever depth. One that calls none is data.
    pub fn calls_operator(&self, source: &Value) -> bool {
        match source {
            Value::Object(members) => {
                let is_call = members.len() == 1 && members.keys().any(|name| self.evaluator.knows(name));
                is_call || members.values().any(|member| self.calls_operator(member))
            }
            Value::Array(items) => items.iter().any(|item| self.calls_operator(item)),
            _ => false,
        }
    }

    /// Returns the objects of one member in an expression that call no operator: data, and if only truth
    /// counts always true. Paths begin at `at`.
    pub fn unknown_calls(&self, at: &str, source: &Value) -> Vec<UnknownCall> {
        unknown_calls(&self.evaluator, at, source)
    }

    /// Returns the paths that an expression reads by their literal names, each with its place; those below
    /// the element of a loop are left out. Places begin at `at`.
    pub fn literal_reads(&self, at: &str, source: &Value) -> Vec<(String, String)> {
        literal_reads(at, source)
    }

    /// Returns warnings of the texts in an expression that read like paths below one of `roots`, and of objects that
    /// have `var` and other members. Places begin at `at`.
    pub fn texts_of_paths(&self, at: &str, source: &Value, roots: &[&str]) -> Vec<Issue> {
        let mut warnings = Vec::new();
        warn_of_paths(at, source, roots, &mut warnings);
        warnings
    }

    /// Returns warnings of the calls in an expression that cannot succeed and are in branches, which may not run.
    /// Places begin at `at`.
    pub fn failing_branches(&self, at: &str, source: &Value) -> Vec<Issue> {
        let calls = failing_calls(&self.evaluator, source).into_iter().filter(|call| !call.always);
        calls.map(|call| Issue::new(format!("{at}{}", call.place), call.reason)).collect()
    }

    /// Lists the problems that the author of a stored workflow would be refused for today, though it runs:
    /// keys, operators and roots of paths that do not exist.
    pub fn misspellings(&self, content: &WorkflowContent) -> Vec<FieldError> {
        Misspellings::find(&self.evaluator, &self.catalogue, content).errors
    }

    /// Lists the calls of operators that 0.1.0 does not have: a workflow that was stored before has data there.
    pub fn added_calls(&self, content: &WorkflowContent) -> Vec<Issue> {
        Misspellings::find(&self.evaluator, &self.catalogue, content).added_calls
    }

    /// Evaluates an expression over named roots.
    ///
    /// # Errors
    /// The reason of the failure, for operators.
    pub fn evaluate(&self, expression: &Expression, roots: &[(&str, &Value)]) -> Result<Value, String> {
        self.evaluator.evaluate_roots(expression, roots)
    }

    /// Puts these functions of plugins in the place of the earlier ones, also in the engines that were made of this
    /// one. A workflow keeps the functions it was compiled with. A registered function of the same name stays.
    pub fn replace_plugins(&self, functions: impl IntoIterator<Item = Arc<dyn Function>>) {
        let functions = functions.into_iter().filter(|function| {
            let name = function.entry().name;
            !builtin::is_builtin(name) && !self.functions.contains_key(name)
        });
        self.catalogue.plugins().replace(functions);
    }

    /// Returns the registered function of a name, or that of a plugin.
    pub(crate) fn find_function(&self, name: &str) -> Option<Arc<dyn Function>> {
        self.functions.get(name).cloned().or_else(|| self.catalogue.plugins().find(name))
    }

    /// Returns the functions that workflows of this engine may name.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// Reads the connectors and channels that a workflow calls off its document; tasks that cannot be read
    /// are skipped.
    pub fn dependencies(&self, content: &WorkflowContent) -> Dependencies {
        Dependencies::read(&self.catalogue, content)
    }
}

/// The policy of expressions that no workflow evaluates.
const OUTSIDE_WORKFLOW: SecretPolicy = SecretPolicy::Refused("a channel");

fn refuse_references(source: &Value) -> Result<(), String> {
    if holds_reference(source) {
        return Err("a secret reference is not resolved here".to_owned());
    }
    Ok(())
}

fn holds_reference(source: &Value) -> bool {
    match source {
        Value::String(text) => is_secret_reference(text),
        Value::Array(items) => items.iter().any(holds_reference),
        Value::Object(members) => members.values().any(holds_reference),
        _ => false,
    }
}

/// Gathers what an engine is made of.
#[derive(Default)]
pub struct EngineBuilder {
    functions: HashMap<&'static str, Arc<dyn Function>>,
    catalogue: Catalogue,
    vars: Option<Value>,
    secrets: BTreeMap<String, Value>,
    limits: EngineLimits,
    logger: Option<Logger>,
    version: Option<String>,
    clock: Option<EngineClock>,
}

impl EngineBuilder {
    /// Registers a function under the names of its entry; it replaces one of the same name. Built-ins cannot
    /// be replaced.
    #[must_use]
    pub fn function(mut self, function: Arc<dyn Function>) -> Self {
        let entry = function.entry();
        for name in entry.names() {
            self.functions.insert(name, Arc::clone(&function));
        }
        self.catalogue.insert(entry);
        self
    }

    /// Declares functions that only builds with one of some cargo features have. If they are not
    /// registered, errors about them say so.
    #[must_use]
    pub fn optional_functions(mut self, features: &'static str, names: &[&'static str]) -> Self {
        for name in names {
            self.catalogue.declare_optional(name, features);
        }
        self
    }

    /// Returns `true` if a built-in or a registered function has this name.
    pub fn has_function(&self, name: &str) -> bool {
        builtin::is_builtin(name) || self.functions.contains_key(name)
    }

    /// Sets the declared values, stamped into `metadata.vars` of every message.
    #[must_use]
    pub fn vars(mut self, vars: Option<Value>) -> Self {
        self.vars = vars;
        self
    }

    /// Sets the declared secrets by name, resolved.
    #[must_use]
    pub fn secrets<N: Into<String>>(mut self, secrets: impl IntoIterator<Item = (N, Value)>) -> Self {
        self.secrets.extend(secrets.into_iter().map(|(name, value)| (name.into(), value)));
        self
    }

    /// Bounds of what a workflow may ask for.
    #[must_use]
    pub fn limits(mut self, limits: EngineLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Takes the limits of another engine and its plugins, those that it has now and later. A registered function of the
    /// same name as one of a plugin is called in its place.
    #[must_use]
    pub fn limits_and_plugins_of(mut self, other: &Engine) -> Self {
        self.limits = other.limits;
        self.catalogue.share_plugins(&other.catalogue);
        self
    }

    /// Sets the logger of `log` tasks and of warnings about conditions; without one they are discarded.
    #[must_use]
    pub fn logger(mut self, logger: Logger) -> Self {
        self.logger = Some(logger);
        self
    }

    /// Sets the service version, stamped into `metadata.engine_version`.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Sets the source of wall-clock time of the runs; the system clock by default.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> DateTime<Utc> + Send + Sync + 'static) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Builds the engine.
    pub fn build(mut self) -> Engine {
        builtin::entries().for_each(|entry| self.catalogue.insert(entry));
        Engine {
            evaluator: Evaluator::new(DeclaredSecrets::from_iter(self.secrets), &self.limits),
            functions: self.functions,
            catalogue: self.catalogue,
            vars: self.vars,
            limits: self.limits,
            logger: self.logger.unwrap_or_else(|| Logger::root(slog::Discard, slog::o!())),
            version: self.version.unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned()),
            clock: self.clock.unwrap_or_else(|| Arc::new(system_time)),
        }
    }
}
