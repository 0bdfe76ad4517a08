//! Explanations from the ledger: of an instant of a schedule, and of the wait of accepted work.
//!
//! The store reads the facts in one transaction, what only this node knows is added here, and the rules of the ledger
//! decide.

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use chrono::{NaiveDateTime, TimeDelta};
use svc_api::{
    ClockComparison, CursorDetail, OccurrenceExcerpt, ScheduleExplanation, SlotHolderDetail, WorkWaitDetail,
};
use svc_channels::CronConfig;
use svc_model::config::value_reference::{ValueScope, replace_value_references};
use svc_model::{Channel, Protocol, ServiceError, Timestamp};
use svc_store::{
    InstantFacts, InstantRequest, InstantRow, StoreError, TraceMode, TraceRow, TraceStatus, WorkWait,
};

use super::definitions::entities::not_found;
use super::query::QueryParameters;
use super::response::data_response;
use crate::http::Error;
use crate::state::AppState;

/// `GET /channels/{id}/why`: explains an instant of a schedule, by default now.
pub(super) async fn explain_instant(
    state: Data<AppState>,
    id: Path<String>,
    query: QueryParameters,
) -> Result<HttpResponse, Error> {
    let at = query.moment("at", Timestamp::now())?;
    let mut channel = find_scheduled(&state, &id).await?;
    let transport = &mut channel.content.transport_config;
    let replaced =
        replace_value_references(ValueScope::ChannelTransport, transport, Some(&state.config.vars.0));
    let config = replaced.ok().and_then(|()| CronConfig::parse(&channel.channel_id, &channel.content).ok());
    let singleton = config.as_ref().and_then(|config| config.singleton.as_ref());
    let request = InstantRequest {
        channel_id: channel.channel_id.clone(),
        channel_name: channel.content.name.clone(),
        at: at.map(Timestamp::naive),
        singleton_key: singleton.map(|singleton| singleton.key.clone()),
    };
    let sent = Timestamp::now().naive();
    let mut facts = state.store.ledger().instant_facts(request).await?;
    facts.clock_offset = clock_offset(facts.now, sent, Timestamp::now().naive());
    facts.quarantine = find_quarantine(&state, &channel.channel_id);
    facts.kept_since = kept_since(state.config.trace_queue.retention_hours, facts.now);
    if let Some(CronConfig { schedule, .. }) = &config {
        let before = facts.at.checked_sub_signed(TimeDelta::nanoseconds(1)).unwrap_or(facts.at);
        facts.is_due = Some(schedule.next_after(before.and_utc()) == Some(facts.at.and_utc()));
        facts.next = schedule.next_after(facts.now.and_utc()).map(|next| next.naive_utc());
    }
    Ok(data_response(to_explanation(channel.channel_id, facts)))
}

/// Explains why accepted work does not run yet; `None` for work that runs or has ended, and for other runs.
pub(super) async fn explain_wait(
    state: &AppState,
    row: &TraceRow,
) -> Result<Option<WorkWaitDetail>, StoreError> {
    let status = TraceStatus::parse(&row.status);
    let has_ended = matches!(status, Some(TraceStatus::Completed | TraceStatus::Failed));
    if has_ended || row.mode != TraceMode::Async.name() {
        return Ok(None);
    }
    let Some(mut facts) = state.store.traces().work_facts(&row.id).await? else { return Ok(None) };
    facts.quarantine = row.channel_id.as_deref().and_then(|id| find_quarantine(state, id));
    Ok(facts.explain().map(to_wait))
}

/// Finds the version of a cron channel that serves, else its latest one.
///
/// # Errors
/// 404 if there is no such channel, 400 if it has no schedule.
async fn find_scheduled(state: &AppState, id: &str) -> Result<Channel, ServiceError> {
    let channels = state.store.channels();
    let latest = channels.latest(id).await?.ok_or_else(|| not_found::<Channel>(id))?;
    let active = channels.active_of(std::slice::from_ref(&latest.channel_id)).await?.into_iter().next();
    let channel = active.unwrap_or(latest);
    if channel.content.protocol != Protocol::Cron {
        let message = format!("channel '{id}' has no schedule: name a channel of the protocol cron");
        return Err(ServiceError::validation(message));
    }
    Ok(channel)
}

/// Returns the reason of the quarantine of a channel on this node.
fn find_quarantine(state: &AppState, id: &str) -> Option<String> {
    let snapshot = state.serving.registry.snapshot();
    let quarantine = snapshot.channel_by_id(id)?.quarantine()?;
    Some(quarantine.reason.to_string())
}

