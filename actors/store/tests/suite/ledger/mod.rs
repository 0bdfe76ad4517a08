//! The cron ledger.

pub(crate) mod admin;
pub(crate) mod cancels;
pub(crate) mod cursors;
pub(crate) mod explanations;
pub(crate) mod groups;
pub(crate) mod model;
pub(crate) mod races;
pub(crate) mod runs;

use std::time::Duration;

use chrono::{NaiveDateTime, SubsecRound, TimeDelta};
use svc_ledger::{AlignRequest, Cursor, Singleton};
use svc_model::Page;
use svc_store::{
    AlignOutcome, AuditEntry, ChannelFacts, Ledger, MaterialiseOutcome, MaterialiseRequest, OccurrenceClaim,
    OccurrenceFilter, OccurrenceRecord, StartResult,
};

use super::database::TestDatabase;

pub(crate) const LEASE: Duration = Duration::from_secs(60);
pub(crate) const MOST: u32 = 5;

pub(crate) fn facts(channel: &str) -> ChannelFacts {
    ChannelFacts {
        channel_id: channel.into(),
        channel_name: format!("{channel} by name"),
        channel_version: 1,
        workflow_id: Some("w".into()),
    }
}

pub(crate) fn align(channel: &str, next: NaiveDateTime) -> AlignRequest {
    AlignRequest {
        channel_id: channel.into(),
        version: 1,
        config_hash: "hash".into(),
        next_fire_at: next,
        forsaken_before: None,
        latest: None,
    }
}

/// Aligns the cursor of an active channel.
pub(crate) async fn align_cursor(db: &TestDatabase, ledger: &Ledger, align: AlignRequest) -> Cursor {
    let patience = if db.is_sqlite() { "PRAGMA busy_timeout = 5000;" } else { "" };
    let AlignRequest { channel_id, version, .. } = &align;
    db.execute(&format!(
        "{patience} INSERT INTO definitions (kind, id, version, name, type, protocol, status, content)
         VALUES ('channel', '{channel_id}', {version}, '{channel_id}', 'async', 'cron', 'active', '{{}}')
         ON CONFLICT DO NOTHING"
    ))
    .await
    .unwrap();
    match ledger.align(align).await.unwrap() {
        AlignOutcome::At(cursor) => cursor,
        AlignOutcome::NotActive => panic!("the channel is active"),
    }
}

pub(crate) fn seconds(seconds: i64) -> TimeDelta {
    TimeDelta::seconds(seconds)
}

pub(crate) fn singleton(key: &str) -> Singleton {
    Singleton { key: key.into(), slots: 1 }
}

pub(crate) fn audit(action: &str) -> AuditEntry {
    super::mutation("cron_occurrence", action).audit
}

/// Returns the instant this many seconds ago by the database clock, in whole seconds.
pub(crate) async fn ago(ledger: &Ledger, before: i64) -> NaiveDateTime {
    ledger.now().await.unwrap().trunc_subsecs(0) - seconds(before)
}

/// Returns a request for this many instants, one second apart.
pub(crate) fn order(channel: &str, from: NaiveDateTime, count: i64) -> MaterialiseRequest {
    MaterialiseRequest {
        channel: facts(channel),
        from,
        next: from + seconds(count),
        fire: (0..count).map(|n| from + seconds(n)).collect(),
        missed: None,
        singleton: None,
    }
}

/// Records this many instants, all of them due, and returns the first.
pub(crate) async fn write_occurrences(
    db: &TestDatabase,
    ledger: &Ledger,
    channel: &str,
    count: i64,
) -> NaiveDateTime {
    let from = ago(ledger, 1000).await;
    align_cursor(db, ledger, align(channel, from)).await;
    let written = ledger.materialise(order(channel, from, count)).await.unwrap();
    assert_eq!(
        written,
        MaterialiseOutcome::Written { inserted: usize::try_from(count).unwrap(), skipped: 0 }
    );
    from
}

/// Claims the row that is due longest.
pub(crate) async fn claim_single(ledger: &Ledger, holder: &str) -> OccurrenceClaim {
    let mut claims = ledger.claim(holder, LEASE, 1, MOST, Vec::new()).await.unwrap();
    assert_eq!((claims.claimed.len(), claims.exhausted.len()), (1, 0));
    claims.claimed.remove(0)
}

pub(crate) async fn start(
    ledger: &Ledger,
    claim: &OccurrenceClaim,
    singleton: Option<&Singleton>,
) -> StartResult {
    ledger.start(&claim.key, 1, singleton, LEASE, None).await.unwrap()
}

pub(crate) async fn read(ledger: &Ledger, claim: &OccurrenceClaim) -> OccurrenceRecord {
    ledger.get(&claim.key.id.to_string()).await.unwrap().expect("the row is there")
}

pub(crate) async fn statuses(ledger: &Ledger) -> Vec<String> {
    let all = Page { limit: 1000, offset: 0 };
    let mut rows = ledger.list(OccurrenceFilter::default(), all, None).await.unwrap().rows;
    rows.sort_by_key(|row| (row.channel_id.clone(), row.scheduled_for));
    rows.into_iter().map(|row| row.status).collect()
}

/// Expires the lease of a row and of its slot, as if it had not been renewed for a long time.
pub(crate) async fn expire(db: &TestDatabase, id: &str) {
    let long_ago = "'2000-01-01 00:00:00'";
    let patience = if db.is_sqlite() { "PRAGMA busy_timeout = 5000;" } else { "" };
    db.execute(&format!(
        "{patience} UPDATE cron_occurrences SET claimed_until = {long_ago} WHERE id = '{id}' AND claimed_until IS NOT NULL;
         UPDATE cron_singletons SET lease_until = {long_ago} WHERE occurrence_id = '{id}'"
    ))
    .await
    .unwrap();
}
