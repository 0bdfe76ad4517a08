//! Whether an Elasticsearch cluster answers.

use super::settings::EsSettings;
use crate::drivers::http;
use crate::handle::Settings;
use crate::probe::Probe;

/// Asks the cluster who it is, as whoever the connector names.
pub(crate) async fn probe(connector: &str, es: &EsSettings, with: &Settings) -> Probe {
    Probe { probe: "GET /", ..http::probe(connector, &es.http, with).await }
}
