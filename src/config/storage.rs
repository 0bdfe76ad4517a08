//! Stored data: `[storage]`, `[backups]`, `[audit]`, `[trace_storage]`, `[trace_queue]`.

use svc_model::Timestamp;
use svc_schedule::Schedule;
use svc_secrets::Secret;
use svc_store::OpenError;

use super::problem::Diagnostics;
use super::setting::{choice, section};

/// Traces that may wait at most: each takes a permit, of which a semaphore has only so many.
const MOST_PENDING: usize = 1_000_000_000;

section! {
    /// The database.
    pub struct StorageSection {
        /// URL of the database; `sqlite:` or `postgres://` selects the backend. `sslmode` and
        /// `sslrootcert` in a URL of PostgreSQL have the meanings of libpq; without them `sslmode` is `prefer`.
        pub url: String = "sqlite:svc.db".into(),
        /// Most connections of the pool.
        pub max_connections: u32 = 50,
        /// Connections the pool keeps open.
        pub min_connections: u32 = 5,
        /// Milliseconds SQLite waits for a lock.
        pub busy_timeout_ms: u64 = 5000,
        /// Seconds a caller waits for a connection.
        pub acquire_timeout_secs: u64 = 3,
        /// Seconds after which an unused connection is closed; 0 keeps it.
        pub idle_timeout_secs: u64 = 300,
        /// Key that encrypts connector configurations and credentials of channels: 64 hexadecimal digits, or a
        /// secret reference (`env://…`, `file://…`, `vault://…`). Empty: plain text.
        pub connector_encryption_key: Secret = Secret::default(),
        /// Keys for reading only: former encryption keys, and the next one before it encrypts.
        pub previous_connector_encryption_keys: Vec<Secret> = Vec::new(),
        /// Directory of backups, created when the first one is made.
        pub backup_dir: String = "./backups".into(),
        /// Backups to keep, 1 or more; the oldest beyond are deleted after each new one. Unset: all.
        pub backup_retention_count: Option<u32> = None,
        /// Applies pending migrations at start; otherwise they prevent it.
        pub auto_migrate: bool = true,
        /// Seconds the first connection is tried for; 0 tries once. Not for SQLite.
        pub connect_retry_secs: u64 = 60,
    }
}

section! {
    /// Backups of a SQLite database that the service makes by itself, in `storage.backup_dir`. PostgreSQL has tools of its
    /// own.
    pub struct BackupsSection {
        /// Times of backups, in UTC: a cron expression as schedules have it, such as `0 0 3 * * *`, or `@daily`. The first
        /// one is made at the first start, one that was missed at the next start. Unset: none are made.
        pub schedule: Option<String> = None,
        /// Backups that stay, 1 or more; the oldest beyond are deleted after each new one, those made by hand too.
        pub keep: u32 = 7,
        /// Name of the storage connector that each new backup is copied to, under its file name; what is there stays.
        pub to: Option<String> = None,
        /// Days after which the newest backup is restored into a temporary directory and checked again, up to 365; 0 checks
        /// none.
        pub verify_days: u32 = 7,
    }
}

section! {
    /// The record of admin changes.
    pub struct AuditSection {
        /// Days a record is kept; 0 keeps it for ever.
        pub retention_days: u64 = 90,
        /// Seconds between two removals of old records.
        pub cleanup_interval_secs: u64 = 3600,
        /// Records that may wait to be written. None does: a record is written with its change.
        pub max_pending: usize = 1000,
        /// Seconds that waiting records get at shutdown. None waits.
        pub drain_timeout_secs: u64 = 5,
    }
}

choice! {
    /// The time at which the trace of a request is stored.
    pub enum TraceStorageMode {
        /// Before the answer.
        Sync = "sync",
        /// After the answer, one by one.
        Async = "async",
        /// After the answer, in batches.
        Batch = "batch",
        /// Never.
        Off = "off",
    }
}

