//! The probe of a SQL database.

use slog::{Discard, Logger, o};

use super::messages::RunStatements;
use super::pool::SqlPool;
use super::settings::{PoolContext, SqlSettings};
use crate::probe::{ConnectorProbe, PROBE_TIMEOUT};
use crate::settings::Settings;

/// The operation that a probe tries.
const OPERATION: &str = "SELECT 1";

/// Runs the smallest statement over a connection of its own.
pub(crate) async fn probe(name: &str, sql: &SqlSettings, settings: &Settings) -> ConnectorProbe {
    let context = PoolContext::new(name, settings, &Logger::root(Discard, o!()));
    let ping = match SqlPool::open(sql, &context) {
        Ok(pool) => pool.run_within(RunStatements::ping(), PROBE_TIMEOUT.min(sql.query_timeout)).await,
        Err(error) => Err(error),
    };
    match ping {
        Ok(_) => ConnectorProbe::reached(OPERATION),
        Err(error) => ConnectorProbe::failed(OPERATION, error.to_string()),
    }
}
