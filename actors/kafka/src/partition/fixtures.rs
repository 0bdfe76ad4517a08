//! A partition and its records, for tests.

use std::sync::Arc;
use std::time::Duration;

use svc_channels::TopicRecord;
use tokio::sync::mpsc;

use super::RetryBudget;
use super::handle::{ConsumerOrder, PartitionHandle};

/// A partition of `orders`, and the orders to its consumer.
pub(crate) fn partition() -> (Arc<PartitionHandle>, mpsc::UnboundedReceiver<ConsumerOrder>) {
    let budget = RetryBudget::new(Duration::from_secs(300), Duration::from_secs(60));
    let (sender, orders) = mpsc::unbounded_channel();
    let handle = PartitionHandle::new(("orders".into(), 0), "svc".into(), budget, 1024, sender);
    (Arc::new(handle), orders)
}

/// A tombstone of that partition.
pub(super) fn record(offset: i64) -> Arc<TopicRecord> {
    let topic = "orders".into();
    Arc::new(TopicRecord { topic, partition: 0, offset, key: None, value: None, headers: Vec::new() })
}
