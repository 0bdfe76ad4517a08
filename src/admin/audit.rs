//! Reads of the audit log, and the caller as it records them.

use actix_web::HttpResponse;
use actix_web::web::Data;
use svc_api::{AuditLogEntry, CallerIdentity, PageEnvelope};
use svc_store::AuditFilter;

use super::query::QueryParameters;
use super::response::data_response;
use crate::http::{AdminCaller, Error};
use crate::state::AppState;

/// `GET /audit-logs`, newest first; `start_time` inclusive, `end_time` exclusive.
pub(super) async fn list(state: Data<AppState>, query: QueryParameters) -> Result<HttpResponse, Error> {
    let page = query.page()?;
    let filter = AuditFilter {
        action: query.text("action"),
        resource_type: query.text("resource_type"),
        resource_id: query.text("resource_id"),
        principal: query.text("principal"),
        start_time: query.instant("start_time")?,
        end_time: query.instant("end_time")?,
    };
    let (rows, total) = state.store.audit().list(filter, page).await?;
    Ok(HttpResponse::Ok().json(PageEnvelope::new(rows.into_iter().map(AuditLogEntry::from), total, page)))
}

/// `GET /whoami`.
pub(super) async fn whoami(caller: AdminCaller) -> HttpResponse {
    let principal = caller.principal;
    data_response(CallerIdentity {
        principal: principal.name().to_owned(),
        key_id: principal.key_id().map(str::to_owned),
        access: principal.access().name().to_owned(),
    })
}
