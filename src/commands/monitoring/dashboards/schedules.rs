//! Schedules and recurring jobs.

use super::{Dashboard, INSTANCE, Panel, PanelKind, PanelRow};

pub(super) const DASHBOARD: Dashboard = Dashboard {
    uid: "svc-schedules",
    title: "svc / Schedules",
    description: "Occurrences, their delay and duration, and the recurring jobs of the service",
    variables: &[INSTANCE],
    rows: &[
        PanelRow {
            title: "Occurrences",
            panels: &[
                Panel {
                    title: "Waiting for a worker",
                    kind: PanelKind::Number,
                    unit: "short",
                    queries: &[[r#"max(svc_cron_pending_occurrences{instance=~"$instance"})"#, "due"]],
                },
                Panel {
                    title: "Missed in the last day",
                    kind: PanelKind::Number,
                    unit: "short",
                    queries: &[[
                        r#"sum(increase(svc_cron_occurrences_total{instance=~"$instance",status="skipped_misfire"}[1d]))"#,
                        "missed",
                    ]],
                },
                Panel {
                    title: "Failed in the last day",
                    kind: PanelKind::Number,
                    unit: "short",
                    queries: &[[
                        r#"sum(increase(svc_cron_occurrences_total{instance=~"$instance",status="failed"}[1d]))"#,
                        "failed",
                    ]],
                },
                Panel {
                    title: "Occurrences by status",
                    kind: PanelKind::Graph,
                    unit: "ops",
                    queries: &[[
                        r#"sum by (status) (rate(svc_cron_occurrences_total{instance=~"$instance"}[$__rate_interval]))"#,
                        "{{status}}",
                    ]],
                },
                Panel {
                    title: "Delay of the begin",
                    kind: PanelKind::Graph,
                    unit: "s",
                    queries: &[
                        [
                            r#"histogram_quantile(0.5, sum by (le) (rate(svc_cron_schedule_lag_seconds_bucket{instance=~"$instance"}[$__rate_interval])))"#,
                            "p50",
                        ],
                        [
                            r#"histogram_quantile(0.99, sum by (le) (rate(svc_cron_schedule_lag_seconds_bucket{instance=~"$instance"}[$__rate_interval])))"#,
                            "p99",
                        ],
                    ],
                },
                Panel {
                    title: "Duration, 95th percentile",
                    kind: PanelKind::Graph,
                    unit: "s",
                    queries: &[[
                        r#"histogram_quantile(0.95, sum by (channel, le) (rate(svc_cron_execution_duration_seconds_bucket{instance=~"$instance"}[$__rate_interval])))"#,
                        "{{channel}}",
                    ]],
                },
                Panel {
                    title: "Look at the whole ledger",
                    kind: PanelKind::Graph,
                    unit: "s",
                    queries: &[[
                        r#"histogram_quantile(0.95, sum by (le) (rate(svc_cron_reconcile_duration_seconds_bucket{instance=~"$instance"}[$__rate_interval])))"#,
                        "p95",
                    ]],
                },
                Panel {
                    title: "Skipped for their concurrency key",
                    kind: PanelKind::Graph,
                    unit: "ops",
                    queries: &[[
                        r#"sum(rate(svc_cron_singleton_contention_total{instance=~"$instance"}[$__rate_interval]))"#,
                        "skipped",
                    ]],
                },
                Panel {
                    title: "Renewals of leases that failed",
                    kind: PanelKind::Graph,
                    unit: "ops",
                    queries: &[[
                        r#"sum by (instance) (rate(svc_cron_lease_renewal_failures_total{instance=~"$instance"}[$__rate_interval]))"#,
                        "{{instance}}",
                    ]],
                },
            ],
        },
        PanelRow {
            title: "Recurring jobs of the service",
            panels: &[
                Panel {
                    title: "Time since the last success",
                    kind: PanelKind::Table,
                    unit: "s",
                    queries: &[[
                        r#"time() - max by (exported_job) (svc_job_last_success_timestamp_seconds{instance=~"$instance"})"#,
                        "{{exported_job}}",
                    ]],
                },
                Panel {
                    title: "Failures",
                    kind: PanelKind::Graph,
                    unit: "short",
                    queries: &[[
                        r#"sum by (exported_job) (increase(svc_job_failures_total{instance=~"$instance"}[$__rate_interval]))"#,
                        "{{exported_job}}",
                    ]],
                },
            ],
        },
    ],
};
