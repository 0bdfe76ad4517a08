//! The recorder of traces, the queue of accepted work, dead letters.

use std::sync::Arc;
use std::time::Duration;

use svc_channels::ChannelMetrics;
use svc_cluster::nodes::NodeHandle;
use svc_model::config::TracingMode;
use svc_registry::Registry;
use svc_store::Store;
use svc_traces::{
    Callback, DeadLetterSettings, OverflowPolicy, QueueSettings, RecordPolicy, RecorderSettings, Settings,
    TraceServices, Traces, TracingDefaults,
};

use crate::assembly::context::Assembly;
use crate::assembly::parts::channels::CHANNELS;
use crate::assembly::parts::registry::REGISTRY;
use crate::assembly::row::{DrainBudget, EndedBy, RunsOn, ServicePart, TreeRow, task};
use crate::config::{self, Config};
use crate::error::ServiceStartError;
use crate::housekeeping::JobMetrics;

/// The group of traces, accepted work and dead letters.
pub(crate) static TRACES: TreeRow = TreeRow::group("traces");
/// The recorder, which writes traces behind the response.
pub(crate) static TRACE_RECORDER: TreeRow = TreeRow::actor("traces/recorder", RunsOn::SharedThread)
    .needs(&["store", "nodes"])
    .drain(DrainBudget::TraceQueueShutdown);
/// The workers of accepted work, `trace_queue.workers` of them.
pub(crate) static TRACE_WORKER: TreeRow = TreeRow::actor("traces/worker-{number}", RunsOn::SharedThread)
    .needs(&["store", "nodes", "registry", "channels"])
    .drain(DrainBudget::TraceQueueShutdown)
    .ended_by(EndedBy::TracesStop);
/// The queue of accepted work.
static TRACE_QUEUE: TreeRow = TreeRow::actor("traces/queue", RunsOn::SharedThread)
    .needs(&["store", "nodes", "traces/worker-{number}"])
    .drain(DrainBudget::TraceQueueShutdown)
    .ended_by(EndedBy::TracesStop);
/// The retries of dead letters.
static DEAD_LETTERS: TreeRow = TreeRow::actor("traces/dead-letters", RunsOn::SharedThread)
    .needs(&["store", "nodes", "traces/queue"])
    .drain(DrainBudget::TraceQueueShutdown)
    .ended_by(EndedBy::TracesStop);

/// The rows of this part.
pub(crate) static PART: ServicePart = ServicePart {
    nodes: &[&TRACES, &TRACE_RECORDER, &TRACE_WORKER, &TRACE_QUEUE, &DEAD_LETTERS],
    tasks: &[
        task(
            "job loop of a worker of the queue",
            "actors/traces",
            1,
            RunsOn::HttpWorkers,
            EndedBy::TracesStop,
        ),
        task("run of a job", "actors/traces", 1, RunsOn::HttpWorkers, EndedBy::TracesStop),
        task(
            "outcomes of jobs whose thread has ended",
            "actors/traces",
            2,
            RunsOn::SharedThread,
            EndedBy::TracesStop,
        ),
        task(
            "takeover of work that dead nodes left",
            "actors/traces",
            1,
            RunsOn::IoRuntime,
            EndedBy::TracesStop,
        ),
        task("claim of work that waited", "actors/traces", 1, RunsOn::IoRuntime, EndedBy::TracesStop),
        task("move of a dead letter into the queue", "actors/traces", 1, RunsOn::IoRuntime, EndedBy::Caller),
        task("check of an unanswered commit", "actors/traces", 2, RunsOn::IoRuntime, EndedBy::ProcessExit),
    ],
};

/// Starts the recorder. No work is accepted yet.
///
/// # Errors
/// [`ServiceStartError::Tree`] for an actor that cannot be placed.
pub(crate) async fn start(
    assembly: &Assembly,
    store: &Store,
    nodes: &NodeHandle,
) -> Result<Traces, ServiceStartError> {
    let metrics = &assembly.metrics;
    let mut settings = settings(&assembly.config, metrics.channels.clone(), metrics.jobs.clone());
    settings.tracing.records_all = assembly.records_all_runs;
    let services = TraceServices {
        store: store.clone(),
        nodes: nodes.clone(),
        settings,
        metrics: metrics.traces.clone(),
        log: assembly.log.clone(),
    };
    let thread = assembly.thread_of(&TRACE_RECORDER)?;
    let started = Traces::supervise(&assembly.tree, TRACES.path, thread, services).await;
    started.map_err(ServiceStartError::tree)
}

/// Starts the workers of accepted work, which the channels do.
///
/// # Errors
/// [`ServiceStartError::Tree`] for an actor that cannot be placed.
pub(crate) async fn start_workers(traces: &Traces, registry: &Registry) -> Result<(), ServiceStartError> {
    let started = traces.start(Arc::new(registry.clone()), &[REGISTRY.path, CHANNELS.path]).await;
    started.map_err(ServiceStartError::tree)
}

/// Returns the settings of traces and accepted work.
fn settings(config: &Config, errors: ChannelMetrics, jobs: JobMetrics) -> Settings {
    let (storage, queue) = (&config.trace_storage, &config.trace_queue);
    Settings {
        tracing: TracingDefaults {
            mode: match storage.mode {
                config::TraceStorageMode::Sync => TracingMode::Sync,
                config::TraceStorageMode::Async => TracingMode::Async,
                config::TraceStorageMode::Batch => TracingMode::Batch,
                config::TraceStorageMode::Off => TracingMode::Off,
            },
            sample_rate: storage.sample_rate,
            errors_only: storage.errors_only,
            records_all: false,
        },
        recorder: RecorderSettings {
            max_pending: storage.max_pending,
            overflow: match storage.async_on_overflow {
                config::TraceOverflow::Drop => OverflowPolicy::Drop,
                config::TraceOverflow::Block => {
                    OverflowPolicy::Block(Duration::from_millis(storage.overflow_block_timeout_ms))
                }
            },
            async_workers: storage.async_workers,
            batch_size: storage.batch_size,
            batch_flush_interval: Duration::from_millis(storage.batch_flush_interval_ms),
            batch_workers: storage.batch_workers,
            record: RecordPolicy {
                share: storage.record.share,
                errors: storage.record.errors,
                max_per_day: storage.record.max_per_day,
                max_bytes: storage.record.max_bytes,
                drop: storage.record.drop.clone(),
            },
        },
        queue: QueueSettings {
            workers: queue.workers,
            buffer_size: queue.buffer_size,
            max_memory_bytes: queue.max_queue_memory_bytes,
            processing_timeout: Duration::from_millis(queue.processing_timeout_ms),
            shutdown_timeout: Duration::from_secs(queue.shutdown_timeout_secs),
            max_recoveries: queue.max_recoveries,
            early_start: queue.early_start,
            max_waiting: queue.max_waiting,
        },
        dead_letters: DeadLetterSettings {
            retry_enabled: queue.dlq_retry_enabled,
            max_retries: queue.dlq_max_retries,
            poll_interval: Duration::from_secs(queue.dlq_poll_interval_secs),
            batch_size: queue.dlq_batch_size,
            lease: Duration::from_secs(queue.dlq_lease_secs),
        },
        needs: TRACE_RECORDER.need_paths(),
        errors: Callback::new(move |reason| errors.count_error(reason)),
        jobs: Callback::new(move |job| jobs.record_success(job)),
    }
}
