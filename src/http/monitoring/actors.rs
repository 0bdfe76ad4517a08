//! The supervision tree for operators: nodes, history, and restarts on demand.

use std::collections::HashMap;

use actix_supervision::{EventKind, LifecycleEvent, NodeKind, NodeView, OrderError};
use actix_web::{HttpResponse, web};
use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::json;
use svc_api::{ActorEvent, ActorNode, ActorTree, DataEnvelope};
use svc_model::{AuditAction, AuditResource, ServiceError};

use crate::admin::{QueryParameters, require_node};
use crate::assembly::parts::connectors::CONNECTORS;
use crate::http::{AdminCaller, Error};
use crate::router::Router;
use crate::state::AppState;

/// Adds the endpoints to a router, below the admin base.
pub(crate) fn add_routes(router: &mut Router) {
    router.get("/actors", list);
    router.post("/actors/{path:.+}/restart", restart);
}

/// `GET /actors`: every node, depth first, and the last lifecycle events, oldest first.
async fn list(state: web::Data<AppState>) -> HttpResponse {
    let nodes = list_nodes(&state, &state.tree.snapshot().nodes);
    let history = state.tree.history().into_iter().map(to_actor_event).collect();
    HttpResponse::Ok().json(DataEnvelope { data: ActorTree { nodes, history } })
}

/// Returns nodes as the API shows them. A node of a connector has its name in addition to its path, which holds the id.
pub(crate) fn list_nodes<'n>(
    state: &AppState,
    nodes: impl IntoIterator<Item = &'n NodeView>,
) -> Vec<ActorNode> {
    let names: HashMap<_, _> =
        state.serving.connectors.statuses().into_iter().map(|status| (status.id, status.name)).collect();
    let shown = nodes.into_iter().map(|node| {
        let connector = connector_id(node.path.as_str()).and_then(|id| names.get(id));
        ActorNode { connector: connector.map(|name| name.to_string()), ..to_actor_node(node) }
    });
    shown.collect()
}

/// Returns a node without the name of its connector.
pub(crate) fn to_actor_node(node: &NodeView) -> ActorNode {
    ActorNode {
        path: node.path.to_string(),
        kind: kind_name(node.kind).to_owned(),
        state: node.state.name().to_owned(),
        generation: node.generation,
        restarts: node.restarts,
        mailbox_depth: node.mailbox_depth,
        mailbox_bound: node.mailbox_bound,
        mailbox_high_water: node.mailbox_high_water,
        handled: node.handled,
        thread: node.thread.clone(),
        handling: node.handling.map(str::to_owned),
        busy_ms: node.busy_ms,
        last_exit: node.last_exit.clone(),
        quarantine_reason: node.quarantine_reason.clone(),
        retry_in_ms: node.retry_in_ms,
        needs: node.needs.iter().map(ToString::to_string).collect(),
        fingerprint: node.fingerprint.clone(),
        uptime_ms: node.uptime_ms,
        connector: None,
    }
}

fn kind_name(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Actor => "actor",
        NodeKind::Group => "group",
    }
}

fn to_actor_event(event: LifecycleEvent) -> ActorEvent {
    let mut shown = ActorEvent {
        seq: event.seq,
        at: DateTime::<Utc>::from(event.at).to_rfc3339_opts(SecondsFormat::Millis, true),
        path: event.path.to_string(),
        generation: event.generation,
        event: String::new(),
        exit: None,
        after_ms: None,
        reason: None,
        recent: event.recent.into_iter().map(str::to_owned).collect(),
    };
    let name = match event.kind {
        EventKind::Started => "started",
        EventKind::Exited { exit } => {
            shown.exit = Some(json!(exit));
            "exited"
        }
        EventKind::RestartScheduled { after_ms } => {
            shown.after_ms = Some(after_ms);
            "restart_scheduled"
        }
        EventKind::Quarantined { reason } => {
            shown.reason = Some(reason);
            "quarantined"
        }
        EventKind::Released => "released",
        EventKind::Draining => "draining",
        EventKind::Stopped => "stopped",
        EventKind::Replaced => "replaced",
        EventKind::Escalated { reason } => {
            shown.reason = Some(reason);
            "escalated"
        }
    };
    shown.event = name.to_owned();
    shown
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
    require_node(&state, &query)?;
    let path = path.into_inner();
    if state.tree.snapshot().node(&path).is_none() {
        return Err(restart_error(OrderError::Unknown).into());
    }
    // Recorded before it happens, so that nothing happens unrecorded.
    state.store.audit().record(caller.audit(AuditAction::Restart, AuditResource::Actor, &path)).await?;
    state.metrics.record_audit_event(AuditAction::Restart, AuditResource::Actor);
    state.tree.restart(&path).await.map_err(restart_error)?;
    let node = state.tree.snapshot().node(&path).map(to_actor_node);
    Ok(HttpResponse::Ok().json(DataEnvelope { data: node }))
}

fn restart_error(error: OrderError) -> ServiceError {
    match error {
        OrderError::Unknown => {
            ServiceError::not_found("No actor has this path; GET /api/v1/admin/actors lists them")
        }
        refused => ServiceError::conflict(refused.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use actix_supervision::{Exit, NodePath, StartError, Tree};

    use super::*;

    #[test]
    fn node_is_sent_as_the_tree_serialises() {
        actix_rt::System::new().block_on(async {
            let tree = Tree::builder("t").build();
            tree.add_group("g", actix_supervision::GroupSpec::new()).await.unwrap();
            let node = tree.snapshot().nodes.remove(0);
            assert_eq!(json!(to_actor_node(&node)).to_string(), json!(node).to_string());
        });
        let reason = || "because".to_owned();
        for kind in [
            EventKind::Started,
            EventKind::Exited { exit: Exit::Failed { reason: reason() } },
            EventKind::Exited { exit: Exit::StartFailed(StartError::Config(reason())) },
            EventKind::RestartScheduled { after_ms: 7 },
            EventKind::Quarantined { reason: reason() },
            EventKind::Released,
            EventKind::Draining,
            EventKind::Stopped,
            EventKind::Replaced,
            EventKind::Escalated { reason: reason() },
        ] {
            let path = NodePath::parse("g/a").unwrap();
            let event = LifecycleEvent {
                seq: 1,
                at: SystemTime::UNIX_EPOCH,
                path,
                generation: 2,
                kind,
                recent: vec!["m"],
            };
            assert_eq!(json!(to_actor_event(event.clone())).to_string(), json!(event).to_string());
        }
    }

    #[test]
    fn connector_id_is_parsed_from_actor_path() {
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
