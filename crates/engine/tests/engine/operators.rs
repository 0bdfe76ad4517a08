//! The meaning of the operators.

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use svc_engine::catalogue::FunctionEntry;
use svc_engine::{
    CompileCx, CompiledTask, Engine, ErrorCode, Expression, Function, Path, TaskCx, TaskError, TaskOutcome,
};

use crate::support::{message, run};

/// A function whose input is an expression and whose result is written: unlike `map`, it may read secrets.
struct Evaluate;

struct EvaluateTask(Expression);

impl Function for Evaluate {
    fn entry(&self) -> &'static FunctionEntry {
        static ENTRY: FunctionEntry = FunctionEntry::plugin("evaluate", "Writes the result of an expression");
        &ENTRY
    }

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        Ok(Box::new(EvaluateTask(cx.expression(&input["logic"])?)))
    }
}

impl CompiledTask for EvaluateTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        async move {
            let value = cx.evaluate(&self.0)?;
            cx.write(&Path::parse("data.result").unwrap(), value)?;
            Ok(TaskOutcome::Success)
        }
        .boxed_local()
    }
}

fn engine() -> Engine {
    Engine::builder()
        .function(Arc::new(Evaluate))
        .secrets([("token", json!("s3cret")), ("db", json!({"password": "pw"}))])
        .build()
}

fn evaluate(engine: &Engine, logic: &Value) -> Result<Value, TaskError> {
    let document =
        json!({"tasks": [{"id": "t", "function": {"name": "evaluate", "input": {"logic": logic}}}]});
    let mut message = message(json!({"p": "in"}));
    message.data = json!({"n": 7, "list": [1, 2, 3], "empty_list": [], "empty_object": {}, "object": {"a": 1}, "keys": {"a": 1, "20": {"x": "y"}, "#h": "hash", "big": 12_345_678_901_234_567_890_u64}});
    let outcome = run(engine, &document, message);
    match outcome.failure {
        None => Ok(outcome.message.data["result"].clone()),
        Some(failure) => Err(failure.error),
    }
}

#[test]
fn operators_mean_what_the_table_says() {
    let table: Map<String, Value> = serde_json::from_str(include_str!("cases/operators.json")).unwrap();
    let engine = engine();
    let mut wrong = Vec::new();
    for (rule, cases) in &table {
        for case in cases.as_array().unwrap() {
            let (logic, expected) = (&case[0], &case[1]);
            let result = evaluate(&engine, logic);
            let right = match &result {
                Ok(value) => value == expected,
                Err(_) => expected.get("error").is_some(),
            };
            if !right {
                wrong.push(format!("{rule}: {logic} gave {result:?}, not {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn expression_failing_inside_function_is_logic_error() {
    let error = evaluate(&engine(), &json!({"+": ["two", 1]})).unwrap_err();
    assert_eq!(error.code, ErrorCode::Logic);
}

#[test]
fn error_never_holds_the_value_of_a_secret() {
    for logic in [json!({"throw": {"secret": "token"}}), json!({"+": [{"secret": "token"}, 1]})] {
        let error = evaluate(&engine(), &logic).unwrap_err();
        assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
    }
}

#[test]
fn now_and_random_are_not_frozen_when_compiled() {
    let engine = engine();
    let random = json!({"random": ["uuid", "v4"]});
    let expression = engine.compile_expression(&random).unwrap();
    let draw = || engine.evaluate(&expression, &[]).unwrap();
    assert_ne!(draw(), draw());
    let now = engine.compile_expression(&json!({"now": []})).unwrap();
    let first = engine.evaluate(&now, &[]).unwrap();
    while engine.evaluate(&now, &[]).unwrap() == first {}
}

#[test]
fn nesting_beyond_256_does_not_compile() {
    let deep = (0..300).fold(json!(1), |inner, _| json!({"!": [inner]}));
    assert!(engine().compile_expression(&deep).is_err());
}

#[test]
fn channel_expression_sees_only_its_given_roots() {
    let engine = engine();
    let expression =
        engine.compile_expression(&json!({"==": [{"var": "claims.sub"}, {"var": "data.owner"}]})).unwrap();
    let (claims, data) = (json!({"sub": "a"}), json!({"owner": "a"}));
    assert_eq!(engine.evaluate(&expression, &[("claims", &claims), ("data", &data)]), Ok(json!(true)));
    assert_eq!(engine.evaluate(&expression, &[("claims", &claims)]), Ok(json!(false)));
    assert!(engine.compile_expression(&json!({"secret": "token"})).is_err());
}

#[test]
fn internal_operators_are_data_to_authors() {
    let engine = engine();
    for name in
        ["#bounded", "#timely", "#forced", "#echo", "#listed", "#distinct", "#distinct_by", "#group_by"]
    {
        for source in
            [json!({name: [1]}), json!({name: [{"a": 1}, "a"]}), json!({name: "x"}), json!({name: []})]
        {
            let expression = engine.compile_expression(&source).unwrap();
            assert_eq!(engine.evaluate(&expression, &[]), Ok(source));
        }
        let expression = engine.compile_expression(&json!({name: [{"+": [1, 1]}]})).unwrap();
        assert_eq!(engine.evaluate(&expression, &[]), Ok(json!({name: [2]})), "as under any unknown name");
    }
}
