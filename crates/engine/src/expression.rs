//! Expressions: JSONLogic, compiled once, evaluated many times.
//!
//! Compiling walks the authored JSON first: it finds which roots the expression can read, and refuses a
//! secret that is undeclared, computed, or read where the result would be recorded. Values of secrets never
//! reach an error text: an expression that reads one fails without saying why.

mod explain;
mod fallback;
mod patterns;
mod prepare;
mod replace;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use datalogic_rs::bumpalo::Bump;
use datalogic_rs::{DataValue, Logic};
use serde_json::{Map, Value};

use crate::bounds::limits::EngineLimits;
use crate::bounds::{extent, refused_growth};
use crate::operators::{self, CompiledPattern, DeclaredSecrets, KnownIntegers, PatternPool, SharedSecrets};
use crate::path::{self, Path};
use crate::reads::{ReadExtent, Reads};
use crate::redaction::Redaction;
use crate::scope::{self, Arena};
use crate::truth::{ConstantTruth, ResultUse, constant_truths};

/// Containers inside containers that an authored expression may have.
const MAX_NESTING: usize = 128;

/// The memory of an evaluation, as a multiple of the bound of one value.
const ARENA_SHARE: usize = 4;

/// Operators an expression may call; data it only holds is not counted.
const MAX_CALLS: usize = 10_000;

/// Operators that reach into the evaluation context.
const ACCESSORS: [&str; 5] = ["var", "val", "missing", "missing_some", "exists"];

/// The permission to read secrets, by the place of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretPolicy {
    /// The result is used and forgotten.
    Allowed,
    /// The result is recorded or leaves the workflow; the word names the place.
    Refused(&'static str),
}

/// A compiled expression. Cheap to clone.
///
/// ```
/// use serde_json::json;
/// use svc_engine::Engine;
///
/// let engine = Engine::builder().build();
/// let is_large = engine.compile_expression(&json!({">": [{"var": "data.total"}, 100]}))?;
/// assert_eq!(engine.evaluate(&is_large, &[("data", &json!({"total": 119}))])?, json!(true));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone)]
pub struct Expression {
    logic: Arc<Logic>,
    /// As authored, for the texts of errors.
    source: Arc<Value>,
    reads: Arc<Reads>,
    /// Names of the secrets it reads.
    secrets: Arc<[String]>,
    /// The parts of its result that are derived from secrets, as JSON pointers.
    derived: Arc<[String]>,
    copies: Option<Arc<Path>>,
    /// The logic that writes large integers into texts with all their digits, compiled when it is first needed; `None`
    /// for an expression that is the same without.
    exact: Option<Arc<OnceLock<Arc<Logic>>>>,
    /// The patterns that it matches, which the operators find as long as they are here.
    patterns: Arc<[Arc<CompiledPattern>]>,
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Expression");
        fields.field("reads", &self.reads).field("secrets", &self.secrets);
        fields.field("patterns", &self.patterns).finish()
    }
}

impl Expression {
    pub(crate) fn reads(&self) -> &Reads {
        &self.reads
    }

    /// Returns the path whose value it is, when it does nothing else. A copy keeps what expressions cannot
    /// represent, such as integers above 2^63.
    pub(crate) fn copies(&self) -> Option<&Path> {
        self.copies.as_deref()
    }

    /// Returns `true` if the result is the same for every message.
    pub(crate) fn is_constant(&self) -> bool {
        self.logic.is_constant()
    }

    /// Returns the names of the secrets that it reads.
    pub(crate) fn secret_names(&self) -> &[String] {
        &self.secrets
    }

    /// Returns `true` if evaluating the expression reads a secret.
    pub fn reads_secrets(&self) -> bool {
        !self.secrets.is_empty()
    }
}

/// A condition: only exactly `true` passes.
#[derive(Debug, Clone)]
pub(crate) enum Condition {
    Always,
    Never,
    When(Expression),
}

/// The JSONLogic engine with the service's operators.
pub(crate) struct Evaluator {
    engine: datalogic_rs::Engine,
    secrets: SharedSecrets,
    patterns: Arc<PatternPool>,
    /// Bytes a value may take.
    max_bytes: usize,
    /// Time an evaluation may take that belongs to no run.
    alone: Duration,
}

