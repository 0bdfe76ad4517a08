//! The bytes of messages in flight, counted over the whole process and bounded by
//! `server.max_in_flight_bytes`.
//!
//! A request has one [`BytesPermit`], which covers its head, grows while its body arrives and again when the body is
//! parsed, and gives everything back when it is dropped. Growing never waits: a request beyond the bound is refused
//! with 503, so that requests with half a body each cannot wait for one another.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use serde_json::Value;
use svc_model::{ServiceError, heap_bytes};
use svc_transport::FIELD_BYTES;

/// Bytes counted for a message in addition to its head and its body: its facts and the state of its run.
const MESSAGE_BYTES: usize = 4096;

/// The process-wide byte semaphore. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct InFlightBytes(Arc<Counts>);

#[derive(Debug)]
struct Counts {
    /// `usize::MAX` if bytes are not bounded.
    limit: AtomicUsize,
    used: AtomicUsize,
    refused: Counter,
}

impl InFlightBytes {
    /// Makes a semaphore of `limit` bytes; 0 sets no bound.
    pub(crate) fn new(limit: usize) -> Self {
        Self(Arc::new(Counts {
            limit: AtomicUsize::new(bound(limit)),
            used: AtomicUsize::new(0),
            refused: Counter::default(),
        }))
    }

    /// Changes the bound, for what is taken from now on.
    pub(crate) fn set_limit(&self, limit: usize) {
        self.0.limit.store(bound(limit), Ordering::Relaxed);
    }

    /// Registers the gauge of the bytes held and the counter of refusals; the prefix is the registry's.
    pub(crate) fn register(&self, registry: &mut Registry) {
        let refused = self.0.refused.clone();
        registry.register("in_flight_rejected", "Requests refused for the bytes in flight", refused);
        registry.register_collector(Box::new(self.clone()));
    }

    /// Returns a permit that holds nothing yet.
    pub(crate) fn permit(&self) -> BytesPermit {
        BytesPermit { counts: Arc::clone(&self.0), bytes: 0 }
    }

    /// Takes what the head of a request holds while its answer is held back; `None` if the process holds too
    /// much already.
    pub(crate) fn hold_head(&self, fields: usize, text: usize) -> Option<BytesPermit> {
        let mut permit = self.permit();
        permit.take(head_bytes(fields, text)).then_some(permit)
    }

    /// Returns the bound; `None` if bytes are not bounded.
    pub(crate) fn limit(&self) -> Option<usize> {
        Some(self.0.limit.load(Ordering::Relaxed)).filter(|limit| *limit != usize::MAX)
    }

    /// Returns the bytes held now.
    pub(crate) fn used_bytes(&self) -> usize {
        self.0.used.load(Ordering::Acquire)
    }
}

/// Returns the bytes that a head holds: its fields, and its text twice, since the message has a copy.
const fn head_bytes(fields: usize, text: usize) -> usize {
    fields.saturating_mul(FIELD_BYTES).saturating_add(text.saturating_mul(2))
}

/// Returns the bound that a setting means.
const fn bound(limit: usize) -> usize {
    if limit == 0 { usize::MAX } else { limit }
}

/// Encodes the bytes held as a gauge, read at the scrape.
impl Collector for InFlightBytes {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let help = "Bytes that messages in flight hold";
        let family = encoder.encode_descriptor("in_flight_bytes", help, None, MetricType::Gauge)?;
        ConstGauge::new(i64::try_from(self.used_bytes()).unwrap_or(i64::MAX)).encode(family)
    }
}

/// The bytes one request holds, given back when this is dropped.
#[derive(Debug)]
pub(crate) struct BytesPermit {
    counts: Arc<Counts>,
    bytes: usize,
}

impl BytesPermit {
    /// Takes `bytes` more. A request that holds everything that is held may exceed the bound: it would be
    /// refused for ever otherwise.
    ///
    /// # Errors
    /// 503 with `Retry-After`, counted, when the process holds too much; the permit keeps what it has.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), ServiceError> {
        if self.take(bytes) {
            return Ok(());
        }
        self.counts.refused.inc();
        Err(ServiceError::at_capacity("The service holds too many bytes of requests in flight"))
    }

    /// Takes `bytes` more; `false` when the process holds too much.
    fn take(&mut self, bytes: usize) -> bool {
        let (own, limit) = (self.bytes, self.counts.limit.load(Ordering::Relaxed));
        let grown = |used: usize| {
            let sum = used.saturating_add(bytes);
            (sum <= limit || used == own).then_some(sum)
        };
        let is_taken = self.counts.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, grown).is_ok();
        self.bytes += if is_taken { bytes } else { 0 };
        is_taken
    }
}

