//! The engine for operators: status, reload, catalogue of functions.

use actix_web::HttpResponse;
use actix_web::web::Data;
use serde_json::json;
use svc_engine::catalogue;

use super::query::QueryParameters;
use super::rate_groups::RateGroupMembers;
use super::response::data_response;
use crate::http::{AdminCaller, Error};
use crate::state::AppState;

/// `GET /engine/status`.
pub(super) async fn status(state: Data<AppState>) -> HttpResponse {
    let snapshot = state.registry.snapshot();
    let mut channels: Vec<&str> = snapshot.channels().map(|entry| entry.name()).collect();
    channels.sort_unstable();
    data_response(json!({
        "version": crate::VERSION,
        "uptime_seconds": state.started_at.elapsed().as_secs(),
        "workflows_count": snapshot.workflows_count(),
        "active_workflows": snapshot.workflows_count(),
        "channels": channels,
    }))
}

/// `POST /engine/reload`: the stored definitions serve once this responds; after a failure the previous ones
/// go on serving, and the order is recorded as failed. The response names the channels that could not be built, and those
/// with load warnings.
pub(super) async fn reload(
    state: Data<AppState>,
    caller: AdminCaller,
    query: QueryParameters,
) -> Result<HttpResponse, Error> {
    query.refuse_dry_run()?;
    let report = state.reload_by_order(caller.audit("reload", "engine", "manual")).await?;
    let snapshot = state.registry.snapshot();
    let quarantined: Vec<_> = snapshot.quarantined().into_iter().map(|(entry, quarantine)| {
        json!({"channel_id": entry.id(), "channel": entry.name(), "reason": &*quarantine.reason})
    }).collect();
    let rate_groups = RateGroupMembers::from_snapshot(&snapshot);
    let questionable = snapshot.channels().filter_map(|entry| {
        let warnings = rate_groups.list_warnings(entry.name(), &entry.row.content.config);
        (!warnings.is_empty())
            .then(|| json!({"channel_id": entry.id(), "channel": entry.name(), "warnings": warnings}))
    });
    let mut answer = json!({
        "reloaded": true,
        "workflows_count": report.workflows_count,
        "quarantined": quarantined,
    });
    let questionable: Vec<_> = questionable.collect();
    if !questionable.is_empty() {
        answer["warnings"] = json!(questionable);
    }
    Ok(data_response(answer))
}

/// `GET /functions`: with `all=true` the inputs of built-ins too.
pub(super) async fn functions(state: Data<AppState>, query: QueryParameters) -> Result<HttpResponse, Error> {
    Ok(data_response(state.engine.catalogue().to_json(query.flag("all")?)))
}

/// `GET /functions/operators`: every operator of expressions.
pub(super) async fn operators() -> HttpResponse {
    data_response(catalogue::operators::to_json())
}
