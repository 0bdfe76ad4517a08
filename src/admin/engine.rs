//! The engine for operators and authors: status, reload, cached answers, the watched project, catalogue of functions.

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use serde_json::{Value, json};
use svc_api::{
    DocumentSchema, EngineReloaded, EngineStatus, InvalidatedCaches, QuarantinedChannel, QuestionableChannel,
    ReloadedSettings,
};
use svc_engine::catalogue;
use svc_functions::read_namespaces;
use svc_model::{AuditAction, AuditResource, Code, FieldError, ServiceError};
use svc_project::schema::DocumentKind;
use svc_registry::Snapshot;

use super::consumers::issues::list_consumer_issues;
use super::definitions::channels::find_report_issue;
use super::definitions::rate_groups::RateGroupMembers;
use super::query::QueryParameters;
use super::request_body::{NoBody, require_known_keys};
use super::response::data_response;
use crate::http::monitoring::health::failed_connectors;
use crate::http::{AdminCaller, Error, JsonBody};
use crate::state::AppState;

/// Seconds after which an order may be repeated that a cache did not confirm.
const RETRY_AFTER: u32 = 5;

/// `GET /engine/status`.
pub(super) async fn status(state: Data<AppState>) -> HttpResponse {
    let snapshot = state.serving.registry.snapshot();
    let mut channels: Vec<_> = snapshot.channels().map(|entry| entry.name().to_owned()).collect();
    channels.sort_unstable();
    data_response(EngineStatus {
        version: crate::VERSION.to_owned(),
        uptime_seconds: state.process.started_at.elapsed().as_secs(),
        workflows_count: snapshot.workflows_count(),
        active_workflows: snapshot.workflows_count(),
        channels,
        quarantined: quarantined_channels(&snapshot),
        failed_connectors: failed_connectors(&state.serving),
    })
}

fn quarantined_channels(snapshot: &Snapshot) -> Vec<QuarantinedChannel> {
    let quarantined = snapshot.quarantined_channels().into_iter();
    quarantined
        .map(|(entry, quarantine)| QuarantinedChannel {
            channel_id: entry.id().to_owned(),
            channel: entry.name().to_owned(),
            reason: quarantine.reason.to_string(),
        })
        .collect()
}

/// `POST /engine/reload`: the settings are read again, and the stored definitions serve once this responds; after a
/// failure the previous ones go on serving, and the order is recorded as failed. The response names the channels that
/// could not be built, those with load warnings, and the connectors that could not be loaded.
pub(super) async fn reload(
    state: Data<AppState>,
    caller: AdminCaller,
    query: QueryParameters,
    _: NoBody,
) -> Result<HttpResponse, Error> {
    query.refuse_dry_run()?;
    let (report, change) =
        state.reload_by_order(caller.audit(AuditAction::Reload, AuditResource::Engine, "manual")).await?;
    let snapshot = state.serving.registry.snapshot();
    let rate_groups = RateGroupMembers::from_snapshot(&snapshot);
    let consumers = state.serving.consumers.directory().current();
    let questionable = snapshot.channels().filter_map(|entry| {
        let config = &entry.row.content.config;
        let mut warnings = rate_groups.list_warnings(entry.name(), config);
        warnings.extend(find_report_issue(&snapshot, config));
        warnings.extend(list_consumer_issues(&consumers, config));
        (!warnings.is_empty()).then(|| QuestionableChannel {
            channel_id: entry.id().to_owned(),
            channel: entry.name().to_owned(),
            warnings: warnings.into_iter().map(Into::into).collect(),
        })
    });
    Ok(data_response(EngineReloaded {
        reloaded: true,
        workflows_count: report.workflows_count,
        quarantined: quarantined_channels(&snapshot),
        failed_connectors: failed_connectors(&state.serving),
        warnings: questionable.collect(),
        settings: ReloadedSettings { taken: change.taken, needs_restart: change.needs_restart },
    }))
}

/// `POST /cache/invalidate`: makes every cached answer of some namespaces stale.
pub(super) async fn invalidate_cache(
    state: Data<AppState>,
    caller: AdminCaller,
    query: QueryParameters,
    body: JsonBody,
) -> Result<HttpResponse, Error> {
    query.refuse_dry_run()?;
    let namespaces = parse_namespaces(&body.0)?;
    let mut entry = caller.audit(AuditAction::Invalidate, AuditResource::Cache, "namespaces");
    entry.add_details(json!({ "namespaces": namespaces }));
    // Recorded before it happens, so that nothing happens unrecorded.
    state.store.audit().record(entry).await?;
    state.metrics.record_audit_event(AuditAction::Invalidate, AuditResource::Cache);
    let stores = state.serving.namespaces.invalidate_all(&namespaces).await.map_err(|error| {
        let refusal =
            ServiceError::new(Code::ServiceUnavailable, "A cache did not confirm it; order it again");
        refusal.with_retry_after(RETRY_AFTER).with_internal(error)
    })?;
    Ok(data_response(InvalidatedCaches { namespaces, stores }))
}

fn parse_namespaces(body: &Value) -> Result<Vec<String>, ServiceError> {
    let members = require_known_keys(body, &["namespaces"])?;
    let list = members.get("namespaces").ok_or_else(|| FieldError::required("body.namespaces"))?;
    Ok(read_namespaces(list, "body.namespaces")?)
}

/// `GET /dev`: the project that this process serves while its author works; 404 in any other process.
pub(super) async fn dev_project(state: Data<AppState>) -> Result<HttpResponse, Error> {
    let absent = "this server watches no project; `svc-server dev` starts one that does";
    let status = state.process.dev.get().ok_or_else(|| ServiceError::not_found(absent))?;
    Ok(data_response(status.read()))
}

/// `GET /functions`: with `all=true` the inputs of built-ins too.
pub(super) async fn functions(state: Data<AppState>, query: QueryParameters) -> Result<HttpResponse, Error> {
    Ok(data_response(state.serving.engine.catalogue().to_json(query.flag("all")?)))
}

/// `GET /functions/operators`: every operator of expressions.
pub(super) async fn operators() -> HttpResponse {
    data_response(catalogue::operators::to_json())
}

/// `GET /schemas/{kind}`: the JSON Schema of a kind of document, for editors.
pub(super) async fn schema(state: Data<AppState>, kind: Path<String>) -> Result<HttpResponse, Error> {
    let Some(found) = DocumentKind::ALL.into_iter().find(|known| known.name() == kind.as_str()) else {
        let known = DocumentKind::ALL.map(DocumentKind::name).join(", ");
        return Err(ServiceError::not_found(format!("no kind of document is named '{kind}': {known}")).into());
    };
    let schema = found.schema(state.serving.engine.catalogue());
    Ok(data_response(DocumentSchema { kind: found.name().to_owned(), schema }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_names_the_namespaces() {
        assert_eq!(parse_namespaces(&json!({"namespaces": ["a", "b"]})).unwrap(), ["a", "b"]);
        for (body, place) in [
            (json!({}), "body.namespaces"),
            (json!({"namespaces": "a"}), "expected array, got string"),
            (json!({"namespaces": ["A"]}), "[0]"),
            (json!({"namespace": ["a"]}), "namespaces"),
        ] {
            let refused = parse_namespaces(&body).unwrap_err();
            assert!(refused.status() == 400 && refused.body(None).to_string().contains(place), "{body}");
        }
    }
}
