//! Backups that the service makes by itself, and their check: the newest one is restored into a temporary directory and
//! read.
//!
//! The state is in the directory of backups alone: the newest file, and a mark of the last check. So a restart neither
//! repeats nor forgets anything. A SQLite file belongs to one process, which needs no lease for this.

use std::sync::Arc;
use std::time::Duration;

use actix_web::web::block;
use chrono::TimeDelta;
use parking_lot::Mutex;
use prometheus_client::registry::Registry;
use slog::{Logger, info, warn};
use svc_api::BackupFile;
use svc_connectors::{ConnectorDirectory, ObjectUpload};
use svc_model::{AuditAction, AuditResource, Timestamp};
use svc_outbound::{Outbound, describe_cause};
use svc_schedule::Schedule;
use svc_store::{AuditEntry, AuditReceipt, Store};
use tokio::time::Instant;

use super::BackupDirectory;
use super::metrics::BackupMetrics;
use crate::config::BackupsSection;
use crate::housekeeping::{JobError, JobPass, JobSpec};

/// Time between two looks at the schedule.
const INTERVAL: Duration = Duration::from_secs(60);
/// Rest after a failure: a full disk or a damaged file does not heal within a minute.
const REST: Duration = Duration::from_secs(600);
/// Time ahead for which the instants of the schedule are looked at, and the most of them: more than a year, and each
/// minute of a day.
const LOOKED_AT: TimeDelta = TimeDelta::days(400);
const MAX_INSTANTS: usize = 2000;
/// The principal of these backups in the audit log.
const PRINCIPAL: &str = "system:backups";

/// The object stores that backups can be copied to.
#[derive(Clone)]
pub(crate) struct BackupStores {
    pub(crate) connectors: ConnectorDirectory,
    pub(crate) outbound: Outbound,
}

/// The backups of this process.
pub(crate) struct ScheduledBackups {
    store: Store,
    directory: Arc<BackupDirectory>,
    schedule: Schedule,
    /// Time between two checks; `None` for none.
    verify_every: Option<TimeDelta>,
    /// The connector of the store that backups are copied to.
    copies_to: Option<String>,
    stores: BackupStores,
    /// The end of the rest after a failure.
    rests_until: Mutex<Option<Instant>>,
    metrics: BackupMetrics,
    log: Logger,
}

impl ScheduledBackups {
    /// Returns the backups of the settings; `None` without a schedule.
    pub(crate) fn new(
        settings: &BackupsSection,
        store: Store,
        directory: Arc<BackupDirectory>,
        stores: BackupStores,
        log: Logger,
    ) -> Option<Self> {
        // It was parsed with the rest of the configuration.
        let schedule = Schedule::parse(settings.schedule.as_deref()?, "UTC").ok()?;
        let days = settings.verify_days;
        Some(Self {
            store,
            directory,
            schedule,
            verify_every: (days > 0).then(|| TimeDelta::days(days.into())),
            copies_to: settings.to.clone(),
            stores,
            rests_until: Mutex::new(None),
            metrics: BackupMetrics::default(),
            log,
        })
    }

    /// Registers the metrics.
    pub(crate) fn register(&self, registry: &mut Registry) {
        let every = longest_interval(&self.schedule, Timestamp::now());
        self.metrics.register(registry, every, self.verify_every);
    }

    /// Makes the job that looks at the schedule.
    pub(crate) fn into_job(self) -> JobSpec {
        let backups = Arc::new(self);
        let work = move || {
            let backups = Arc::clone(&backups);
            Box::pin(async move { backups.run().await }) as _
        };
        JobSpec { name: "backup", every: INTERVAL, work: Arc::new(work) }
    }

    async fn run(&self) -> Result<JobPass, JobError> {
        let rests_until = *self.rests_until.lock();
        if rests_until.is_some_and(|until| Instant::now() < until) {
            return Ok(JobPass::Skipped);
        }
        let outcome = self.run_due().await;
        *self.rests_until.lock() = outcome.is_err().then(|| Instant::now() + REST);
        outcome
    }

