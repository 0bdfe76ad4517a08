//! The decisions of the watcher as functions, so that a simulation of clusters takes them by the same code.

use std::time::Duration;

use svc_store::{ChangedEntity, ConfigChange};

use crate::epoch::local::LocalChanges;
use crate::epoch::state::{self, ChangedEntities, LoadPlan};

/// Plans the load from the watermark to the current epoch, with the changes in progress of one process. Returns the
/// watermark after the load, and the scope of the load.
pub fn plan_load(
    watermark: i64,
    current: i64,
    changes: &[ConfigChange],
    local: &LocalChanges,
) -> (i64, ChangedEntities) {
    let LoadPlan { target, changed } =
        LoadPlan::new(watermark, current, changes, |change_id| local.state(change_id));
    (target, changed)
}

/// Returns the time until the next pass, after so many failed ones in a row. `random` is a uniformly distributed number.
pub fn poll_pause(interval: Duration, failures: u32, random: u64) -> Duration {
    state::poll_pause(interval, failures, random)
}

/// Returns the scope of one changed entity.
pub fn scope_of(entity: &ChangedEntity) -> ChangedEntities {
    let mut changed = ChangedEntities::default();
    changed.add(entity);
    changed
}
