//! The table of all endpoints, area by area.

mod audit;
mod backups;
mod dead_letters;
mod packages;

use crate::endpoint::Endpoint;

/// The areas, in the order of the document.
const AREAS: &[&[Endpoint]] =
    &[dead_letters::ENDPOINTS, audit::ENDPOINTS, packages::ENDPOINTS, backups::ENDPOINTS];

/// Lists every endpoint.
pub fn all() -> impl Iterator<Item = &'static Endpoint> {
    AREAS.iter().copied().flatten()
}

/// Returns the endpoint of a method and a path, as the table writes the path.
pub fn find(method: &str, path: &str) -> Option<&'static Endpoint> {
    all().find(|endpoint| endpoint.path == path && endpoint.method.name() == method)
}
