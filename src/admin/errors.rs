//! Groups of errors: failures by their cause, with the change that came before the first.

use std::collections::BTreeMap;
use std::ops::Range;

use actix_web::HttpResponse;
use actix_web::web::Data;
use svc_api::{AuditLogEntry, ErrorGroupSummary, PageEnvelope, RecentErrorCounts, RecentErrorGroup};
use svc_model::{ErrorGroup, FailureFacts, Page, Timestamp};
use svc_registry::Snapshot;
use svc_store::{AnyOf, COUNTED_MINUTES, ChangeScope, ErrorGroupCount, ErrorGroupFilter, ErrorGroupRow};

use super::query::QueryParameters;
use super::response::data_response;
use crate::assembly::parts::kafka::HeldFailure;
use crate::http::Error;
use crate::state::AppState;

/// `GET /errors`, the most frequent first. The records that this node holds back come before the rest.
pub(super) async fn list(state: Data<AppState>, query: QueryParameters) -> Result<HttpResponse, Error> {
    let page = query.page()?;
    let (since, until) = query.range(Timestamp::now())?;
    let filter = ErrorGroupFilter {
        channel: query.any_of("channel"),
        tag: query.any_of("tag"),
        workflow: query.any_of("workflow"),
        versions: query.numbers("version")?,
        task: query.any_of("task"),
        code: query.any_of("error_code"),
        group: query.any_of("error_group"),
        text: query.text("q"),
        since,
        until,
    };
    let held = held_groups(&state, &filter);
    let (shown, rest) = divide(page, held.len());
    let groups = state.store.error_groups().list(filter, rest).await?;
    let total = groups.total.saturating_add(i64::try_from(held.len()).unwrap_or(i64::MAX));
    let scopes = {
        let snapshot = state.serving.registry.snapshot();
        groups.rows.iter().map(|row| scope_of(row, &snapshot)).collect()
    };
    let changes = state.store.error_groups().last_changes(scopes).await?;
    let rows = groups.rows.into_iter().zip(changes).map(|(row, change)| ErrorGroupSummary {
        group: row.group,
        channel: row.channel,
        workflow: row.workflow,
        task: row.task,
        code: row.code,
        message: row.message,
        count: row.count,
        first_seen: row.first_seen,
        last_seen: row.last_seen,
        versions: row.versions,
        samples: row.samples,
        change: change.map(AuditLogEntry::from),
        node: None,
    });
    let held = held.into_iter().skip(shown.start).take(shown.len());
    Ok(HttpResponse::Ok().json(PageEnvelope::new(held.chain(rows), total, page)))
}

/// Groups of recent errors in an answer, and at most.
const RECENT_GROUPS: (usize, usize) = (20, 200);

/// `GET /errors/recent`: the groups of the last minutes by their counts, the most frequent first.
pub(super) async fn list_recent(
    state: Data<AppState>,
    query: QueryParameters,
) -> Result<HttpResponse, Error> {
    let minutes = query.integer("minutes")?.and_then(|minutes| u32::try_from(minutes).ok());
    let minutes = minutes.unwrap_or(COUNTED_MINUTES).clamp(1, COUNTED_MINUTES);
    let (default, most) = RECENT_GROUPS;
    let limit = query.integer("limit")?.and_then(|limit| usize::try_from(limit).ok());
    let limit = limit.unwrap_or(default).clamp(1, most);
    let groups = state.store.error_groups();
    // The failures of this node since its last write count too. A task of its own, which a caller that hangs up does not
    // take along with the counts.
    let counting = groups.clone();
    let _counted = actix_rt::spawn(async move { counting.flush_counts().await }).await;
    let recent = groups.recent(minutes, limit).await?;
    Ok(data_response(RecentErrorCounts {
        minutes,
        failures: recent.failures,
        total: recent.total,
        groups: recent.groups.into_iter().map(to_recent_group).collect(),
    }))
}

fn to_recent_group(counted: ErrorGroupCount) -> RecentErrorGroup {
    RecentErrorGroup {
        group: counted.group,
        channel: counted.channel,
        workflow: counted.workflow,
        task: counted.task,
        code: counted.code,
        message: counted.message,
        count: counted.count,
        first_seen: counted.first_seen,
        last_seen: counted.last_minute.max(counted.first_seen),
        per_minute: counted.minutes,
    }
}

/// Divides a page of a list that begins with `held` groups: the places of those that it shows, and the page of the rest.
fn divide(page: Page, held: usize) -> (Range<usize>, Page) {
    let place = |rows: i64| usize::try_from(rows).unwrap_or(usize::MAX).min(held);
    let shown = place(page.offset)..place(page.offset.saturating_add(page.limit));
    let count = |rows: usize| i64::try_from(rows).unwrap_or(i64::MAX);
    let limit = page.limit.saturating_sub(count(shown.len()));
    let offset = page.offset.saturating_sub(count(held)).max(0);
    (shown, Page { limit, offset })
}

