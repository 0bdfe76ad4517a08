//! Reads of the audit log.

use actix_web::HttpResponse;
use actix_web::web::Data;
use svc_api::{AuditLogEntry, PageEnvelope};
use svc_store::AuditFilter;

use super::query::QueryParameters;
use crate::http::Error;
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
