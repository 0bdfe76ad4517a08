//! Results on standard output: tables, JSON, YAML, ids; notes on standard error.

mod document;
mod table;
mod text;

use std::io::{self, IsTerminal as _, Write as _};

use serde_json::Value;
use terminal_size::{Height, Width};

use crate::error::CliError;
use crate::globals::OutputFormat;
use crate::remedy::as_commands;
use crate::settings::OutputSettings;

pub(crate) use document::json_line;
pub(crate) use table::{CellKind, TableColumn, TableLayout};
pub(crate) use text::{ABSENT, member, plain, printable};

use table::TableStyle;

/// The form of results, and the terminal.
pub(crate) struct Output {
    /// The form of results.
    pub(crate) format: OutputFormat,
    /// Prints ids alone.
    pub(crate) is_quiet: bool,
    /// Prints the requests.
    pub(crate) is_verbose: bool,
    /// Set when standard output is a terminal.
    pub(crate) is_terminal: bool,
    /// Set when standard error is a terminal.
    pub(crate) is_err_terminal: bool,
    style: TableStyle,
}

impl Output {
    /// Looks at the standard streams of the process.
    pub(crate) fn new(settings: &OutputSettings) -> Self {
        let columns = match terminal_size::terminal_size_of(io::stdout()) {
            Some((Width(columns), _)) => Some(columns),
            None => settings.columns,
        };
        let is_terminal = io::stdout().is_terminal();
        Self {
            format: settings.format,
            is_quiet: settings.is_quiet,
            is_verbose: settings.is_verbose,
            is_terminal,
            is_err_terminal: io::stderr().is_terminal(),
            style: TableStyle { columns, is_colored: settings.may_color && is_terminal },
        }
    }

    /// Returns `true` if results are made for people.
    pub(crate) fn is_table(&self) -> bool {
        self.format == OutputFormat::Table && !self.is_quiet
    }

    /// Returns the number of lines that the terminal shows.
    pub(crate) fn terminal_lines(&self) -> Option<usize> {
        terminal_size::terminal_size_of(io::stdout()).map(|(_, Height(lines))| usize::from(lines))
    }

    /// Writes text to standard output.
    pub(crate) fn print(&self, text: &str) -> Result<(), CliError> {
        self.print_bytes(text.as_bytes())
    }

    /// Writes what a server sent, byte for byte; on a terminal without what would steer it.
    pub(crate) fn print_answer(&self, answer: &[u8]) -> Result<(), CliError> {
        match self.is_terminal {
            true => self.print(&text::printable_text(&String::from_utf8_lossy(answer))),
            false => self.print_bytes(answer),
        }
    }

    fn print_bytes(&self, bytes: &[u8]) -> Result<(), CliError> {
        let mut out = io::stdout().lock();
        let written = out.write_all(bytes).and_then(|()| out.flush());
        written.map_err(|source| CliError::Output { source })
    }

    /// Returns a list as the format shows it: `body` is the answer, `rows` its rows.
    pub(crate) fn list(
        &self,
        body: &Value,
        rows: &[Value],
        layout: &TableLayout,
    ) -> Result<String, CliError> {
        if self.is_quiet {
            return Ok(rows.iter().map(|row| format!("{}\n", plain(member(row, layout.id)))).collect());
        }
        match self.format {
            OutputFormat::Table => Ok(self.table(rows, layout)),
            format => document::write(body, format),
        }
    }

    /// Returns rows as a table, and notes which columns the terminal has no room for.
    pub(crate) fn table(&self, rows: &[Value], layout: &TableLayout) -> String {
        let rendered = layout.render(rows, self.style);
        if !rows.is_empty() && !rendered.left_out.is_empty() {
            let columns = rendered.left_out.join(", ");
            self.note(&format!(
                "left out for lack of room: {columns}; a wider terminal or '-o json' shows all"
            ));
        }
        rendered.text
    }

    /// Returns the members of an object below each other.
    pub(crate) fn members(&self, record: &Value) -> String {
        table::record(record, self.style)
    }

    /// Returns one object as the format shows it: `body` is the answer.
    pub(crate) fn record(&self, body: &Value, record: &Value, id: &str) -> Result<String, CliError> {
        if self.is_quiet {
            return Ok(format!("{}\n", plain(member(record, id))));
        }
        match self.format {
            OutputFormat::Table => Ok(table::record(record, self.style)),
            format => document::write(body, format),
        }
    }

    /// Returns the result of a change: a sentence, the answer, or the id. Warnings of the answer go to standard error.
    pub(crate) fn change(&self, body: Option<&Value>, id: &str, sentence: &str) -> Result<String, CliError> {
        if let Some(body) = body {
            self.report_warnings(&body["warnings"]);
        }
        if self.is_quiet {
            return Ok(format!("{}\n", printable(id)));
        }
        match (self.format, body) {
            (OutputFormat::Table, _) => Ok(format!("{}\n", printable(sentence))),
            (format, Some(body)) => document::write(body, format),
            // The server answers without a body.
            (_, None) => Ok(String::new()),
        }
    }

    /// Returns a document of any shape; a table shows it as JSON.
    pub(crate) fn document(&self, body: &Value) -> Result<String, CliError> {
        document::write(body, self.format)
    }

    /// Writes a note for people to standard error; quiet drops it.
    pub(crate) fn note(&self, text: &str) {
        if !self.is_quiet {
            self.tell(text);
        }
    }

    /// Writes a warning to standard error.
    pub(crate) fn warn(&self, text: &str) {
        self.tell(&format!("warning: {text}"));
    }

    /// Writes the warnings of an answer to standard error; a document has them already.
    pub(crate) fn report_warnings(&self, warnings: &Value) {
        if !self.is_quiet && self.format != OutputFormat::Table {
            return;
        }
        for warning in warnings.as_array().into_iter().flatten() {
            let message = as_commands(&plain(&warning["message"]));
            match warning["field"].as_str() {
                Some(field) => self.warn(&format!("{field}: {message}")),
                None => self.warn(&message),
            }
        }
    }

    /// Writes a line to standard error.
    pub(crate) fn tell(&self, text: &str) {
        // Nothing can be reported when standard error is closed.
        let _unwritten = writeln!(io::stderr(), "{}", printable(text));
    }
}
