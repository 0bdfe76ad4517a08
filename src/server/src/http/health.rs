//! Liveness, readiness, health and metrics. Reads levels and atomics only, so it answers while every worker hangs.

use actix_supervision::{NodeState, NodeView, TreeView};
use actix_web::http::header::RETRY_AFTER;
use actix_web::{HttpResponse, HttpResponseBuilder, web};
use serde_json::{Map, Value, json};
use svc_connectors::{BrokerHealth, LoadState};
use svc_cron::CronHealth;
use svc_epoch::EpochStatus;
use svc_model::ServiceError;
use svc_store::DatabaseStatus;

use super::{Error, RequestContext, exposition};
use crate::state::AppState;
use crate::tree::REGISTRY;

/// Milliseconds in a handler after which an actor counts as blocked; normal handlers take microseconds.
const HANGS: u64 = 1_000;
/// Largest number of nodes that is shown whole.
const SHOWN: usize = 1_000;
/// Seconds after which a client should retry.
const RETRY: u32 = 5;

/// `GET /healthz`: the process runs. Depends on no other component.
pub(crate) async fn healthz() -> HttpResponse {
    HttpResponse::Ok().json(json!({"status": "ok"}))
}

/// `GET /readyz`: tells a balancer whether to send requests.
pub(crate) async fn readyz(state: web::Data<AppState>) -> HttpResponse {
    let database = state.store.status() == DatabaseStatus::Ok;
    let initialized = state.is_initialized();
    let engine = is_engine_ok(&state);
    let ready = database && initialized;
    let mut body = json!({
        "status": if ready { "ready" } else { "not_ready" },
        "components": {"database": status_text(database, "error"), "engine": status_text(engine, "degraded"), "initialized": initialized},
    });
    // Brokers that are away make no node less able to serve than another.
    if let Some(troubles) = state.kafka_troubles() {
        body["components"]["kafka"] = status_text(troubles.is_empty(), "degraded").into();
    }
    if ready { HttpResponse::Ok().json(body) } else { unavailable().json(body) }
}

/// `GET /health`: the state of every component, for an admin with reasons. Only a lost database makes it a 503.
pub(crate) async fn health(state: web::Data<AppState>, context: RequestContext) -> HttpResponse {
    let database = state.store.status() == DatabaseStatus::Ok;
    let snapshot = state.registry.snapshot();
    let tree = state.tree.snapshot();
    let channels = snapshot.quarantined_count() == 0;
    let failed = failed_connectors(&state);
    let connectors = failed.is_empty();
    let reload = state.registry.reload_failure().is_none();
    let propagation = state.propagation.epoch.status().problem.is_none();
    let engine = is_engine_ok(&state);
    let actors = are_actors_healthy(&tree);
    let cron = are_schedules_healthy(&state, database);
    let troubles = state.kafka_troubles();
    let kafka = troubles.as_ref().map(Vec::is_empty);
    let exhaustion = state.descriptors.check();
    let certificate = state.certificates.as_ref().map(|certificates| certificates.problem());
    let degraded = !(exhaustion.is_none()
        && certificate.as_ref().is_none_or(Option::is_none)
        && kafka.unwrap_or(true)
        && database
        && connectors
        && channels
        && reload
        && propagation
        && engine
        && actors
        && cron.unwrap_or(true));
    let mut body = json!({
        "status": if degraded { "degraded" } else { "ok" },
        "version": crate::VERSION,
        "uptime_seconds": state.started_at.elapsed().as_secs(),
        "components": {
            "database": status_text(database, "error"),
            "engine": status_text(engine, "degraded"),
            "connectors": status_text(connectors, "degraded"),
            "channels": status_text(channels, "degraded"),
            "engine_reload": status_text(reload, "degraded"),
            "config_propagation": status_text(propagation, "degraded"),
            "actors": status_text(actors, "degraded"),
            "descriptors": status_text(exhaustion.is_none(), "degraded"),
        },
    });
    if let Some(well) = cron {
        body["components"]["cron"] = status_text(well, "degraded").into();
    }
    if let Some(well) = kafka {
        body["components"]["kafka"] = status_text(well, "degraded").into();
    }
    if let Some(problem) = &certificate {
        body["components"]["tls"] = status_text(problem.is_none(), "degraded").into();
    }
    if let (Some(_), Some(body)) = (&context.principal, body.as_object_mut()) {
        body.extend(operator_details(&state, &tree, failed));
        if let Some(troubles) = troubles {
            body.insert("kafka".into(), kafka_to_json(&state, &troubles));
        }
        if let Some(reason) = certificate.flatten() {
            body.insert("tls".into(), json!({"reason": reason}));
        }
        if let Some(exhaustion) = exhaustion {
            body.insert("descriptors".into(), json!({"reason": exhaustion.reason()}));
        }
    }
    if database { HttpResponse::Ok().json(body) } else { unavailable().json(body) }
}

