//! The routes of the service: paths, handlers, and the middleware around them.

use std::iter;

use actix_service::ServiceFactory;
use actix_web::body::{BoxBody, EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::middleware::{Compress, from_fn};
use actix_web::{HttpResponse, Resource, Scope, web};
use svc_api::docs::{DOCS, OPENAPI};
use svc_model::ServiceError;

use crate::admin;
#[cfg(feature = "console")]
use crate::http::console;
use crate::http::monitoring::{actors, health};
use crate::http::{ADMIN, DATA_PREFIX, Edge, Error, LocalWorker, MountPoint, Principal, data, docs};
use crate::router::Router;
use crate::state::AppState;

/// The services of a scope, with or without middleware around them.
trait ScopeFactory<B>:
    ServiceFactory<
        ServiceRequest,
        Config = (),
        Response = ServiceResponse<B>,
        Error = actix_web::Error,
        InitError = (),
    > + 'static
{
}

impl<T, B> ScopeFactory<B> for T where
    T: ServiceFactory<
            ServiceRequest,
            Config = (),
            Response = ServiceResponse<B>,
            Error = actix_web::Error,
            InitError = (),
        > + 'static
{
}

/// A part of the service that a host can mount alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The data plane: requests to channels.
    Data,
    /// The admin API.
    Admin,
    /// Probes, health and metrics.
    Health,
    /// The documentation page and the OpenAPI document.
    Docs,
    /// The page of the console.
    Console,
}

impl Part {
    /// Every part, in the order in which its paths are tried: a data mount at `/` takes what is left.
    pub(crate) const ALL: [Self; 5] = [Self::Health, Self::Docs, Self::Console, Self::Admin, Self::Data];
}

/// Mounts the whole service as the application: it answers every path. Runs once on every worker thread.
pub(crate) fn configure(cfg: &mut web::ServiceConfig, state: &web::Data<AppState>) {
    let worker = LocalWorker::join(state);
    let scope = web::scope("").app_data(state.clone()).app_data(worker);
    let scope = scope.configure(|cfg| configure_routes(cfg, state));
    add_scope(cfg, state, "", scope);
}

/// Mounts parts of the service into a larger application, which answers every other path. Runs once on every worker
/// thread.
pub(crate) fn configure_parts(cfg: &mut web::ServiceConfig, state: &web::Data<AppState>, parts: &[Part]) {
    for part in parts {
        match part {
            Part::Data => {
                let worker = LocalWorker::join(state);
                let (root, mounts) = data_mounts(state);
                for mount in std::iter::once(DATA_PREFIX).chain(mounts).chain(root.then_some("")) {
                    let scope = data_scope(mount).app_data(state.clone()).app_data(worker.clone());
                    add_scope(cfg, state, mount, scope);
                }
            }
            Part::Admin => add_scope(cfg, state, ADMIN, admin_scope().app_data(state.clone())),
            Part::Health => add_resources(cfg, state, operational_resources(state.mounts_metrics())),
            Part::Docs => add_resources(cfg, state, docs_resources(state.config.serves_docs())),
            Part::Console => {
                if let Some(path) = state.edge.planes.console() {
                    add_scope(cfg, state, path, console_scope(path).app_data(state.clone()));
                }
            }
        }
    }
}

/// Mounts the admin API for requests of the process itself, which `author` sends.
pub(crate) fn configure_local(cfg: &mut web::ServiceConfig, state: &web::Data<AppState>, author: &Principal) {
    let edge = Edge::for_process(state.clone(), author.clone());
    cfg.service(admin_scope().app_data(state.clone()).wrap(edge));
}

/// Mounts a scope of the service behind the edge.
fn add_scope<T, B>(cfg: &mut web::ServiceConfig, state: &web::Data<AppState>, pattern: &str, scope: Scope<T>)
where
    T: ScopeFactory<B>,
    B: MessageBody + 'static,
{
    let edge = Edge::for_clients(state.clone(), MountPoint::of_pattern(pattern));
    if state.config.server.compression.enabled {
        cfg.service(scope.wrap(Compress::default()).wrap(edge));
    } else {
        cfg.service(scope.wrap(edge));
    }
}

/// Mounts resources of the service, each behind the edge.
fn add_resources(
    cfg: &mut web::ServiceConfig,
    state: &web::Data<AppState>,
    resources: Vec<(String, Resource)>,
) {
    for (pattern, resource) in resources {
        let resource = resource.app_data(state.clone());
        let edge = Edge::for_clients(state.clone(), MountPoint::of_pattern(&pattern));
        if state.config.server.compression.enabled {
            cfg.service(resource.wrap(Compress::default()).wrap(edge));
        } else {
            cfg.service(resource.wrap(edge));
        }
    }
}

