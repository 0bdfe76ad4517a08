//! Tables without lines between cells: fitted to the width of the terminal, or complete if the output is a file or a
//! pipe.

use comfy_table::{
    Attribute, Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, Row, Table, presets,
};
use serde_json::{Number, Value};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::text::{member, plain, printable};

/// Columns that a column of texts needs at least to be of use.
const USEFUL_WIDTH: usize = 10;
/// Columns that a column of sentences needs at least; with less it moves to lines of its own.
const SENTENCE_WIDTH: usize = 40;
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
    /// Moves to a line of its own below each row if the terminal is narrow, instead of being left out.
    is_movable: bool,
}

/// The kind of the cells of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CellKind {
    /// Wraps if the terminal is narrow.
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
        Self { title, path, kind, rank: 0, is_movable: false }
    }

    /// Permits leaving the column out on a narrow terminal; the highest rank goes first.
    pub(crate) const fn optional(mut self, rank: u8) -> Self {
        self.rank = rank;
        self
    }

    /// Moves the column to a line of its own below each row instead of leaving it out.
    pub(crate) const fn movable(mut self) -> Self {
        self.is_movable = true;
        self
    }

    fn text(&self, row: &Value, is_compact: bool) -> String {
        match (self.kind, member(row, self.path)) {
            (CellKind::Time, Value::String(instant)) if is_compact => printable(&compact(instant)),
            (CellKind::Time, Value::String(instant)) => printable(&without_fraction(instant)),
            (CellKind::Number, Value::Number(number)) => shorten_number(number),
            (_, value) => plain(value).replace('\n', " "),
        }
    }

    fn cell(&self, row: &Value, is_compact: bool, style: TableStyle) -> Cell {
        let text = self.text(row, is_compact);
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

/// A table, and the titles of the columns for which the terminal has no room.
pub(super) struct RenderedTable {
    pub(super) text: String,
    pub(super) left_out: Vec<&'static str>,
}

impl TableLayout {
    /// Returns the rows as a table; nothing but the heading without rows.
    pub(super) fn render(&self, rows: &[Value], style: TableStyle) -> RenderedTable {
        let fitted = FittedColumns::new(self.columns, rows, style.columns);
        let FittedColumns { columns, below, left_out, is_compact } = &fitted;
        let mut table = plain_table(style);
        let line = |cells: Vec<Cell>| {
            let mut line = Row::from(cells);
            if !below.is_empty() {
                // What belongs to a row stands right below it.
                line.max_height(1);
            }
            line
        };
        table.set_header(line(columns.iter().map(|column| heading(column.title, style)).collect()));
        for row in rows {
            let cells = columns.iter().map(|column| column.cell(row, *is_compact, style));
            table.add_row(line(cells.collect()));
        }
        for (at, column) in columns.iter().enumerate() {
            if let (Some(made), true) = (table.column_mut(at), column.kind != CellKind::Text) {
                made.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        let mut text = String::new();
        for (at, line) in render_lines(&mut table).enumerate() {
            text.push_str(&line);
            let row = at.checked_sub(1).and_then(|at| rows.get(at)).filter(|_| !below.is_empty());
            text.extend(row.into_iter().flat_map(|row| fitted.lines_below(row, style)));
        }
        RenderedTable { text, left_out: left_out.clone() }
    }
}

/// The columns of a table as a terminal has room for them.
struct FittedColumns {
    columns: Vec<TableColumn>,
    /// Columns that are printed below each row.
    below: Vec<TableColumn>,
    left_out: Vec<&'static str>,
    /// Points in time are short.
    is_compact: bool,
}

impl FittedColumns {
    /// Makes points in time short, then takes optional columns out, the highest rank first, until every text column has a
    /// useful width. Without an optional one left, texts move below the rows.
    fn new(columns: &[TableColumn], rows: &[Value], width: Option<u16>) -> Self {
        let (columns, below, left_out) = (columns.to_vec(), Vec::new(), Vec::new());
        let mut fitted = Self { columns, below, left_out, is_compact: false };
        let Some(width) = width.map(usize::from) else { return fitted };
        if fitted.least_width(rows) > width {
            fitted.is_compact = true;
        }
        while fitted.least_width(rows) > width {
            let ranks = fitted.columns.iter().map(|column| column.rank);
            let Some(rank) = ranks.max().filter(|rank| *rank > 0) else { break };
            let (out, columns): (Vec<_>, Vec<_>) =
                fitted.columns.iter().copied().partition(|column| column.rank == rank);
            fitted.columns = columns;
            let (moved, dropped): (Vec<_>, Vec<_>) = out.into_iter().partition(|column| column.is_movable);
            fitted.below.extend(moved);
            fitted.left_out.extend(dropped.iter().map(|column| column.title));
        }
        // A column of a letter or two is of no use: texts that still lack room go below the rows, the last one first.
        while fitted.least_width(rows) > width {
            let last = fitted.columns.iter().skip(1).rposition(|column| column.kind == CellKind::Text);
            let Some(last) = last else { break };
            let moved = fitted.columns.remove(last + 1);
            fitted.below.insert(0, moved);
        }
        fitted
    }

    fn least_width(&self, rows: &[Value]) -> usize {
        let least = |column: &TableColumn| {
            let lengths = rows.iter().map(|row| column.text(row, self.is_compact).width());
            let content = lengths.max().unwrap_or(0);
            let content = match (column.kind, column.is_movable) {
                (CellKind::Text, true) => content.min(SENTENCE_WIDTH),
                (CellKind::Text, false) => content.min(USEFUL_WIDTH),
                _ => content,
            };
            content.max(column.title.len()) + usize::from(GAP)
        };
        self.columns.iter().map(least).sum()
    }

    /// Returns the lines below a row, each cut to the width of the terminal.
    fn lines_below(&self, row: &Value, style: TableStyle) -> Vec<String> {
        let width = style.columns.map_or(usize::MAX, usize::from);
        let is_empty = |value: &Value| value.is_null() || value.as_str() == Some("");
        let present = self.below.iter().filter(|column| !is_empty(member(row, column.path)));
        let line = |column: &TableColumn| {
            let text = format!("{}{} {}", " ".repeat(GAP.into()), column.title, column.text(row, true));
            cut(text, width) + "\n"
        };
        present.map(line).collect()
    }
}

/// Returns a text that takes at most `width` columns of a terminal; some characters take two.
fn cut(text: String, width: usize) -> String {
    if text.width() <= width {
        return text;
    }
    let mut left = width.saturating_sub(1);
    let fits = |letter: &char| {
        let rest = left.checked_sub(letter.width().unwrap_or(0));
        left = rest.unwrap_or(0);
        rest.is_some()
    };
    text.chars().take_while(fits).chain(['…']).collect()
}

/// Returns the members of an object below each other: a nested one as JSON below its name, any other after it. No line is
/// broken, so that everything can be copied.
pub(super) fn record(object: &Value, style: TableStyle) -> String {
    let members: Vec<_> = object.as_object().into_iter().flatten().collect();
    let flat = members.iter().filter(|(_, value)| !is_nested(value));
    let width = flat.map(|(name, _)| printable(name).width()).max().unwrap_or(0);
    let gap = usize::from(GAP);
    let mut text = String::new();
    for (name, value) in members {
        let name = printable(name);
        let padding = " ".repeat((width + gap).saturating_sub(name.width()));
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
fn render_lines(table: &mut Table) -> impl Iterator<Item = String> {
    for column in table.column_iter_mut() {
        column.set_padding((0, GAP));
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect::<Vec<_>>().into_iter()
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

/// Returns a point in time as month, day and clock.
fn compact(instant: &str) -> String {
    match instant.get(5..10).zip(instant.get(11..19)) {
        Some((day, clock)) => format!("{day} {clock}"),
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
        | "restarting" | "retrying" | "scheduled" | "staged" | "starting" | "tolerated" | "waiting" => {
            Color::Yellow
        }
        "blocked" | "dead" | "error" | "failed" | "lost" | "missing" | "open" | "quarantined" | "stopped" => {
            Color::Red
        }
        _ if state.ends_with("paused") => Color::Yellow,
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
        LAYOUT.render(&rows(), TableStyle { columns, is_colored }).text
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
    fn narrow_table_keeps_whole_ids_within_terminal() {
        for columns in [64, 80, 100] {
            let text = render(Some(columns), false);
            assert!(text.contains("0191d2f0-7c3b-7000-8000-000000000001"), "{text}");
            assert!(
                text.lines().all(|line| line.chars().count() <= usize::from(columns)),
                "{columns}\n{text}"
            );
        }
        assert!(!render(Some(64), false).contains("UPDATED"));
        assert!(render(Some(80), false).contains("01-01 00:00:00"), "{}", render(Some(80), false));
        assert!(render(Some(120), false).contains("2026-01-01T00:00:00Z"));
        let left_out = |columns| {
            let style = TableStyle { columns: Some(columns), is_colored: false };
            LAYOUT.render(&rows(), style).left_out
        };
        assert_eq!((left_out(64), left_out(120)), (vec!["UPDATED"], vec![]));
    }

    #[test]
    fn needed_column_moves_below_rows_on_narrow_terminals() {
        const ERRORS: TableLayout = TableLayout {
            id: "id",
            columns: &[
                TableColumn::new("ID", "id", CellKind::Id),
                TableColumn::new("ERROR", "error", CellKind::Text).optional(1).movable(),
            ],
        };
        let error = "the connection was refused by the other side, which is not there";
        let rows =
            [json!({"id": "0191d2f0-7c3b-7000-8000-000000000001", "error": error}), json!({"id": "b"})];
        let narrow = ERRORS.render(&rows, TableStyle { columns: Some(60), is_colored: false });
        let lines: Vec<_> = narrow.text.lines().collect();
        assert_eq!(lines.len(), 4, "{}", narrow.text);
        assert_eq!(lines[2], "  ERROR the connection was refused by the other side, which…");
        assert!(lines[3].starts_with('b') && narrow.left_out.is_empty(), "{}", narrow.text);
        assert_eq!(ERRORS.render(&rows, PLAIN).text.lines().count(), 3);
        let wide = [json!({"id": "0191d2f0-7c3b-7000-8000-000000000001", "error": "悪い値です。".repeat(9)})];
        let wide = ERRORS.render(&wide, TableStyle { columns: Some(60), is_colored: false }).text;
        let below = wide.lines().nth(2).unwrap();
        assert!((59..=60).contains(&below.width()) && below.ends_with('…'), "{wide}");
        let empty = [json!({"id": "0191d2f0-7c3b-7000-8000-000000000001", "error": ""})];
        let empty = ERRORS.render(&empty, TableStyle { columns: Some(40), is_colored: false });
        assert_eq!(empty.text.lines().count(), 2, "{}", empty.text);
    }

    #[test]
    fn text_without_useful_width_moves_below_rows() {
        const ENDPOINTS: TableLayout = TableLayout {
            id: "id",
            columns: &[
                TableColumn::new("ID", "id", CellKind::Id),
                TableColumn::new("URL", "url", CellKind::Text),
                TableColumn::new("CONSUMER", "consumer", CellKind::Id),
                TableColumn::new("TOPICS", "topics", CellKind::Text),
            ],
        };
        let rows =
            [json!({"id": "0191d2f0-7c3b-7000-8000-000000000001", "url": "https://shop.example/hooks/a",
            "consumer": "a-partner-with-a-long-name", "topics": ["order.paid", "order.sent"]})];
        let narrow = ENDPOINTS.render(&rows, TableStyle { columns: Some(80), is_colored: false });
        let lines: Vec<_> = narrow.text.lines().collect();
        assert_eq!(lines.len(), 3, "{}", narrow.text);
        assert_eq!(lines[2], "  TOPICS order.paid, order.sent");
        assert!(
            narrow.left_out.is_empty() && lines.iter().all(|line| line.chars().count() <= 80),
            "{lines:?}"
        );
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
