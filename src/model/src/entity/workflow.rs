//! Workflows.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::entity::LifecycleStatus;
use crate::hash::content_hash;
use crate::precondition::EntityTag;
use crate::time::Timestamp;

/// Names one version of a workflow.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WorkflowVersion {
    /// Id of the workflow.
    pub id: Arc<str>,
    /// Its version.
    pub version: i64,
}

/// What an author writes in a workflow.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkflowContent {
    /// Display name.
    pub name: String,
    /// Free text.
    pub description: Option<String>,
    /// Order among workflows.
    pub priority: i64,
    /// Expression that admits a message.
    pub condition: Value,
    /// Tasks and groups, in order.
    pub tasks: Vec<Value>,
    /// Labels.
    pub tags: Vec<String>,
    /// The loop block, for a workflow that loops.
    pub loop_: Option<Value>,
    /// Whether the workflow goes on after a failed task.
    pub continue_on_error: bool,
}

impl WorkflowContent {
    /// The part of the document that is hashed and exported.
    pub fn hashable(&self) -> Value {
        let mut document = json!({
            "name": self.name,
            "description": self.description,
            "priority": self.priority,
            "condition": self.condition,
            "tasks": self.tasks,
            "tags": self.tags,
            "continue_on_error": self.continue_on_error,
        });
        if let Some(block) = &self.loop_ {
            document["loop"] = block.clone();
        }
        document
    }

    /// The hash of what the author wrote; status, rollout and times do not count.
    pub fn content_hash(&self) -> String {
        content_hash(&self.hashable())
    }
}

/// One version of a workflow.
#[derive(Clone, Debug, PartialEq)]
pub struct Workflow {
    /// Id, shared by all versions.
    pub workflow_id: String,
    /// Version, from 1.
    pub version: i64,
    /// What the author wrote.
    pub content: WorkflowContent,
    /// Where the version stands.
    pub status: LifecycleStatus,
    /// Share of the traffic of this version while it is active, in percent.
    pub rollout_percentage: i64,
    /// When the version was made.
    pub created_at: Timestamp,
    /// When the row last changed.
    pub updated_at: Timestamp,
}

impl Workflow {
    /// The tag of this version as it is stored; status and rollout do not count.
    pub fn entity_tag(&self) -> EntityTag {
        EntityTag::of_version(self.version, &self.content.content_hash())
    }

    /// The keys of a read that an author cannot write.
    pub const ONLY_READ: [&'static str; 7] = [
        "workflow_id",
        "version",
        "status",
        "rollout_percentage",
        "content_hash",
        "created_at",
        "updated_at",
    ];

    /// The document as the admin API answers it; `loop` is absent when the workflow does not loop.
    pub fn to_json(&self) -> Value {
        let mut document = self.content.hashable();
        let hash = content_hash(&document);
        document["workflow_id"] = json!(self.workflow_id);
        document["version"] = json!(self.version);
        document["status"] = json!(self.status);
        document["rollout_percentage"] = json!(self.rollout_percentage);
        document["content_hash"] = json!(hash);
        document["created_at"] = json!(self.created_at);
        document["updated_at"] = json!(self.updated_at);
        document
    }
}
