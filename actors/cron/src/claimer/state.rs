//! The inputs of an attempt: pure, no clock, no I/O.

use chrono::{NaiveDateTime, SecondsFormat};
use serde_json::{Map, Value};
use svc_ledger::{HeldSlot, Trigger};
use svc_model::{WorkflowVersion, rollout};
use svc_store::OccurrenceClaim;

/// `metadata.trigger`: the facts of the instant that a run is for.
pub(super) fn trigger(
    claim: &OccurrenceClaim,
    started_at: NaiveDateTime,
    zone: &str,
    slot: Option<&HeldSlot>,
) -> Map<String, Value> {
    let mut trigger = Map::new();
    let mut put = |key: &str, value: Value| drop(trigger.insert(key.to_owned(), value));
    put("type", claim.trigger.name().into());
    put("occurrence_id", claim.key.id.to_string().into());
    put("scheduled_for", rfc3339(claim.scheduled_for).into());
    put("started_at", rfc3339(started_at).into());
    put("timezone", zone.into());
    put("attempt", claim.key.attempt.into());
    if let Some(slot) = slot {
        put("singleton_key", slot.key.as_str().into());
        put("singleton_slot", slot.slot.into());
    }
    trigger
}

/// Returns true for the first scheduled attempt of an occurrence: a later one says nothing about the lag of
/// schedules.
pub(super) fn is_first(claim: &OccurrenceClaim) -> bool {
    claim.trigger == Trigger::Cron && claim.key.attempt == 1 && claim.raised && !claim.recovered
}

/// Returns the rollout bucket of an occurrence: the same at every attempt.
pub(super) fn bucket(claim: &OccurrenceClaim) -> u8 {
    rollout::bucket(&format!("{}:{}", claim.channel_id, rfc3339(claim.scheduled_for)))
}

/// Returns the version of the workflow that the attempt is to run; `None` for the one that serves.
pub(super) fn version(claim: &OccurrenceClaim) -> Option<WorkflowVersion> {
    let id = claim.workflow_id.as_deref()?;
    Some(WorkflowVersion { id: id.into(), version: claim.workflow_version? })
}

fn rfc3339(instant: NaiveDateTime) -> String {
    instant.and_utc().to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use serde_json::json;
    use svc_ledger::ClaimKey;
    use uuid::Uuid;

    use super::*;

    fn claim(attempt: i64) -> OccurrenceClaim {
        OccurrenceClaim {
            key: ClaimKey { id: Uuid::nil(), holder: "n".into(), attempt, claim: attempt },
            channel_id: "nightly".into(),
            channel_name: "nightly".into(),
            channel_version: 1,
            workflow_id: None,
            trigger: Trigger::Cron,
            scheduled_for: DateTime::from_timestamp(1_767_317_400, 0).unwrap().naive_utc(),
            raised: true,
            recovered: false,
            workflow_version: None,
        }
    }

    #[test]
    fn a_run_is_told_about_its_instant() {
        let started_at = DateTime::from_timestamp_millis(1_767_317_400_250).unwrap().naive_utc();
        let slot = HeldSlot { key: "k".into(), slot: 1, token: 9 };
        let told = Value::Object(trigger(&claim(2), started_at, "Europe/Berlin", Some(&slot)));
        assert_eq!(
            told,
            json!({"type": "cron", "occurrence_id": Uuid::nil().to_string(),
                "scheduled_for": "2026-01-02T01:30:00Z", "started_at": "2026-01-02T01:30:00.250Z",
                "timezone": "Europe/Berlin", "attempt": 2, "singleton_key": "k", "singleton_slot": 1})
        );
        let told = trigger(&claim(1), started_at, "UTC", None);
        assert!(!told.contains_key("singleton_key") && !told.contains_key("singleton_slot"));
    }

    #[test]
    fn requested_attempt_is_not_the_first_of_instant() {
        assert!(is_first(&claim(1)));
        assert!(!is_first(&claim(2)));
        assert!(!is_first(&OccurrenceClaim { raised: false, ..claim(1) }), "a skipped one that is retried");
        assert!(!is_first(&OccurrenceClaim { recovered: true, ..claim(1) }));
        assert!(!is_first(&OccurrenceClaim { trigger: Trigger::Manual, ..claim(1) }));
    }

    #[test]
    fn every_attempt_runs_the_same_version() {
        assert_eq!(bucket(&claim(1)), bucket(&claim(7)));
        assert_eq!(bucket(&claim(1)), rollout::bucket("nightly:2026-01-02T01:30:00Z"));
    }
}
