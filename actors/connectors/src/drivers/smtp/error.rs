//! Errors of sending mail.

use std::time::Duration;

use lettre::transport::smtp::Error;
use svc_outbound::{AddressError, describe_cause};

use super::settings::SmtpSettings;

/// Characters of a server's answer that are shown.
const SHOWN: usize = 512;

/// A mail was not sent, or may not have been. Names the host; holds no credential.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MailError {
    /// The address may not be dialled, or the name has none.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// No connection, or no trust in the server's certificate. Nothing was sent.
    #[error("no connection to '{host}' ({cause})")]
    Connect { host: String, cause: String },
    /// The server was not ready in time. Nothing was sent.
    #[error("'{host}' was not ready within {} ms", .limit.as_millis())]
    Late { host: String, limit: Duration },
    /// The server, or its lack of something needed, is against it.
    #[error("'{host}' refused {what}: {said}")]
    Refused { host: String, what: &'static str, said: String },
    /// The server serves no longer, or not this connection: another one may have taken its place.
    #[error("'{host}' refused {what}: {said}")]
    Leaving { host: String, what: &'static str, said: String, is_retryable: bool },
    /// The conversation broke off, or got no answer in time.
    #[error("the conversation with '{host}' ended at {what} ({cause}); {outcome}")]
    Broken { host: String, what: &'static str, cause: String, outcome: &'static str },
}

/// Codes of a server that ends the conversation, or does not know this client: it closes, cannot check passwords now,
/// or requires a login after one. The connection and the idle ones are given up.
const WRONG_SERVER: [u16; 3] = [421, 454, 530];
/// The first code of a refusal for good.
const PERMANENT: u16 = 500;

/// The state of a mail when the conversation breaks off.
const NOT_SENT: &str = "the mail was not sent";
const UNKNOWN: &str = "whether the mail was taken is not known";

/// A step of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SmtpStep {
    Sender,
    Recipient,
    Data,
    Content,
}

impl SmtpStep {
    const fn name(self) -> &'static str {
        match self {
            Self::Sender => "the sender",
            Self::Recipient => "a recipient",
            Self::Data | Self::Content => "the mail",
        }
    }
}

impl MailError {
    pub(super) fn connect(
        settings: &SmtpSettings,
        cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        let cause: Box<dyn std::error::Error + Send + Sync> = cause.into();
        Self::Connect { host: settings.host.clone(), cause: describe_cause(&*cause) }
    }

    pub(super) fn refused(settings: &SmtpSettings, what: &'static str, said: &str) -> Self {
        let said = settings.redact(said).chars().take(SHOWN).collect();
        Self::Refused { host: settings.host.clone(), what, said }
    }

    /// Converts an error before a mail was begun.
    pub(super) fn opening(settings: &SmtpSettings, what: &'static str, error: &Error) -> Self {
        match answer(error) {
            Some(said) => Self::answered(settings, what, error, &said, true),
            None => Self::connect(settings, cause(error)),
        }
    }

    /// Converts an answer that refuses. `is_safe`: no mail was begun.
    fn answered(
        settings: &SmtpSettings,
        what: &'static str,
        error: &Error,
        said: &str,
        is_safe: bool,
    ) -> Self {
        let code = error.status().map(u16::from).filter(|code| WRONG_SERVER.contains(code));
        match (Self::refused(settings, what, said), code) {
            (Self::Refused { host, what, said }, Some(code)) => {
                Self::Leaving { host, what, said, is_retryable: is_safe && code < PERMANENT }
            }
            (refused, _) => refused,
        }
    }

    /// Converts an error at a step of the conversation.
    pub(super) fn at_step(settings: &SmtpSettings, step: SmtpStep, error: &Error) -> Self {
        match answer(error) {
            Some(said) => Self::answered(settings, step.name(), error, &said, step == SmtpStep::Sender),
            None => Self::broken(settings, step, cause(error)),
        }
    }

    pub(super) fn broken(settings: &SmtpSettings, step: SmtpStep, cause: impl ToString) -> Self {
        let outcome = if step == SmtpStep::Content { UNKNOWN } else { NOT_SENT };
        Self::Broken { host: settings.host.clone(), what: step.name(), cause: cause.to_string(), outcome }
    }
}

/// Returns the server's refusal, or the capability that it lacks; `None` if the connection failed.
fn answer(error: &Error) -> Option<String> {
    let text = source(error);
    match error.status() {
        Some(code) => Some(format!("{code} {text}")),
        None => error.is_client().then_some(text),
    }
}

fn cause(error: &Error) -> String {
    // The answer of a server that speaks another protocol may have any number of lines.
    describe_cause(error).lines().next().unwrap_or_default().to_owned()
}

fn source(error: &Error) -> String {
    std::error::Error::source(error).map(ToString::to_string).unwrap_or_default().trim().to_owned()
}
