//! `svc-server test-connectivity`: asks the database and the Kafka brokers for a sign of life.

use std::io::{self, Write};
use std::time::Duration;

use slog::{Discard, Logger, o};
use svc_connectors::{BrokerHealth, KafkaCluster};
use svc_store::inspect::{self, DatabaseSummary};
use svc_store::{OpenError, StoreConfig};

use super::wait::{DatabaseWaitArgs, away_database};
use crate::config::Config;
use crate::exit::{self, EXIT_CONFIG, EXIT_FAILURE, EXIT_OK};
use crate::settings;

/// Time that the brokers have to send their metadata.
const BROKER_LIMIT: Duration = Duration::from_secs(5);

/// Checks each peer of the configuration in turn; stops at the first that fails. Waits for those that are not there yet.
/// Changes nothing.
pub(super) fn test_connectivity(
    config: &Config,
    args: DatabaseWaitArgs,
    environment: &[(String, String)],
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let store = settings::store_config(config);
    let mut wait = runtime.block_on(async { args.begin(&store) });
    let ask = async || ask_database(&store).await;
    match runtime.block_on(wait.attempt(err, away_database(&store), ask)) {
        Ok(summary) => writeln!(out, "database: {}", describe(&summary))?,
        Err(error) => {
            let code = if error.is_configuration() { EXIT_CONFIG } else { EXIT_FAILURE };
            return exit::write_error(&error, err).map(|()| code);
        }
    }
    let Some(cluster) = settings::kafka_cluster(config, environment) else {
        writeln!(out, "kafka: off")?;
        return Ok(EXIT_OK);
    };
    let brokers = config.kafka.brokers.join(", ");
    let ask = async || ask_brokers(&cluster).await;
    match runtime.block_on(wait.attempt(err, |reason: &String| Some(reason), ask)) {
        Ok(()) => {
            writeln!(out, "kafka: ok, {brokers}")?;
            Ok(EXIT_OK)
        }
        Err(reason) => {
            writeln!(err, "Error: cannot reach the Kafka brokers {brokers}\n  Caused by: {reason}")?;
            Ok(EXIT_FAILURE)
        }
    }
}

/// Opens the database, for at most the time that a server would wait for a connection.
pub(super) async fn ask_database(store: &StoreConfig) -> Result<DatabaseSummary, OpenError> {
    match tokio::time::timeout(store.acquire_timeout, inspect::summary(store)).await {
        Ok(summary) => summary,
        Err(_) => Err(OpenError::Unreachable {
            target: "the database of storage.url".to_owned(),
            detail: format!("no answer within {} s", store.acquire_timeout.as_secs()),
        }),
    }
}

/// Asks the Kafka brokers for their metadata. The error is the reason.
pub(super) async fn ask_brokers(cluster: &KafkaCluster) -> Result<(), String> {
    BrokerHealth::ask_once(cluster, BROKER_LIMIT, Logger::root(Discard, o!())).await
}

fn describe(summary: &DatabaseSummary) -> String {
    let state = if summary.exists { "ok" } else { "not created yet" };
    format!("{state}, {}, {} pending migration(s)", summary.target, summary.pending.len())
}
