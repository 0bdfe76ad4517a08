//! Mail servers.

mod actor;
mod dial;
mod error;
mod idle;
mod probe;
mod settings;
mod starttls;
mod tunnel;

pub(crate) use actor::{Hand, Letter, SmtpDriver};
pub(crate) use error::MailError;
pub(crate) use probe::probe;
pub(crate) use settings::{SmtpSettings, mailbox};
