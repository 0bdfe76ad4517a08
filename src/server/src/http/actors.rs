//! The supervision tree for operators: nodes, history, and restarts on demand.

use std::collections::HashMap;

use actix_supervision::{NodeView, OrderError};
use actix_web::{HttpResponse, web};
use serde_json::{Value, json};
use svc_model::ServiceError;

use super::{AdminCaller, Error};
use crate::admin::QueryParameters;
use crate::route_table::RouteTable;
use crate::state::AppState;
use crate::tree::CONNECTORS;

/// Adds the endpoints to a table of routes below the admin base.
pub(crate) fn add_routes(table: &mut RouteTable) {
    table.get("/actors", list);
    table.post("/actors/{path:.+}/restart", restart);
}

/// `GET /actors`: every node, depth first, and the last lifecycle events, oldest first.
async fn list(state: web::Data<AppState>) -> HttpResponse {
    let nodes = nodes_to_json(&state, &state.tree.snapshot().nodes);
    HttpResponse::Ok().json(json!({"data": {"nodes": nodes, "history": state.tree.history()}}))
}

/// Returns nodes as JSON. A node of a connector has its name beside its path, which holds the id.
pub(super) fn nodes_to_json<'n>(
    state: &AppState,
    nodes: impl IntoIterator<Item = &'n NodeView>,
) -> Vec<Value> {
    let names: HashMap<_, _> =
        state.connectors.statuses().into_iter().map(|status| (status.id, status.name)).collect();
    let shown = nodes.into_iter().map(|node| {
        let mut shown = json!(node);
        if let Some(name) = connector_id(node.path.as_str()).and_then(|id| names.get(id)) {
            shown["connector"] = Value::from(&**name);
        }
        shown
    });
    shown.collect()
}

/// Returns the id of the connector that a node runs for. A replacement actor has a number after the id.
fn connector_id(path: &str) -> Option<&str> {
    let (group, rest) = path.split_once('/')?;
    let id = rest.split('/').next().filter(|_| group == CONNECTORS.path)?;
    Some(match id.rsplit_once('~') {
        Some((id, number)) if number.bytes().all(|digit| digit.is_ascii_digit()) => id,
        _ => id,
    })
}

/// `POST /actors/{path}/restart`: restarts an actor, or every actor of a group; ends a quarantine.
async fn restart(
    state: web::Data<AppState>,
    path: web::Path<String>,
    caller: AdminCaller,
    query: QueryParameters,
) -> Result<HttpResponse, Error> {
    query.refuse_dry_run()?;
    let path = path.into_inner();
    if state.tree.snapshot().node(&path).is_none() {
        return Err(restart_error(OrderError::Unknown).into());
    }
    // Recorded before it happens, so that nothing happens unrecorded.
    state.store.audit().record(caller.audit("restart", "actor", &path)).await?;
    state.metrics.record_audit_event("restart", "actor");
    state.tree.restart(&path).await.map_err(restart_error)?;
    let node = state.tree.snapshot().node(&path).cloned();
    Ok(HttpResponse::Ok().json(json!({"data": node})))
}

fn restart_error(error: OrderError) -> ServiceError {
    match error {
        OrderError::Unknown => ServiceError::not_found("No actor has this path"),
        refused => ServiceError::conflict(refused.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_of_a_connector_is_read_off_the_path_of_its_actor() {
        for (path, id) in [
            ("connectors/crm", Some("crm")),
            ("connectors/crm~2", Some("crm")),
            ("connectors/a~b", Some("a~b")),
            ("connectors/crm/pool", Some("crm")),
            ("channels/crm", None),
            ("connectors", None),
        ] {
            assert_eq!(connector_id(path), id, "{path}");
        }
    }
}
