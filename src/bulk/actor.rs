//! The driver of the bulk runs of this node.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, WrapFuture};
use actix_supervision::{Context, Supervised};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use slog::{info, warn};
use svc_store::{BulkAction, BulkRun, BulkStep, DrivenRun, StoreError};
use tokio::time::{Instant, sleep};

use super::shared::{BulkShared, LEASE};
use super::state::{AfterFailure, RunPace};
use super::step::take_step;

/// Time between two looks for runs without a driver.
const POLL: Duration = Duration::from_secs(2);

/// The actor.
pub(crate) struct BulkDriver {
    shared: Arc<BulkShared>,
}

impl BulkDriver {
    pub(crate) const fn new(shared: Arc<BulkShared>) -> Self {
        Self { shared }
    }
}

impl Actor for BulkDriver {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let shared = Arc::clone(&self.shared);
        ctx.spawn(async move { drive_runs(&shared).await }.into_actor(self));
    }
}

impl Supervised for BulkDriver {}

/// Takes the runs without a driver, and drives each until it ends or another node has taken it.
async fn drive_runs(shared: &BulkShared) {
    let (mut driven, mut ids) = (FuturesUnordered::new(), HashSet::new());
    loop {
        let holder = shared.nodes.id();
        match shared.store.bulk_runs().claim(&holder, LEASE).await {
            Ok(runs) => {
                for run in runs {
                    if ids.insert(run.run.id.clone()) {
                        driven.push(drive_run(shared, run));
                    }
                }
            }
            Err(error) if error.is_outage() => {}
            Err(error) => warn!(shared.log, "bulk runs cannot be taken over"; "error" => %error),
        }
        tokio::select! {
            Some(id) = driven.next(), if !driven.is_empty() => drop(ids.remove(&id)),
            () = shared.handle.wait() => {}
            () = sleep(POLL) => {}
        }
    }
}

/// Drives a run until it ends or another node has taken it. Returns its id.
async fn drive_run(shared: &BulkShared, driven: DrivenRun) -> String {
    let DrivenRun { mut run, instants } = driven;
    let action = BulkAction::parse(&run.action);
    let mut pace = RunPace::new(u32::try_from(run.rate_per_second).unwrap_or_default());
    info!(shared.log, "bulk run is driven"; "run" => &run.id, "action" => &run.action, "kind" => &run.kind);
    loop {
        let started_at = Instant::now();
        match take_step(shared, &run, &instants, pace.page_size()).await {
            Ok((BulkStep::Continues { done, position }, taken)) => {
                shared.announce(action, done);
                run.position = position;
                let delay = pace.record_page(taken.rows, started_at.elapsed());
                sleep(delay.max(taken.pause)).await;
            }
            Ok((BulkStep::Ended { done, state }, _)) => {
                shared.announce(action, done);
                info!(shared.log, "bulk run ended"; "run" => &run.id, "state" => state.name());
                return run.id;
            }
            Ok((BulkStep::Lost, _)) => return run.id,
            Err(error) => {
                warn!(shared.log, "a step of a bulk run failed"; "run" => &run.id, "error" => %error);
                match pace.record_failure(error.is_outage()) {
                    AfterFailure::Retry(delay) => sleep(delay).await,
                    AfterFailure::GiveUp => {
                        give_up(shared, &run, &error).await;
                        return run.id;
                    }
                }
                // A commit whose answer was lost has moved the run.
                if let Ok(Some(stored)) = shared.store.bulk_runs().get(&run.id).await {
                    run = stored;
                }
            }
        }
    }
}

/// Ends a run that cannot go on. Without an answer the next driver finds out the same.
async fn give_up(shared: &BulkShared, run: &BulkRun, error: &StoreError) {
    let reason = match error {
        StoreError::Refused(refused) => refused.message().to_owned(),
        _ => "the database refuses its statements; the log has the cause".to_owned(),
    };
    if let Err(error) = shared.store.bulk_runs().fail(shared.make_claim(run), reason).await {
        warn!(shared.log, "the end of a bulk run was not written"; "run" => &run.id, "error" => %error);
    }
}