impl Evaluator {
    pub(crate) fn new(secrets: DeclaredSecrets, limits: &EngineLimits) -> Self {
        refused_growth::install_hook();
        let secrets: SharedSecrets = Arc::new(ArcSwap::from_pointee(secrets));
        let max_bytes = limits.max_message_bytes;
        let patterns = Arc::default();
        let engine = operators::engine(&secrets, &patterns, max_bytes);
        Self { engine, secrets, patterns, max_bytes, alone: limits.cpu_budget }
    }

    /// Compiles an expression for a place with or without secrets.
    ///
    /// # Errors
    /// A text for the author: what is malformed, or which secret is refused and why.
    pub(crate) fn compile(&self, source: &Value, secrets: SecretPolicy) -> Result<Expression, String> {
        within_bounds(source)?;
        let survey = Survey::analyse(source);
        for name in &survey.secrets {
            if let SecretPolicy::Refused(place) = secrets {
                return Err(format!("a secret cannot be read in {place}: the result would be recorded"));
            }
            match name {
                None => return Err("a secret is read by a literal name, so that it can be checked".into()),
                Some(name) if !self.secrets.load().declares(name) => {
                    return Err(format!("the secret \"{name}\" is not declared"));
                }
                Some(_) => {}
            }
        }
        self.compile_syntax(source)
    }

    /// Compiles without asking whether secrets are declared or allowed: an author's check.
    ///
    /// # Errors
    /// A text for the author that names the malformed part.
    pub(crate) fn compile_syntax(&self, source: &Value) -> Result<Expression, String> {
        within_bounds(source)?;
        let patterns = patterns::compile_patterns(&self.patterns, source)?;
        let survey = Survey::analyse(source);
        let mut derived = Vec::new();
        self.collect_derived(source, String::new(), &mut derived);
        let prepared = prepare::prepare_paced(source);
        let logic = self.engine.compile_arc(&prepared).map_err(|error| error.to_string())?;
        Ok(Expression {
            logic,
            source: Arc::new(source.clone()),
            reads: Arc::new(survey.reads),
            secrets: survey.secrets.iter().map(|name| name.unwrap_or_default().to_owned()).collect(),
            derived: derived.into(),
            copies: prepare::copied_path(source).map(Arc::new),
            exact: prepare::makes_texts(&prepared).then(Arc::default),
            patterns: patterns.into(),
        })
    }

    pub(crate) fn compile_condition(&self, source: &Value) -> Result<Condition, String> {
        match source {
            Value::Bool(true) => Ok(Condition::Always),
            Value::Bool(false) => Ok(Condition::Never),
            source => self.compile_for(ResultUse::Truth, source, SecretPolicy::Allowed).map(Condition::When),
        }
    }

    /// Compiles an expression whose result is used in one way.
    ///
    /// # Errors
    /// A text for the author, also for a value whose truth counts and never differs.
    pub(crate) fn compile_for(
        &self,
        used_as: ResultUse,
        source: &Value,
        secrets: SecretPolicy,
    ) -> Result<Expression, String> {
        let expression = self.compile(source, secrets)?;
        match self.constant_truths("", source, used_as).first() {
            None => Ok(expression),
            Some(truth) => Err(format!("{}: {}", truth.path, truth.refusal().message)),
        }
    }

    /// Returns the values of an expression whose truth counts and never differs; paths begin at `at`.
    pub(crate) fn constant_truths(&self, at: &str, source: &Value, used_as: ResultUse) -> Vec<ConstantTruth> {
        constant_truths(&|name| self.knows(name), at, source, used_as)
    }

