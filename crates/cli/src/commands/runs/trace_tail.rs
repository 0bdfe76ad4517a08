//! The live tail of traces: which rows of a page are new. No clock, no I/O.

use std::collections::HashMap;

use chrono::{DateTime, FixedOffset, TimeDelta};
use serde_json::Value;

use super::trace_wait::has_ended;

/// Time for which a row is remembered beyond the newest one: rows of the same moment may become visible late.
const GRACE: TimeDelta = TimeDelta::seconds(10);
/// The same for a filter that a row meets late, such as by its status: a run is created long before it fails.
const LATE: TimeDelta = TimeDelta::minutes(10);
/// Time after which a run without an end is not waited for any longer.
const PATIENCE: TimeDelta = TimeDelta::hours(1);

type Instant = DateTime<FixedOffset>;

/// The rows that were shown already.
pub(super) struct TraceTail {
    /// Time for which a row is remembered, and may become visible late.
    grace: TimeDelta,
    newest: Option<Instant>,
    /// Creation up to which all rows were there before and are not of interest.
    floor: Option<Instant>,
    /// Rows that may come again, with their state as shown.
    shown: HashMap<String, ShownTrace>,
}

struct ShownTrace {
    created_at: Instant,
    status: String,
    has_ended: bool,
}

impl Default for TraceTail {
    fn default() -> Self {
        Self { grace: GRACE, newest: None, floor: None, shown: HashMap::new() }
    }
}

impl TraceTail {
    /// Creates the tail of a filter that rows meet late.
    pub(super) fn patient() -> Self {
        Self { grace: LATE, ..Self::default() }
    }

    /// Marks the rows that were there before. If older ones follow, none of them is of interest.
    pub(super) fn skip(&mut self, rows: &[Value], has_more: bool) {
        self.take(rows);
        self.floor = rows.last().filter(|_| has_more).and_then(created_at);
    }

    /// Returns the rows that are new, or whose state has changed, the oldest first. `rows` come newest first.
    pub(super) fn take(&mut self, rows: &[Value]) -> Vec<Value> {
        let mut fresh = Vec::new();
        for row in rows.iter().rev() {
            let (Some(id), Some(created_at)) = (row["id"].as_str(), created_at(row)) else { continue };
            let status = row["status"].as_str().unwrap_or_default().to_owned();
            let is_known = match self.shown.get(id) {
                Some(shown) => shown.status == status,
                // One that had ended was forgotten; an open one that is older brings its page back.
                None => {
                    self.floor.is_some_and(|floor| created_at <= floor)
                        || self.newest.is_some_and(|newest| created_at < newest - self.grace)
                }
            };
            if !is_known {
                fresh.push(row.clone());
                let shown = ShownTrace { created_at, status, has_ended: has_ended(row) };
                self.shown.insert(id.to_owned(), shown);
                self.newest = self.newest.max(Some(created_at));
            }
        }
        self.forget();
        fresh
    }

    /// Returns `true` if the page behind these rows cannot hold anything new.
    pub(super) fn reaches(&self, rows: &[Value]) -> bool {
        let oldest = rows.last().and_then(created_at);
        let interest = match self.newest {
            // What comes late may be older than the first page.
            None if self.grace > GRACE => rows.first().and_then(created_at).map(|newest| newest - self.grace),
            _ => self.oldest_of_interest(),
        };
        match (oldest, interest) {
            (Some(oldest), Some(interest)) => oldest < interest,
            _ => true,
        }
    }

    /// Returns the creation of the oldest row that may still be new or change.
    fn oldest_of_interest(&self) -> Option<Instant> {
        let newest = self.newest?;
        let open = self.shown.values().filter(|shown| !shown.has_ended).map(|shown| shown.created_at).min();
        let oldest = open.map_or(newest - self.grace, |open| open.min(newest - self.grace));
        Some(self.floor.map_or(oldest, |floor| oldest.max(floor)))
    }

    fn forget(&mut self) {
        let (Some(newest), grace) = (self.newest, self.grace) else { return };
        self.shown.retain(|_, shown| {
            let period = if shown.has_ended { grace } else { PATIENCE };
            shown.created_at >= newest - period
        });
    }
}

