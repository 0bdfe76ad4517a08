//! Schedules: list and read occurrences, retry one, trigger a run, and show the status of each schedule.

use std::collections::HashMap;
use std::sync::Arc;

use actix_web::HttpResponse;
use actix_web::web::{Data, Path, block};
use chrono::{DateTime, Utc};
use svc_api::{DataEnvelope, OccurrenceDetail, OccurrenceListEnvelope, OccurrenceSummary, ScheduleSummary};
use svc_channels::CronConfig;
use svc_model::{AuditAction, AuditResource, ChannelPause, ServiceError, Timestamp};
use svc_registry::{LoadedChannel, Snapshot};
use svc_store::{ChannelFacts, OccurrenceRecord, OccurrenceRow, ScheduleStatus};

use super::filters::read_occurrence_filter;
use super::query::QueryParameters;
use super::reruns;
use super::response::{data_response, list_response};
use crate::http::{AdminCaller, Error, OptionalJsonBody};
use crate::state::{AppState, NodeWork};

/// The resource type of occurrences in audit rows.
pub(super) const OCCURRENCE: AuditResource = AuditResource::CronOccurrence;
/// The resource type of channels in audit rows.
const CHANNEL: AuditResource = AuditResource::Channel;

type Answer = Result<HttpResponse, Error>;

/// `GET /cron/occurrences`, newest first unless asked for otherwise, by offset or by cursor.
pub(super) async fn list(state: Data<AppState>, query: QueryParameters) -> Answer {
    let page = query.page()?;
    let filter = read_occurrence_filter(&query, Timestamp::now())?;
    let occurrences = state.store.ledger().list(filter, page, query.cursor()?).await?;
    Ok(HttpResponse::Ok().json(OccurrenceListEnvelope {
        data: occurrences.rows.into_iter().map(to_summary).collect(),
        total: occurrences.total,
        limit: page.limit,
        offset: page.offset,
        counts: occurrences.counts,
        next_cursor: occurrences.next_cursor,
        scanned_until: occurrences.scanned_until,
    }))
}

/// `GET /cron/occurrences/{id}`: includes the error, the trace and the holder of the claim.
pub(super) async fn read(state: Data<AppState>, id: Path<String>) -> Answer {
    let occurrence = state.store.ledger().get(&id).await?;
    let occurrence =
        occurrence.ok_or_else(|| ServiceError::not_found(format!("occurrence '{id}' does not exist")))?;
    Ok(data_response(to_detail(occurrence)))
}

/// `POST /cron/occurrences/{id}/retry`: makes another attempt at a failed, skipped or cancelled occurrence, with the
/// version of the workflow that the body names.
pub(super) async fn retry(
    state: Data<AppState>,
    caller: AdminCaller,
    id: Path<String>,
    query: QueryParameters,
    body: OptionalJsonBody,
) -> Answer {
    query.refuse_dry_run()?;
    let version = reruns::parse_retry(&body.0)?;
    let audit = caller.audit(AuditAction::Retry, OCCURRENCE, &id);
    let occurrence = state.store.ledger().retry(&id, version, audit).await?;
    state.metrics.record_audit_event(AuditAction::Retry, OCCURRENCE);
    announce_pending(&state.work);
    Ok(data_response(to_detail(occurrence)))
}

/// `POST /channels/{id}/trigger`: makes an occurrence that is due now. Every refusal is the same, so that it
/// reveals nothing about the channel.
pub(super) async fn trigger(
    state: Data<AppState>,
    caller: AdminCaller,
    id: Path<String>,
    query: QueryParameters,
) -> Answer {
    query.refuse_dry_run()?;
    let facts = schedulable_channel(&state.serving.registry.snapshot(), &id)
        .ok_or_else(|| ServiceError::validation(format!("No active cron channel '{id}'")))?;
    let occurrence =
        state.store.ledger().trigger(facts, caller.audit(AuditAction::Trigger, CHANNEL, &id)).await?;
    state.metrics.record_audit_event(AuditAction::Trigger, CHANNEL);
    announce_pending(&state.work);
    Ok(HttpResponse::Accepted().json(DataEnvelope { data: to_detail(occurrence) }))
}

