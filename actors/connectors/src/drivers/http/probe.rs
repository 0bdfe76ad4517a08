//! Whether an HTTP API answers.

use svc_outbound::{Method, Outbound, Request};

use super::settings::HttpSettings;
use crate::probe::{LIMIT, Probe};

/// Asks for the connector's own URL, as a task would.
pub(crate) async fn probe(http: &HttpSettings, outbound: &Outbound) -> Probe {
    let what = "GET url";
    let peer = match outbound.peer(&http.base, http.allow_private) {
        Ok(peer) => peer,
        Err(error) => return Probe::failed(true, what, error.to_string()),
    };
    let request = Request {
        method: Method::GET,
        url: http.base.clone(),
        headers: http.headers.clone(),
        params: http.params.clone(),
        body: None,
        timeout: LIMIT,
        cap: http.max_response_size,
    };
    match peer.send(request).await {
        Ok(answer) if answer.status.is_success() => {
            Probe { reachable: true, supported: true, probe: what, error: None }
        }
        Ok(answer) => {
            Probe::failed(true, what, format!("it answered with status {}", answer.status.as_u16()))
        }
        Err(error) => Probe::failed(true, what, http.redact(error.to_string())),
    }
}
