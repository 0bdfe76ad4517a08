//! The admin API: definitions, their lifecycle, schedules, traces and dead letters, the audit log, the engine.
//!
//! A handler translates a request into one call of the store or the registry, and the result into one envelope. Rules
//! are checked in the model and inside the store's transaction, so that a dry run, an import and the real request
//! cannot disagree. The edge authenticates the caller before a handler runs. Nothing here keeps state.

mod admin_entity;
mod audit;
mod backups;
mod channels;
mod connectors;
mod cron;
mod dead_letters;
mod engine;
mod entities;
mod import;
mod kafka;
mod mutation_request;
mod nodes;
mod packages;
mod parameters;
mod query;
mod rate_groups;
mod references;
mod request_body;
mod response;
mod status;
mod traces;
mod workflows;

use actix_web::http::Method;
use svc_model::{Channel, Workflow};

use crate::route_table::RouteTable;
use admin_entity::AdminEntity;
pub(crate) use parameters::refuse_unknown_parameters as check_parameters;
pub(crate) use query::QueryParameters;

/// Adds every admin endpoint to a table of routes below the admin base.
pub(crate) fn add_routes(table: &mut RouteTable) {
    add_versioned::<Workflow>(table);
    add_versioned::<Channel>(table);
    add_connectors(table);
    table.add(Method::PATCH, "/workflows/{id}/rollout", status::rollout);
    table.get("/workflows/{id}/dependencies", workflows::dependencies);
    table.post("/workflows/{id}/test", workflows::test);
    table.post("/channels/{id}/trigger", cron::trigger);
    table.get("/cron/occurrences", cron::list);
    table.get("/cron/occurrences/{id}", cron::read);
    table.post("/cron/occurrences/{id}/retry", cron::retry);
    table.get("/cron/status", cron::status);
    table.get("/kafka/partitions", kafka::list);
    table.post("/kafka/partitions/{topic}/{partition}/skip", kafka::skip);
    table.get("/traces", traces::list);
    table.get("/traces/{id}", traces::read);
    table.get("/trace-dlq", dead_letters::list);
    table.post("/trace-dlq/purge", dead_letters::purge);
    table.get("/trace-dlq/{id}", dead_letters::read);
    table.post("/trace-dlq/{id}/requeue", dead_letters::requeue);
    table.get("/audit-logs", audit::list);
    table.get("/backups", backups::list);
    table.post("/backups", backups::create);
    table.get("/packages", packages::list);
    table.get("/packages/{name}", packages::read);
    table.add(Method::PUT, "/packages/{name}", packages::put);
    table.get("/engine/status", engine::status);
    table.post("/engine/reload", engine::reload);
    table.get("/nodes", nodes::list);
    table.get("/functions/operators", engine::operators);
    table.get("/functions", engine::functions);
}

/// Adds the endpoints that every versioned kind has. Fixed segments are added before `{id}`, so they win over it.
fn add_versioned<V: AdminEntity>(table: &mut RouteTable) {
    let path = |rest: &str| format!("/{}{rest}", V::KIND.plural());
    table.get(&path(""), entities::list::<V>);
    table.post(&path(""), entities::create::<V>);
    table.get(&path("/export"), entities::export::<V>);
    table.post(&path("/import"), import::import::<V>);
    table.post(&path("/validate"), entities::validate::<V>);
    table.get(&path("/{id}"), entities::read::<V>);
    table.add(Method::PUT, &path("/{id}"), entities::update::<V>);
    table.add(Method::DELETE, &path("/{id}"), entities::delete::<V>);
    table.add(Method::PATCH, &path("/{id}/status"), status::change_status::<V>);
    table.post(&path("/{id}/rollback"), status::rollback::<V>);
    table.get(&path("/{id}/versions"), entities::versions::<V>);
    table.post(&path("/{id}/versions"), entities::new_version::<V>);
}

/// Adds the endpoints of connectors, which have no versions.
fn add_connectors(table: &mut RouteTable) {
    table.get("/connectors", connectors::list);
    table.post("/connectors", connectors::create);
    table.get("/connectors/export", connectors::export);
    table.post("/connectors/import", connectors::import);
    table.post("/connectors/validate", connectors::validate);
    table.get("/connectors/circuit-breakers", connectors::breakers);
    table.post("/connectors/circuit-breakers/{key:.+}", connectors::reset_breaker);
    table.get("/connectors/{id}", connectors::read);
    table.add(Method::PUT, "/connectors/{id}", connectors::update);
    table.add(Method::DELETE, "/connectors/{id}", connectors::delete);
    table.add(Method::PATCH, "/connectors/{id}/status", connectors::status);
    table.post("/connectors/{id}/test", connectors::test);
}
