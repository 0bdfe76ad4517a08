//! The supervision tree.

use super::{Dashboard, INSTANCE, Panel, PanelKind, PanelRow};

pub(super) const DASHBOARD: Dashboard = Dashboard {
    uid: "svc-supervision",
    title: "svc / Supervision",
    description: "Restarts, quarantine and mailboxes of the actors, the log and the export of spans",
    variables: &[INSTANCE],
    rows: &[
        PanelRow {
            title: "Actors",
            panels: &[
                Panel {
                    title: "Quarantined actors",
                    kind: PanelKind::Number,
                    unit: "short",
                    queries: &[[r#"sum(svc_actors_quarantined{instance=~"$instance"})"#, "actors"]],
                },
                Panel {
                    title: "Quarantined channels",
                    kind: PanelKind::Number,
                    unit: "short",
                    queries: &[[
                        r#"count(count by (channel) (svc_channel_quarantined{instance=~"$instance"})) or vector(0)"#,
                        "channels",
                    ]],
                },
                Panel {
                    title: "Restarts in the last hour",
                    kind: PanelKind::Number,
                    unit: "short",
                    queries: &[[
                        r#"sum(increase(svc_actor_restarts_total{instance=~"$instance"}[1h]))"#,
                        "restarts",
                    ]],
                },
                Panel {
                    title: "Restarts",
                    kind: PanelKind::Graph,
                    unit: "short",
                    queries: &[[
                        r#"sum by (path) (increase(svc_actor_restarts_total{instance=~"$instance"}[$__rate_interval]))"#,
                        "{{path}}",
                    ]],
                },
                Panel {
                    title: "Mailboxes, the ten fullest",
                    kind: PanelKind::Graph,
                    unit: "short",
                    queries: &[[
                        r#"topk(10, max by (path) (svc_mailbox_depth{instance=~"$instance"}))"#,
                        "{{path}}",
                    ]],
                },
            ],
        },
        PanelRow {
            title: "Overload",
            panels: &[
                Panel {
                    title: "Refusals held back",
                    kind: PanelKind::Graph,
                    unit: "short",
                    queries: &[[r#"svc_refusals_held{instance=~"$instance"}"#, "{{instance}}"]],
                },
                Panel {
                    title: "Requests refused for the bytes in flight",
                    kind: PanelKind::Graph,
                    unit: "reqps",
                    queries: &[[
                        r#"rate(svc_in_flight_rejected_total{instance=~"$instance"}[$__rate_interval])"#,
                        "{{instance}}",
                    ]],
                },
                Panel {
                    title: "Connections that the service ended",
                    kind: PanelKind::Graph,
                    unit: "ops",
                    queries: &[[
                        r#"sum by (reason) (rate(svc_http_connections_refused_total{instance=~"$instance"}[$__rate_interval]))"#,
                        "{{reason}}",
                    ]],
                },
                Panel {
                    title: "Submissions refused",
                    kind: PanelKind::Graph,
                    unit: "ops",
                    queries: &[[
                        r#"sum by (reason) (rate(svc_trace_queue_rejected_total{instance=~"$instance"}[$__rate_interval]))"#,
                        "{{reason}}",
                    ]],
                },
            ],
        },
        PanelRow {
            title: "Log, traces and spans",
            panels: &[
                Panel {
                    title: "Messages of the log that were dropped",
                    kind: PanelKind::Graph,
                    unit: "ops",
                    queries: &[[
                        r#"rate(svc_log_messages_dropped_total{instance=~"$instance"}[$__rate_interval])"#,
                        "{{instance}}",
                    ]],
                },
                Panel {
                    title: "Traces that wait to be stored",
                    kind: PanelKind::Graph,
                    unit: "short",
                    queries: &[[
                        r#"svc_trace_persistence_queue_depth{instance=~"$instance"}"#,
                        "{{instance}}",
                    ]],
                },
                Panel {
                    title: "Traces lost to the database",
                    kind: PanelKind::Graph,
                    unit: "ops",
                    queries: &[[
                        r#"rate(svc_trace_persistence_failures_total{instance=~"$instance"}[$__rate_interval])"#,
                        "{{instance}}",
                    ]],
                },
                Panel {
                    title: "Spans",
                    kind: PanelKind::Graph,
                    unit: "ops",
                    queries: &[
                        [
                            r#"sum(rate(svc_spans_exported_total{instance=~"$instance"}[$__rate_interval]))"#,
                            "exported",
                        ],
                        [
                            r#"sum by (reason) (rate(svc_spans_dropped_total{instance=~"$instance"}[$__rate_interval]))"#,
                            "dropped: {{reason}}",
                        ],
                    ],
                },
            ],
        },
    ],
};
