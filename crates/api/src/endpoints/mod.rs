//! The table of all endpoints, area by area.

mod audit;
mod backups;
mod bulk;
mod channels;
mod connectors;
mod console;
mod consumers;
mod cron;
mod data;
mod dead_letters;
mod engine;
mod functions;
mod operational;
mod packages;
mod plugins;
mod recordings;
mod traces;
mod webhooks;
mod workflows;

use crate::endpoint::Endpoint;

/// The areas, in the order of the document.
const AREAS: &[&[Endpoint]] = &[
    channels::ENDPOINTS,
    workflows::ENDPOINTS,
    connectors::ENDPOINTS,
    consumers::ENDPOINTS,
    plugins::ENDPOINTS,
    engine::ENDPOINTS,
    console::ENDPOINTS,
    functions::ENDPOINTS,
    audit::ENDPOINTS,
    traces::ENDPOINTS,
    recordings::ENDPOINTS,
    dead_letters::ENDPOINTS,
    bulk::ENDPOINTS,
    webhooks::ENDPOINTS,
    backups::ENDPOINTS,
    packages::ENDPOINTS,
    cron::ENDPOINTS,
    data::ENDPOINTS,
    operational::ENDPOINTS,
];

/// Lists every endpoint.
pub fn all() -> impl Iterator<Item = &'static Endpoint> {
    AREAS.iter().copied().flatten()
}

/// Returns the endpoint of a method and a path, as the table writes the path.
pub fn find(method: &str, path: &str) -> Option<&'static Endpoint> {
    all().find(|endpoint| endpoint.path == path && endpoint.method.name() == method)
}
