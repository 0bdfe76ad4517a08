//! `publish_kafka`: one record, acknowledged by the brokers.

use std::sync::Arc;

use futures_util::future::LocalBoxFuture;
use serde_json::Value;
use svc_engine::{
    CompileCx, CompiledTask, Expression, Function, Inputs, Redaction, TaskCx, TaskError, TaskOutcome,
};
use svc_functions::declarations::PUBLISH_KAFKA;
use svc_spans::SpanDraft;

use super::call::{Caller, call_driver, call_with_breaker, check_operation};
use super::cloud_event::EventPlan;
use super::input::text;
use crate::directory::ConnectorDirectory;
use crate::drivers::kafka::{KafkaDriver, Publish};

/// The task function.
pub(crate) struct PublishKafka(pub(crate) ConnectorDirectory);

impl Function for PublishKafka {
    svc_functions::declared_by!(PUBLISH_KAFKA);

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let table = &PUBLISH_KAFKA.entry;
        let logic = |name: &str, alias: &str| {
            let source = input.get(alias).or_else(|| input.get(name)).filter(|source| !source.is_null());
            let compiled = source.map(|source| cx.expression(source)).transpose();
            compiled.map_err(|reason| format!("{name}: {reason}"))
        };
        Ok(Box::new(PublishTask {
            connectors: self.0.clone(),
            connector: text(table, input, "connector").unwrap_or_default().into(),
            inputs: Inputs::new(table, input, cx)?,
            key: logic("key", "key_logic")?,
            value: logic("value", "value_logic")?,
            tombstone: input.get("tombstone").and_then(Value::as_bool),
            event: EventPlan::compile(input, cx)?,
        }))
    }
}

struct PublishTask {
    connectors: ConnectorDirectory,
    connector: Arc<str>,
    /// The topic, if the task names one.
    inputs: Inputs,
    key: Option<Expression>,
    /// The whole of `data` when there is none.
    value: Option<Expression>,
    /// `true` for a record without a value in any case, `false` in no case.
    tombstone: Option<bool>,
    /// The event of CloudEvents that it sends.
    event: Option<EventPlan>,
}

impl CompiledTask for PublishTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async move {
            let mut redaction = cx.redaction().clone();
            self.publish(cx, &mut redaction).await.map_err(|mut error| {
                error.redact(&redaction);
                error
            })?;
            Ok(TaskOutcome::Success)
        })
    }
}

impl PublishTask {
    /// Returns the topic that the task names; `None` for that of the connector.
    fn topic(&self, cx: &TaskCx<'_>) -> Result<Option<String>, TaskError> {
        match self.inputs.get(cx, "topic")? {
            Some(Value::String(topic)) if topic.trim().is_empty() => {
                Err(TaskError::validation("topic: a topic has a name"))
            }
            Some(Value::String(topic)) => Ok(Some(topic)),
            _ => Ok(None),
        }
    }

    async fn publish(&self, cx: &mut TaskCx<'_>, redaction: &mut Redaction) -> Result<(), TaskError> {
        let topic = self.topic(cx)?;
        let key = match &self.key {
            Some(logic) => key(cx.evaluate_tainted(logic, redaction)?),
            None => None,
        };
        let value = match &self.value {
            _ if self.tombstone == Some(true) => None,
            Some(logic) => value(&cx.evaluate_tainted(logic, redaction)?, self.tombstone),
            None => value(&cx.message().data, self.tombstone),
        };
        let event = match &self.event {
            Some(event) => Some(event.evaluate(cx, redaction)?),
            None => None,
        };
        let mut span = cx.trace_context().begin(|| {
            let topic = topic.clone().or_else(|| self.topic_of_connector());
            SpanDraft::publication(topic.as_deref(), Some(&self.connector))
        });
        let mut headers = owned_headers(span.context().headers());
        let value = match &event {
            Some(event) => event.put_into_record(&mut headers, value),
            None => value,
        };
        let message = |driver: &KafkaDriver| {
            check_operation(&driver.settings.operations, "publish", &self.connector)?;
            let topic = topic.clone().or_else(|| driver.settings.topic.clone());
            let topic = topic.ok_or_else(|| {
                let connector = &self.connector;
                TaskError::validation(format!("topic: required; connector '{connector}' names none either"))
            })?;
            Ok((
                driver.address.clone(),
                Publish { topic, key: key.clone(), value: value.clone(), headers: headers.clone() },
            ))
        };
        let call = async {
            let (_, answer) = call_driver(&self.connectors, &self.connector, message).await?;
            answer.map_err(|failure| failure.to_task_error(&self.connector))
        };
        let caller = Caller::of_task(cx);
        let caller = match &topic {
            Some(topic) => caller.with_target(topic.as_str()),
            None => caller,
        };
        let published = call_with_breaker(&self.connectors, &caller, &self.connector, call).await;
        if let Err(error) = &published {
            span.fail(error.code.name());
        }
        published
    }

    /// Returns the topic of a connector in use.
    fn topic_of_connector(&self) -> Option<String> {
        let loaded = self.connectors.find(&self.connector).ok()?;
        loaded.driver::<KafkaDriver>()?.settings.topic.clone()
    }
}

/// Returns the headers of a record.
fn owned_headers(headers: Vec<(&'static str, String)>) -> Vec<(String, String)> {
    headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The value of a record: JSON. Null is a record without a value, unless that was switched off.
fn value(value: &Value, tombstone: Option<bool>) -> Option<String> {
    (!value.is_null() || tombstone == Some(false)).then(|| value.to_string())
}

/// The key of a record: text, and what is none as its JSON. Null is no key.
fn key(value: Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(key) => Some(key),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn null_is_a_tombstone_unless_switched_off() {
        for (given, tombstone, expected) in [
            (json!(null), None, None),
            (json!(null), Some(false), Some("null")),
            (json!({"a": null}), None, Some(r#"{"a":null}"#)),
            (json!("x"), None, Some("\"x\"")),
        ] {
            assert_eq!(value(&given, tombstone).as_deref(), expected);
        }
    }

    #[test]
    fn a_key_is_a_text_and_null_is_none() {
        assert_eq!(key(json!(null)), None);
        for (given, expected) in
            [(json!("k"), "k"), (json!(""), ""), (json!(7), "7"), (json!({"a": 1}), r#"{"a":1}"#)]
        {
            assert_eq!(key(given).as_deref(), Some(expected));
        }
    }
}
