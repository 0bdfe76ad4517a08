//! The nodes of a tree by path.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::observation::vitals::NodeVitals;
use crate::path::NodePath;
use parking_lot::RwLock;

/// Every node of a tree by its path. The supervisor writes it; the lock is only held for a lookup or an
/// insertion.
#[derive(Debug, Default)]
pub(crate) struct NodeDirectory(RwLock<BTreeMap<NodePath, Arc<NodeVitals>>>);

impl NodeDirectory {
    pub(crate) fn insert(&self, node: Arc<NodeVitals>) {
        self.0.write().insert(node.path.clone(), node);
    }

    pub(crate) fn remove(&self, path: &NodePath) {
        self.0.write().remove(path);
    }

    pub(crate) fn get(&self, path: &NodePath) -> Option<Arc<NodeVitals>> {
        self.0.read().get(path).cloned()
    }

    pub(crate) fn nodes(&self) -> Vec<Arc<NodeVitals>> {
        self.0.read().values().cloned().collect()
    }

    /// Returns the node that `need` names for a node at `path`: from the root after a slash, or else the
    /// nearest one, searching outwards.
    pub(crate) fn resolve(&self, path: &NodePath, need: &str) -> Option<NodePath> {
        let nodes = self.0.read();
        // The path that the node has, not another copy of it for each node that needs it.
        let key = |candidate: NodePath| nodes.get_key_value(&candidate).map(|(path, _)| path.clone());
        let mut above = path.parent();
        if let Some(full) = need.strip_prefix('/') {
            let root = std::iter::successors(above, NodePath::parent).last()?;
            return key(root.child(full));
        }
        while let Some(group) = above {
            let found = key(group.child(need));
            if found.is_some() {
                return found;
            }
            above = group.parent();
        }
        None
    }
}
