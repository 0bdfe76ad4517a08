//! The state of the database: whether it answers and accepts writes. Readable by anyone without I/O.

use parking_lot::Mutex;
use svc_model::Timestamp;

/// The state of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseStatus {
    /// It answers, and the last write did not fail because of it.
    Ok,
    /// It does not answer, or does not accept writes, as on a full disk.
    Down {
        /// Start of the outage.
        since: Timestamp,
        /// The error of the last attempt, for the log and for administrators.
        detail: String,
    },
}

/// The current status. Updated by every batch of writes, and by the probe while there are none.
pub(crate) struct StatusLevel(Mutex<Level>);

struct Level {
    status: DatabaseStatus,
    answers: u64,
}

impl StatusLevel {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Level { status: DatabaseStatus::Ok, answers: 0 }))
    }

    pub(crate) fn get(&self) -> DatabaseStatus {
        self.0.lock().status.clone()
    }

    /// Returns the number of batches that showed that the database works.
    pub(crate) fn answers(&self) -> u64 {
        self.0.lock().answers
    }

    /// Records that the database answers. Returns whether it was away before.
    pub(crate) fn set_up(&self) -> bool {
        let mut level = self.0.lock();
        level.answers += 1;
        let was_down = level.status != DatabaseStatus::Ok;
        level.status = DatabaseStatus::Ok;
        was_down
    }

    /// Records that the database is away. Returns whether it answered before. `since` keeps the start of the
    /// outage.
    pub(crate) fn set_down(&self, detail: &str) -> bool {
        self.0.lock().set_down(detail)
    }

    /// Records that the database is away, unless it has answered since the count was `answers`: `None` then. Returns
    /// whether it answered before.
    pub(crate) fn set_down_since(&self, answers: u64, detail: &str) -> Option<bool> {
        let mut level = self.0.lock();
        (level.answers == answers).then(|| level.set_down(detail))
    }
}

impl Level {
    fn set_down(&mut self, detail: &str) -> bool {
        let (since, was_up) = match &self.status {
            DatabaseStatus::Down { since, .. } => (*since, false),
            DatabaseStatus::Ok => (Timestamp::now(), true),
        };
        self.status = DatabaseStatus::Down { since, detail: detail.to_owned() };
        was_up
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn down_keeps_the_first_instant_and_the_latest_detail() {
        let level = StatusLevel::new();
        assert!(level.set_down("first"));
        let DatabaseStatus::Down { since: first, .. } = level.get() else { panic!("it is down") };
        assert!(!level.set_down("second"));
        assert_eq!(level.get(), DatabaseStatus::Down { since: first, detail: "second".into() });
        assert!(level.set_up());
        assert!(!level.set_up());
        assert_eq!(level.get(), DatabaseStatus::Ok);
    }

    #[test]
    fn late_outage_report_does_not_outweigh_an_answer() {
        let level = StatusLevel::new();
        let asked = level.answers();
        level.set_up();
        assert_eq!(level.set_down_since(asked, "no answer in time"), None);
        assert_eq!(level.get(), DatabaseStatus::Ok);
        let asked = level.answers();
        assert_eq!(level.set_down_since(asked, "no answer in time"), Some(true));
        assert_eq!(level.set_down_since(asked, "no answer in time"), Some(false));
        assert!(matches!(level.get(), DatabaseStatus::Down { .. }));
    }
}
