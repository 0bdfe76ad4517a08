//! The supervision tree for operators: what runs, how it got there, and the order to start a part afresh.

use actix_supervision::OrderError;
use actix_web::{HttpResponse, web};
use serde_json::json;
use svc_model::ServiceError;

use super::{Caller, Error};
use crate::state::AppState;

/// Mounts the endpoints below the admin base.
pub(crate) fn configure(cfg: &mut web::ServiceConfig) {
    cfg.service(web::resource("/actors").route(web::get().to(list)))
        .service(web::resource("/actors/{path:.+}/restart").route(web::post().to(restart)));
}

/// `GET /actors`: every node, depth first, and the last lifecycle events, oldest first.
async fn list(state: web::Data<AppState>) -> HttpResponse {
    let tree = state.tree.snapshot();
    HttpResponse::Ok().json(json!({"data": {"nodes": tree.nodes, "history": state.tree.history()}}))
}

/// `POST /actors/{path}/restart`: a new instance of an actor, or of every actor of a group; ends a quarantine.
async fn restart(
    state: web::Data<AppState>,
    path: web::Path<String>,
    caller: Caller,
) -> Result<HttpResponse, Error> {
    let path = path.into_inner();
    if state.tree.snapshot().node(&path).is_none() {
        return Err(refused(OrderError::Unknown).into());
    }
    // Recorded before it happens, so that nothing happens unrecorded.
    state.store.audit().record(caller.audit("restart", "actor", &path)).await?;
    state.metrics.audited("restart", "actor");
    state.tree.restart(&path).await.map_err(refused)?;
    let node = state.tree.snapshot().node(&path).cloned();
    Ok(HttpResponse::Ok().json(json!({"data": node})))
}

fn refused(error: OrderError) -> ServiceError {
    match error {
        OrderError::Unknown => ServiceError::not_found("No actor has this path"),
        refused => ServiceError::conflict(refused.to_string()),
    }
}
