//! Tables without rules, as operators know them: fitted to the terminal, whole where there is none.

use comfy_table::{
    Attribute, Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, Table, presets,
};
use serde_json::{Number, Value};

use super::text::{member, plain, printable};

/// Columns that a column of texts needs at least to be of use.
const USEFUL_WIDTH: usize = 10;
/// Columns between two columns of the table.
const GAP: u16 = 2;

/// The columns of a list, and the member that names a row.
pub(crate) struct TableLayout {
    /// Member that quiet output prints.
    pub(crate) id: &'static str,
    /// The columns.
    pub(crate) columns: &'static [TableColumn],
}

/// A column.
#[derive(Clone, Copy)]
pub(crate) struct TableColumn {
    title: &'static str,
    path: &'static str,
    kind: CellKind,
    rank: u8,
}

/// The kind of the cells of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CellKind {
    /// Wraps where the terminal is narrow.
    Text,
    /// Stays in one piece, so that it can be copied.
    Id,
    /// A state, with its colour.
    State,
    /// A point in time, to the second.
    Time,
    /// Right-aligned.
    Number,
}

/// The width and the colours of the terminal.
#[derive(Clone, Copy)]
pub(super) struct TableStyle {
    /// The number of columns; `None` for a file or a pipe, which have no bound.
    pub(super) columns: Option<u16>,
    /// Uses colours.
    pub(super) is_colored: bool,
}

impl TableColumn {
    /// Makes a column of the members at a path.
    pub(crate) const fn new(title: &'static str, path: &'static str, kind: CellKind) -> Self {
        Self { title, path, kind, rank: 0 }
    }

    /// Permits leaving the column out on a narrow terminal; the highest rank goes first.
    pub(crate) const fn optional(mut self, rank: u8) -> Self {
        self.rank = rank;
        self
    }

    fn text(&self, row: &Value) -> String {
        match (self.kind, member(row, self.path)) {
            (CellKind::Time, Value::String(instant)) => printable(&without_fraction(instant)),
            (CellKind::Number, Value::Number(number)) => shorten_number(number),
            (_, value) => plain(value).replace('\n', " "),
        }
    }

    fn cell(&self, row: &Value, style: TableStyle) -> Cell {
        let text = self.text(row);
        let color = if self.kind == CellKind::State { state_color(&text) } else { None };
        let alignment =
            if self.kind == CellKind::Number { CellAlignment::Right } else { CellAlignment::Left };
        let cell = Cell::new(text).set_alignment(alignment);
        match color.filter(|_| style.is_colored) {
            Some(color) => cell.fg(color),
            None => cell,
        }
    }
}

