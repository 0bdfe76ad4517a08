//! The workflow entity.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::entity::LifecycleStatus;
use crate::hash::content_hash;
use crate::http::precondition::EntityTag;
use crate::time::Timestamp;

/// A reference to one version of a workflow.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WorkflowVersion {
    /// The workflow id.
    pub id: Arc<str>,
    /// The version number.
    pub version: i64,
}

/// The part of a workflow that an author writes.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkflowContent {
    /// Display name.
    pub name: String,
    /// Description, free text.
    pub description: Option<String>,
    /// Priority among workflows.
    pub priority: i64,
    /// Expression that a message must satisfy.
    pub condition: Value,
    /// Tasks and groups, in execution order.
    pub tasks: Vec<Value>,
    /// Labels.
    pub tags: Vec<String>,
    /// The loop block; `None` if the workflow does not loop.
    pub loop_: Option<Value>,
    /// True if the workflow continues after a failed task.
    pub continue_on_error: bool,
}

impl WorkflowContent {
    /// Returns the part of the document that is hashed and exported.
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

    /// Returns the lists of steps with their paths: those with which a loop begins, and the tasks.
    pub fn step_lists(&self) -> [(&'static str, &[Value]); 2] {
        let setup = self.loop_.as_ref().and_then(|block| block.get("setup")).and_then(Value::as_array);
        [("loop.setup", setup.map_or(&[][..], Vec::as_slice)), ("tasks", self.tasks.as_slice())]
    }

    /// Returns the hash of the content; status, rollout and times do not affect it.
    pub fn content_hash(&self) -> String {
        content_hash(&self.hashable())
    }
}

/// One version of a workflow.
#[derive(Clone, Debug, PartialEq)]
pub struct Workflow {
    /// The workflow id, which all versions share.
    pub workflow_id: String,
    /// The version number, from 1.
    pub version: i64,
    /// The content that the author wrote.
    pub content: WorkflowContent,
    /// The lifecycle status of the version.
    pub status: LifecycleStatus,
    /// Percentage of the traffic that the version receives while it is active.
    pub rollout_percentage: i64,
    /// Time of creation of the version.
    pub created_at: Timestamp,
    /// Time of the last change of the row.
    pub updated_at: Timestamp,
}

impl Workflow {
    /// Returns the entity tag of this version. It depends on the content, not on status and rollout.
    pub fn entity_tag(&self) -> EntityTag {
        EntityTag::of_version(self.version, &self.content.content_hash())
    }

    /// Keys of a read that an author cannot set.
    pub const ONLY_READ: [&'static str; 8] = [
        "workflow_id",
        "version",
        "status",
        "rollout_percentage",
        "content_hash",
        "created_at",
        "updated_at",
        "active_version",
    ];

    /// Returns the document as the admin API shows it; `loop` is absent if the workflow does not loop.
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
