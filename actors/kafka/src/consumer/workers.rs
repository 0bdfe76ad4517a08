//! The end of workers whose partitions are given up.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use slog::{Logger, info, warn};
use tokio::time::timeout;

use super::ConsumerPlace;
use crate::metrics::KafkaMetrics;
use crate::partition::handle::{PartitionHandle, WorkerStage};
use crate::shared::GroupHandle;

/// Time in which a worker drops its record.
const DROPPING: Duration = Duration::from_secs(1);

/// Gives up the partitions of a session that was dropped with its actor. Their workers would keep the paths from
/// those of the next session, and run records that are delivered again.
pub(super) async fn end_left_workers(
    group: &GroupHandle,
    place: &ConsumerPlace,
    metrics: &KafkaMetrics,
    log: &Logger,
) {
    let handles: Vec<_> = group.partitions().values().cloned().collect();
    // The client is gone: nothing can be committed, and other members may read the partitions already.
    end_workers(group, &handles, Duration::ZERO, log).await;
    retire_workers(place, &handles).await;
    forget_partitions(group, &handles, metrics);
}

/// Ends the work on partitions, with at most `limit` for the records in progress.
pub(super) async fn end_workers(
    group: &GroupHandle,
    handles: &[Arc<PartitionHandle>],
    limit: Duration,
    log: &Logger,
) {
    let advance = |stage| handles.iter().for_each(|handle| handle.advance(stage));
    let ended = || join_all(handles.iter().map(|handle| handle.wait_for(WorkerStage::Ended)));
    advance(WorkerStage::Closing);
    if !handles.is_empty() {
        info!(log, "kafka partitions are given up"; "group" => &*group.name, "partitions" => handles.len());
    }
    if timeout(limit, ended()).await.is_err() {
        advance(WorkerStage::Ending);
        if timeout(DROPPING, ended()).await.is_err() {
            warn!(log, "a worker does not end"; "group" => &*group.name);
        }
    }
}

/// Takes the workers of partitions out of the tree.
pub(super) async fn retire_workers(place: &ConsumerPlace, handles: &[Arc<PartitionHandle>]) {
    let retired = handles.iter().map(|handle| {
        let path = format!("{}/{}", place.path, handle.node_name());
        async move { place.tree.retire(&path, DROPPING).await }
    });
    // A worker that has ended already is as good as retired.
    join_all(retired).await;
}

/// Takes partitions out of what the group and the metrics show.
pub(super) fn forget_partitions(
    group: &GroupHandle,
    handles: &[Arc<PartitionHandle>],
    metrics: &KafkaMetrics,
) {
    for handle in handles {
        group.partitions().remove(&(Arc::clone(&handle.topic), handle.partition));
        metrics.forget_partition(&handle.topic, handle.partition);
        metrics.assigned.dec();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::future::ready;

    use actix::{Actor, AsyncContext, WrapFuture};
    use actix_supervision::{ChildSpec, Context, GroupSpec, Placement, Supervised, Universe};
    use futures_util::FutureExt;
    use slog::{Discard, o};

    use super::*;
    use crate::partition::fixtures::partition;

    /// Holds a record until it is to drop it.
    struct BusyWorker(Arc<PartitionHandle>);

    impl Actor for BusyWorker {
        type Context = Context<Self>;

        fn started(&mut self, ctx: &mut Self::Context) {
            let handle = Arc::clone(&self.0);
            let work = async move {
                handle.wait_for(WorkerStage::Ending).await;
                handle.advance(WorkerStage::Ended);
            };
            ctx.spawn(work.into_actor(self));
        }
    }

    impl Supervised for BusyWorker {}

    #[test]
    fn partitions_of_a_crashed_consumer_are_free_again() {
        Universe::new(1).run(async |tree| {
            let log = Logger::root(Discard, o!());
            let (group, metrics) = (GroupHandle::new("svc".into(), BTreeSet::new()), KafkaMetrics::default());
            let place = ConsumerPlace {
                tree: tree.clone(),
                path: "svc".into(),
                at: Placement::Here,
                needs: Arc::default(),
            };
            tree.add_group("svc", GroupSpec::new()).await.unwrap();
            let spawn_worker = async || {
                let (handle, _) = partition();
                let path = format!("svc/{}", handle.node_name());
                let of_worker = Arc::clone(&handle);
                let factory = move |_| ready(Ok(BusyWorker(Arc::clone(&of_worker))));
                tree.spawn(&path, ChildSpec::new(), Placement::Here, factory).await.unwrap();
                handle
            };
            let handle = spawn_worker().await;
            group.partitions().insert((Arc::clone(&handle.topic), handle.partition), Arc::clone(&handle));
            metrics.assigned.inc();
            end_left_workers(&group, &place, &metrics, &log).await;
            assert!(handle.wait_for(WorkerStage::Ended).now_or_never().is_some());
            assert!(group.partitions().is_empty());
            assert_eq!(metrics.assigned.get(), 0);
            spawn_worker().await;
        });
    }
}
