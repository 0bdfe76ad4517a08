//! The test harness: a tree of its own, virtual time, planned faults, and a check that nothing stays alive.

use std::time::Duration;

use actix_rt::System;

use crate::fault::PlannedFault;
use crate::tree::Tree;

/// Virtual time that the nodes may take to drain at the end.
const LAST_DEADLINE: Duration = Duration::from_secs(3600);

/// Runs a test on a tree of its own.
///
/// One thread with an actix system and a paused clock: time moves only when nothing else can, so a day passes
/// at once and runs are repeatable. Placing actors on other threads breaks that: they have clocks of their
/// own.
#[derive(Debug)]
pub struct Universe {
    seed: u64,
    faults: Vec<PlannedFault>,
}

impl Universe {
    /// Creates a universe whose jitter follows from `seed`.
    pub fn new(seed: u64) -> Self {
        Self { seed, faults: Vec::new() }
    }

    /// Plans a fault.
    #[must_use]
    pub fn fault(mut self, fault: PlannedFault) -> Self {
        self.faults.push(fault);
        self
    }

    /// Runs `test` and ends the tree.
    ///
    /// # Panics
    ///
    /// Panics if something is left: a node that does not drain, or an instance or a call that outlives its
    /// node. A test that ends nodes by force on purpose shuts the tree down itself.
    pub fn run<T>(self, test: impl AsyncFnOnce(Tree) -> T) -> T {
        let runtime = || {
            let mut builder = tokio::runtime::Builder::new_current_thread();
            #[expect(clippy::expect_used, reason = "a test kit reports by panicking")]
            builder.enable_all().start_paused(true).build().expect("a runtime")
        };
        System::with_tokio_rt(runtime).block_on(async move {
            let tree = Tree::builder("universe").seed(self.seed).faults(self.faults).build();
            let outcome = test(tree.clone()).await;
            finish(&tree).await;
            outcome
        })
    }
}

async fn finish(tree: &Tree) {
    let ended_before = tree.has_ended();
    tree.shutdown(LAST_DEADLINE).await;
    let nodes = tree.context.directory.nodes();
    let forced = nodes.iter().filter(|node| node.forced.load(std::sync::atomic::Ordering::Acquire));
    let forced: Vec<_> = forced.map(|node| node.path.to_string()).collect();
    assert!(ended_before || forced.is_empty(), "did not drain: {forced:?}");
    // Callers whose futures are dropped in the same moment give their places back as they are polled.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(tree.context.instance_count.count(), (0, 0), "instances and runners left alive");
    let busy_nodes: Vec<_> = nodes
        .iter()
        .filter(|node| node.admission.in_flight() > 0)
        .map(|node| node.path.to_string())
        .collect();
    assert!(busy_nodes.is_empty(), "calls left without an outcome: {busy_nodes:?}");
}
