//! Alerts about schedules and recurring jobs.

use super::{Alert, AlertSeverity};

pub(super) const ALERTS: &[Alert] = &[
    Alert {
        name: "SvcScheduleLate",
        severity: AlertSeverity::Warning,
        hold: "10m",
        expr: r#"1 - sum(rate(svc_cron_schedule_lag_seconds_bucket{le="30.0"}[15m])) / sum(rate(svc_cron_schedule_lag_seconds_count[15m])) > 0.1"#,
        summary: "{{ $value | humanizePercentage }} of the occurrences begin over 30 seconds late",
        description: "There are too few workers for what is due, or the database is slow.",
    },
    Alert {
        name: "SvcScheduleBacklog",
        severity: AlertSeverity::Warning,
        hold: "15m",
        expr: "max(svc_cron_pending_occurrences) > 0",
        summary: "{{ $value }} due occurrences wait for a worker",
        description: "For a quarter of an hour there was always one that was due and did not run.",
    },
    Alert {
        name: "SvcScheduleMisfires",
        severity: AlertSeverity::Warning,
        hold: "0m",
        expr: r#"sum(increase(svc_cron_occurrences_total{status="skipped_misfire"}[15m])) > 0"#,
        summary: "{{ $value | humanize }} instants of schedules passed without a run",
        description: "No node planned them in time, and the misfire policy leaves them out.",
    },
    Alert {
        name: "SvcScheduleRunsFail",
        severity: AlertSeverity::Warning,
        hold: "0m",
        expr: r#"sum(increase(svc_cron_occurrences_total{status="failed"}[15m])) > 0"#,
        summary: "{{ $value | humanize }} occurrences failed for good",
        description: "Their attempts are used up.",
    },
    Alert {
        name: "SvcScheduleLeasesFail",
        severity: AlertSeverity::Warning,
        hold: "5m",
        expr: "rate(svc_cron_lease_renewal_failures_total[5m]) > 0",
        summary: "{{ $labels.instance }} cannot renew the leases of its occurrences",
        description: "Another node takes an occurrence over whose lease ends, and begins it again.",
    },
    Alert {
        name: "SvcJobsFail",
        severity: AlertSeverity::Warning,
        hold: "0m",
        expr: "sum by (exported_job) (increase(svc_job_failures_total[3h])) > 2",
        summary: "The recurring job {{ $labels.exported_job }} fails again and again",
        description: "Expired rows and files are not removed: the database grows.",
    },
];
