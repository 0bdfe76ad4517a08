//! Workflows as documents.

use serde::Deserialize;
use serde_json::Value;
use svc_model::lifecycle::{self, Rollout, VersionState};
use svc_model::{
    EntityKind, EntityTag, LifecycleStatus, ServiceError, Timestamp, Workflow, WorkflowContent, unreadable,
};
use svc_secrets::EnvelopeKeys;

use super::queries;
use super::rows::{ContentColumns, DefinitionKey, DefinitionRow};
use super::{Definition, Objection, StatusChangePlan, Versioned};
use crate::conn::Conn;
use crate::error::StoreError;
use crate::repo::json;
use crate::repo::references::{References, distinct};
use crate::repo::requirements::{self, WorkflowRequirements};
use crate::repo::rollouts;

/// A stored document, which other programs may have written.
#[derive(Deserialize)]
struct WorkflowDocument {
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    priority: i64,
    #[serde(default = "every_message")]
    condition: Value,
    #[serde(default = "no_elements")]
    tasks: Value,
    #[serde(default = "no_elements")]
    tags: Value,
    #[serde(default, rename = "loop")]
    loop_: Option<Value>,
    #[serde(default)]
    continue_on_error: bool,
}

const fn every_message() -> Value {
    Value::Bool(true)
}

const fn no_elements() -> Value {
    Value::Array(Vec::new())
}

impl From<WorkflowDocument> for WorkflowContent {
    fn from(document: WorkflowDocument) -> Self {
        Self {
            name: document.name,
            description: document.description,
            priority: document.priority,
            condition: document.condition,
            tasks: json::elements(document.tasks),
            tags: json::names(document.tags),
            loop_: document.loop_,
            continue_on_error: document.continue_on_error,
        }
    }
}

/// Returns the content of a row whose document cannot be read.
fn unreadable_content(row: &DefinitionRow) -> WorkflowContent {
    WorkflowContent {
        name: row.name.clone(),
        description: None,
        priority: row.priority,
        condition: unreadable(),
        tasks: vec![unreadable()],
        tags: json::strings(&row.tags),
        loop_: None,
        continue_on_error: false,
    }
}

impl Definition for Workflow {
    type Content = WorkflowContent;
    const KIND: EntityKind = EntityKind::Workflow;
    const REPOSITORY: &'static str = "workflows";
    const FIRST_STATUS: Option<LifecycleStatus> = Some(LifecycleStatus::Draft);

    fn id(&self) -> &str {
        &self.workflow_id
    }

    fn version(&self) -> Option<i64> {
        Some(self.version)
    }

    fn content(&self) -> &WorkflowContent {
        &self.content
    }

    fn content_hash(content: &WorkflowContent) -> Option<String> {
        Some(content.content_hash())
    }

    fn entity_tag(&self) -> EntityTag {
        Workflow::entity_tag(self)
    }

    fn open(row: DefinitionRow, _: &EnvelopeKeys) -> Workflow {
        let content = serde_json::from_str::<WorkflowDocument>(&row.content);
        Workflow {
            content: content.map_or_else(|_| unreadable_content(&row), WorkflowContent::from),
            status: row.lifecycle_status(),
            workflow_id: row.id,
            version: row.version,
            rollout_percentage: row.rollout,
            created_at: Timestamp::from_naive(row.created_at),
            updated_at: Timestamp::from_naive(row.updated_at),
        }
    }

    fn seal(
        content: &WorkflowContent,
        _: DefinitionKey<'_>,
        _: &EnvelopeKeys,
        _: Option<&str>,
    ) -> Result<ContentColumns, StoreError> {
        Ok(ContentColumns {
            name: content.name.clone(),
            content: json::text(&content.hashable()),
            priority: content.priority,
            type_: None,
            protocol: None,
            route_shape: None,
            workflow_id: None,
            tags: json::list(&content.tags),
        })
    }

    async fn check_content(_: &mut Conn, _: &str, _: &WorkflowContent) -> Result<(), StoreError> {
        Ok(())
    }

    async fn users(
        conn: &mut Conn,
        id: &str,
        _: &dyn References,
        keys: &EnvelopeKeys,
    ) -> Result<Vec<String>, StoreError> {
        let channels = queries::active_using(conn, &[id.to_owned()], keys).await?;
        Ok(distinct(channels.into_iter().map(|channel| format!("channel '{}'", channel.content.name))))
    }

    async fn delete_dependents(conn: &mut Conn, deleted: Workflow) -> Result<(), StoreError> {
        rollouts::forget(conn, &deleted.workflow_id).await
    }
}

impl Versioned for Workflow {
    type Requirements = WorkflowRequirements;

    fn state(&self) -> VersionState {
        VersionState {
            version: self.version,
            status: self.status,
            rollout_percentage: self.rollout_percentage,
        }
    }

    async fn plan(
        conn: &mut Conn,
        id: &str,
        target: LifecycleStatus,
        rollout: Rollout,
        requirements: &WorkflowRequirements,
        keys: &EnvelopeKeys,
    ) -> Result<StatusChangePlan, StoreError> {
        let states = queries::states(conn, Self::KIND, id).await?;
        let change = match target {
            LifecycleStatus::Active => lifecycle::activate_workflow(id, &states, rollout),
            LifecycleStatus::Archived => lifecycle::archive(Self::KIND, id, &states),
            LifecycleStatus::Draft => Err(ServiceError::validation("status must be active or archived")),
        };
        let has_draft = states.iter().any(|state| state.status == LifecycleStatus::Draft);
        let mut objections = match target {
            LifecycleStatus::Active if has_draft => {
                requirements::check_workflow(conn, requirements, keys).await?
            }
            _ => Vec::new(),
        };
        let transition = match change {
            Ok(transition) => Some(transition),
            Err(error) => {
                objections.push(Objection::from(error));
                None
            }
        };
        Ok(StatusChangePlan { transition, objections })
    }
}
