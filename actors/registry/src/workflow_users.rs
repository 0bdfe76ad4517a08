//! The channels of each workflow.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::snapshot::{LoadedChannel, Snapshot};

/// Indexes channels by their workflow. Derived from a snapshot and updated with it, so that the channels of a
/// changed workflow are found without a search.
#[derive(Debug, Default)]
pub(crate) struct WorkflowUsers {
    users: HashMap<String, HashSet<Arc<str>>>,
}

impl WorkflowUsers {
    pub(crate) fn from_snapshot(snapshot: &Snapshot) -> Self {
        let mut workflow_users = Self::default();
        snapshot.channels().for_each(|entry| workflow_users.add(entry));
        workflow_users
    }

    pub(crate) fn add(&mut self, entry: &LoadedChannel) {
        if let Some(workflow) = &entry.row.content.workflow_id {
            self.users.entry(workflow.clone()).or_default().insert(Arc::clone(&entry.id));
        }
    }

    pub(crate) fn remove(&mut self, entry: &LoadedChannel) {
        let Some(workflow) = &entry.row.content.workflow_id else { return };
        let Some(users) = self.users.get_mut(workflow) else { return };
        users.remove(&entry.id);
        if users.is_empty() {
            self.users.remove(workflow);
        }
    }

    pub(crate) fn is_used(&self, workflow: &str) -> bool {
        self.users.contains_key(workflow)
    }

    pub(crate) fn users<'i>(&'i self, workflows: &'i [String]) -> impl Iterator<Item = &'i Arc<str>> {
        workflows.iter().filter_map(|workflow| self.users.get(workflow)).flatten()
    }
}
