//! Alerts about Kafka ingress.

use super::{Alert, AlertSeverity};

pub(super) const ALERTS: &[Alert] = &[
    Alert {
        name: "SvcKafkaDegraded",
        severity: AlertSeverity::Critical,
        hold: "5m",
        expr: "svc_kafka_ingest_degraded > 0",
        summary: "Kafka ingress of {{ $labels.instance }} is in trouble",
        description: "Brokers, a consumer or a partition do not work. GET /health names them.",
    },
    Alert {
        name: "SvcKafkaLag",
        severity: AlertSeverity::Warning,
        hold: "10m",
        expr: "sum by (topic) (svc_kafka_consumer_lag_messages) > 10000",
        summary: "{{ $value | humanize }} records of {{ $labels.topic }} wait",
        description: "Records come faster than they are handled.",
    },
    Alert {
        name: "SvcKafkaBlocked",
        severity: AlertSeverity::Critical,
        hold: "10m",
        expr: "sum by (topic) (svc_kafka_consumer_lag_messages) > 0 unless on (topic) sum by (topic) (rate(svc_kafka_records_total[10m])) > 0",
        summary: "{{ $labels.topic }} has {{ $value | humanize }} records and none is settled",
        description: "A record that cannot be settled holds its partition up.",
    },
    Alert {
        name: "SvcKafkaDeadLetters",
        severity: AlertSeverity::Warning,
        hold: "0m",
        expr: r#"sum by (topic) (increase(svc_kafka_records_total{outcome="dead_letter"}[15m])) > 0"#,
        summary: "Records of {{ $labels.topic }} became dead letters",
        description: "Their runs failed for good. They are in kafka.dlq.topic, with the error in their headers.",
    },
    Alert {
        name: "SvcKafkaCommitsFail",
        severity: AlertSeverity::Warning,
        hold: "10m",
        expr: "rate(svc_kafka_commit_failures_total[5m]) > 0",
        summary: "{{ $labels.instance }} cannot commit offsets",
        description: "Records since the last commit are handled again after a restart.",
    },
];
