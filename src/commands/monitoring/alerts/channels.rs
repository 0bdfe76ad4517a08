//! Alerts about requests, channels and workflows.

use super::{Alert, AlertSeverity};

pub(super) const ALERTS: &[Alert] = &[
    Alert {
        name: "SvcServerErrors",
        severity: AlertSeverity::Critical,
        hold: "5m",
        expr: r#"sum(rate(svc_http_requests_total{status=~"5.."}[5m])) / sum(rate(svc_http_requests_total[5m])) > 0.05"#,
        summary: "{{ $value | humanizePercentage }} of the requests are answered with a server error",
        description: "Clients of all channels are concerned. The dashboard Channel shows which ones most.",
    },
    Alert {
        name: "SvcRunsFail",
        severity: AlertSeverity::Warning,
        hold: "10m",
        expr: r#"sum by (channel) (rate(svc_messages_total{status=~"error|timeout"}[5m])) / sum by (channel) (rate(svc_messages_total[5m])) > 0.05"#,
        summary: "{{ $value | humanizePercentage }} of the messages of {{ $labels.channel }} fail",
        description: "Their senders got an error, or the work is a dead letter.",
    },
    Alert {
        name: "SvcLatencyHigh",
        severity: AlertSeverity::Warning,
        hold: "10m",
        expr: "histogram_quantile(0.99, sum by (channel, le) (rate(svc_message_duration_seconds_bucket[5m]))) > 5",
        summary: "One of a hundred messages of {{ $labels.channel }} takes over {{ $value | humanizeDuration }}",
        description: "A connector or the database is slow, or the threads have too much to compute.",
    },
    Alert {
        name: "SvcChannelQuarantined",
        severity: AlertSeverity::Critical,
        hold: "1m",
        expr: "max by (channel) (svc_channel_quarantined) > 0",
        summary: "The channel {{ $labels.channel }} is quarantined",
        description: "It serves nothing: every request gets a 503. GET /health has the reason.",
    },
    Alert {
        name: "SvcServiceErrors",
        severity: AlertSeverity::Warning,
        hold: "0m",
        expr: r#"sum by (reason) (increase(svc_errors_total{reason!~"timeout|backpressure|engine|storage"}[10m])) > 0"#,
        summary: "Failures of the service itself: {{ $labels.reason }}",
        description: "Something that the service promises did not work. The log has the detail.",
    },
    Alert {
        name: "SvcTracesLost",
        severity: AlertSeverity::Warning,
        hold: "0m",
        expr: "increase(svc_trace_persistence_failures_total[10m]) > 0",
        summary: "{{ $labels.instance }} loses traces to the database",
        description: "Runs are answered, and leave no trace.",
    },
    Alert {
        name: "SvcSpansDropped",
        severity: AlertSeverity::Warning,
        hold: "10m",
        expr: "sum by (instance, reason) (rate(svc_spans_dropped_total[5m])) > 0",
        summary: "{{ $labels.instance }} drops spans: {{ $labels.reason }}",
        description: "The collector is away, or too slow. Nothing else is concerned.",
    },
];
