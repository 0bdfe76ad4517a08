//! The reasons that `svc_errors_total` counts.

macro_rules! error_reasons {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// The reason of a failure that `svc_errors_total` counts. Names are stable, because alerts match on them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorReason { $($(#[$doc])* $variant,)* }

        impl ErrorReason {
            /// All reasons.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the value of the label `reason`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

error_reasons! {
    /// A guard refused a message because too many were in progress.
    Backpressure = "backpressure",
    /// A message met a channel that is out of service after repeated panics.
    ChannelQuarantined = "channel_quarantined",
    /// Due runs of schedules could not be claimed.
    CronClaim = "cron_claim",
    /// A pass over all schedules failed.
    CronReconcile = "cron_reconcile",
    /// The schedule of one channel could not be followed.
    CronReconcileChannel = "cron_reconcile_channel",
    /// A claimed run could not be started.
    CronStart = "cron_start",
    /// An idempotency key could not be checked.
    DedupBackend = "dedup_backend",
    /// A dead letter used up its attempts.
    DlqExhausted = "dlq_exhausted",
    /// Due dead letters could not be retried.
    DlqRetry = "dlq_retry",
    /// The engine failed.
    Engine = "engine",
    /// A change of the configuration by another process was not loaded.
    EpochWatcher = "epoch_watcher",
    /// The lease of a recurring job could not be asked for.
    JobLease = "job_lease",
    /// The brokers did not take the offset of a record that is done.
    KafkaCommit = "kafka_commit",
    /// A consumer failed, or could not receive.
    KafkaConsumer = "kafka_consumer",
    /// A dead letter was not written to its topic.
    KafkaDlq = "kafka_dlq",
    /// A refreshed token could not be stored.
    OauthStatePersist = "oauth_state_persist",
    /// A run panicked.
    Panic = "panic",
    /// A rate could not be checked.
    RateLimitBackend = "rate_limit_backend",
    /// A result was larger than allowed.
    ResultSizeExceeded = "result_size_exceeded",
    /// A trace could not be read or written.
    Storage = "storage",
    /// An execution trace was larger than allowed.
    TaskTraceSizeExceeded = "task_trace_size_exceeded",
    /// A run took longer than allowed.
    Timeout = "timeout",
    /// The status of a trace could not be written.
    TraceStatusWrite = "trace_status_write",
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_reason_has_its_own_name() {
        let names: HashSet<_> = ErrorReason::ALL.iter().map(|reason| reason.as_str()).collect();
        assert_eq!(names.len(), ErrorReason::ALL.len());
    }
}
