//! Unit tests of [`super`].

use super::*;
use crate::slot::is_saturated;

const LEASE: Duration = Duration::from_secs(60);

fn time_at(second: i64) -> NaiveDateTime {
    chrono::DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap().naive_utc()
}

fn due() -> Occurrence {
    Occurrence::pending(Uuid::from_u128(1), time_at(0))
}

/// Claims the row for a holder at this second.
fn claim(row: &mut Occurrence, holder: &str, second: i64) -> ClaimKey {
    let claim = row.claim(holder, LEASE, 5, time_at(second));
    assert!(matches!(claim, ClaimOutcome::Taken { .. }), "{claim:?}");
    row.key().unwrap()
}

fn plain(second: i64) -> StartRequest<'static> {
    StartRequest {
        version: 3,
        singleton: None,
        waits_for_slot: false,
        trace_id: None,
        lease: LEASE,
        now: time_at(second),
    }
}

fn singleton() -> Singleton {
    Singleton { key: "k".into(), slots: 1 }
}

fn failure() -> Settlement {
    Settlement::failed("no luck")
}

#[test]
fn due_row_is_claimed_started_renewed_and_settled() {
    let mut row = due();
    assert_eq!(row.claim("a", LEASE, 5, time_at(-1)), ClaimOutcome::Unavailable, "not yet due");
    assert_eq!(row.claim("a", LEASE, 5, time_at(0)), ClaimOutcome::Taken { raised: true, recovered: false });
    assert_eq!((row.attempt, row.claimed_until), (1, Some(time_at(60))));
    let key = row.key().unwrap();
    assert_eq!(
        row.claim("b", LEASE, 5, time_at(60)),
        ClaimOutcome::Unavailable,
        "its lease holds to the last instant"
    );
    assert_eq!(row.start(&key, plain(10)), StartOutcome::Running(None));
    assert_eq!(
        (row.status, row.executing_version, row.started_at),
        (OccurrenceStatus::Running, Some(3), Some(time_at(10)))
    );
    assert_eq!(row.claimed_until, Some(time_at(70)));
    assert!(row.renew(&key, None, LEASE, time_at(50)));
    assert_eq!(row.claimed_until, Some(time_at(110)));
    assert!(row.settle(&key, Settlement::completed(), time_at(90)));
    assert_eq!(
        (row.status, row.completed_at, row.claimed_until),
        (OccurrenceStatus::Completed, Some(time_at(90)), None)
    );
    assert_eq!(row.claimed_by.as_deref(), Some("a"), "who ran it stays on record");
    assert_eq!(row.claim("b", LEASE, 5, time_at(900)), ClaimOutcome::Unavailable);
}

#[test]
fn late_claim_changes_nothing_after_takeover() {
    let mut row = due();
    let late = claim(&mut row, "a", 0);
    row.start(&late, plain(0));
    assert_eq!(row.claim("b", LEASE, 5, time_at(61)), ClaimOutcome::Taken { raised: true, recovered: true });
    assert_eq!((row.status, row.attempt, row.recoveries), (OccurrenceStatus::Claimed, 2, 1));
    let before = row.clone();
    assert!(!row.renew(&late, None, LEASE, time_at(62)));
    assert!(!row.settle(&late, Settlement::completed(), time_at(62)));
    assert!(!row.settle(&late, failure(), time_at(62)));
    assert!(!row.give_back(&late, true));
    assert_eq!(row.start(&late, plain(62)), StartOutcome::Lost);
    assert_eq!(row, before);
}

#[test]
fn row_fails_after_allowed_recoveries() {
    let mut row = due();
    let mut now = 0;
    for recoveries in 0..=2 {
        assert_eq!(
            row.claim("a", LEASE, 2, time_at(now)),
            ClaimOutcome::Taken { raised: true, recovered: recoveries > 0 }
        );
        let key = row.key().unwrap();
        assert_eq!(row.start(&key, plain(now)), StartOutcome::Running(None));
        now += 61;
    }
    assert_eq!(row.claim("a", LEASE, 2, time_at(now)), ClaimOutcome::Exhausted);
    assert_eq!(
        (row.status, row.attempt, row.completed_at),
        (OccurrenceStatus::Failed, 3, Some(time_at(now)))
    );
    assert!(row.error_message.as_ref().unwrap().starts_with("attempts_exhausted: "), "{row:?}");
    row.retry().unwrap();
    assert_eq!((row.attempt, row.recoveries), (4, 0));
    assert_eq!(
        row.claim("a", LEASE, 2, time_at(now)),
        ClaimOutcome::Taken { raised: false, recovered: false }
    );
}

