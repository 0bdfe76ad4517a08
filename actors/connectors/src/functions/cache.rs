//! `cache_read` and `cache_write`: one key of a cache.

use std::sync::Arc;

use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value};
use svc_engine::catalogue::FunctionEntry;
use svc_engine::{
    CompileCx, CompiledTask, Function, Inputs, ParseJsonError, Path, TaskCx, TaskError, TaskOutcome,
};
use svc_functions::declarations::cache::ttl;
use svc_functions::declarations::{CACHE_READ, CACHE_WRITE};
use svc_model::FieldError;

use super::call::{Caller, call_driver, call_with_breaker, check_operation};
use super::input::{self, text};
use crate::directory::ConnectorDirectory;
use crate::drivers::cache::{CacheDriver, ReadEntry, WriteEntry};

/// `cache_read`.
pub(crate) struct CacheRead(pub(crate) ConnectorDirectory);

/// `cache_write`.
pub(crate) struct CacheWrite(pub(crate) ConnectorDirectory);

impl Function for CacheRead {
    fn entry(&self) -> &'static FunctionEntry {
        &CACHE_READ.entry
    }

    fn compile(&self, input: &Value, _: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let table = &CACHE_READ.entry;
        Ok(Box::new(ReadTask {
            connectors: self.0.clone(),
            connector: text(table, input, "connector").unwrap_or_default().into(),
            inputs: Inputs::new(table, input),
            output: input::path(text(table, input, "output").unwrap_or("data"))?,
        }))
    }
}

impl Function for CacheWrite {
    fn entry(&self) -> &'static FunctionEntry {
        &CACHE_WRITE.entry
    }

    fn check(&self, input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
        CACHE_WRITE.check(input, at, errors);
    }

    fn compile(&self, input: &Value, _: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let table = &CACHE_WRITE.entry;
        Ok(Box::new(WriteTask {
            connectors: self.0.clone(),
            connector: text(table, input, "connector").unwrap_or_default().into(),
            inputs: Inputs::new(table, input),
        }))
    }
}

struct ReadTask {
    connectors: ConnectorDirectory,
    connector: Arc<str>,
    inputs: Inputs,
    output: Path,
}

impl CompiledTask for ReadTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async move {
            let key = key(self.inputs.fold(cx, "key"))?;
            let call = async {
                let message = |driver: &CacheDriver| {
                    check_operation(&driver.settings.operations, "read", &self.connector)?;
                    Ok((driver.address.clone(), ReadEntry(key.clone())))
                };
                let (_, answer) = call_driver(&self.connectors, &self.connector, message).await?;
                answer.map_err(|failure| failure.to_task_error(&self.connector))
            };
            let entry =
                call_with_breaker(&self.connectors, &Caller::of_task(cx), &self.connector, call).await?;
            let value = match entry {
                Some(text) => {
                    let parsed = cx.parse_json(text.as_bytes());
                    value(text, parsed, &self.connector)?
                }
                None => Value::Null,
            };
            cx.write(&self.output, value)?;
            Ok(TaskOutcome::Success)
        })
    }
}

struct WriteTask {
    connectors: ConnectorDirectory,
    connector: Arc<str>,
    inputs: Inputs,
}

impl CompiledTask for WriteTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async move {
            let key = key(self.inputs.fold(cx, "key"))?;
            let text = self.inputs.fold(cx, "value").to_string();
            let ttl_secs = match self.inputs.fold(cx, "ttl_secs") {
                Value::Null => None,
                given => Some(ttl(&given).map_err(|why| TaskError::validation(format!("ttl_secs: {why}")))?),
            };
            let call = async {
                let message = |driver: &CacheDriver| {
                    check_operation(&driver.settings.operations, "write", &self.connector)?;
                    let write = WriteEntry { key: key.clone(), text: text.clone(), ttl_secs };
                    Ok((driver.address.clone(), write))
                };
                let (_, answer) = call_driver(&self.connectors, &self.connector, message).await?;
                answer.map_err(|failure| failure.to_task_error(&self.connector))
            };
            call_with_breaker(&self.connectors, &Caller::of_task(cx), &self.connector, call).await?;
            Ok(TaskOutcome::Success)
        })
    }
}

/// The key that a value gives.
fn key(value: Value) -> Result<String, TaskError> {
    match value {
        Value::String(key) => Ok(key),
        Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
        Value::Null => Err(TaskError::validation("key: required")),
        other => {
            let mismatch = FieldError::type_mismatch("key", "string", &other);
            Err(TaskError::validation(format!("key: {}", mismatch.message)))
        }
    }
}

/// Returns the value of a cached text: its JSON, or the text itself if it is none.
///
/// # Errors
/// `TASK_ERROR` for JSON that no message could hold.
fn value(text: String, parsed: Result<Value, ParseJsonError>, connector: &str) -> Result<Value, TaskError> {
    match parsed {
        Ok(value) => Ok(value),
        Err(ParseJsonError::Malformed(_)) => Ok(Value::String(text)),
        Err(error) => Err(error.into_task_error(&format!("connector '{connector}': the cached value"))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use svc_engine::parse_json_within;

    use super::*;

    #[test]
    fn only_scalars_are_cache_keys() {
        for (given, expected) in [(json!("k"), "k"), (json!(7), "7"), (json!(true), "true"), (json!(""), "")]
        {
            assert_eq!(key(given).unwrap(), expected);
        }
        for wrong in [json!(null), json!([1]), json!({"a": 1})] {
            let error = key(wrong).unwrap_err();
            assert_eq!(error.code.name(), "VALIDATION_ERROR");
            assert!(error.message.starts_with("key: "), "{}", error.message);
        }
    }

    #[test]
    fn json_text_is_parsed_other_text_is_kept() {
        for (text, expected) in [
            (r#"{"a":[1,null]}"#, json!({"a": [1, null]})),
            ("7", json!(7)),
            (r#""x""#, json!("x")),
            ("null", json!(null)),
            ("not json", json!("not json")),
            ("", json!("")),
        ] {
            let parsed = parse_json_within(text.as_bytes(), 1 << 10);
            assert_eq!(value(text.to_owned(), parsed, "c").unwrap(), expected);
        }
        let large = "[0,1,2,3]";
        let refused = value(large.to_owned(), parse_json_within(large.as_bytes(), 64), "c").unwrap_err();
        assert_eq!(refused.code.name(), "TASK_ERROR");
    }
}
