//! `send_email`: hands one mail to a mail server, once.

mod encoded_words;
mod fold;
mod mail;

use std::sync::Arc;

use futures_util::future::LocalBoxFuture;
use lettre::message::Mailbox;
use lettre::message::header::HeaderName;
use serde_json::{Value, json};
use svc_engine::{
    CompileCx, CompiledTask, ErrorCode, Function, Inputs, Path, TaskCx, TaskError, TaskOutcome,
};
use svc_functions::declarations::SEND_EMAIL;
use svc_functions::declarations::mail::{
    BODIES, NO_BODY, RECIPIENTS, header, line, lines, mailbox, mailboxes,
};
use svc_outbound::AddressError;
use uuid::Uuid;

use super::call::{Caller, call_driver, call_with_breaker, driver_of};
use super::input;
use crate::directory::ConnectorDirectory;
use crate::drivers::smtp::{MailError, SendMail, SmtpDriver, SmtpSettings, with_ascii_domain};
use mail::{Body, Draft};

/// The task function.
pub(crate) struct SendEmail {
    connectors: ConnectorDirectory,
}

impl SendEmail {
    pub(crate) fn new(connectors: ConnectorDirectory) -> Self {
        Self { connectors }
    }
}

impl Function for SendEmail {
    svc_functions::declared_by!(SEND_EMAIL);

    fn compile(&self, input: &Value, cx: &CompileCx<'_>) -> Result<Box<dyn CompiledTask>, String> {
        let table = &SEND_EMAIL.entry;
        let own = input.get("headers").and_then(Value::as_object).into_iter().flatten();
        let headers = own.map(|(name, value)| {
            header(name, value.as_str().unwrap_or_default()).map_err(|why| format!("headers.{name}: {why}"))
        });
        Ok(Box::new(SendEmailTask {
            connectors: self.connectors.clone(),
            connector: input::text(table, input, "connector").unwrap_or_default().into(),
            inputs: Inputs::new(table, input, cx)?,
            headers: headers.collect::<Result<_, _>>()?,
            output: input::output(table, input)?,
        }))
    }
}

struct SendEmailTask {
    connectors: ConnectorDirectory,
    connector: Arc<str>,
    inputs: Inputs,
    headers: Vec<(HeaderName, String)>,
    output: Path,
}

impl CompiledTask for SendEmailTask {
    fn run<'a>(&'a self, cx: &'a mut TaskCx<'_>) -> LocalBoxFuture<'a, Result<TaskOutcome, TaskError>> {
        Box::pin(async move {
            let (draft, from) = (self.draft(cx)?, self.text(cx, "from")?);
            let from = from.map(|text| one_mailbox("from", &text)).transpose()?;
            let caller = Caller::of_task(cx);
            let call = self.send(&draft, from.as_ref());
            let sent = call_with_breaker(&self.connectors, &caller, &self.connector, call).await?;
            cx.write(&self.output, sent)?;
            Ok(TaskOutcome::Success)
        })
    }
}

impl SendEmailTask {
    fn draft(&self, cx: &TaskCx<'_>) -> Result<Draft<'_>, TaskError> {
        let [to, cc, bcc] = RECIPIENTS.map(|field| -> Result<Vec<Mailbox>, TaskError> {
            let given = self.inputs.fold(cx, field)?;
            let mailboxes = mailboxes(field, &given);
            let mailboxes = mailboxes.map_err(|error| field_error(&error.path, &error.message))?;
            Ok(mailboxes.into_iter().map(with_ascii_domain).collect())
        });
        let to = to?;
        if to.is_empty() {
            return Err(field_error("to", "at least one mailbox"));
        }
        let subject = self.inputs.require_text(cx, "subject")?;
        line(&subject).map_err(|why| field_error("subject", why))?;
        let [text, html] = BODIES.map(|field| self.body(cx, field));
        let body = Body::from_parts(text?, html?);
        let reply_to = self.text(cx, "reply_to")?;
        Ok(Draft {
            to,
            cc: cc?,
            bcc: bcc?,
            subject,
            body: body.ok_or_else(|| field_error("text", NO_BODY))?,
            reply_to: reply_to.map(|text| one_mailbox("reply_to", &text)).transpose()?,
            headers: &self.headers,
        })
    }

    fn text(&self, cx: &TaskCx<'_>, field: &str) -> Result<Option<String>, TaskError> {
        Ok(self.inputs.get(cx, field)?.and_then(|value| value.as_str().map(str::to_owned)))
    }

    fn body(&self, cx: &TaskCx<'_>, field: &str) -> Result<Option<String>, TaskError> {
        self.text(cx, field)?.map(|text| lines(&text).map_err(|why| field_error(field, why))).transpose()
    }

    async fn send(&self, draft: &Draft<'_>, from: Option<&Mailbox>) -> Result<Value, TaskError> {
        let id = Uuid::new_v4();
        let hand = |driver: &SmtpDriver| {
            let from = self.sender(&driver.settings, from)?;
            let mail = draft.write(from, &message_id(id, from))?;
            Ok((driver.address.clone(), SendMail(mail)))
        };
        let (loaded, answer) = call_driver(&self.connectors, &self.connector, hand).await?;
        let response = answer.map_err(|error| self.task_error(&error))?;
        let driver: &SmtpDriver = driver_of(&self.connector, &loaded)?;
        let from = self.sender(&driver.settings, from)?;
        Ok(json!({"message_id": message_id(id, from), "response": response}))
    }

    fn sender<'f>(
        &self,
        settings: &'f SmtpSettings,
        from: Option<&'f Mailbox>,
    ) -> Result<&'f Mailbox, TaskError> {
        match from {
            None => Ok(&settings.from),
            Some(from) if settings.allow_from_override => Ok(from),
            Some(_) => {
                let detail = format!("connector '{}' does not allow tasks to name a sender", self.connector);
                Err(TaskError::new(ErrorCode::ConnectorDetail, detail))
            }
        }
    }

    /// Converts the failure to send a mail. It is retryable only if no mail was begun.
    fn task_error(&self, error: &MailError) -> TaskError {
        let code = match error {
            MailError::Address(AddressError::Unresolved { .. })
            | MailError::Connect { .. }
            | MailError::Leaving { is_retryable: true, .. } => ErrorCode::Io,
            // Its text begins with its own subject, "SSRF protection".
            MailError::Address(refused) => return TaskError::new(ErrorCode::Function, refused.to_string()),
            MailError::Late { .. } => ErrorCode::Timeout,
            MailError::Refused { .. } | MailError::Leaving { .. } | MailError::Broken { .. } => {
                ErrorCode::Function
            }
        };
        TaskError::new(code, format!("connector '{}': {error}", self.connector))
    }
}

/// Reads the mailbox of a field.
fn one_mailbox(field: &str, text: &str) -> Result<Mailbox, TaskError> {
    mailbox(text).map(with_ascii_domain).map_err(|why| field_error(field, why))
}

fn message_id(id: Uuid, from: &Mailbox) -> String {
    format!("<{id}@{}>", from.email.domain())
}

fn field_error(field: &str, why: &str) -> TaskError {
    TaskError::validation(format!("{field}: {why}"))
}