#[test]
fn returned_claim_counts_no_attempt() {
    let mut row = due();
    let first = claim(&mut row, "a", 0);
    assert!(row.give_back(&first, true));
    assert_eq!((row.status, row.attempt, row.claimed_until), (OccurrenceStatus::Pending, 0, None));
    let second = claim(&mut row, "a", 1);
    assert_eq!((first.attempt, second.attempt), (1, 1));
    let before = row.clone();
    assert!(!row.give_back(&first, true), "an answer that was lost is asked for again");
    assert!(!row.settle(&first, failure(), time_at(2)));
    assert_eq!(row, before);
    row.start(&second, StartRequest { trace_id: Some(Uuid::from_u128(9)), ..plain(2) });
    assert!(row.give_back(&second, true), "refused by a guard");
    assert_eq!((row.attempt, row.started_at, row.trace_id, row.executing_version), (0, None, None, None));
}

#[test]
fn retry_counts_at_once_its_claim_does_not() {
    let mut row = due();
    let key = claim(&mut row, "a", 0);
    row.settle(&key, failure(), time_at(1));
    row.retry().unwrap();
    assert_eq!(
        (row.status, row.attempt, &row.error_message, row.completed_at),
        (OccurrenceStatus::Pending, 2, &None, None)
    );
    for _ in 0..3 {
        assert_eq!(
            row.claim("b", LEASE, 5, time_at(2)),
            ClaimOutcome::Taken { raised: false, recovered: false }
        );
        assert_eq!(row.attempt, 2);
        let key = row.key().unwrap();
        assert!(row.give_back(&key, false));
    }
    assert_eq!(row.attempt, 2);
    claim(&mut row, "b", 3);
    assert_eq!(row.claim("c", LEASE, 5, time_at(64)), ClaimOutcome::Taken { raised: true, recovered: true });
    assert_eq!(row.attempt, 3);
}

#[test]
fn returned_claim_keeps_the_recovery_count() {
    let mut row = due();
    claim(&mut row, "a", 0);
    let taken_over = claim(&mut row, "b", 61);
    assert!(row.give_back(&taken_over, true));
    assert_eq!((row.attempt, row.recoveries), (1, 1), "the attempt did not happen, the lost one did");
}

#[test]
fn only_what_failed_or_was_skipped_is_retried() {
    for status in OccurrenceStatus::ALL {
        let mut row = Occurrence { status, ..due() };
        assert_eq!(row.retry().is_ok(), status.is_retryable(), "{status}");
    }
}

#[test]
fn unheld_row_is_cancelled_held_one_by_holder() {
    let mut row = due();
    assert_eq!(row.cancel(time_at(5)), Ok(true));
    assert_eq!((row.status, row.completed_at), (OccurrenceStatus::Cancelled, Some(time_at(5))));
    assert_eq!(row.cancel(time_at(6)), Err(NotCancellable(OccurrenceStatus::Cancelled)));
    assert!(row.retry().is_ok());
    let key = claim(&mut row, "a", 10);
    assert_eq!(row.cancel(time_at(11)), Ok(false), "its holder ends it");
    assert!(row.settle(&key, Settlement::cancelled(), time_at(12)));
    assert_eq!((row.status, row.claimed_by, row.claims), (OccurrenceStatus::Cancelled, None, 1));
    let mut row = due();
    let key = claim(&mut row, "a", 0);
    assert_eq!(row.cancel(time_at(100)), Ok(true), "its lease is over");
    assert!(!row.is_held(&key));
}

