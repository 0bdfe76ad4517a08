//! The actor that delivers the events of its node's share.
//!
//! It takes no messages: a notification wakes it after an event was accepted, and it polls as well. One future claims, the
//! other makes the attempts. A drain claims nothing more and waits for the attempts; what is cut off all the same is due
//! again after its lease.

mod attempt;
mod state;

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix::{Actor, AsyncContext, WrapFuture};
use actix_supervision::{Context, Supervised};
use futures_util::StreamExt;
use futures_util::future::{LocalBoxFuture, join, pending};
use futures_util::stream::FuturesUnordered;
use slog::warn;
use svc_store::{StoreError, WebhookClaims};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep};

use crate::shared::WebhookShared;
use attempt::{PendingAttempt, lease, make_attempt};
pub(crate) use attempt::{make_request, send_within};
use state::DeliveryLanes;

/// Time between two looks for deliveries that are due.
const POLL: Duration = Duration::from_secs(1);
/// Time between two looks while attempts end.
const SHORT_POLL: Duration = Duration::from_millis(20);
/// Time between two counts of the database.
const COUNT_PERIOD: Duration = Duration::from_secs(10);
/// Time after which an endpoint is looked at again whose secrets cannot be read.
const UNREADABLE_PERIOD: Duration = Duration::from_secs(60);
/// Endpoints that one look reads.
const MOST_ENDPOINTS: i64 = 10_000;

/// The actor.
pub(crate) struct WebhookDeliverer {
    shared: Arc<WebhookShared>,
    claims: Arc<ClaimGate>,
}

/// The end of claims at a drain.
#[derive(Default)]
struct ClaimGate {
    /// Nothing more is claimed.
    is_closed: AtomicBool,
    /// A claim goes on, whose attempts are to come.
    is_claiming: AtomicBool,
}

impl ClaimGate {
    /// Begins a claim; `false` if there are none any more.
    fn enter(&self) -> bool {
        self.is_claiming.store(true, Ordering::SeqCst);
        let is_open = !self.is_closed.load(Ordering::SeqCst);
        self.is_claiming.store(is_open, Ordering::SeqCst);
        is_open
    }

    fn leave(&self) {
        self.is_claiming.store(false, Ordering::SeqCst);
    }
}

impl WebhookDeliverer {
    pub(crate) fn new(shared: Arc<WebhookShared>) -> Self {
        Self { shared, claims: Arc::default() }
    }
}

impl Actor for WebhookDeliverer {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        let shared = Arc::clone(&self.shared);
        let claims = Arc::clone(&self.claims);
        ctx.spawn(async move { deliver(&shared, &claims).await }.into_actor(self));
        let shared = Arc::clone(&self.shared);
        ctx.spawn(async move { count_rows(&shared).await }.into_actor(self));
    }
}

impl Supervised for WebhookDeliverer {
    fn drain(&mut self, _: &mut Context<Self>) -> LocalBoxFuture<'static, ()> {
        self.claims.is_closed.store(true, Ordering::SeqCst);
        let (claims, in_flight) = (Arc::clone(&self.claims), self.shared.metrics.in_flight.clone());
        Box::pin(async move {
            while claims.is_claiming.load(Ordering::SeqCst) || in_flight.get() > 0 {
                sleep(SHORT_POLL).await;
            }
        })
    }
}

/// Claims deliveries and makes attempts.
async fn deliver(shared: &WebhookShared, gate: &ClaimGate) {
    // Attempts of an instance before this one ended with it.
    shared.metrics.in_flight.set(0);
    let settings = &shared.settings;
    let lanes = RefCell::new(DeliveryLanes::new(settings.max_concurrent, settings.max_concurrent_per_host));
    let (freed, (sender, receiver)) = (Notify::new(), unbounded_channel());
    let claims = claim_due(shared, &lanes, &freed, gate, sender);
    join(claims, make_attempts(shared, &lanes, &freed, receiver)).await;
}

