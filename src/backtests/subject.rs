//! The subject of a backtest: a version of a workflow or of a channel, compiled.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use svc_engine::Engine;
use svc_model::lifecycle::{absent, no_draft};
use svc_model::{Channel, EntityKind, LifecycleStatus, ServiceError, Timestamp, Workflow};
use svc_project::OfflineWorkflow;
use svc_project::backtest::BacktestChannel;
use svc_store::{Store, StoreError};

/// A version that is ready to run over recorded runs.
pub(crate) struct BacktestSubject {
    engine: Arc<Engine>,
    /// The version that runs.
    pub(crate) version: i64,
    pub(super) workflow: OfflineWorkflow,
    /// The time of the last change of what runs.
    pub(super) changed_at: Timestamp,
    /// The channel that is tried; `None` in a backtest of a workflow.
    channel: Option<TriedChannel>,
    /// The channels that made the recorded answers, by name; `None` for one that cannot be read.
    answering: HashMap<String, Option<BacktestChannel>>,
}

/// The channel of a backtest.
struct TriedChannel {
    name: String,
    rules: BacktestChannel,
}

impl BacktestSubject {
    /// Loads and compiles a version of a workflow or of a channel, or its draft.
    ///
    /// # Errors
    /// 404 without such a version; 400 for one that cannot be compiled here, such as a workflow with a function of an
    /// embedding application. The functions of plugins and the limits are those of `serving`, the engine of the node.
    pub(crate) async fn load(
        store: &Store,
        serving: &Engine,
        kind: EntityKind,
        id: &str,
        version: Option<i64>,
    ) -> Result<Self, StoreError> {
        let engine = svc_toolkit::offline::engine_builder().limits_and_plugins_of(serving);
        let engine = Arc::new(engine.build());
        if kind == EntityKind::Channel {
            return Self::load_channel(store, engine, id, version).await;
        }
        let latest = store.workflows().latest(id).await?.ok_or_else(|| absent(kind, id))?;
        let workflow = match version {
            Some(version) => store.workflows().version(id, version).await?,
            None => Some(latest).filter(|row| row.status == LifecycleStatus::Draft),
        };
        let workflow = workflow.ok_or_else(|| no_such_version(kind, id, version))?;
        Self::compile(engine, workflow)
    }

    async fn load_channel(
        store: &Store,
        engine: Arc<Engine>,
        id: &str,
        version: Option<i64>,
    ) -> Result<Self, StoreError> {
        let latest = store.channels().latest(id).await?.ok_or_else(|| absent(EntityKind::Channel, id))?;
        let channel = match version {
            Some(version) => store.channels().version(id, version).await?,
            None => Some(latest).filter(|row| row.status == LifecycleStatus::Draft),
        };
        let channel = channel.ok_or_else(|| no_such_version(EntityKind::Channel, id, version))?;
        let Channel { content, version, updated_at, .. } = channel;
        let workflow_id = content.workflow_id.as_deref().unwrap_or_default();
        let workflow = store.workflows().latest(workflow_id).await?;
        let workflow = workflow.ok_or_else(|| {
            let message = format!("channel '{id}' names workflow '{workflow_id}', which does not exist");
            ServiceError::conflict(message)
        })?;
        let workflow = find_serving(store, workflow).await?;
        let serving = find_serving_channel(store, id).await?;
        let methods = content.methods.as_deref().unwrap_or_default();
        let rules = BacktestChannel::read(&engine, &content.config, true);
        let rules = rules.map(|rules| rules.taking(methods)).and_then(|rules| match &serving {
            Some(serving) => rules.answered_by(&serving.content.config),
            None => Ok(rules),
        });
        let rules = rules.map_err(|problem| {
            ServiceError::validation(format!("the config of channel '{id}' cannot be used: {problem}"))
        })?;
        let mut subject = Self::compile(engine, workflow)?;
        subject.version = version;
        subject.changed_at = subject.changed_at.max(updated_at);
        subject.channel = Some(TriedChannel { name: content.name, rules });
        Ok(subject)
    }

    fn compile(engine: Arc<Engine>, workflow: Workflow) -> Result<Self, StoreError> {
        let compiled = OfflineWorkflow::from_stored(&engine, &workflow).map_err(ServiceError::from)?;
        Ok(Self {
            engine,
            version: workflow.version,
            workflow: compiled,
            changed_at: workflow.updated_at,
            channel: None,
            answering: HashMap::new(),
        })
    }

    /// Returns the name of the channel that is tried.
    pub(crate) fn channel_name(&self) -> Option<&str> {
        self.channel.as_ref().map(|channel| channel.name.as_str())
    }

    /// Describes the guards of the channel that is tried.
    pub(super) fn describe_guards(&self) -> Option<Value> {
        self.channel.as_ref().map(|channel| channel.rules.describe_guards())
    }

    /// Loads the channel that made a recorded answer, unless it is known.
    pub(super) async fn meet_channel(&mut self, store: &Store, name: &str) -> Result<(), StoreError> {
        if self.channel.is_some() || self.answering.contains_key(name) {
            return Ok(());
        }
        let newest = store.channels().latest_named(name).await?;
        let serving = match &newest {
            Some(newest) => find_serving_channel(store, &newest.channel_id).await?,
            None => None,
        };
        let rules = serving
            .or(newest)
            .and_then(|channel| BacktestChannel::read(&self.engine, &channel.content.config, false).ok());
        self.answering.insert(name.to_owned(), rules);
        Ok(())
    }

    /// Returns the channel that judges the recorded runs of the channel of this name.
    pub(super) fn rules_for(&self, name: &str) -> Option<&BacktestChannel> {
        match &self.channel {
            Some(channel) => Some(&channel.rules),
            None => self.answering.get(name)?.as_ref(),
        }
    }
}

/// Returns the active version of a workflow with the largest share of the traffic, or else its newest one.
async fn find_serving(store: &Store, newest: Workflow) -> Result<Workflow, StoreError> {
    let (mut serving, mut share): (Option<Workflow>, i64) = (None, 0);
    for version in (1..=newest.version).rev() {
        let row = store.workflows().version(&newest.workflow_id, version).await?;
        let Some(row) = row.filter(|row| row.status == LifecycleStatus::Active) else { continue };
        share += row.rollout_percentage;
        if serving.as_ref().is_none_or(|most| row.rollout_percentage > most.rollout_percentage) {
            serving = Some(row);
        }
        if share >= 100 {
            break;
        }
    }
    Ok(serving.unwrap_or(newest))
}

/// Returns the version of a channel that serves.
async fn find_serving_channel(store: &Store, id: &str) -> Result<Option<Channel>, StoreError> {
    let Some(newest) = store.channels().latest(id).await? else { return Ok(None) };
    let newest_version = newest.version;
    if newest.status == LifecycleStatus::Active {
        return Ok(Some(newest));
    }
    for version in (1..newest_version).rev() {
        let earlier = store.channels().version(id, version).await?;
        if let Some(earlier) = earlier.filter(|earlier| earlier.status == LifecycleStatus::Active) {
            return Ok(Some(earlier));
        }
    }
    Ok(None)
}

/// Creates the 404 for a definition without this version, or without a draft.
fn no_such_version(kind: EntityKind, id: &str, version: Option<i64>) -> ServiceError {
    match version {
        Some(version) => ServiceError::not_found(format!("{} '{id}' has no version {version}", kind.name())),
        None => no_draft(kind, id),
    }
}
