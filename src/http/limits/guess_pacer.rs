//! The pace of refused keys of channels.
//!
//! Answers to wrong keys are delayed, each time longer, so that guessing takes time. They count by channel and by the
//! network of the client. Every key is compared: a right one is answered at once, however many wrong ones come from the
//! network of its holder. A delayed answer keeps nothing of its
//! message but the head, which counts among the bytes of the process.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use svc_model::ClientNetworks;
use tokio::time::{Instant, timeout};

use super::lockout::Lockout;
use crate::http::BytesPermit;
use crate::lifecycle::Lifecycle;

/// Maximum number of delayed answers at the same time; answers beyond it leave at once.
const MOST_HELD: usize = 10_000;

/// Longest delay of an answer; a client that gives up comes back as a new one.
const LONGEST: Duration = Duration::from_secs(5);

/// The wrong keys of each client at each channel.
#[derive(Debug, Default)]
pub(crate) struct GuessPacer {
    /// By the hash of the channel and the network of the client.
    guesses: Lockout<(u64, IpAddr)>,
    hasher: RandomState,
    networks: ClientNetworks,
    held: AtomicUsize,
}

impl GuessPacer {
    /// Counts clients by these networks.
    pub(crate) fn new(networks: ClientNetworks) -> Self {
        Self { networks, ..Self::default() }
    }

    /// Counts a wrong key of a client at a channel and waits until its refusal may leave, or until the service
    /// begins to drain. `head` takes the bytes of the head; without room for them the refusal leaves at once.
    pub(crate) async fn pace(
        &self,
        channel_id: &str,
        client: IpAddr,
        head: impl FnOnce() -> Option<BytesPermit>,
        lifecycle: &Lifecycle,
    ) {
        let delay = self.record(channel_id, client, Instant::now());
        if delay.is_zero() {
            return;
        }
        if let (Some(_held), Some(_head)) = (HeldAnswer::new(&self.held), head()) {
            // Both ends are reasons to answer.
            let _ = timeout(delay, lifecycle.wait_until_draining()).await;
        }
    }

    /// Counts a wrong key and returns how long its refusal is to wait.
    fn record(&self, channel_id: &str, client: IpAddr, now: Instant) -> Duration {
        let guesser = (self.hasher.hash_one(channel_id), self.networks.network_of(client));
        self.guesses.record_failure(guesser, now).wait.min(LONGEST)
    }
}

/// A delayed answer, counted until it is dropped.
struct HeldAnswer<'p>(&'p AtomicUsize);

impl<'p> HeldAnswer<'p> {
    /// Counts one more; `None` at the maximum number.
    fn new(held: &'p AtomicUsize) -> Option<Self> {
        let room = |count: usize| (count < MOST_HELD).then_some(count + 1);
        held.fetch_update(Ordering::AcqRel, Ordering::Acquire, room).ok()?;
        Some(Self(held))
    }
}

impl Drop for HeldAnswer<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt;

    use super::*;
    use crate::http::InFlightBytes;

    #[test]
    fn guesses_wait_longer_by_channel_and_network() {
        let (pacer, start) = (GuessPacer::default(), Instant::now());
        let client = |text: &str| text.parse::<IpAddr>().unwrap();
        let mut now = start;
        let waits: Vec<u128> = (0..10)
            .map(|_| {
                let wait = pacer.record("orders", client("2001:db8::1"), now);
                now += wait;
                wait.as_millis()
            })
            .collect();
        assert_eq!(waits, [0, 0, 0, 0, 500, 1_000, 2_000, 4_000, 5_000, 3_000]);
        let wait = |channel: &str, address: &str| pacer.record(channel, client(address), now);
        assert!(!wait("orders", "2001:db8::2").is_zero(), "an address of the same network");
        assert!(wait("orders", "2001:db8:0:1::1").is_zero());
        assert!(wait("returns", "2001:db8::1").is_zero());
    }

    #[tokio::test(start_paused = true)]
    async fn refusal_is_held_with_the_bytes_of_its_head() {
        let (pacer, lifecycle, bytes) =
            (GuessPacer::default(), Lifecycle::default(), InFlightBytes::new(100));
        let client = IpAddr::from([192, 0, 2, 1]);
        let start = Instant::now();
        let guess = || pacer.pace("orders", client, || bytes.hold_head(0, 50), &lifecycle);
        for _ in 0..4 {
            guess().await;
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
        let mut held = pin!(guess());
        assert!(held.as_mut().now_or_never().is_none());
        assert_eq!(bytes.used_bytes(), 100);
        guess().await;
        assert_eq!(start.elapsed(), Duration::ZERO, "there is no room for another head");
        held.await;
        assert_eq!((start.elapsed(), bytes.used_bytes()), (Duration::from_millis(500), 0));
    }

    #[test]
    fn parallel_guesses_wait_together_and_count_once() {
        let (pacer, now) = (GuessPacer::default(), Instant::now());
        let client = IpAddr::from([192, 0, 2, 1]);
        let waits: Vec<u128> = (0..100).map(|_| pacer.record("orders", client, now).as_millis()).collect();
        assert_eq!(waits[..4], [0; 4]);
        assert_eq!(waits[4..], [500; 96]);
    }
}
