//! HTTP APIs.

mod actor;
mod client;
mod hosts;
mod probe;
mod settings;

use svc_model::config::connector::HttpConfig;

use crate::driver::{ResolveResult, erase_type};

#[cfg(feature = "es")]
pub(crate) use actor::HttpActor;
pub(crate) use actor::{Exchange, HttpDriver, OutsideExchange};
pub(crate) use client::ExchangeError;
pub(crate) use hosts::{CalledHosts, HostPlace, host_of};
#[cfg(feature = "es")]
pub(crate) use probe::probe;
pub(crate) use settings::{HttpSettings, sign_request};

/// Resolves the config of an HTTP API.
///
/// # Errors
/// A text that names the unusable field without its value.
pub(crate) fn resolve(config: &HttpConfig) -> ResolveResult {
    HttpSettings::new(config).map(erase_type)
}