    /// Evaluates against a context that lives in the arena.
    ///
    /// # Errors
    /// The reason of the failure, including a result that is too deep or too large. The error of an
    /// expression that reads a secret names no reason.
    pub(crate) fn evaluate<'r>(
        &self,
        expression: &'r Expression,
        context: &'r DataValue<'r>,
        arena: &'r Arena,
    ) -> Result<&'r DataValue<'r>, String> {
        let (bump, large) = (arena.bump(), arena.large_integers());
        let known = (!large.is_empty()).then(|| KnownIntegers::install(large));
        let logic = if known.is_some() { self.exact_logic(expression) } else { &expression.logic };
        let result = self.within_memory(bump, || self.engine.evaluate(logic, context, bump))?;
        let result = result.map_err(|error| {
            if expression.reads_secrets() {
                "an expression that reads a secret failed".to_owned()
            } else {
                explain::explain(&error, logic, &expression.source, context)
            }
        })?;
        extent::check_arena(result, self.max_bytes).map_err(|excess| format!("the result {excess}"))?;
        Ok(result)
    }

    /// Returns the logic of an expression that keeps the digits of large integers in texts.
    fn exact_logic<'e>(&self, expression: &'e Expression) -> &'e Arc<Logic> {
        let Some(exact) = &expression.exact else { return &expression.logic };
        exact.get_or_init(|| {
            let prepared = prepare::prepare_exact(&expression.source);
            self.engine.compile_arc(&prepared).unwrap_or_else(|_| Arc::clone(&expression.logic))
        })
    }

    /// Evaluates with an arena that grows only so far.
    fn within_memory<T>(&self, bump: &Bump, evaluate: impl FnOnce() -> T) -> Result<T, String> {
        let limit = self.max_bytes.saturating_mul(ARENA_SHARE);
        bump.set_allocation_limit(Some(bump.allocated_bytes().saturating_add(limit)));
        operators::start_time(self.alone);
        let ended = refused_growth::catch_refusal(evaluate);
        bump.set_allocation_limit(None);
        ended.map_err(|panic| {
            if refused_growth::is_refusal(&*panic) {
                format!("the expression takes more than {} MiB", limit >> 20)
            } else {
                "the expression could not be evaluated".to_owned()
            }
        })
    }

    /// Evaluates against named roots; what the expression cannot read of them is not even copied.
    pub(crate) fn evaluate_roots(
        &self,
        expression: &Expression,
        roots: &[(&str, &Value)],
    ) -> Result<Value, String> {
        if let Some(path) = expression.copies() {
            let root = roots.iter().find(|(name, _)| *name == path.root().name());
            let value = root.and_then(|(_, value)| path::read(value, path.segments()));
            return Ok(value.cloned().unwrap_or_default());
        }
        let arena = Arena::lease();
        let bump = arena.bump();
        let mut pairs = datalogic_rs::bumpalo::collections::Vec::with_capacity_in(roots.len(), bump);
        for (name, value) in roots {
            match expression.reads.root(name) {
                Some(ReadExtent::Nothing) => {}
                Some(part) => pairs.push((*name, scope::copy_part(&arena, part, value))),
                None => pairs.push((*name, scope::copy(&arena, value))),
            }
        }
        let context = bump.alloc(DataValue::Object(pairs.into_bump_slice()));
        self.evaluate(expression, context, &arena).map(DataValue::to_serde_value)
    }

    /// Returns the declared secrets that serve now.
    pub(crate) fn secrets(&self) -> Arc<DeclaredSecrets> {
        self.secrets.load_full()
    }

    pub(crate) fn declare(&self, secrets: Arc<DeclaredSecrets>) {
        self.secrets.store(secrets);
    }

    /// `redaction` and the values of the secrets an expression reads.
    pub(crate) fn with_secrets_of(&self, expression: &Expression, redaction: &Redaction) -> Redaction {
        let secrets = self.secrets.load();
        redaction.with(expression.secrets.iter().filter_map(|name| secrets.get(name)))
    }

    /// Returns `redaction` with the parts of the result that were made of secrets which the expression reads.
    pub(crate) fn with_derived_from(
        &self,
        expression: &Expression,
        result: &Value,
        redaction: &Redaction,
    ) -> Redaction {
        let parts = expression.derived.iter().map(|place| result.pointer(place).unwrap_or(result));
        self.with_secrets_of(expression, redaction).with_derived(parts)
    }

    /// Adds the paths at which the result is made of secrets: below the templates, at each call of an
    /// operator.
    fn collect_derived(&self, source: &Value, at: String, places: &mut Vec<String>) {
        if Survey::analyse(source).secrets.is_empty() {
            return;
        }
        match source {
            Value::Array(items) => {
                items
                    .iter()
                    .enumerate()
                    .for_each(|(n, item)| self.collect_derived(item, format!("{at}/{n}"), places));
            }
            Value::Object(members) if members.len() > 1 || !members.keys().any(|name| self.knows(name)) => {
                for (name, member) in members {
                    let name = name.replace('~', "~0").replace('/', "~1");
                    self.collect_derived(member, format!("{at}/{name}"), places);
                }
            }
            _ => places.push(at),
        }
    }

    /// Returns every operator an expression may call.
    #[cfg(test)]
    pub(crate) fn names(&self) -> Vec<String> {
        let own = self.engine.custom_operator_names().map(str::to_owned);
        let own = own.filter(|name| !operators::INTERNAL.contains(&name.as_str()));
        self.engine.builtin_operator_names().map(str::to_owned).chain(own).collect()
    }

    /// Returns `true` if an expression may call an operator of this name.
    pub(crate) fn knows(&self, operator: &str) -> bool {
        (self.engine.has_custom_operator(operator) && !operators::INTERNAL.contains(&operator))
            || self.engine.builtin_operator_names().any(|name| name == operator)
    }
}

