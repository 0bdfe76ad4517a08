//! Slots of the runs that share a concurrency key.
//!
//! A slot has a row only while it is held. A row whose lease has expired is free.

use std::time::Duration;

use chrono::NaiveDateTime;
use uuid::Uuid;

use crate::lease_end;

/// The limit of a channel on its concurrent runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Singleton {
    /// The concurrency key. Channels with the same key share its slots.
    pub key: String,
    /// Maximum number of concurrent runs of the key.
    pub slots: u32,
}

impl Singleton {
    /// Returns the message of an occurrence that was skipped because no slot was free.
    pub fn skip_message(&self) -> String {
        let Self { key, slots } = self;
        match slots {
            1 => format!("concurrency key \"{key}\" is held by another run (policy \"forbid\")"),
            _ => format!("all {slots} slots of concurrency key \"{key}\" are held (policy \"forbid\")"),
        }
    }
}

/// The row of a slot. Its key is known from the context.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConcurrencySlot {
    /// Number of the slot, from 0.
    pub slot: i64,
    /// Id of the occurrence that holds it.
    pub occurrence: Uuid,
    /// Name of the worker of that run.
    pub holder: String,
    /// Number of takeovers of the row. Distinguishes a holder from earlier ones.
    pub token: i64,
    /// End of the lease, in UTC. The slot is free afterwards.
    pub lease_until: NaiveDateTime,
}

/// A slot as its holder remembers it. It is the fencing token of every later write to the slot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeldSlot {
    /// The concurrency key.
    pub key: String,
    /// Number of the slot.
    pub slot: i64,
    /// The token with which the slot was taken.
    pub token: i64,
}

impl ConcurrencySlot {
    /// Returns whether the lease is still valid.
    pub fn is_live(&self, now: NaiveDateTime) -> bool {
        self.lease_until >= now
    }

    /// Returns whether the slot still belongs to the run that took it.
    pub fn is_held(&self, held: &HeldSlot, occurrence: Uuid) -> bool {
        self.slot == held.slot && self.token == held.token && self.occurrence == occurrence
    }

    /// Renews the lease: it ends `lease` after `now`.
    pub(crate) fn renew(&mut self, lease: Duration, now: NaiveDateTime) {
        self.lease_until = lease_end(now, lease);
    }
}

/// Acquires a slot for an occurrence: the slot that it already holds, else the lowest free one; `None` if
/// every slot has a live lease. `rows` are the rows of the key.
pub fn acquire_slot(
    rows: &[ConcurrencySlot],
    slots: u32,
    occurrence: Uuid,
    holder: &str,
    lease: Duration,
    now: NaiveDateTime,
) -> Option<ConcurrencySlot> {
    let row = |slot: i64| rows.iter().find(|row| row.slot == slot);
    let own = (0..i64::from(slots)).find(|slot| row(*slot).is_some_and(|row| row.occurrence == occurrence));
    let free = || (0..i64::from(slots)).find(|slot| row(*slot).is_none_or(|row| !row.is_live(now)));
    let slot = own.or_else(free)?;
    let token = row(slot).map_or(1, |row| row.token + 1);
    Some(ConcurrencySlot {
        slot,
        occurrence,
        holder: holder.to_owned(),
        token,
        lease_until: lease_end(now, lease),
    })
}

/// Returns whether every slot of the key has a live lease.
pub fn is_saturated(rows: &[ConcurrencySlot], slots: u32, now: NaiveDateTime) -> bool {
    (0..i64::from(slots)).all(|slot| rows.iter().any(|row| row.slot == slot && row.is_live(now)))
}
