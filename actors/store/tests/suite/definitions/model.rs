//! The definitions in memory, with the rules of admin calls.

use std::collections::BTreeMap;

use svc_model::lifecycle::{self, Rollout, Transition, VersionState};
use svc_model::{EntityKind, LifecycleStatus, ServiceError};
use svc_store::{EntityFilter, OnConflict};

use super::{Call, Draft, IDS, NAMES, TAGS, subject};

/// A version of a definition in memory.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ModelVersion {
    pub(super) state: VersionState,
    pub(super) content: Draft,
}

/// The record of a change in the audit log: the kind and id of its resource, the version that it concerns.
pub(super) type Change = (&'static str, String, Option<i64>);

/// The definitions in memory. Versions are in order; a connector has one, whose state says nothing.
#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) definitions: BTreeMap<(&'static str, usize), Vec<ModelVersion>>,
    pub(super) changes: Vec<Change>,
    pub(super) epoch: i64,
}

fn conflict() -> ServiceError {
    ServiceError::conflict("")
}

fn absent() -> ServiceError {
    ServiceError::not_found("")
}

impl Model {
    pub(super) fn versions(&self, kind: EntityKind, id: usize) -> &[ModelVersion] {
        self.definitions.get(&(kind.name(), id)).map_or(&[], Vec::as_slice)
    }

    fn states(&self, kind: EntityKind, id: usize) -> Vec<VersionState> {
        self.versions(kind, id).iter().rev().map(|version| version.state).collect()
    }

    fn latest(&self, kind: EntityKind, id: usize) -> Result<&ModelVersion, ServiceError> {
        self.versions(kind, id).last().ok_or_else(absent)
    }

    fn has_active(&self, id: usize) -> bool {
        self.states(EntityKind::Workflow, id).iter().any(|state| state.status == LifecycleStatus::Active)
    }

    /// Refuses a name that the latest version of another channel or another connector has.
    fn check_name(&self, kind: EntityKind, id: usize, name: usize) -> Result<(), ServiceError> {
        let others = self.definitions.iter().filter(|((of, other), _)| *of == kind.name() && *other != id);
        let is_taken =
            others.filter_map(|(_, versions)| versions.last()).any(|last| last.content.name == name);
        match kind != EntityKind::Workflow && is_taken {
            true => Err(conflict()),
            false => Ok(()),
        }
    }

    /// Refuses the activation of a channel whose workflow does not serve, or whose name serves already.
    fn check_channel(&self, id: usize, content: &Draft) -> Result<(), ServiceError> {
        if !self.has_active(content.workflow) {
            return Err(ServiceError::validation(""));
        }
        let others = self.definitions.iter().filter(|((of, other), _)| *of == "channel" && *other != id);
        let rivals = others.flat_map(|(_, versions)| versions).any(|version| {
            version.state.status == LifecycleStatus::Active && version.content.name == content.name
        });
        if rivals { Err(conflict()) } else { Ok(()) }
    }

    fn push(&mut self, kind: EntityKind, id: usize, content: Draft) {
        let versions = self.definitions.entry((kind.name(), id)).or_default();
        let version = versions.last().map_or(1, |last| last.state.version + 1);
        let state = VersionState { version, status: LifecycleStatus::Draft, rollout_percentage: 100 };
        versions.push(ModelVersion { state, content });
    }

    fn replace(&mut self, kind: EntityKind, id: usize, content: Draft) {
        if let Some(last) = self.definitions.entry((kind.name(), id)).or_default().last_mut() {
            last.content = content;
        }
    }

    fn apply(&mut self, kind: EntityKind, id: usize, transition: &Transition) {
        for version in self.definitions.entry((kind.name(), id)).or_default() {
            let change = transition.changes.iter().find(|change| change.version == version.state.version);
            version.state = change.copied().unwrap_or(version.state);
        }
    }

    /// Makes a call. Returns the id and the version that it concerns; `None` within if it wrote nothing.
    fn call(&mut self, call: &Call) -> Result<Option<(usize, i64)>, ServiceError> {
        let (kind, id) = subject(call);
        let version = match call {
            Call::Create(_, _, content) => self.create(kind, id, content).map(|()| 1)?,
            Call::Put(_, _, content) => self.put(kind, id, content)?,
            Call::Version(..) => {
                let latest = self.latest(kind, id)?.clone();
                if latest.state.status == LifecycleStatus::Draft {
                    return Err(conflict());
                }
                self.check_name(kind, id, latest.content.name)?;
                self.push(kind, id, latest.content);
                latest.state.version + 1
            }
            Call::Activate(_, _, percentage, replace_canary) => {
                let rollout = Rollout { percentage: *percentage, replace_canary: *replace_canary };
                self.activate(kind, id, rollout)?
            }
            Call::Archive(..) => {
                let transition = lifecycle::archive(kind, IDS[id], &self.states(kind, id))?;
                self.apply(kind, id, &transition);
                transition.answer
            }
            Call::Rollout(_, percentage) => {
                let transition = lifecycle::rollout(IDS[id], &self.states(kind, id), *percentage)?;
                self.apply(kind, id, &transition);
                transition.answer
            }
            Call::Rollback(_, _, version) => self.roll_back(kind, id, *version)?,
            Call::Import(_, _, content, rule) if kind == EntityKind::Connector => {
                return self.import_connector(id, content, *rule);
            }
            Call::Import(_, _, content, rule) => {
                return Ok(self.import(kind, id, content, *rule)?.map(|version| (id, version)));
            }
            Call::Delete(..) => {
                let version = self.latest(kind, id)?.state.version;
                self.definitions.remove(&(kind.name(), id));
                version
            }
        };
        Ok(Some((id, version)))
    }

