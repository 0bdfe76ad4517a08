//! Claims what is due and runs it.
//!
//! Owns the runs of this node, as many as there are workers; they outlive an instance of the actor. Takes no messages:
//! it is told when something may be due, looks by itself at every poll, and claims as many rows as workers are free,
//! the oldest first, with never more than one claim under way. A channel that had no capacity is passed over for a
//! while, so that its backlog does not keep others from their turn.
//!
//! At its end it claims nothing more, and gives back what has not begun. What runs gets the time that was configured
//! for a shutdown; then it is called off and given back, so that another node may start it at once.

mod attempt;
mod attempt_pool;
mod lease;
mod negative_cache;
mod state;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, AsyncContext, WrapFuture};
use actix_supervision::{Context, Supervised};
use futures_util::future::LocalBoxFuture;
use slog::{info, warn};
use svc_ledger::OccurrenceStatus;
use svc_model::ErrorReason;
use svc_store::{ClaimBatch, StoreError};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use crate::backoff::retry_delay;
use crate::shared::CronShared;
use attempt::CronAttempt;
pub(crate) use attempt_pool::AttemptPool;
use attempt_pool::ShutdownPhase;

/// Time in which the claims of cancelled attempts must be released.
pub(crate) const GIVING_BACK: Duration = Duration::from_secs(3);
/// Time beyond the drain limit of attempts after which the actor is ended by force.
pub(crate) const MARGIN: Duration = Duration::from_secs(5);

/// The actor.
pub(crate) struct Claimer {
    shared: Arc<CronShared>,
    attempts: Arc<AttemptPool>,
}

impl Claimer {
    pub(crate) fn new(shared: Arc<CronShared>, attempts: Arc<AttemptPool>) -> Self {
        Self { shared, attempts }
    }
}

impl Actor for Claimer {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.attempts.open();
        let (shared, attempts) = (Arc::clone(&self.shared), Arc::clone(&self.attempts));
        ctx.spawn(async move { claim(shared, attempts).await }.into_actor(self));
    }
}

impl Supervised for Claimer {
    fn drain(&mut self, _: &mut Context<Self>) -> LocalBoxFuture<'static, ()> {
        let (shared, attempts) = (Arc::clone(&self.shared), Arc::clone(&self.attempts));
        Box::pin(async move { stop(&shared, &attempts, shared.settings.shutdown_timeout, GIVING_BACK).await })
    }
}

/// Claims nothing more, and lets what runs go on for `patience`. What is left is called off and gets `giving_back` to
/// be given back.
pub(crate) async fn stop(
    shared: &CronShared,
    attempts: &AttemptPool,
    patience: Duration,
    giving_back: Duration,
) {
    attempts.enter(ShutdownPhase::Closing);
    if timeout(patience, attempts.idle()).await.is_ok() {
        return;
    }
    info!(shared.log, "runs are called off and given back"; "runs" => attempts.count());
    attempts.enter(ShutdownPhase::Ending);
    if timeout(giving_back, attempts.idle()).await.is_err() {
        warn!(shared.log, "runs end before they are given back"; "runs" => attempts.count());
    }
}

/// Claims until told to stop.
async fn claim(shared: Arc<CronShared>, attempts: Arc<AttemptPool>) {
    let mut failures = 0;
    loop {
        let Some(workers) = attempts.free(shared.settings.claim_batch).await else { return };
        let wanted = workers.len();
        match ask(&shared, &attempts, wanted).await {
            Ok(claims) => {
                failures = 0;
                let got = claims.claimed.len();
                begin(&shared, &attempts, claims, workers);
                if got < wanted {
                    tokio::select! {
                        () = shared.due.notified() => {}
                        () = sleep(shared.settings.poll) => {}
                        () = attempts.closing() => return,
                    }
                }
            }
            Err(error) => {
                drop(workers);
                failures += 1;
                failed(&shared, &error);
                tokio::select! {
                    () = sleep(retry_delay(&shared.settings.holder, failures)) => {}
                    () = attempts.closing() => return,
                }
            }
        }
    }
}

async fn ask(shared: &CronShared, attempts: &AttemptPool, limit: usize) -> Result<ClaimBatch, StoreError> {
    let settings = &shared.settings;
    let except = attempts.passed_over();
    let sent = Instant::now();
    let claim = shared.ledger.claim(&settings.holder, settings.lease, limit, settings.max_recoveries, except);
    let claims = shared.ask(claim).await?;
    shared.clock.learn(sent, claims.now);
    Ok(claims)
}

/// Lets a worker do each.
fn begin(
    shared: &Arc<CronShared>,
    attempts: &Arc<AttemptPool>,
    claims: ClaimBatch,
    workers: Vec<OwnedSemaphorePermit>,
) {
    shared.metrics.came_to(OccurrenceStatus::Failed, claims.exhausted.len() as u64);
    for row in claims.exhausted {
        warn!(shared.log, "an occurrence was given up"; "channel" => row.channel_name,
            "occurrence" => %row.id, "reason" => row.message);
    }
    for (claim, worker) in claims.claimed.into_iter().zip(workers) {
        let attempt = CronAttempt {
            shared: Arc::clone(shared),
            attempts: Arc::clone(attempts),
            claim,
            trace_id: Uuid::now_v7(),
        };
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

fn failed(shared: &CronShared, error: &StoreError) {
    shared.settings.errors.tell(ErrorReason::CronClaim);
    if !error.is_outage() {
        warn!(shared.log, "nothing can be claimed"; "error" => %error);
    }
}
