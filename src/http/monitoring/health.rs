//! Liveness, readiness, health and metrics. Reads levels and atomics only, so it answers while every worker hangs; but
//! readiness asks the Redis server of a cluster.

use std::sync::Arc;

use actix_supervision::{NodeState, NodeView, TreeView};
use actix_web::http::header::{ACCEPT, RETRY_AFTER};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder, web};
use svc_api::{
    ActorNode, ActorsHealth, ChannelsHealth, ClusterRedisHealth, ConnectorsHealth, DatabaseOutage,
    DeadLettersHealth, DescriptorsHealth, EpochHealth, FailedConnector, HealthComponents, HealthReport,
    KafkaHealth, LivenessReport, PausedName, QuarantinedName, ReadinessComponents, ReadinessReport,
    SchedulesHealth, TlsHealth,
};
use svc_cluster::epoch::EpochStatus;
use svc_connectors::{BrokerHealth, LoadState};
use svc_cron::CronHealth;
use svc_model::ServiceError;
use svc_registry::LoadedChannel;
use svc_store::DatabaseStatus;
use tokio::time::timeout;

use super::exposition::ExpositionFormat;
use super::level_metrics;
use crate::assembly::parts::registry::REGISTRY;
use crate::http::{Error, RequestContext};
use crate::settings;
use crate::state::{AppState, NodeWork, ServingDefinitions};

/// Milliseconds in a handler after which an actor counts as blocked; normal handlers take microseconds.
const HANGS: u64 = 1_000;
/// Largest number of nodes that is shown whole.
const SHOWN: usize = 1_000;
/// Channels that a note names.
const NAMED: usize = 20;
/// Seconds after which a client should retry.
const RETRY: u32 = 5;

/// `GET /healthz`: the process runs. Depends on no other component.
pub(crate) async fn healthz() -> HttpResponse {
    HttpResponse::Ok().json(LivenessReport { status: "ok".to_owned() })
}

/// `GET /readyz`: answers a balancer that asks whether to send requests.
pub(crate) async fn readyz(state: web::Data<AppState>) -> HttpResponse {
    let database = state.store.status() == DatabaseStatus::Ok;
    let initialized = state.is_initialized();
    let engine = is_engine_ok(&state);
    let redis = ask_cluster_redis(&state).await.map(|answer| answer.is_ok());
    let ready = state.is_ready(redis);
    let packages = &state.process.packages;
    // Brokers that are away make no node less able to serve than another.
    let kafka = state.kafka_troubles().map(|troubles| status_text(troubles.is_empty(), "degraded"));
    let body = ReadinessReport {
        status: if ready { "ready" } else { "not_ready" }.to_owned(),
        components: ReadinessComponents {
            database: status_text(database, "error"),
            engine: status_text(engine, "degraded"),
            initialized,
            cluster_redis: redis.map(|answers| status_text(answers, "error")),
            kafka,
            packages: packages.readiness().map(str::to_owned),
            plugins: (!state.serving.plugins.is_ready()).then(|| "compiling".to_owned()),
        },
    };
    if ready { HttpResponse::Ok().json(body) } else { unavailable().json(body) }
}

