//! The nodes that share the database.

use actix_web::HttpResponse;
use actix_web::web::Data;
use svc_api::{NodeFigures, NodeSummary};
use svc_store::{NodeRow, StoredFigures};

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
        figures: row.figures.and_then(to_figures),
    }
}

/// Returns stored figures with their age; `None` for those of a version that writes other ones.
fn to_figures(stored: StoredFigures) -> Option<NodeFigures> {
    let figures: NodeFigures = serde_json::from_str(&stored.json).ok()?;
    Some(NodeFigures { age_secs: stored.age_secs, ..figures })
}
