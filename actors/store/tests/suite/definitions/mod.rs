//! Random admin calls: the database must hold, list and record what a model in memory does.

mod model;

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use svc_model::lifecycle::{Rollout, VersionState};
use svc_model::{ChannelContent, ConnectorContent, EntityKind, LifecycleStatus, Page, WorkflowContent};
use svc_store::{
    AuditFilter, EntityFilter, ImportAction, Mutation, OnConflict, Store, StoreError, WorkflowRequirements,
};

use super::database::TestDatabase;
use super::{channel, mutation, requirements, workflow};
use model::Model;

/// Sequences of calls on one database.
const ROUNDS: usize = 6;
const IDS: [&str; 3] = ["a", "b", "c"];
const NAMES: [&str; 4] = ["four", "one", "three", "two"];
const TAGS: [&str; 2] = ["x", "y"];

/// A content, as far as calls differ in it.
#[derive(Clone, Debug, PartialEq)]
struct Draft {
    name: usize,
    priority: i64,
    tag: usize,
    workflow: usize,
}

impl Draft {
    fn workflow(&self) -> WorkflowContent {
        let tags = vec![TAGS[self.tag].to_owned()];
        WorkflowContent { priority: self.priority, tags, ..workflow(NAMES[self.name]) }
    }

    fn channel(&self) -> ChannelContent {
        let tags = vec![TAGS[self.tag].to_owned()];
        let workflow_id = Some(IDS[self.workflow].to_owned());
        ChannelContent { priority: self.priority, tags, workflow_id, ..channel(NAMES[self.name], None) }
    }

    fn connector(&self) -> ConnectorContent {
        ConnectorContent {
            name: NAMES[self.name].to_owned(),
            connector_type: "http".to_owned(),
            config: json!({"url": format!("http://{}", self.priority)}),
            enabled: self.tag == 0,
            tags: vec![TAGS[self.tag].to_owned()],
        }
    }
}

#[derive(Clone, Debug)]
enum Call {
    Create(EntityKind, usize, Draft),
    Put(EntityKind, usize, Draft),
    Version(EntityKind, usize),
    Activate(EntityKind, usize, i64, bool),
    Archive(EntityKind, usize),
    Rollout(usize, i64),
    Rollback(EntityKind, usize, i64),
    Import(EntityKind, usize, Draft, OnConflict),
    Delete(EntityKind, usize),
}

fn calls() -> impl Strategy<Value = Vec<(Call, bool)>> {
    let draft = (0..NAMES.len(), 0_i64..3, 0..TAGS.len(), 0..IDS.len())
        .prop_map(|(name, priority, tag, workflow)| Draft { name, priority, tag, workflow });
    let versioned = prop_oneof![Just(EntityKind::Workflow), Just(EntityKind::Channel)];
    let kind = prop_oneof![3 => versioned.clone(), 1 => Just(EntityKind::Connector)];
    let rule = prop_oneof![Just(OnConflict::Fail), Just(OnConflict::Skip), Just(OnConflict::NewVersion)];
    let share = prop_oneof![2 => Just(100_i64), 2 => Just(10), 1 => Just(0)];
    let id = 0..IDS.len();
    let call = prop_oneof![
        4 => (kind.clone(), id.clone(), draft.clone()).prop_map(|(k, i, d)| Call::Create(k, i, d)),
        3 => (kind.clone(), id.clone(), draft.clone()).prop_map(|(k, i, d)| Call::Put(k, i, d)),
        3 => (versioned.clone(), id.clone()).prop_map(|(k, i)| Call::Version(k, i)),
        6 => (versioned.clone(), id.clone(), share.clone(), any::<bool>())
            .prop_map(|(k, i, share, replace)| Call::Activate(k, i, share, replace)),
        1 => (versioned.clone(), id.clone()).prop_map(|(k, i)| Call::Archive(k, i)),
        1 => (id.clone(), share).prop_map(|(i, share)| Call::Rollout(i, share)),
        2 => (versioned, id.clone(), 1_i64..4).prop_map(|(k, i, version)| Call::Rollback(k, i, version)),
        2 => (kind.clone(), id.clone(), draft, rule).prop_map(|(k, i, d, rule)| Call::Import(k, i, d, rule)),
        1 => (kind, id).prop_map(|(k, i)| Call::Delete(k, i)),
    ];
    proptest::collection::vec((call, any::<bool>()), 20..80)
}

/// Returns the kind and the id of a call.
fn subject(call: &Call) -> (EntityKind, usize) {
    match call {
        Call::Create(kind, id, _)
        | Call::Put(kind, id, _)
        | Call::Version(kind, id)
        | Call::Activate(kind, id, ..)
        | Call::Archive(kind, id)
        | Call::Rollback(kind, id, _)
        | Call::Import(kind, id, ..)
        | Call::Delete(kind, id) => (*kind, *id),
        Call::Rollout(id, _) => (EntityKind::Workflow, *id),
    }
}

