//! HTTP APIs.

mod actor;
mod client;
mod probe;
mod settings;

use svc_model::config::connector::HttpConfig;

use crate::driver::{ResolveResult, erase_type};

#[cfg(feature = "es")]
pub(crate) use actor::HttpActor;
pub(crate) use actor::{Exchange, HttpDriver};
pub(crate) use client::ExchangeError;
#[cfg(feature = "es")]
pub(crate) use probe::probe;
pub(crate) use settings::HttpSettings;

/// Resolves the config of an HTTP API.
///
/// # Errors
/// A text that names the unusable field without its value.
pub(crate) fn resolve(config: &HttpConfig) -> ResolveResult {
    HttpSettings::new(config).map(erase_type)
}
