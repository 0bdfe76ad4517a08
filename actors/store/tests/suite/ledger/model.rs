//! Random operations of three workers: the database must hold the same state as the rules in memory.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use svc_ledger::memory::{KEY, MemoryLedger, NotStarted, RememberedClaim, now};
use svc_ledger::{Settlement, Singleton};
use svc_model::Page;
use svc_store::{Ledger, OccurrenceClaim, OccurrenceFilter, RerunVersion, StartResult};
use uuid::Uuid;

use super::{LEASE, TestDatabase, audit, expire, write_occurrences};

const ROWS: i64 = 4;
const ROUNDS: usize = 12;
const MAX_RECOVERIES: u32 = 2;

#[derive(Clone, Copy, Debug)]
enum Act {
    Claim(usize),
    /// The number of slots; 0 allows unlimited concurrent runs.
    Start(usize, u32),
    Renew(usize),
    Settle(usize, bool),
    GiveBack(usize),
    Expire(usize),
    Retry(usize),
}

/// Indexes of the claims made so far: mostly the latest one.
fn acts() -> impl Strategy<Value = Vec<Act>> {
    let (claim, row) = (0_usize..4, 0_usize..ROWS as usize);
    let act = prop_oneof![
        4 => (0_usize..3).prop_map(Act::Claim),
        4 => (claim.clone(), prop_oneof![Just(0_u32), Just(1), Just(1), Just(2)]).prop_map(|(c, s)| Act::Start(c, s)),
        1 => claim.clone().prop_map(Act::Renew),
        2 => (claim.clone(), any::<bool>()).prop_map(|(c, ok)| Act::Settle(c, ok)),
        1 => claim.prop_map(Act::GiveBack),
        3 => row.clone().prop_map(Act::Expire),
        1 => row.prop_map(Act::Retry),
    ];
    proptest::collection::vec(act, 10..60)
}

/// The comparable part of a row: instants are compared only by whether they have passed.
type Row =
    (Uuid, String, i64, Option<String>, Option<bool>, Option<(String, i64, i64)>, Option<String>, bool);

fn memory_rows(memory: &MemoryLedger) -> Vec<Row> {
    let row = |row: &svc_ledger::Occurrence| {
        let slot = row.slot.as_ref().map(|slot| (slot.key.clone(), slot.slot, slot.token));
        let live = row.claimed_until.map(|until| until >= now());
        let (status, ended) = (row.status.name().to_owned(), row.completed_at.is_some());
        (row.id, status, row.attempt, row.claimed_by.clone(), live, slot, row.error_message.clone(), ended)
    };
    memory.rows.iter().map(row).collect()
}

async fn stored_rows(ledger: &Ledger, memory: &MemoryLedger) -> Vec<Row> {
    let now = ledger.now().await.unwrap();
    let mut rows = Vec::new();
    for row in &memory.rows {
        let stored = ledger.get(&row.id.to_string()).await.unwrap().unwrap();
        let slot = match (stored.singleton_key, stored.singleton_slot, stored.fencing_token) {
            (Some(key), Some(slot), Some(token)) => Some((key, slot, token)),
            _ => None,
        };
        let live = stored.claimed_until.map(|until| until.naive() >= now);
        let is_terminal = stored.row.completed_at.is_some();
        let Some(row) = Some(stored.row) else { continue };
        let id = row.id.parse().unwrap();
        rows.push((
            id,
            row.status,
            row.attempt,
            stored.claimed_by,
            live,
            slot,
            stored.error_message,
            is_terminal,
        ));
    }
    rows
}

/// A claim as both sides remember it.
struct Held {
    stored: OccurrenceClaim,
    memory: RememberedClaim,
}