choice! {
    /// The fate of a trace when too many wait.
    pub enum TraceOverflow {
        /// It is dropped and counted.
        Drop = "drop",
        /// Its request waits.
        Block = "block",
    }
}

section! {
    /// Storage of traces; a channel's own `tracing` block takes precedence.
    pub struct TraceStorageSection {
        /// The time at which a trace is stored. `tracing.mode` is an alias of this key.
        pub mode: TraceStorageMode = TraceStorageMode::Sync,
        /// Share of the requests that are traced, from 0 to 1.
        pub sample_rate: f64 = 1.0,
        /// Traces failed requests only.
        pub errors_only: bool = false,
        /// Traces that may wait to be stored (async, batch).
        pub max_pending: usize = 10_000,
        /// The fate of a trace when more would wait.
        pub async_on_overflow: TraceOverflow = TraceOverflow::Drop,
        /// Milliseconds a request waits at most when blocked.
        pub overflow_block_timeout_ms: u64 = 100,
        /// Writers (async), 10000 at most.
        pub async_workers: usize = 4,
        /// Traces of a batch, from 1 to 1000.
        pub batch_size: usize = 1000,
        /// Milliseconds until a batch that is not full is written.
        pub batch_flush_interval_ms: u64 = 100,
        /// Writers (batch), 10000 at most.
        pub batch_workers: usize = 4,
        /// Recordings of runs, for channels without `tracing.record`.
        pub record: RecordSection = RecordSection::default(),
    }
}

section! {
    /// Runs that are recorded with their calls, so that another version can be tried on them. A channel's `tracing.record`
    /// takes the place of these settings, but for the paths.
    pub struct RecordSection {
        /// Share of the runs that are recorded, from 0 to 1.
        pub share: f64 = 0.0,
        /// Records every failed run too.
        pub errors: bool = false,
        /// Recordings of a channel and a day, in UTC.
        pub max_per_day: u64 = 50_000,
        /// Longest recording in bytes; a run with a longer one is not recorded.
        pub max_bytes: usize = 262_144,
        /// Paths below `payload`, `metadata`, `data`, `input` or `answer` whose values are never recorded.
        pub drop: Vec<String> = Vec::new(),
    }
}

section! {
    /// Requests taken for later, their results and their dead letters.
    pub struct TraceQueueSection {
        /// Requests run at the same time, 10000 at most.
        pub workers: usize = 4,
        /// Requests that may wait; above, 503.
        pub buffer_size: usize = 1000,
        /// Bytes of payload and metadata that may wait; above, 503; 0 does not count.
        pub max_queue_memory_bytes: usize = 104_857_600,
        /// Seconds that running requests get at shutdown, within `server.shutdown_force_timeout_secs`.
        pub shutdown_timeout_secs: u64 = 30,
        /// Hours a finished trace or occurrence is kept; 0 keeps it for ever.
        pub retention_hours: u64 = 72,
        /// Seconds between two removals of old rows.
        pub cleanup_interval_secs: u64 = 3600,
        /// Milliseconds a request taken for later may run.
        pub processing_timeout_ms: u64 = 60_000,
        /// Largest result in bytes; a larger one is an error; 0 allows any.
        pub max_result_size_bytes: usize = 1_048_576,
        /// Retries dead letters.
        pub dlq_retry_enabled: bool = true,
        /// Tries of a dead letter, from 1 to 16; the n-th waits 2^n seconds.
        pub dlq_max_retries: u32 = 5,
        /// Seconds between two polls for dead letters that are due.
        pub dlq_poll_interval_secs: u64 = 30,
        /// Dead letters taken at once.
        pub dlq_batch_size: u32 = 20,
        /// Seconds a node holds a dead letter.
        pub dlq_lease_secs: u64 = 60,
        /// Hours a dead letter without a retry left is kept; 0 keeps it for ever. One that waits for a retry
        /// is kept.
        pub dlq_retention_hours: u64 = 720,
        /// Dead letters without a retry left from which on `/health` is degraded; 0 leaves them out of it.
        pub dlq_exhausted_threshold: u64 = 1,
        /// Times a request taken for later is begun again after its node died, from 1 to 1000; then it is a
        /// dead letter.
        pub max_recoveries: u32 = 5,
        /// A request taken for later begins at once, while its row is written: one write instead of two.
        pub early_start: bool = true,
        /// Accepted requests of the whole service that may wait in the database: due later, for a retry, for a
        /// share of their channel, or for a paused one; above, 503.
        pub max_waiting: u64 = 1_000_000,
        /// Days by which a caller may have an accepted request run later, from 1 to 3650.
        pub max_delay_days: u32 = 30,
    }
}

