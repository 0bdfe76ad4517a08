//! The parts of a mail, and its text. Pure but for the date of the mail.

use std::sync::Arc;

use lettre::Message;
use lettre::address::Envelope;
use lettre::message::header::{Cc, HeaderName, HeaderValue, To};
use lettre::message::{Mailbox, Mailboxes, MultiPart, SinglePart};
use svc_engine::TaskError;

use super::encoded_words::encode_words;
use super::fold::fold_headers;
use crate::drivers::smtp::OutgoingMail;

const SUBJECT: &str = "Subject";

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

#[cfg(test)]
mod tests;
