//! Whether a SQL database answers.

use svc_outbound::Outbound;

use super::message::Run;
use super::pool::Pool;
use super::settings::SqlSettings;
use crate::probe::{LIMIT, Probe};

/// Asks the smallest question over a connection of its own.
pub(crate) async fn probe(settings: &SqlSettings, outbound: &Outbound) -> Probe {
    let what = "SELECT 1";
    let asked = match Pool::open(settings, outbound) {
        Ok(pool) => pool.run_within(Run::ping(), LIMIT.min(settings.query_timeout)).await,
        Err(error) => Err(error),
    };
    match asked {
        Ok(_) => Probe { reachable: true, supported: true, probe: what, error: None },
        Err(error) => Probe::failed(true, what, error.to_string()),
    }
}
