//! The admin API: definitions, their lifecycle, schedules, traces and dead letters, the audit log, the engine.
//!
//! A handler translates a request into one call of the store or the registry, and the result into one envelope. Rules
//! are checked in the model and inside the store's transaction, so that a dry run, an import and the real request
//! cannot disagree. The edge authenticates the caller before a handler runs. Nothing here keeps state.

mod audit;
mod backups;
mod bulk;
mod cancels;
mod console;
mod consumers;
mod cron;
mod dead_letters;
mod definitions;
mod engine;
mod errors;
mod explanations;
mod filters;
mod kafka;
mod mutation_request;
mod nodes;
mod packages;
mod parameters;
mod plugins;
mod query;
mod recordings;
mod request_body;
mod reruns;
mod response;
mod traces;
mod webhooks;

use actix_web::http::Method;
use svc_model::{Channel, Workflow};

use crate::router::Router;
pub(crate) use audit::add_audit_id;
use definitions::admin_entity::AdminEntity;
use definitions::{
    connector_calls, connectors, entities, guards, impact, import, pauses, rollouts, status, workflow_stats,
    workflows,
};
pub(crate) use filters::{read_dead_letter_filter, read_occurrence_filter, read_trace_query};
pub(crate) use nodes::require_node;
pub(crate) use parameters::{refuse_unknown_parameters as check_parameters, unknown_value};
pub(crate) use query::QueryParameters;
pub(crate) use webhooks::{read_replay, to_attempt, to_own_detail, to_replay, to_test};

/// Adds every admin endpoint to a router, below the admin base.
pub(crate) fn add_routes(router: &mut Router) {
    add_versioned::<Workflow>(router);
    router.post("/channels/pause", pauses::pause_selected);
    router.post("/channels/resume", pauses::resume_selected);
    add_versioned::<Channel>(router);
    add_connectors(router);
    add_definition_actions(router);
    add_bulk_and_webhooks(router);
    add_guards_and_ingresses(router);
    add_runs(router);
    add_service(router);
}

/// Adds the endpoints of single kinds of definitions.
fn add_definition_actions(router: &mut Router) {
    router.add(Method::PATCH, "/workflows/{id}/rollout", rollouts::rollout);
    router.get("/workflows/{id}/rollout", rollouts::show_rollout);
    router.get("/workflows/{id}/dependencies", workflows::dependencies);
    router.get("/workflows/{id}/impact", impact::show_workflow);
    router.get("/workflows/{id}/stats", workflow_stats::stats);
    router.post("/workflows/{id}/test", workflows::test);
    router.post("/channels/{id}/pause", pauses::pause);
    router.post("/channels/{id}/resume", pauses::resume);
    router.post("/channels/{id}/trigger", cron::trigger);
    router.post("/channels/{id}/backfill", bulk::backfill::start);
}

/// Adds the endpoints of actions on many rows, and of webhooks.
fn add_bulk_and_webhooks(router: &mut Router) {
    router.get("/bulk", bulk::list);
    router.post("/bulk", bulk::start);
    router.get("/bulk/{id}", bulk::read);
    router.post("/bulk/{id}/abort", bulk::abort);
    router.get("/webhooks", webhooks::list);
    router.post("/webhooks", webhooks::create);
    router.get("/webhooks/{id}", webhooks::read);
    router.add(Method::PATCH, "/webhooks/{id}", webhooks::update);
    router.add(Method::DELETE, "/webhooks/{id}", webhooks::delete);
    router.post("/webhooks/{id}/enable", webhooks::enable);
    router.post("/webhooks/{id}/rotate", webhooks::rotate);
    router.post("/webhooks/{id}/test", webhooks::test);
    router.post("/webhooks/{id}/replay", webhooks::replay);
    router.get("/webhooks/{id}/attempts", webhooks::list_attempts);
    router.get("/webhooks/{id}/deliveries", webhooks::list_deliveries);
}

/// Adds the endpoints of guards, schedules and topics.
fn add_guards_and_ingresses(router: &mut Router) {
    router.get("/channels/{id}/impact", impact::show_channel);
    router.get("/channels/{id}/stats", guards::stats);
    router.get("/channels/{id}/quotas", guards::quotas);
    router.post("/channels/{id}/test", guards::test);
    router.get("/channels/{id}/why", explanations::explain_instant);
    router.get("/cron/occurrences", cron::list);
    router.get("/cron/occurrences/{id}", cron::read);
    router.post("/cron/occurrences/{id}/cancel", cancels::cancel_occurrence);
    router.post("/cron/occurrences/{id}/retry", cron::retry);
    router.get("/cron/status", cron::status);
    router.get("/kafka/partitions", kafka::list);
    router.post("/kafka/partitions/{topic}/{partition}/skip", kafka::skip);
}

