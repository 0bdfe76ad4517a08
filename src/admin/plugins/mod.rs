//! Plugins, task functions in WebAssembly.
//!
//! A change of what serves is committed first. Then this node loads the plugins and the definitions, and the others do
//! as soon as they learn of the epoch.

mod batches;
mod bodies;

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use svc_api::{PageEnvelope, PluginDetail};
use svc_model::{AuditAction, AuditResource, FieldError, LifecycleStatus, ServiceError};
use svc_registry::ReloadScope;
use svc_store::PluginVersion;

pub(super) use self::batches::{export, import};
use crate::admin::definitions::references::references;
use crate::admin::mutation_request::{MutationRequest, dry_run_response};
use crate::admin::query::QueryParameters;
use crate::admin::response::{created_response, data_response, list_response};
use crate::assembly::plugins::PluginLoad;
use crate::http::{ComponentBody, Error, JsonBody};
use crate::state::AppState;

/// The resource type in audit rows.
const PLUGIN: AuditResource = AuditResource::Plugin;

/// `GET /plugins`: the versions of all plugins.
pub(super) async fn list(state: Data<AppState>, query: QueryParameters) -> Result<HttpResponse, Error> {
    let page = query.page()?;
    let (rows, total) = state.store.plugins().list(page).await?;
    let rows = rows.into_iter().map(|row| describe(&state, row));
    Ok(HttpResponse::Ok().json(PageEnvelope::new(rows, total, page)))
}

/// `POST /plugins`: creates a plugin as a draft.
pub(super) async fn create(
    state: Data<AppState>,
    change: MutationRequest,
    body: ComponentBody,
) -> Result<HttpResponse, Error> {
    let outcome: Result<PluginVersion, ServiceError> = async {
        let (id, new) = bodies::read_plugin(&state, body.0).await?;
        let mutation = change.mutation(AuditAction::Create, PLUGIN, &id);
        Ok(state.store.plugins().create(&id, new, mutation).await?)
    }
    .await;
    if change.is_dry_run() {
        return dry_run_response(outcome);
    }
    let plugin = outcome?;
    state.metrics.record_audit_event(AuditAction::Create, PLUGIN);
    Ok(created_response(describe(&state, plugin)))
}

/// `GET /plugins/{id}`: the versions of a plugin.
pub(super) async fn read(state: Data<AppState>, id: Path<String>) -> Result<HttpResponse, Error> {
    let versions = state.store.plugins().versions(&id).await?;
    if versions.is_empty() {
        return Err(ServiceError::not_found(format!("plugin '{id}' not found")).into());
    }
    Ok(list_response(versions.into_iter().map(|version| describe(&state, version))))
}

/// `PUT /plugins/{id}`: replaces the draft of a plugin, or makes one.
pub(super) async fn replace(
    state: Data<AppState>,
    change: MutationRequest,
    id: Path<String>,
    body: ComponentBody,
) -> Result<HttpResponse, Error> {
    let outcome: Result<PluginVersion, ServiceError> = async {
        let (name, new) = bodies::read_plugin(&state, body.0).await?;
        if name != *id {
            let message = format!("the path names the plugin '{id}'");
            return Err(FieldError::invalid("body.manifest.name", message).with_got(name).into());
        }
        let mutation = change.mutation(AuditAction::Update, PLUGIN, &id);
        Ok(state.store.plugins().save_draft(&id, new, mutation).await?)
    }
    .await;
    if change.is_dry_run() {
        return dry_run_response(outcome);
    }
    let plugin = outcome?;
    state.metrics.record_audit_event(AuditAction::Update, PLUGIN);
    Ok(data_response(describe(&state, plugin)))
}

/// `PATCH /plugins/{id}/status`: activates the draft of a plugin, or archives its active version.
pub(super) async fn change_status(
    state: Data<AppState>,
    change: MutationRequest,
    id: Path<String>,
    body: JsonBody,
) -> Result<HttpResponse, Error> {
    let status = bodies::read_status(&body.0)?;
    let action = match status {
        LifecycleStatus::Active => AuditAction::StatusActive,
        _ => AuditAction::StatusArchived,
    };
    let mutation = change.mutation(action, PLUGIN, &id);
    let local = state.begin_change(&mutation);
    let outcome: Result<PluginVersion, ServiceError> = async {
        let plugins = state.store.plugins();
        Ok(match status {
            LifecycleStatus::Active => plugins.activate(&id, mutation).await?,
            _ => plugins.archive(&id, references(&state.serving.engine), mutation).await?,
        })
    }
    .await;
    if change.is_dry_run() {
        return dry_run_response(outcome);
    }
    let plugin = outcome?;
    state.metrics.record_audit_event(action, PLUGIN);
    state.reload_after_change(ReloadScope::All, local).await;
    Ok(data_response(describe(&state, plugin)))
}

/// `DELETE /plugins/{id}`: deletes a plugin that is not active.
pub(super) async fn delete(
    state: Data<AppState>,
    change: MutationRequest,
    id: Path<String>,
) -> Result<HttpResponse, Error> {
    let mutation = change.mutation(AuditAction::Delete, PLUGIN, &id);
    let outcome = state.store.plugins().delete(&id, mutation).await;
    if change.is_dry_run() {
        return dry_run_response(outcome.map_err(Into::into));
    }
    outcome?;
    state.metrics.record_audit_event(AuditAction::Delete, PLUGIN);
    Ok(HttpResponse::NoContent().finish())
}

/// Shows a version with the state of its component on this node.
fn describe(state: &AppState, plugin: PluginVersion) -> PluginDetail {
    let is_active = plugin.status == LifecycleStatus::Active;
    let load = is_active.then(|| state.serving.plugins.state(&plugin.id, &plugin.digest));
    let (load, load_error) = match load {
        None => (None, None),
        Some(PluginLoad::Compiling) => (Some("compiling"), None),
        Some(PluginLoad::Ready) => (Some("ready"), None),
        Some(PluginLoad::Failed(reason)) => (Some("failed"), Some(reason)),
    };
    PluginDetail {
        plugin_id: plugin.id,
        version: plugin.version,
        status: plugin.status.name().to_owned(),
        manifest: plugin.manifest,
        digest: plugin.digest,
        signed: plugin.signature.is_some(),
        load: load.map(str::to_owned),
        load_error,
        created_at: plugin.created_at,
        updated_at: plugin.updated_at,
    }
}
