//! One channel.

use super::{Dashboard, DashboardVariable, INSTANCE, Panel, PanelKind, PanelRow};

pub(super) const DASHBOARD: Dashboard = Dashboard {
    uid: "svc-channel",
    title: "svc / Channel",
    description: "Messages, failures, latency, guards and workflows of the chosen channels",
    variables: &[INSTANCE, DashboardVariable { name: "channel", metric: "svc_messages_total" }],
    rows: &[
        PanelRow {
            title: "Messages",
            panels: &[
                Panel {
                    title: "Messages by outcome",
                    kind: PanelKind::Graph,
                    unit: "ops",
                    queries: &[[
                        r#"sum by (status) (rate(svc_messages_total{instance=~"$instance",channel=~"$channel"}[$__rate_interval]))"#,
                        "{{status}}",
                    ]],
                },
                Panel {
                    title: "Share of failures",
                    kind: PanelKind::Graph,
                    unit: "percentunit",
                    queries: &[[
                        r#"(sum by (channel) (rate(svc_messages_total{instance=~"$instance",channel=~"$channel",status=~"error|timeout"}[$__rate_interval])) or 0 * sum by (channel) (rate(svc_messages_total{instance=~"$instance",channel=~"$channel"}[$__rate_interval]))) / sum by (channel) (rate(svc_messages_total{instance=~"$instance",channel=~"$channel"}[$__rate_interval]))"#,
                        "{{channel}}",
                    ]],
                },
                Panel {
                    title: "Latency",
                    kind: PanelKind::Graph,
                    unit: "s",
                    queries: &[
                        [
                            r#"histogram_quantile(0.5, sum by (le) (rate(svc_message_duration_seconds_bucket{instance=~"$instance",channel=~"$channel"}[$__rate_interval])))"#,
                            "p50",
                        ],
                        [
                            r#"histogram_quantile(0.95, sum by (le) (rate(svc_message_duration_seconds_bucket{instance=~"$instance",channel=~"$channel"}[$__rate_interval])))"#,
                            "p95",
                        ],
                        [
                            r#"histogram_quantile(0.99, sum by (le) (rate(svc_message_duration_seconds_bucket{instance=~"$instance",channel=~"$channel"}[$__rate_interval])))"#,
                            "p99",
                        ],
                    ],
                },
                Panel {
                    title: "Messages by node",
                    kind: PanelKind::Graph,
                    unit: "ops",
                    queries: &[[
                        r#"sum by (instance) (rate(svc_messages_total{instance=~"$instance",channel=~"$channel"}[$__rate_interval]))"#,
                        "{{instance}}",
                    ]],
                },
            ],
        },
        PanelRow {
            title: "Guards",
            panels: &[
                Panel {
                    title: "Requests over a rate limit",
                    kind: PanelKind::Graph,
                    unit: "reqps",
                    queries: &[[
                        r#"sum by (scope) (rate(svc_rate_limit_rejections_total{instance=~"$instance",scope=~"$channel|data|admin|operational"}[$__rate_interval]))"#,
                        "{{scope}}",
                    ]],
                },
                Panel {
                    title: "Refused credentials",
                    kind: PanelKind::Graph,
                    unit: "reqps",
                    queries: &[[
                        r#"sum by (mode, reason) (rate(svc_channel_auth_rejections_total{instance=~"$instance"}[$__rate_interval]))"#,
                        "{{mode}}: {{reason}}",
                    ]],
                },
                Panel {
                    title: "Answers from the cache",
                    kind: PanelKind::Graph,
                    unit: "reqps",
                    queries: &[
                        [
                            r#"sum by (channel) (rate(svc_response_cache_hits_total{instance=~"$instance",channel=~"$channel"}[$__rate_interval]))"#,
                            "from the cache {{channel}}",
                        ],
                        [
                            r#"sum by (channel) (rate(svc_response_cache_misses_total{instance=~"$instance",channel=~"$channel"}[$__rate_interval]))"#,
                            "not in it {{channel}}",
                        ],
                    ],
                },
                Panel {
                    title: "Paused and quarantined",
                    kind: PanelKind::Table,
                    unit: "short",
                    queries: &[[
                        r#"max by (channel) (svc_channel_paused{instance=~"$instance",channel=~"$channel"}) or max by (channel) (svc_channel_quarantined{instance=~"$instance",channel=~"$channel"})"#,
                        "{{channel}}",
                    ]],
                },
            ],
        },
        PanelRow {
            title: "Workflows",
            panels: &[
                Panel {
                    title: "Runs by version",
                    kind: PanelKind::Graph,
                    unit: "ops",
                    queries: &[[
                        r#"sum by (workflow, version) (rate(svc_workflow_runs_total{instance=~"$instance"}[$__rate_interval]))"#,
                        "{{workflow}} {{version}}",
                    ]],
                },
                Panel {
                    title: "Failed runs by version",
                    kind: PanelKind::Graph,
                    unit: "ops",
                    queries: &[[
                        r#"sum by (workflow, version) (rate(svc_workflow_runs_total{instance=~"$instance",status="failed"}[$__rate_interval]))"#,
                        "{{workflow}} {{version}}",
                    ]],
                },
                Panel {
                    title: "Time of workflows, 95th percentile",
                    kind: PanelKind::Graph,
                    unit: "s",
                    queries: &[[
                        r#"histogram_quantile(0.95, sum by (workflow, le) (rate(svc_workflow_duration_seconds_bucket{instance=~"$instance"}[$__rate_interval])))"#,
                        "{{workflow}}",
                    ]],
                },
                Panel {
                    title: "Time of tasks, the ten slowest",
                    kind: PanelKind::Graph,
                    unit: "s",
                    queries: &[[
                        r#"topk(10, histogram_quantile(0.95, sum by (workflow, task, le) (rate(svc_task_duration_seconds_bucket{instance=~"$instance"}[$__rate_interval]))))"#,
                        "{{workflow}} {{task}}",
                    ]],
                },
            ],
        },
    ],
};
