//! The record of what changed: for each epoch the definition that made it, and the circuit breakers that were reset.
//!
//! Rows are written under the lock of `config_epoch`, so that their numbers are committed in order: a reader that has
//! seen a number misses no smaller one. Old rows are removed; a reader that finds a gap has to read everything.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use svc_model::AuditResource;

use crate::conn::{Conn, on};
use crate::connections::prepared::Prepared;
use crate::error::StoreError;
use crate::schema::{breaker_resets, config_changes, config_epoch};

/// Rows kept of each record.
const KEPT: i64 = 1000;

/// The channel on which PostgreSQL announces a change to the processes that listen.
pub(crate) const NOTIFICATIONS: &str = "svc_config";

/// The kind of a change of several connectors. A release that does not know it loads everything.
pub(super) const CONNECTORS: &str = "connectors";

/// The kind of a change of pauses, of whatever channels. A release that does not know it loads everything.
pub(super) const PAUSES: &str = "channel_pauses";

/// The kinds of changes of consumers, after the resources of their audit rows. A release that does not know them loads
/// everything.
const CONSUMER: &str = AuditResource::Consumer.name();
const CONSUMER_KEY: &str = AuditResource::ConsumerKey.name();

/// The part of the configuration that a change concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangedEntity {
    /// The workflow of this id.
    Workflow(String),
    /// The channel of this id.
    Channel(String),
    /// The connector of this id.
    Connector(String),
    /// Several connectors.
    Connectors,
    /// The pauses of channels.
    Pauses,
    /// The consumers and their keys.
    Consumers,
    /// Anything.
    All,
}

impl ChangedEntity {
    fn new(kind: &str, id: String) -> Self {
        match kind {
            "workflow" => Self::Workflow(id),
            "channel" => Self::Channel(id),
            "connector" => Self::Connector(id),
            CONNECTORS => Self::Connectors,
            PAUSES => Self::Pauses,
            CONSUMER | CONSUMER_KEY => Self::Consumers,
            _ => Self::All,
        }
    }
}

/// A change of the served configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigChange {
    /// The epoch that it made.
    pub epoch: i64,
    /// The changed part.
    pub entity: ChangedEntity,
    /// The id that its author gave it.
    pub change_id: String,
}

/// A circuit breaker that was reset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BreakerReset {
    /// Its number; the next reset has the next one.
    pub sequence: i64,
    /// Key of the breaker, `{channel}:{connector}`.
    pub key: String,
    /// The id that its author gave it.
    pub change_id: String,
}

/// The numbers of the latest change and the latest reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EpochNumbers {
    /// The configuration epoch.
    pub epoch: i64,
    /// The sequence of the latest reset of a circuit breaker.
    pub breaker_epoch: i64,
}

/// Returns the current numbers.
pub(super) async fn numbers(conn: &mut Conn) -> Result<EpochNumbers, StoreError> {
    let numbers = config_epoch::table.select((config_epoch::epoch, config_epoch::breaker_epoch));
    let (epoch, breaker_epoch) = on!(conn, c => numbers.first::<(i64, i64)>(c).await)?;
    Ok(EpochNumbers { epoch, breaker_epoch })
}

/// Increments the epoch for a change, and records what changed.
pub(super) async fn record_change(
    conn: &mut Conn,
    (kind, entity_id): (&str, &str),
    change_id: &str,
) -> Result<(), StoreError> {
    let next = diesel::update(config_epoch::table).set(config_epoch::epoch.eq(config_epoch::epoch + 1));
    on!(conn, c => Prepared(next).execute(c).await)?;
    let EpochNumbers { epoch, .. } = numbers(conn).await?;
    let row = (
        config_changes::epoch.eq(epoch),
        config_changes::kind.eq(kind),
        config_changes::entity_id.eq(entity_id),
        config_changes::change_id.eq(change_id),
    );
    on!(conn, c => diesel::insert_into(config_changes::table).values(row).execute(c).await)?;
    let old = config_changes::table.filter(config_changes::epoch.le(epoch - KEPT));
    on!(conn, c => diesel::delete(old).execute(c).await)?;
    announce(conn).await
}

/// Records the reset of a circuit breaker.
pub(super) async fn record_reset(conn: &mut Conn, key: &str, change_id: &str) -> Result<(), StoreError> {
    let next =
        (config_epoch::breaker_epoch.eq(config_epoch::breaker_epoch + 1), config_epoch::breaker_key.eq(key));
    on!(conn, c => diesel::update(config_epoch::table).set(next).execute(c).await)?;
    let EpochNumbers { breaker_epoch: sequence, .. } = numbers(conn).await?;
    let row = (
        breaker_resets::sequence.eq(sequence),
        breaker_resets::breaker_key.eq(key),
        breaker_resets::change_id.eq(change_id),
    );
    on!(conn, c => diesel::insert_into(breaker_resets::table).values(row).execute(c).await)?;
    let old = breaker_resets::table.filter(breaker_resets::sequence.le(sequence - KEPT));
    on!(conn, c => diesel::delete(old).execute(c).await)?;
    announce(conn).await
}

/// Announces a change, or an order for another process, once it is committed. A file has no listeners.
pub(super) async fn announce(conn: &mut Conn) -> Result<(), StoreError> {
    if let Conn::Postgres(c) = conn {
        diesel::sql_query(format!("NOTIFY {NOTIFICATIONS}")).execute(&mut **c).await?;
    }
    Ok(())
}

/// Lists the recorded changes after an epoch, in order. A missing epoch was removed, or made by another release.
pub(super) async fn changes_after(conn: &mut Conn, epoch: i64) -> Result<Vec<ConfigChange>, StoreError> {
    let rows: Vec<(i64, String, String, String)> = on!(conn, c => {
        config_changes::table
            .filter(config_changes::epoch.gt(epoch))
            .order(config_changes::epoch.asc())
            .select((
                config_changes::epoch,
                config_changes::kind,
                config_changes::entity_id,
                config_changes::change_id,
            ))
            .load(c)
            .await
    })?;
    let change = |(epoch, kind, id, change_id): (i64, String, String, String)| ConfigChange {
        epoch,
        entity: ChangedEntity::new(&kind, id),
        change_id,
    };
    Ok(rows.into_iter().map(change).collect())
}

/// Lists the recorded resets after a sequence number, in order.
pub(super) async fn resets_after(conn: &mut Conn, sequence: i64) -> Result<Vec<BreakerReset>, StoreError> {
    let rows: Vec<(i64, String, String)> = on!(conn, c => {
        breaker_resets::table
            .filter(breaker_resets::sequence.gt(sequence))
            .order(breaker_resets::sequence.asc())
            .select((breaker_resets::sequence, breaker_resets::breaker_key, breaker_resets::change_id))
            .load(c)
            .await
    })?;
    let reset = |(sequence, key, change_id)| BreakerReset { sequence, key, change_id };
    Ok(rows.into_iter().map(reset).collect())
}
