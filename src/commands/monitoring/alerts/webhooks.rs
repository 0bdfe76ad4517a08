//! Alerts about webhooks.

use super::{Alert, AlertSeverity};

pub(super) const ALERTS: &[Alert] = &[
    Alert {
        name: "SvcWebhooksFail",
        severity: AlertSeverity::Warning,
        hold: "15m",
        expr: r#"sum(rate(svc_webhook_attempts_total{outcome="failed"}[15m])) / sum(rate(svc_webhook_attempts_total{outcome!="deferred"}[15m])) > 0.5"#,
        summary: "{{ $value | humanizePercentage }} of the attempts at webhooks fail",
        description: "Most endpoints of customers at once: the way out is the cause rather than they are.",
    },
    Alert {
        name: "SvcWebhookDeadLetters",
        severity: AlertSeverity::Warning,
        hold: "0m",
        expr: "sum(increase(svc_webhook_exhausted_total[1h])) > 0",
        summary: "Webhooks became dead letters",
        description: "Their endpoints will not get them unless they are replayed.",
    },
];
