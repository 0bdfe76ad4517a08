//! The counts and samples of shadows by rollout, and the bound of the shadows that run at once. Counts go on through
//! reloads, and end with the last channel that has the shadow.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use svc_model::gate::CompareCounts;

use super::metrics::ShadowMetrics;
use super::{DifferingRun, ShadowCounts, ShadowFinding};

/// Runs that are kept of each rollout.
const SAMPLES: usize = 20;
/// Lines that are kept of a difference, and letters of each.
const LINES: usize = 20;
const LETTERS: usize = 400;

/// The shadows of all channels. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShadowBook {
    pub(crate) metrics: ShadowMetrics,
    tallies: Arc<Mutex<HashMap<Arc<str>, Weak<ShadowTally>>>>,
    running: Arc<AtomicUsize>,
}

/// A place among the shadows that run at once. It is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct ShadowPlace(Arc<AtomicUsize>);

impl Drop for ShadowPlace {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ShadowBook {
    /// Returns the counts of a rollout, which all channels share.
    pub(crate) fn join(&self, rollout_id: &Arc<str>) -> Arc<ShadowTally> {
        let mut tallies = self.tallies.lock();
        tallies.retain(|_, tally| tally.strong_count() > 0);
        if let Some(tally) = tallies.get(rollout_id).and_then(Weak::upgrade) {
            return tally;
        }
        let tally = Arc::new(ShadowTally { metrics: self.metrics.clone(), state: Mutex::default() });
        tallies.insert(Arc::clone(rollout_id), Arc::downgrade(&tally));
        tally
    }

    /// Returns what was counted for a rollout; `None` if no channel of this node has its shadow.
    pub(crate) fn counts(&self, rollout_id: &str) -> Option<ShadowCounts> {
        let tally = self.tallies.lock().get(rollout_id).and_then(Weak::upgrade)?;
        Some(tally.counts())
    }

    /// Returns the numbers of compared runs by rollout.
    pub(crate) fn compared(&self) -> Vec<(Arc<str>, CompareCounts)> {
        let tallies = self.tallies.lock();
        let live = tallies.iter().filter_map(|(id, tally)| Some((Arc::clone(id), tally.upgrade()?)));
        live.map(|(id, tally)| (id, tally.compared())).collect()
    }

    /// Returns `true` if fewer shadows than this wait or run.
    pub(crate) fn has_place(&self, most: usize) -> bool {
        self.running.load(Ordering::Relaxed) < most
    }

    /// Takes a place among so many; `None` if all are taken.
    pub(crate) fn take_place(&self, most: usize) -> Option<ShadowPlace> {
        let place = ShadowPlace(Arc::clone(&self.running));
        // A refused place is given back by its drop.
        (self.running.fetch_add(1, Ordering::Relaxed) < most).then_some(place)
    }
}

#[derive(Debug, Default)]
struct ShadowTallyState {
    runs: u64,
    different: u64,
    kinds: BTreeMap<&'static str, u64>,
    dropped: BTreeMap<&'static str, u64>,
    unanswered: u64,
    samples: VecDeque<DifferingRun>,
}

/// The counts of the shadows of one rollout.
#[derive(Debug)]
pub(crate) struct ShadowTally {
    metrics: ShadowMetrics,
    state: Mutex<ShadowTallyState>,
}

impl ShadowTally {
    /// Counts a run with its shadow, and keeps it if they differ.
    pub(super) fn count_run(&self, mut run: DifferingRun, unanswered: u64) {
        let mut kinds: Vec<&'static str> = run.findings.iter().map(|finding| finding.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        self.metrics.count_run(&kinds);
        self.metrics.count_unanswered(unanswered);
        let state = &mut *self.state.lock();
        state.runs += 1;
        state.unanswered += unanswered;
        if kinds.is_empty() {
            return;
        }
        state.different += 1;
        for kind in kinds {
            *state.kinds.entry(kind).or_default() += 1;
        }
        run.findings.iter_mut().for_each(shorten);
        state.samples.push_front(run);
        state.samples.truncate(SAMPLES);
    }

    /// Counts a run without a shadow.
    pub(super) fn count_dropped(&self, reason: &'static str) {
        self.metrics.count_dropped(reason);
        *self.state.lock().dropped.entry(reason).or_default() += 1;
    }

    fn compared(&self) -> CompareCounts {
        let state = self.state.lock();
        CompareCounts { runs: state.runs, different: state.different }
    }

    fn counts(&self) -> ShadowCounts {
        let state = self.state.lock();
        let same = state.runs - state.different;
        let kinds = state.kinds.iter().map(|(kind, runs)| (*kind, *runs));
        ShadowCounts {
            runs: state.runs,
            different: state.different,
            kinds: std::iter::once(("same", same)).chain(kinds).collect(),
            dropped: state.dropped.iter().map(|(reason, runs)| (*reason, *runs)).collect(),
            unanswered: state.unanswered,
            samples: state.samples.iter().cloned().collect(),
        }
    }
}

fn shorten(finding: &mut ShadowFinding) {
    finding.lines.truncate(LINES);
    for line in finding.lines.iter_mut().chain([&mut finding.subject]) {
        if let Some((end, _)) = line.char_indices().nth(LETTERS) {
            line.truncate(end);
            line.push('…');
        }
    }
}

#[cfg(test)]
mod tests {
    use svc_model::Timestamp;

    use super::*;

    fn run(kinds: &[&'static str]) -> DifferingRun {
        let finding = |kind: &&'static str| ShadowFinding {
            kind,
            subject: "data.n".into(),
            lines: vec!["x".repeat(LETTERS * 2)],
        };
        DifferingRun {
            message_id: "m".into(),
            run_key: "k".into(),
            ended_at: Timestamp::now(),
            findings: kinds.iter().map(finding).collect(),
        }
    }

    #[test]
    fn counts_survive_reload_and_samples_are_bounded() {
        let book = ShadowBook::default();
        let id: Arc<str> = "r".into();
        let tally = book.join(&id);
        (0..SAMPLES + 5).for_each(|_| tally.count_run(run(&["new-call", "new-call", "new-error"]), 2));
        tally.count_run(run(&[]), 0);
        tally.count_dropped("busy");
        let counts = book.join(&id).counts();
        assert_eq!((counts.runs, counts.different, counts.unanswered), (26, 25, 50));
        assert_eq!(counts.kinds, [("same", 1), ("new-call", 25), ("new-error", 25)]);
        assert_eq!((counts.samples.len(), counts.dropped), (SAMPLES, vec![("busy", 1)]));
        assert_eq!(counts.samples[0].findings[0].lines[0].chars().count(), LETTERS + 1);
        drop(tally);
        assert_eq!(book.counts("r"), None);
    }

    #[test]
    fn places_are_bounded_and_given_back() {
        let book = ShadowBook::default();
        let first = book.take_place(1);
        assert!(first.is_some() && book.take_place(1).is_none() && !book.has_place(1));
        drop(first);
        assert!(book.take_place(1).is_some());
    }
}
