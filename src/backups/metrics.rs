//! Metrics of scheduled backups.

use chrono::TimeDelta;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use svc_api::BackupFile;
use svc_model::Timestamp;

/// The age and the size of the newest backup, and the age of the last check. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct BackupMetrics {
    newest: Gauge,
    verified: Gauge,
    copied: Gauge,
    bytes: Gauge,
}

impl BackupMetrics {
    /// Registers the gauges. The registry adds its prefix to the names. `back_up_every` is the longest time between two
    /// backups of the schedule: an alert takes an age of a day more for a backup that fails. The time of the last check
    /// is there if backups are checked, together with the time between two checks: an alert takes an age of twice that
    /// time for a check that fails.
    pub(super) fn register(
        &self,
        registry: &mut Registry,
        back_up_every: TimeDelta,
        verify_every: Option<TimeDelta>,
    ) {
        registry.register(
            "backup_last_timestamp_seconds",
            "When the newest backup was made; 0 without one",
            self.newest.clone(),
        );
        let interval: Gauge = Gauge::default();
        interval.set(back_up_every.num_seconds());
        registry.register(
            "backup_interval_seconds",
            "Longest time between two backups of the schedule",
            interval,
        );
        if let Some(every) = verify_every {
            registry.register(
                "backup_last_verified_timestamp_seconds",
                "When a backup was last restored and checked; 0 if none was",
                self.verified.clone(),
            );
            let interval: Gauge = Gauge::default();
            interval.set(every.num_seconds());
            registry.register(
                "backup_verify_interval_seconds",
                "Time between two checks of backups",
                interval,
            );
        }
        registry.register(
            "backup_last_copied_timestamp_seconds",
            "When a backup was last copied to the object store; 0 if none was",
            self.copied.clone(),
        );
        registry.register("backup_last_size_bytes", "Size of the newest backup", self.bytes.clone());
    }

    pub(super) fn record_newest(&self, file: &BackupFile) {
        self.newest.set(seconds(file.modified_at));
        self.bytes.set(i64::try_from(file.size_bytes).unwrap_or(i64::MAX));
    }

    pub(super) fn record_verified(&self, at: Timestamp) {
        self.verified.set(seconds(at));
    }

    pub(super) fn record_copied(&self, at: Timestamp) {
        self.copied.set(seconds(at));
    }
}

fn seconds(at: Timestamp) -> i64 {
    at.naive().and_utc().timestamp()
}