/// Returns the definitions whose change may be the cause of a group.
fn scope_of(row: &ErrorGroupRow, snapshot: &Snapshot) -> ChangeScope {
    let channel = snapshot.channel_by_name(&row.channel);
    let workflow_id = row.workflow.clone().or_else(|| channel?.row.content.workflow_id.clone());
    ChangeScope {
        channel_id: channel.map(|channel| channel.id().to_owned()),
        connectors: workflow_id.as_deref().map(|id| snapshot.connectors_of_workflow(id)).unwrap_or_default(),
        workflow_id,
        before: row.first_seen,
    }
}

/// Returns the groups of the records that this node holds back and that are in no trace.
fn held_groups(state: &AppState, filter: &ErrorGroupFilter) -> Vec<ErrorGroupSummary> {
    let Some(kafka) = state.work.kafka.as_ref() else { return Vec::new() };
    let snapshot = state.serving.registry.snapshot();
    let has_tag = |channel: &str| {
        filter.tag.as_ref().is_none_or(|tags| {
            let entry = snapshot.channel_by_name(channel);
            entry.is_some_and(|entry| tags.values().iter().any(|tag| entry.row.content.tags.contains(tag)))
        })
    };
    let mut groups: BTreeMap<String, ErrorGroupSummary> = BTreeMap::new();
    for failure in kafka.untraced_failures() {
        let group = to_held_group(&failure, state.work.nodes.id().to_string());
        if selects(filter, &group) && has_tag(&group.channel) {
            let known = groups.entry(group.group.clone());
            known
                .and_modify(|known| {
                    known.count += 1;
                    known.first_seen = known.first_seen.min(group.first_seen);
                    known.last_seen = known.last_seen.max(group.last_seen);
                })
                .or_insert(group);
        }
    }
    groups.into_values().collect()
}

fn to_held_group(failure: &HeldFailure, node: String) -> ErrorGroupSummary {
    let (channel, message, since) = failure;
    let group = ErrorGroup::new(FailureFacts { channel, message, ..FailureFacts::default() });
    ErrorGroupSummary {
        group: group.id,
        channel: group.channel,
        workflow: None,
        task: None,
        code: None,
        message: group.message,
        count: 1,
        first_seen: *since,
        last_seen: *since,
        versions: Vec::new(),
        samples: Vec::new(),
        change: None,
        node: Some(node),
    }
}

/// Returns whether a filter selects the group of a held record, which has no workflow, version, task and code.
fn selects(filter: &ErrorGroupFilter, group: &ErrorGroupSummary) -> bool {
    let has = |values: &Option<AnyOf>, value: &String| {
        values.as_ref().is_none_or(|values| values.values().contains(value))
    };
    let text = filter.text.as_ref().map(|text| text.to_lowercase());
    filter.workflow.is_none()
        && filter.versions.is_empty()
        && filter.task.is_none()
        && filter.code.is_none()
        && has(&filter.channel, &group.channel)
        && has(&filter.group, &group.group)
        && text.is_none_or(|text| group.message.to_lowercase().contains(&text))
        && filter.since.is_none_or(|since| group.first_seen >= since)
        && filter.until.is_none_or(|until| group.first_seen < until)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make_held() -> ErrorGroupSummary {
        let since = Timestamp::parse("2026-01-02T12:00:00Z").unwrap();
        let failure: HeldFailure = ("orders".into(), "order 17 is unknown".into(), since);
        to_held_group(&failure, "n1".into())
    }

    #[test]
    fn held_record_is_grouped_by_channel_and_message() {
        let group = make_held();
        assert_eq!((group.message.as_str(), group.node.as_deref()), ("order # is unknown", Some("n1")));
    }

    #[test]
    fn held_groups_begin_the_pages() {
        for (limit, offset, held, expected) in [
            (50, 0, 0, (0..0, 50, 0)),
            (50, 0, 2, (0..2, 48, 0)),
            (1, 0, 2, (0..1, 0, 0)),
            (1, 1, 2, (1..2, 0, 0)),
            (3, 1, 2, (1..2, 2, 0)),
            (3, 4, 2, (2..2, 3, 2)),
            (1000, i64::MAX, 2, (2..2, 1000, i64::MAX - 2)),
        ] {
            let (shown, rest) = divide(Page { limit, offset }, held);
            assert_eq!((shown, rest.limit, rest.offset), expected, "{limit} {offset} {held}");
        }
    }

    #[test]
    fn filters_select_held_records() {
        let at = |text| Timestamp::parse(text);
        for (filter, expected) in [
            (ErrorGroupFilter::default(), true),
            (ErrorGroupFilter { channel: Some("orders".into()), ..Default::default() }, true),
            (ErrorGroupFilter { channel: Some("refunds".into()), ..Default::default() }, false),
            (ErrorGroupFilter { text: Some("UNKNOWN".into()), ..Default::default() }, true),
            (ErrorGroupFilter { text: Some("timeout".into()), ..Default::default() }, false),
            (ErrorGroupFilter { task: Some("charge".into()), ..Default::default() }, false),
            (ErrorGroupFilter { versions: vec![1], ..Default::default() }, false),
            (ErrorGroupFilter { since: at("2026-01-02T12:00:00Z"), ..Default::default() }, true),
            (ErrorGroupFilter { until: at("2026-01-02T12:00:00Z"), ..Default::default() }, false),
        ] {
            assert_eq!(selects(&filter, &make_held()), expected, "{filter:?}");
        }
    }
}
