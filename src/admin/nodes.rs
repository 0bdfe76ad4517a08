//! The nodes that share the database.

use actix_web::HttpResponse;
use actix_web::web::Data;
use svc_api::NodeSummary;
use svc_store::NodeRow;

use super::response::list_response;
use crate::http::Error;
use crate::state::AppState;

/// `GET /nodes`, the youngest first: those that live, and for a day those that are gone.
pub(super) async fn list(state: Data<AppState>) -> Result<HttpResponse, Error> {
    let this = state.work.nodes.id();
    let rows = state.store.nodes().list().await?;
    Ok(list_response(rows.into_iter().map(|row| to_summary(row, &this))))
}

/// Returns a row as the API shows it; `this` is the node that answers.
fn to_summary(row: NodeRow, this: &str) -> NodeSummary {
    NodeSummary {
        is_this: row.id == this,
        id: row.id,
        status: row.status.name().to_owned(),
        version: row.version,
        pid: row.pid,
        started_at: row.started_at,
        renewed_at: row.renewed_at,
        lease_until: row.lease_until,
        stopped_at: row.stopped_at,
        applied_epoch: row.applied_epoch,
        encryption_key_ids: row.encryption_key_ids,
    }
}