impl StorageSection {
    pub(crate) fn check(&self, diagnostics: &mut Diagnostics) {
        let schemes = ["sqlite:", "postgres://", "postgresql://", "mysql://"];
        if !schemes.iter().any(|scheme| self.url.len() > scheme.len() && self.url.starts_with(scheme)) {
            diagnostics.refuse("storage.url", "must begin with sqlite: or postgres://, like sqlite:svc.db");
        } else if !self.url.starts_with("mysql:")
            && let Err(OpenError::Url(why)) = svc_store::check_url(&self.url)
        {
            diagnostics.refuse("storage.url", why);
        }
        diagnostics.require_positive("storage.max_connections", self.max_connections);
        if self.min_connections > self.max_connections {
            diagnostics.refuse("storage.min_connections", "must not be above storage.max_connections");
        }
        diagnostics.require_positive("storage.busy_timeout_ms", self.busy_timeout_ms);
        diagnostics.require_positive("storage.acquire_timeout_secs", self.acquire_timeout_secs);
        diagnostics.require_time("storage.acquire_timeout_secs", self.acquire_timeout_secs);
        diagnostics.require_time("storage.connect_retry_secs", self.connect_retry_secs);
        diagnostics
            .require_positive("storage.backup_retention_count", self.backup_retention_count.unwrap_or(1));
        let malformed = |key: &Secret| {
            let text = key.expose();
            let hexadecimal = text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
            !hexadecimal && !matches!(svc_secrets::parse(text), Ok(Some(_)))
        };
        if !self.connector_encryption_key.is_empty() && malformed(&self.connector_encryption_key) {
            diagnostics.refuse(
                "storage.connector_encryption_key",
                "must be 64 hexadecimal digits or a secret reference",
            );
        }
        if self.previous_connector_encryption_keys.iter().any(malformed) {
            diagnostics.refuse(
                "storage.previous_connector_encryption_keys",
                "each must be 64 hexadecimal digits or a secret reference",
            );
        }
    }
}

impl BackupsSection {
    pub(crate) fn check(&self, storage: &StorageSection, diagnostics: &mut Diagnostics) {
        const KEY: &str = "backups.schedule";
        diagnostics.require_positive("backups.keep", self.keep);
        diagnostics.require_within("backups.verify_days", self.verify_days, 0..=365);
        if let Some(to) = &self.to {
            diagnostics.require_filled("backups.to", to);
            if self.schedule.is_none() {
                diagnostics.refuse("backups.to", "works with backups.schedule alone; set that too");
            }
        }
        let Some(schedule) = &self.schedule else { return };
        let now = Timestamp::now().naive().and_utc();
        if let Err(error) = Schedule::parse_at(schedule, "UTC", now) {
            diagnostics.refuse(KEY, error.to_string());
        }
        if !storage.url.starts_with("sqlite:") {
            let why = "backups are for a SQLite file; leave it unset, and back PostgreSQL up with its own tools: pg_dump, \
                       or pg_basebackup with an archive of the write-ahead log";
            diagnostics.refuse(KEY, why);
        }
        if storage.backup_retention_count.is_some() {
            let why = "with backups.schedule, backups.keep is the number of backups; leave this one unset";
            diagnostics.refuse("storage.backup_retention_count", why);
        }
    }
}

