//! The probe of an HTTP API.

use svc_outbound::{Method, PeerRequest};

use super::client::{AuthorizedClient, ExchangeError};
use super::settings::HttpSettings;
use crate::probe::{ConnectorProbe, PROBE_TIMEOUT};
use crate::settings::Settings;

/// The operation that a probe tries.
const OPERATION: &str = "GET url";

/// Requests the URL of the connector as a task would, with a token if the API needs one.
pub(crate) async fn probe(connector: &str, http: &HttpSettings, settings: &Settings) -> ConnectorProbe {
    let tokens = http.token_source(connector, &settings.tokens);
    let client = match AuthorizedClient::new(&settings.outbound, &http.base, http.allow_private, tokens) {
        Ok(client) => client,
        Err(error) => return ConnectorProbe::failed(OPERATION, error.to_string()),
    };
    let request = PeerRequest {
        method: Method::GET,
        url: http.base.clone(),
        headers: http.headers.clone(),
        params: http.params.clone(),
        body: None,
        timeout: PROBE_TIMEOUT,
        cap: http.max_response_size,
        follow: true,
    };
    match client.send(request).await.map(|answered| answered.answer) {
        Ok(answer) if answer.status.is_success() => ConnectorProbe::reached(OPERATION),
        Ok(answer) => {
            ConnectorProbe::failed(OPERATION, format!("it answered with status {}", answer.status.as_u16()))
        }
        Err(error @ ExchangeError::NoComputedUrls) => ConnectorProbe::failed(OPERATION, error.to_string()),
        Err(ExchangeError::Token(error)) => ConnectorProbe::failed("token", error.to_string()),
        Err(ExchangeError::Forbidden { refused, place }) => {
            ConnectorProbe::failed(OPERATION, format!("{refused} (connector '{connector}': {place})"))
        }
        Err(ExchangeError::Fetch(error)) => {
            ConnectorProbe::failed(OPERATION, http.redact(error.to_string(), None))
        }
    }
}
