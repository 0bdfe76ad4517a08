//! The driver of the backtests of this node.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use actix::{Actor, AsyncContext, WrapFuture};
use actix_supervision::{Context, Supervised};
use slog::{Logger, info, warn};
use svc_cluster::nodes::NodeHandle;
use svc_engine::Engine;
use svc_store::{BacktestEnd, OperatorRunClaim, Store, StoreError, StoredBacktest};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::work::{LEASE, make_backtest};
use crate::driver_handle::DriverHandle;

/// Time between two looks for backtests that no node makes.
const POLL: Duration = Duration::from_secs(2);
/// Failures of a backtest at one place, which no outage explains, after which it ends.
const MOST_FAILURES: u32 = 3;

/// The services of the driver, which survive its restart.
pub(crate) struct BacktestShared {
    pub(crate) handle: DriverHandle,
    pub(crate) store: Store,
    pub(crate) nodes: NodeHandle,
    /// The engine of the node, whose plugins backtests call.
    pub(crate) engine: Arc<Engine>,
    pub(crate) log: Logger,
}

/// The actor.
pub(crate) struct BacktestDriver {
    shared: Arc<BacktestShared>,
}

impl BacktestDriver {
    pub(crate) const fn new(shared: Arc<BacktestShared>) -> Self {
        Self { shared }
    }
}

impl Actor for BacktestDriver {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let shared = Arc::clone(&self.shared);
        ctx.spawn(async move { drive_backtests(&shared).await }.into_actor(self));
    }
}

impl Supervised for BacktestDriver {}

/// Takes one backtest after the other, and makes each until it ends or another node has taken it.
async fn drive_backtests(shared: &Arc<BacktestShared>) {
    let mut failures = FailuresInPlace::default();
    loop {
        let holder = shared.nodes.id();
        match shared.store.backtests().claim(&holder, LEASE).await {
            Ok(Some(backtest)) => {
                info!(shared.log, "backtest is made"; "backtest" => &backtest.id, "kind" => &backtest.kind,
                    "definition" => &backtest.definition);
                let id = backtest.id.clone();
                match run_on_thread(shared, backtest, Arc::clone(&holder)).await {
                    Ok(()) => continue,
                    Err(error) if error.is_outage() => {}
                    Err(error) => {
                        warn!(shared.log, "a backtest was interrupted"; "backtest" => &id, "error" => %error);
                        end_repeated_failure(shared, &id, &holder, &mut failures).await;
                    }
                }
            }
            Ok(None) => {}
            Err(error) if error.is_outage() => {}
            Err(error) => warn!(shared.log, "backtests cannot be taken over"; "error" => %error),
        }
        tokio::select! {
            () = shared.handle.wait() => {}
            () = sleep(POLL) => {}
        }
    }
}

/// The failures in a row of one backtest at one place.
#[derive(Debug, Default)]
struct FailuresInPlace {
    backtest: String,
    position: Option<String>,
    count: u32,
}

impl FailuresInPlace {
    /// Counts a failure. Returns `true` if it is the last that the backtest may have there.
    fn count(&mut self, backtest: &str, position: Option<&str>) -> bool {
        if self.backtest != backtest || self.position.as_deref() != position {
            *self = Self { backtest: backtest.to_owned(), position: position.map(str::to_owned), count: 0 };
        }
        self.count += 1;
        self.count >= MOST_FAILURES
    }
}

/// Ends a backtest that fails again and again at the place of its last write; it would never end by itself, nor be
/// aborted.
async fn end_repeated_failure(
    shared: &BacktestShared,
    id: &str,
    holder: &str,
    failures: &mut FailuresInPlace,
) {
    let backtests = shared.store.backtests();
    // Without an answer the next failure counts.
    let Ok(Some(StoredBacktest { position, .. })) = backtests.get(id).await else { return };
    if !failures.count(id, position.as_deref()) {
        return;
    }
    let reason = format!("it failed {MOST_FAILURES} times at one place; the log has the cause");
    let claim = OperatorRunClaim { id: id.to_owned(), holder: holder.to_owned(), position };
    if let Err(error) = backtests.end(claim, None, BacktestEnd::Failed(reason)).await {
        warn!(shared.log, "the end of a backtest was not written"; "backtest" => id, "error" => %error);
    }
}

/// Stops the thread of a backtest when the driver ends; the next one goes on from the last write.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Makes a backtest on a thread of its own. The database is asked on the runtime of the driver, which outlives the
/// thread.
async fn run_on_thread(
    shared: &Arc<BacktestShared>,
    backtest: StoredBacktest,
    holder: Arc<str>,
) -> Result<(), StoreError> {
    let stop = StopOnDrop(Arc::default());
    let (is_stopped, store, runtime) = (Arc::clone(&stop.0), shared.store.clone(), Handle::current());
    let engine = Arc::clone(&shared.engine);
    let (ended, end) = oneshot::channel();
    let work = move || {
        let outcome = runtime.block_on(make_backtest(&store, &engine, backtest, &holder, &is_stopped));
        // The driver may have ended meanwhile.
        let _ = ended.send(outcome);
    };
    let started = thread::Builder::new().name("svc-backtest".to_owned()).spawn(work);
    started.map_err(|error| StoreError::Database(format!("no thread for a backtest: {error}")))?;
    end.await.unwrap_or_else(|_| Err(StoreError::Database("the thread of a backtest panicked".to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_at_another_place_count_anew() {
        let mut failures = FailuresInPlace::default();
        let mut count = |backtest, position| failures.count(backtest, position);
        assert_eq!([count("a", None), count("a", None), count("a", Some("1"))], [false; 3]);
        assert_eq!([count("a", Some("1")), count("b", Some("1"))], [false; 2]);
        assert_eq!([count("b", Some("1")), count("b", Some("1"))], [false, true]);
    }
}
