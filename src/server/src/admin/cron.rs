//! Schedules: list and read occurrences, retry one, trigger a run, and show the status of each schedule.

use std::collections::HashMap;
use std::sync::Arc;

use actix_web::HttpResponse;
use actix_web::web::{Data, Path, block};
use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::json;
use svc_channels::CronConfig;
use svc_model::{PageOf, ServiceError, Timestamp};
use svc_registry::{LoadedChannel, Snapshot};
use svc_store::{ChannelFacts, OccurrenceFilter, ScheduleStatus};

use super::query::QueryParameters;
use super::response::data_response;
use crate::http::{AdminCaller, Error};
use crate::state::AppState;

/// The resource type of occurrences in audit rows.
const OCCURRENCE: &str = "cron_occurrence";
/// The resource type of channels in audit rows.
const CHANNEL: &str = "channel";

type Answer = Result<HttpResponse, Error>;

/// `GET /cron/occurrences`, newest first, by offset or by cursor. An unknown status matches nothing: the set
/// is open.
pub(super) async fn list(state: Data<AppState>, query: QueryParameters) -> Answer {
    let asked = query.page()?;
    let filter = OccurrenceFilter {
        channel_id: query.text("channel_id"),
        status: query.text("status"),
        since: query.instant("since")?,
        until: query.instant("until")?,
    };
    let found = state.store.ledger().list(filter, asked, query.cursor()?).await?;
    let mut answer = json!(PageOf::new(found.rows, found.total, asked));
    if let Some(cursor) = found.next_cursor {
        answer["next_cursor"] = cursor.into();
    }
    Ok(HttpResponse::Ok().json(answer))
}

/// `GET /cron/occurrences/{id}`: includes the error, the trace and the holder of the claim.
pub(super) async fn read(state: Data<AppState>, id: Path<String>) -> Answer {
    let occurrence = state.store.ledger().get(&id).await?;
    Ok(data_response(
        occurrence.ok_or_else(|| ServiceError::not_found(format!("occurrence '{id}' does not exist")))?,
    ))
}

/// `POST /cron/occurrences/{id}/retry`: makes another attempt at a failed or skipped occurrence.
pub(super) async fn retry(
    state: Data<AppState>,
    caller: AdminCaller,
    id: Path<String>,
    query: QueryParameters,
) -> Answer {
    query.refuse_dry_run()?;
    let occurrence = state.store.ledger().retry(&id, caller.audit("retry", OCCURRENCE, &id)).await?;
    state.metrics.record_audit_event("retry", OCCURRENCE);
    wake_claimer(&state);
    Ok(data_response(occurrence))
}

/// `POST /channels/{id}/trigger`: makes an occurrence that is due now. Every refusal is the same, so that it
/// tells nothing about the channel.
pub(super) async fn trigger(
    state: Data<AppState>,
    caller: AdminCaller,
    id: Path<String>,
    query: QueryParameters,
) -> Answer {
    query.refuse_dry_run()?;
    let facts = schedulable_channel(&state.registry.snapshot(), &id)
        .ok_or_else(|| ServiceError::validation(format!("No active cron channel '{id}'")))?;
    let occurrence = state.store.ledger().trigger(facts, caller.audit("trigger", CHANNEL, &id)).await?;
    state.metrics.record_audit_event("trigger", CHANNEL);
    wake_claimer(&state);
    Ok(HttpResponse::Accepted().json(json!({ "data": occurrence })))
}

/// `GET /cron/status`: one row for each schedule this node has loaded, by name of the channel.
pub(super) async fn status(state: Data<AppState>) -> Answer {
    let ledger = state.store.ledger();
    let now = ledger.now().await?.and_utc();
    let snapshot = Arc::clone(&state.registry.snapshot());
    // The instants of ten thousand schedules are no work for a thread that serves.
    let rows = block(move || StatusRow::from_snapshot(&snapshot, now)).await;
    let mut rows = rows.map_err(ServiceError::internal_error)?;
    let known = ledger.status(rows.iter().map(|row| row.channel_id.clone()).collect()).await?;
    let mut known: HashMap<_, _> =
        known.into_iter().map(|status| (status.channel_id.clone(), status)).collect();
    let keys = rows.iter().filter_map(|row| Some(row.slots.as_ref()?.singleton_key.clone()));
    let held = ledger.slots_held(keys.collect()).await?;
    for row in &mut rows {
        if let Some(known) = known.remove(&row.channel_id) {
            row.apply_ledger_status(known);
        }
        if let Some(slots) = &mut row.slots {
            slots.slots_held = held.get(&slots.singleton_key).copied().unwrap_or_default();
        }
    }
    Ok(data_response(rows))
}

