//! The classification of paths into planes of the service.
//!
//! Decided on the path itself, never on the route that matched: an unregistered path below the admin base is
//! guarded like a registered one, also if a data mount would catch it.

use actix_web::http::Method;
use svc_api::docs::{DOCS, OPENAPI};

/// The prefix under which data requests are always served.
pub(crate) const DATA_PREFIX: &str = "/api/v1/data";
/// The path of all requests to channels in the metrics: callers choose the real one.
pub(crate) const DATA_PATH: &str = "/api/v1/data/{path}";
/// The base path of the admin API.
pub(crate) const ADMIN: &str = "/api/v1/admin";
/// The base path of traces, each of which has an access rule of its own.
const TRACES: &str = "/api/v1/admin/traces/";
/// The namespace of the service.
const API: &str = "/api";
/// The files of the documentation page, as metrics and the access log name them.
pub(crate) const DOCS_FILE: &str = "/docs/{file}";
/// The page and the files of the console, as metrics name them; `server.console.path` chooses the real path.
pub(crate) const CONSOLE: &str = "/console/{path}";
const OPERATIONAL: [&str; 4] = ["/health", "/healthz", "/readyz", "/metrics"];

/// A part of the service with rules of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plane {
    /// Requests to channels.
    Data,
    /// Requests of operators.
    Admin,
    /// Health, readiness, metrics, documentation, the console.
    Operational(&'static str),
    /// No path of the service.
    Other,
}

/// The map from paths to planes, with the configured data mounts and the path of the console.
#[derive(Clone, Debug)]
pub(crate) struct Planes {
    mounts: Vec<String>,
    /// `None` if no console is served.
    console: Option<String>,
}

impl Planes {
    pub(crate) fn new(mounts: &[String], console: Option<&str>) -> Self {
        Self { mounts: mounts.to_vec(), console: console.map(str::to_owned) }
    }

    /// Returns the path of the console; `None` if none is served.
    pub(crate) fn console(&self) -> Option<&str> {
        self.console.as_deref()
    }

    pub(crate) fn mounts(&self) -> &[String] {
        &self.mounts
    }

    /// Returns what is behind the mount in the part of a data path that names the channel.
    pub(crate) fn behind_mount<'p>(&self, path: &'p str) -> &'p str {
        let mount = self.mounts.iter().find(|mount| *mount != "/" && is_below(path, mount));
        mount.and_then(|mount| path.strip_prefix(mount.as_str())).unwrap_or(path)
    }

    /// Returns the plane of a path. If the raw and the decoded path differ, classify both and take the
    /// stricter plane.
    pub(crate) fn plane_of(&self, path: &str) -> Plane {
        if is_below(path, DATA_PREFIX) {
            Plane::Data
        } else if is_below(path, ADMIN) {
            Plane::Admin
        } else if let Some(exact) = OPERATIONAL.into_iter().find(|known| *known == path) {
            Plane::Operational(exact)
        } else if let Some(exact) = [DOCS, OPENAPI].into_iter().find(|known| *known == path) {
            Plane::Operational(exact)
        } else if is_below(path, DOCS) {
            Plane::Operational(DOCS_FILE)
        } else if self.console().is_some_and(|console| is_below(path, console)) {
            Plane::Operational(CONSOLE)
        } else if self.mounts.iter().any(|mount| mount == "/" || is_below(path, mount)) {
            Plane::Data
        } else {
            Plane::Other
        }
    }

    /// Returns the platform path that a route pattern claims under the root mount. The platform would win, so
    /// that such a route could never be served.
    pub(crate) fn platform_route(&self, pattern: &str) -> Option<String> {
        let root = self.mounts.iter().any(|mount| mount == "/");
        let claims = |own: &&str| pattern == *own || (*own == API && is_below(pattern, own));
        let own = OPERATIONAL.iter().chain(&[DOCS, API]).copied().find(|own| claims(own));
        let console = self.console().filter(|console| is_below(pattern, console));
        own.or(console).filter(|_| root).map(str::to_owned)
    }
}

/// Returns the index at which the part of a raw path that names the channel starts: after [`DATA_PREFIX`], or
/// at the beginning of a path below another mount, because `{mount}/rest` means what
/// `/api/v1/data{mount}/rest` does.
pub(crate) fn channel_path_start(path: &str) -> usize {
    if is_below(path, DATA_PREFIX) { DATA_PREFIX.len() } else { 0 }
}

