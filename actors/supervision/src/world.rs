//! What the keeper, the runners and every handle of a tree share.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::clock::Epoch;
use crate::fault::FaultPlan;
use crate::instance::Live;
use crate::path::NodePath;
use crate::recorder::Recorder;
use crate::vitals::Node;

/// A tree without its keeper.
pub(crate) struct World {
    pub(crate) epoch: Epoch,
    pub(crate) directory: Directory,
    pub(crate) recorder: Recorder,
    pub(crate) faults: FaultPlan,
    pub(crate) live: Live,
    pub(crate) log: slog::Logger,
    pub(crate) last_id: AtomicU64,
}

/// Every node of a tree by its path. The keeper writes it; the lock is held to look or to insert only.
#[derive(Debug, Default)]
pub(crate) struct Directory(RwLock<BTreeMap<NodePath, Arc<Node>>>);

impl Directory {
    pub(crate) fn insert(&self, node: Arc<Node>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(node.path.clone(), node);
    }

    pub(crate) fn remove(&self, path: &NodePath) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(path);
    }

    pub(crate) fn get(&self, path: &NodePath) -> Option<Arc<Node>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
    }

    pub(crate) fn nodes(&self) -> Vec<Arc<Node>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// The node that `need` names for a node at `path`: from the root after a slash, else the nearest one, looking
    /// outwards.
    pub(crate) fn resolve(&self, path: &NodePath, need: &str) -> Option<NodePath> {
        let nodes = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut above = path.parent();
        if let Some(full) = need.strip_prefix('/') {
            let root = std::iter::successors(above, NodePath::parent).last()?;
            return Some(root.child(full)).filter(|candidate| nodes.contains_key(candidate));
        }
        while let Some(group) = above {
            let candidate = group.child(need);
            if nodes.contains_key(&candidate) {
                return Some(candidate);
            }
            above = group.parent();
        }
        None
    }
}

impl World {
    /// A number never given out before in this tree.
    pub(crate) fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }
}