    /// Makes and checks a backup, each if it is due.
    async fn run_due(&self) -> Result<JobPass, JobError> {
        let mut pass = JobPass::Skipped;
        let mut newest = self.find_newest().await?;
        // Its age counts while no other can be made.
        newest.iter().for_each(|file| self.metrics.record_newest(file));
        let newest_at = newest.as_ref().map(|file| file.modified_at);
        if is_due(&self.schedule, newest_at, Timestamp::now()) {
            self.back_up().await?;
            newest = self.find_newest().await?;
            pass = JobPass::Done;
        }
        let Some(newest) = newest else { return Ok(pass) };
        self.metrics.record_newest(&newest);
        // One failure does not keep the other from its turn: a full disk prevents a check, not a copy.
        let verified = self.verify_if_due(&newest.filename).await;
        let copied = self.copy_if_new(&newest.filename).await;
        let (is_verified, is_copied) = (verified?, copied?);
        if is_verified || is_copied {
            pass = JobPass::Done;
        }
        Ok(pass)
    }

    async fn find_newest(&self) -> Result<Option<BackupFile>, JobError> {
        let directory = Arc::clone(&self.directory);
        Ok(block(move || directory.newest()).await??)
    }

    async fn back_up(&self) -> Result<(), JobError> {
        let _turn = self.directory.turn().await;
        let directory = Arc::clone(&self.directory);
        let draft = block(move || directory.begin(Timestamp::now())).await??;
        self.store.back_up(draft.part().to_owned()).await?;
        // Recorded before the file has its name, so that no backup is unrecorded.
        self.store.audit().record(audit_entry(&draft.filename)).await?;
        let file = block(move || draft.finish()).await??;
        info!(self.log, "backup made"; "file" => &file.path, "bytes" => file.size_bytes);
        let directory = Arc::clone(&self.directory);
        match block(move || directory.prune()).await? {
            Ok(pruned) if pruned.is_empty() => {}
            Ok(pruned) => info!(self.log, "old backups deleted"; "files" => pruned.join(", ")),
            // The backup is made.
            Err(error) => {
                warn!(self.log, "old backups were not deleted"; "error" => describe_cause(&error));
            }
        }
        Ok(())
    }

    /// Restores and checks a backup, if the last check is long ago.
    async fn verify_if_due(&self, filename: &str) -> Result<bool, JobError> {
        let directory = Arc::clone(&self.directory);
        let verified_at = block(move || directory.verified_at()).await?;
        if let Some(at) = verified_at {
            self.metrics.record_verified(at);
        }
        let Some(every) = self.verify_every else { return Ok(false) };
        let now = Timestamp::now();
        if verified_at.is_some_and(|at| now.naive() - at.naive() < every) {
            return Ok(false);
        }
        let (directory, name) = (Arc::clone(&self.directory), filename.to_owned());
        let verified = block(move || directory.verify(&name)).await??;
        info!(self.log, "backup restored and checked"; "file" => filename, "rows" => verified.rows,
            "pending_migrations" => verified.pending.len());
        self.metrics.record_verified(now);
        Ok(true)
    }

    /// Copies a backup to the object store, if it is not the one that was copied last.
    async fn copy_if_new(&self, filename: &str) -> Result<bool, JobError> {
        let Some(connector) = &self.copies_to else { return Ok(false) };
        let directory = Arc::clone(&self.directory);
        if let Some((name, at)) = block(move || directory.last_copied()).await? {
            self.metrics.record_copied(at);
            if name == filename {
                return Ok(false);
            }
        }
        let BackupStores { connectors, outbound } = &self.stores;
        let mut upload = ObjectUpload::begin(connectors, connector, filename, outbound).await?;
        let sent = match self.send_parts(&mut upload, filename).await {
            Ok(()) => upload.complete().await.map_err(JobError::from),
            Err(error) => Err(error),
        };
        if let Err(error) = sent {
            // The reason of the failure says more than that of the removal.
            let _kept = upload.abort().await;
            return Err(
                format!("backup {filename} was not copied to connector '{connector}': {error}").into()
            );
        }
        let (directory, name) = (Arc::clone(&self.directory), filename.to_owned());
        block(move || directory.mark_copied(&name)).await??;
        info!(self.log, "backup copied"; "file" => filename, "connector" => connector);
        self.metrics.record_copied(Timestamp::now());
        Ok(true)
    }

