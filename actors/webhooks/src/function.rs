//! `send_webhook`: an event that is accepted for the endpoints of its topic, durably, before the task ends.

use std::sync::Arc;

use serde_json::{Value, json};
use svc_auth::message_id;
use svc_engine::{
    CompileCx, CompiledTask, EngineBuilder, ErrorCode, Expression, Function, Inputs, Path, Redaction, TaskCx,
    TaskError, TaskExecution, TaskOutcome,
};
use svc_functions::declarations::SEND_WEBHOOK;
use svc_model::{Timestamp, webhook_topic_problem};
use svc_store::{StoreError, WebhookEvent};

use crate::handle::WebhookHandle;
use crate::message::make_body;

/// Bytes of the body of an event at most.
const MOST_BYTES: usize = 256 * 1024;

/// Registers `send_webhook`.
#[must_use]
pub fn register(builder: EngineBuilder, webhooks: WebhookHandle) -> EngineBuilder {
    builder.function(Arc::new(SendWebhook { webhooks }))
}

/// The task function.
struct SendWebhook {
    webhooks: WebhookHandle,
}

impl Function for SendWebhook {
    svc_functions::declared_by!(SEND_WEBHOOK);

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let source = input.get("data_logic").or_else(|| input.get("data")).filter(|source| !source.is_null());
        let data = source.map(|source| cx.expression(source)).transpose();
        let output = input.get("output").and_then(Value::as_str).map(Path::parse_target).transpose();
        Ok(Box::new(SendTask {
            webhooks: self.webhooks.clone(),
            inputs: Inputs::new(&SEND_WEBHOOK.entry, input, cx)?,
            data: data.map_err(|reason| format!("data: {reason}"))?,
            output: output.map_err(|error| format!("output: {error}"))?,
        }))
    }
}

struct SendTask {
    webhooks: WebhookHandle,
    inputs: Inputs,
    /// The whole of `data` when there is none.
    data: Option<Expression>,
    output: Option<Path>,
}

impl CompiledTask for SendTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> TaskExecution<'a> {
        Box::pin(async move {
            let mut redaction = cx.redaction().clone();
            self.send(cx, &mut redaction).await.map_err(|mut error| {
                error.redact(&redaction);
                error
            })?;
            Ok(TaskOutcome::Success)
        })
    }
}

impl SendTask {
    async fn send(&self, cx: &mut TaskCx<'_>, redaction: &mut Redaction) -> Result<(), TaskError> {
        let topic = self.inputs.require_text(cx, "topic")?;
        if let Some(why) = webhook_topic_problem(&topic) {
            return Err(TaskError::validation(format!("topic: {why}")));
        }
        let consumer = match self.inputs.get(cx, "consumer")? {
            None => None,
            Some(Value::String(name)) if !name.trim().is_empty() && !name.contains('\0') => Some(name),
            Some(_) => return Err(TaskError::validation("consumer: expected the name of a consumer")),
        };
        let data = match &self.data {
            Some(logic) => cx.evaluate_tainted(logic, redaction)?,
            None => cx.message().data.clone(),
        };
        cx.name_target(&topic);
        let webhook_id = message_id(&cx.idempotency_key());
        let now = Timestamp::from_naive(cx.now().naive_utc());
        let payload = make_body(&topic, now, &data);
        if payload.len() > MOST_BYTES {
            let bytes = payload.len();
            let why =
                format!("data: the event has {bytes} bytes, more than the {MOST_BYTES} that may be sent");
            return Err(TaskError::validation(why));
        }
        // No stored text holds U+0000, and no JSON text does: it is escaped there.
        let event = WebhookEvent { webhook_id: webhook_id.clone(), topic, consumer, payload };
        let endpoints = self.webhooks.accept(event).await.map_err(|error| not_accepted(&error))?;
        if let Some(output) = &self.output {
            cx.write(output, json!({"webhook_id": webhook_id, "endpoints": endpoints}))?;
        }
        Ok(())
    }
}

/// Returns the error of an event that was not accepted. The cause is for the log.
fn not_accepted(error: &StoreError) -> TaskError {
    let reason = if error.is_outage() { "the database is not available" } else { "the database refuses it" };
    TaskError::new(ErrorCode::Io, format!("the event was not accepted: {reason}"))
}
