//! Claims what is due and runs it.
//!
//! Owns the runs of this node, as many as there are workers; they outlive an instance of the actor. Takes no messages:
//! it is told when something may be due, looks by itself at every poll, and claims as many rows as workers are free,
//! the oldest first, with never more than one claim under way. A channel that had no capacity is passed over for a
//! while, so that its backlog does not keep others from their turn.
//!
//! At its end it claims nothing more, and gives back what has not begun. What runs gets the time that was configured
//! for a shutdown; then it is called off and given back, so that another node may start it at once.

mod firing;
mod lease;
mod looks;
mod run;
mod runs;
mod state;

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, WrapFuture};
use actix_supervision::{Context, Supervised};
use futures_util::future::LocalBoxFuture;
use slog::{info, warn};
use svc_ledger::Status;
use svc_store::{Claims, StoreError};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use crate::backoff::retry_delay;
use crate::desk::Desk;
use run::Attempt;
use runs::Phase;
pub(crate) use runs::Runs;

/// What runs that are called off get to be given back.
pub(crate) const GIVING_BACK: Duration = Duration::from_secs(3);
/// What the actor gets beyond the time its runs have, before it is ended by force.
pub(crate) const MARGIN: Duration = Duration::from_secs(5);

/// The actor.
pub(crate) struct Claimer {
    desk: Arc<Desk>,
    runs: Arc<Runs>,
}

impl Claimer {
    pub(crate) fn new(desk: Arc<Desk>, runs: Arc<Runs>) -> Self {
        Self { desk, runs }
    }
}

impl Actor for Claimer {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.runs.open();
        let (desk, runs) = (Arc::clone(&self.desk), Arc::clone(&self.runs));
        ctx.spawn(async move { claim(desk, runs).await }.into_actor(self));
    }
}

impl Supervised for Claimer {
    fn drain(&mut self, _: &mut Context<Self>) -> LocalBoxFuture<'static, ()> {
        let (desk, runs) = (Arc::clone(&self.desk), Arc::clone(&self.runs));
        Box::pin(async move { stop(&desk, &runs, desk.settings.shutdown_timeout, GIVING_BACK).await })
    }
}

/// Claims nothing more, and lets what runs go on for `patience`. What is left is called off and gets `giving_back` to be
/// given back.
pub(crate) async fn stop(desk: &Desk, runs: &Runs, patience: Duration, giving_back: Duration) {
    runs.enter(Phase::Closing);
    if timeout(patience, runs.idle()).await.is_ok() {
        return;
    }
    info!(desk.log, "runs are called off and given back"; "runs" => runs.count());
    runs.enter(Phase::Ending);
    if timeout(giving_back, runs.idle()).await.is_err() {
        warn!(desk.log, "runs end before they are given back"; "runs" => runs.count());
    }
}

/// Claims until told to stop.
async fn claim(desk: Arc<Desk>, runs: Arc<Runs>) {
    let mut failures = 0;
    loop {
        let Some(workers) = runs.free(desk.settings.claim_batch).await else { return };
        let wanted = workers.len();
        match ask(&desk, &runs, wanted).await {
            Ok(claims) => {
                failures = 0;
                let got = claims.claimed.len();
                begin(&desk, &runs, claims, workers);
                if got < wanted {
                    tokio::select! {
                        () = desk.due.notified() => {}
                        () = sleep(desk.settings.poll) => {}
                        () = runs.closing() => return,
                    }
                }
            }
            Err(error) => {
                drop(workers);
                failures += 1;
                failed(&desk, &error);
                tokio::select! {
                    () = sleep(retry_delay(&desk.settings.holder, failures)) => {}
                    () = runs.closing() => return,
                }
            }
        }
    }
}

async fn ask(desk: &Desk, runs: &Runs, limit: usize) -> Result<Claims, StoreError> {
    let settings = &desk.settings;
    let except = runs.passed_over();
    let sent = Instant::now();
    let claim = desk.ledger.claim(&settings.holder, settings.lease, limit, settings.max_recoveries, except);
    let claims = desk.ask(claim).await?;
    desk.clock.learn(sent, claims.now);
    Ok(claims)
}

/// Lets a worker do each.
fn begin(desk: &Arc<Desk>, runs: &Arc<Runs>, claims: Claims, workers: Vec<OwnedSemaphorePermit>) {
    desk.metrics.came_to(Status::Failed, claims.exhausted.len() as u64);
    for row in claims.exhausted {
        warn!(desk.log, "an occurrence was given up"; "channel" => row.channel_name,
            "occurrence" => %row.id, "reason" => row.message);
    }
    for (claim, worker) in claims.claimed.into_iter().zip(workers) {
        let attempt =
            Attempt { desk: Arc::clone(desk), runs: Arc::clone(runs), claim, trace_id: Uuid::now_v7() };
        #[expect(
            clippy::disallowed_methods,
            reason = "outlives the actor; awaited by `drain` through the permit"
        )]
        tokio::spawn(async move {
            attempt.make().await;
            drop(worker);
        });
    }
}

fn failed(desk: &Desk, error: &StoreError) {
    desk.settings.errors.tell("cron_claim");
    if !matches!(error, StoreError::Unavailable(_) | StoreError::Unanswered(_)) {
        warn!(desk.log, "nothing can be claimed"; "error" => %error);
    }
}
