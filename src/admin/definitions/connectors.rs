//! Connectors: create, read, list, update, delete, enable and disable, export, import, validate, test.
//!
//! They have no versions: a change takes effect at once. Responses hide every secret.

use std::collections::HashSet;

use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse};
use serde_json::Value;
use svc_api::{
    CircuitBreakerMap, CircuitBreakerReset, ConnectorProbeResult, ConnectorResource, ExportedConnector,
    HostBreakerState, PageEnvelope, ValidationResult,
};
use svc_cluster::epoch::LocalChange;
use svc_connectors::{ConnectorScope, HostBreaker, LoadState, OwnDatabase};
use svc_model::config::connector::ConnectorConfig;
use svc_model::{
    AuditAction, AuditResource, Connector, ConnectorChecks, ConnectorContent, EntityKind, FieldCode,
    FieldError, Issue, LifecycleStatus, Page, ServiceError, id, parse_connector_update, parse_new_connector,
    validate_connector,
};
use svc_project::rules::ConnectorRules;
use svc_store::{EntityFilter, ImportOutcome, Merge, Mutation};

use super::import::{ItemOutcomes, has_written, import_batch, refuse_duplicate_key, require_trust};
use super::references::references;
use super::status::{ReloadTiming, parse_reload_timing, parse_target};
use crate::admin::mutation_request::{MutationRequest, dry_run_response, dry_run_response_with};
use crate::admin::nodes::require_node;
use crate::admin::query::QueryParameters;
use crate::admin::request_body::NoBody;
use crate::admin::response::{data_response, list_response, tagged_response, with_warnings};
use crate::http::{AdminCaller, Error, JsonBody, SentJsonBody};
use crate::state::AppState;

type Answer = Result<HttpResponse, Error>;

/// The rules of connectors, and the one that only this process can judge: no connector opens its own
/// database.
pub(crate) struct LocalConnectorRules {
    own: OwnDatabase,
}

impl LocalConnectorRules {
    fn from_state(state: &AppState) -> Self {
        Self { own: OwnDatabase::from_store(&state.store) }
    }
}

impl ConnectorChecks for LocalConnectorRules {
    fn config(&self, config: &ConnectorConfig) -> Vec<FieldError> {
        ConnectorRules.config(config).into_iter().chain(self.own.check(config)).collect()
    }
}

fn connector_mutation(change: &MutationRequest, action: AuditAction, id: &str) -> Mutation {
    Mutation { epoch: true, ..change.mutation(action, EntityKind::Connector, id) }
}

fn filter(query: &QueryParameters) -> EntityFilter {
    EntityFilter {
        tag: query.text("tag"),
        sort_by: query.text("sort_by"),
        sort_order: query.text("sort_order"),
        ..EntityFilter::default()
    }
}

pub(crate) async fn list(state: Data<AppState>, query: QueryParameters) -> Answer {
    let page = query.page()?;
    let filter = filter(&query);
    let sort_order = query.order()?.or(filter.sort_order);
    let filter = EntityFilter { sort_order, ..filter };
    let (rows, total) = state.store.connectors().list(filter, page).await?;
    let rows = rows.into_iter().map(|row| to_resource(&state, row));
    Ok(HttpResponse::Ok().json(PageEnvelope::new(rows, total, page)))
}

pub(crate) async fn create(state: Data<AppState>, change: MutationRequest, body: JsonBody) -> Answer {
    let mutation = connector_mutation(&change, AuditAction::Create, "");
    let local = state.begin_change(&mutation);
    let outcome: Result<Connector, ServiceError> = async {
        let (id, content) = parse_new_connector(&body.0, &LocalConnectorRules::from_state(&state))?;
        Ok(state.store.connectors().create(id, content, mutation).await?)
    }
    .await;
    if change.is_dry_run() {
        let warnings = validate_connector(&body.0, &LocalConnectorRules::from_state(&state)).warnings;
        return dry_run_response_with(outcome, warnings);
    }
    let connector = outcome?;
    publish_change(&state, AuditAction::Create, &connector.id, local).await;
    let warnings = list_warnings(&state, &connector);
    Ok(HttpResponse::Created().json(with_warnings(to_resource(&state, connector), warnings)))
}