/// Wakes the claimer of this node. Without one, the claimer of another node finds the row.
fn wake_claimer(state: &AppState) {
    if let Some(cron) = &state.cron {
        cron.nudge();
    }
}

/// Returns the ledger's facts about a channel that is active, serves, and has a schedule.
fn schedulable_channel(snapshot: &Snapshot, id: &str) -> Option<ChannelFacts> {
    let entry = snapshot.channel_by_id(id).filter(|entry| entry.is_cron() && entry.quarantine().is_none())?;
    Some(ChannelFacts {
        channel_id: entry.id().to_owned(),
        channel_name: entry.name().to_owned(),
        channel_version: entry.row.version,
        workflow_id: entry.row.content.workflow_id.clone(),
    })
}

/// The status of a schedule.
#[derive(Serialize)]
struct StatusRow {
    channel_id: String,
    channel_name: String,
    schedule: String,
    timezone: String,
    /// `None` until the schedule is planned for the first time.
    next_fire_at: Option<Timestamp>,
    paused_at: Option<Timestamp>,
    last_status: Option<String>,
    last_scheduled_for: Option<Timestamp>,
    last_completed_at: Option<Timestamp>,
    pending: i64,
    concurrency_policy: &'static str,
    #[serde(flatten)]
    slots: Option<SlotUsage>,
    next_fires: Vec<Timestamp>,
}

/// The slots of a channel under the policy `forbid`.
#[derive(Serialize)]
struct SlotUsage {
    singleton_key: String,
    slots: u32,
    slots_held: i64,
}

impl StatusRow {
    /// Returns a row for every loaded schedule, without facts of the ledger.
    fn from_snapshot(snapshot: &Snapshot, now: DateTime<Utc>) -> Vec<Self> {
        let mut rows: Vec<_> =
            snapshot.cron_channels().filter_map(|entry| Self::from_entry(entry, now)).collect();
        rows.sort_by(|a, b| a.channel_name.cmp(&b.channel_name));
        rows
    }

    /// Returns `None` for a channel whose configuration could not be loaded.
    fn from_entry(entry: &LoadedChannel, now: DateTime<Utc>) -> Option<Self> {
        let CronConfig { schedule, singleton, .. } = entry.compiled()?.cron()?;
        let next_fires = schedule.next_fires(now).into_iter();
        Some(Self {
            channel_id: entry.id().to_owned(),
            channel_name: entry.name().to_owned(),
            schedule: schedule.expression().to_owned(),
            timezone: schedule.zone().to_owned(),
            next_fire_at: None,
            paused_at: None,
            last_status: None,
            last_scheduled_for: None,
            last_completed_at: None,
            pending: 0,
            concurrency_policy: if singleton.is_some() { "forbid" } else { "allow" },
            slots: singleton.as_ref().map(|singleton| SlotUsage {
                singleton_key: singleton.key.clone(),
                slots: singleton.slots,
                slots_held: 0,
            }),
            next_fires: next_fires.map(|due| Timestamp::from_naive(due.naive_utc())).collect(),
        })
    }

    /// Adds the facts of the ledger.
    fn apply_ledger_status(&mut self, known: ScheduleStatus) {
        self.next_fire_at = Some(known.next_fire_at);
        self.paused_at = known.paused_at;
        self.last_status = known.last_status;
        self.last_scheduled_for = known.last_scheduled_for;
        self.last_completed_at = known.last_completed_at;
        self.pending = known.pending;
    }
}
