//! The probe of a MongoDB deployment.

use bson::doc;
use svc_outbound::Outbound;
use tokio::time::timeout;

use super::client::open;
use super::error::MongoError;
use super::settings::MongoSettings;
use crate::probe::{ConnectorProbe, PROBE_TIMEOUT};

/// The operation that a probe tries.
const OPERATION: &str = "ping";

/// Pings the deployment with the credentials of the connection string.
pub(crate) async fn probe(mongo: &MongoSettings, outbound: &Outbound) -> ConnectorProbe {
    let ping = async {
        let connected = open(mongo, outbound).await?;
        connected.check()?;
        let ping = connected.client.database("admin").run_command(doc! {"ping": 1}).await;
        ping.map(drop).map_err(|error| MongoError::from_driver(&error, PROBE_TIMEOUT))
    };
    match timeout(PROBE_TIMEOUT, ping).await.unwrap_or(Err(MongoError::Deadline(PROBE_TIMEOUT))) {
        Ok(()) => ConnectorProbe::reached(OPERATION),
        Err(error) => ConnectorProbe::failed(OPERATION, error.to_string()),
    }
}