/// `GET /metrics`: everything measured, as Prometheus text.
pub(crate) async fn metrics(state: web::Data<AppState>) -> Result<HttpResponse, Error> {
    // Sets the gauge of Kafka ingress.
    state.kafka_troubles();
    let text = state.metrics.render().map_err(ServiceError::internal_error)?;
    Ok(HttpResponse::Ok().content_type(exposition::CONTENT_TYPE).body(text))
}

/// Returns a 503 that invites a retry.
fn unavailable() -> HttpResponseBuilder {
    let mut answer = HttpResponse::ServiceUnavailable();
    answer.insert_header((RETRY_AFTER, RETRY));
    answer
}

/// Returns the details for operators.
fn operator_details(state: &AppState, tree: &TreeView, failed: Vec<Value>) -> Map<String, Value> {
    let snapshot = state.registry.snapshot();
    let quarantined: Vec<Value> = snapshot
        .quarantined()
        .into_iter()
        .map(|(entry, quarantine)| json!({"channel": entry.name(), "reason": quarantine.reason.as_ref()}))
        .collect();
    let mut details = Map::new();
    details.insert("git_hash".into(), crate::GIT_HASH.into());
    details.insert("build_timestamp".into(), crate::BUILD_TIMESTAMP.into());
    details.insert("workflows_loaded".into(), snapshot.workflows_count().into());
    if let DatabaseStatus::Down { since, detail } = state.store.status() {
        details.insert("database".into(), json!({"since": since.to_string(), "reason": detail}));
    }
    let breakers: Map<String, Value> = state
        .connectors
        .breakers()
        .into_iter()
        .flatten()
        .map(|(key, breaker)| (key, breaker.name().into()))
        .collect();
    details.insert(
        "connectors".into(),
        json!({"circuit_breaker_scope": "node", "circuit_breakers": breakers, "failed_to_load": failed}),
    );
    details.insert("channels".into(), json!({"quarantined": quarantined}));
    let EpochStatus { applied, current, problem } = state.propagation.epoch.status();
    details.insert("epoch".into(), json!({"applied": applied, "current": current, "problem": problem}));
    if let Some(cron) = &state.cron {
        details.insert("cron".into(), schedules_to_json(&cron.health()));
    }
    details.insert(
        "actors".into(),
        actors_to_json(tree, |nodes| super::actors::nodes_to_json(state, nodes.iter().copied())),
    );
    details.insert("notes".into(), notes(state));
    details
}

/// Returns hints for the operator about what works and was hardly meant so.
fn notes(state: &AppState) -> Value {
    let proxies = state.proxies.has_ignored().then_some(
        "forwarded headers were seen and ignored: rate_limit.trusted_proxies is empty, so all clients of a proxy \
         share its address",
    );
    proxies.into_iter().collect()
}

/// Returns the enabled connectors that could not be loaded, with reasons.
fn failed_connectors(state: &AppState) -> Vec<Value> {
    let statuses = state.connectors.statuses().into_iter();
    statuses
        .filter_map(|status| match status.state {
            LoadState::Failed(error) => Some(json!({
                "connector": &*status.name,
                "connector_id": &*status.id,
                "stage": error.stage.name(),
                "reason": error.reason,
            })),
            _ => None,
        })
        .collect()
}

/// Returns `true` if due occurrences run; `None` on a node that runs no schedules and has none.
fn are_schedules_healthy(state: &AppState, database: bool) -> Option<bool> {
    match &state.cron {
        Some(cron) => Some(database && cron.health().trouble.is_none()),
        None => (state.registry.snapshot().cron_count() > 0).then_some(false),
    }
}

fn schedules_to_json(health: &CronHealth) -> Value {
    let mut shown = json!({
        "last_reconcile_at": health.last_reconcile_at,
        "reconcile_age_secs": health.reconcile_age_secs,
        "oldest_pending_age_secs": health.oldest_pending_age_secs,
        "lease_renewal_failures": health.lease_renewal_failures,
        "scheduled_channels": health.scheduled_channels,
    });
    if let Some(reason) = &health.trouble {
        shown["reason"] = reason.as_str().into();
    }
    shown
}

