//! Places among the runs that share a concurrency key.
//!
//! A slot is a row while somebody holds it and none while nobody does; a row whose lease has ended is free to be taken.

use std::time::Duration;

use chrono::NaiveDateTime;
use uuid::Uuid;

use crate::lease_end;

/// The concurrency limit of a channel that forbids parallel runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Singleton {
    /// The key; channels that name the same one share it.
    pub key: String,
    /// Runs of the key at once, at most.
    pub slots: u32,
}

impl Singleton {
    /// Why an occurrence was skipped: no slot was free.
    pub fn skip_message(&self) -> String {
        let Self { key, slots } = self;
        match slots {
            1 => format!("concurrency key \"{key}\" is held by another run (policy \"forbid\")"),
            _ => format!("all {slots} slots of concurrency key \"{key}\" are held (policy \"forbid\")"),
        }
    }
}

/// The row of a slot, whose key is known from the context.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConcurrencySlot {
    /// Number of the slot, from 0.
    pub slot: i64,
    /// The run that holds it.
    pub occurrence: Uuid,
    /// The worker of that run.
    pub holder: String,
    /// Counts who took the row over; tells a holder from those before.
    pub token: i64,
    /// End of its lease in UTC, unless renewed.
    pub lease_until: NaiveDateTime,
}

/// A slot as its holder remembers it: the fence of every later write to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeldSlot {
    /// The key.
    pub key: String,
    /// Number of the slot.
    pub slot: i64,
    /// The token it was taken with.
    pub token: i64,
}

impl ConcurrencySlot {
    /// Returns true if its lease has not ended.
    pub fn is_live(&self, now: NaiveDateTime) -> bool {
        self.lease_until >= now
    }

    /// Returns true if it is still the slot that was taken.
    pub fn is_held(&self, held: &HeldSlot, occurrence: Uuid) -> bool {
        self.slot == held.slot && self.token == held.token && self.occurrence == occurrence
    }

    /// Holds it for another lease.
    pub(crate) fn renew(&mut self, lease: Duration, now: NaiveDateTime) {
        self.lease_until = lease_end(now, lease);
    }
}

/// Takes a slot for an occurrence: the one that it holds already, else the lowest that is free; `None` when each is
/// held by a live lease. `rows` are those of the key.
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

/// Returns true if a live lease holds each slot of the key.
pub fn is_saturated(rows: &[ConcurrencySlot], slots: u32, now: NaiveDateTime) -> bool {
    (0..i64::from(slots)).all(|slot| rows.iter().any(|row| row.slot == slot && row.is_live(now)))
}
