//! The failures that this process has stored since it last added them to the counts of the database.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use svc_model::ErrorGroup;

/// Groups that are counted at once. Failures of further ones are in the lists, and in no count.
const MOST_COUNTED: usize = 1_000;

/// Failures by the id of their group. A failure costs an addition in memory, and nothing while no counts are kept.
#[derive(Default)]
pub(crate) struct FailureTally {
    is_kept: AtomicBool,
    failures: Mutex<BTreeMap<String, i64>>,
}

impl FailureTally {
    /// Begins to count.
    pub(super) fn keep(&self) {
        self.is_kept.store(true, Ordering::Relaxed);
    }

    /// Counts a failure whose row was written.
    pub(crate) fn count(&self, group: Option<&ErrorGroup>, is_written: bool) {
        let Some(group) = group.filter(|_| is_written && self.is_kept.load(Ordering::Relaxed)) else {
            return;
        };
        self.add(&group.id, 1);
    }

    fn add(&self, group: &str, failures: i64) {
        let mut counted = self.failures.lock();
        if let Some(count) = counted.get_mut(group) {
            *count += failures;
        } else if counted.len() < MOST_COUNTED {
            counted.insert(group.to_owned(), failures);
        }
    }

    /// Takes what was counted, in the order of the groups.
    pub(super) fn take(&self) -> Vec<(String, i64)> {
        std::mem::take(&mut *self.failures.lock()).into_iter().collect()
    }

    /// Gives back what could not be added.
    pub(super) fn give_back(&self, counts: &[(String, i64)]) {
        counts.iter().for_each(|(group, failures)| self.add(group, *failures));
    }
}

#[cfg(test)]
mod tests {
    use svc_model::FailureFacts;

    use super::*;

    fn group(channel: &str) -> ErrorGroup {
        ErrorGroup::new(FailureFacts { channel, ..FailureFacts::default() })
    }

    #[test]
    fn written_failures_count_once_kept() {
        let (tally, orders) = (FailureTally::default(), group("orders"));
        tally.count(Some(&orders), true);
        assert_eq!(tally.take(), []);
        tally.keep();
        tally.count(Some(&orders), true);
        tally.count(Some(&orders), false);
        tally.count(None, true);
        tally.count(Some(&orders), true);
        let taken = tally.take();
        assert_eq!(taken, [(orders.id.clone(), 2)]);
        tally.count(Some(&orders), true);
        tally.give_back(&taken);
        assert_eq!(tally.take(), [(orders.id, 3)]);
    }

    #[test]
    fn number_of_counted_groups_is_bounded() {
        let tally = FailureTally::default();
        tally.keep();
        let groups = (0..=MOST_COUNTED).map(|number| group(&number.to_string()));
        groups.for_each(|group| tally.count(Some(&group), true));
        assert_eq!(tally.take().len(), MOST_COUNTED);
    }
}