/// Adds the endpoints of runs: traces, recordings, backtests, dead letters, failures.
fn add_runs(router: &mut Router) {
    router.get("/traces", traces::list);
    router.get("/traces/{id}", traces::read);
    router.post("/traces/{id}/cancel", cancels::cancel_trace);
    router.post("/traces/{id}/rerun", reruns::rerun);
    router.get("/recordings", recordings::list);
    router.add(Method::DELETE, "/recordings", recordings::delete);
    router.get("/recordings/{id}", recordings::read);
    router.post("/workflows/{id}/backtest", recordings::backtests::start_workflow);
    router.post("/channels/{id}/backtest", recordings::backtests::start_channel);
    router.get("/backtests", recordings::backtests::list);
    router.get("/backtests/{id}", recordings::backtests::read);
    router.post("/backtests/{id}/abort", recordings::backtests::abort);
    router.get("/trace-dlq", dead_letters::list);
    router.post("/trace-dlq/purge", dead_letters::purge);
    router.get("/trace-dlq/{id}", dead_letters::read);
    router.post("/trace-dlq/{id}/requeue", dead_letters::requeue);
    router.get("/errors", errors::list);
    router.get("/errors/recent", errors::list_recent);
}

/// Adds the endpoints of the service itself: audit, consumers, backups, packages, engine, nodes.
fn add_service(router: &mut Router) {
    router.get("/audit-logs", audit::list);
    router.get("/whoami", audit::whoami);
    router.get("/consumers", consumers::list);
    router.post("/consumers", consumers::create);
    router.get("/consumers/{name}", consumers::read);
    router.add(Method::PATCH, "/consumers/{name}", consumers::update);
    router.add(Method::DELETE, "/consumers/{name}", consumers::delete);
    router.get("/consumers/{name}/keys", consumers::list_keys);
    router.post("/consumers/{name}/keys", consumers::create_key);
    router.add(Method::DELETE, "/consumers/{name}/keys/{id}", consumers::delete_key);
    router.get("/backups", backups::list);
    router.post("/backups", backups::create);
    router.get("/plugins", plugins::list);
    router.post("/plugins", plugins::create);
    router.get("/plugins/export", plugins::export);
    router.post("/plugins/import", plugins::import);
    router.get("/plugins/{id}", plugins::read);
    router.add(Method::PUT, "/plugins/{id}", plugins::replace);
    router.get("/plugins/{id}/impact", impact::show_plugin);
    router.add(Method::PATCH, "/plugins/{id}/status", plugins::change_status);
    router.add(Method::DELETE, "/plugins/{id}", plugins::delete);
    router.get("/packages", packages::list);
    router.get("/packages/{name}", packages::read);
    router.add(Method::PUT, "/packages/{name}", packages::put);
    router.get("/engine/status", engine::status);
    router.post("/engine/reload", engine::reload);
    router.post("/cache/invalidate", engine::invalidate_cache);
    router.get("/dev", engine::dev_project);
    router.get("/nodes", nodes::list);
    router.post("/nodes/drain", nodes::drain);
    router.get("/live", console::stream_live);
    router.get("/config", console::show_config);
    router.get("/functions/operators", engine::operators);
    router.get("/functions", engine::functions);
    router.get("/schemas/{kind}", engine::schema);
}

/// Adds the endpoints that every versioned kind has. Fixed segments are added before `{id}`, so they win over it.
fn add_versioned<V: AdminEntity>(router: &mut Router) {
    let path = |rest: &str| format!("/{}{rest}", V::KIND.plural());
    router.get(&path(""), entities::list::<V>);
    router.post(&path(""), entities::create::<V>);
    router.get(&path("/export"), entities::export::<V>);
    router.post(&path("/import"), import::import::<V>);
    router.post(&path("/validate"), entities::validate::<V>);
    router.get(&path("/{id}"), entities::read::<V>);
    router.add(Method::PUT, &path("/{id}"), entities::update::<V>);
    router.add(Method::DELETE, &path("/{id}"), entities::delete::<V>);
    router.add(Method::PATCH, &path("/{id}/status"), status::change_status::<V>);
    router.post(&path("/{id}/rollback"), status::rollback::<V>);
    router.get(&path("/{id}/versions"), entities::versions::<V>);
    router.post(&path("/{id}/versions"), entities::new_version::<V>);
}

/// Adds the endpoints of connectors, which have no versions.
fn add_connectors(router: &mut Router) {
    router.get("/connectors", connectors::list);
    router.post("/connectors", connectors::create);
    router.get("/connectors/export", connectors::export);
    router.post("/connectors/import", connectors::import);
    router.post("/connectors/validate", connectors::validate);
    router.get("/connectors/circuit-breakers", connectors::breakers);
    router.post("/connectors/circuit-breakers/{key:.+}", connectors::reset_breaker);
    router.get("/connectors/{id}", connectors::read);
    router.add(Method::PUT, "/connectors/{id}", connectors::update);
    router.add(Method::DELETE, "/connectors/{id}", connectors::delete);
    router.add(Method::PATCH, "/connectors/{id}/status", connectors::status);
    router.post("/connectors/{id}/test", connectors::test);
    router.get("/connectors/{id}/calls", connector_calls::list);
    router.get("/connectors/{id}/impact", impact::show_connector);
}