impl TableLayout {
    /// Returns the rows as a table; nothing but the heading without rows.
    pub(super) fn render(&self, rows: &[Value], style: TableStyle) -> String {
        let columns = fitting(self.columns, rows, style.columns);
        let mut table = plain_table(style);
        table.set_header(columns.iter().map(|column| heading(column.title, style)));
        for row in rows {
            table.add_row(columns.iter().map(|column| column.cell(row, style)));
        }
        for (at, column) in columns.iter().enumerate() {
            if let (Some(made), true) = (table.column_mut(at), column.kind != CellKind::Text) {
                made.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        render_lines(&mut table)
    }
}

/// Returns the columns that fit: optional ones leave, the highest rank first, until every text column has a useful width.
fn fitting(columns: &[TableColumn], rows: &[Value], width: Option<u16>) -> Vec<TableColumn> {
    let mut columns = columns.to_vec();
    let Some(width) = width.map(usize::from) else { return columns };
    let least = |column: &TableColumn| {
        let content = rows.iter().map(|row| column.text(row).chars().count()).max().unwrap_or(0);
        let content = if column.kind == CellKind::Text { content.min(USEFUL_WIDTH) } else { content };
        content.max(column.title.len()) + usize::from(GAP)
    };
    while columns.iter().map(least).sum::<usize>() > width {
        let Some(rank) = columns.iter().map(|column| column.rank).max().filter(|rank| *rank > 0) else {
            break;
        };
        columns.retain(|column| column.rank != rank);
    }
    columns
}

/// Returns the members of an object below each other: a nested one as JSON below its name, any other beside it. No line is
/// broken, so that everything can be copied.
pub(super) fn record(object: &Value, style: TableStyle) -> String {
    let members: Vec<_> = object.as_object().into_iter().flatten().collect();
    let flat = members.iter().filter(|(_, value)| !is_nested(value));
    let width = flat.map(|(name, _)| printable(name).chars().count()).max().unwrap_or(0);
    let gap = usize::from(GAP);
    let mut text = String::new();
    for (name, value) in members {
        let name = printable(name);
        let padding = " ".repeat((width + gap).saturating_sub(name.chars().count()));
        let name = if style.is_colored { format!("\u{1b}[1m{name}\u{1b}[0m") } else { name };
        let line = if is_nested(value) {
            format!("{name}\n{}", indent(&pretty(value), gap))
        } else {
            let value = plain(value).replace('\n', &format!("\n{}", " ".repeat(width + gap)));
            format!("{name}{padding}{value}")
        };
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Returns `true` for a value that needs lines of its own.
fn is_nested(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| item.is_object() || item.is_array()),
        Value::Object(members) => !members.is_empty(),
        _ => false,
    }
}

fn pretty(value: &Value) -> String {
    printable(&serde_json::to_string_pretty(value).unwrap_or_default())
}

fn indent(text: &str, columns: usize) -> String {
    let indent = " ".repeat(columns);
    text.lines().map(|line| format!("{indent}{line}\n")).collect()
}

fn plain_table(style: TableStyle) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    match style.columns {
        Some(columns) => {
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_width(columns);
        }
        None => {
            table.set_content_arrangement(ContentArrangement::Disabled);
        }
    }
    if style.is_colored {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    table
}

/// Returns the lines of a table: no blanks at the left, two between columns, none at the ends.
fn render_lines(table: &mut Table) -> String {
    for column in table.column_iter_mut() {
        column.set_padding((0, GAP));
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn heading(title: &str, style: TableStyle) -> Cell {
    let cell = Cell::new(title);
    if style.is_colored { cell.add_attribute(Attribute::Bold) } else { cell }
}

/// Returns a point in time to the second.
fn without_fraction(instant: &str) -> String {
    match instant.split_once('.') {
        Some((seconds, rest)) => {
            let zone = rest.trim_start_matches(|character: char| character.is_ascii_digit());
            format!("{seconds}{zone}")
        }
        None => instant.to_owned(),
    }
}

/// Returns a number with at most one digit behind the point.
fn shorten_number(number: &Number) -> String {
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(float) => format!("{float:.1}"),
        None => number.to_string(),
    }
}

/// Returns the colour of a state: green for well, red for wrong, yellow for under way or waiting.
fn state_color(state: &str) -> Option<Color> {
    Some(match state {
        "active" | "applied" | "closed" | "completed" | "live" | "loaded" | "ok" | "running" | "true"
        | "unchanged" => Color::Green,
        "backoff" | "changed" | "claimed" | "degraded" | "draft" | "draining" | "half_open" | "pending"
        | "restarting" | "staged" | "starting" => Color::Yellow,
        "blocked" | "dead" | "error" | "failed" | "lost" | "missing" | "open" | "quarantined" | "stopped" => {
            Color::Red
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const LAYOUT: TableLayout = TableLayout {
        id: "id",
        columns: &[
            TableColumn::new("ID", "id", CellKind::Id),
            TableColumn::new("NAME", "name", CellKind::Text),
            TableColumn::new("STATUS", "status", CellKind::State),
            TableColumn::new("RUNS", "runs", CellKind::Number),
            TableColumn::new("UPDATED", "updated_at", CellKind::Time).optional(1),
        ],
    };
    const PLAIN: TableStyle = TableStyle { columns: None, is_colored: false };

    fn rows() -> Vec<Value> {
        let id = "0191d2f0-7c3b-7000-8000-000000000001";
        vec![
            json!({"id": id, "name": "a name of quite some length", "status": "active", "runs": 7,
                "updated_at": "2026-01-01T00:00:00.123456Z"}),
            json!({"id": "b", "name": "B", "status": "draft", "runs": 12.25, "updated_at": "2026-01-01T00:00:00Z"}),
        ]
    }

    fn render(columns: Option<u16>, is_colored: bool) -> String {
        LAYOUT.render(&rows(), TableStyle { columns, is_colored })
    }

    #[test]
    fn table_is_whole_where_there_is_no_terminal() {
        let text = render(None, false);
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(
            text.contains("a name of quite some length") && text.contains("2026-01-01T00:00:00Z"),
            "{text}"
        );
        assert!(text.lines().all(|line| line == line.trim_end()), "{text}");
    }

    #[test]
    fn narrow_table_keeps_ids_whole_and_stays_inside_the_terminal() {
        for columns in [64, 80, 100] {
            let text = render(Some(columns), false);
            assert!(text.contains("0191d2f0-7c3b-7000-8000-000000000001"), "{text}");
            assert!(
                text.lines().all(|line| line.chars().count() <= usize::from(columns)),
                "{columns}\n{text}"
            );
        }
        assert!(!render(Some(64), false).contains("UPDATED"));
        assert!(render(Some(120), false).contains("UPDATED"));
    }

    #[test]
    fn colours_are_escapes_and_only_where_they_are_wanted() {
        assert!(render(None, true).contains("\u{1b}["));
        assert!(!render(None, false).contains('\u{1b}'));
    }

    #[test]
    fn record_shows_nested_members_on_lines_of_their_own() {
        let object =
            json!({"id": "a", "tags": ["x", "y"], "config": {"a": 1}, "error": "one\ntwo", "loop": null});
        let expected =
            "id     a\ntags   x, y\nconfig\n  {\n    \"a\": 1\n  }\nerror  one\n       two\nloop   -\n";
        assert_eq!(record(&object, PLAIN), expected);
        assert!(
            record(&object, TableStyle { columns: Some(10), is_colored: true })
                .contains("\u{1b}[1mid\u{1b}[0m     a")
        );
    }
}
