//! The pace of refusals under overload.
//!
//! Callers that retry as soon as they are refused would take the threads that accepted work needs. Refusals
//! therefore leave at a bounded rate, measured by the cost of the refused requests. Those beyond the rate are
//! held back, which costs their callers time, and the service a timer and a connection. A held refusal keeps
//! nothing of its message but the head, which counts among the bytes of the process. A short burst is refused at once.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use actix_web::http::header::RETRY_AFTER;
use actix_web::{HttpResponse, ResponseError};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::time::{Instant, sleep};

use crate::http::{BytesPermit, Error};

/// Time that one refusal adds to the schedule: a thousand small ones leave each second, a few per cent of a
/// core. The time that a refusal took is no measure of its cost: on a busy machine it has mostly waited.
const INTERVAL: Duration = Duration::from_millis(1);
/// Bytes of a refused body that cost as much as a request without one.
const BYTES_PER_INTERVAL: usize = 8192;
/// Lead of the schedule that delays no request: a burst of a hundred small refusals.
const BURST: Duration = Duration::from_millis(100);
/// Longest time a refusal is held. Clients that give up sooner come back as new requests, so more would gain
/// nothing.
const LONGEST: Duration = Duration::from_secs(2);
/// Refusals held at the same time at most; those beyond leave at once.
const MOST_HELD: usize = 20_000;

/// The schedule of refusals, one for the process.
#[derive(Debug)]
pub(crate) struct RefusalPacer {
    started: Instant,
    /// Instant of the next refusal in the schedule, in nanoseconds since the start.
    next: AtomicU64,
    held: AtomicUsize,
    gauge: Gauge,
}

impl RefusalPacer {
    /// Makes an empty schedule.
    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            next: AtomicU64::new(0),
            held: AtomicUsize::new(0),
            gauge: Gauge::default(),
        }
    }

    /// Registers the gauge of the refusals that are held; the prefix is the registry's.
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register("refusals_held", "Refusals that are held back under overload", self.gauge.clone());
    }

    /// Waits until a refusal of a request with a body of `bytes` may leave, two seconds at most. `head` takes the bytes
    /// of the head; without room for them the refusal leaves at once.
    pub(crate) async fn pace(&self, bytes: usize, head: impl FnOnce() -> Option<BytesPermit>) {
        let delay = self.schedule(bytes);
        if delay.is_zero() {
            return;
        }
        if let (Some(_held), Some(_head)) = (HeldRefusal::new(self), head()) {
            sleep(delay).await;
        }
    }

    /// Puts one refusal into the schedule and returns how long it is to wait.
    fn schedule(&self, bytes: usize) -> Duration {
        let now = nanoseconds(self.started.elapsed());
        let intervals = u64::try_from(bytes / BYTES_PER_INTERVAL + 1).unwrap_or(u64::MAX);
        let cost = nanoseconds(INTERVAL).saturating_mul(intervals);
        // A schedule that ran further ahead would hold refusals long after the load has gone.
        let furthest = now + nanoseconds(BURST + LONGEST);
        let advance = |next: u64| Some(next.max(now).saturating_add(cost).min(furthest));
        let next = self.next.fetch_update(Ordering::AcqRel, Ordering::Acquire, advance).unwrap_or_default();
        let ahead = advance(next).unwrap_or_default().saturating_sub(now);
        Duration::from_nanos(ahead).saturating_sub(BURST)
    }
}

/// A refusal that is held, counted until it is dropped.
struct HeldRefusal<'p>(&'p RefusalPacer);

impl<'p> HeldRefusal<'p> {
    /// Counts one more, or returns `None` when as many are held as may be.
    fn new(pacer: &'p RefusalPacer) -> Option<Self> {
        let room = |held: usize| (held < MOST_HELD).then_some(held + 1);
        pacer.held.fetch_update(Ordering::AcqRel, Ordering::Acquire, room).ok()?;
        pacer.gauge.inc();
        Some(Self(pacer))
    }
}

impl Drop for HeldRefusal<'_> {
    fn drop(&mut self) {
        self.0.held.fetch_sub(1, Ordering::AcqRel);
        self.0.gauge.dec();
    }
}

