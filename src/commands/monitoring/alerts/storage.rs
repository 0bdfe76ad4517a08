//! Alerts about the database.

use super::{Alert, AlertSeverity};

pub(super) const ALERTS: &[Alert] = &[
    Alert {
        name: "SvcDatabaseDown",
        severity: AlertSeverity::Critical,
        hold: "1m",
        expr: "svc_database_up == 0",
        summary: "The database does not answer {{ $labels.instance }}",
        description: "Nothing is accepted or changed until it answers. Synchronous runs without a trace go on.",
    },
    Alert {
        name: "SvcDatabaseErrors",
        severity: AlertSeverity::Warning,
        hold: "0m",
        expr: r#"sum by (instance) (increase(svc_errors_total{reason="storage"}[10m])) > 0"#,
        summary: "Reads or writes of the database fail on {{ $labels.instance }}",
        description: "Each of them is a request or a run that failed, or is tried again.",
    },
    Alert {
        name: "SvcDatabaseSlow",
        severity: AlertSeverity::Warning,
        hold: "10m",
        expr: "histogram_quantile(0.99, sum by (instance, le) (rate(svc_db_query_duration_seconds_bucket[5m]))) > 1",
        summary: "One of a hundred reads and writes of {{ $labels.instance }} takes over {{ $value | humanizeDuration }}",
        description: "Accepted work, schedules and traces wait for the database.",
    },
    Alert {
        name: "SvcNodeLeaseRenewalsFail",
        severity: AlertSeverity::Warning,
        hold: "2m",
        expr: "rate(svc_node_lease_renewal_failures_total[5m]) > 0",
        summary: "{{ $labels.instance }} cannot renew its lease",
        description: "When the lease ends the node stops its accepted work, and others take it over.",
    },
    Alert {
        name: "SvcBackupIsOld",
        severity: AlertSeverity::Warning,
        hold: "1h",
        expr: "time() - svc_backup_last_timestamp_seconds > 86400 + svc_backup_interval_seconds",
        summary: "The newest backup of {{ $labels.instance }} is {{ $value | humanizeDuration }} old",
        description: "What was written since then is lost if the disk is.",
    },
    Alert {
        name: "SvcBackupIsUnverified",
        severity: AlertSeverity::Warning,
        hold: "1h",
        expr: "time() - svc_backup_last_verified_timestamp_seconds > 2 * svc_backup_verify_interval_seconds",
        summary: "No backup of {{ $labels.instance }} was restored and checked for {{ $value | humanizeDuration }}",
        description: "It is not certain that the backups can be used.",
    },
];
