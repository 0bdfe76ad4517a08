//! The end of a service: one deadline for everything that still runs.
//!
//! Before the deadline everything may finish. After it, each within a bound of its own, accepted jobs and runs of
//! schedules are given back, runs for callers are ended by force, and the rest of the tree writes its queues and
//! ends, while the last spans are exported. The bounds add up to less than two seconds.

use std::time::Duration;

use actix_supervision::{RetireError, TreeExit};
use slog::{Logger, info, warn};
use tokio::time::{Instant, timeout, timeout_at};

use crate::assembly::parts::channels::CHANNELS;
use crate::lifecycle::Lifecycle;
use crate::state::AppState;

/// Maximum deadline, a year. A longer one is shortened to it, so that instants can be computed.
pub(crate) const UNBOUNDED: Duration = Duration::from_secs(60 * 60 * 24 * 365);
/// Time for a body to arrive once nothing new is accepted, if the deadline is later.
const UPLOADS: Duration = Duration::from_secs(30);
/// Time to answer callers whose runs were cut.
const ANSWER_GRACE: Duration = Duration::from_millis(100);
/// Longest time to give back what this node has reserved of quotas.
const QUOTA_RETURN: Duration = Duration::from_millis(200);
/// Longest time for the last spans and the last telemetry to be exported: a collector that is away does not hold up an
/// end that is otherwise quick.
const LAST_EXPORT: Duration = Duration::from_secs(3);
/// Time beyond the deadline in which the tree writes its queues and the last spans are exported.
const LAST_WRITES: Duration = Duration::from_millis(500);

/// Ends the service within `limit`, and a little later if something has to be cut.
pub(crate) async fn shutdown(state: &AppState, limit: Duration) -> TreeExit {
    let (started, limit) = (Instant::now(), limit.min(UNBOUNDED));
    let remaining = || limit.saturating_sub(started.elapsed());
    state.process.lifecycle.drain();
    tokio::join!(
        wait_for_requests(&state.process.lifecycle, started + limit, &state.log),
        state.work.traces.stop(limit),
        async {
            if let Some(cron) = &state.work.cron {
                cron.stop(limit).await;
            }
        },
        async {
            if let Some(kafka) = &state.work.kafka {
                kafka.stop(limit).await;
            }
        }
    );
    // Runs whose caller has disconnected are not counted as requests.
    if let Err(RetireError::Forced) = state.tree.retire(CHANNELS.path, remaining()).await {
        info!(state.log, "runs cut by the shutdown deadline");
    }
    let _late = timeout(ANSWER_GRACE, state.process.lifecycle.wait_until_idle()).await;
    let _lost = timeout(QUOTA_RETURN, state.serving.quotas.give_back_all()).await;
    let last = remaining() + LAST_WRITES;
    let telemetry = async {
        if let Some(telemetry) = &state.process.telemetry {
            telemetry.shutdown(last.min(LAST_EXPORT)).await;
        }
    };
    let spans = state.edge.spans.shutdown(last.min(LAST_EXPORT));
    let (exit, (), ()) = tokio::join!(state.tree.shutdown(last), spans, telemetry);
    state.process.io.stop();
    exit
}

/// Waits for the requests in progress; for bodies that still arrive no longer than [`UPLOADS`].
async fn wait_for_requests(lifecycle: &Lifecycle, deadline: Instant, log: &Logger) {
    let uploads_end = deadline.min(Instant::now() + UPLOADS);
    if timeout_at(uploads_end, lifecycle.wait_until_idle()).await.is_ok() {
        return;
    }
    lifecycle.end_uploads();
    if timeout_at(deadline, lifecycle.wait_until_idle()).await.is_err() {
        warn!(log, "requests cut short by the shutdown deadline"; "in_flight" => lifecycle.in_flight());
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use slog::{Discard, o};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn absent_body_is_abandoned_with_unbounded_runs() {
        let (lifecycle, log) = (Lifecycle::default(), Logger::root(Discard, o!()));
        lifecycle.drain();
        lifecycle.begin_request();
        let upload = async {
            let received: Result<(), _> = lifecycle.receive_body(std::future::pending()).await;
            lifecycle.end_request();
            received.unwrap_err().status()
        };
        let started = Instant::now();
        let (status, ()) = tokio::join!(upload, wait_for_requests(&lifecycle, started + UNBOUNDED, &log));
        assert_eq!((status, started.elapsed()), (503, UPLOADS));
    }

    #[tokio::test(start_paused = true)]
    async fn running_request_is_awaited_until_the_deadline() {
        let (lifecycle, log) = (Lifecycle::default(), Logger::root(Discard, o!()));
        lifecycle.drain();
        lifecycle.begin_request();
        let started = Instant::now();
        wait_for_requests(&lifecycle, started + UPLOADS * 3, &log).await;
        assert_eq!(started.elapsed(), UPLOADS * 3);
        lifecycle.end_request();
        assert!(wait_for_requests(&lifecycle, started, &log).now_or_never().is_some());
    }
}