/// `GET /health`: the state of every component, for an admin with reasons. Only a lost database makes it a 503.
pub(crate) async fn health(state: web::Data<AppState>, context: RequestContext) -> HttpResponse {
    let database = state.store.status() == DatabaseStatus::Ok;
    let snapshot = state.serving.registry.snapshot();
    let tree = state.tree.snapshot();
    let channels = snapshot.quarantined_count() == 0;
    let failed = failed_connectors(&state.serving);
    let connectors = failed.is_empty();
    let reload = state.serving.registry.reload_failure().is_none();
    let propagation = state.serving.propagation.epoch.status().problem.is_none();
    let engine = is_engine_ok(&state);
    let actors = are_actors_healthy(&tree);
    let cron = are_schedules_healthy(&state, database);
    let troubles = state.kafka_troubles();
    let kafka = troubles.as_ref().map(Vec::is_empty);
    let webhooks = state.work.webhooks.is_well();
    let exhaustion = state.process.descriptors.check();
    let letters = exhausted_letters(&state);
    let plugins = state.serving.plugins.health();
    let certificate = state.process.certificates.as_ref().map(|certificates| certificates.problem());
    let redis = ask_cluster_redis(&state).await;
    let components = HealthComponents {
        database: status_text(database, "error"),
        engine: status_text(engine, "degraded"),
        connectors: status_text(connectors, "degraded"),
        channels: status_text(channels, "degraded"),
        engine_reload: status_text(reload, "degraded"),
        config_propagation: status_text(propagation, "degraded"),
        actors: status_text(actors, "degraded"),
        descriptors: status_text(exhaustion.is_none(), "degraded"),
        dead_letters: letters.as_ref().map(|letters| status_text(letters.reason.is_none(), "degraded")),
        cron: cron.map(|well| status_text(well, "degraded")),
        kafka: kafka.map(|well| status_text(well, "degraded")),
        tls: certificate.as_ref().map(|problem| status_text(problem.is_none(), "degraded")),
        webhooks: webhooks.map(|well| status_text(well, "degraded")),
        plugins: plugins.as_ref().map(|plugins| status_text(plugins.failed.is_empty(), "degraded")),
        cluster_redis: redis.as_ref().map(|answer| status_text(answer.is_ok(), "error")),
    };
    let mut body = begin_report(&state, components);
    if context.principal.is_some() {
        add_operator_details(&mut body, &state, &tree, failed);
        body.kafka = troubles.map(|troubles| show_kafka(&state.work, &troubles));
        body.tls = certificate.flatten().map(|reason| TlsHealth { reason });
        body.descriptors =
            exhaustion.map(|exhaustion| DescriptorsHealth { reason: exhaustion.reason().to_owned() });
        body.dead_letters = letters;
        body.plugins = plugins;
        body.cluster_redis = redis.and_then(Result::err).map(|reason| ClusterRedisHealth { reason });
    }
    if database { HttpResponse::Ok().json(body) } else { unavailable().json(body) }
}

/// Returns the report that every caller gets.
fn begin_report(state: &AppState, components: HealthComponents) -> HealthReport {
    HealthReport {
        status: status_text(components.are_ok(), "degraded"),
        version: crate::VERSION.to_owned(),
        uptime_seconds: state.process.started_at.elapsed().as_secs(),
        components,
        ..HealthReport::default()
    }
}

/// `GET /metrics`: everything measured, as OpenMetrics for those who ask for it, as Prometheus text for others.
pub(crate) async fn metrics(state: web::Data<AppState>, request: HttpRequest) -> Result<HttpResponse, Error> {
    let accept = request.headers().get_all(ACCEPT).filter_map(|value| value.to_str().ok());
    let format = ExpositionFormat::negotiate(accept);
    let redis = ask_cluster_redis(&state).await.map(|answer| answer.is_ok());
    let text = level_metrics::render(&state, format, redis).map_err(ServiceError::internal_error)?;
    Ok(HttpResponse::Ok().content_type(format.content_type()).body(text))
}

/// Returns a 503 that invites a retry.
fn unavailable() -> HttpResponseBuilder {
    let mut answer = HttpResponse::ServiceUnavailable();
    answer.insert_header((RETRY_AFTER, RETRY));
    answer
}

/// Adds the details for operators.
fn add_operator_details(
    body: &mut HealthReport,
    state: &AppState,
    tree: &TreeView,
    failed: Vec<FailedConnector>,
) {
    let snapshot = state.serving.registry.snapshot();
    let quarantined = snapshot.quarantined_channels().into_iter().map(|(entry, quarantine)| {
        QuarantinedName { channel: entry.name().to_owned(), reason: quarantine.reason.to_string() }
    });
    let paused = snapshot.paused_channels().into_iter().map(|(entry, pause)| PausedName {
        channel: entry.name().to_owned(),
        since: pause.since,
        until: pause.until,
        by: pause.by.clone(),
        reason: pause.reason.clone(),
    });
    let breakers = state.serving.connectors.breakers().into_iter().flatten();
    body.git_hash = Some(crate::GIT_HASH.to_owned());
    body.build_timestamp = Some(crate::BUILD_TIMESTAMP.to_owned());
    body.workflows_loaded = Some(snapshot.workflows_count());
    if let DatabaseStatus::Down { since, detail } = state.store.status() {
        body.database = Some(DatabaseOutage { since: since.to_string(), reason: detail });
    }
    body.connectors = Some(ConnectorsHealth {
        circuit_breaker_scope: "node".to_owned(),
        circuit_breakers: breakers.map(|(key, breaker)| (key, breaker.name().to_owned())).collect(),
        failed_to_load: failed,
    });
    body.channels = Some(ChannelsHealth { quarantined: quarantined.collect(), paused: paused.collect() });
    let EpochStatus { applied, current, problem } = state.serving.propagation.epoch.status();
    body.epoch = Some(EpochHealth { applied, current, problem });
    body.cron = state.work.cron.as_ref().map(|cron| show_schedules(&cron.health()));
    body.actors = Some(show_actors(tree, |nodes| super::actors::list_nodes(state, nodes.iter().copied())));
    body.notes = Some(notes(state));
}

