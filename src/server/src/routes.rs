//! The routes of the service: paths, handlers, and the middleware around them.

use actix_web::guard::fn_guard;
use actix_web::middleware::{Compress, from_fn};
use actix_web::{HttpResponse, Scope, web};
use svc_api::docs::{DOCS, OPENAPI};
use svc_model::ServiceError;

use crate::admin;
use crate::http::{ADMIN, DATA_PREFIX, Edge, Error, LocalWorker, actors, data, docs, health};
use crate::router::Router;
use crate::state::AppState;

/// The paths that the service answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MountMode {
    /// All paths: the service is the whole application.
    WholeApplication,
    /// Only the paths of the service; the host application answers the others.
    OwnPaths,
}

/// Mounts the service into an application; runs once on every worker thread.
pub(crate) fn configure(cfg: &mut web::ServiceConfig, state: &web::Data<AppState>, mode: MountMode) {
    let mut scope = web::scope("");
    if mode == MountMode::OwnPaths {
        let state = state.clone();
        scope = scope.guard(fn_guard(move |context| state.planes.owns(context.head().uri.path())));
    }
    let worker = LocalWorker::join(state);
    let scope = scope.app_data(state.clone()).app_data(worker).configure(|cfg| configure_routes(cfg, state));
    let edge = Edge::for_clients(state.clone());
    if state.config.server.compression.enabled {
        cfg.service(scope.wrap(Compress::default()).wrap(edge));
    } else {
        cfg.service(scope.wrap(edge));
    }
}

fn configure_routes(cfg: &mut web::ServiceConfig, state: &AppState) {
    cfg.service(data_scope(DATA_PREFIX));
    configure_operational(cfg, state.mounts_metrics());
    configure_docs(cfg, state.config.serves_docs());
    cfg.service(
        web::scope(ADMIN)
            .configure(|cfg| admin_routes().mount(cfg))
            .default_service(web::to(not_found))
            .wrap(from_fn(admin::check_parameters)),
    );
    let (root, mounts): (Vec<_>, Vec<_>) = state.planes.mounts().iter().partition(|mount| *mount == "/");
    for mount in mounts {
        cfg.service(data_scope(mount));
    }
    if root.is_empty() {
        cfg.default_service(web::to(not_found));
    } else {
        cfg.default_service(web::to(data::submit));
    }
}

/// Returns the routes below the admin base.
fn admin_routes() -> Router {
    let mut router = Router::default();
    admin::add_routes(&mut router);
    actors::add_routes(&mut router);
    router
}

/// Returns the routes of the probes, and of the metrics if they belong to this listener.
fn operational_routes(with_metrics: bool) -> Router {
    let mut router = Router::default();
    router.get("/healthz", health::healthz);
    router.get("/readyz", health::readyz);
    router.get("/health", health::health);
    if with_metrics {
        router.get("/metrics", health::metrics);
    }
    router
}

/// Returns the routes of the documentation.
fn docs_routes() -> Router {
    let mut router = Router::default();
    router.get(OPENAPI, docs::openapi);
    router.get(DOCS, docs::page);
    router.get("/docs/{file}", docs::file);
    router
}

fn data_scope(prefix: &str) -> Scope {
    web::scope(prefix).default_service(web::to(data::submit))
}

/// Mounts the probes, and the metrics if they belong to this listener.
fn configure_operational(cfg: &mut web::ServiceConfig, with_metrics: bool) {
    operational_routes(with_metrics).mount(cfg);
    if !with_metrics {
        // Not found, whatever else is mounted at the root.
        cfg.service(web::resource("/metrics").to(not_found));
    }
}

/// Mounts the documentation, where it is on.
fn configure_docs(cfg: &mut web::ServiceConfig, enabled: bool) {
    if enabled {
        docs_routes().mount(cfg);
    }
    // Not found, whatever else is mounted at the root.
    for path in [OPENAPI, DOCS, "/docs/{file:.*}"].iter().filter(|_| !enabled) {
        cfg.service(web::resource(*path).to(not_found));
    }
}

/// Mounts the routes of the operational listener (`metrics.bind_addr`).
pub(crate) fn configure_operations(cfg: &mut web::ServiceConfig, state: &web::Data<AppState>) {
    let enabled = state.config.metrics.enabled;
    let scope = web::scope("").app_data(state.clone()).configure(|cfg| configure_operational(cfg, enabled));
    cfg.service(scope.default_service(web::to(not_found)).wrap(Edge::for_operators(state.clone())));
}

async fn not_found() -> Result<HttpResponse, Error> {
    Err(ServiceError::not_found("No such path").into())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use svc_api::{Tag, endpoints};

    use super::*;

    #[test]
    fn every_route_is_described_and_every_description_has_a_route() {
        let admin = admin_routes();
        let admin = admin.endpoints().map(|(method, path)| (method.to_owned(), format!("{ADMIN}{path}")));
        let (operational, docs) = (operational_routes(true), docs_routes());
        let others = operational.endpoints().chain(docs.endpoints());
        let others = others.map(|(method, path)| (method.to_owned(), path));
        let routes: BTreeSet<_> = admin.chain(others).collect();
        // The data plane has no routes of its own: channels have them.
        let described = endpoints::all().filter(|endpoint| endpoint.tag != Tag::Data);
        let described: BTreeSet<_> =
            described.map(|endpoint| (endpoint.method.name().to_owned(), endpoint.path.to_owned())).collect();
        let undescribed: Vec<_> = routes.difference(&described).collect();
        assert!(undescribed.is_empty(), "describe these in src/api/src/endpoints: {undescribed:#?}");
        let unserved: Vec<_> = described.difference(&routes).collect();
        assert!(unserved.is_empty(), "these are described and not served: {unserved:#?}");
    }
}
