//! Exemplars: for each bucket of the durations of a channel the last message whose trace can be looked up.

use parking_lot::Mutex;
use svc_model::Timestamp;
use uuid::Uuid;

use super::durations::BUCKETS;

/// The ids under which the trace of a message can be looked up. Made only if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceIds {
    /// The distributed trace, if its spans are exported.
    pub exported: Option<[u8; 16]>,
    /// The stored trace, if one is kept.
    pub stored: Option<Uuid>,
}

impl TraceIds {
    /// Returns the ids, if at least one of them is there.
    #[inline]
    pub(crate) fn new(exported: Option<[u8; 16]>, stored: Option<Uuid>) -> Option<Self> {
        (exported.is_some() || stored.is_some()).then_some(Self { exported, stored })
    }
}

/// One message of a bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DurationExemplar {
    pub trace: TraceIds,
    /// Its duration.
    pub seconds: f64,
    /// The time of its end.
    pub at: Timestamp,
}

/// The exemplars of one channel, by bucket. Keeping one never waits: of two at the same instant one is enough.
#[derive(Debug, Default)]
pub(super) struct ExemplarSlots([Mutex<Option<DurationExemplar>>; BUCKETS]);

impl ExemplarSlots {
    /// Keeps a message as the exemplar of its bucket.
    pub(super) fn keep(&self, bucket: usize, trace: TraceIds, seconds: f64) {
        if let Some(mut slot) = self.0.get(bucket).and_then(Mutex::try_lock) {
            *slot = Some(DurationExemplar { trace, seconds, at: Timestamp::now() });
        }
    }

    /// Returns the exemplars by bucket.
    pub(super) fn read(&self) -> [Option<DurationExemplar>; BUCKETS] {
        self.0.each_ref().map(|slot| *slot.lock())
    }
}