/// `GET /cron/status`: one row for each schedule this node has loaded, by name of the channel.
pub(super) async fn status(state: Data<AppState>) -> Answer {
    let ledger = state.store.ledger();
    let now = ledger.now().await?.and_utc();
    let snapshot = Arc::clone(&state.serving.registry.snapshot());
    // The instants of ten thousand schedules are no work for a thread that serves.
    let rows = block(move || list_schedules(&snapshot, now)).await;
    let mut rows: Vec<ScheduleSummary> = rows.map_err(ServiceError::internal_error)?;
    let statuses = ledger.status(rows.iter().map(|row| row.channel_id.clone()).collect()).await?;
    let mut statuses: HashMap<_, _> =
        statuses.into_iter().map(|status| (status.channel_id.clone(), status)).collect();
    let keys = rows.iter().filter_map(|row| row.singleton_key.clone());
    let held_slots = ledger.slots_held(keys.collect()).await?;
    for row in &mut rows {
        if let Some(status) = statuses.remove(&row.channel_id) {
            apply_ledger_status(row, status);
        }
        row.slots_held =
            row.singleton_key.as_ref().map(|key| held_slots.get(key).copied().unwrap_or_default());
    }
    Ok(list_response(rows))
}

/// Counts an occurrence that came to `pending`, and wakes the claimer of this node. Without one, the claimer of another
/// node finds the row.
fn announce_pending(work: &NodeWork) {
    work.cron_metrics.record_pending();
    if let Some(cron) = &work.cron {
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

/// Returns a row for every loaded schedule, by name of the channel, without facts of the ledger.
fn list_schedules(snapshot: &Snapshot, now: DateTime<Utc>) -> Vec<ScheduleSummary> {
    let mut rows: Vec<_> = snapshot.cron_channels().filter_map(|entry| to_schedule(entry, now)).collect();
    rows.sort_by(|a, b| a.channel_name.cmp(&b.channel_name));
    rows
}

/// Returns `None` for a channel whose configuration could not be loaded.
fn to_schedule(entry: &LoadedChannel, now: DateTime<Utc>) -> Option<ScheduleSummary> {
    let CronConfig { schedule, singleton, .. } = entry.compiled_channel()?.cron()?;
    let next_fires = schedule.next_fires(now).into_iter();
    let policy = if singleton.is_some() { "forbid" } else { "allow" };
    Some(ScheduleSummary {
        channel_id: entry.id().to_owned(),
        channel_name: entry.name().to_owned(),
        schedule: schedule.expression().to_owned(),
        timezone: schedule.zone().to_owned(),
        next_fire_at: None,
        paused_at: None,
        paused: entry.pause().map(|pause| ChannelPause::clone(pause).into()),
        last_status: None,
        last_scheduled_for: None,
        last_completed_at: None,
        pending: 0,
        concurrency_policy: policy.to_owned(),
        singleton_key: singleton.as_ref().map(|singleton| singleton.key.clone()),
        slots: singleton.as_ref().map(|singleton| singleton.slots),
        slots_held: None,
        next_fires: next_fires.map(|due| Timestamp::from_naive(due.naive_utc())).collect(),
    })
}

/// Adds the facts of the ledger.
fn apply_ledger_status(row: &mut ScheduleSummary, known: ScheduleStatus) {
    row.next_fire_at = Some(known.next_fire_at);
    row.paused_at = known.paused_at;
    row.last_status = known.last_status;
    row.last_scheduled_for = known.last_scheduled_for;
    row.last_completed_at = known.last_completed_at;
    row.pending = known.pending;
}

/// Returns an occurrence as lists show it.
fn to_summary(row: OccurrenceRow) -> OccurrenceSummary {
    OccurrenceSummary {
        id: row.id,
        channel_id: row.channel_id,
        channel_name: row.channel_name,
        trigger: row.trigger,
        scheduled_for: row.scheduled_for,
        status: row.status,
        attempt: row.attempt,
        started_at: row.started_at,
        completed_at: row.completed_at,
        error_group: row.error_group,
        created_at: row.created_at,
    }
}

pub(super) fn to_detail(record: OccurrenceRecord) -> OccurrenceDetail {
    OccurrenceDetail {
        summary: to_summary(record.row),
        channel_version: record.channel_version,
        executing_version: record.executing_version,
        workflow_id: record.workflow_id,
        claimed_by: record.claimed_by,
        claimed_until: record.claimed_until,
        singleton_key: record.singleton_key,
        fencing_token: record.fencing_token,
        singleton_slot: record.singleton_slot,
        trace_id: record.trace_id,
        error_message: record.error_message,
        cancel_requested_at: record.cancel_requested_at,
        cancelled_by: record.cancelled_by,
        workflow_version: record.workflow_version,
        updated_at: record.updated_at,
    }
}
