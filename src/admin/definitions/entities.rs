//! Create, read, list, update, delete, versions, export and validation: the same for every versioned kind.

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use svc_api::{PageEnvelope, WarnedEnvelope};
use svc_model::{AuditAction, EntityTag, Issue, LifecycleStatus, Page, ServiceError, lifecycle};
use svc_store::{AnyOf, EntityFilter, Mutation};

use super::admin_entity::AdminEntity;
use super::references::references;
use crate::admin::mutation_request::{
    MutationRequest, dry_run_response, dry_run_response_with, parse_version,
};
use crate::admin::query::QueryParameters;
use crate::admin::response::{
    created_response, data_response, list_response, tagged_response, with_warnings,
};
use crate::http::{Error, JsonBody, OptionalJsonBody};
use crate::state::AppState;

type Answer = Result<HttpResponse, Error>;

/// Returns the filter of an export: the status is that of the latest version, which it has.
fn filter(query: &QueryParameters) -> EntityFilter {
    EntityFilter {
        status: query.any_of("status"),
        shown_statuses: Vec::new(),
        tag: query.text("tag"),
        channel_type: query.text("channel_type"),
        protocol: query.text("protocol"),
        sort_by: query.text("sort_by"),
        sort_order: query.text("sort_order"),
    }
}

/// Returns the filter of a list: what serves is active, whatever its latest version is.
fn serving_filter(query: &QueryParameters) -> Result<EntityFilter, ServiceError> {
    let filter = filter(query);
    let sort_order = query.order()?.or(filter.sort_order);
    let names = filter.status.as_ref().map(AnyOf::values).unwrap_or_default();
    let shown_statuses = names.iter().filter_map(|name| LifecycleStatus::parse(name)).collect();
    Ok(EntityFilter { status: None, shown_statuses, sort_order, ..filter })
}

pub(crate) async fn list<V: AdminEntity>(state: Data<AppState>, query: QueryParameters) -> Answer {
    let page = query.page()?;
    let (rows, total) = V::repository(&state).list(serving_filter(&query)?, page).await?;
    let ids: Vec<String> = rows.iter().map(|row| row.id().to_owned()).collect();
    let serving = V::repository(&state).serving_versions(ids).await?;
    let resources = rows.into_iter().map(|row| {
        let (version, id) = (serving.get(row.id()).copied(), row.id().to_owned());
        V::with_serving_state(&state, &id, V::with_active_version(V::Resource::from(row), version))
    });
    Ok(HttpResponse::Ok().json(PageEnvelope::new(resources, total, page)))
}

/// Returns one page of a list.
fn page_of<V: AdminEntity>(rows: Vec<V>, total: i64, asked: Page) -> HttpResponse {
    HttpResponse::Ok().json(PageEnvelope::new(rows.into_iter().map(V::Resource::from), total, asked))
}

pub(crate) async fn export<V: AdminEntity>(state: Data<AppState>, query: QueryParameters) -> Answer {
    let rows = V::repository(&state).export(filter(&query)).await?;
    Ok(list_response(rows.into_iter().map(V::Resource::from)))
}

pub(crate) async fn create<V: AdminEntity>(
    state: Data<AppState>,
    change: MutationRequest,
    body: JsonBody,
) -> Answer {
    let mutation = change.mutation(AuditAction::Create, V::KIND, "");
    let outcome: Result<V, ServiceError> = async {
        let (id, content) = V::parse_new(&state, &body.0)?;
        Ok(V::repository(&state).create(id, content, mutation).await?)
    }
    .await;
    if change.is_dry_run() {
        let warnings = V::validate(&state, &body.0).await?.warnings;
        return dry_run_response_with(outcome, warnings);
    }
    let entity = outcome?;
    state.metrics.record_audit_event(AuditAction::Create, V::KIND);
    let warnings = list_warnings::<V>(&state, &entity).await;
    Ok(HttpResponse::Created().json(with_warnings(V::Resource::from(entity), warnings)))
}

/// Lists the warnings of validation. The change is stored: a failed lookup yields no warnings.
pub(crate) async fn list_warnings<V: AdminEntity>(state: &AppState, entity: &V) -> Vec<Issue> {
    let mut warnings = V::content_warnings(state, entity.content());
    warnings.extend(V::missing_definitions(state, entity.content()).await.unwrap_or_default());
    warnings
}

pub(crate) async fn read<V: AdminEntity>(state: Data<AppState>, id: Path<String>) -> Answer {
    let (tag, envelope) = read_latest::<V>(&state, &id).await?;
    Ok(tagged_response(tag, envelope))
}