fn created_at(row: &Value) -> Option<Instant> {
    DateTime::parse_from_rfc3339(row["created_at"].as_str()?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(id: &str, second: u32, status: &str) -> Value {
        json!({"id": id, "created_at": format!("2026-01-01T00:{:02}:{:02}Z", second / 60, second % 60), "status": status})
    }

    fn ids(rows: &[Value]) -> Vec<&str> {
        rows.iter().map(|row| row["id"].as_str().unwrap()).collect()
    }

    #[test]
    fn row_is_shown_again_only_after_a_change() {
        let mut tail = TraceTail::default();
        tail.skip(&[row("a", 1, "completed")], false);
        assert_eq!(
            ids(&tail.take(&[row("c", 3, "pending"), row("b", 2, "completed"), row("a", 1, "completed")])),
            ["b", "c"]
        );
        assert!(tail.take(&[row("c", 3, "pending"), row("b", 2, "completed")]).is_empty());
        assert_eq!(ids(&tail.take(&[row("c", 3, "failed"), row("b", 2, "completed")])), ["c"]);
    }

    #[test]
    fn late_row_is_shown_old_row_is_not() {
        let mut tail = TraceTail::default();
        tail.skip(&[row("a", 60, "completed")], false);
        assert_eq!(
            ids(&tail.take(&[
                row("a", 60, "completed"),
                row("late", 59, "completed"),
                row("old", 1, "completed")
            ])),
            ["late"]
        );
    }

    #[test]
    fn old_open_row_brings_back_no_ended_ones() {
        let mut tail = TraceTail::default();
        let before = [row("c", 100, "completed"), row("b", 50, "completed"), row("paused", 0, "pending")];
        tail.skip(&before, false);
        assert!(tail.take(&before).is_empty());
        let [newest, ended, _] = before;
        assert_eq!(ids(&tail.take(&[newest, ended, row("paused", 0, "completed")])), ["paused"]);
    }

    #[test]
    fn patient_tail_shows_what_fails_late() {
        let mut tail = TraceTail::patient();
        let before = [row("b", 700, "failed"), row("a", 500, "failed")];
        assert!(!tail.reaches(&before), "an older one may fail yet");
        tail.skip(&before, false);
        let late = [
            row("c", 710, "failed"),
            row("b", 700, "failed"),
            row("a", 500, "failed"),
            row("late", 400, "failed"),
        ];
        assert_eq!(ids(&tail.take(&late)), ["late", "c"]);
        assert!(tail.take(&late).is_empty());
    }

    #[test]
    fn row_behind_the_first_page_is_not_shown() {
        let mut tail = TraceTail::default();
        tail.skip(&[row("c", 60, "completed"), row("b", 59, "completed")], true);
        let found = [row("d", 61, "completed"), row("c", 60, "completed"), row("b", 59, "completed")];
        assert!(!tail.reaches(&found[..2]));
        let all = [found.as_slice(), &[row("burst", 59, "completed"), row("a", 58, "completed")]].concat();
        assert!(tail.reaches(&all));
        assert_eq!(ids(&tail.take(&all)), ["d"]);
    }

    #[test]
    fn pages_are_read_until_nothing_new_can_follow() {
        let mut tail = TraceTail::default();
        assert!(tail.reaches(&[row("a", 60, "completed")]), "the first page is enough to begin with");
        tail.skip(&[row("a", 60, "completed")], false);
        assert!(!tail.reaches(&[row("c", 70, "completed"), row("b", 65, "completed")]));
        assert!(tail.reaches(&[row("c", 70, "completed"), row("b", 49, "completed")]));
        assert!(tail.reaches(&[]));
    }

    #[test]
    fn run_without_an_end_is_looked_at_again() {
        let mut tail = TraceTail::default();
        tail.skip(&[row("slow", 0, "running")], false);
        tail.take(&[row("b", 100, "completed"), row("slow", 0, "running")]);
        assert!(!tail.reaches(&[row("b", 100, "completed")]), "the slow one may be on the next page");
        assert_eq!(ids(&tail.take(&[row("b", 100, "completed"), row("slow", 0, "completed")])), ["slow"]);
    }
}