pub(crate) async fn read(state: Data<AppState>, id: Path<String>) -> Answer {
    let connector = state.store.connectors().get(&id).await?.ok_or_else(|| not_found(&id))?;
    let tag = connector.entity_tag();
    Ok(tagged_response(tag, with_warnings(to_resource(&state, connector), Vec::new())))
}

pub(crate) async fn update(
    state: Data<AppState>,
    change: MutationRequest,
    id: Path<String>,
    body: JsonBody,
) -> Answer {
    let rules = LocalConnectorRules::from_state(&state);
    let merge: Merge<_> = Box::new(move |current| parse_connector_update(&body.0, current, &rules));
    store_update(&state, AuditAction::Update, &id, merge, &change, ReloadTiming::Now).await
}

/// `DELETE /connectors/{id}`: if no active definition names it, or with `force=true`.
pub(crate) async fn delete(state: Data<AppState>, change: MutationRequest, id: Path<String>) -> Answer {
    let mutation = connector_mutation(&change, AuditAction::Delete, &id);
    let local = state.begin_change(&mutation);
    let connectors = state.store.connectors();
    let outcome = match change.query.flag("force")? {
        true => connectors.delete(&id, mutation).await,
        false => connectors.delete_unused(&id, references(&state.serving.engine), mutation).await,
    };
    if change.is_dry_run() {
        return dry_run_response(outcome.map_err(Into::into));
    }
    outcome?;
    publish_change(&state, AuditAction::Delete, &id, local).await;
    Ok(HttpResponse::NoContent().finish())
}

/// `PATCH /connectors/{id}/status`: `active` loads the connector, `archived` takes it out of use. Idempotent.
pub(crate) async fn status(
    state: Data<AppState>,
    change: MutationRequest,
    id: Path<String>,
    body: JsonBody,
) -> Answer {
    let (reload, (target, _)) = (parse_reload_timing(&change.query)?, parse_target(&body.0)?);
    let enabled = target == LifecycleStatus::Active;
    let merge: Merge<_> =
        Box::new(move |current: &ConnectorContent| Ok(ConnectorContent { enabled, ..current.clone() }));
    let action = if enabled { AuditAction::StatusActive } else { AuditAction::StatusArchived };
    store_update(&state, action, &id, merge, &change, reload).await
}

/// `GET /connectors/export`: an import accepts the response once the hidden secrets are filled in.
pub(crate) async fn export(state: Data<AppState>, query: QueryParameters) -> Answer {
    let everything = Page { limit: i64::MAX, offset: 0 };
    let (rows, _) = state.store.connectors().list(filter(&query), everything).await?;
    Ok(list_response(rows.into_iter().map(ExportedConnector::from)))
}

/// `POST /connectors/import`: connectors are identified by their names. They take effect at once, so that other nodes
/// must learn of the change: it is one, however many items it has.
pub(crate) async fn import(
    state: Data<AppState>,
    change: MutationRequest,
    request: HttpRequest,
    body: SentJsonBody,
) -> Answer {
    require_trust(&state, &request, &body).await?;
    let mut names = HashSet::new();
    let rules = LocalConnectorRules::from_state(&state);
    let mutation = connector_mutation(&change, AuditAction::Import, "");
    let local = state.begin_change(&mutation);
    let parse = |item: &Value, unique: bool| {
        let (id, content) = parse_new_connector(item, &rules)?;
        if unique {
            refuse_duplicate_key(&mut names, EntityKind::Connector, &content.name)?;
        }
        Ok::<_, ServiceError>((id, content))
    };
    let stored = state.store.connectors();
    let store = async |items: Vec<(Option<String>, ConnectorContent)>, on_conflict| {
        let keys: Vec<String> = items.iter().map(|(_, content)| content.name.clone()).collect();
        let outcomes = stored.import(items, on_conflict, mutation.clone()).await?;
        let outcomes = outcomes.into_iter().zip(keys).map(|(outcome, key)| match outcome {
            // The report has the key of each item.
            Ok(imported) => Ok(ImportOutcome { id: key, action: imported.action }),
            Err(error) => Err(ServiceError::from(error)),
        });
        Ok::<ItemOutcomes, ServiceError>(outcomes.collect())
    };
    let warn = |(_, content): &(Option<String>, ConnectorContent)| {
        validate_connector(&content.hashable(), &rules).warnings
    };
    let report =
        import_batch(&state, &change, &body.value, EntityKind::Connector, parse, warn, store).await?;
    if has_written(&report) {
        reload_connectors(&state, ConnectorScope::All, local).await;
    }
    Ok(data_response(report))
}