#[test]
fn claim_beyond_key_slots_is_skipped() {
    let (mut first, mut second) = (due(), Occurrence::pending(Uuid::from_u128(2), time_at(0)));
    let (a, b) = (claim(&mut first, "a", 0), claim(&mut second, "b", 0));
    let one = singleton();
    let start = |slots| StartRequest { singleton: Some((&one, slots)), ..plain(1) };
    let StartOutcome::Running(Some(slot)) = first.start(&a, start(&[])) else { panic!("a slot is free") };
    assert_eq!((slot.slot, slot.token, slot.lease_until), (0, 1, time_at(61)));
    assert_eq!(first.slot, Some(HeldSlot { key: "k".into(), slot: 0, token: 1 }));
    assert_eq!(second.start(&b, start(&[slot])), StartOutcome::Saturated);
    assert_eq!((second.status, second.claimed_until), (OccurrenceStatus::SkippedSingleton, None));
    let why = second.error_message.unwrap();
    assert!(why.contains("\"k\"") && why.contains("forbid"), "{why}");
}

#[test]
fn claim_that_waits_for_slot_stays_pending() {
    let (mut first, mut second) = (due(), Occurrence::pending(Uuid::from_u128(2), time_at(0)));
    let (a, b) = (claim(&mut first, "a", 0), claim(&mut second, "b", 0));
    let one = singleton();
    let start = |slots| StartRequest { singleton: Some((&one, slots)), waits_for_slot: true, ..plain(1) };
    let StartOutcome::Running(Some(slot)) = first.start(&a, start(&[])) else { panic!("a slot is free") };
    assert_eq!(second.start(&b, start(&[slot])), StartOutcome::Waits);
    assert_eq!(
        (second.status, second.attempt, second.claimed_by.as_deref()),
        (OccurrenceStatus::Pending, 1, None)
    );
    assert_eq!(second.claim("b", LEASE, 5, time_at(2)), ClaimOutcome::Unavailable, "not again at once");
    let again = second.claim("b", LEASE, 5, time_at(3));
    assert_eq!(again, ClaimOutcome::Taken { raised: false, recovered: false });
    assert_eq!((second.attempt, second.claims), (1, 2));
}

#[test]
fn lowest_or_own_slot_is_taken() {
    let slot = |slot, occurrence, until| ConcurrencySlot {
        slot,
        occurrence: Uuid::from_u128(occurrence),
        holder: "x".into(),
        token: 7,
        lease_until: time_at(until),
    };
    let taken = |rows: &[ConcurrencySlot], slots| {
        acquire_slot(rows, slots, Uuid::from_u128(1), "me", LEASE, time_at(10))
            .map(|slot| (slot.slot, slot.token))
    };
    assert_eq!(taken(&[], 2), Some((0, 1)));
    assert_eq!(taken(&[slot(0, 2, 10)], 2), Some((1, 1)), "a lease holds to its last instant");
    assert_eq!(taken(&[slot(0, 2, 9)], 2), Some((0, 8)), "one that ended is taken over");
    assert_eq!(taken(&[slot(0, 2, 50), slot(1, 3, 50)], 2), None);
    assert_eq!(taken(&[slot(0, 2, 9), slot(1, 1, 50)], 2), Some((1, 8)), "its own comes first");
    assert_eq!(taken(&[slot(1, 1, 50)], 1), Some((0, 1)), "beyond the slots nothing is taken");
    assert!(
        is_saturated(&[slot(0, 2, 10)], 1, time_at(10)) && !is_saturated(&[slot(0, 2, 10)], 2, time_at(10))
    );
}

#[test]
fn a_run_that_lost_its_slot_is_not_renewed() {
    let mut row = due();
    let key = claim(&mut row, "a", 0);
    let one = singleton();
    let start = StartRequest { singleton: Some((&one, &[])), ..plain(0) };
    let StartOutcome::Running(Some(mut slot)) = row.start(&key, start) else { panic!("a slot is free") };
    let held = row.slot.clone().unwrap();
    assert!(row.renew(&key, Some((&held, Some(&mut slot))), LEASE, time_at(30)));
    assert_eq!((slot.lease_until, row.claimed_until), (time_at(90), Some(time_at(90))));
    let mut others = ConcurrencySlot { occurrence: Uuid::from_u128(2), token: 2, ..slot };
    let before = (row.clone(), others.clone());
    assert!(!row.renew(&key, Some((&held, Some(&mut others))), LEASE, time_at(40)));
    assert!(!row.renew(&key, Some((&held, None)), LEASE, time_at(40)));
    assert_eq!((row, others), before);
}