/// Returns the status of a refusal. Any other error fails the test.
fn status_of<T>(answer: Result<T, StoreError>) -> Result<T, u16> {
    answer.map_err(|error| match error {
        StoreError::Refused(refusal) => refusal.status(),
        other => panic!("{other}"),
    })
}

/// Makes a call of a connector.
async fn call_connectors(store: &Store, call: &Call, change: Mutation) -> Result<(), u16> {
    let connectors = store.connectors();
    match call {
        Call::Create(_, id, content) => {
            status_of(connectors.create(Some(IDS[*id].into()), content.connector(), change).await)?;
        }
        Call::Put(_, id, content) => {
            let content = content.connector();
            let merge = Box::new(move |_: &ConnectorContent| Ok(content));
            status_of(connectors.update(IDS[*id], merge, Arc::new(()), change).await)?;
        }
        Call::Import(_, id, content, rule) => {
            let items = vec![(Some(IDS[*id].to_owned()), content.connector())];
            status_of(connectors.import(items, *rule, change).await.unwrap().remove(0))?;
        }
        Call::Delete(_, id) => status_of(connectors.delete(IDS[*id], change).await)?,
        other => panic!("connectors have no versions: {other:?}"),
    }
    Ok(())
}

/// Makes a call of a kind with versions.
macro_rules! call_versioned {
    ($repository:expr, $call:expr, $change:expr, $content:ident, $requirements:expr) => {{
        let (repository, change) = ($repository, $change);
        match $call {
            Call::Create(_, id, draft) => {
                status_of(repository.create(Some(IDS[*id].into()), draft.$content(), change).await).map(drop)
            }
            Call::Put(_, id, draft) => {
                let content = draft.$content();
                status_of(repository.update(IDS[*id], Box::new(move |_| Ok(content)), change).await).map(drop)
            }
            Call::Version(_, id) => status_of(repository.new_version(IDS[*id], change).await).map(drop),
            Call::Activate(_, id, percentage, replace_canary) => {
                let rollout = Rollout { percentage: *percentage, replace_canary: *replace_canary };
                let (status, requirements) = (LifecycleStatus::Active, $requirements);
                let answer = repository.set_status(IDS[*id], status, Some(rollout), requirements, change);
                status_of(answer.await).map(drop)
            }
            Call::Archive(_, id) => {
                let (status, requirements) = (LifecycleStatus::Archived, $requirements);
                let answer = repository.set_status(IDS[*id], status, None, requirements, change);
                status_of(answer.await).map(drop)
            }
            Call::Rollback(_, id, version) => {
                match status_of(repository.rollback_source(IDS[*id], Some(*version)).await) {
                    Ok(source) => {
                        let answer = repository.rollback(IDS[*id], source, $requirements, change);
                        status_of(answer.await).map(drop)
                    }
                    Err(status) => Err(status),
                }
            }
            Call::Import(_, id, draft, rule) => {
                let item = repository.import_item(Some(IDS[*id].into()), draft.$content(), *rule, change);
                status_of(item.await).map(|outcome| {
                    assert!(outcome.id == IDS[*id] && outcome.action != ImportAction::Updated, "{outcome:?}");
                })
            }
            Call::Delete(_, id) => status_of(repository.delete(IDS[*id], change).await),
            Call::Rollout(..) => panic!("only a workflow has a rollout"),
        }
    }};
}

/// Makes a call. A refusal is its status.
async fn make(store: &Store, call: &Call, change: Mutation) -> Result<(), u16> {
    match (subject(call).0, call) {
        (_, Call::Rollout(id, percentage)) => {
            status_of(store.workflows().set_rollout(IDS[*id], *percentage, change).await).map(drop)
        }
        (EntityKind::Workflow, call) => {
            let none = WorkflowRequirements::default;
            call_versioned!(store.workflows(), call, change, workflow, none())
        }
        (EntityKind::Channel, call) => {
            call_versioned!(store.channels(), call, change, channel, requirements())
        }
        (EntityKind::Connector, call) => call_connectors(store, call, change).await,
    }
}

/// Compares the versions of the definition that a call is about with the model.
async fn compare_versions(store: &Store, model: &Model, call: &Call) {
    let (kind, id) = subject(call);
    let page = Page { limit: 100, offset: 0 };
    let (workflows, channels) = (store.workflows(), store.channels());
    let stored: Vec<(VersionState, Value)> = match kind {
        EntityKind::Workflow => {
            let versions =
                workflows.versions(IDS[id], page).await.map_or_else(|_| Vec::new(), |found| found.0);
            let state = |row: &svc_model::Workflow| svc_store::Versioned::state(row);
            versions.iter().rev().map(|row| (state(row), row.content.hashable())).collect()
        }
        EntityKind::Channel => {
            let versions =
                channels.versions(IDS[id], page).await.map_or_else(|_| Vec::new(), |found| found.0);
            let state = |row: &svc_model::Channel| svc_store::Versioned::state(row);
            versions.iter().rev().map(|row| (state(row), row.content.hashable())).collect()
        }
        EntityKind::Connector => {
            let row = store.connectors().get(IDS[id]).await.unwrap();
            let state = VersionState { version: 1, status: LifecycleStatus::Draft, rollout_percentage: 100 };
            row.iter().map(|row| (state, row.content.hashable())).collect()
        }
    };
    let expected: Vec<_> = model
        .versions(kind, id)
        .iter()
        .map(|version| {
            let content = match kind {
                EntityKind::Workflow => version.content.workflow().hashable(),
                EntityKind::Channel => version.content.channel().hashable(),
                EntityKind::Connector => version.content.connector().hashable(),
            };
            (version.state, content)
        })
        .collect();
    assert_eq!(stored, expected, "after {call:?}");
}

