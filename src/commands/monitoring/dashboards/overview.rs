//! The service at a glance.

use super::{Dashboard, INSTANCE, Panel, PanelKind, PanelRow};

pub(super) const DASHBOARD: Dashboard = Dashboard {
    uid: "svc-overview",
    title: "svc / Overview",
    description: "Requests, failures, latency, accepted work and the state of every node",
    variables: &[INSTANCE],
    rows: &[
        PanelRow {
            title: "Now",
            panels: &[
                Panel {
                    title: "Nodes ready",
                    kind: PanelKind::Number,
                    unit: "short",
                    queries: &[[r#"sum(svc_ready{instance=~"$instance"})"#, "ready"]],
                },
                Panel {
                    title: "Requests",
                    kind: PanelKind::Number,
                    unit: "reqps",
                    queries: &[[
                        r#"sum(rate(svc_http_requests_total{instance=~"$instance"}[$__rate_interval]))"#,
                        "requests",
                    ]],
                },
                Panel {
                    title: "Server errors",
                    kind: PanelKind::Number,
                    unit: "percentunit",
                    queries: &[[
                        r#"(sum(rate(svc_http_requests_total{instance=~"$instance",status=~"5.."}[$__rate_interval])) or vector(0)) / sum(rate(svc_http_requests_total{instance=~"$instance"}[$__rate_interval]))"#,
                        "5xx",
                    ]],
                },
                Panel {
                    title: "Latency, 99th percentile",
                    kind: PanelKind::Number,
                    unit: "s",
                    queries: &[[
                        r#"histogram_quantile(0.99, sum by (le) (rate(svc_message_duration_seconds_bucket{instance=~"$instance"}[$__rate_interval])))"#,
                        "p99",
                    ]],
                },
                Panel {
                    title: "Waiting jobs",
                    kind: PanelKind::Number,
                    unit: "short",
                    queries: &[[r#"sum(svc_trace_queue_depth{instance=~"$instance"})"#, "waiting"]],
                },
                Panel {
                    title: "Exhausted dead letters",
                    kind: PanelKind::Number,
                    unit: "short",
                    queries: &[[
                        r#"max(svc_trace_dlq_depth{instance=~"$instance",state="exhausted"})"#,
                        "exhausted",
                    ]],
                },
            ],
        },
        PanelRow {
            title: "Traffic",
            panels: &[
                Panel {
                    title: "Requests by status",
                    kind: PanelKind::Graph,
                    unit: "reqps",
                    queries: &[[
                        r#"sum by (status) (rate(svc_http_requests_total{instance=~"$instance"}[$__rate_interval]))"#,
                        "{{status}}",
                    ]],
                },
                Panel {
                    title: "Messages by outcome",
                    kind: PanelKind::Graph,
                    unit: "ops",
                    queries: &[[
                        r#"sum by (status) (rate(svc_messages_total{instance=~"$instance"}[$__rate_interval]))"#,
                        "{{status}}",
                    ]],
                },
                Panel {
                    title: "Messages by channel, the ten busiest",
                    kind: PanelKind::Graph,
                    unit: "ops",
                    queries: &[[
                        r#"topk(10, sum by (channel) (rate(svc_messages_total{instance=~"$instance"}[$__rate_interval])))"#,
                        "{{channel}}",
                    ]],
                },
                Panel {
                    title: "Latency of messages",
                    kind: PanelKind::Graph,
                    unit: "s",
                    queries: &[
                        [
                            r#"histogram_quantile(0.5, sum by (le) (rate(svc_message_duration_seconds_bucket{instance=~"$instance"}[$__rate_interval])))"#,
                            "p50",
                        ],
                        [
                            r#"histogram_quantile(0.95, sum by (le) (rate(svc_message_duration_seconds_bucket{instance=~"$instance"}[$__rate_interval])))"#,
                            "p95",
                        ],
                        [
                            r#"histogram_quantile(0.99, sum by (le) (rate(svc_message_duration_seconds_bucket{instance=~"$instance"}[$__rate_interval])))"#,
                            "p99",
                        ],
                    ],
                },
                Panel {
                    title: "Failures by reason",
                    kind: PanelKind::Graph,
                    unit: "ops",
                    queries: &[[
                        r#"sum by (reason) (rate(svc_errors_total{instance=~"$instance"}[$__rate_interval]))"#,
                        "{{reason}}",
                    ]],
                },
                Panel {
                    title: "Connections",
                    kind: PanelKind::Graph,
                    unit: "short",
                    queries: &[[
                        r#"sum by (instance) (svc_http_connections{instance=~"$instance"})"#,
                        "{{instance}}",
                    ]],
                },
            ],
        },
        PanelRow {
            title: "Accepted work",
            panels: &[
                Panel {
                    title: "Queue and its bound",
                    kind: PanelKind::Graph,
                    unit: "short",
                    queries: &[
                        [
                            r#"sum by (instance) (svc_trace_queue_depth{instance=~"$instance"})"#,
                            "waiting {{instance}}",
                        ],
                        [
                            r#"sum by (instance) (svc_trace_queue_max_jobs{instance=~"$instance"})"#,
                            "bound {{instance}}",
                        ],
                    ],
                },
                Panel {
                    title: "Workers",
                    kind: PanelKind::Graph,
                    unit: "short",
                    queries: &[
                        [r#"sum(svc_trace_workers_active{instance=~"$instance"})"#, "active"],
                        [r#"sum(svc_trace_workers_total{instance=~"$instance"})"#, "all"],
                    ],
                },
                Panel {
                    title: "Work that waits in the database",
                    kind: PanelKind::Graph,
                    unit: "short",
                    queries: &[[
                        r#"max by (reason) (svc_trace_waiting{instance=~"$instance"})"#,
                        "{{reason}}",
                    ]],
                },
                Panel {
                    title: "Dead letters",
                    kind: PanelKind::Graph,
                    unit: "short",
                    queries: &[[
                        r#"max by (state) (svc_trace_dlq_depth{instance=~"$instance"})"#,
                        "{{state}}",
                    ]],
                },
            ],
        },
        PanelRow {
            title: "Process and database",
            panels: &[
                Panel {
                    title: "Processor time",
                    kind: PanelKind::Graph,
                    unit: "percentunit",
                    queries: &[[
                        r#"rate(process_cpu_seconds_total{instance=~"$instance",job="svc"}[$__rate_interval])"#,
                        "{{instance}}",
                    ]],
                },
                Panel {
                    title: "Resident memory",
                    kind: PanelKind::Graph,
                    unit: "bytes",
                    queries: &[[
                        r#"process_resident_memory_bytes{instance=~"$instance",job="svc"}"#,
                        "{{instance}}",
                    ]],
                },
                Panel {
                    title: "File descriptors",
                    kind: PanelKind::Graph,
                    unit: "short",
                    queries: &[
                        [r#"process_open_fds{instance=~"$instance",job="svc"}"#, "open {{instance}}"],
                        [r#"process_max_fds{instance=~"$instance",job="svc"}"#, "bound {{instance}}"],
                    ],
                },
                Panel {
                    title: "Bytes in flight",
                    kind: PanelKind::Graph,
                    unit: "bytes",
                    queries: &[
                        [r#"svc_in_flight_bytes{instance=~"$instance"}"#, "held {{instance}}"],
                        [r#"svc_in_flight_max_bytes{instance=~"$instance"}"#, "bound {{instance}}"],
                    ],
                },
                Panel {
                    title: "Reads and writes of the database, 99th percentile",
                    kind: PanelKind::Graph,
                    unit: "s",
                    queries: &[[
                        r#"histogram_quantile(0.99, sum by (operation, le) (rate(svc_db_query_duration_seconds_bucket{instance=~"$instance"}[$__rate_interval])))"#,
                        "{{operation}}",
                    ]],
                },
                Panel {
                    title: "Connections of the pool",
                    kind: PanelKind::Graph,
                    unit: "short",
                    queries: &[
                        [r#"svc_db_pool_size{instance=~"$instance"}"#, "all {{instance}}"],
                        [r#"svc_db_pool_idle{instance=~"$instance"}"#, "idle {{instance}}"],
                    ],
                },
            ],
        },
    ],
};
