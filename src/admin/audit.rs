//! Reads of the audit log, and the caller as it records them.

use actix_web::HttpResponse;
use actix_web::web::Data;
use svc_api::{AuditListEnvelope, AuditLogEntry, CallerIdentity};
use svc_model::Timestamp;
use svc_store::AuditFilter;

use super::query::{QueryParameters, check_range};
use super::response::data_response;
use crate::http::{AdminCaller, Error};
use crate::state::AppState;

/// `GET /audit-logs`, newest first unless asked for otherwise; the begin of the range is inclusive, its end exclusive.
pub(super) async fn list(state: Data<AppState>, query: QueryParameters) -> Result<HttpResponse, Error> {
    let page = query.page()?;
    let now = Timestamp::now();
    let (since, until) = (query.moment("since", now)?, query.moment("until", now)?);
    let (start_time, end_time) =
        (query.zoneless_moment("start_time", now)?, query.zoneless_moment("end_time", now)?);
    let (start_time, end_time) = check_range((since.or(start_time), until.or(end_time)))?;
    let filter = AuditFilter {
        action: query.any_of("action"),
        resource_type: query.any_of("resource_type"),
        resource_id: query.any_of("resource_id"),
        principal: query.any_of("principal"),
        start_time,
        end_time,
        oldest_first: query.order()?.as_deref() == Some("asc"),
        cursor: query.cursor()?.map(str::to_owned),
        without_total: query.leaves_out_total()?,
    };
    let entries = state.store.audit().list_page(filter, page).await?;
    Ok(HttpResponse::Ok().json(AuditListEnvelope {
        data: entries.rows.into_iter().map(AuditLogEntry::from).collect(),
        total: entries.total,
        limit: page.limit,
        offset: page.offset,
        next_cursor: entries.next_cursor,
        scanned_until: entries.scanned_until,
    }))
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
