//! The claimer: claims due occurrences and executes them.
//!
//! It alone begins the attempts of this node, at most one per worker; they are in the [`AttemptPool`] and survive its
//! restart. It takes no messages: a notification wakes it when an occurrence may be due, and it polls as well. It claims as many
//! rows as workers are free, the oldest first, and makes one claim at a time. A channel without capacity is
//! passed over for a while, so that its backlog does not delay the others. It also carries out orders to cancel.
//!
//! On shutdown it claims nothing more and releases claims whose attempts have not begun. Running attempts get
//! the configured shutdown time; then they are cancelled and their claims released, so that another node may
//! start them at once.

mod attempt;
mod attempt_pool;
mod cancellation;
mod cancels;
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
use svc_registry::FailedOccurrence;
use svc_store::{ClaimBatch, ExhaustedOccurrence, OccurrenceClaim, StoreError};
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
        ctx.spawn(async move { claim_until_closed(shared, attempts).await }.into_actor(self));
        let (shared, attempts) = (Arc::clone(&self.shared), Arc::clone(&self.attempts));
        ctx.spawn(cancels::watch_cancels(shared, attempts).into_actor(self));
    }
}

impl Supervised for Claimer {
    fn drain(&mut self, _: &mut Context<Self>) -> LocalBoxFuture<'static, ()> {
        let (shared, attempts) = (Arc::clone(&self.shared), Arc::clone(&self.attempts));
        Box::pin(async move { stop(&shared, &attempts, shared.settings.shutdown_timeout, GIVING_BACK).await })
    }
}

/// Stops claiming and lets attempts continue for `patience`. The remaining ones are cancelled; their claims
/// are released within `giving_back`.
pub(crate) async fn stop(
    shared: &CronShared,
    attempts: &AttemptPool,
    patience: Duration,
    giving_back: Duration,
) {
    attempts.advance(ShutdownPhase::Closing);
    if timeout(patience, attempts.wait_until_idle()).await.is_ok() {
        return;
    }
    info!(shared.log, "attempts are cancelled at the shutdown deadline"; "attempts" => attempts.running_count());
    attempts.advance(ShutdownPhase::Ending);
    if timeout(giving_back, attempts.wait_until_idle()).await.is_err() {
        warn!(shared.log, "attempts were not released before the end of the process"; "attempts" => attempts.running_count());
    }
}

/// Claims and spawns attempts until the shutdown begins.
async fn claim_until_closed(shared: Arc<CronShared>, attempts: Arc<AttemptPool>) {
    let mut failures = 0;
    loop {
        let Some(workers) = attempts.acquire_workers(shared.settings.claim_batch).await else { return };
        let worker_count = workers.len();
        match claim_batch(&shared, &attempts, worker_count).await {
            Ok(claims) => {
                failures = 0;
                let got = claims.claimed.len();
                spawn_attempts(&shared, &attempts, claims.claimed, workers);
                for row in claims.exhausted {
                    end_exhausted(&shared, row).await;
                }
                if got < worker_count {
                    tokio::select! {
                        () = shared.due.notified() => {}
                        () = sleep(shared.settings.poll) => {}
                        () = attempts.wait_until_closing() => return,
                    }
                }
            }
            Err(error) => {
                drop(workers);
                failures += 1;
                report_failure(&shared, &error);
                tokio::select! {
                    () = sleep(retry_delay(&shared.settings.holder, failures)) => {}
                    () = attempts.wait_until_closing() => return,
                }
            }
        }
    }
}

async fn claim_batch(
    shared: &CronShared,
    attempts: &AttemptPool,
    limit: usize,
) -> Result<ClaimBatch, StoreError> {
    let settings = &shared.settings;
    let except = attempts.passed_over();
    let sent = Instant::now();
    let claim = shared.ledger.claim(&settings.holder, settings.lease, limit, settings.max_recoveries, except);
    let claims = shared.call_ledger(claim).await?;
    shared.clock.record_reading(sent, claims.now);
    Ok(claims)
}

/// Spawns an attempt for each claimed row, one per worker.
fn spawn_attempts(
    shared: &Arc<CronShared>,
    attempts: &Arc<AttemptPool>,
    claims: Vec<OccurrenceClaim>,
    workers: Vec<OwnedSemaphorePermit>,
) {
    for (claim, worker) in claims.into_iter().zip(workers) {
        let (pool, id) = (Arc::clone(attempts), claim.key.id);
        let cancellation = pool.add_attempt(id);
        let attempt = CronAttempt {
            shared: Arc::clone(shared),
            attempts: Arc::clone(attempts),
            claim,
            trace_id: Uuid::now_v7(),
            cancellation: Arc::clone(&cancellation),
        };
        #[expect(
            clippy::disallowed_methods,
            reason = "outlives the actor; awaited by `drain` through the permit"
        )]
        tokio::spawn(async move {
            attempt.execute().await;
            pool.remove_attempt(id, &cancellation);
            drop(worker);
        });
    }
}

/// Fails an occurrence with too many expired leases, and reports it. One that cannot be failed now is listed
/// by the next claim again.
async fn end_exhausted(shared: &CronShared, row: ExhaustedOccurrence) {
    let ExhaustedOccurrence { id, channel_id, channel_name, trace_id, message } = &row;
    let failed = FailedOccurrence { channel_id, channel_name, trace_id: *trace_id, error: message };
    let report = shared.registry.prepare_report(failed).await;
    let written = report.as_ref().map(|report| report.row().clone());
    match shared.call_ledger(shared.ledger.exhaust(*id, shared.settings.max_recoveries, written)).await {
        Ok(true) => {
            if let Some(report) = report {
                report.begin();
            }
        }
        Ok(false) => return,
        Err(error) => {
            report_failure(shared, &error);
            // The commit may have taken effect. If it did not, the next claim lists the row again.
            let is_unanswered = matches!(error, StoreError::Unanswered(_));
            if !is_unanswered || !is_exhausted(shared, &row).await {
                return;
            }
            if let Some(report) = report {
                report.begin_if_stored().await;
            }
        }
    }
    shared.metrics.record_occurrences(OccurrenceStatus::Failed, 1);
    warn!(shared.log, "occurrence failed after too many expired leases"; "channel" => channel_name,
        "occurrence" => %id, "reason" => message);
    let failure = format!("{id} {}", trace_id.unwrap_or_default());
    shared.registry.note_failure_of(channel_id, &failure).await;
}

/// Returns whether an occurrence failed for that reason.
async fn is_exhausted(shared: &CronShared, row: &ExhaustedOccurrence) -> bool {
    let mut failures = 0;
    loop {
        match shared.call_ledger(shared.ledger.get(&row.id.to_string())).await {
            Ok(found) => {
                return found.is_some_and(|found| {
                    found.row.status == OccurrenceStatus::Failed.name()
                        && found.error_message.as_ref() == Some(&row.message)
                });
            }
            Err(error) => {
                failures += 1;
                report_failure(shared, &error);
                sleep(retry_delay(&row.channel_id, failures)).await;
            }
        }
    }
}

fn report_failure(shared: &CronShared, error: &StoreError) {
    shared.settings.errors.tell(ErrorReason::CronClaim);
    if !error.is_outage() {
        warn!(shared.log, "claiming occurrences failed"; "error" => %error);
    }
}
