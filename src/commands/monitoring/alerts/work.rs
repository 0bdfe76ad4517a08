//! Alerts about accepted work.

use super::{Alert, AlertSeverity};

pub(super) const ALERTS: &[Alert] = &[
    Alert {
        name: "SvcQueueNearFull",
        severity: AlertSeverity::Warning,
        hold: "5m",
        expr: "svc_trace_queue_depth / svc_trace_queue_max_jobs > 0.8",
        summary: "The queue of {{ $labels.instance }} is {{ $value | humanizePercentage }} full",
        description: "Submissions get a 503 when it is full.",
    },
    Alert {
        name: "SvcQueueMemoryNearFull",
        severity: AlertSeverity::Warning,
        hold: "5m",
        expr: "svc_trace_queue_memory_bytes / svc_trace_queue_max_memory_bytes > 0.8",
        summary: "The payloads in the queue of {{ $labels.instance }} hold {{ $value | humanizePercentage }} of its memory",
        description: "Submissions get a 503 when none is left.",
    },
    Alert {
        name: "SvcWorkRefused",
        severity: AlertSeverity::Critical,
        hold: "5m",
        expr: "sum by (reason) (rate(svc_trace_queue_rejected_total[5m])) > 0",
        summary: "Submissions are refused: {{ $labels.reason }}",
        description: "Clients get a 503 and have to come again.",
    },
    Alert {
        name: "SvcWorkWaits",
        severity: AlertSeverity::Warning,
        hold: "15m",
        expr: "sum(svc_trace_queue_depth) > 0 and sum(svc_trace_workers_active) >= sum(svc_trace_workers_total)",
        summary: "{{ $value }} accepted jobs wait, and every worker is busy",
        description: "Accepted work is done later and later.",
    },
    Alert {
        name: "SvcWaitingNearBound",
        severity: AlertSeverity::Warning,
        hold: "10m",
        expr: "max(sum by (instance) (svc_trace_waiting)) / max(svc_trace_waiting_max) > 0.8",
        summary: "The work that waits in the database is {{ $value | humanizePercentage }} of trace_queue.max_waiting",
        description: "At the bound delayed, shared and paused work is refused with a 503.",
    },
    Alert {
        name: "SvcDeadLettersExhausted",
        severity: AlertSeverity::Warning,
        hold: "5m",
        expr: r#"max(svc_trace_dlq_depth{state="exhausted"}) > 0"#,
        summary: "{{ $value }} dead letters have no retry left",
        description: "This work is not done until an operator requeues or purges it.",
    },
];
