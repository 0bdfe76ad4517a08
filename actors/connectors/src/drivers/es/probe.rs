//! The probe of an Elasticsearch cluster.

use super::settings::EsSettings;
use crate::drivers::http;
use crate::probe::ConnectorProbe;
use crate::settings::Settings;

/// Requests the root of the cluster, with the credentials of the connector.
pub(crate) async fn probe(connector: &str, es: &EsSettings, settings: &Settings) -> ConnectorProbe {
    ConnectorProbe { probe: "GET /", ..http::probe(connector, &es.http, settings).await }
}
