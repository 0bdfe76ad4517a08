//! The channel that another one names for its failures.

use std::sync::Arc;

use svc_model::Channel;

use crate::snapshot::{LoadedChannel, Snapshot};

/// Returns the name of the channel that a stored channel names for its failures.
pub(crate) fn target(row: &Channel) -> Option<Arc<str>> {
    row.content.config["on_failure"].as_str().map(Into::into)
}

/// Lists the channels that lose the channel for their failures by a reload, or are loaded without it: their
/// names, each with the name that no active channel has. `changed` are the ids that the reload touched.
pub(crate) fn find_lost_targets(
    current: &Snapshot,
    next: &Snapshot,
    changed: &[Arc<str>],
) -> Vec<(Arc<str>, Arc<str>)> {
    let find_lost = |entry: &Arc<LoadedChannel>| {
        let target = target(&entry.row)?;
        let loaded = current.channel_by_id(entry.id());
        let is_news = loaded.is_none_or(|old| !Arc::ptr_eq(&old.row, &entry.row))
            || current.channel_by_name(&target).is_some();
        (is_news && next.channel_by_name(&target).is_none()).then(|| (Arc::clone(&entry.name), target))
    };
    let is_gone = |id: &Arc<str>| {
        current.channel_by_id(id).is_some_and(|old| next.channel_by_name(old.name()).is_none())
    };
    if changed.iter().any(is_gone) {
        return next.channels().filter_map(find_lost).collect();
    }
    changed.iter().filter_map(|id| next.channel_by_id(id)).filter_map(find_lost).collect()
}
