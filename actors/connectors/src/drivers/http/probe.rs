//! Whether an HTTP API answers.

use svc_outbound::{Method, PeerRequest};

use super::settings::HttpSettings;
use super::way::{Unanswered, Way};
use crate::handle::Settings;
use crate::probe::{LIMIT, Probe};

/// Asks for the connector's own URL, as a task would, with a real token where one is due.
pub(crate) async fn probe(connector: &str, http: &HttpSettings, with: &Settings) -> Probe {
    let what = "GET url";
    let tokens = http.token_source(connector, &with.tokens);
    let way = match Way::new(&with.outbound, &http.base, http.allow_private, tokens) {
        Ok(way) => way,
        Err(error) => return Probe::failed(true, what, error.to_string()),
    };
    let request = PeerRequest {
        method: Method::GET,
        url: http.base.clone(),
        headers: http.headers.clone(),
        params: http.params.clone(),
        body: None,
        timeout: LIMIT,
        cap: http.max_response_size,
        follow: true,
    };
    match way.send(request).await.map(|answered| answered.answer) {
        Ok(answer) if answer.status.is_success() => {
            Probe { reachable: true, supported: true, probe: what, error: None }
        }
        Ok(answer) => {
            Probe::failed(true, what, format!("it answered with status {}", answer.status.as_u16()))
        }
        Err(Unanswered::Token(error)) => Probe::failed(true, "token", error.to_string()),
        Err(Unanswered::Forbidden { refused, place }) => {
            Probe::failed(true, what, format!("{refused} (connector '{connector}': {place})"))
        }
        Err(Unanswered::Fetch(error)) => Probe::failed(true, what, http.redact(error.to_string(), None)),
    }
}