async fn act(
    db: &TestDatabase,
    ledger: &Ledger,
    memory: &mut MemoryLedger,
    claims: &mut Vec<Held>,
    act: Act,
) {
    let latest = |number: usize| claims.len().checked_sub(number + 1);
    match act {
        Act::Claim(worker) => {
            let holder = format!("w{worker}");
            let mut taken = ledger.claim(&holder, LEASE, 1, MAX_RECOVERIES, Vec::new()).await.unwrap();
            for given_up in &taken.exhausted {
                assert!(ledger.exhaust(given_up.id, MAX_RECOVERIES, None).await.unwrap(), "{given_up:?}");
            }
            let remembered = memory.claim(&holder, MAX_RECOVERIES);
            match (taken.claimed.pop(), remembered) {
                (Some(stored), Some(memory)) => {
                    assert_eq!((&stored.key, stored.raised), (&memory.key, memory.raised));
                    claims.push(Held { stored, memory });
                }
                (None, None) => {}
                (stored, memory) => panic!("{stored:?} is not {memory:?}"),
            }
        }
        Act::Start(number, slots) => {
            let Some(held) = latest(number).map(|index| &mut claims[index]) else { return };
            let singleton = (slots > 0).then(|| Singleton { key: KEY.into(), slots });
            let stored = ledger.start(&held.stored.key, 1, singleton.as_ref(), LEASE, None).await.unwrap();
            let remembered = memory.start(&held.memory.key, slots);
            match (stored, remembered) {
                (StartResult::Running { slot, .. }, Ok(remembered)) => {
                    assert_eq!(slot, remembered);
                    held.memory.slot = slot;
                }
                (StartResult::Saturated, Err(NotStarted::Saturated))
                | (StartResult::Lost, Err(NotStarted::Lost)) => {}
                (stored, remembered) => panic!("{stored:?} is not {remembered:?}"),
            }
        }
        Act::Renew(number) => {
            let Some(held) = latest(number).map(|index| &claims[index]) else { return };
            let stored = ledger.renew(&held.stored.key, held.memory.slot.as_ref(), LEASE).await.unwrap();
            assert_eq!(stored, memory.renew(&held.memory));
        }
        Act::Settle(number, well) => {
            let Some(held) = latest(number).map(|index| &claims[index]) else { return };
            let how = if well { Settlement::completed() } else { Settlement::failed("no") };
            let slot = held.memory.slot.as_ref();
            let stored = ledger.settle(&held.stored.key, slot, how.clone(), None, None).await.unwrap();
            assert_eq!(stored, memory.settle(&held.memory, how));
        }
        Act::GiveBack(number) => {
            let Some(held) = latest(number).map(|index| &claims[index]) else { return };
            let stored = ledger.give_back(&held.stored, held.memory.slot.as_ref()).await.unwrap();
            assert_eq!(stored, memory.give_back(&held.memory));
        }
        Act::Expire(row) => {
            let id = memory.rows[row].id;
            memory.expire(id);
            expire(db, &id.to_string()).await;
        }
        Act::Retry(row) => {
            let id = memory.rows[row].id;
            let stored = ledger.retry(&id.to_string(), RerunVersion::Current, audit("retry")).await;
            assert_eq!(stored.is_ok(), memory.retry(id).is_ok());
        }
    }
}

pub(crate) async fn the_database_holds_what_the_rules_alone_leave(db: TestDatabase) {
    let ledger = db.store().await.ledger();
    let mut runner = TestRunner::deterministic();
    for round in 0..ROUNDS {
        db.execute(
            "DELETE FROM cron_occurrences; DELETE FROM cron_singletons; DELETE FROM cron_schedule_state",
        )
        .await
        .unwrap();
        write_occurrences(&db, &ledger, "c", ROWS).await;
        let mut rows = ledger.list(OccurrenceFilter::default(), Page::default(), None).await.unwrap().rows;
        rows.sort_by_key(|row| row.scheduled_for);
        let mut memory = MemoryLedger::default();
        for row in &rows {
            let due = now() - chrono::TimeDelta::seconds(1000)
                + (row.scheduled_for.naive() - rows[0].scheduled_for.naive());
            memory.rows.push(svc_ledger::Occurrence::pending(row.id.parse().unwrap(), due));
        }
        let acts = acts().new_tree(&mut runner).unwrap().current();
        let mut claims = Vec::new();
        for (step, next) in acts.iter().enumerate() {
            act(&db, &ledger, &mut memory, &mut claims, *next).await;
            let (stored, remembered) = (stored_rows(&ledger, &memory).await, memory_rows(&memory));
            assert_eq!(stored, remembered, "round {round}, after {:?}", &acts[..=step]);
            let live = memory.slots.iter().filter(|slot| slot.is_live(now())).count();
            let held =
                ledger.slots_held(vec![KEY.into()]).await.unwrap().get(KEY).copied().unwrap_or_default();
            assert_eq!(held, live as i64, "round {round}, after {:?}", &acts[..=step]);
        }
    }
}
