//! Whether an Elasticsearch cluster answers.

use svc_outbound::Outbound;

use super::settings::EsSettings;
use crate::drivers::http;
use crate::probe::Probe;

/// Asks the cluster who it is, as whoever the connector names.
pub(crate) async fn probe(es: &EsSettings, outbound: &Outbound) -> Probe {
    Probe { probe: "GET /", ..http::probe(&es.http, outbound).await }
}
