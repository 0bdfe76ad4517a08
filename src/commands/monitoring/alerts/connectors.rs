//! Alerts about outbound systems.

use super::{Alert, AlertSeverity};

pub(super) const ALERTS: &[Alert] = &[
    Alert {
        name: "SvcBreakerOpen",
        severity: AlertSeverity::Warning,
        hold: "5m",
        expr: "max by (connector, channel) (svc_circuit_breaker_open) > 0",
        summary: "The breaker of {{ $labels.connector }} is open for {{ $labels.channel }}",
        description: "Calls are refused without being tried, because the system behind the connector fails.",
    },
    Alert {
        name: "SvcConnectorFails",
        severity: AlertSeverity::Warning,
        hold: "10m",
        expr: r#"sum by (connector) (rate(svc_connector_requests_total{status="error"}[5m])) / sum by (connector) (rate(svc_connector_requests_total[5m])) > 0.2"#,
        summary: "{{ $value | humanizePercentage }} of the calls of {{ $labels.connector }} fail",
        description: "The system behind the connector is away or refuses the calls.",
    },
    Alert {
        name: "SvcConnectorSlow",
        severity: AlertSeverity::Warning,
        hold: "10m",
        expr: "histogram_quantile(0.95, sum by (connector, le) (rate(svc_connector_request_duration_seconds_bucket[5m]))) > 5",
        summary: "One of twenty calls of {{ $labels.connector }} takes over {{ $value | humanizeDuration }}",
        description: "Channels that call it are slow too, and hold their permits for as long.",
    },
    Alert {
        name: "SvcTokensRefused",
        severity: AlertSeverity::Critical,
        hold: "10m",
        expr: r#"sum by (connector) (rate(svc_oauth_token_requests_total{outcome!="ok"}[10m])) > 0"#,
        summary: "The token endpoint gives {{ $labels.connector }} no token",
        description: "Calls fail once the token in use ends.",
    },
];
