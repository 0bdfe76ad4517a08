//! Calls of computed addresses: each is bounded by its host.

use std::sync::Arc;
use std::time::Duration;

use svc_engine::{ErrorCode, TaskError};
use svc_outbound::{AddressError, Url};
use tokio::time::timeout;

use super::call::{Caller, call_admitted, driver_of};
use crate::directory::ConnectorDirectory;
use crate::drivers::http::{CalledHosts, HostPlace, HttpDriver, host_of};

/// A computed address that its connector allows.
pub(crate) struct OutsideAddress {
    pub(crate) url: Url,
    /// Host and port.
    pub(crate) host: String,
    hosts: Arc<CalledHosts>,
}

impl OutsideAddress {
    /// Parses a URL and checks it by the rules of its connector; `place` names the URL in errors.
    ///
    /// # Errors
    /// `connector_detail` if the connector allows no computed addresses, `VALIDATION_ERROR` for a text that is no URL,
    /// `FUNCTION_ERROR` for an address that may not be called. Only the error of a connector that is not in use is
    /// transient.
    pub(crate) fn parse(
        connectors: &ConnectorDirectory,
        connector: &str,
        text: &str,
        place: &str,
    ) -> Result<Self, TaskError> {
        let loaded = connectors.find(connector)?;
        let driver: &HttpDriver = driver_of(connector, &loaded)?;
        let Some(urls) = &driver.settings.urls else {
            let detail = format!("connector '{connector}' has no allow_urls: it calls no computed address");
            return Err(TaskError::new(ErrorCode::ConnectorDetail, detail));
        };
        let url = urls.parse(text, driver.settings.allow_private).map_err(|error| match error {
            AddressError::Malformed(_) => TaskError::validation(format!("{place}: {error}")),
            refused => {
                TaskError::new(ErrorCode::Function, format!("{refused} (connector '{connector}': {place})"))
            }
        })?;
        Ok(Self { host: host_of(&url), url, hosts: Arc::clone(&driver.hosts) })
    }

    /// Waits for a place among the calls of the host, at most for this time.
    ///
    /// # Errors
    /// `TIMEOUT_ERROR` if no call of the host ended, `IO_ERROR` if calls of too many hosts are in flight.
    pub(crate) async fn take_place(&self, connector: &str, limit: Duration) -> Result<HostPlace, TaskError> {
        match timeout(limit, self.hosts.take_place(&self.host)).await {
            Ok(Some(place)) => Ok(place),
            Ok(None) => {
                let why = format!("connector '{connector}': calls of too many hosts are in flight");
                Err(TaskError::new(ErrorCode::Io, why))
            }
            Err(_) => {
                let (host, within) = (&self.host, limit.as_millis());
                let why = format!(
                    "connector '{connector}': no call of '{host}' ended within {within} ms, and it has \
                     max_concurrent_per_host"
                );
                Err(TaskError::new(ErrorCode::Timeout, why))
            }
        }
    }

    /// Makes one logical call, as [`call_with_breaker`](super::call::call_with_breaker) does, through the breaker of
    /// the host.
    ///
    /// # Errors
    /// `circuit_open` while the breaker rejects calls; otherwise the error of the call.
    pub(crate) async fn call<T>(
        &self,
        connectors: &ConnectorDirectory,
        caller: &Caller,
        connector: &str,
        call: impl Future<Output = Result<T, TaskError>>,
    ) -> Result<T, TaskError> {
        let refusal =
            || format!("the circuit breaker of connector '{connector}' is open for the host '{}'", self.host);
        let permit = caller.free_permit(self.hosts.breakers()).or_else(|| self.hosts.admit(&self.host));
        call_admitted(connectors, caller, connector, permit, refusal, call).await
    }
}
