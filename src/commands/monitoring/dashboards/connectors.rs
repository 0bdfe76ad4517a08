//! Calls of outbound systems.

use super::{Dashboard, DashboardVariable, INSTANCE, Panel, PanelKind, PanelRow};

pub(super) const DASHBOARD: Dashboard = Dashboard {
    uid: "svc-connectors",
    title: "svc / Connectors",
    description: "Calls, failures, latency, circuit breakers and tokens of the chosen connectors",
    variables: &[INSTANCE, DashboardVariable { name: "connector", metric: "svc_connector_requests_total" }],
    rows: &[
        PanelRow {
            title: "Calls",
            panels: &[
                Panel {
                    title: "Calls",
                    kind: PanelKind::Graph,
                    unit: "ops",
                    queries: &[[
                        r#"sum by (connector) (rate(svc_connector_requests_total{instance=~"$instance",connector=~"$connector"}[$__rate_interval]))"#,
                        "{{connector}}",
                    ]],
                },
                Panel {
                    title: "Failed calls",
                    kind: PanelKind::Graph,
                    unit: "ops",
                    queries: &[[
                        r#"sum by (connector, channel) (rate(svc_connector_requests_total{instance=~"$instance",connector=~"$connector",status="error"}[$__rate_interval]))"#,
                        "{{connector}} from {{channel}}",
                    ]],
                },
                Panel {
                    title: "Time of calls, 50th percentile",
                    kind: PanelKind::Graph,
                    unit: "s",
                    queries: &[[
                        r#"histogram_quantile(0.5, sum by (connector, le) (rate(svc_connector_request_duration_seconds_bucket{instance=~"$instance",connector=~"$connector"}[$__rate_interval])))"#,
                        "{{connector}}",
                    ]],
                },
                Panel {
                    title: "Time of calls, 99th percentile",
                    kind: PanelKind::Graph,
                    unit: "s",
                    queries: &[[
                        r#"histogram_quantile(0.99, sum by (connector, le) (rate(svc_connector_request_duration_seconds_bucket{instance=~"$instance",connector=~"$connector"}[$__rate_interval])))"#,
                        "{{connector}}",
                    ]],
                },
            ],
        },
        PanelRow {
            title: "Circuit breakers",
            panels: &[
                Panel {
                    title: "Open breakers",
                    kind: PanelKind::Table,
                    unit: "short",
                    queries: &[[
                        r#"max by (connector, channel) (svc_circuit_breaker_open{instance=~"$instance",connector=~"$connector"})"#,
                        "{{connector}} from {{channel}}",
                    ]],
                },
                Panel {
                    title: "Trips",
                    kind: PanelKind::Graph,
                    unit: "short",
                    queries: &[[
                        r#"sum by (connector, channel) (increase(svc_circuit_breaker_trips_total{instance=~"$instance",connector=~"$connector"}[$__rate_interval]))"#,
                        "{{connector}} from {{channel}}",
                    ]],
                },
                Panel {
                    title: "Calls held back",
                    kind: PanelKind::Graph,
                    unit: "ops",
                    queries: &[[
                        r#"sum by (connector, channel) (rate(svc_circuit_breaker_rejections_total{instance=~"$instance",connector=~"$connector"}[$__rate_interval]))"#,
                        "{{connector}} from {{channel}}",
                    ]],
                },
            ],
        },
        PanelRow {
            title: "Tokens",
            panels: &[Panel {
                title: "Requests to token endpoints",
                kind: PanelKind::Graph,
                unit: "ops",
                queries: &[[
                    r#"sum by (connector, outcome) (rate(svc_oauth_token_requests_total{instance=~"$instance",connector=~"$connector"}[$__rate_interval]))"#,
                    "{{connector}}: {{outcome}}",
                ]],
            }],
        },
    ],
};
