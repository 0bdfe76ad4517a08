//! Receipts of packages. An apply runs in the client; the server keeps the record of its beginning and its end.

use actix_web::HttpResponse;
use actix_web::web::{Data, Path};
use svc_api::{PackageDetail, PageEnvelope, Receipt};
use svc_model::{AuditAction, AuditResource, NewReceipt, PackageReceipt, ReceiptState, ServiceError};

use super::mutation_request::{MutationRequest, dry_run_response};
use super::query::QueryParameters;
use super::response::data_response;
use crate::http::{Error, JsonBody};
use crate::state::AppState;

/// The resource type of packages in audit rows.
const PACKAGE: AuditResource = AuditResource::Package;

/// `GET /packages`: the receipts by name, newest first within a name.
pub(super) async fn list(state: Data<AppState>, query: QueryParameters) -> Result<HttpResponse, Error> {
    let page = query.page()?;
    let (rows, total) = state.store.packages().list(page).await?;
    Ok(HttpResponse::Ok().json(PageEnvelope::new(rows.into_iter().map(Receipt::from), total, page)))
}

/// `GET /packages/{name}`: the version that the package has here, and the receipts of all its versions.
pub(super) async fn read(state: Data<AppState>, name: Path<String>) -> Result<HttpResponse, Error> {
    let versions = state.store.packages().versions(&name).await?;
    if versions.is_empty() {
        return Err(ServiceError::not_found(format!("package '{name}' does not exist")).into());
    }
    Ok(data_response(PackageDetail::new(&name, versions)))
}

/// `PUT /packages/{name}`: stores the receipt of a version.
pub(super) async fn put(
    state: Data<AppState>,
    change: MutationRequest,
    name: Path<String>,
    body: JsonBody,
) -> Result<HttpResponse, Error> {
    let outcome: Result<PackageReceipt, ServiceError> = async {
        let receipt = NewReceipt::parse(&name, &body.0)?;
        let id = format!("{name}@{}", receipt.version);
        let mutation = change.mutation(action(receipt.state), PACKAGE, &id);
        Ok(state.store.packages().put(receipt, mutation).await?)
    }
    .await;
    if change.is_dry_run() {
        return dry_run_response(outcome);
    }
    let receipt = outcome?;
    state.metrics.record_audit_event(action(receipt.state), PACKAGE);
    Ok(data_response(Receipt::from(receipt)))
}

const fn action(state: ReceiptState) -> AuditAction {
    match state {
        ReceiptState::Staged => AuditAction::PackageStaged,
        ReceiptState::Applied => AuditAction::PackageApplied,
    }
}
