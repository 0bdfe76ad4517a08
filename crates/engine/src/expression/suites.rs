//! The case files of JSONLogic itself and of the library underneath, through this engine.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Map;
use svc_model::{LifecycleStatus, Timestamp, Workflow, WorkflowContent};
use svc_secrets::Readings;

use super::prepare::ROOTS;
use super::*;
use crate::{CompileSecrets, Engine, ErrorCode, Flow, Message, RunOptions, RunOutcome};

/// Operators this engine is built without.
const SWITCHED_OFF: &str = "flagd/";

struct Case {
    /// The file and the description, or the place, of the case.
    name: String,
    rule: Value,
    data: Value,
    /// The result, or the error as `try` shows it.
    expected: Result<Value, Value>,
    deviates: bool,
}

fn read(file: &str) -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/suites").join(file);
    serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap()
}

fn list(file: &str) -> Vec<Value> {
    read(file).as_array().unwrap().clone()
}

/// `[rule, data, result]`; strings are headings.
fn public() -> Vec<Case> {
    let cases = list("jsonlogic/tests.json").into_iter().filter(Value::is_array).enumerate();
    cases
        .map(|(n, mut case)| Case {
            name: format!("jsonlogic/tests.json[{n}]"),
            rule: case[0].take(),
            data: case[1].take(),
            expected: Ok(case[2].take()),
            deviates: false,
        })
        .collect()
}

/// `{description, rule, data, result | error}`; if this service means something else, its own expectation
/// replaces that of the file.
fn datalogic() -> Vec<Case> {
    let mut deviations = BTreeMap::new();
    for group in list("deviations.json") {
        assert!(group["reason"].is_string());
        for (name, expected) in group["cases"].as_object().unwrap() {
            assert!(deviations.insert(name.clone(), expected.clone()).is_none(), "{name} is listed twice");
        }
    }
    let mut cases = Vec::new();
    for file in list("datalogic/index.json") {
        let file = file.as_str().unwrap();
        if file.starts_with(SWITCHED_OFF) {
            continue;
        }
        for mut case in list(&format!("datalogic/{file}")).into_iter().filter(Value::is_object) {
            let name = format!("{file}: {}", case["description"].as_str().unwrap());
            let deviation = deviations.remove(&name);
            let deviates = deviation.is_some();
            let expected = match (deviation, case.get("error")) {
                (Some(expected), _) => Ok(expected),
                (None, Some(error)) => Err(error.clone()),
                (None, None) => Ok(case["result"].take()),
            };
            let data = case.get("data").cloned().unwrap_or_else(|| Map::new().into());
            cases.push(Case { name, rule: case["rule"].take(), data, expected, deviates });
        }
    }
    assert!(deviations.is_empty(), "no case is named {deviations:?}");
    cases
}

fn every_case() -> impl Iterator<Item = Case> {
    public().into_iter().chain(datalogic())
}

fn evaluate(evaluator: &Evaluator, rule: &Value, data: &Value) -> Result<Value, String> {
    let arena = Arena::lease();
    let bump = arena.bump();
    let expression = evaluator.compile(rule, SecretPolicy::Allowed)?;
    let context = bump.alloc(DataValue::from_serde_value_in(data, bump));
    evaluator.evaluate(&expression, context, &arena).map(DataValue::to_serde_value)
}

