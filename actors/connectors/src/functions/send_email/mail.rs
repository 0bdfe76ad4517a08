//! The parts of a mail, and its text. Pure but for the date of the mail.

use std::sync::Arc;

use lettre::Message;
use lettre::address::Envelope;
use lettre::message::header::{Cc, HeaderName, HeaderValue, To};
use lettre::message::{Mailbox, Mailboxes, MultiPart, SinglePart};
use serde_json::Value;
use svc_engine::TaskError;
use svc_model::FieldError;

use super::encoded_words::encode_words;
use super::fold::fold_headers;
use crate::drivers::smtp::{OutgoingMail, mailbox};

/// Headers that a mail gets from elsewhere.
const OWN: [&str; 10] = [
    "from",
    "to",
    "cc",
    "bcc",
    "subject",
    "date",
    "message-id",
    "content-type",
    "content-transfer-encoding",
    "mime-version",
];
const SUBJECT: &str = "Subject";
const REPLY_TO: &str = "reply-to";
/// Maximum length of the name of a header, so that a value has room in the same line.
const LONGEST_NAME: usize = 76;

/// A mail but for its sender.
pub(super) struct Draft<'h> {
    pub(super) to: Vec<Mailbox>,
    pub(super) cc: Vec<Mailbox>,
    /// Recipients on the envelope alone.
    pub(super) bcc: Vec<Mailbox>,
    pub(super) subject: String,
    pub(super) body: Body,
    pub(super) reply_to: Option<Mailbox>,
    pub(super) headers: &'h [(HeaderName, String)],
}

/// The body of a mail.
pub(super) enum Body {
    Text(String),
    Html(String),
    /// The same twice, for readers of either.
    Both {
        text: String,
        html: String,
    },
}

impl Body {
    pub(super) fn from_parts(text: Option<String>, html: Option<String>) -> Option<Self> {
        match (text, html) {
            (Some(text), Some(html)) => Some(Self::Both { text, html }),
            (Some(text), None) => Some(Self::Text(text)),
            (None, Some(html)) => Some(Self::Html(html)),
            (None, None) => None,
        }
    }
}

impl Draft<'_> {
    /// The whole mail under an id.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` for what the mail library does not take.
    pub(super) fn write(&self, from: &Mailbox, message_id: &str) -> Result<OutgoingMail, TaskError> {
        let recipients = self.to.iter().chain(&self.cc).chain(&self.bcc).map(|mailbox| mailbox.email.clone());
        let envelope =
            Envelope::new(Some(from.email.clone()), recipients.collect()).map_err(message_error)?;
        let mut mail = Message::builder()
            .envelope(envelope.clone())
            .message_id(Some(message_id.to_owned()))
            .date_now()
            .from(from.clone())
            .header(To::from(Mailboxes::from(self.to.clone())));
        mail = match encode_words(SUBJECT, &self.subject) {
            None => mail.subject(self.subject.as_str()),
            Some(encoded) => {
                let (name, raw) = (HeaderName::new_from_ascii_str(SUBJECT), self.subject.clone());
                mail.raw_header(HeaderValue::dangerous_new_pre_encoded(name, raw, encoded))
            }
        };
        if !self.cc.is_empty() {
            mail = mail.header(Cc::from(Mailboxes::from(self.cc.clone())));
        }
        if let Some(reply_to) = &self.reply_to {
            mail = mail.reply_to(reply_to.clone());
        }
        for (name, value) in self.headers {
            mail = mail.raw_header(HeaderValue::new(name.clone(), value.clone()));
        }
        let mail = match &self.body {
            Body::Text(text) => mail.singlepart(SinglePart::plain(text.clone())),
            Body::Html(html) => mail.singlepart(SinglePart::html(html.clone())),
            Body::Both { text, html } => {
                mail.multipart(MultiPart::alternative_plain_html(text.clone(), html.clone()))
            }
        };
        let content = fold_headers(&mail.map_err(message_error)?.formatted()).map_err(|header| {
            TaskError::validation(format!(
                "the header '{header}' has a word that is too long for a line of a mail"
            ))
        })?;
        Ok(OutgoingMail { envelope, content: Arc::from(content) })
    }
}

fn message_error(error: lettre::error::Error) -> TaskError {
    TaskError::validation(format!("the mail cannot be written: {error}"))
}

/// Mailboxes from one text, or from an array of texts, each of which is one; null is none.
///
/// # Errors
/// The problem, at its place in the field `at`.
pub(super) fn mailboxes(at: &str, value: &Value) -> Result<Vec<Mailbox>, FieldError> {
    let one = |at: String, text: &str| mailbox(text).map_err(|why| FieldError::invalid(at, why));
    match value {
        Value::Null => Ok(Vec::new()),
        Value::String(text) => one(at.to_owned(), text).map(|mailbox| vec![mailbox]),
        Value::Array(items) => {
            let item = |(index, item): (usize, &Value)| match item {
                Value::String(text) => one(format!("{at}[{index}]"), text),
                other => Err(FieldError::type_mismatch(format!("{at}[{index}]"), "string", other)),
            };
            items.iter().enumerate().map(item).collect()
        }
        other => Err(FieldError::type_mismatch(at, "string or an array of strings", other)),
    }
}

/// A part of a body, each line ended by CRLF alone: to some servers a CR or an LF by itself ends a line as
/// well, and with it the mail.
pub(super) fn lines(text: &str) -> Result<String, &'static str> {
    if text.contains('\0') {
        return Err("no NUL characters");
    }
    Ok(text.replace("\r\n", "\n").replace('\r', "\n").replace('\n', "\r\n"))
}

/// A header of the author's own.
pub(super) fn header(name: &str, value: &str) -> Result<(HeaderName, String), &'static str> {
    if OWN.iter().chain([&REPLY_TO]).any(|own| own.eq_ignore_ascii_case(name)) {
        return Err("this header has a field of its own, or is not the author's to write");
    }
    let printable = name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':');
    let parsed =
        HeaderName::new_from_ascii(name.to_owned()).ok().filter(|_| printable && name.len() <= LONGEST_NAME);
    line(value)?;
    parsed.map(|name| (name, value.to_owned())).ok_or("this is no header name")
}

/// Refuses what could begin another line.
pub(super) fn line(text: &str) -> Result<(), &'static str> {
    if text.contains(|c: char| c.is_control() && c != '\t') {
        return Err("no line breaks and no control characters");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
