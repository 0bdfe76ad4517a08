//! The filters of lists, read from the words of a query. A bulk run takes the same words.

use svc_model::{Page, ServiceError, Timestamp};
use svc_store::{DeadLetterFilter, OccurrenceFilter, TraceQuery, TraceStatus};

use super::query::QueryParameters;

/// Reads the filter of dead letters.
///
/// # Errors
/// 400 for a word without a meaning.
pub(crate) fn read_dead_letter_filter(
    query: &QueryParameters,
    now: Timestamp,
) -> Result<DeadLetterFilter, ServiceError> {
    let (since, until) = query.range(now)?;
    Ok(DeadLetterFilter {
        channel: query.any_of("channel"),
        tag: query.any_of("tag"),
        exhausted: query.choice("exhausted")?,
        workflow: query.any_of("workflow"),
        versions: query.numbers("version")?,
        task: query.any_of("task"),
        error_code: query.any_of("error_code"),
        error_group: query.any_of("error_group"),
        trace_id: query.any_of("trace_id"),
        run_key: query.any_of("run_key"),
        since,
        until,
        oldest_first: query.order()?.as_deref() == Some("asc"),
        cursor: query.cursor()?.map(str::to_owned),
        include_counts: query.flag("include_counts")?,
        without_total: query.leaves_out_total()?,
    })
}

/// Reads the filter of occurrences.
///
/// # Errors
/// 400 for a word without a meaning.
pub(crate) fn read_occurrence_filter(
    query: &QueryParameters,
    now: Timestamp,
) -> Result<OccurrenceFilter, ServiceError> {
    let (since, until) = query.zoneless_range(now)?;
    Ok(OccurrenceFilter {
        channel_id: query.any_of("channel_id"),
        channel: query.any_of("channel"),
        tag: query.any_of("tag"),
        status: query.any_of("status"),
        workflow: query.any_of("workflow"),
        versions: query.numbers("version")?,
        task: query.any_of("task"),
        error_code: query.any_of("error_code"),
        error_group: query.any_of("error_group"),
        trace_id: query.any_of("trace_id"),
        run_key: query.any_of("run_key"),
        since,
        until,
        oldest_first: query.order()?.as_deref() == Some("asc"),
        include_counts: query.flag("include_counts")?,
        without_total: query.leaves_out_total()?,
    })
}

/// Reads the query of traces.
///
/// # Errors
/// 400 for a word without a meaning.
pub(crate) fn read_trace_query(
    query: &QueryParameters,
    page: Page,
    now: Timestamp,
) -> Result<TraceQuery, ServiceError> {
    let (since, until) = query.range(now)?;
    let mut workflow_versions = query.numbers("version")?;
    workflow_versions.extend(query.numbers("workflow_version")?);
    Ok(TraceQuery {
        status: query.any_of("status").map(|names| names.expand(TraceStatus::of_public)),
        channel: query.any_of("channel"),
        tag: query.any_of("tag"),
        mode: query.any_of("mode"),
        workflow_id: query.any_of("workflow").or_else(|| query.any_of("workflow_id")),
        workflow_versions,
        request_id: query.any_of("request_id"),
        trace_id: query.any_of("trace_id"),
        run_key: query.any_of("run_key"),
        rerun_of: query.any_of("rerun_of"),
        error_code: query.any_of("error_code"),
        error_group: query.any_of("error_group"),
        task: query.any_of("task"),
        min_duration_ms: query.integer("min_duration_ms")?,
        since,
        until,
        order: query.order()?,
        sort_by: query.text("sort_by"),
        sort_order: query.text("sort_order"),
        page,
        cursor: query.cursor()?.map(str::to_owned),
        attempts: query.flag("attempts")?,
        include_total: query.flag("include_total")?,
        include_counts: query.flag("include_counts")?,
    })
}
