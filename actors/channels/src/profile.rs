//! The profile of one run.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use svc_engine::{CompiledWorkflow, Timings};

/// The time that the parts of a run took, in milliseconds, for a caller that asked for it.
#[derive(Serialize)]
pub(crate) struct Profile {
    request_total_ms: f64,
    workflow_total_ms: f64,
    workflow_overhead_ms: f64,
    handlers_total_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_store_ms: Option<f64>,
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

/// A task that ran, and its duration.
struct TimedTask<'t> {
    function: &'t str,
    connector: Option<&'t str>,
    duration: Duration,
}

/// Shares of the whole request.
#[derive(Serialize)]
struct Breakdown {
    external_io: f64,
    workflow_overhead: f64,
    trace_store: f64,
}

impl Profile {
    /// Builds the profile of a run of `workflow`. `total` is the time since the channel took the request,
    /// `trace_store` the time for which the response waited for its trace.
    pub(crate) fn new(
        workflow: Option<&CompiledWorkflow>,
        timings: &Timings,
        total: Duration,
        trace_store: Option<Duration>,
    ) -> Self {
        let tasks = timings.tasks.iter().filter_map(|timing| {
            let task = workflow?.task(timing.position)?;
            Some(TimedTask { function: task.function, connector: task.connector, duration: timing.duration })
        });
        Self::of_tasks(tasks, timings.workflow, total, trace_store)
    }

    fn of_tasks<'t>(
        tasks: impl Iterator<Item = TimedTask<'t>>,
        workflow: Duration,
        total: Duration,
        trace_store: Option<Duration>,
    ) -> Self {
        let request_total_ms = millis(total);
        let trace_store_ms = trace_store.map(millis);
        let workflow = millis(workflow);
        let mut handlers_total_ms = 0.0;
        let (mut by_function, mut by_connector) = (BTreeMap::new(), BTreeMap::new());
        let mut handlers = Vec::new();
        for task in tasks {
            let duration_ms = millis(task.duration);
            handlers_total_ms += duration_ms;
            add(&mut by_function, task.function, duration_ms);
            if let Some(connector) = task.connector {
                add(&mut by_connector, connector, duration_ms);
            }
            handlers.push(Handler {
                function: task.function.to_owned(),
                duration_ms,
                pct_of_workflow: percent(duration_ms, workflow),
            });
        }
        let overhead = (workflow - handlers_total_ms).max(0.0);
        let external_io: f64 = by_connector.values().map(|total: &Total| total.total_ms).sum();
        Self {
            request_total_ms,
            workflow_total_ms: workflow,
            workflow_overhead_ms: overhead,
            handlers_total_ms,
            trace_store_ms,
            handlers,
            by_function,
            by_connector,
            breakdown_pct: Breakdown {
                external_io: percent(external_io, request_total_ms),
                workflow_overhead: percent(overhead, request_total_ms),
                trace_store: percent(trace_store_ms.unwrap_or_default(), request_total_ms),
            },
        }
    }
}

fn add(totals: &mut BTreeMap<String, Total>, name: &str, duration_ms: f64) {
    let total = totals.entry(name.to_owned()).or_default();
    total.count += 1;
    total.total_ms += duration_ms;
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole * 100.0 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed<'t>(function: &'t str, connector: Option<&'t str>, milliseconds: u64) -> TimedTask<'t> {
        TimedTask { function, connector, duration: Duration::from_millis(milliseconds) }
    }

    #[test]
    fn profile_sums_the_run_by_function_and_connector() {
        let profile = |trace_store| {
            let tasks = [
                timed("map", None, 5),
                timed("http_call", Some("api"), 20),
                timed("db_read", Some("api"), 10),
            ];
            let (workflow, total) = (Duration::from_millis(40), Duration::from_millis(100));
            serde_json::to_value(Profile::of_tasks(tasks.into_iter(), workflow, total, trace_store)).unwrap()
        };
        let shown = profile(Some(Duration::from_millis(25)));
        assert_eq!(shown["by_connector"], serde_json::json!({"api": {"count": 2, "total_ms": 30.0}}));
        assert_eq!(shown["by_function"]["map"], serde_json::json!({"count": 1, "total_ms": 5.0}));
        assert_eq!((&shown["trace_store_ms"], &shown["workflow_overhead_ms"]), (&25.0.into(), &5.0.into()));
        let expected =
            serde_json::json!({"external_io": 30.0, "workflow_overhead": 5.0, "trace_store": 25.0});
        assert_eq!(shown["breakdown_pct"], expected);
        assert_eq!(shown["handlers"][1]["pct_of_workflow"], 50.0);
        let untraced = profile(None);
        assert_eq!(
            (untraced.get("trace_store_ms"), &untraced["breakdown_pct"]["trace_store"]),
            (None, &0.0.into())
        );
    }
}
