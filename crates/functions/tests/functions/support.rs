//! Helpers to check, compile and run one task.

use std::sync::Arc;

use chrono::DateTime;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use svc_auth::{Jwks, KeySet, KeySets};
use svc_engine::{
    CompileSecrets, Engine, ErrorCode, Flow, Message, RunOptions, RunOutcome, TaskError, TraceOptions,
};
use svc_functions::CacheInvalidation;
use svc_model::{FieldCode, LifecycleStatus, Timestamp, WorkflowChecks as _, WorkflowContent};
use svc_secrets::EnvironmentResolver;

/// The current time in every test.
pub(crate) const NOW: i64 = 1_700_000_000;

/// A shared secret of 64 bytes, long enough for every HMAC algorithm.
pub(crate) const SHARED: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Key sets for `https://` URLs: the given one, or unavailable.
pub(crate) struct Sets(pub(crate) Option<Arc<Jwks>>);

impl KeySets for Sets {
    fn key_set(&self, url: &str) -> Result<Arc<dyn KeySet>, String> {
        if url.starts_with("https://") {
            Ok(Arc::new(Self(self.0.clone())))
        } else {
            Err("key sets are fetched over https only".to_owned())
        }
    }
}

impl KeySet for Sets {
    fn fresh(&self) -> Option<Arc<Jwks>> {
        self.0.clone()
    }

    fn obtain(&self) -> BoxFuture<'_, Option<Arc<Jwks>>> {
        Box::pin(std::future::ready(self.0.clone()))
    }

    fn renew<'s>(&'s self, _: &'s Arc<Jwks>) -> BoxFuture<'s, Option<Arc<Jwks>>> {
        self.obtain()
    }
}

/// An engine with the variables for the compilation of its workflows.
pub(crate) struct Bench {
    engine: Engine,
    variables: Vec<(String, String)>,
}

impl std::ops::Deref for Bench {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.engine
    }
}

/// Returns an engine without variables that makes the answers of these caches stale.
pub(crate) fn engine_over(caches: Arc<dyn CacheInvalidation>) -> Bench {
    let engine = svc_functions::register(Engine::builder(), Arc::new(Sets(None)), caches).build();
    Bench { engine, variables: Vec::new() }
}

pub(crate) fn engine_with(variables: &[(&str, &str)], sets: Sets) -> Bench {
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let builder = Engine::builder()
        .secrets([("shared", json!(SHARED)), ("issuer", json!("https://secret.example")), ("n", json!(5))])
        .clock(|| DateTime::from_timestamp(NOW, 0).unwrap());
    Bench {
        engine: svc_functions::register(builder, Arc::new(sets), Arc::new(svc_functions::NoCaches)).build(),
        variables,
    }
}

pub(crate) fn engine() -> Bench {
    engine_with(&[("KEY", SHARED), ("BLANK", " "), ("ISSUER", "https://env.example")], Sets(None))
}

fn content(function: &str, input: &Value) -> WorkflowContent {
    WorkflowContent {
        name: "test".into(),
        description: None,
        priority: 0,
        condition: json!(true),
        tasks: vec![json!({"id": "t", "name": "t", "function": {"name": function, "input": input}})],
        tags: Vec::new(),
        loop_: None,
        continue_on_error: false,
    }
}

/// Returns the problems of an input: fields, relative to the input, with their codes.
pub(crate) fn problems(function: &str, input: &Value) -> Vec<(String, FieldCode)> {
    check_messages(function, input).into_iter().map(|(field, code, _)| (field, code)).collect()
}

pub(crate) fn check_messages(function: &str, input: &Value) -> Vec<(String, FieldCode, String)> {
    let mut errors = Vec::new();
    engine().check(&content(function, input), &mut errors, &mut Vec::new());
    let field = |path: &str| path.strip_prefix("tasks[0].function.input.").unwrap_or(path).to_owned();
    errors.into_iter().map(|error| (field(&error.path), error.code, error.message)).collect()
}

/// Compiles one task.
pub(crate) fn compile(bench: &Bench, function: &str, input: &Value) -> Result<Flow, String> {
    let workflow = svc_model::Workflow {
        workflow_id: "w".into(),
        version: 1,
        content: content(function, input),
        status: LifecycleStatus::Active,
        rollout_percentage: 100,
        created_at: Timestamp::now(),
        updated_at: Timestamp::now(),
    };
    let find = |wanted: &str| {
        bench.variables.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone())
    };
    let material =
        CompileSecrets { references: &EnvironmentResolver(find), declared: &bench.declared_secrets() };
    bench.compile(&workflow, material).map(Flow::single).map_err(|error| error.to_string())
}

/// Runs one task on a message with `data` and records everything.
pub(crate) fn run_in(engine: &Bench, function: &str, input: &Value, data: Value) -> RunOutcome {
    let flow = compile(engine, function, input).unwrap_or_else(|why| panic!("{why}"));
    let mut message = Message::new(json!(null), Map::new());
    message.data = data;
    let options = RunOptions { trace: Some(TraceOptions::default()), ..RunOptions::default() };
    block_on(engine.run(&flow, message, options))
}

/// Returns the result of one task, which it writes to `data.out`, or its error.
pub(crate) fn call_in(
    engine: &Bench,
    function: &str,
    mut input: Value,
    data: Value,
) -> Result<Value, TaskError> {
    input["output"] = json!("data.out");
    let outcome = run_in(engine, function, &input, data);
    match outcome.failure {
        Some(failure) => Err(failure.error),
        None => Ok(outcome.message.data["out"].clone()),
    }
}

pub(crate) fn call(function: &str, input: Value, data: Value) -> Result<Value, TaskError> {
    call_in(&engine(), function, input, data)
}

/// Returns code and text of the error of one task.
pub(crate) fn error(function: &str, input: Value, data: Value) -> (ErrorCode, String) {
    let error = call(function, input, data).unwrap_err();
    (error.code, error.message)
}

pub(crate) fn invalid(text: &str) -> (ErrorCode, String) {
    (ErrorCode::Validation, text.to_owned())
}

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}
