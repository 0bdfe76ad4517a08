//! The nodes of a cluster.

use super::{Dashboard, INSTANCE, Panel, PanelKind, PanelRow};

pub(super) const DASHBOARD: Dashboard = Dashboard {
    uid: "svc-cluster",
    title: "svc / Cluster",
    description: "Versions, configuration, leases and the work that nodes take over from one another",
    variables: &[INSTANCE],
    rows: &[
        PanelRow {
            title: "Nodes",
            panels: &[
                Panel {
                    title: "Builds",
                    kind: PanelKind::Table,
                    unit: "short",
                    queries: &[[
                        r#"count by (version, git_hash) (svc_build_info{instance=~"$instance"})"#,
                        "{{version}} {{git_hash}}",
                    ]],
                },
                Panel {
                    title: "Ready",
                    kind: PanelKind::Table,
                    unit: "short",
                    queries: &[[r#"svc_ready{instance=~"$instance"}"#, "{{instance}}"]],
                },
                Panel {
                    title: "Age of the process",
                    kind: PanelKind::Table,
                    unit: "s",
                    queries: &[[
                        r#"time() - process_start_time_seconds{instance=~"$instance",job="svc"}"#,
                        "{{instance}}",
                    ]],
                },
                Panel {
                    title: "End of the certificate",
                    kind: PanelKind::Table,
                    unit: "s",
                    queries: &[[
                        r#"svc_tls_certificate_expiry_timestamp_seconds{instance=~"$instance"} - time()"#,
                        "{{instance}}",
                    ]],
                },
            ],
        },
        PanelRow {
            title: "Configuration",
            panels: &[
                Panel {
                    title: "Epoch that is served",
                    kind: PanelKind::Graph,
                    unit: "short",
                    queries: &[[r#"svc_config_epoch_applied{instance=~"$instance"}"#, "{{instance}}"]],
                },
                Panel {
                    title: "Epochs behind the database",
                    kind: PanelKind::Graph,
                    unit: "short",
                    queries: &[[
                        r#"svc_config_epoch_current{instance=~"$instance"} - svc_config_epoch_applied{instance=~"$instance"}"#,
                        "{{instance}}",
                    ]],
                },
                Panel {
                    title: "Reloads",
                    kind: PanelKind::Graph,
                    unit: "short",
                    queries: &[[
                        r#"sum by (instance, status) (increase(svc_engine_reloads_total{instance=~"$instance"}[$__rate_interval]))"#,
                        "{{instance}}: {{status}}",
                    ]],
                },
                Panel {
                    title: "Active workflows",
                    kind: PanelKind::Graph,
                    unit: "short",
                    queries: &[[r#"svc_active_workflows{instance=~"$instance"}"#, "{{instance}}"]],
                },
            ],
        },
        PanelRow {
            title: "Leases and accepted work",
            panels: &[
                Panel {
                    title: "Renewals of the lease of a node that failed",
                    kind: PanelKind::Graph,
                    unit: "ops",
                    queries: &[[
                        r#"rate(svc_node_lease_renewal_failures_total{instance=~"$instance"}[$__rate_interval])"#,
                        "{{instance}}",
                    ]],
                },
                Panel {
                    title: "Leases lost",
                    kind: PanelKind::Graph,
                    unit: "short",
                    queries: &[[
                        r#"increase(svc_node_leases_lost_total{instance=~"$instance"}[$__rate_interval])"#,
                        "{{instance}}",
                    ]],
                },
                Panel {
                    title: "Jobs taken over",
                    kind: PanelKind::Graph,
                    unit: "ops",
                    queries: &[[
                        r#"rate(svc_trace_adopted_total{instance=~"$instance"}[$__rate_interval])"#,
                        "{{instance}}",
                    ]],
                },
                Panel {
                    title: "Jobs begun again",
                    kind: PanelKind::Graph,
                    unit: "ops",
                    queries: &[[
                        r#"rate(svc_trace_recoveries_total{instance=~"$instance"}[$__rate_interval])"#,
                        "{{instance}}",
                    ]],
                },
                Panel {
                    title: "Database",
                    kind: PanelKind::Graph,
                    unit: "short",
                    queries: &[[r#"svc_database_up{instance=~"$instance"}"#, "{{instance}}"]],
                },
                Panel {
                    title: "Requests by node",
                    kind: PanelKind::Graph,
                    unit: "reqps",
                    queries: &[[
                        r#"sum by (instance) (rate(svc_http_requests_total{instance=~"$instance"}[$__rate_interval]))"#,
                        "{{instance}}",
                    ]],
                },
            ],
        },
    ],
};
