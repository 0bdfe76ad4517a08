//! The cases and their shared helpers.

pub(crate) mod attempts;
pub(crate) mod backtests;
pub(crate) mod bulk_runs;
pub(crate) mod cancels;
pub(crate) mod channel_pauses;
pub(crate) mod channels;
pub(crate) mod connectors;
pub(crate) mod consumers;
pub(crate) mod database;
pub(crate) mod dead_letters;
pub(crate) mod definitions;
pub(crate) mod earlier;
pub(crate) mod encryption;
pub(crate) mod epoch;
pub(crate) mod error_groups;
pub(crate) mod inspect;
pub(crate) mod kept_answers;
pub(crate) mod ledger;
pub(crate) mod list_pages;
pub(crate) mod metrics;
pub(crate) mod mutations;
pub(crate) mod nodes;
pub(crate) mod open_traces;
pub(crate) mod outages;
pub(crate) mod packages;
pub(crate) mod plugins;
pub(crate) mod quota_counts;
pub(crate) mod races;
pub(crate) mod recordings;
pub(crate) mod reruns;
pub(crate) mod rollouts;
pub(crate) mod schema;
pub(crate) mod token_states;
pub(crate) mod trace_lists;
pub(crate) mod traces;
pub(crate) mod transfer;
pub(crate) mod waiting;
pub(crate) mod webhooks;
pub(crate) mod workflows;
pub(crate) mod writer;

pub(crate) use ledger::{
    admin as ledger_admin, cancels as ledger_cancels, cursors as ledger_cursors,
    explanations as ledger_explanations, groups as ledger_groups, model as ledger_model,
    races as ledger_races, runs as ledger_runs,
};
use serde_json::{Value, json};
use svc_model::{ChannelContent, ChannelType, EntityKind, Protocol, ServiceError, WorkflowContent};
use svc_store::{AuditEntry, AuditReceipt, ChannelRequirements, Mutation, References, StoreError};

pub(crate) fn mutation(resource_type: &str, action: &str) -> Mutation {
    let audit = AuditEntry {
        principal: "anonymous".into(),
        action: action.into(),
        resource_type: resource_type.into(),
        resource_id: String::new(),
        details: Some(json!({ "request_id": "r1" })),
        receipt: AuditReceipt::default(),
    };
    Mutation::new(audit)
}

/// Every workflow and channel refers to this name and no other, and every workflow calls the plugin of this id.
pub(crate) struct Names(pub(crate) &'static str);

impl References for Names {
    fn workflow_names(&self, _: &WorkflowContent, _: EntityKind, name: &str) -> bool {
        name == self.0
    }

    fn channel_names(&self, _: &ChannelContent, _: EntityKind, name: &str) -> bool {
        name == self.0
    }

    fn workflow_calls(&self, _: &WorkflowContent, plugin: &str) -> bool {
        plugin == self.0
    }
}

pub(crate) fn any_mutation() -> Mutation {
    mutation("workflow", "change")
}

pub(crate) fn tasks() -> Vec<Value> {
    vec![
        json!({ "id": "t", "name": "T", "function": { "name": "log", "input": { "message": "é \" ' \u{1F980}" } } }),
    ]
}

pub(crate) fn workflow(name: &str) -> WorkflowContent {
    WorkflowContent {
        name: name.into(),
        description: Some("what it does".into()),
        priority: 0,
        condition: json!(true),
        tasks: tasks(),
        tags: vec!["a".into(), "b\"c".into()],
        loop_: None,
        continue_on_error: false,
    }
}

pub(crate) fn channel(name: &str, route: Option<&str>) -> ChannelContent {
    ChannelContent {
        name: name.into(),
        description: None,
        channel_type: ChannelType::Sync,
        protocol: Protocol::Rest,
        methods: Some(vec!["POST".into()]),
        route_pattern: route.map(Into::into),
        topic: None,
        consumer_group: None,
        transport_config: json!({}),
        workflow_id: Some("w".into()),
        config: json!({ "timeout_ms": 100 }),
        priority: 0,
        tags: vec![],
    }
}

pub(crate) fn requirements() -> ChannelRequirements {
    ChannelRequirements::default()
}

/// Returns the refusal inside an error. Any other error fails the test.
pub(crate) fn refusal<T: std::fmt::Debug>(result: Result<T, StoreError>) -> ServiceError {
    match result {
        Err(StoreError::Refused(error)) => error,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

/// Returns whether a write failed because the database is away or its answer was lost.
pub(crate) fn is_unavailable<T>(result: &Result<T, StoreError>) -> bool {
    result.as_ref().is_err_and(StoreError::is_outage)
}