#[test]
fn every_case_gives_the_result_of_its_file() {
    let evaluator = Evaluator::new(
        DeclaredSecrets::default(),
        &EngineLimits { max_message_bytes: 1 << 20, ..EngineLimits::default() },
    );
    let mut wrong = Vec::new();
    for Case { name, rule, data, expected, .. } in every_case() {
        let result = evaluate(&evaluator, &rule, &data);
        let right = match &expected {
            Ok(expected) => result.as_ref() == Ok(expected),
            Err(error) => {
                let caught = serde_json::json!({"try": [rule, {"var": ""}]});
                result.is_err() && evaluate(&evaluator, &caught, &data).as_ref() == Ok(error)
            }
        };
        if !right {
            wrong.push(format!("{name}: {rule} over {data} gave {result:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The rule as the only mapping of a workflow, its data as sibling roots.
fn run_as_mapping(engine: &Engine, rule: &Value, roots: Map<String, Value>) -> RunOutcome {
    let task = serde_json::json!({"id": "t", "function": {"name": "map", "input": {"mappings": [
        {"path": "data.result", "logic": rule}]}}});
    let content = WorkflowContent {
        name: "case".into(),
        description: None,
        priority: 0,
        condition: true.into(),
        tasks: vec![task],
        tags: Vec::new(),
        loop_: None,
        continue_on_error: false,
    };
    let workflow = Workflow {
        workflow_id: "case".into(),
        version: 1,
        content,
        status: LifecycleStatus::Active,
        rollout_percentage: 100,
        created_at: Timestamp::now(),
        updated_at: Timestamp::now(),
    };
    let material = CompileSecrets { references: &Readings::default(), declared: &engine.declared_secrets() };
    let flow = Flow::single(engine.compile(&workflow, material).unwrap());
    let mut message = Message::new(Value::Null, Map::new());
    message.others = roots;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(engine.run(&flow, message, RunOptions::default()))
}

/// Returns `true` if an expression reads its whole context, which differs between a message and a case.
fn sees_the_whole(rule: &Value) -> bool {
    !Survey::analyse(rule).reads.data.is_nothing()
}

#[test]
fn every_case_gives_the_same_as_a_mapping() {
    let engine = Engine::builder().build();
    let (mut wrong, mut asked) = (Vec::new(), 0);
    for Case { name, rule, data, expected, .. } in every_case() {
        let roots = match data {
            Value::Object(roots) => roots,
            Value::Null => Map::new(),
            _ => continue,
        };
        // Its data cannot be sibling roots if it uses the name of a root that a message has.
        if roots.keys().any(|name| ROOTS.contains(&name.as_str())) || sees_the_whole(&rule) {
            continue;
        }
        asked += 1;
        let mut outcome = run_as_mapping(&engine, &rule, roots);
        let right = match &expected {
            // A mapping whose result is null leaves its path alone.
            Ok(Value::Null) => outcome.failure.is_none() && outcome.message.data == serde_json::json!({}),
            Ok(expected) => outcome.failure.is_none() && outcome.message.data["result"].take() == *expected,
            Err(_) => {
                outcome.failure.as_ref().is_some_and(|failure| failure.error.code == ErrorCode::TaskStatus)
            }
        };
        if !right {
            wrong.push(format!("{name}: {rule} gave {:?}, not {expected:?}", outcome.message.data));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(asked, 1722);
}

#[test]
fn working_rule_is_never_refused() {
    let limits = EngineLimits { max_message_bytes: 1 << 20, ..EngineLimits::default() };
    let evaluator = Evaluator::new(DeclaredSecrets::default(), &limits);
    for Case { name, rule, expected, .. } in every_case() {
        let refused = crate::failing_calls::failing_calls(&evaluator, &rule);
        let refused = refused.iter().any(|call| call.always);
        assert!(!refused || expected.is_err(), "{name}");
    }
}

#[test]
fn the_suites_are_whole_and_the_deviations_few() {
    let deviating = datalogic().iter().filter(|case| case.deviates).count();
    assert_eq!((public().len(), datalogic().len(), deviating), (275, 1608, 38));
}

#[test]
fn operators_that_are_switched_off_are_data() {
    let evaluator = Evaluator::new(
        DeclaredSecrets::default(),
        &EngineLimits { max_message_bytes: 1 << 20, ..EngineLimits::default() },
    );
    for rule in
        [serde_json::json!({"fractional": [1, 2]}), serde_json::json!({"sem_ver": ["1.0.0", "=", "1.0.0"]})]
    {
        assert_eq!(evaluate(&evaluator, &rule, &Value::Null), Ok(rule));
    }
}
