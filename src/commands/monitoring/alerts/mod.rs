//! The alerts: each is declared once, and the rules of Prometheus are made from the declarations. The page
//! `docs/alerts.md` has a section for each.

mod channels;
mod connectors;
mod kafka;
mod process;
mod schedules;
mod storage;
mod webhooks;
mod work;

/// The urgency of an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AlertSeverity {
    /// Somebody has to act now.
    Critical,
    /// Somebody has to look at it on the same day.
    Warning,
}

impl AlertSeverity {
    /// Returns the value of the label `severity`.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
        }
    }
}

/// An alert.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alert {
    /// Its name; the anchor of its section is the same in lower case.
    pub(super) name: &'static str,
    pub(super) severity: AlertSeverity,
    /// The time for which the expression must hold, as Prometheus writes it.
    pub(super) hold: &'static str,
    /// The expression, in PromQL.
    pub(super) expr: &'static str,
    /// One line that names the fault and its place, a template of Prometheus.
    pub(super) summary: &'static str,
    /// The consequence, and the first place to look at.
    pub(super) description: &'static str,
}

/// Alerts about one part of the service.
#[derive(Clone, Copy, Debug)]
pub(super) struct AlertGroup {
    pub(super) name: &'static str,
    pub(super) alerts: &'static [Alert],
}

/// Every alert, in the order of the page.
pub(super) const GROUPS: [AlertGroup; 8] = [
    AlertGroup { name: "svc-process", alerts: process::ALERTS },
    AlertGroup { name: "svc-channels", alerts: channels::ALERTS },
    AlertGroup { name: "svc-work", alerts: work::ALERTS },
    AlertGroup { name: "svc-schedules", alerts: schedules::ALERTS },
    AlertGroup { name: "svc-kafka", alerts: kafka::ALERTS },
    AlertGroup { name: "svc-connectors", alerts: connectors::ALERTS },
    AlertGroup { name: "svc-webhooks", alerts: webhooks::ALERTS },
    AlertGroup { name: "svc-storage", alerts: storage::ALERTS },
];