/// Returns the time by which the clock of this node is ahead of that of the database, which was read between two readings
/// of the former.
fn clock_offset(database: NaiveDateTime, sent: NaiveDateTime, received: NaiveDateTime) -> TimeDelta {
    if database < sent {
        sent - database
    } else if database > received {
        received - database
    } else {
        TimeDelta::zero()
    }
}

/// Returns the instant since which no row has been deleted for its age; `None` if rows are kept for ever.
fn kept_since(retention_hours: u64, now: NaiveDateTime) -> Option<NaiveDateTime> {
    let hours = i64::try_from(retention_hours).ok().filter(|hours| *hours > 0)?;
    now.checked_sub_signed(TimeDelta::try_hours(hours)?)
}

fn to_explanation(channel_id: String, facts: InstantFacts) -> ScheduleExplanation {
    let explanation = facts.explain();
    let reason = match facts.recorded() {
        Some(row) => row.status.clone(),
        None => explanation.reason.name().to_owned(),
    };
    let occurrence = facts.recorded().cloned().map(to_excerpt);
    // What rests until a resume has no place among what waits for a worker.
    let rests = facts.recorded().is_some_and(|row| row.awaited_channel.is_some());
    let is_off = facts.is_clock_off();
    let waits = facts.waiting_before + 1;
    ScheduleExplanation {
        channel_id,
        channel_name: facts.channel,
        at: Timestamp::from_naive(facts.at),
        position: (reason == "pending" && !rests).then_some(waits),
        reason,
        sentence: explanation.sentence,
        due: facts.is_due,
        occurrence,
        holders: facts
            .holders
            .into_iter()
            .map(|holder| SlotHolderDetail {
                occurrence_id: holder.occurrence,
                channel_name: holder.channel,
                claimed_by: holder.node,
                started_at: holder.since.map(Timestamp::from_naive),
                completed_at: holder.until.map(Timestamp::from_naive),
            })
            .collect(),
        previous: facts.previous.map(to_excerpt),
        next: facts.next.map(Timestamp::from_naive),
        active_version: facts.active.map(|active| active.version),
        active_since: facts.active.map(|active| Timestamp::from_naive(active.since)),
        paused: facts.pause.map(Into::into),
        quarantined: facts.quarantine,
        cursor: facts.cursor.map(|cursor| CursorDetail {
            next_fire_at: Timestamp::from_naive(cursor.next_fire_at),
            paused_at: cursor.paused_at.map(Timestamp::from_naive),
        }),
        clock: ClockComparison {
            database: Timestamp::from_naive(facts.now),
            offset_ms: facts.clock_offset.num_milliseconds(),
            is_off,
        },
    }
}

fn to_excerpt(row: InstantRow) -> OccurrenceExcerpt {
    OccurrenceExcerpt {
        id: row.id,
        scheduled_for: Timestamp::from_naive(row.scheduled_for),
        trigger: row.trigger,
        status: row.status,
        attempt: row.attempt,
        claimed_by: row.claimed_by,
        claimed_until: row.claimed_until.map(Timestamp::from_naive),
        trace_id: row.trace_id,
        error_message: row.error_message,
        started_at: row.started_at.map(Timestamp::from_naive),
        completed_at: row.completed_at.map(Timestamp::from_naive),
    }
}

fn to_wait(wait: WorkWait) -> WorkWaitDetail {
    WorkWaitDetail {
        reason: wait.reason.name().to_owned(),
        sentence: wait.sentence,
        since: Timestamp::from_naive(wait.since),
        until: wait.until.map(Timestamp::from_naive),
        position: wait.position,
        holder: wait.holder,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time_at(millis: i64) -> NaiveDateTime {
        Timestamp::parse("2026-01-01T00:00:00Z").unwrap().naive() + TimeDelta::milliseconds(millis)
    }

    #[test]
    fn time_of_the_answer_is_no_difference_of_clocks() {
        for (database, expected) in [(0, 0), (500, 0), (700, 0), (-2_000, 2_000), (5_700, -5_000)] {
            let offset = clock_offset(time_at(database), time_at(0), time_at(700));
            assert_eq!(offset.num_milliseconds(), expected, "{database}");
        }
    }

    #[test]
    fn rows_without_retention_are_kept_for_ever() {
        assert_eq!(kept_since(0, time_at(0)), None);
        assert_eq!(kept_since(1, time_at(3_600_000)), Some(time_at(0)));
        assert_eq!(kept_since(u64::MAX, time_at(0)), None);
    }
}
