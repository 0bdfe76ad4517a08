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
pub(crate) struct StatusLevel(Mutex<DatabaseStatus>);

impl StatusLevel {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(DatabaseStatus::Ok))
    }

    pub(crate) fn get(&self) -> DatabaseStatus {
        self.0.lock().clone()
    }

    /// Records that the database answers. Returns whether it was away before.
    pub(crate) fn set_up(&self) -> bool {
        let mut level = self.0.lock();
        let was_down = *level != DatabaseStatus::Ok;
        *level = DatabaseStatus::Ok;
        was_down
    }

    /// Records that the database is away. Returns whether it answered before. `since` keeps the start of the
    /// outage.
    pub(crate) fn set_down(&self, detail: &str) -> bool {
        let mut level = self.0.lock();
        let (since, was_up) = match &*level {
            DatabaseStatus::Down { since, .. } => (*since, false),
            DatabaseStatus::Ok => (Timestamp::now(), true),
        };
        *level = DatabaseStatus::Down { since, detail: detail.to_owned() };
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
}
