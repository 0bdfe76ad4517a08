//! Kafka ingress.

use super::{Dashboard, DashboardVariable, INSTANCE, Panel, PanelKind, PanelRow};

pub(super) const DASHBOARD: Dashboard = Dashboard {
    uid: "svc-kafka",
    title: "svc / Kafka",
    description: "Lag, records, retries and the assignment of the chosen topics",
    variables: &[INSTANCE, DashboardVariable { name: "topic", metric: "svc_kafka_consumer_lag_messages" }],
    rows: &[
        PanelRow {
            title: "State",
            panels: &[
                Panel {
                    title: "In trouble",
                    kind: PanelKind::Number,
                    unit: "short",
                    queries: &[[r#"max(svc_kafka_ingest_degraded{instance=~"$instance"})"#, "nodes"]],
                },
                Panel {
                    title: "Records that wait",
                    kind: PanelKind::Number,
                    unit: "short",
                    queries: &[[
                        r#"sum(svc_kafka_consumer_lag_messages{instance=~"$instance",topic=~"$topic"})"#,
                        "lag",
                    ]],
                },
                Panel {
                    title: "Assigned partitions",
                    kind: PanelKind::Number,
                    unit: "short",
                    queries: &[[
                        r#"sum(svc_kafka_assigned_partitions{instance=~"$instance"})"#,
                        "partitions",
                    ]],
                },
            ],
        },
        PanelRow {
            title: "Records",
            panels: &[
                Panel {
                    title: "Records by outcome",
                    kind: PanelKind::Graph,
                    unit: "ops",
                    queries: &[[
                        r#"sum by (topic, outcome) (rate(svc_kafka_records_total{instance=~"$instance",topic=~"$topic"}[$__rate_interval]))"#,
                        "{{topic}}: {{outcome}}",
                    ]],
                },
                Panel {
                    title: "Further attempts",
                    kind: PanelKind::Graph,
                    unit: "ops",
                    queries: &[[
                        r#"sum by (topic, reason) (rate(svc_kafka_record_retries_total{instance=~"$instance",topic=~"$topic"}[$__rate_interval]))"#,
                        "{{topic}}: {{reason}}",
                    ]],
                },
                Panel {
                    title: "Lag by topic",
                    kind: PanelKind::Graph,
                    unit: "short",
                    queries: &[[
                        r#"sum by (topic) (svc_kafka_consumer_lag_messages{instance=~"$instance",topic=~"$topic"})"#,
                        "{{topic}}",
                    ]],
                },
                Panel {
                    title: "Lag of the ten worst partitions",
                    kind: PanelKind::Graph,
                    unit: "short",
                    queries: &[[
                        r#"topk(10, max by (topic, partition) (svc_kafka_consumer_lag_messages{instance=~"$instance",topic=~"$topic"}))"#,
                        "{{topic}} {{partition}}",
                    ]],
                },
            ],
        },
        PanelRow {
            title: "Consumers",
            panels: &[
                Panel {
                    title: "Partitions by node",
                    kind: PanelKind::Graph,
                    unit: "short",
                    queries: &[[r#"svc_kafka_assigned_partitions{instance=~"$instance"}"#, "{{instance}}"]],
                },
                Panel {
                    title: "Changes of the assignment",
                    kind: PanelKind::Graph,
                    unit: "short",
                    queries: &[[
                        r#"sum by (instance) (increase(svc_kafka_rebalances_total{instance=~"$instance"}[$__rate_interval]))"#,
                        "{{instance}}",
                    ]],
                },
                Panel {
                    title: "Commits that failed",
                    kind: PanelKind::Graph,
                    unit: "ops",
                    queries: &[[
                        r#"sum by (instance) (rate(svc_kafka_commit_failures_total{instance=~"$instance"}[$__rate_interval]))"#,
                        "{{instance}}",
                    ]],
                },
            ],
        },
    ],
};
