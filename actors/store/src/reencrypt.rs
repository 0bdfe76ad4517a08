//! Rewrites the settings of connectors under the key that writes now.
//!
//! Row by row, each replaced only while it still holds what was read: servers may run, and may be killed, meanwhile. A row is
//! under one key or under the other at every moment.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_secrets::EnvelopeError;

use crate::config::StoreConfig;
use crate::conn::{Conn, on};
use crate::connector::{Connector, Purpose};
use crate::error::{OpenError, StoreError};
use crate::migrate::detail;
use crate::repo::seal;
use crate::schema::connectors;

/// Times the table is looked through while others write to it.
const PASSES: usize = 5;

/// What became of the rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reencrypted {
    /// Rows that were rewritten.
    pub rewritten: usize,
    /// Names of the connectors whose rows could not be, each with the reason.
    pub failed: Vec<(String, EnvelopeError)>,
}

/// Rewrites every row that is not under the key that writes.
///
/// # Errors
/// The database cannot be used.
pub async fn reencrypt(config: &StoreConfig) -> Result<Reencrypted, OpenError> {
    let connector = Connector::new(config)?;
    let target = connector.target.to_string();
    let unreachable = |error| OpenError::Unreachable { target: target.clone(), detail: detail(error) };
    let mut conn = connector.open(Purpose::Write).await.map_err(unreachable)?;
    let mut done = Reencrypted::default();
    for _ in 0..PASSES {
        done.failed.clear();
        if !pass(&mut conn, config, &mut done).await.map_err(unreachable)? {
            break;
        }
    }
    Ok(done)
}

/// Whether others changed a row between the look and the write.
async fn pass(conn: &mut Conn, config: &StoreConfig, done: &mut Reencrypted) -> Result<bool, StoreError> {
    let keys = &config.connector_keys;
    let rows = connectors::table.select((connectors::id, connectors::name, connectors::config_json));
    let rows = on!(conn, c => rows.load::<(String, String, String)>(c).await)?;
    let mut overtaken = false;
    for (id, name, kept) in rows.into_iter().filter(|(_, _, kept)| !keys.is_current(kept)) {
        let text = match keys.open(&kept) {
            Ok(text) => text,
            Err(error) => {
                done.failed.push((name, error));
                continue;
            }
        };
        let unchanged =
            connectors::table.filter(connectors::id.eq(&id)).filter(connectors::config_json.eq(&kept));
        let change = diesel::update(unchanged).set(connectors::config_json.eq(seal(&text, keys)?));
        match on!(conn, c => change.execute(c).await)? {
            0 => overtaken = true,
            rows => done.rewritten += rows,
        }
    }
    Ok(overtaken)
}
