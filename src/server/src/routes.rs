//! The routes of the service: paths, handlers, and the middleware around them.

use actix_web::guard::fn_guard;
use actix_web::middleware::{Compress, from_fn};
use actix_web::{HttpResponse, Scope, web};
use svc_model::ServiceError;

use crate::admin;
use crate::http::{ADMIN, DATA_PREFIX, Edge, Error, LocalWorker, actors, data, health};
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
    cfg.service(
        web::scope(ADMIN)
            .configure(admin::configure)
            .configure(actors::configure)
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

fn data_scope(prefix: &str) -> Scope {
    web::scope(prefix).default_service(web::to(data::submit))
}

/// Mounts the probes, and the metrics if they belong to this listener.
fn configure_operational(cfg: &mut web::ServiceConfig, with_metrics: bool) {
    cfg.service(web::resource("/healthz").get(health::healthz))
        .service(web::resource("/readyz").get(health::readyz))
        .service(web::resource("/health").get(health::health));
    if with_metrics {
        cfg.service(web::resource("/metrics").get(health::metrics));
    } else {
        // Not found, whatever else is mounted at the root.
        cfg.service(web::resource("/metrics").to(not_found));
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
