//! The dashboards: what each shows is declared once, and the JSON that Grafana imports is made from it.

mod channel;
mod cluster;
mod connectors;
mod kafka;
mod overview;
mod schedules;
mod supervision;

/// The form of a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PanelKind {
    /// A number, as it is now.
    Number,
    /// Lines over time.
    Graph,
    /// A row for each series, as it is now.
    Table,
}

/// A panel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Panel {
    pub(super) title: &'static str,
    pub(super) kind: PanelKind,
    /// The unit, as Grafana names it.
    pub(super) unit: &'static str,
    /// Pairs of an expression in PromQL and the template of its legend.
    pub(super) queries: &'static [[&'static str; 2]],
}

/// A row of panels with a title.
#[derive(Clone, Copy, Debug)]
pub(super) struct PanelRow {
    pub(super) title: &'static str,
    pub(super) panels: &'static [Panel],
}

/// A choice of the viewer: `$name` in an expression is a pattern of its values.
#[derive(Clone, Copy, Debug)]
pub(super) struct DashboardVariable {
    /// The label, too.
    pub(super) name: &'static str,
    /// The metric whose values of the label are offered.
    pub(super) metric: &'static str,
}

/// A dashboard.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dashboard {
    /// The id, and the name of its file.
    pub(super) uid: &'static str,
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    pub(super) variables: &'static [DashboardVariable],
    pub(super) rows: &'static [PanelRow],
}

/// The choice of the process, which every dashboard has.
pub(super) const INSTANCE: DashboardVariable =
    DashboardVariable { name: "instance", metric: "svc_build_info" };

/// Every dashboard.
pub(super) const DASHBOARDS: [Dashboard; 7] = [
    overview::DASHBOARD,
    channel::DASHBOARD,
    connectors::DASHBOARD,
    schedules::DASHBOARD,
    kafka::DASHBOARD,
    supervision::DASHBOARD,
    cluster::DASHBOARD,
];
