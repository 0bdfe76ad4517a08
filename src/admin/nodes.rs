//! The nodes that share the database, and requests that are for one of them.

use actix_web::HttpResponse;
use actix_web::web::Data;
use svc_api::{DataEnvelope, DrainedNode, NodeFigures, NodeSummary};
use svc_model::{AuditAction, AuditResource, Code, FieldError, ServiceError};
use svc_store::{NodeRow, StoredFigures};

use super::query::QueryParameters;
use super::request_body::NoBody;
use super::response::list_response;
use crate::http::{AdminCaller, Error};
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

/// Refuses a request that is for another node; one that names none is for any.
///
/// # Errors
/// 421 with the ids of both nodes.
pub(crate) fn require_node(state: &AppState, query: &QueryParameters) -> Result<(), ServiceError> {
    let this = state.work.nodes.id();
    match query.text("node") {
        Some(node) if node != *this && node != state.process.instance_id => {
            let message = format!("the request is for node '{node}', and this is node '{this}'");
            Err(ServiceError::new(Code::MisdirectedRequest, message))
        }
        _ => Ok(()),
    }
}

/// `POST /nodes/drain`: begins the end of this node, as the signal to terminate does.
pub(super) async fn drain(
    state: Data<AppState>,
    caller: AdminCaller,
    query: QueryParameters,
    _: NoBody,
) -> Result<HttpResponse, Error> {
    query.refuse_dry_run()?;
    // A load balancer would choose the node otherwise.
    query.text("node").ok_or_else(|| FieldError::required("query.node"))?;
    require_node(&state, &query)?;
    let node = state.work.nodes.id();
    // Recorded before it happens, so that nothing happens unrecorded.
    state.store.audit().record(caller.audit(AuditAction::Drain, AuditResource::Node, &node)).await?;
    state.metrics.record_audit_event(AuditAction::Drain, AuditResource::Node);
    slog::info!(state.log, "drain ordered"; "node" => &*node, "principal" => caller.principal.name());
    state.process.lifecycle.drain();
    let server = &state.config.server;
    Ok(HttpResponse::Accepted().json(DataEnvelope {
        data: DrainedNode {
            node: node.to_string(),
            accepting_for_secs: server.shutdown_drain_secs,
            force_after_secs: server.shutdown_force_timeout_secs,
        },
    }))
}
