//! Reads of the audit log, the caller as it records them, and the id of the row that a request has written.

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::web::Data;
use actix_web::{Error as ActixError, HttpMessage, HttpResponse};
use svc_api::{AuditListEnvelope, AuditLogEntry, CallerIdentity};
use svc_model::Timestamp;
use svc_store::{AuditFilter, AuditReceipt};

use super::query::{QueryParameters, check_range};
use super::response::data_response;
use crate::http::{AdminCaller, Error};
use crate::state::AppState;

/// The header with the id of the audit row of a request.
const X_AUDIT_ID: HeaderName = HeaderName::from_static(svc_api::AUDIT_ID_HEADER);

/// Adds the id of the audit row that a request has written. A refusal has written none, or one that was rolled back.
pub(crate) async fn add_audit_id<B: MessageBody>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<B>, ActixError> {
    let receipt = AuditReceipt::default();
    request.extensions_mut().insert(receipt.clone());
    let mut response = next.call(request).await?;
    let id = receipt.id().filter(|_| response.status().is_success());
    if let Some(id) = id.and_then(|id| HeaderValue::try_from(id).ok()) {
        response.headers_mut().insert(X_AUDIT_ID, id);
    }
    Ok(response)
}

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
