//! `cache_read` and `cache_write`: one key of a cache.

use std::sync::Arc;

use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value};
use svc_engine::catalogue::{ConnectorRequirement, FunctionEntry, InputField, SentForm};
use svc_engine::{
    CompileCx, CompiledTask, Function, Inputs, ParseJsonError, Path, TaskCx, TaskError, TaskOutcome,
};
use svc_model::{ConnectorType, FieldError};

use super::call::{Caller, call_driver, call_with_breaker, check_operation};
use super::input::{self, text};
use crate::directory::ConnectorDirectory;
use crate::drivers::cache::{CacheDriver, ReadEntry, WriteEntry};

/// The catalogue entry of `cache_read`.
static READ_ENTRY: FunctionEntry = FunctionEntry {
    retry_safety: "read",
    fields: &[
        InputField::connector("Cache connector"),
        InputField::string("key", "Key to look up").required().resolvable().sent_as(SentForm::Key),
        InputField::output(),
    ],
    ..FunctionEntry::connector(
        "cache_read",
        "Reads one key of a cache; a miss is null",
        ConnectorRequirement::new(&[ConnectorType::Cache]),
    )
};

/// The catalogue entry of `cache_write`.
static WRITE_ENTRY: FunctionEntry = FunctionEntry {
    retry_safety: "idempotent_write",
    fields: &[
        InputField::connector("Cache connector"),
        InputField::string("key", "Key to write").required().resolvable().sent_as(SentForm::Key),
        InputField::any("value", "Value to keep, stored as JSON").required().resolvable(),
        InputField::number("ttl_secs", "Seconds until it expires; without it, never")
            .resolvable()
            .sent_as(SentForm::ValueOrNothing),
    ],
    ..FunctionEntry::connector(
        "cache_write",
        "Writes one key of a cache, with or without an expiry",
        ConnectorRequirement::new(&[ConnectorType::Cache]),
    )
};

/// The longest an entry may live, in seconds: a hundred years. No instant is computed safely beyond it.
const LONGEST_SECS: u64 = 100 * 365 * 86_400;

/// `cache_read`.
pub(crate) struct CacheRead(pub(crate) ConnectorDirectory);

/// `cache_write`.
pub(crate) struct CacheWrite(pub(crate) ConnectorDirectory);

impl Function for CacheRead {
    fn entry(&self) -> &'static FunctionEntry {
        &READ_ENTRY
    }

    fn compile(&self, input: &Value, _: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let table = &READ_ENTRY;
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
        &WRITE_ENTRY
    }

    fn check(&self, input: &Map<String, Value>, at: &str, errors: &mut Vec<FieldError>) {
        let ttl_secs = input.get("ttl_secs").filter(|value| value.is_number());
        if let Some(why) = ttl_secs.and_then(|value| ttl(value).err()) {
            errors.push(FieldError::invalid(format!("{at}.ttl_secs"), why));
        }
    }

    fn compile(&self, input: &Value, _: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let table = &WRITE_ENTRY;
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

/// The whole seconds that a value gives.
fn ttl(value: &Value) -> Result<u64, String> {
    // Arithmetic may have made a whole number a float.
    let float = value.as_f64().filter(|seconds| seconds.fract() == 0.0 && *seconds >= 0.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole, not negative, and bounded below"
    )]
    let whole = value.as_u64().or_else(|| float.map(|seconds| seconds as u64));
    whole
        .filter(|seconds| *seconds <= LONGEST_SECS)
        .ok_or_else(|| format!("must be a whole number from 0 to {LONGEST_SECS}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use svc_engine::parse_json_within;

    use super::*;

    #[test]
    fn only_scalars_are_cache_keys() {
        for (given, due) in [(json!("k"), "k"), (json!(7), "7"), (json!(true), "true"), (json!(""), "")] {
            assert_eq!(key(given).unwrap(), due);
        }
        for wrong in [json!(null), json!([1]), json!({"a": 1})] {
            let error = key(wrong).unwrap_err();
            assert_eq!(error.code.name(), "VALIDATION_ERROR");
            assert!(error.message.starts_with("key: "), "{}", error.message);
        }
    }

    #[test]
    fn json_text_is_parsed_other_text_is_kept() {
        for (text, due) in [
            (r#"{"a":[1,null]}"#, json!({"a": [1, null]})),
            ("7", json!(7)),
            (r#""x""#, json!("x")),
            ("null", json!(null)),
            ("not json", json!("not json")),
            ("", json!("")),
        ] {
            let parsed = parse_json_within(text.as_bytes(), 1 << 10);
            assert_eq!(value(text.to_owned(), parsed, "c").unwrap(), due);
        }
        let large = "[0,1,2,3]";
        let refused = value(large.to_owned(), parse_json_within(large.as_bytes(), 64), "c").unwrap_err();
        assert_eq!(refused.code.name(), "TASK_ERROR");
    }

    #[test]
    fn a_life_is_a_whole_number_of_seconds() {
        assert_eq!([ttl(&json!(0)), ttl(&json!(60)), ttl(&json!(60.0))], [Ok(0), Ok(60), Ok(60)]);
        for wrong in [json!(-1), json!(0.5), json!(LONGEST_SECS + 1), json!(1e300), json!("60")] {
            assert!(ttl(&wrong).is_err(), "{wrong}");
        }
    }
}