/// `POST /connectors/validate`: reports the result of a create, and the references that cannot be resolved
/// now.
pub(crate) async fn validate(state: Data<AppState>, query: QueryParameters, body: JsonBody) -> Answer {
    // A validation writes nothing, with or without it.
    query.flag("dry_run")?;
    let mut report = validate_connector(&body.0, &LocalConnectorRules::from_state(&state));
    if let Some(config) = body.0.get("config") {
        let unresolved = state.serving.connectors.unresolved_texts(config).await;
        report.warnings.extend(unresolved.into_iter().map(|text| {
            Issue::new(format!("connector.config{}", text.path), text.reason)
                .with_code(FieldCode::UnresolvedSecretRef)
        }));
        // Only the library that reads the config can judge it.
        let kind = body.0.get("connector_type").and_then(Value::as_str).unwrap_or_default();
        if report.errors.is_empty()
            && report.warnings.iter().all(|issue| issue.code != Some(FieldCode::UnresolvedSecretRef))
            && let Some(error) = state.serving.connectors.unusable(kind, config).await
        {
            let message = format!("it would not load: {}", error.reason);
            report.warnings.push(Issue::new("connector.config", message).with_code(FieldCode::NotLoadable));
        }
    }
    Ok(data_response(ValidationResult::from(report)))
}

/// `POST /connectors/{id}/test`: probes the system behind the stored connector.
pub(crate) async fn test(
    state: Data<AppState>,
    caller: AdminCaller,
    id: Path<String>,
    query: QueryParameters,
) -> Answer {
    query.refuse_dry_run()?;
    let row = state.store.connectors().list_stored(Some(&id)).await?.pop().ok_or_else(|| not_found(&id))?;
    // Recorded before it happens, whatever its result.
    state.store.audit().record(caller.audit(AuditAction::Test, EntityKind::Connector, &id)).await?;
    state.metrics.record_audit_event(AuditAction::Test, EntityKind::Connector);
    let connector_type = row.connector_type.clone();
    let probe = state.serving.connectors.probe(row).await.map_err(ServiceError::from)?;
    Ok(data_response(ConnectorProbeResult {
        reachable: probe.reachable,
        supported: probe.supported,
        connector_type,
        probe: probe.probe.to_owned(),
        error: probe.error,
    }))
}

async fn store_update(
    state: &AppState,
    action: AuditAction,
    id: &str,
    merge: Merge<ConnectorContent>,
    change: &MutationRequest,
    reload: ReloadTiming,
) -> Answer {
    let mutation = Mutation { epoch: reload == ReloadTiming::Now, ..connector_mutation(change, action, id) };
    let local = state.begin_change(&mutation);
    let outcome =
        state.store.connectors().update(id, merge, references(&state.serving.engine), mutation).await;
    let warnings = outcome.as_ref().map(|connector| list_warnings(state, connector)).unwrap_or_default();
    if change.is_dry_run() {
        return dry_run_response_with(outcome.map_err(Into::into), warnings);
    }
    let connector = outcome?;
    match reload {
        ReloadTiming::Now => publish_change(state, action, id, local).await,
        ReloadTiming::Defer => state.metrics.record_audit_event(action, EntityKind::Connector),
    }
    Ok(HttpResponse::Ok().json(with_warnings(to_resource(state, connector), warnings)))
}

