//! The facts by which an instant of a schedule is explained.

use chrono::NaiveDateTime;
use svc_ledger::{InstantFacts, InstantReason, Misfire, Missed, Settlement};
use svc_store::{InstantRequest, Ledger, MaterialiseOutcome, MaterialiseRequest, NewPause, StartResult};

use super::super::{any_mutation, channel, mutation};
use super::{
    LEASE, MOST, TestDatabase, ago, align, align_cursor, claim_single, order, seconds, singleton, start,
    write_occurrences,
};

async fn ask(ledger: &Ledger, channel: &str, at: Option<NaiveDateTime>) -> InstantFacts {
    let request = InstantRequest {
        channel_id: channel.into(),
        channel_name: channel.into(),
        at,
        singleton_key: Some("k".into()),
    };
    ledger.instant_facts(request).await.unwrap()
}

/// Explains an instant that the schedule names.
fn reason(facts: &InstantFacts) -> InstantReason {
    InstantFacts { is_due: Some(true), ..facts.clone() }.explain().reason
}

pub(crate) async fn instant_has_its_row_and_neighbours(db: TestDatabase) {
    let ledger = db.store().await.ledger();
    let first = write_occurrences(&db, &ledger, "c", 3).await;
    let facts = ask(&ledger, "c", Some(first + seconds(1))).await;
    let row = facts.exact.as_ref().unwrap();
    assert_eq!((row.scheduled_for, row.status.as_str()), (first + seconds(1), "pending"));
    assert_eq!((&facts.following, facts.waiting_before), (&facts.exact, 1));
    assert_eq!(facts.previous.as_ref().unwrap().scheduled_for, first);
    assert_eq!(facts.cursor.as_ref().unwrap().next_fire_at, first + seconds(3));
    assert_eq!(facts.active.unwrap().version, 1);
    assert!(facts.holders.is_empty() && facts.pause.is_none());
    assert_eq!(reason(&facts), InstantReason::Recorded);

    let open = ask(&ledger, "c", Some(first + seconds(9))).await;
    assert_eq!((&open.exact, &open.following), (&None, &None));
    assert_eq!(open.previous.as_ref().unwrap().scheduled_for, first + seconds(2));
    assert_eq!(reason(&open), InstantReason::Unplanned);
    let before = ask(&ledger, "c", Some(first - seconds(9))).await;
    assert_eq!(reason(&before), InstantReason::NotRecorded);

    let unknown = ask(&ledger, "nobody", None).await;
    assert_eq!((unknown.at, unknown.active, &unknown.cursor), (unknown.now, None, &None));
    assert_eq!(reason(&unknown), InstantReason::Archived);
}

pub(crate) async fn missed_instant_has_the_row_of_its_range(db: TestDatabase) {
    let ledger = db.store().await.ledger();
    let from = ago(&ledger, 1000).await;
    align_cursor(&db, &ledger, align("c", from)).await;
    let (oldest, newest) = (from.and_utc(), (from + seconds(2)).and_utc());
    let missed = Missed { count: 3, oldest, newest, policy: Misfire::Skip };
    let request = MaterialiseRequest { fire: Vec::new(), missed: Some(missed), ..order("c", from, 3) };
    let written = ledger.materialise(request).await.unwrap();
    assert_eq!(written, MaterialiseOutcome::Written { inserted: 0, skipped: 0 });
    let mut facts = ask(&ledger, "c", Some(from + seconds(1))).await;
    facts.is_due = Some(true);
    assert_eq!(facts.recorded().unwrap().scheduled_for, from + seconds(2));
    assert!(facts.explain().sentence.contains("skipped 3 missed"), "{facts:?}");
    facts.is_due = Some(false);
    assert_eq!(facts.explain().reason, InstantReason::NotDue);
}

