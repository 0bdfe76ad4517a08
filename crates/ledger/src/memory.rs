//! The ledger in memory: the contents of the database and the effect of each transaction, by the rules alone.
//!
//! It is the reference that other implementations are compared with: the model checker explores it, and the
//! tests of the store compare the databases with it. It has one concurrency key, and its clock does not move:
//! the expiry of a lease is an explicit event.

use std::time::Duration;

use chrono::{DateTime, NaiveDateTime};
use uuid::Uuid;

use crate::occurrence::{
    ClaimKey, ClaimOutcome, NotRetryable, Occurrence, Settlement, StartOutcome, StartRequest,
};
use crate::slot::{ConcurrencySlot, HeldSlot, Singleton};

/// The lease of every claim.
pub const LEASE: Duration = Duration::from_secs(60);

/// The concurrency key.
pub const KEY: &str = "k";

/// Returns the instant that the clock shows.
pub fn now() -> NaiveDateTime {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap_or_default().naive_utc()
}

fn long_ago() -> NaiveDateTime {
    NaiveDateTime::default()
}

/// The rows of the ledger. An operation on a row that does not exist changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MemoryLedger {
    /// The occurrences.
    pub rows: Vec<Occurrence>,
    /// The slots of the concurrency key that were held at least once, by number.
    pub slots: Vec<ConcurrencySlot>,
}

/// A claim as its holder remembers it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RememberedClaim {
    /// The proof of the claim.
    pub key: ClaimKey,
    /// True if the claim raised the number of attempts.
    pub raised: bool,
    /// The slot of the run, once it has started.
    pub slot: Option<HeldSlot>,
}

/// The reason why a run did not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotStarted {
    /// No slot of the key is free.
    Saturated,
    /// The claim does not count any more.
    Lost,
}

impl MemoryLedger {
    /// Returns an occurrence.
    pub fn row(&self, id: Uuid) -> Option<&Occurrence> {
        self.rows.iter().find(|row| row.id == id)
    }

    fn row_mut(&mut self, id: Uuid) -> Option<&mut Occurrence> {
        self.rows.iter_mut().find(|row| row.id == id)
    }

    /// Claims the oldest claimable row, if there is one.
    pub fn claim(&mut self, holder: &str, max_recoveries: u32) -> Option<RememberedClaim> {
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        order.sort_by_key(|index| self.rows[*index].scheduled_for);
        for index in order {
            let row = &mut self.rows[index];
            match row.claim(holder, LEASE, max_recoveries, now()) {
                ClaimOutcome::Taken { raised, .. } => {
                    return row.key().map(|key| RememberedClaim { key, raised, slot: None });
                }
                ClaimOutcome::Exhausted => {
                    let (id, held) = (row.id, row.slot.clone());
                    self.free(held.as_ref(), id);
                    return None;
                }
                ClaimOutcome::Unavailable => {}
            }
        }
        None
    }

    /// Starts the run of a claim; 0 slots allow unlimited concurrent runs. Returns the slot of the run.
    ///
    /// # Errors
    /// [`NotStarted::Saturated`] if no slot is free, [`NotStarted::Lost`] if the claim does not count.
    pub fn start(&mut self, key: &ClaimKey, slots: u32) -> Result<Option<HeldSlot>, NotStarted> {
        let singleton = Singleton { key: KEY.into(), slots };
        let held_slots = self.slots.clone();
        let singleton = (slots > 0).then_some((&singleton, held_slots.as_slice()));
        let row = self.row_mut(key.id).ok_or(NotStarted::Lost)?;
        let request = StartRequest {
            version: 1,
            singleton,
            waits_for_slot: false,
            trace_id: None,
            lease: LEASE,
            now: now(),
        };
        match row.start(key, request) {
            StartOutcome::Running(acquired) => {
                let slot = row.slot.clone();
                if let Some(acquired) = acquired {
                    self.slots.retain(|slot| slot.slot != acquired.slot);
                    self.slots.push(acquired);
                    self.slots.sort_by_key(|slot| slot.slot);
                }
                Ok(slot)
            }
            StartOutcome::Saturated | StartOutcome::Waits => Err(NotStarted::Saturated),
            StartOutcome::Lost => Err(NotStarted::Lost),
        }
    }

    /// Renews the lease of a claim and of its slot. Returns true if the claim counts.
    pub fn renew(&mut self, claim: &RememberedClaim) -> bool {
        let Self { rows, slots } = self;
        let Some(row) = rows.iter_mut().find(|row| row.id == claim.key.id) else { return false };
        let slot =
            claim.slot.as_ref().map(|held| (held, slots.iter_mut().find(|slot| slot.slot == held.slot)));
        row.renew(&claim.key, slot, LEASE, now())
    }

    /// Ends a claim with its result. Returns true if the claim counts.
    pub fn settle(&mut self, claim: &RememberedClaim, settlement: Settlement) -> bool {
        let is_settled =
            self.row_mut(claim.key.id).is_some_and(|row| row.settle(&claim.key, settlement, now()));
        if is_settled {
            self.free(claim.slot.as_ref(), claim.key.id);
        }
        is_settled
    }

    /// Ends a claim without a result, so that the row can be claimed again. Returns true if the claim counts.
    pub fn give_back(&mut self, claim: &RememberedClaim) -> bool {
        let is_given_back =
            self.row_mut(claim.key.id).is_some_and(|row| row.give_back(&claim.key, claim.raised));
        if is_given_back {
            self.free(claim.slot.as_ref(), claim.key.id);
        }
        is_given_back
    }

    /// Makes another attempt possible.
    ///
    /// # Errors
    /// [`NotRetryable`] if the status allows no retry.
    pub fn retry(&mut self, id: Uuid) -> Result<(), NotRetryable> {
        self.row_mut(id).map_or(Ok(()), Occurrence::retry)
    }

    /// Expires the lease of a row and of its slot: they are written together.
    pub fn expire(&mut self, id: Uuid) {
        if let Some(until) = self.row_mut(id).and_then(|row| row.claimed_until.as_mut()) {
            *until = long_ago();
        }
        for slot in self.slots.iter_mut().filter(|slot| slot.occurrence == id) {
            slot.lease_until = long_ago();
        }
    }

    fn free(&mut self, held: Option<&HeldSlot>, occurrence: Uuid) {
        if let Some(held) = held {
            self.slots.retain(|slot| !slot.is_held(held, occurrence));
        }
    }
}