fn shown(statuses: &[LifecycleStatus]) -> EntityFilter {
    EntityFilter { shown_statuses: statuses.to_vec(), ..EntityFilter::default() }
}

/// Compares the lists, and what a start would load, with the model.
async fn compare_lists(store: &Store, model: &Model, call: &Call) {
    let page = Page { limit: 100, offset: 0 };
    let (workflows, channels) = (store.workflows(), store.channels());
    let active = LifecycleStatus::Active.name().to_owned();
    for filter in [
        EntityFilter::default(),
        EntityFilter { status: Some(active.into()), ..EntityFilter::default() },
        shown(&[LifecycleStatus::Active]),
        shown(&[LifecycleStatus::Archived]),
        shown(&[LifecycleStatus::Draft, LifecycleStatus::Archived]),
        EntityFilter { tag: Some(TAGS[0].to_owned()), ..EntityFilter::default() },
    ] {
        let found = workflows.list(filter.clone(), page).await.unwrap().0;
        let listed: Vec<_> = found.into_iter().map(|row| (row.workflow_id, row.version)).collect();
        assert_eq!(listed, model.list(EntityKind::Workflow, &filter), "{filter:?} after {call:?}");
        let found = channels.list(filter.clone(), page).await.unwrap().0;
        let listed: Vec<_> = found.into_iter().map(|row| (row.channel_id, row.version)).collect();
        assert_eq!(listed, model.list(EntityKind::Channel, &filter), "{filter:?} after {call:?}");
        let found = store.connectors().list(filter.clone(), page).await.unwrap().0;
        let listed: Vec<_> = found.into_iter().map(|row| (row.id, 1)).collect();
        assert_eq!(listed, model.list(EntityKind::Connector, &filter), "{filter:?} after {call:?}");
    }
    let loaded = workflows.active().await.unwrap();
    let loaded: BTreeSet<_> = loaded.into_iter().map(|row| (row.workflow_id, row.version)).collect();
    let serving = model.definitions.iter().filter(|((of, _), _)| *of == "workflow");
    let serving =
        serving.flat_map(|((_, id), versions)| versions.iter().map(move |version| (*id, version.state)));
    let serving = serving.filter(|(_, state)| state.status == LifecycleStatus::Active);
    let serving: BTreeSet<_> = serving.map(|(id, state)| (IDS[id].to_owned(), state.version)).collect();
    assert_eq!(loaded, serving, "after {call:?}");
}

/// Compares the epoch and the audit log with the model.
async fn compare_records(store: &Store, model: &Model) {
    assert_eq!(store.epoch().current().await.unwrap(), model.epoch);
    let page = Page { limit: 1000, offset: 0 };
    let (rows, _) = store.audit().list(AuditFilter::default(), page).await.unwrap();
    let recorded = rows.into_iter().rev().map(|row| {
        let details: Value = serde_json::from_str(row.details.as_deref().unwrap()).unwrap();
        (row.resource_type, row.resource_id, details["version"].as_i64())
    });
    let changes = model.changes.iter().map(|(kind, id, version)| ((*kind).to_owned(), id.clone(), *version));
    assert_eq!(recorded.collect::<Vec<_>>(), changes.collect::<Vec<_>>());
}

pub(crate) async fn database_holds_what_a_model_does(db: TestDatabase) {
    let store = db.store().await;
    let mut runner = TestRunner::deterministic();
    for _ in 0..ROUNDS {
        let mut model = Model::default();
        db.execute("DELETE FROM definitions; DELETE FROM audit_logs; UPDATE config_epoch SET epoch = 0")
            .await
            .unwrap();
        db.execute("DELETE FROM config_changes").await.unwrap();
        for (call, serves) in calls().new_tree(&mut runner).unwrap().current() {
            let change = Mutation { epoch: serves, ..mutation(subject(&call).0.name(), "change") };
            let expected = model.record(&call, serves);
            let answer = make(&store, &call, change).await;
            assert_eq!(answer, expected, "{call:?}");
            compare_versions(&store, &model, &call).await;
            compare_lists(&store, &model, &call).await;
        }
        compare_records(&store, &model).await;
    }
}
