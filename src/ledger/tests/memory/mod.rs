//! The ledger in memory, with one concurrency key: the contents of the database and the effect of each
//! transaction, by the rules alone. The model checker explores it, and the tests of the store compare the
//! databases with it.

use std::time::Duration;

use chrono::{DateTime, NaiveDateTime};
use svc_ledger::{
    ClaimKey, ClaimOutcome, ConcurrencySlot, HeldSlot, NotRetryable, Occurrence, Settlement, Singleton,
    StartOutcome, StartRequest,
};
use uuid::Uuid;

pub(crate) const LEASE: Duration = Duration::from_secs(60);
pub(crate) const KEY: &str = "k";

/// Returns the fixed instant of the model. The clock does not advance: the expiry of a lease is an explicit
/// event.
pub(crate) fn now() -> NaiveDateTime {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap().naive_utc()
}

fn long_ago() -> NaiveDateTime {
    NaiveDateTime::default()
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Memory {
    pub(crate) rows: Vec<Occurrence>,
    pub(crate) slots: Vec<ConcurrencySlot>,
}

/// The claim as its holder remembers it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RememberedClaim {
    pub(crate) key: ClaimKey,
    pub(crate) raised: bool,
    pub(crate) slot: Option<HeldSlot>,
}

impl Memory {
    pub(crate) fn row(&self, id: Uuid) -> &Occurrence {
        self.rows.iter().find(|row| row.id == id).unwrap()
    }

    fn row_mut(&mut self, id: Uuid) -> &mut Occurrence {
        self.rows.iter_mut().find(|row| row.id == id).unwrap()
    }

    /// Claims the oldest claimable row, if any.
    pub(crate) fn claim(&mut self, holder: &str, max_recoveries: u32) -> Option<RememberedClaim> {
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        order.sort_by_key(|index| self.rows[*index].scheduled_for);
        for index in order {
            let row = &mut self.rows[index];
            match row.claim(holder, LEASE, max_recoveries, now()) {
                ClaimOutcome::Taken { raised, .. } => {
                    return Some(RememberedClaim { key: row.key().unwrap(), raised, slot: None });
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

    /// Starts a run. Returns the slot of the run; in `Err`, whether the key was saturated (true) or the claim
    /// lost (false).
    pub(crate) fn start(&mut self, key: &ClaimKey, slots: u32) -> Result<Option<HeldSlot>, bool> {
        let singleton = Singleton { key: KEY.into(), slots };
        let rows = self.slots.clone();
        let singleton = (slots > 0).then_some((&singleton, rows.as_slice()));
        let row = self.row_mut(key.id);
        match row.start(key, StartRequest { version: 1, singleton, trace_id: None, lease: LEASE, now: now() })
        {
            StartOutcome::Running(taken) => {
                let held = row.slot.clone();
                if let Some(taken) = taken {
                    self.slots.retain(|slot| slot.slot != taken.slot);
                    self.slots.push(taken);
                    self.slots.sort_by_key(|slot| slot.slot);
                }
                Ok(held)
            }
            StartOutcome::Saturated => Err(true),
            StartOutcome::Lost => Err(false),
        }
    }

    pub(crate) fn renew(&mut self, claim: &RememberedClaim) -> bool {
        let Self { rows, slots } = self;
        let row = rows.iter_mut().find(|row| row.id == claim.key.id).unwrap();
        let slot =
            claim.slot.as_ref().map(|held| (held, slots.iter_mut().find(|slot| slot.slot == held.slot)));
        row.renew(&claim.key, slot, LEASE, now())
    }

    pub(crate) fn settle(&mut self, claim: &RememberedClaim, settlement: Settlement) -> bool {
        let settled = self.row_mut(claim.key.id).settle(&claim.key, settlement, now());
        if settled {
            self.free(claim.slot.as_ref(), claim.key.id);
        }
        settled
    }

    pub(crate) fn give_back(&mut self, claim: &RememberedClaim) -> bool {
        let given = self.row_mut(claim.key.id).give_back(&claim.key, claim.raised);
        if given {
            self.free(claim.slot.as_ref(), claim.key.id);
        }
        given
    }

    pub(crate) fn retry(&mut self, id: Uuid) -> Result<(), NotRetryable> {
        self.row_mut(id).retry()
    }

    /// Expires the lease of a row and of its slot: they are written together.
    pub(crate) fn expire(&mut self, id: Uuid) {
        let row = self.row_mut(id);
        if row.claimed_until.is_some() {
            row.claimed_until = Some(long_ago());
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