/// The reads and secrets of an authored expression, collected in one walk.
#[derive(Default)]
pub(crate) struct Survey<'s> {
    pub(crate) reads: Reads,
    /// Every secret read, by its literal name; `None` if the name is computed.
    pub(crate) secrets: Vec<Option<&'s str>>,
    /// True if the context is read as a whole. The payload is part of it only for an expression that names
    /// it.
    whole: bool,
}

impl<'s> Survey<'s> {
    pub(crate) fn analyse(source: &'s Value) -> Self {
        let mut survey = Self::default();
        survey.walk(source);
        if survey.whole && !survey.reads.payload.is_nothing() {
            survey.reads.payload = ReadExtent::Whole;
        }
        survey
    }

    fn walk(&mut self, node: &'s Value) {
        match node {
            Value::Object(map) => {
                if map.len() == 1 {
                    if let Some(path) = length_path(map) {
                        return self.reads.mark_length(path);
                    }
                    for (operator, argument) in map {
                        self.call(operator, argument);
                    }
                }
                map.values().for_each(|value| self.walk(value));
            }
            Value::Array(items) => items.iter().for_each(|item| self.walk(item)),
            _ => {}
        }
    }

    fn call(&mut self, operator: &str, argument: &'s Value) {
        if operator == "secret" {
            self.secrets.push(match argument {
                Value::String(name) => Some(name),
                Value::Array(items) => match items.as_slice() {
                    [Value::String(name)] => Some(name),
                    _ => None,
                },
                _ => None,
            });
        } else if ACCESSORS.contains(&operator) {
            self.access(operator, argument);
        }
    }

    /// A literal path can only reach what it names; anything computed may reach everything.
    fn access(&mut self, operator: &str, argument: &Value) {
        match argument {
            Value::String(path) if path.is_empty() => {
                self.whole = true;
                self.reads = Reads { payload: std::mem::take(&mut self.reads.payload), ..Reads::all() };
            }
            Value::String(path) => self.reads.mark(path),
            // The second argument of `var` is a default, not a path.
            Value::Array(items) if operator == "var" => match items.first() {
                Some(path) => self.access("val", path),
                None => self.reads = Reads::all(),
            },
            Value::Array(items) if items.iter().any(Value::is_string) && items.iter().all(is_literal) => {
                for item in items.iter().filter(|item| item.is_string()) {
                    self.access("val", item);
                }
            }
            Value::Number(_) => {}
            _ => self.reads = Reads::all(),
        }
    }
}

/// Returns the path of which a `length` is taken, if nothing else is.
fn length_path(call: &Map<String, Value>) -> Option<&str> {
    let argument = match call.get("length")? {
        Value::Array(items) if items.len() == 1 => items.first()?,
        argument => argument,
    };
    let variable = argument.as_object().filter(|map| map.len() == 1)?;
    variable.get("var")?.as_str().filter(|path| !path.is_empty())
}

/// Walking and evaluating an expression recurse as deep as it nests, and every call may take the time of the
/// whole message.
fn within_bounds(source: &Value) -> Result<(), String> {
    if extent::measure(source, MAX_NESTING, usize::MAX).is_err() {
        return Err(format!("an expression nests at most {MAX_NESTING} deep"));
    }
    if calls(source) > MAX_CALLS {
        return Err(format!("an expression calls at most {MAX_CALLS} operators"));
    }
    Ok(())
}

fn calls(source: &Value) -> usize {
    match source {
        Value::Object(members) => {
            usize::from(members.len() == 1) + members.values().map(calls).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(calls).sum(),
        _ => 0,
    }
}

fn is_literal(value: &Value) -> bool {
    match value {
        Value::Object(_) => false,
        Value::Array(items) => items.iter().all(is_literal),
        _ => true,
    }
}

#[cfg(test)]
mod growth;
#[cfg(test)]
mod suites;
#[cfg(test)]
mod tests;
