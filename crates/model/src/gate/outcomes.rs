//! The outcomes of the runs of a version, as counts that add up over nodes.

use serde_json::{Value, json};

/// The percentiles of the durations that are judged, the 99th first. On a busy machine that may be the time of something
/// else than the workflow: then the others show a version that is slower.
pub(super) const PERCENTILES: [u64; 3] = [99, 90, 50];

/// Number of slots of durations: 32 for each doubling from 8 µs to 137 s, and one at each end.
pub const SLOTS: usize = 770;

/// The power of two by which each doubling is divided.
const PARTS_POWER: u32 = 5;

/// The power of two, in nanoseconds, below which all durations share the first slot.
const FIRST_POWER: u32 = 13;

/// Returns the slot of a duration in nanoseconds.
pub fn slot_of(nanoseconds: u64) -> usize {
    let Some(power) = nanoseconds.checked_ilog2().filter(|power| *power >= FIRST_POWER) else { return 0 };
    let part = (nanoseconds >> (power - PARTS_POWER)) & ((1 << PARTS_POWER) - 1);
    let slot = (u64::from(power - FIRST_POWER) << PARTS_POWER) + part + 1;
    usize::try_from(slot).unwrap_or(SLOTS).min(SLOTS - 1)
}

/// Returns the duration, in nanoseconds, that ends a slot.
pub fn slot_bound(slot: usize) -> u64 {
    let Some(place) = slot.min(SLOTS - 1).checked_sub(1) else { return 1 << FIRST_POWER };
    let (doublings, part) = (place >> PARTS_POWER, place as u64 % (1 << PARTS_POWER));
    ((1 << PARTS_POWER) + part + 1) << (doublings + (FIRST_POWER - PARTS_POWER) as usize)
}

/// The runs of one version within one step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutcomeCounts {
    /// Number of runs that ended.
    pub runs: u64,
    /// Number of those in which something failed.
    pub errors: u64,
    /// Number of runs by the slot of their duration; shorter than [`SLOTS`] if the rest is zero.
    pub durations: Vec<u64>,
}

impl OutcomeCounts {
    /// Adds other counts.
    pub fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.errors += other.errors;
        if self.durations.len() < other.durations.len() {
            self.durations.resize(other.durations.len(), 0);
        }
        for (count, more) in self.durations.iter_mut().zip(&other.durations) {
            *count += more;
        }
    }

    /// Returns what was counted after `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = earlier.durations.iter().copied().chain(std::iter::repeat(0));
        Self {
            runs: self.runs.saturating_sub(earlier.runs),
            errors: self.errors.saturating_sub(earlier.errors),
            durations: self
                .durations
                .iter()
                .zip(before)
                .map(|(now, then)| now.saturating_sub(then))
                .collect(),
        }
    }

    /// Returns the slot in which a percentile lies; `None` without a run.
    pub fn percentile_slot(&self, percent: u64) -> Option<usize> {
        let total: u64 = self.durations.iter().sum();
        let allowed = total * 100_u64.saturating_sub(percent) / 100;
        let mut above = 0;
        let occupied = self.durations.iter().enumerate().rev();
        occupied.map(|(slot, count)| (slot, *count)).find_map(|(slot, count)| {
            above += count;
            (above > allowed).then_some(slot)
        })
    }

    /// Returns the number of runs whose slot is above this one.
    pub fn above(&self, slot: usize) -> u64 {
        self.durations.iter().skip(slot.saturating_add(1)).sum()
    }

    /// Returns the durations as text: pairs of a slot and its count.
    pub fn durations_text(&self) -> String {
        let occupied = self.durations.iter().enumerate().filter(|(_, count)| **count > 0);
        Value::from(occupied.map(|(slot, count)| json!([slot, count])).collect::<Vec<_>>()).to_string()
    }

    /// Reads durations from the text that [`durations_text`](Self::durations_text) makes; what cannot be read counts as
    /// nothing.
    pub fn read_durations(text: &str) -> Vec<u64> {
        let pairs: Vec<[u64; 2]> = serde_json::from_str(text).unwrap_or_default();
        let mut durations = Vec::new();
        for [slot, count] in pairs {
            let slot = usize::try_from(slot).unwrap_or(SLOTS).min(SLOTS - 1);
            if durations.len() <= slot {
                durations.resize(slot + 1, 0);
            }
            if let Some(place) = durations.get_mut(slot) {
                *place += count;
            }
        }
        durations
    }
}

/// The outcomes of both versions within one step, on all nodes together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepOutcomes {
    /// Those of the newer version.
    pub canary: OutcomeCounts,
    /// Those of the older version.
    pub stable: OutcomeCounts,
    /// The messages that both versions ran.
    pub compared: CompareCounts,
}

/// The messages that both versions ran, one of them as a shadow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompareCounts {
    /// Number of messages.
    pub runs: u64,
    /// Number of those whose runs differ.
    pub different: u64,
}

impl CompareCounts {
    /// Adds other counts.
    pub const fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.different += other.different;
    }

    /// Returns what was counted after `earlier`.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self {
            runs: self.runs.saturating_sub(earlier.runs),
            different: self.different.saturating_sub(earlier.different),
        }
    }
}
