//! Whether an Elasticsearch cluster answers.

use super::settings::EsSettings;
use crate::drivers::http;
use crate::probe::ConnectorProbe;
use crate::settings::Settings;

/// Asks the cluster who it is, as whoever the connector names.
pub(crate) async fn probe(connector: &str, es: &EsSettings, settings: &Settings) -> ConnectorProbe {
    ConnectorProbe { probe: "GET /", ..http::probe(connector, &es.http, settings).await }
}