/// Returns `true` for a read of one trace, which its own token opens too. Only the plain spelling counts: an
/// escaped path, a longer one and every other method need an admin key.
pub(crate) fn reads_trace(method: &Method, path: &str) -> bool {
    let reads = *method == Method::GET || *method == Method::HEAD;
    reads && path.strip_prefix(TRACES).is_some_and(|id| !id.is_empty() && !id.contains(['/', '%']))
}

fn is_below(path: &str, base: &str) -> bool {
    path.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_plane_by_whole_segments() {
        let planes = Planes::new(&["/shop".to_owned()], None);
        for (path, plane) in [
            ("/api/v1/data/orders", Plane::Data),
            ("/api/v1/database", Plane::Other),
            ("/shop", Plane::Data),
            ("/shop/orders/7", Plane::Data),
            ("/shopping", Plane::Other),
            ("/api/v1/admin", Plane::Admin),
            ("/api/v1/admin/anything", Plane::Admin),
            ("/api/v1/administrator", Plane::Other),
            ("/readyz", Plane::Operational("/readyz")),
            ("/readyz/x", Plane::Other),
            ("/api", Plane::Other),
            ("/api/v1", Plane::Other),
            ("/", Plane::Other),
        ] {
            assert_eq!(planes.plane_of(path), plane, "{path}");
        }
    }

    #[test]
    fn mount_is_taken_off_by_whole_segments() {
        let planes = Planes::new(&["/".to_owned(), "/hooks".to_owned()], None);
        for (path, expected) in
            [("/hooks/webhooks", "/webhooks"), ("/hooks", ""), ("/hooksa", "/hooksa"), ("/a", "/a")]
        {
            assert_eq!(planes.behind_mount(path), expected, "{path}");
        }
    }

    #[test]
    fn channel_path_has_mount_without_data_prefix() {
        for (path, expected) in [
            ("/api/v1/data/orders", "/orders"),
            ("/api/v1/data", ""),
            ("/api/v1/database", "/api/v1/database"),
            ("/hooks/zoom", "/hooks/zoom"),
            ("/hooks", "/hooks"),
            ("/api/v1/d%61ta/a", "/api/v1/d%61ta/a"),
        ] {
            assert_eq!(&path[channel_path_start(path)..], expected, "{path}");
        }
    }

    #[test]
    fn root_mount_leaves_admin_tree_probes_and_console() {
        let planes = Planes::new(&["/".to_owned()], Some("/console"));
        assert_eq!(planes.plane_of("/api/v1/admin/nope"), Plane::Admin);
        assert_eq!(planes.plane_of("/health"), Plane::Operational("/health"));
        for path in ["/console", "/console/", "/console/runs/7"] {
            assert_eq!(planes.plane_of(path), Plane::Operational(CONSOLE), "{path}");
        }
        for path in ["/anything/else", "/consoles", "/x/console"] {
            assert_eq!(planes.plane_of(path), Plane::Data, "{path}");
        }
    }

    #[test]
    fn only_plain_read_of_a_trace_is_excepted() {
        let reads = |method: &str, path: &str| reads_trace(&method.parse().unwrap(), path);
        assert!(reads("GET", "/api/v1/admin/traces/x") && reads("HEAD", "/api/v1/admin/traces/0199-a"));
        for (method, path) in [
            ("POST", "/api/v1/admin/traces/x"),
            ("DELETE", "/api/v1/admin/traces/x"),
            ("GET", "/api/v1/admin/traces"),
            ("GET", "/api/v1/admin/traces/"),
            ("GET", "/api/v1/admin/traces/x/"),
            ("GET", "/api/v1/admin/traces/x/y"),
            ("GET", "/api/v1/admin/traces/x%2Fy"),
            ("GET", "/api/v1/admin/traces/%78"),
            ("GET", "/api/v1/admin/trace%73/x"),
            ("GET", "/api/v1/admin//traces/x"),
            ("GET", "/api/v1/admin/traces//x"),
            ("GET", "/api/v1/admin/workflows/../traces/x"),
        ] {
            assert!(!reads(method, path), "{method} {path}");
        }
    }

    #[test]
    fn only_root_mount_maps_patterns_to_platform_paths() {
        let (root, shop) =
            (Planes::new(&["/".to_owned()], Some("/console")), Planes::new(&["/shop".to_owned()], None));
        for pattern in ["/health", "/metrics", "/api/v1/admin/x", "/api", "/console", "/console/runs"] {
            assert!(root.platform_route(pattern).is_some(), "{pattern}");
            assert!(shop.platform_route(pattern).is_none(), "{pattern}");
        }
        assert!(root.platform_route("/healthy").is_none() && root.platform_route("/{any}").is_none());
    }
}