impl BytesPermit {
    /// Takes the memory of the head of a request until it is answered: its fields, and its text, of which the message
    /// has a copy.
    ///
    /// # Errors
    /// Those of [`grow`](Self::grow).
    pub(crate) fn grow_for_head(&mut self, fields: usize, text: usize) -> Result<(), ServiceError> {
        self.grow(head_bytes(fields, text))
    }

    /// Takes what a message is estimated to hold in addition to its raw body until it is answered: the parsed body,
    /// which tasks copy, and the texts of its answer and of its trace, which repeats the body twice.
    ///
    /// # Errors
    /// Those of [`grow`](Self::grow).
    pub(crate) fn grow_for_run(&mut self, raw: usize, parsed: Option<&Value>) -> Result<(), ServiceError> {
        let values = parsed.map_or(0, heap_bytes);
        self.grow(MESSAGE_BYTES + raw.saturating_mul(3).saturating_add(values.saturating_mul(2)))
    }
}

impl Drop for BytesPermit {
    fn drop(&mut self) {
        self.counts.used.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_permit_returns_all_its_bytes() {
        let bytes = InFlightBytes::new(10);
        let mut permit = bytes.permit();
        permit.grow(4).unwrap();
        permit.grow(6).unwrap();
        assert_eq!(bytes.used_bytes(), 10);
        drop(permit);
        assert_eq!(bytes.used_bytes(), 0);
    }

    #[test]
    fn head_counts_its_fields_and_its_text_twice() {
        let bytes = InFlightBytes::new(10_000);
        let mut permit = bytes.permit();
        permit.grow_for_head(10, 300).unwrap();
        assert_eq!(bytes.used_bytes(), 10 * FIELD_BYTES + 600);
        let refusal = bytes.permit().grow_for_head(10, 300).unwrap_err();
        assert_eq!(refusal.status(), 503);
    }

    #[test]
    fn held_head_finds_no_room_without_a_refusal() {
        let bytes = InFlightBytes::new(2 * FIELD_BYTES);
        let held = bytes.hold_head(2, 0);
        assert!(held.is_some() && bytes.hold_head(1, 0).is_none());
        assert_eq!((bytes.used_bytes(), bytes.0.refused.get()), (2 * FIELD_BYTES, 0));
        drop(held);
        assert_eq!(bytes.used_bytes(), 0);
    }

    #[test]
    fn nested_lists_count_with_the_room_they_reserve() {
        let text = format!("[{}[]]", "[[[[]]]],".repeat(1000));
        let parsed: Value = serde_json::from_str(&text).unwrap();
        let bytes = InFlightBytes::new(0);
        let mut permit = bytes.permit();
        permit.grow_for_run(text.len(), Some(&parsed)).unwrap();
        // Three lists with room for four values, held by the body and by the copy of a task.
        assert!(bytes.used_bytes() > 2 * 3000 * 4 * size_of::<Value>(), "{}", bytes.used_bytes());
    }

    #[test]
    fn growth_beyond_the_bound_is_refused_with_retry_after() {
        let bytes = InFlightBytes::new(10);
        let (mut first, mut second) = (bytes.permit(), bytes.permit());
        first.grow(7).unwrap();
        let refusal = second.grow(4).unwrap_err();
        assert_eq!((refusal.status(), refusal.retry_after()), (503, Some(1)));
        assert_eq!((bytes.used_bytes(), bytes.0.refused.get()), (7, 1));
        drop(first);
        second.grow(4).unwrap();
    }

    #[test]
    fn message_larger_than_the_bound_is_admitted_alone() {
        let bytes = InFlightBytes::new(10);
        let (mut large, mut other) = (bytes.permit(), bytes.permit());
        large.grow(8).unwrap();
        large.grow(50).unwrap();
        assert!(other.grow(1).is_err());
        drop(large);
        assert!(other.grow(1).is_ok());
    }

    #[test]
    fn zero_sets_no_bound() {
        let bytes = InFlightBytes::new(0);
        let (mut first, mut second) = (bytes.permit(), bytes.permit());
        assert!(first.grow(1 << 40).is_ok() && second.grow(1 << 40).is_ok());
    }

    #[test]
    fn threads_never_hold_more_than_the_bound() {
        let bytes = InFlightBytes::new(100);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for amount in 0..5_000 {
                        let mut permit = bytes.permit();
                        let _refused = permit.grow(amount % 40);
                        assert!(bytes.used_bytes() <= 100);
                    }
                });
            }
        });
        assert_eq!(bytes.used_bytes(), 0);
    }
}