/// Returns `true` for an answer that asks its caller to come again: 429 or 503 with `Retry-After`.
pub(crate) fn is_refusal(answer: &Result<HttpResponse, Error>) -> bool {
    let (status, retries) = match answer {
        Ok(answer) => (answer.status(), answer.headers().contains_key(RETRY_AFTER)),
        Err(error) => (error.status_code(), error.0.retry_after().is_some()),
    };
    retries && matches!(status.as_u16(), 429 | 503)
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use svc_model::ServiceError;
    use tokio::time::advance;

    use super::*;
    use crate::http::InFlightBytes;

    /// A request without a body.
    const SMALL: usize = 0;

    #[tokio::test(start_paused = true)]
    async fn burst_leaves_at_once_rest_is_paced() {
        let pacer = RefusalPacer::new();
        assert!((0..100).all(|_| pacer.schedule(SMALL).is_zero()));
        let delays: Vec<_> = (0..500).map(|_| pacer.schedule(SMALL)).collect();
        assert_eq!((delays[0], delays[499]), (INTERVAL, INTERVAL * 500));
        advance(Duration::from_secs(1)).await;
        assert!(pacer.schedule(SMALL).is_zero(), "the load has gone");
    }

    #[tokio::test(start_paused = true)]
    async fn large_refused_body_costs_many_small_ones() {
        let pacer = RefusalPacer::new();
        let delay = pacer.schedule(1 << 20);
        assert_eq!(delay, INTERVAL * 129 - BURST);
    }

    #[tokio::test(start_paused = true)]
    async fn no_refusal_is_held_longer_than_two_seconds() {
        let pacer = RefusalPacer::new();
        let longest = (0..10_000).map(|_| pacer.schedule(SMALL)).max().unwrap();
        assert_eq!(longest, LONGEST);
        advance(LONGEST + BURST).await;
        assert!(pacer.schedule(SMALL).is_zero());
    }

    #[tokio::test(start_paused = true)]
    async fn refusals_beyond_the_held_ones_leave_at_once() {
        let (pacer, bytes) = (RefusalPacer::new(), InFlightBytes::new(0));
        let refuse = || pacer.pace(SMALL, || bytes.hold_head(0, 0));
        pacer.schedule(usize::MAX);
        let mut held: Vec<_> = (0..MOST_HELD).map(|_| Box::pin(refuse())).collect();
        assert!(held.iter_mut().all(|refusal| refusal.now_or_never().is_none()));
        assert!(refuse().now_or_never().is_some());
        drop(held);
        assert_eq!((pacer.held.load(Ordering::Acquire), pacer.gauge.get()), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn head_of_held_refusal_counts_until_it_leaves() {
        let (pacer, bytes) = (RefusalPacer::new(), InFlightBytes::new(150));
        let refuse = || pacer.pace(SMALL, || bytes.hold_head(0, 50));
        pacer.schedule(usize::MAX);
        let mut held = Box::pin(refuse());
        assert!(held.as_mut().now_or_never().is_none());
        assert_eq!(bytes.used_bytes(), 100);
        assert!(refuse().now_or_never().is_some(), "no room for its head");
        drop(held);
        assert_eq!((bytes.used_bytes(), pacer.held.load(Ordering::Acquire)), (0, 0));
    }

    #[test]
    fn only_answers_that_ask_to_come_again_are_paced() {
        let refusal = |error: ServiceError| is_refusal(&Err(Error(error)));
        assert!(refusal(ServiceError::at_capacity("full")) && refusal(ServiceError::rate_limited()));
        assert!(!refusal(ServiceError::unavailable("quarantined")) && !refusal(ServiceError::unauthorized()));
        let shaped = |status: u16| {
            let status = actix_web::http::StatusCode::from_u16(status).unwrap();
            Ok(HttpResponse::build(status).insert_header((RETRY_AFTER, "1")).finish())
        };
        assert!(is_refusal(&shaped(503)) && is_refusal(&shaped(429)));
        assert!(!is_refusal(&shaped(200)) && !is_refusal(&Ok(HttpResponse::ServiceUnavailable().finish())));
    }
}
