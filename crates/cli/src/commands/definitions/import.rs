//! Imports: in batches, with progress, one report for all.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use svc_client::ApiRequest;

use crate::commands::entity::EntityGroup;
use crate::context::CommandContext;
use crate::error::{CliError, EXIT_FAILURE};
use crate::input::InputArgs;
use crate::output::{CellKind, TableColumn, TableLayout, plain};
use crate::progress::ProgressDisplay;

/// Largest number of items in a request; the server takes 1000.
const BATCH_ITEMS: usize = 500;
/// Bytes from which on a batch is closed; the server takes 8 MiB by default.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

const RESULTS: TableLayout = TableLayout {
    id: "id",
    columns: &[
        TableColumn::new("ITEM", "index", CellKind::Number),
        TableColumn::new("ID", "id", CellKind::Id),
        TableColumn::new("ACTION", "action", CellKind::State),
        TableColumn::new("ERROR", "error", CellKind::Text).optional(1).movable(),
    ],
};

/// The options of an import.
#[derive(Args, Debug)]
pub(crate) struct ImportArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Only report the outcome
    #[arg(long)]
    dry_run: bool,
    /// Handling of definitions that exist, by default fail
    #[arg(long, value_enum, value_name = "POLICY")]
    on_conflict: Option<ConflictPolicy>,
}

/// The handling of definitions that exist.
#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
enum ConflictPolicy {
    /// Report an error
    Fail,
    /// Leave the existing one
    Skip,
    /// Make a new version of it
    NewVersion,
}

impl ConflictPolicy {
    fn name(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Skip => "skip",
            Self::NewVersion => "new_version",
        }
    }
}

impl EntityGroup {
    /// Imports; exits with 1 when an item failed.
    pub(super) async fn import(&self, args: &ImportArgs, context: &CommandContext) -> Result<u8, CliError> {
        let items = args.input.require()?.items()?;
        let batches = batches(&items);
        let mut report = ImportTotals::default();
        let is_hidden = batches.len() < 2 || !context.output.is_err_terminal || context.output.is_quiet;
        let progress = ProgressDisplay::new(items.len(), is_hidden);
        for batch in &batches {
            match self.import_batch(args, batch, context).await {
                Ok(answer) => report.add(answer, batch.len()),
                Err(error) => {
                    drop(progress);
                    if report.answers > 0 {
                        context.output.warn(&format!(
                            "{} of {} items were imported before the error",
                            report.items,
                            items.len()
                        ));
                    }
                    return Err(error);
                }
            }
            progress.add(batch.len());
        }
        drop(progress);
        self.show_import(args, &report, context)
    }

    async fn import_batch(
        &self,
        args: &ImportArgs,
        batch: &[Value],
        context: &CommandContext,
    ) -> Result<Value, CliError> {
        let mut request = ApiRequest::post(self.path(&["import"])).json(&batch)?;
        // With these policies, and in a dry run, a repetition finds what the first attempt left and changes nothing.
        if args.dry_run || matches!(args.on_conflict, Some(ConflictPolicy::Skip | ConflictPolicy::NewVersion))
        {
            request = request.repeatable();
        }
        if args.dry_run {
            request = request.query("dry_run", true);
        }
        context.fetch(&request.optional("on_conflict", args.on_conflict.map(ConflictPolicy::name))).await
    }

    fn show_import(
        &self,
        args: &ImportArgs,
        totals: &ImportTotals,
        context: &CommandContext,
    ) -> Result<u8, CliError> {
        let answer = totals.answer();
        let report = &answer["data"];
        let text = if context.output.is_table() {
            let count = |name: &str| plain(&report[name]);
            let verb = if args.dry_run { "would be imported" } else { "imported" };
            let line = format!(
                "{} {} {verb}, {} unchanged, {} skipped, {} failed\n",
                count("imported"),
                self.plural,
                count("unchanged"),
                count("skipped"),
                count("failed")
            );
            let rows = totals.rows();
            let table = if rows.is_empty() {
                String::new()
            } else {
                context.output.list(&answer, &rows, &RESULTS)?
            };
            format!("{table}{line}")
        } else {
            context.output.list(&answer, &totals.results, &RESULTS)?
        };
        let written = context.output.print(&text);
        context.output.report_warnings(&report["warnings"]);
        match (report["failed"].as_u64(), written) {
            (Some(0), written) => written.map(|()| 0),
            // A reader that has gone makes no success of a failure.
            (_, Err(error)) if error.exit_code() != 0 => Err(error),
            _ => {
                totals.errors.iter().filter(|_| !context.output.is_table()).for_each(|error| {
                    context.output.tell(&format!(
                        "item {}: {}",
                        plain(&error["index"]),
                        plain(&error["error"])
                    ));
                });
                Ok(EXIT_FAILURE)
            }
        }
    }
}

