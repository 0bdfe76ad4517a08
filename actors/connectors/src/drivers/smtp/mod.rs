//! Mail servers.

mod actor;
mod ascii_domain;
mod dial;
mod error;
mod idle;
mod probe;
mod settings;
mod starttls;
mod tunnel;

use svc_model::config::connector::SmtpConfig;

use crate::driver::{ResolveResult, erase_type};

pub(crate) use actor::{OutgoingMail, SendMail, SmtpDriver};
pub(crate) use ascii_domain::with_ascii_domain;
pub(crate) use error::MailError;
pub(crate) use settings::SmtpSettings;

/// Resolves the config of a mail server.
///
/// # Errors
/// A text that names the unusable field without its value.
pub(crate) fn resolve(config: &SmtpConfig) -> ResolveResult {
    SmtpSettings::new(config).map(erase_type)
}
