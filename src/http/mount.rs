//! The place of a part of the service among the routes of a host application.
//!
//! A host may mount the service, or parts of it, below any scope. The edge takes the prefix of the host off a
//! path before it classifies the request, so that the rules of a plane are the same wherever it is mounted.

use actix_web::dev::ServiceRequest;

/// The place at which a scope or a resource of the service is mounted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MountPoint {
    /// Path segments that the router has matched for the service itself when the edge is called.
    own_segments: usize,
}

impl MountPoint {
    /// Returns the mount point of a scope or a resource with this path pattern; empty for a scope around everything.
    pub(crate) fn of_pattern(pattern: &str) -> Self {
        Self { own_segments: segments(pattern) }
    }

    /// Returns the length of the host's prefix in the raw path of a request; 0 if the service is mounted at the
    /// root.
    pub(crate) fn host_length(self, request: &ServiceRequest) -> usize {
        let decoded = request.match_info().as_str();
        let matched = decoded.len() - request.match_info().unprocessed().len();
        let matched = decoded.get(..matched).map_or(0, segments);
        prefix_length(request.path(), matched.saturating_sub(self.own_segments))
    }
}

/// Returns the number of segments of a path. The router decodes no slash, so that it is the same in the raw and the
/// decoded path.
fn segments(path: &str) -> usize {
    path.bytes().filter(|byte| *byte == b'/').count()
}

/// Returns the length of the first `segments` segments of a path.
pub(super) fn prefix_length(path: &str, segments: usize) -> usize {
    if segments == 0 {
        return 0;
    }
    path.bytes().enumerate().filter(|(_, byte)| *byte == b'/').nth(segments).map_or(path.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_ends_before_the_next_slash() {
        for (path, segments, expected) in [
            ("/health", 0, ""),
            ("/automation/health", 1, "/automation"),
            ("/%61utomation/x/y%2Fz", 1, "/%61utomation"),
            ("/a/b/c", 2, "/a/b"),
            ("/a", 1, "/a"),
            ("/a", 3, "/a"),
        ] {
            assert_eq!(&path[..prefix_length(path, segments)], expected, "{path}");
        }
    }
}