/// Claims what is due, as much as there are places for.
async fn claim_due(
    shared: &WebhookShared,
    lanes: &RefCell<DeliveryLanes>,
    freed: &Notify,
    gate: &ClaimGate,
    attempts: UnboundedSender<PendingAttempt>,
) {
    loop {
        if !gate.enter() {
            // The attempts go on.
            return pending().await;
        }
        let round = claim_once(shared, lanes, &attempts).await;
        gate.leave();
        shared.is_looking.store(round.is_ok(), Ordering::Relaxed);
        match round {
            Ok(ClaimRound::Claimed) => {}
            Ok(ClaimRound::NoPlace) => tokio::select! {
                () = freed.notified() => sleep(SHORT_POLL).await,
                () = shared.due.notified() => sleep(SHORT_POLL).await,
                () = sleep(POLL) => {}
            },
            Ok(ClaimRound::NothingDue) => tokio::select! {
                () = shared.due.notified() => {}
                () = sleep(POLL) => {}
            },
            Err(error) => {
                if !error.is_outage() {
                    warn!(shared.log, "webhooks cannot be claimed"; "error" => %error);
                }
                sleep(POLL).await;
            }
        }
    }
}

/// The result of a look for deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClaimRound {
    Claimed,
    /// Deliveries are due and no place is free.
    NoPlace,
    NothingDue,
}

async fn claim_once(
    shared: &WebhookShared,
    lanes: &RefCell<DeliveryLanes>,
    attempts: &UnboundedSender<PendingAttempt>,
) -> Result<ClaimRound, StoreError> {
    let due = shared.webhooks.due_endpoints(MOST_ENDPOINTS).await?;
    if due.is_empty() {
        return Ok(ClaimRound::NothingDue);
    }
    let rooms = lanes.borrow_mut().choose(&due, Instant::now());
    if rooms.is_empty() {
        return Ok(ClaimRound::NoPlace);
    }
    // Before the claim: the lease of the database begins later.
    let claimed_at = Instant::now();
    let holder = shared.nodes.id();
    let WebhookClaims { claimed, unreadable } =
        shared.webhooks.claim(&holder, rooms, lease(&shared.settings)).await?;
    for unread in unreadable {
        warn!(shared.log, "a webhook endpoint gets nothing: rotate its secret with an overlap of 0";
            "error" => %unread);
        lanes.borrow_mut().set_aside(unread.endpoint_id, Instant::now() + UNREADABLE_PERIOD);
    }
    if claimed.is_empty() {
        // Another node was faster.
        return Ok(ClaimRound::NoPlace);
    }
    let failing: HashSet<&str> =
        due.iter().filter(|endpoint| endpoint.is_failing).map(|endpoint| endpoint.id.as_str()).collect();
    for delivery in claimed {
        let is_failing = failing.contains(delivery.target.endpoint_id.as_str());
        let lane = lanes.borrow_mut().begin(&delivery.target.url, is_failing);
        shared.metrics.in_flight.inc();
        let pending = PendingAttempt { delivery, claimed_at, lane };
        // The receiver lives as long as this future.
        let _is_open = attempts.send(pending).is_ok();
    }
    Ok(ClaimRound::Claimed)
}

/// Makes the attempts, all at once.
async fn make_attempts(
    shared: &WebhookShared,
    lanes: &RefCell<DeliveryLanes>,
    freed: &Notify,
    mut pending: UnboundedReceiver<PendingAttempt>,
) {
    let mut attempts = FuturesUnordered::new();
    loop {
        tokio::select! {
            Some(attempt) = pending.recv() => attempts.push(make_attempt(shared, lanes, attempt)),
            Some(()) = attempts.next(), if !attempts.is_empty() => freed.notify_one(),
            else => return,
        }
    }
}

/// Counts the rows of the database for the metrics.
async fn count_rows(shared: &WebhookShared) {
    loop {
        // Without a database the numbers stay.
        if let Ok(counts) = shared.webhooks.counts().await {
            shared.metrics.set_counts(&counts);
            let endpoints = counts.enabled + counts.unverified + counts.disabled;
            shared.has_endpoints.store(endpoints > 0, Ordering::Relaxed);
        }
        sleep(COUNT_PERIOD).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_gate_admits_no_claim() {
        let gate = ClaimGate::default();
        assert!(gate.enter() && gate.is_claiming.load(Ordering::SeqCst), "a drain waits for its attempts");
        gate.is_closed.store(true, Ordering::SeqCst);
        gate.leave();
        assert!(!gate.enter() && !gate.is_claiming.load(Ordering::SeqCst));
    }
}