/// Splits the items into requests that the server takes.
fn batches(items: &[Value]) -> Vec<&[Value]> {
    let (mut batches, mut start, mut bytes) = (Vec::new(), 0, 0);
    for (at, item) in items.iter().enumerate() {
        let length = item.to_string().len();
        if at > start && (at - start == BATCH_ITEMS || bytes + length > BATCH_BYTES) {
            batches.push(&items[start..at]);
            (start, bytes) = (at, 0);
        }
        bytes += length;
    }
    // An empty list is sent too: the server says what it makes of it.
    batches.push(&items[start..]);
    batches
}

/// Returns a warning about an item of a batch with the place of the item in the file.
fn shift_place(mut warning: Value, items_before: usize) -> Value {
    let shifted = warning["field"].as_str().and_then(|field| {
        let (index, rest) = field.strip_prefix('[')?.split_once(']')?;
        Some(format!("[{}]{rest}", index.parse::<usize>().ok()? + items_before))
    });
    if let Some(field) = shifted {
        warning["field"] = field.into();
    }
    warning
}

/// The reports of all batches as one.
#[derive(Default)]
struct ImportTotals {
    answers: usize,
    /// Number of items in the batches so far.
    items: usize,
    first: Value,
    imported: u64,
    failed: u64,
    unchanged: u64,
    skipped: u64,
    errors: Vec<Value>,
    results: Vec<Value>,
    warnings: Vec<Value>,
}

impl ImportTotals {
    fn add(&mut self, answer: Value, items: usize) {
        let report = &answer["data"];
        let count = |name: &str| report[name].as_u64().unwrap_or(0);
        self.imported += count("imported");
        self.failed += count("failed");
        self.unchanged += count("unchanged");
        self.skipped += count("skipped");
        let moved = |entry: &Value| {
            let mut entry = entry.clone();
            if let Some(index) = entry["index"].as_u64() {
                entry["index"] = (index + u64::try_from(self.items).unwrap_or(0)).into();
            }
            entry
        };
        let entries = |name: &str| report[name].as_array().cloned().unwrap_or_default();
        self.errors.extend(entries("errors").iter().map(moved));
        self.results.extend(entries("results").iter().map(moved));
        let items_before = self.items;
        self.warnings
            .extend(entries("warnings").into_iter().map(|warning| shift_place(warning, items_before)));
        self.items += items;
        self.answers += 1;
        if self.answers == 1 {
            self.first = answer;
        }
    }

    /// Returns the answer of the server; one of the same shape when there were several.
    fn answer(&self) -> Value {
        if self.answers == 1 {
            return self.first.clone();
        }
        let mut report = self.first["data"].clone();
        for (name, count) in [
            ("imported", self.imported),
            ("failed", self.failed),
            ("unchanged", self.unchanged),
            ("skipped", self.skipped),
        ] {
            report[name] = count.into();
        }
        report["errors"] = self.errors.clone().into();
        report["results"] = self.results.clone().into();
        if report["warnings"].is_array() {
            report["warnings"] = self.warnings.clone().into();
        }
        json!({"data": report})
    }

    /// Returns the rows worth a line: what failed, and all of it when there are few.
    fn rows(&self) -> Vec<Value> {
        let failed = self
            .errors
            .iter()
            .map(|error| json!({"index": error["index"], "action": "failed", "error": error["error"]}));
        let imported = self.results.iter().filter(|_| self.results.len() <= 50).cloned();
        let mut rows: Vec<Value> = imported.chain(failed).collect();
        rows.sort_by_key(|row| row["index"].as_u64());
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_split_by_number_and_by_size() {
        let small = vec![json!({}); 1200];
        assert_eq!(batches(&small).iter().map(|batch| batch.len()).collect::<Vec<_>>(), [500, 500, 200]);
        let large = vec![json!("x".repeat(3 * 1024 * 1024)); 3];
        assert_eq!(batches(&large).len(), 3);
        assert_eq!(batches(&[]).len(), 1);
    }

    #[test]
    fn batch_reports_merge_with_places_in_the_file() {
        let report = |failed: u64| {
            json!({"data": {"dry_run": false, "imported": 1, "failed": failed, "unchanged": 0, "skipped": 0,
                "errors": [{"index": 1, "error": "no"}], "results": [{"index": 0, "id": "a", "action": "created"}]}})
        };
        let mut totals = ImportTotals::default();
        totals.add(report(1), 500);
        assert_eq!(totals.answer(), report(1));
        totals.add(report(1), 2);
        let answer = totals.answer();
        assert_eq!(answer["data"]["imported"], 2);
        assert_eq!(answer["data"]["errors"][1]["index"], 501);
        assert_eq!(answer["data"]["results"][1]["index"], 500);
        let warning = json!({"field": "[1].tasks[0]", "message": "m"});
        assert_eq!(shift_place(warning, 500)["field"], "[501].tasks[0]");
    }
}
