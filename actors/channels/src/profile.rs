//! Where the time of one run went.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use svc_engine::Timings;

/// What a caller who asked for it learns about the run, in milliseconds.
#[derive(Serialize)]
pub(crate) struct Profile {
    request_total_ms: f64,
    workflow_total_ms: f64,
    workflow_overhead_ms: f64,
    handlers_total_ms: f64,
    handlers: Vec<Handler>,
    by_function: BTreeMap<String, Total>,
    by_connector: BTreeMap<String, Total>,
    breakdown_pct: Breakdown,
}

#[derive(Serialize)]
struct Handler {
    function: String,
    duration_ms: f64,
    pct_of_workflow: f64,
}

#[derive(Default, Serialize)]
struct Total {
    count: u64,
    total_ms: f64,
}

#[derive(Serialize)]
struct Breakdown {
    external_io: f64,
    workflow_overhead: f64,
    trace_store: f64,
}

impl Profile {
    /// `total` is the time since the channel took the request.
    pub(crate) fn of(timings: &Timings, total: Duration) -> Self {
        let workflow = millis(timings.workflow);
        let mut handlers_total_ms = 0.0;
        let mut by_function = BTreeMap::<String, Total>::new();
        let mut handlers = Vec::with_capacity(timings.tasks.len());
        for task in &timings.tasks {
            let duration_ms = millis(task.duration);
            handlers_total_ms += duration_ms;
            let total = by_function.entry(task.function.to_string()).or_default();
            total.count += 1;
            total.total_ms += duration_ms;
            handlers.push(Handler {
                function: task.function.to_string(),
                duration_ms,
                pct_of_workflow: percent(duration_ms, workflow),
            });
        }
        let overhead = (workflow - handlers_total_ms).max(0.0);
        Self {
            request_total_ms: millis(total),
            workflow_total_ms: workflow,
            workflow_overhead_ms: overhead,
            handlers_total_ms,
            handlers,
            by_function,
            by_connector: BTreeMap::new(),
            breakdown_pct: Breakdown {
                external_io: 0.0,
                workflow_overhead: percent(overhead, workflow),
                trace_store: 0.0,
            },
        }
    }
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole * 100.0 } else { 0.0 }
}
