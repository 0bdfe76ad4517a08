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

use actix_web::{Route, guard, web};
use svc_model::{Channel, Workflow};

use admin_entity::AdminEntity;
pub(crate) use parameters::refuse_unknown_parameters as check_parameters;
pub(crate) use query::QueryParameters;

/// Mounts every admin endpoint below the scope it is given, which is the admin base.
pub(crate) fn configure(cfg: &mut web::ServiceConfig) {
    configure_versioned::<Workflow>(cfg);
    configure_versioned::<Channel>(cfg);
    connectors(cfg);
    cfg.service(web::resource("/workflows/{id}/rollout").route(web::patch().to(status::rollout)))
        .service(
            web::resource("/workflows/{id}/dependencies").route(get_or_head().to(workflows::dependencies)),
        )
        .service(web::resource("/workflows/{id}/test").route(web::post().to(workflows::test)))
        .service(web::resource("/channels/{id}/trigger").route(web::post().to(cron::trigger)))
        .service(web::resource("/cron/occurrences").route(get_or_head().to(cron::list)))
        .service(web::resource("/cron/occurrences/{id}").route(get_or_head().to(cron::read)))
        .service(web::resource("/cron/occurrences/{id}/retry").route(web::post().to(cron::retry)))
        .service(web::resource("/cron/status").route(get_or_head().to(cron::status)))
        .service(web::resource("/kafka/partitions").route(get_or_head().to(kafka::list)))
        .service(
            web::resource("/kafka/partitions/{topic}/{partition}/skip").route(web::post().to(kafka::skip)),
        )
        .service(web::resource("/traces").route(get_or_head().to(traces::list)))
        .service(web::resource("/traces/{id}").route(get_or_head().to(traces::read)))
        .service(web::resource("/trace-dlq").route(get_or_head().to(dead_letters::list)))
        .service(web::resource("/trace-dlq/purge").route(web::post().to(dead_letters::purge)))
        .service(web::resource("/trace-dlq/{id}").route(get_or_head().to(dead_letters::read)))
        .service(web::resource("/trace-dlq/{id}/requeue").route(web::post().to(dead_letters::requeue)))
        .service(web::resource("/audit-logs").route(get_or_head().to(audit::list)))
        .service(
            web::resource("/backups")
                .route(get_or_head().to(backups::list))
                .route(web::post().to(backups::create)),
        )
        .service(web::resource("/packages").route(get_or_head().to(packages::list)))
        .service(
            web::resource("/packages/{name}")
                .route(get_or_head().to(packages::read))
                .route(web::put().to(packages::put)),
        )
        .service(web::resource("/engine/status").route(get_or_head().to(engine::status)))
        .service(web::resource("/engine/reload").route(web::post().to(engine::reload)))
        .service(web::resource("/nodes").route(get_or_head().to(nodes::list)))
        .service(web::resource("/functions/operators").route(get_or_head().to(engine::operators)))
        .service(web::resource("/functions").route(get_or_head().to(engine::functions)));
}

/// The endpoints that every versioned kind has. Fixed segments are registered before `{id}`, so they win over it.
fn configure_versioned<V: AdminEntity>(cfg: &mut web::ServiceConfig) {
    let path = |rest: &str| format!("/{}{rest}", V::KIND.plural());
    cfg.service(
        web::resource(path(""))
            .route(get_or_head().to(entities::list::<V>))
            .route(web::post().to(entities::create::<V>)),
    )
    .service(web::resource(path("/export")).route(get_or_head().to(entities::export::<V>)))
    .service(web::resource(path("/import")).route(web::post().to(import::import::<V>)))
    .service(web::resource(path("/validate")).route(web::post().to(entities::validate::<V>)))
    .service(
        web::resource(path("/{id}"))
            .route(get_or_head().to(entities::read::<V>))
            .route(web::put().to(entities::update::<V>))
            .route(web::delete().to(entities::delete::<V>)),
    )
    .service(web::resource(path("/{id}/status")).route(web::patch().to(status::change_status::<V>)))
    .service(web::resource(path("/{id}/rollback")).route(web::post().to(status::rollback::<V>)))
    .service(
        web::resource(path("/{id}/versions"))
            .route(get_or_head().to(entities::versions::<V>))
            .route(web::post().to(entities::new_version::<V>)),
    );
}

/// Connectors have no versions.
fn connectors(cfg: &mut web::ServiceConfig) {
    cfg.service(
        web::resource("/connectors")
            .route(get_or_head().to(connectors::list))
            .route(web::post().to(connectors::create)),
    )
    .service(web::resource("/connectors/export").route(get_or_head().to(connectors::export)))
    .service(web::resource("/connectors/import").route(web::post().to(connectors::import)))
    .service(web::resource("/connectors/validate").route(web::post().to(connectors::validate)))
    .service(web::resource("/connectors/circuit-breakers").route(get_or_head().to(connectors::breakers)))
    .service(
        web::resource("/connectors/circuit-breakers/{key:.+}")
            .route(web::post().to(connectors::reset_breaker)),
    )
    .service(
        web::resource("/connectors/{id}")
            .route(get_or_head().to(connectors::read))
            .route(web::put().to(connectors::update))
            .route(web::delete().to(connectors::delete)),
    )
    .service(web::resource("/connectors/{id}/status").route(web::patch().to(connectors::status)))
    .service(web::resource("/connectors/{id}/test").route(web::post().to(connectors::test)));
}

/// A route for GET that also answers HEAD.
fn get_or_head() -> Route {
    web::route().guard(guard::Any(guard::Get()).or(guard::Head()))
}