/// Returns the state of Kafka: the problem of the brokers, and what is in trouble besides.
fn kafka_to_json(state: &AppState, troubles: &[String]) -> Value {
    let problem = state.brokers.as_ref().and_then(BrokerHealth::problem);
    let others = troubles.iter().filter(|trouble| Some(*trouble) != problem.as_ref());
    json!({
        "problem": problem,
        "ingest": others.collect::<Vec<_>>(),
        "assigned_partitions": state.kafka.as_ref().map_or(0, |kafka| kafka.partitions().len()),
    })
}

/// Returns the tree; of a large one only the nodes that do not run. The whole is at `GET /api/v1/admin/actors`.
fn actors_to_json(tree: &TreeView, show: impl Fn(&[&NodeView]) -> Vec<Value>) -> Value {
    let total = tree.nodes.len();
    if total <= SHOWN {
        return json!({"nodes": show(&tree.nodes.iter().collect::<Vec<_>>())});
    }
    let troubled: Vec<_> = tree.nodes.iter().filter(|node| node.state != NodeState::Running).collect();
    json!({"nodes": show(&troubled[..troubled.len().min(SHOWN)]), "truncated": true, "total": total,
        "running": total - troubled.len()})
}

/// Returns `true` if no node is quarantined, restarting, or blocked in a handler.
fn are_actors_healthy(tree: &TreeView) -> bool {
    tree.nodes.iter().all(|node| {
        !matches!(node.state, NodeState::Quarantined | NodeState::Restarting)
            && node.busy_ms.is_none_or(|busy| busy < HANGS)
    })
}

/// Returns `true` if a snapshot serves and the registry runs, so that changes are compiled. A snapshot goes on serving
/// while the registry restarts: readiness does not depend on this.
fn is_engine_ok(state: &AppState) -> bool {
    let registry = state.tree.node(REGISTRY.path);
    let is_running = registry.is_some_and(|node| node.state == NodeState::Running);
    is_running && state.registry.snapshot().generation() > 0
}

fn status_text(well: bool, otherwise: &'static str) -> &'static str {
    if well { "ok" } else { otherwise }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use actix_rt::System;
    use actix_supervision::Tree;
    use actix_web::App;
    use actix_web::test::{TestRequest, call_service, init_service, read_body_json};

    use super::*;
    use crate::{Config, Options, Service};

    fn tree(nodes: usize, restarting: usize) -> TreeView {
        actix_rt::System::new().block_on(async {
            let tree = Tree::builder("t").build();
            tree.add_group("g", actix_supervision::GroupSpec::new()).await.unwrap();
            let node = NodeView { state: NodeState::Running, ..tree.snapshot().nodes.remove(0) };
            let troubled = NodeView { state: NodeState::Restarting, ..node.clone() };
            TreeView {
                nodes: (0..nodes)
                    .map(|index| if index < restarting { troubled.clone() } else { node.clone() })
                    .collect(),
            }
        })
    }

    #[test]
    fn engine_is_degraded_once_the_registry_has_ended() {
        let directory = tempfile::tempdir().unwrap();
        System::new().block_on(async {
            let mut config = Config::default();
            config.storage.url = format!("sqlite:{}", directory.path().join("svc.db").display());
            let service = Service::start(config, Options::default()).await.unwrap();
            let app = init_service(App::new().configure(service.routes())).await;
            let engine = async || {
                let request = TestRequest::get().uri("/readyz").to_request();
                let body: Value = read_body_json(call_service(&app, request).await).await;
                body["components"]["engine"].clone()
            };
            assert_eq!(engine().await, "ok");
            service.shutdown(Duration::from_secs(5)).await;
            assert_eq!(engine().await, "degraded");
        });
    }

    #[test]
    fn a_large_tree_shows_what_does_not_run_and_counts_the_rest() {
        let plain = |nodes: &[&NodeView]| nodes.iter().map(|node| json!(node)).collect();
        let small = actors_to_json(&tree(SHOWN, 2), plain);
        assert_eq!((small["nodes"].as_array().map(Vec::len), small.get("truncated")), (Some(SHOWN), None));
        let large = actors_to_json(&tree(SHOWN + 1, 2), plain);
        assert_eq!(large["nodes"].as_array().map(Vec::len), Some(2));
        assert_eq!(
            (&large["truncated"], &large["total"], &large["running"]),
            (&json!(true), &json!(SHOWN + 1), &json!(SHOWN - 1))
        );
    }
}