fn configure_routes(cfg: &mut web::ServiceConfig, state: &AppState) {
    cfg.service(data_scope(DATA_PREFIX));
    let operational = operational_resources(state.mounts_metrics());
    for (_, resource) in operational.into_iter().chain(docs_resources(state.config.serves_docs())) {
        cfg.service(resource);
    }
    if let Some(path) = state.edge.planes.console() {
        cfg.service(console_scope(path));
    }
    cfg.service(admin_scope());
    let (root, mounts) = data_mounts(state);
    for mount in mounts {
        cfg.service(data_scope(mount));
    }
    if root {
        cfg.default_service(web::to(data::submit));
    } else {
        cfg.default_service(web::to(not_found));
    }
}

/// Returns `true` if data requests are served at the root, with the other mounts of the data plane.
fn data_mounts(state: &AppState) -> (bool, impl Iterator<Item = &str>) {
    let mounts = state.edge.planes.mounts();
    (mounts.iter().any(|mount| mount == "/"), mounts.iter().map(String::as_str).filter(|mount| *mount != "/"))
}

/// Returns the scope of the admin API.
fn admin_scope() -> Scope<impl ScopeFactory<EitherBody<BoxBody>>> {
    web::scope(ADMIN)
        .configure(|cfg| admin_routes().mount(cfg))
        .default_service(web::to(not_found))
        .wrap(from_fn(admin::check_parameters))
        .wrap(from_fn(admin::add_audit_id))
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

/// Returns the routes of the documentation: the document, and the page if this build has it.
fn docs_routes() -> Router {
    let mut router = Router::default();
    router.get(OPENAPI, docs::openapi);
    #[cfg(feature = "docs")]
    {
        router.get(DOCS, docs::page);
        router.get("/docs/{file}", docs::file);
    }
    router
}

/// Returns the routes of the console below its path, if this build has it. They are no
/// endpoints of the API, which the page calls.
fn console_routes() -> Router {
    #[cfg_attr(not(feature = "console"), expect(unused_mut, reason = "only the console adds routes"))]
    let mut router = Router::default();
    #[cfg(feature = "console")]
    {
        router.get("", console::page);
        router.get("/{file:.*}", console::file);
    }
    router
}

/// Returns the scope of the console.
fn console_scope(path: &str) -> Scope {
    let scope = web::scope(path).configure(|cfg| console_routes().mount(cfg));
    scope.default_service(web::to(not_found))
}

fn data_scope(prefix: &str) -> Scope {
    web::scope(prefix).default_service(web::to(data::submit))
}

/// Returns the probes, and the metrics if they belong to this listener.
fn operational_resources(with_metrics: bool) -> Vec<(String, Resource)> {
    let mut resources = operational_routes(with_metrics).into_resources();
    if !with_metrics {
        resources.push(unserved("/metrics"));
    }
    resources
}

/// Returns the documentation, if it is on.
fn docs_resources(enabled: bool) -> Vec<(String, Resource)> {
    let page = [DOCS, "/docs/{file:.*}"].map(unserved);
    if !enabled {
        return iter::once(unserved(OPENAPI)).chain(page).collect();
    }
    let mut resources = docs_routes().into_resources();
    if cfg!(not(feature = "docs")) {
        resources.extend(page);
    }
    resources
}

/// Returns a resource that is not found, whatever else is mounted at the root.
fn unserved(pattern: &str) -> (String, Resource) {
    (pattern.to_owned(), web::resource(pattern).to(not_found))
}

/// Mounts the routes of the operational listener (`metrics.bind_addr`).
pub(crate) fn configure_operations(cfg: &mut web::ServiceConfig, state: &web::Data<AppState>) {
    let enabled = state.config.metrics.enabled;
    let scope = web::scope("").app_data(state.clone()).default_service(web::to(not_found));
    let resources = operational_resources(enabled).into_iter();
    let scope = resources.fold(scope, |scope, (_, resource)| scope.service(resource));
    cfg.service(scope.wrap(Edge::for_operators(state.clone())));
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
    fn routes_and_descriptions_match_one_to_one() {
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
        assert!(undescribed.is_empty(), "describe these in crates/api/src/endpoints: {undescribed:#?}");
        let unserved: Vec<_> = described.difference(&routes).collect();
        assert!(unserved.is_empty(), "these are described and not served: {unserved:#?}");
    }
}