/// Returns hints for the operator about what works and was hardly meant so.
fn notes(state: &AppState) -> Vec<String> {
    let proxies = state.edge.proxies.has_ignored().then_some(
        "forwarded headers were seen and ignored: rate_limit.trusted_proxies is empty, so all clients of a proxy \
         share its address",
    );
    let notes = proxies.map(str::to_owned).into_iter().chain(envelopes(state));
    notes.chain(unknown_consumers(state)).chain(paused_rollouts(state)).collect()
}

/// Returns the note about rollouts that wait for an operator.
fn paused_rollouts(state: &AppState) -> Option<String> {
    let paused = state.work.rollouts.list_paused();
    let names: Vec<_> = paused.iter().map(String::as_str).collect();
    list_some(&names).map(|names| {
        format!("rollouts of workflows are paused: {names}; svc-cli rollout watch shows the reason, resume goes on")
    })
}

/// Returns the note about channels that dropped members of bodies.
fn envelopes(state: &AppState) -> Option<String> {
    let snapshot = state.serving.registry.snapshot();
    let dropping = |entry: &&Arc<LoadedChannel>| {
        entry.compiled_channel().is_some_and(|channel| channel.has_dropped_members())
    };
    let mut names: Vec<_> = snapshot.channels().filter(dropping).map(|entry| entry.name()).collect();
    names.sort_unstable();
    list_some(&names).map(|names| {
        format!(
            "members beside data and metadata were dropped from bodies of {names}: request.body_mode is auto; \
             set it to payload where bodies are no envelopes"
        )
    })
}

/// Returns the note about channels that accept consumers which do not exist.
fn unknown_consumers(state: &AppState) -> Option<String> {
    let snapshot = state.serving.registry.snapshot();
    let consumers = state.serving.consumers.directory().current();
    let describe = |entry: &Arc<LoadedChannel>| {
        let unknown = consumers.unknown(entry.compiled_channel()?.consumers()?);
        (!unknown.is_empty()).then(|| format!("{} ({})", entry.name(), unknown.join(", ")))
    };
    let mut channels: Vec<_> = snapshot.channels().filter_map(describe).collect();
    channels.sort_unstable();
    let channels: Vec<_> = channels.iter().map(String::as_str).collect();
    list_some(&channels).map(|channels| {
        format!(
            "channels accept consumers by names or tags that no consumer has, and answer 401 to them: {channels}; create \
             the consumers, or correct auth.consumers"
        )
    })
}

/// Returns the first of some names, and the number of the others; `None` without names.
fn list_some(names: &[&str]) -> Option<String> {
    let (shown, others) = names.split_at(names.len().min(NAMED));
    let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
    (!shown.is_empty()).then(|| format!("{}{more}", shown.join(", ")))
}

/// Returns the enabled connectors that could not be loaded, with reasons.
pub(crate) fn failed_connectors(serving: &ServingDefinitions) -> Vec<FailedConnector> {
    let statuses = serving.connectors.statuses().into_iter();
    statuses
        .filter_map(|status| match status.state {
            LoadState::Failed(error) => Some(FailedConnector {
                connector: status.name.to_string(),
                connector_id: status.id.to_string(),
                stage: error.stage.name().to_owned(),
                reason: error.reason,
            }),
            _ => None,
        })
        .collect()
}

