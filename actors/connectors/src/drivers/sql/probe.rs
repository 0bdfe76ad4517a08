//! Whether a SQL database answers.

use slog::{Discard, Logger, o};

use super::message::Run;
use super::pool::Pool;
use super::settings::{PoolContext, SqlSettings};
use crate::handle::Settings;
use crate::probe::{LIMIT, Probe};

/// Asks the smallest question over a connection of its own.
pub(crate) async fn probe(name: &str, settings: &SqlSettings, with: &Settings) -> Probe {
    let what = "SELECT 1";
    let context = PoolContext::new(name, with, &Logger::root(Discard, o!()));
    let asked = match Pool::open(settings, &context) {
        Ok(pool) => pool.run_within(Run::ping(), LIMIT.min(settings.query_timeout)).await,
        Err(error) => Err(error),
    };
    match asked {
        Ok(_) => Probe { reachable: true, supported: true, probe: what, error: None },
        Err(error) => Probe::failed(true, what, error.to_string()),
    }
}
