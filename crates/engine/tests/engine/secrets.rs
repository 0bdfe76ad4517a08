//! Places in which secrets may be read, decided when a workflow is compiled.

use serde_json::{Value, json};
use svc_engine::{CompileError, Engine};

use crate::support::{compile, message, run};

fn engine() -> Engine {
    Engine::builder().secrets([("token", json!("s3cret"))]).build()
}

fn refusal(task: Value) -> String {
    match compile(&engine(), &json!({"tasks": [task]})).map(drop) {
        Err(CompileError::Invalid { message, .. }) => message,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn condition_and_a_rule_may_read_a_secret() {
    let document = json!({"tasks": [
        {"id": "f", "function": {"name": "filter", "input": {"condition": {"==": [{"secret": "token"}, "s3cret"]}}}},
        {"id": "v", "condition": {"==": [{"secret": "token"}, "s3cret"]}, "function": {"name": "validation", "input": {
            "rules": [{"logic": {"==": [{"secret": "token"}, "s3cret"]}, "message": "no"}]}}},
    ]});
    let outcome = run(&engine(), &document, message(json!(null)));
    let statuses: Vec<_> = outcome.audit_trail.iter().map(|entry| entry.status).collect();
    assert_eq!(statuses, [200, 200]);
}

#[test]
fn a_secret_that_would_be_recorded_is_refused() {
    let secret = json!({"cat": ["x", {"secret": "token"}]});
    let mapping = json!({"id": "m", "function": {"name": "map", "input": {"mappings": [{"path": "data.x", "logic": secret}]}}});
    assert!(refusal(mapping).contains("a mapping"));
    let message = json!({"id": "l", "function": {"name": "log", "input": {"message": secret}}});
    assert!(refusal(message).contains("a log message"));
    let field = json!({"id": "l", "function": {"name": "log", "input": {"fields": {"f": secret}}}});
    assert!(refusal(field).contains("a log field"));
}

#[test]
fn an_undeclared_or_computed_secret_is_refused() {
    let condition =
        |condition: Value| json!({"id": "f", "condition": condition, "function": {"name": "log"}});
    assert!(
        refusal(condition(json!({"==": [{"secret": "other"}, 1]}))).contains("\"other\" is not declared")
    );
    assert!(
        refusal(condition(json!({"==": [{"secret": {"var": "data.name"}}, 1]}))).contains("literal name")
    );
}

#[test]
fn secrets_are_not_printable() {
    let secrets: svc_engine::DeclaredSecrets = [("token", json!("s3cret"))].into_iter().collect();
    assert_eq!(format!("{secrets:?}"), r#"{"token"}"#);
}
