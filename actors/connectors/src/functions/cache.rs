//! `cache_read` and `cache_write`: keys of a cache.

use std::sync::Arc;

use actix::Message;
use actix_supervision::ReadHandler;
use futures_util::future::LocalBoxFuture;
use serde_json::Value;
use svc_engine::catalogue::FunctionEntry;
use svc_engine::{
    CompileCx, CompiledTask, Function, Inputs, ParseJsonError, Path, TaskCx, TaskError, TaskOutcome,
};
use svc_functions::declarations::cache::{read_key, read_keys, ttl};
use svc_functions::declarations::{CACHE_READ, CACHE_WRITE};

use super::call::{Caller, call_driver, call_with_breaker, check_operation};
use super::input::{self, text};
use crate::directory::ConnectorDirectory;
use crate::drivers::cache::{CacheActor, CacheDriver, ReadEntries, ReadEntry, WriteEntry};
use crate::drivers::failure::CallFailure;

/// `cache_read`.
pub(crate) struct CacheRead(pub(crate) ConnectorDirectory);

/// `cache_write`.
pub(crate) struct CacheWrite(pub(crate) ConnectorDirectory);

impl Function for CacheRead {
    svc_functions::declared_by!(CACHE_READ);

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let table = &CACHE_READ.entry;
        Ok(Box::new(ReadTask {
            cache: CacheTarget::new(&self.0, table, input),
            inputs: Inputs::new(table, input, cx)?,
            reads_list: input.get("keys").is_some(),
            output: input::path(text(table, input, "output").unwrap_or("data"))?,
        }))
    }
}

impl Function for CacheWrite {
    svc_functions::declared_by!(CACHE_WRITE);

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let table = &CACHE_WRITE.entry;
        Ok(Box::new(WriteTask {
            cache: CacheTarget::new(&self.0, table, input),
            inputs: Inputs::new(table, input, cx)?,
        }))
    }
}

/// The cache that a task calls.
pub(super) struct CacheTarget {
    connectors: ConnectorDirectory,
    connector: Arc<str>,
}

impl CacheTarget {
    pub(super) fn new(connectors: &ConnectorDirectory, table: &FunctionEntry, input: &Value) -> Self {
        let connector = text(table, input, "connector").unwrap_or_default().into();
        Self { connectors: connectors.clone(), connector }
    }

    /// Sends a message to the actor of the cache, if the connector allows the operation.
    pub(super) async fn ask<T, M>(
        &self,
        cx: &TaskCx<'_>,
        operation: &str,
        message: &M,
    ) -> Result<T, TaskError>
    where
        CacheActor: ReadHandler<M>,
        M: Message<Result = Result<T, CallFailure>> + Clone + Send + 'static,
        T: Send + 'static,
    {
        let call = async {
            let message = |driver: &CacheDriver| {
                check_operation(&driver.settings.operations, operation, &self.connector)?;
                Ok((driver.address.clone(), message.clone()))
            };
            let (_, answer) = call_driver(&self.connectors, &self.connector, message).await?;
            answer.map_err(|failure| failure.to_task_error(&self.connector))
        };
        call_with_breaker(&self.connectors, &Caller::of_task(cx), &self.connector, call).await
    }

    /// Returns the value of a cached text; null for a miss.
    fn value(&self, cx: &TaskCx<'_>, text: Option<String>) -> Result<Value, TaskError> {
        let Some(text) = text else { return Ok(Value::Null) };
        let parsed = cx.parse_json(text.as_bytes());
        value(text, parsed, &self.connector)
    }
}

struct ReadTask {
    cache: CacheTarget,
    inputs: Inputs,
    reads_list: bool,
    output: Path,
}

impl CompiledTask for ReadTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async move {
            let value = if self.reads_list {
                let keys = keys(self.inputs.fold(cx, "keys")?)?;
                let texts = self.cache.ask(cx, "read", &ReadEntries(keys)).await?;
                let values = texts.into_iter().map(|text| self.cache.value(cx, text));
                values.collect::<Result<Value, TaskError>>()?
            } else {
                let key = key(self.inputs.fold(cx, "key")?)?;
                let text = self.cache.ask(cx, "read", &ReadEntry(key)).await?;
                self.cache.value(cx, text)?
            };
            cx.write(&self.output, value)?;
            Ok(TaskOutcome::Success)
        })
    }
}

struct WriteTask {
    cache: CacheTarget,
    inputs: Inputs,
}

impl CompiledTask for WriteTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async move {
            let key = key(self.inputs.fold(cx, "key")?)?;
            let text = self.inputs.fold(cx, "value")?.to_string();
            let ttl_secs = match self.inputs.fold(cx, "ttl_secs")? {
                Value::Null => None,
                given => Some(ttl(&given).map_err(|why| invalid("ttl_secs", &why))?),
            };
            self.cache.ask(cx, "write", &WriteEntry { key, text, ttl_secs }).await?;
            Ok(TaskOutcome::Success)
        })
    }
}

/// Returns the error of an input.
pub(super) fn invalid(name: &str, why: &str) -> TaskError {
    TaskError::validation(format!("{name}: {why}"))
}

/// Returns the key that a value gives.
pub(super) fn key(value: Value) -> Result<String, TaskError> {
    read_key(value).map_err(|why| invalid("key", &why))
}

/// Returns the keys that a list gives.
pub(super) fn keys(list: Value) -> Result<Vec<String>, TaskError> {
    read_keys(list).map_err(|why| invalid("keys", &why))
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