    fn put(&mut self, kind: EntityKind, id: usize, content: &Draft) -> Result<i64, ServiceError> {
        let state = self.latest(kind, id)?.state;
        if kind != EntityKind::Connector && state.status != LifecycleStatus::Draft {
            return Err(absent());
        }
        self.check_name(kind, id, content.name)?;
        self.replace(kind, id, content.clone());
        Ok(state.version)
    }

    fn roll_back(&mut self, kind: EntityKind, id: usize, version: i64) -> Result<i64, ServiceError> {
        lifecycle::rollback(kind, IDS[id], &self.states(kind, id), Some(version), None)?;
        let source = self.versions(kind, id).iter().find(|found| found.state.version == version);
        let content = source.ok_or_else(absent)?.content.clone();
        self.check_name(kind, id, content.name)?;
        let before = self.versions(kind, id).to_vec();
        self.push(kind, id, content);
        let activated = self.activate(kind, id, Rollout::default());
        if activated.is_err() {
            self.definitions.insert((kind.name(), id), before);
        }
        activated
    }

    fn create(&mut self, kind: EntityKind, id: usize, content: &Draft) -> Result<(), ServiceError> {
        if !self.versions(kind, id).is_empty() {
            return Err(conflict());
        }
        self.check_name(kind, id, content.name)?;
        self.push(kind, id, content.clone());
        Ok(())
    }

    fn activate(&mut self, kind: EntityKind, id: usize, rollout: Rollout) -> Result<i64, ServiceError> {
        let states = self.states(kind, id);
        let transition = match kind {
            EntityKind::Workflow => lifecycle::activate_workflow(IDS[id], &states, rollout)?,
            _ => lifecycle::activate_channel(IDS[id], &states)?,
        };
        if kind == EntityKind::Channel {
            let content = self.latest(kind, id)?.content.clone();
            self.check_channel(id, &content)?;
        }
        self.apply(kind, id, &transition);
        Ok(transition.answer)
    }

    fn import(
        &mut self,
        kind: EntityKind,
        id: usize,
        content: &Draft,
        rule: OnConflict,
    ) -> Result<Option<i64>, ServiceError> {
        let Some(latest) = self.versions(kind, id).last().cloned() else {
            return self.create(kind, id, content).map(|()| Some(1));
        };
        match rule {
            OnConflict::Fail => return Err(conflict()),
            OnConflict::Skip => return Ok(None),
            OnConflict::NewVersion => {}
        }
        let status = latest.state.status;
        if latest.content == *content && status != LifecycleStatus::Archived {
            return Ok(None);
        }
        self.check_name(kind, id, content.name)?;
        if status == LifecycleStatus::Draft {
            self.replace(kind, id, content.clone());
            return Ok(Some(latest.state.version));
        }
        self.push(kind, id, content.clone());
        Ok(Some(latest.state.version + 1))
    }

    /// Imports a connector, whose key is its name.
    fn import_connector(
        &mut self,
        id: usize,
        content: &Draft,
        rule: OnConflict,
    ) -> Result<Option<(usize, i64)>, ServiceError> {
        let kind = EntityKind::Connector;
        let named = (0..IDS.len()).find_map(|other| {
            let stored = self.versions(kind, other).last()?;
            (stored.content.name == content.name).then(|| (other, stored.content == *content))
        });
        let Some((stored, is_same)) = named else {
            return self.create(kind, id, content).map(|()| Some((id, 1)));
        };
        match rule {
            OnConflict::Fail => Err(conflict()),
            OnConflict::NewVersion if !is_same => {
                self.replace(kind, stored, content.clone());
                Ok(Some((stored, 1)))
            }
            OnConflict::Skip | OnConflict::NewVersion => Ok(None),
        }
    }

    /// Makes a call, and records it if it wrote something.
    pub(super) fn record(&mut self, call: &Call, serves: bool) -> Result<(), u16> {
        let kind = subject(call).0;
        if let Some((id, version)) = self.call(call).map_err(|error| error.status())? {
            let version = (kind != EntityKind::Connector).then_some(version);
            self.changes.push((kind.name(), IDS[id].to_owned(), version));
            self.epoch += i64::from(serves);
        }
        Ok(())
    }

    /// Returns the ids and versions that a list shows, in its order.
    pub(super) fn list(&self, kind: EntityKind, filter: &EntityFilter) -> Vec<(String, i64)> {
        let of_kind = self.definitions.iter().filter(|((of, _), _)| *of == kind.name());
        let mut listed: Vec<_> = of_kind
            .filter_map(|((_, id), versions)| Some((*id, versions.last()?, versions)))
            .filter(|(_, last, versions)| {
                let is_active = versions.iter().any(|one| one.state.status == LifecycleStatus::Active);
                let latest = last.state.status;
                let shows = |status: &LifecycleStatus| match status {
                    LifecycleStatus::Active => is_active,
                    LifecycleStatus::Draft => latest == LifecycleStatus::Draft,
                    LifecycleStatus::Archived => latest == LifecycleStatus::Archived && !is_active,
                };
                let has_state = kind == EntityKind::Connector
                    || (filter.status.as_ref().is_none_or(|names| names.is_only(latest.name()))
                        && (filter.shown_statuses.is_empty() || filter.shown_statuses.iter().any(shows)));
                has_state && filter.tag.as_deref().is_none_or(|tag| tag == TAGS[last.content.tag])
            })
            .map(|(id, last, _)| (id, last))
            .collect();
        listed.sort_by_key(|(id, last)| {
            let priority = if kind == EntityKind::Connector { 0 } else { -last.content.priority };
            (priority, NAMES[last.content.name], *id)
        });
        listed.into_iter().map(|(id, last)| (IDS[id].to_owned(), last.state.version)).collect()
    }
}
