//! Definitions with nothing but what a test names, stored and activated.

use serde_json::{Value, json};
use svc_model::{
    ChannelContent, ChannelType, ConnectorContent, LifecycleStatus, Protocol, Timestamp, Workflow,
    WorkflowContent,
};
use svc_store::{AuditEntry, AuditReceipt, ChannelRequirements, Mutation, Store, WorkflowRequirements};

/// Returns the audit record of a change that no test looks at.
pub fn audit() -> AuditEntry {
    AuditEntry {
        principal: "anonymous".into(),
        action: "test".into(),
        resource_type: "test".into(),
        resource_id: String::new(),
        details: None,
        receipt: AuditReceipt::default(),
    }
}

/// Returns a change that no test looks at.
pub fn mutation() -> Mutation {
    Mutation::new(audit())
}

/// A workflow of these tasks.
pub fn workflow_content(name: &str, tasks: Vec<Value>) -> WorkflowContent {
    WorkflowContent {
        name: name.into(),
        description: None,
        priority: 0,
        condition: json!(true),
        tasks,
        tags: Vec::new(),
        loop_: None,
        continue_on_error: false,
    }
}

/// An active version of a workflow of these tasks, which is stored nowhere.
pub fn active_workflow(id: &str, version: i64, tasks: Vec<Value>) -> Workflow {
    let now = Timestamp::now();
    Workflow {
        workflow_id: id.into(),
        version,
        content: workflow_content(id, tasks),
        status: LifecycleStatus::Active,
        rollout_percentage: 100,
        created_at: now,
        updated_at: now,
    }
}

/// A channel over a workflow that answers its callers, without a route.
pub fn channel_content(name: &str, workflow: &str) -> ChannelContent {
    ChannelContent {
        name: name.into(),
        description: None,
        channel_type: ChannelType::Sync,
        protocol: Protocol::Rest,
        methods: None,
        route_pattern: None,
        topic: None,
        consumer_group: None,
        transport_config: json!({}),
        workflow_id: Some(workflow.into()),
        config: json!({}),
        priority: 0,
        tags: Vec::new(),
    }
}

/// A connector that is enabled.
pub fn connector_content(name: &str, connector_type: &str, config: Value) -> ConnectorContent {
    ConnectorContent {
        name: name.into(),
        connector_type: connector_type.into(),
        config,
        enabled: true,
        tags: Vec::new(),
    }
}

/// Stores a workflow, or its next version, as a draft.
pub async fn put_workflow(store: &Store, id: &str, content: WorkflowContent) {
    let workflows = store.workflows();
    if workflows.latest(id).await.unwrap().is_some() {
        workflows.new_version(id, mutation()).await.unwrap();
        workflows.update(id, Box::new(move |_| Ok(content)), mutation()).await.unwrap();
    } else {
        workflows.create(Some(id.into()), content, mutation()).await.unwrap();
    }
}

/// Stores a channel, or its next version, and activates it.
pub async fn put_channel(store: &Store, id: &str, content: ChannelContent) {
    let channels = store.channels();
    if channels.latest(id).await.unwrap().is_some() {
        channels.new_version(id, mutation()).await.unwrap();
        channels.update(id, Box::new(move |_| Ok(content)), mutation()).await.unwrap();
    } else {
        channels.create(Some(id.into()), content, mutation()).await.unwrap();
    }
    set_channel_status(store, id, LifecycleStatus::Active).await;
}

/// Changes the status of a channel, on a node that runs schedules.
pub async fn set_channel_status(store: &Store, id: &str, status: LifecycleStatus) {
    let requirements = ChannelRequirements { cron_enabled: true, ..ChannelRequirements::default() };
    store.channels().set_status(id, status, None, requirements, mutation()).await.unwrap();
}

/// Changes the status of a workflow that needs no connector, with a share of the traffic in percent.
pub async fn set_workflow_status(store: &Store, id: &str, status: LifecycleStatus, share: Option<i64>) {
    let (rollout, requirements) = (share.map(Into::into), WorkflowRequirements::default());
    store.workflows().set_status(id, status, rollout, requirements, mutation()).await.unwrap();
}
