//! Batches of plugins with their components: export and import.

use std::collections::HashSet;

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use serde_json::Value;
use svc_api::ExportedPlugin;
use svc_model::{AuditAction, Code, ServiceError};
use svc_store::{ImportOutcome, OnConflict, PluginVersion};

use super::{PLUGIN, bodies};
use crate::admin::definitions::import::{
    ON_CONFLICT, begin_report, end_report, read_items, record_outage, record_outcome, require_trust,
};
use crate::admin::mutation_request::MutationRequest;
use crate::admin::query::QueryParameters;
use crate::admin::response::{data_response, list_response};
use crate::http::{Error, SentComponentBody};
use crate::state::AppState;

/// The member of a package with its plugins.
const PLUGINS: &str = "plugins";

/// `GET /plugins/export`: the latest versions with their components.
pub(crate) async fn export(state: Data<AppState>, query: QueryParameters) -> Result<HttpResponse, Error> {
    let stored = state.store.plugins();
    let mut exported = Vec::new();
    for version in stored.latest(query.text("id").as_deref()).await? {
        let component = stored.component(&version.digest).await?;
        let lost =
            || ServiceError::internal_error(format!("the component of '{}' is not stored", version.id));
        let component = component.ok_or_else(lost)?;
        exported.push(describe(version, component));
    }
    Ok(list_response(exported))
}

fn describe(version: PluginVersion, component: String) -> ExportedPlugin {
    ExportedPlugin {
        plugin_id: version.id,
        version: version.version,
        status: version.status.name().to_owned(),
        manifest: version.manifest,
        digest: version.digest,
        component,
        signature: version.signature,
        created_at: version.created_at,
        updated_at: version.updated_at,
    }
}

/// `POST /plugins/import`: creates plugins, and drafts of those whose content differs. None of them serves before it is
/// activated.
pub(crate) async fn import(
    state: Data<AppState>,
    change: MutationRequest,
    request: HttpRequest,
    body: SentComponentBody,
) -> Result<HttpResponse, Error> {
    let SentComponentBody(body) = body;
    require_trust(&state, &request, &body).await?;
    let on_conflict = change.query.one_of("on_conflict", &ON_CONFLICT)?;
    let items = read_items(&body.value, PLUGINS)?;
    let mut report = begin_report(change.is_dry_run());
    let mut ids = HashSet::new();
    for (index, item) in items.iter().enumerate() {
        let outcome = import_item(&state, &change, item, on_conflict, &mut ids).await;
        let outage = record_outcome(&state, PLUGIN, &mut report, index, outcome);
        if let Some(outage) = outage {
            record_outage(&mut report, index + 1..items.len(), outage)?;
            break;
        }
    }
    end_report(&state, &change, PLUGIN, &mut report).await;
    Ok(data_response(report))
}

async fn import_item(
    state: &Data<AppState>,
    change: &MutationRequest,
    item: &Value,
    on_conflict: OnConflict,
    ids: &mut HashSet<String>,
) -> Result<ImportOutcome, ServiceError> {
    let (id, new) = bodies::read_import_item(state, item).await?;
    if !ids.insert(id.clone()) {
        return Err(ServiceError::new(Code::Conflict, format!("plugin '{id}' stands twice in this batch")));
    }
    let mutation = change.mutation(AuditAction::Import, PLUGIN, &id);
    Ok(state.store.plugins().import_item(&id, new, on_conflict, mutation).await?)
}