pub(crate) async fn skipped_instant_names_holder_of_slot(db: TestDatabase) {
    let ledger = db.store().await.ledger();
    write_occurrences(&db, &ledger, "a", 1).await;
    let claim = claim_single(&ledger, "node").await;
    let running = start(&ledger, &claim, Some(&singleton("k"))).await;
    let StartResult::Running { slot, .. } = running else { panic!("{running:?}") };
    let from = ago(&ledger, 500).await;
    align_cursor(&db, &ledger, align("c", from)).await;
    let request = MaterialiseRequest { singleton: Some(singleton("k")), ..order("c", from, 1) };
    let written = ledger.materialise(request).await.unwrap();
    assert_eq!(written, MaterialiseOutcome::Written { inserted: 0, skipped: 1 });
    let holders = async || {
        let facts = ask(&ledger, "c", Some(from)).await;
        assert_eq!(facts.exact.as_ref().unwrap().status, "skipped_singleton");
        facts.holders
    };
    let held = holders().await;
    assert_eq!(held.len(), 1, "{held:?}");
    assert_eq!((&held[0].occurrence, held[0].channel.as_str()), (&claim.key.id.to_string(), "a by name"));
    assert_eq!((held[0].node.as_deref(), held[0].until), (Some("node"), None));
    assert!(ledger.settle(&claim.key, slot.as_ref(), Settlement::completed(), None, None).await.unwrap());
    let held = holders().await;
    assert_eq!(held.len(), 1, "{held:?}");
    assert!(held[0].until.is_some(), "the run has ended since");
    assert!(ask(&ledger, "c", None).await.holders.is_empty(), "no run holds it now");
}

pub(crate) async fn pause_of_channel_explains_open_instants(db: TestDatabase) {
    let store = db.store().await;
    let ledger = store.ledger();
    let first = write_occurrences(&db, &ledger, "c", 1).await;
    let pause = NewPause { until: None, by: "ops".into(), reason: "down".into() };
    store.channel_pauses().pause(&["c".to_owned()], pause, mutation("channel", "pause")).await.unwrap();
    let facts = ask(&ledger, "c", None).await;
    assert_eq!(facts.pause.as_ref().unwrap().reason, "down");
    assert_eq!(reason(&facts), InstantReason::Paused);
    assert_eq!(reason(&ask(&ledger, "c", Some(first)).await), InstantReason::Recorded);
}

pub(crate) async fn occurrence_rests_until_called_channel_resumes(db: TestDatabase) {
    let store = db.store().await;
    let (ledger, pauses) = (store.ledger(), store.channel_pauses());
    store.channels().create(Some("bank".into()), channel("bank", None), any_mutation()).await.unwrap();
    let first = write_occurrences(&db, &ledger, "c", 1).await;
    let pause = NewPause { until: None, by: "ops".into(), reason: "down".into() };
    pauses.pause(&["bank".to_owned()], pause, mutation("channel", "pause")).await.unwrap();
    let claim = claim_single(&ledger, "a").await;
    let StartResult::Running { slot, .. } = start(&ledger, &claim, Some(&singleton("k"))).await else {
        panic!("it starts")
    };
    assert!(ledger.give_back_until_resume(&claim, slot.as_ref(), "bank").await.unwrap());
    assert!(ledger.claim("b", LEASE, 10, MOST, Vec::new()).await.unwrap().claimed.is_empty());
    assert!(ledger.slots_held(vec!["k".into()]).await.unwrap().is_empty(), "others may run meanwhile");
    let waits = ask(&ledger, "c", Some(first)).await.explain().sentence;
    assert!(waits.contains("channel 'bank', which it calls, is paused"), "{waits}");
    pauses.resume(&["bank".to_owned()], mutation("channel", "resume")).await.unwrap();
    let again = claim_single(&ledger, "b").await;
    assert_eq!(again.key.attempt, 1, "no attempt is spent");
    assert!(ledger.give_back_until_resume(&again, None, "bank").await.unwrap());
    assert_eq!(claim_single(&ledger, "b").await.key.id, claim.key.id, "the channel is paused no more");
}