/// Returns the dead letters without a retry left, with a reason if they are too many; `None` if they do not matter.
fn exhausted_letters(state: &AppState) -> Option<DeadLettersHealth> {
    let threshold = state.config.trace_queue.dlq_exhausted_threshold;
    let exhausted = state.work.traces.exhausted_dead_letters();
    let reason = (exhausted >= threshold).then(|| {
        let letters = if exhausted == 1 { "dead letter has" } else { "dead letters have" };
        format!(
            "{exhausted} {letters} no retry left (trace_queue.dlq_exhausted_threshold is {threshold}): requeue or purge \
             what GET /api/v1/admin/trace-dlq?exhausted=true lists"
        )
    });
    (threshold > 0).then_some(DeadLettersHealth { exhausted, reason })
}

/// Returns `true` if due occurrences run; `None` on a node that runs no schedules and has none.
fn are_schedules_healthy(state: &AppState, database: bool) -> Option<bool> {
    match &state.work.cron {
        Some(cron) => Some(database && cron.health().trouble.is_none()),
        None => (state.serving.registry.snapshot().cron_count() > 0).then_some(false),
    }
}

fn show_schedules(health: &CronHealth) -> SchedulesHealth {
    SchedulesHealth {
        last_reconcile_at: health.last_reconcile_at,
        reconcile_age_secs: health.reconcile_age_secs,
        oldest_pending_age_secs: health.oldest_pending_age_secs,
        lease_renewal_failures: health.lease_renewal_failures,
        scheduled_channels: health.scheduled_channels,
        reason: health.trouble.clone(),
    }
}

/// Returns the state of Kafka: the problem of the brokers, and whatever else is in trouble.
fn show_kafka(work: &NodeWork, troubles: &[String]) -> KafkaHealth {
    let problem = work.brokers.as_ref().and_then(BrokerHealth::problem);
    let others = troubles.iter().filter(|trouble| Some(*trouble) != problem.as_ref());
    KafkaHealth {
        ingest: others.cloned().collect(),
        problem,
        assigned_partitions: work.kafka.as_ref().map_or(0, |kafka| kafka.partitions().len()),
    }
}

/// Returns the tree; of a large one only the nodes that do not run. The whole is at `GET /api/v1/admin/actors`.
fn show_actors(tree: &TreeView, show: impl Fn(&[&NodeView]) -> Vec<ActorNode>) -> ActorsHealth {
    let total = tree.nodes.len();
    if total <= SHOWN {
        let nodes = show(&tree.nodes.iter().collect::<Vec<_>>());
        return ActorsHealth { nodes, truncated: None, total: None, running: None };
    }
    let troubled: Vec<_> = tree.nodes.iter().filter(|node| node.state != NodeState::Running).collect();
    ActorsHealth {
        nodes: show(&troubled[..troubled.len().min(SHOWN)]),
        truncated: Some(true),
        total: Some(total),
        running: Some(total - troubled.len()),
    }
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
    is_running && state.serving.registry.snapshot().generation() > 0
}

/// Asks the Redis server of the cluster for a write; `None` outside cluster mode, an error with the reason if it does not
/// take one in time.
async fn ask_cluster_redis(state: &AppState) -> Option<Result<(), String>> {
    let redis = state.work.cluster_redis.as_ref()?;
    let limit = settings::health_check_timeout(&state.config);
    let answer = timeout(limit, redis.check_writable()).await;
    Some(match answer {
        Ok(written) => written.map_err(|failure| failure.to_string()),
        Err(_) => Err(format!("it did not answer within {} s", limit.as_secs())),
    })
}

fn status_text(well: bool, otherwise: &str) -> String {
    if well { "ok" } else { otherwise }.to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use actix_rt::System;
    use actix_supervision::Tree;
    use actix_web::App;
    use actix_web::test::{TestRequest, call_service, init_service, read_body_json};

    use serde_json::{Value, json};

    use super::*;
    use crate::http::monitoring::actors::to_actor_node;
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
    fn large_tree_lists_stopped_nodes_and_counts_others() {
        let plain = |nodes: &[&NodeView]| nodes.iter().map(|node| to_actor_node(node)).collect();
        let small = json!(show_actors(&tree(SHOWN, 2), plain));
        assert_eq!((small["nodes"].as_array().map(Vec::len), small.get("truncated")), (Some(SHOWN), None));
        let large = json!(show_actors(&tree(SHOWN + 1, 2), plain));
        assert_eq!(large["nodes"].as_array().map(Vec::len), Some(2));
        assert_eq!(
            (&large["truncated"], &large["total"], &large["running"]),
            (&json!(true), &json!(SHOWN + 1), &json!(SHOWN - 1))
        );
    }
}