    async fn send_parts(&self, upload: &mut ObjectUpload, filename: &str) -> Result<(), JobError> {
        let mut offset = 0;
        loop {
            let (directory, name) = (Arc::clone(&self.directory), filename.to_owned());
            let read = move || directory.read_part(&name, offset, ObjectUpload::PART_BYTES);
            let part = block(read).await??;
            if part.is_empty() {
                return Ok(());
            }
            offset += part.len() as u64;
            upload.send_part(part).await?;
        }
    }
}

/// Returns the longest time between two instants of the schedule, of those within the next 400 days that are looked at.
fn longest_interval(schedule: &Schedule, now: Timestamp) -> TimeDelta {
    let from = now.naive().and_utc();
    let instants: Vec<_> = schedule
        .upcoming(from)
        .take_while(|instant| *instant - from <= LOOKED_AT)
        .take(MAX_INSTANTS)
        .collect();
    let gaps = instants.windows(2).map(|pair| match pair {
        [one, next] => *next - *one,
        _ => TimeDelta::zero(),
    });
    // Of a schedule with one instant a year there may be no two.
    gaps.max().unwrap_or(LOOKED_AT)
}

/// Returns `true` if an instant of the schedule has passed since the newest backup, or if there is none.
fn is_due(schedule: &Schedule, newest: Option<Timestamp>, now: Timestamp) -> bool {
    let Some(newest) = newest else { return true };
    let next = schedule.next_after(newest.naive().and_utc());
    next.is_some_and(|next| next <= now.naive().and_utc())
}

fn audit_entry(filename: &str) -> AuditEntry {
    AuditEntry {
        principal: PRINCIPAL.to_owned(),
        action: AuditAction::Create.name().to_owned(),
        resource_type: AuditResource::Backup.name().to_owned(),
        resource_id: filename.to_owned(),
        details: None,
        receipt: AuditReceipt::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instant(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn longest_interval_is_that_of_the_schedule() {
        let hours = |expression: &str| {
            let schedule = Schedule::parse(expression, "UTC").unwrap();
            longest_interval(&schedule, instant("2026-01-02T00:00:00Z")).num_hours()
        };
        assert_eq!(hours("@daily"), 24);
        assert_eq!(hours("0 0 * * * *"), 1);
        assert_eq!(hours("0 0 3 * * MON-FRI"), 3 * 24, "over a weekend");
        assert_eq!(hours("0 0 3 1 * *"), 31 * 24);
        assert_eq!(hours("0 0 3 1 1 *"), 400 * 24, "at most");
    }

    #[test]
    fn backup_is_due_once_for_each_instant() {
        let schedule = Schedule::parse("0 0 3 * * *", "UTC").unwrap();
        let due = |newest: Option<&str>, now: &str| is_due(&schedule, newest.map(instant), instant(now));
        assert!(due(None, "2026-01-02T00:00:00Z"), "there is none");
        assert!(!due(Some("2026-01-01T03:00:04Z"), "2026-01-02T02:59:59Z"));
        assert!(due(Some("2026-01-01T03:00:04Z"), "2026-01-02T03:00:00Z"));
        assert!(!due(Some("2026-01-02T03:00:04Z"), "2026-01-02T03:01:00Z"), "it is made");
        assert!(due(Some("2026-01-01T03:00:04Z"), "2026-01-05T12:00:00Z"), "it was missed");
    }
}