/// Reads the latest version of an entity as the API shows it, with its tag.
pub(crate) async fn read_latest<V: AdminEntity>(
    state: &AppState,
    id: &str,
) -> Result<(EntityTag, WarnedEnvelope<V::Resource>), ServiceError> {
    let entity = V::repository(state).latest(id).await?;
    let entity = entity.ok_or_else(|| not_found::<V>(id))?;
    let warnings = V::load_warnings(state, id);
    let tag = entity.entity_tag();
    let serving = V::repository(state).serving_versions(vec![entity.id().to_owned()]).await?;
    let version = serving.get(entity.id()).copied();
    let resource = V::with_active_version(V::Resource::from(entity), version);
    let resource = V::with_serving_state(state, id, resource);
    Ok((tag, with_warnings(resource, warnings)))
}

pub(crate) async fn update<V: AdminEntity>(
    state: Data<AppState>,
    change: MutationRequest,
    id: Path<String>,
    body: JsonBody,
) -> Answer {
    let mutation = change.mutation(AuditAction::Update, V::KIND, &id);
    let outcome = V::repository(&state).update(&id, V::merge_update(&state, body.0), mutation).await;
    let warnings = match &outcome {
        Ok(entity) => list_warnings::<V>(&state, entity).await,
        Err(_) => Vec::new(),
    };
    if change.is_dry_run() {
        return dry_run_response_with(outcome.map_err(Into::into), warnings);
    }
    let entity = outcome?;
    state.metrics.record_audit_event(AuditAction::Update, V::KIND);
    Ok(HttpResponse::Ok().json(with_warnings(V::Resource::from(entity), warnings)))
}

/// `DELETE /{kind}/{id}`: every version, if no active definition needs it, or with `force=true`.
pub(crate) async fn delete<V: AdminEntity>(
    state: Data<AppState>,
    change: MutationRequest,
    id: Path<String>,
) -> Answer {
    let mutation = Mutation { epoch: true, ..change.mutation(AuditAction::Delete, V::KIND, &id) };
    let local = state.begin_change(&mutation);
    let stored = V::repository(&state);
    let mut warnings = Vec::new();
    let outcome = match change.query.flag("force")? {
        true => {
            warnings = list_users::<V>(&state, &id).await;
            stored.delete(&id, mutation).await
        }
        false => stored.delete_unused(&id, references(&state.serving.engine), mutation).await,
    };
    if change.is_dry_run() {
        return dry_run_response_with(outcome.map_err(Into::into), warnings);
    }
    outcome?;
    for warning in warnings {
        slog::warn!(state.log, "deleted by force"; V::KIND.name() => &*id, "reason" => warning.message);
    }
    state.metrics.record_audit_event(AuditAction::Delete, V::KIND);
    state.reload_after_change(V::reload_scope(&id), local).await;
    Ok(HttpResponse::NoContent().finish())
}

/// Lists the active definitions that need this id to be active. A failed lookup yields no warnings.
pub(crate) async fn list_users<V: AdminEntity>(state: &AppState, id: &str) -> Vec<Issue> {
    let users = V::repository(state).users(id, references(&state.serving.engine)).await.unwrap_or_default();
    let to_issue =
        |user| Issue::root(format!("{user} needs {} '{id}': change it, or archive it too", V::KIND.name()));
    users.into_iter().map(to_issue).collect()
}

pub(crate) async fn versions<V: AdminEntity>(
    state: Data<AppState>,
    id: Path<String>,
    query: QueryParameters,
) -> Answer {
    let page = query.page()?;
    let (rows, total) = V::repository(&state).versions(&id, page).await?;
    Ok(page_of::<V>(rows, total, page))
}

/// `POST /{kind}/{id}/versions`: copies the latest version, or `from_version`, into a new draft.
pub(crate) async fn new_version<V: AdminEntity>(
    state: Data<AppState>,
    change: MutationRequest,
    id: Path<String>,
    body: OptionalJsonBody,
) -> Answer {
    let from_version = parse_version(&body.0, "from_version")?;
    let mutation = change.mutation(AuditAction::CreateVersion, V::KIND, &id);
    let outcome = V::repository(&state).copy_version(&id, from_version, mutation).await;
    if change.is_dry_run() {
        return dry_run_response(outcome.map_err(Into::into));
    }
    let entity = outcome?;
    state.metrics.record_audit_event(AuditAction::CreateVersion, V::KIND);
    Ok(created_response(V::Resource::from(entity)))
}

pub(crate) async fn validate<V: AdminEntity>(
    state: Data<AppState>,
    query: QueryParameters,
    body: JsonBody,
) -> Answer {
    // A validation writes nothing, with or without it.
    query.flag("dry_run")?;
    let report = V::validate(&state, &body.0).await?;
    Ok(data_response(V::to_report(report, &body.0)))
}

pub(crate) fn not_found<V: AdminEntity>(id: &str) -> ServiceError {
    lifecycle::absent(V::KIND, id)
}
