//! The supervision tree as metrics, read at the scrape.

use std::fmt;

use actix_supervision::{NodeKind, NodeView, Tree};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Actors of channels are many and mostly quiet: they show once they have something to report.
const DEEP: usize = 2;

/// Collects restarts and mailbox depths of the actors of a tree.
pub(crate) struct TreeCollector(Tree);

impl TreeCollector {
    pub(crate) fn new(tree: Tree) -> Self {
        Self(tree)
    }
}

impl fmt::Debug for TreeCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeCollector").finish_non_exhaustive()
    }
}

impl Collector for TreeCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let tree = self.0.snapshot();
        let actors = || tree.nodes.iter().filter(|node| node.kind == NodeKind::Actor);
        let shown =
            |node: &&NodeView, value: u64| value > 0 || node.path.as_str().matches('/').count() < DEEP;
        let mut family =
            encoder.encode_descriptor("actor_restarts", "Restarts of an actor", None, MetricType::Counter)?;
        for node in actors().filter(|node| shown(node, node.restarts)) {
            let labels = [("path", node.path.as_str())];
            ConstCounter::new(node.restarts).encode(family.encode_family(&labels)?)?;
        }
        let mut family = encoder.encode_descriptor(
            "mailbox_depth",
            "Calls in flight in an actor",
            None,
            MetricType::Gauge,
        )?;
        for node in actors().filter(|node| shown(node, node.mailbox_depth as u64)) {
            let labels = [("path", node.path.as_str())];
            let depth = i64::try_from(node.mailbox_depth).unwrap_or(i64::MAX);
            ConstGauge::new(depth).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
