//! Trees, and the actors that several crates need in their tests.

use std::time::Duration;

use actix_supervision::{Placement, PlannedFault, Tree};
use slog::{Discard, Logger, o};
use svc_cluster::nodes::{NodeHandle, NodeMetrics};
use svc_model::config::TracingMode;
use svc_store::Store;
use svc_traces::{
    Callback, DeadLetterSettings, OverflowPolicy, QueueSettings, RecordPolicy, RecorderSettings, Settings,
    TraceMetrics, TraceServices, Traces, TracingDefaults,
};

/// Returns a logger that writes nothing.
pub fn log() -> Logger {
    Logger::root(Discard, o!())
}

/// Builds a tree with these faults, whose delays are the same in every run.
pub fn build_tree(faults: Vec<PlannedFault>) -> Tree {
    Tree::builder("test").seed(1).faults(faults).build()
}

/// Returns the settings of traces that are all recorded, one after the other, and of work that is not retried.
pub fn trace_settings() -> Settings {
    Settings {
        tracing: TracingDefaults {
            mode: TracingMode::Sync,
            sample_rate: 1.0,
            errors_only: false,
            records_all: false,
        },
        recorder: RecorderSettings {
            max_pending: 100,
            overflow: OverflowPolicy::Drop,
            async_workers: 1,
            batch_size: 10,
            batch_flush_interval: Duration::from_millis(20),
            batch_workers: 1,
            record: RecordPolicy::default(),
        },
        queue: QueueSettings {
            workers: 1,
            buffer_size: 10,
            max_memory_bytes: 0,
            processing_timeout: Duration::from_secs(30),
            shutdown_timeout: Duration::from_secs(1),
            max_recoveries: 5,
            early_start: true,
            max_waiting: 1000,
        },
        dead_letters: DeadLetterSettings {
            retry_enabled: false,
            max_retries: 0,
            poll_interval: Duration::from_secs(1),
            batch_size: 1,
            lease: Duration::from_secs(60),
        },
        needs: vec!["store".to_owned()],
        errors: Callback::default(),
        jobs: Callback::default(),
    }
}

/// Supervises the lease of a node as `nodes` of a tree, and its traces as `traces`. Each call makes another node, as
/// the database sees it; one that is alone takes over the work of all others.
pub async fn supervise_traces(
    tree: &Tree,
    store: &Store,
    is_alone: bool,
    settings: Settings,
    metrics: TraceMetrics,
) -> Traces {
    let lease = svc_cluster::nodes::Settings {
        id: svc_cluster::nodes::Settings::new_id("test"),
        version: "test",
        lease: Duration::from_secs(15),
        is_alone,
        needs: vec!["store".to_owned()],
    };
    let (at, of_node) = (Placement::Here, NodeMetrics::default());
    let nodes = NodeHandle::supervise(tree, "nodes", at.clone(), store, lease, of_node, log()).await.unwrap();
    let services = TraceServices { store: store.clone(), nodes, settings, metrics, log: log() };
    Traces::supervise(tree, "traces", at, services).await.unwrap()
}
