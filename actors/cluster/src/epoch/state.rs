//! The decision what to load: pure, no clock, no I/O.

use std::collections::BTreeSet;
use std::time::Duration;

use actix_supervision::Backoff;
use svc_store::{ChangedEntity, ConfigChange};

use crate::epoch::local::LocalState;

/// Part of the poll interval by which polls of several processes spread.
const JITTER: f64 = 0.2;
/// Longest pause after failed passes.
const SLOWEST_RETRY: Duration = Duration::from_secs(30);

/// Returns the time until the next pass, after so many failed ones in a row. `random` is a uniformly distributed number.
pub(crate) fn poll_pause(interval: Duration, failures: u32, random: u64) -> Duration {
    let backoff = Backoff { first: interval, max: interval.max(SLOWEST_RETRY), jitter: JITTER };
    backoff.jittered_delay(failures.saturating_sub(1), random)
}

/// The scope of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedEntities {
    /// True if anything may have changed; then the lists do not matter.
    pub everything: bool,
    /// Ids of workflows.
    pub workflows: BTreeSet<String>,
    /// Ids of channels.
    pub channels: BTreeSet<String>,
    /// Ids of connectors.
    pub connectors: BTreeSet<String>,
    /// True if any connector may have changed; then their ids do not matter.
    pub all_connectors: bool,
    /// True if the pauses of channels may have changed.
    pub pauses: bool,
    /// True if the consumers or their keys may have changed.
    pub consumers: bool,
}

impl ChangedEntities {
    /// Returns the scope of everything.
    pub(crate) fn all() -> Self {
        Self { everything: true, ..Self::default() }
    }

    /// Returns true if there is nothing to load.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn add(&mut self, entity: &ChangedEntity) {
        match entity {
            ChangedEntity::All => self.everything = true,
            ChangedEntity::Workflow(id) => drop(self.workflows.insert(id.clone())),
            ChangedEntity::Channel(id) => drop(self.channels.insert(id.clone())),
            ChangedEntity::Connector(id) => drop(self.connectors.insert(id.clone())),
            ChangedEntity::Connectors => self.all_connectors = true,
            ChangedEntity::Pauses => self.pauses = true,
            ChangedEntity::Consumers => self.consumers = true,
        }
    }
}

/// The next step of the watermark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoadPlan {
    /// The watermark after the load.
    pub(crate) target: i64,
    /// The scope of the load.
    pub(crate) changed: ChangedEntities,
}

impl LoadPlan {
    /// Plans the load from the watermark to the current epoch. `changes` are the recorded ones after the watermark, in
    /// order; an epoch without a record may have changed anything. A change that its author works on ends the plan
    /// before it.
    pub(crate) fn new(
        watermark: i64,
        current: i64,
        changes: &[ConfigChange],
        local: impl Fn(&str) -> Option<LocalState>,
    ) -> Self {
        let mut plan = Self { target: watermark, changed: ChangedEntities::default() };
        if current < watermark {
            // The database was replaced by an older copy.
            return Self { target: current, changed: ChangedEntities::all() };
        }
        for change in changes {
            let state = local(&change.change_id);
            if state == Some(LocalState::Pending) {
                // What the missing records before it may have changed is still to be loaded.
                plan.cover_gap(change.epoch - 1);
                return plan;
            }
            plan.cover_gap(change.epoch - 1);
            plan.target = change.epoch;
            if state.is_none() {
                plan.changed.add(&change.entity);
            }
        }
        plan.cover_gap(current);
        plan
    }

    /// Moves the target to `epoch`. If it is not there already, records are missing.
    fn cover_gap(&mut self, epoch: i64) {
        if self.target < epoch {
            self.target = epoch;
            self.changed.everything = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(epoch: i64, entity: ChangedEntity) -> ConfigChange {
        ConfigChange { epoch, entity, change_id: epoch.to_string() }
    }

    fn channel(epoch: i64) -> ConfigChange {
        change(epoch, ChangedEntity::Channel(format!("c{epoch}")))
    }

    fn foreign(_: &str) -> Option<LocalState> {
        None
    }

    #[test]
    fn recorded_changes_are_loaded_by_name() {
        let workflow = change(6, ChangedEntity::Workflow("w".into()));
        let connector = change(7, ChangedEntity::Connector("k".into()));
        let plan = LoadPlan::new(4, 7, &[channel(5), workflow, connector], foreign);
        let expected = ChangedEntities {
            everything: false,
            workflows: ["w".to_owned()].into(),
            channels: ["c5".to_owned()].into(),
            connectors: ["k".to_owned()].into(),
            all_connectors: false,
            pauses: false,
            consumers: false,
        };
        assert_eq!(plan, LoadPlan { target: 7, changed: expected });
        let import = LoadPlan::new(4, 5, &[change(5, ChangedEntity::Connectors)], foreign);
        let expected = ChangedEntities { all_connectors: true, ..ChangedEntities::default() };
        assert_eq!(import.changed, expected);
        let pause = LoadPlan::new(4, 5, &[change(5, ChangedEntity::Pauses)], foreign);
        assert_eq!(pause.changed, ChangedEntities { pauses: true, ..ChangedEntities::default() });
        let key = LoadPlan::new(4, 5, &[change(5, ChangedEntity::Consumers)], foreign);
        assert_eq!(key.changed, ChangedEntities { consumers: true, ..ChangedEntities::default() });
        assert!(LoadPlan::new(7, 7, &[], foreign).changed.is_empty());
    }

    #[test]
    fn missing_record_means_everything_wherever_it_is_missing() {
        for changes in [vec![], vec![channel(6)], vec![channel(5)], vec![channel(6), channel(7)]] {
            let plan = LoadPlan::new(4, 7, &changes, foreign);
            assert!(plan.changed.everything && plan.target == 7, "{changes:?}");
        }
        let reload = LoadPlan::new(4, 5, &[change(5, ChangedEntity::All)], foreign);
        assert!(reload.changed.everything);
    }

    #[test]
    fn locally_loaded_change_only_moves_the_watermark() {
        let local = |id: &str| (id == "5").then_some(LocalState::Applied);
        let plan = LoadPlan::new(4, 6, &[channel(5), channel(6)], local);
        assert_eq!((plan.target, plan.changed.channels), (6, ["c6".to_owned()].into()));
    }

    #[test]
    fn change_that_its_author_works_on_ends_the_plan() {
        let local = |id: &str| (id == "6").then_some(LocalState::Pending);
        let plan = LoadPlan::new(4, 7, &[channel(5), channel(6), channel(7)], local);
        assert_eq!((plan.target, plan.changed.channels), (5, ["c5".to_owned()].into()));
        let behind_a_gap = LoadPlan::new(4, 6, &[channel(6)], local);
        assert!(behind_a_gap.changed.everything && behind_a_gap.target == 5);
    }

    #[test]
    fn change_committed_after_reading_epoch_is_loaded() {
        assert_eq!(LoadPlan::new(4, 5, &[channel(5), channel(6)], foreign).target, 6);
    }

    #[test]
    fn older_copy_of_the_database_is_loaded_whole() {
        let plan = LoadPlan::new(9, 3, &[], foreign);
        assert_eq!(plan, LoadPlan { target: 3, changed: ChangedEntities::all() });
    }
}