impl AuditSection {
    pub(crate) fn check(&self, diagnostics: &mut Diagnostics) {
        diagnostics.require_positive("audit.max_pending", self.max_pending);
        diagnostics.require_positive("audit.drain_timeout_secs", self.drain_timeout_secs);
        if self.retention_days > 0 {
            diagnostics.require_positive("audit.cleanup_interval_secs", self.cleanup_interval_secs);
        }
        diagnostics.require_time("audit.cleanup_interval_secs", self.cleanup_interval_secs);
    }
}

impl TraceStorageSection {
    pub(crate) fn check(&self, diagnostics: &mut Diagnostics) {
        diagnostics.require_within("trace_storage.sample_rate", self.sample_rate, 0.0..=1.0);
        diagnostics.require_within("trace_storage.batch_size", self.batch_size, 1..=1000);
        self.record.check(diagnostics);
        diagnostics.require_within("trace_storage.max_pending", self.max_pending, 0..=MOST_PENDING);
        diagnostics.require_workers("trace_storage.async_workers", self.async_workers);
        diagnostics.require_workers("trace_storage.batch_workers", self.batch_workers);
        if matches!(self.mode, TraceStorageMode::Async | TraceStorageMode::Batch) {
            diagnostics.require_positive("trace_storage.max_pending", self.max_pending);
        }
        if self.mode == TraceStorageMode::Async {
            diagnostics.require_positive("trace_storage.async_workers", self.async_workers);
        }
        if self.mode == TraceStorageMode::Batch {
            diagnostics.require_positive("trace_storage.batch_workers", self.batch_workers);
            diagnostics
                .require_positive("trace_storage.batch_flush_interval_ms", self.batch_flush_interval_ms);
        }
    }
}

impl RecordSection {
    fn check(&self, diagnostics: &mut Diagnostics) {
        diagnostics.require_within("trace_storage.record.share", self.share, 0.0..=1.0);
        diagnostics.require_positive("trace_storage.record.max_per_day", self.max_per_day);
        diagnostics.require_positive("trace_storage.record.max_bytes", self.max_bytes);
        if let Some(why) = self.drop.iter().find_map(|path| svc_engine::DropPath::parse(path).err()) {
            diagnostics.refuse("trace_storage.record.drop", why);
        }
    }
}

impl TraceQueueSection {
    pub(crate) fn check(&self, diagnostics: &mut Diagnostics) {
        diagnostics.require_positive("trace_queue.workers", self.workers);
        diagnostics.require_workers("trace_queue.workers", self.workers);
        diagnostics.require_positive("trace_queue.buffer_size", self.buffer_size);
        diagnostics.require_positive("trace_queue.shutdown_timeout_secs", self.shutdown_timeout_secs);
        diagnostics.require_positive("trace_queue.processing_timeout_ms", self.processing_timeout_ms);
        if self.retention_hours > 0 || self.dlq_retention_hours > 0 {
            diagnostics.require_positive("trace_queue.cleanup_interval_secs", self.cleanup_interval_secs);
        }
        for (key, secs) in [
            ("trace_queue.cleanup_interval_secs", self.cleanup_interval_secs),
            ("trace_queue.shutdown_timeout_secs", self.shutdown_timeout_secs),
            ("trace_queue.dlq_poll_interval_secs", self.dlq_poll_interval_secs),
        ] {
            diagnostics.require_time(key, secs);
        }
        diagnostics.require_within("trace_queue.dlq_max_retries", self.dlq_max_retries, 1..=16);
        diagnostics.require_positive("trace_queue.dlq_poll_interval_secs", self.dlq_poll_interval_secs);
        diagnostics.require_positive("trace_queue.dlq_batch_size", self.dlq_batch_size);
        diagnostics.require_positive("trace_queue.dlq_lease_secs", self.dlq_lease_secs);
        diagnostics.require_within("trace_queue.max_recoveries", self.max_recoveries, 1..=1000);
        diagnostics.require_positive("trace_queue.max_waiting", self.max_waiting);
        diagnostics.require_within("trace_queue.max_delay_days", self.max_delay_days, 1..=3650);
    }
}
