//! The driver of the backtests of this node.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use actix::{Actor, AsyncContext, WrapFuture};
use actix_supervision::{Context, Supervised};
use slog::{Logger, info, warn};
use svc_cluster::nodes::NodeHandle;
use svc_store::{Store, StoreError, StoredBacktest};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::handle::BacktestHandle;
use super::work::{LEASE, make_backtest};

/// Time between two looks for backtests that no node makes.
const POLL: Duration = Duration::from_secs(2);

/// The services of the driver, which survive its restart.
pub(crate) struct BacktestShared {
    pub(crate) handle: BacktestHandle,
    pub(crate) store: Store,
    pub(crate) nodes: NodeHandle,
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
    loop {
        let holder = shared.nodes.id();
        match shared.store.backtests().claim(&holder, LEASE).await {
            Ok(Some(backtest)) => {
                info!(shared.log, "backtest is made"; "backtest" => &backtest.id, "kind" => &backtest.kind,
                    "definition" => &backtest.definition);
                match run_on_thread(shared, backtest, holder).await {
                    Ok(()) => continue,
                    Err(error) if error.is_outage() => {}
                    Err(error) => warn!(shared.log, "a backtest was interrupted"; "error" => %error),
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
    let (ended, end) = oneshot::channel();
    let work = move || {
        let outcome = runtime.block_on(make_backtest(&store, backtest, &holder, &is_stopped));
        // The driver may have ended meanwhile.
        let _ = ended.send(outcome);
    };
    let started = thread::Builder::new().name("svc-backtest".to_owned()).spawn(work);
    started.map_err(|error| StoreError::Database(format!("no thread for a backtest: {error}")))?;
    end.await.unwrap_or_else(|_| Err(StoreError::Database("the thread of a backtest panicked".to_owned())))
}
