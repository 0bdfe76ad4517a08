//! The write of a group before the first failure that names it.

use std::sync::Arc;

use svc_model::ErrorGroup;

use crate::database::Database;
use crate::metrics::QueryOperation;
use crate::repo::traces::TraceWrite;

/// Stores the groups that this process does not know to be stored. It is done apart from the failures that name them: on
/// PostgreSQL, transactions that hold other rows would wait for one another's new groups. A group that cannot be stored is
/// tried again with its next failure; this one is written without waiting for it.
pub(in crate::repo) async fn store_new(database: &Database, mut unknown: Vec<Arc<ErrorGroup>>) {
    let known = database.known_groups();
    unknown.retain(|group| known.is_new(group));
    if unknown.is_empty() {
        return;
    }
    unknown.sort_unstable_by(|one, other| one.id.cmp(&other.id));
    unknown.dedup_by(|one, other| one.id == other.id);
    let writes: Vec<_> = unknown.iter().map(|group| TraceWrite::Group(Arc::clone(group))).collect();
    let written =
        database.change_each(QueryOperation::new("error_groups", "store"), writes.into_iter()).await;
    for (group, _) in unknown.iter().zip(written).filter(|(_, written)| written.is_ok()) {
        known.remember(group);
    }
}
