//! Whether a MongoDB deployment answers.

use bson::doc;
use svc_outbound::Outbound;
use tokio::time::timeout;

use super::client::open;
use super::error::MongoError;
use super::settings::MongoSettings;
use crate::probe::{LIMIT, Probe};

/// Pings it, as whoever the connection string names.
pub(crate) async fn probe(mongo: &MongoSettings, outbound: &Outbound) -> Probe {
    let what = "ping";
    let asked = async {
        let connected = open(mongo, outbound).await?;
        connected.check()?;
        let ping = connected.client.database("admin").run_command(doc! {"ping": 1}).await;
        ping.map(drop).map_err(|error| MongoError::of(&error, LIMIT))
    };
    match timeout(LIMIT, asked).await.unwrap_or(Err(MongoError::Deadline(LIMIT))) {
        Ok(()) => Probe { reachable: true, supported: true, probe: what, error: None },
        Err(error) => Probe::failed(true, what, error.to_string()),
    }
}