/// Lists the warnings of validation about a stored connector. The response itself shows its load status.
fn list_warnings(state: &AppState, connector: &Connector) -> Vec<Issue> {
    validate_connector(&connector.content.hashable(), &LocalConnectorRules::from_state(state)).warnings
}

/// Counts a committed change and reloads the connector.
async fn publish_change(state: &AppState, action: AuditAction, id: &str, change: LocalChange) {
    state.metrics.record_audit_event(action, EntityKind::Connector);
    reload_connectors(state, ConnectorScope::One(id.to_owned()), change).await;
}

/// Reloads connectors after a committed change, which remains even if the reload fails.
async fn reload_connectors(state: &AppState, scope: ConnectorScope, change: LocalChange) {
    match state.serving.connectors.reload(scope).await {
        Ok(()) => change.record_applied(),
        Err(error) => {
            slog::warn!(state.log, "a committed change of a connector is not in use"; "error" => %error);
        }
    }
}

/// Returns the connector as the API shows it, with its load status.
fn to_resource(state: &AppState, connector: Connector) -> ConnectorResource {
    // A connector that another node created has no status here before the next reload.
    let status = state.serving.connectors.status(&connector.id);
    let mut resource = ConnectorResource::from(connector);
    if let Some(status) = status {
        resource.load_status = Some(status.state.name().to_owned());
        if let LoadState::Failed(error) = status.state {
            resource.load_error = Some(error.reason);
            resource.load_error_stage = Some(error.stage.name().to_owned());
        }
    }
    resource
}

/// `GET /connectors/circuit-breakers`.
pub(crate) async fn breakers(state: Data<AppState>) -> HttpResponse {
    let list = state.serving.connectors.breakers();
    let hosts = state.serving.connectors.failing_hosts().into_iter();
    data_response(CircuitBreakerMap {
        enabled: list.is_some(),
        scope: "node".to_owned(),
        instance_id: state.process.instance_id.clone(),
        breakers: list.into_iter().flatten().map(|(key, breaker)| (key, breaker.name().to_owned())).collect(),
        hosts: hosts.map(to_host_state).collect(),
    })
}

fn to_host_state(breaker: HostBreaker) -> HostBreakerState {
    let HostBreaker { connector, host, state } = breaker;
    HostBreakerState { connector, host, state: state.name().to_owned() }
}

/// `POST /connectors/circuit-breakers/{key}`: closes a breaker, here and in every process that has one of that key.
pub(crate) async fn reset_breaker(
    state: Data<AppState>,
    caller: AdminCaller,
    key: Path<String>,
    query: QueryParameters,
    _: NoBody,
) -> Answer {
    query.refuse_dry_run()?;
    require_node(&state, &query)?;
    let exists = state.serving.connectors.breakers().into_iter().flatten().any(|(known, _)| known == *key);
    if !exists && !state.config.cluster.enabled {
        return Err(ServiceError::not_found(format!("circuit breaker '{key}' does not exist")).into());
    }
    // Recorded before it happens, so that nothing happens unrecorded. The record tells the other processes.
    let change_id = id::new_ordered_id();
    let local = state.serving.propagation.local.begin(change_id);
    let order = caller.audit(AuditAction::Reset, AuditResource::CircuitBreaker, &key);
    state.store.epoch().record_reset(&key, order, change_id).await?;
    state.metrics.record_audit_event(AuditAction::Reset, AuditResource::CircuitBreaker);
    let existed = state.serving.connectors.reset_breaker(&key);
    local.record_applied();
    Ok(data_response(CircuitBreakerReset { reset: true, key: key.into_inner(), found_on_this_node: existed }))
}

fn not_found(id: &str) -> ServiceError {
    ServiceError::not_found(format!("connector '{id}' does not exist"))
}
