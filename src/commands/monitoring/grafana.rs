//! The dashboards as the JSON that Grafana imports.

use serde_json::{Value, json};

use super::dashboards::{Dashboard, DashboardVariable, Panel, PanelKind};

/// Columns of the grid of a dashboard.
const COLUMNS: u32 = 24;
/// The schema of Grafana 10.
const SCHEMA_VERSION: u32 = 39;
/// The reference of the data source, which the viewer chooses.
const DATA_SOURCE: &str = "${datasource}";
/// Letters of the queries of a panel.
const LETTERS: [&str; 5] = ["A", "B", "C", "D", "E"];

impl PanelKind {
    const fn type_name(self) -> &'static str {
        match self {
            Self::Number => "stat",
            Self::Graph => "timeseries",
            Self::Table => "table",
        }
    }

    /// Width and height in the grid.
    const fn size(self) -> [u32; 2] {
        match self {
            Self::Number => [4, 4],
            Self::Graph | Self::Table => [12, 8],
        }
    }

    fn options(self) -> Value {
        match self {
            Self::Number => {
                json!({"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": false},
                    "colorMode": "value", "graphMode": "area", "textMode": "auto"})
            }
            Self::Graph => {
                json!({"legend": {"displayMode": "list", "placement": "bottom", "showLegend": true},
                "tooltip": {"mode": "multi", "sort": "desc"}})
            }
            Self::Table => json!({"showHeader": true}),
        }
    }
}

/// The place of the next panel.
#[derive(Default)]
struct PanelGrid {
    x: u32,
    y: u32,
    /// Height of the highest panel of the line.
    height: u32,
}

impl PanelGrid {
    fn place(&mut self, [width, height]: [u32; 2]) -> Value {
        if self.x + width > COLUMNS {
            self.end_line();
        }
        let place = json!({"h": height, "w": width, "x": self.x, "y": self.y});
        self.x += width;
        self.height = self.height.max(height);
        place
    }

    fn end_line(&mut self) {
        self.y += self.height;
        (self.x, self.height) = (0, 0);
    }
}

/// Returns the document of a dashboard.
pub(super) fn render(dashboard: &Dashboard) -> Value {
    let (mut panels, mut grid) = (Vec::new(), PanelGrid::default());
    for row in dashboard.rows {
        let place = grid.place([COLUMNS, 1]);
        grid.end_line();
        panels.push(json!({"id": panels.len() + 1, "type": "row", "title": row.title, "gridPos": place,
            "collapsed": false, "panels": []}));
        for panel in row.panels {
            let place = grid.place(panel.kind.size());
            panels.push(render_panel(panel, panels.len() + 1, place));
        }
        grid.end_line();
    }
    let data_source = json!({"name": "datasource", "label": "Data source", "type": "datasource",
        "query": "prometheus", "current": {}, "hide": 0});
    let variables = dashboard.variables.iter().map(render_variable);
    let variables: Vec<_> = [data_source].into_iter().chain(variables).collect();
    json!({
        "uid": dashboard.uid,
        "title": dashboard.title,
        "description": dashboard.description,
        "tags": ["svc"],
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        "editable": true,
        "graphTooltip": 1,
        "timezone": "browser",
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "links": [{"type": "dashboards", "title": "svc", "tags": ["svc"], "asDropdown": true,
            "includeVars": true, "keepTime": true}],
        "annotations": {"list": []},
        "templating": {"list": variables},
        "panels": panels,
    })
}

fn render_panel(panel: &Panel, id: usize, place: Value) -> Value {
    let source = json!({"type": "prometheus", "uid": DATA_SOURCE});
    let is_instant = panel.kind == PanelKind::Table;
    let targets = panel.queries.iter().zip(LETTERS).map(|([expr, legend], letter)| {
        json!({"refId": letter, "datasource": source, "expr": expr, "legendFormat": legend,
            "instant": is_instant, "range": !is_instant, "format": if is_instant { "table" } else { "time_series" },
            "exemplar": expr.contains("svc_message_duration_seconds_bucket")})
    });
    let targets: Vec<_> = targets.collect();
    json!({"id": id, "type": panel.kind.type_name(), "title": panel.title, "gridPos": place,
        "datasource": source, "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "options": panel.kind.options(), "targets": targets})
}

fn render_variable(variable: &DashboardVariable) -> Value {
    let query = format!("label_values({}, {})", variable.metric, variable.name);
    json!({"name": variable.name, "label": variable.name, "type": "query",
        "datasource": {"type": "prometheus", "uid": DATA_SOURCE},
        "query": {"query": query, "refId": "A"}, "definition": query, "refresh": 2, "sort": 1,
        "includeAll": true, "multi": true, "allValue": ".*", "current": {"text": "All", "value": "$__all"},
        "hide": 0})
}

#[cfg(test)]
mod tests {
    use super::super::dashboards::DASHBOARDS;
    use super::*;

    #[test]
    fn every_query_has_its_letter_and_choice() {
        for dashboard in DASHBOARDS {
            for panel in dashboard.rows.iter().flat_map(|row| row.panels) {
                let queries = panel.queries;
                assert!((1..=LETTERS.len()).contains(&queries.len()), "{}", panel.title);
                for [expr, legend] in queries {
                    assert!(expr.contains(r#"instance=~"$instance""#), "{expr}");
                    assert!(!legend.is_empty(), "{expr}");
                }
            }
            for variable in dashboard.variables {
                let text = render(&dashboard).to_string();
                assert!(
                    text.contains(&format!("${}", variable.name)),
                    "{}: {}",
                    dashboard.uid,
                    variable.name
                );
            }
        }
    }

    #[test]
    fn panels_fill_lines_and_rows_begin_anew() {
        let mut grid = PanelGrid::default();
        let places = [[4, 4], [12, 8], [12, 8]].map(|size| grid.place(size));
        assert_eq!(places[1], json!({"h": 8, "w": 12, "x": 4, "y": 0}));
        assert_eq!(places[2], json!({"h": 8, "w": 12, "x": 0, "y": 8}));
        grid.end_line();
        assert_eq!(grid.place([24, 1]), json!({"h": 1, "w": 24, "x": 0, "y": 16}));
    }
}
