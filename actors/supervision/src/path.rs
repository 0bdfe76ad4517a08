//! The path of a node in its tree.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// The path of a node below the root of its tree: names joined by `/`, as in `channels/orders`.
///
/// Cheap to clone. Ordered segment by segment, so a sorted list of paths is the tree in depth-first order.
///
/// ```
/// use actix_supervision::NodePath;
///
/// let path = NodePath::parse("channels/orders").unwrap();
/// assert_eq!(path.name(), "orders");
/// assert_eq!(NodePath::parse("channels//orders"), None);
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct NodePath(Arc<str>);

impl NodePath {
    /// Parses a path; `None` unless every segment is a non-empty name without control characters.
    pub fn parse(path: &str) -> Option<Self> {
        let named = |segment: &str| !segment.is_empty() && !segment.chars().any(char::is_control);
        path.split('/').all(named).then(|| Self(path.into()))
    }

    /// The root of a tree, which has no name.
    pub(crate) fn root() -> Self {
        Self("".into())
    }

    pub(crate) fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last segment.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// The path of the group that holds this node; `None` at the root itself.
    pub(crate) fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        Some(self.0.rsplit_once('/').map_or_else(Self::root, |(parent, _)| Self(parent.into())))
    }

    pub(crate) fn child(&self, name: &str) -> Self {
        if self.is_root() { Self(name.into()) } else { Self(format!("{}/{name}", self.0).into()) }
    }

    /// Returns `true` if `self` is `other` or lies below it.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        other.is_root()
            || self.0.strip_prefix(&*other.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl Ord for NodePath {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.split('/').cmp(other.0.split('/'))
    }
}

impl PartialOrd for NodePath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for NodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for NodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl PartialEq<str> for NodePath {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for NodePath {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl Serialize for NodePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> NodePath {
        NodePath::parse(text).unwrap()
    }

    #[test]
    fn sorted_paths_are_in_depth_first_order() {
        let mut paths = ["a-b", "b", "a/c", "a", "a/b/c", "a/b"].map(path);
        paths.sort();
        assert_eq!(paths.map(|p| p.to_string()), ["a", "a/b", "a/b/c", "a/c", "a-b", "b"]);
    }

    #[test]
    fn path_has_its_parent_and_ancestors() {
        assert_eq!(path("a/b").parent(), Some(path("a")));
        assert_eq!(path("a").parent(), Some(NodePath::root()));
        assert_eq!(NodePath::root().parent(), None);
        assert!(path("a/b").is_within(&path("a")));
        assert!(path("a").is_within(&NodePath::root()));
        assert!(!path("ab").is_within(&path("a")));
    }

    #[test]
    fn empty_segments_are_no_path() {
        for bad in ["", "/a", "a/", "a//b", "a\nb"] {
            assert_eq!(NodePath::parse(bad), None, "{bad:?}");
        }
    }
}
