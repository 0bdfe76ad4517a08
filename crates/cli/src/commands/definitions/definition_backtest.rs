//! `workflows backtest` and `channels backtest`: a version over the recorded runs of a server, and the differences.

use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value, json};
use svc_client::{ApiRequest, admin_path};
use svc_toolkit::{write_backtest_junit, write_recorded_case};

use crate::advice::advise;
use crate::commands::entity::EntityGroup;
use crate::context::CommandContext;
use crate::error::{CliError, EXIT_FAILURE, EXIT_USAGE};
use crate::moment::parse_moment;
use crate::output::{plain, printable};

/// The time between two looks at a backtest that goes on.
const INTERVAL: Duration = Duration::from_millis(500);

/// The states of a backtest that goes on.
const OPEN: [&str; 3] = ["pending", "running", "aborting"];

/// The names of the kinds of differences.
const KINDS: [&str; 9] = [
    "same",
    "different-answer",
    "different-path",
    "new-error",
    "error-gone",
    "new-call",
    "missing-call",
    "changed-input",
    "not-comparable",
];

/// The options of a backtest.
#[derive(Args, Debug)]
pub(crate) struct DefinitionBacktestArgs {
    /// Id of the workflow or channel
    id: String,
    /// Number of the version; the draft without it
    #[arg(long, value_name = "N")]
    version: Option<u64>,
    /// Recorded runs of the channel of this name alone
    #[arg(long)]
    channel: Option<String>,
    /// Recorded runs with this end alone: completed, failed, timed_out or cancelled
    #[arg(long)]
    outcome: Option<String>,
    /// Recorded runs from this time on: RFC 3339, or a time ago such as 15m, 2h, 1d
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_moment)]
    since: Option<String>,
    /// At most so many recorded runs, the newest first
    #[arg(long, default_value_t = 1000, value_name = "N")]
    limit: u64,
    /// Path that is not compared, such as data.at or input.params[1]; several with several options
    #[arg(long, value_name = "PATH")]
    ignore: Vec<String>,
    /// Exit with 1 if a run has a difference of one of these kinds
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = KINDS)]
    fail_on: Vec<String>,
    /// File for the report as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Directory for a test case of the first run of each group of differences
    #[arg(long, value_name = "DIR", requires = "workflow_file")]
    cases: Option<PathBuf>,
    /// File of the workflow, which the test cases name
    #[arg(long, value_name = "FILE", requires = "cases")]
    workflow_file: Option<PathBuf>,
}

impl DefinitionBacktestArgs {
    fn body(&self) -> Value {
        let words = [("channel", &self.channel), ("outcome", &self.outcome), ("since", &self.since)];
        let filter: Map<String, Value> = words
            .into_iter()
            .filter_map(|(word, value)| Some((word.to_owned(), value.clone()?.into())))
            .collect();
        let mut body = json!({"filter": filter, "limit": self.limit, "ignore": self.ignore});
        if let Some(version) = self.version {
            body["version"] = version.into();
        }
        body
    }
}

/// Starts a backtest, waits for its end and prints the report. The exit code is 1 for a difference of `--fail-on`
/// alone, and 2 for a backtest that did not complete, whatever the reason.
pub(super) async fn run_backtest(
    group: &EntityGroup,
    args: &DefinitionBacktestArgs,
    context: &CommandContext,
) -> Result<u8, CliError> {
    let error = match make_backtest(group, args, context).await {
        Err(CliError::Client(error)) => advise(error, context).await,
        Err(error) if error.exit_code() != 0 => error,
        done => return done,
    };
    error.write(&mut io::stderr(), context.output.is_verbose);
    Ok(EXIT_USAGE)
}

async fn make_backtest(
    group: &EntityGroup,
    args: &DefinitionBacktestArgs,
    context: &CommandContext,
) -> Result<u8, CliError> {
    let request = ApiRequest::post(group.path(&[&args.id, "backtest"])).json(&args.body())?;
    let started = context.fetch(&request).await?;
    let id = plain(&started["data"]["id"]);
    let look = ApiRequest::get(admin_path(&["backtests", &id]));
    let answer = loop {
        let answer = context.fetch(&look).await?;
        let is_open = answer["data"]["state"].as_str().is_some_and(|state| OPEN.contains(&state));
        if !is_open {
            break answer;
        }
        tokio::time::sleep(INTERVAL).await;
    };
    let (backtest, report) = (&answer["data"], &answer["data"]["report"]);
    let text = match context.output.is_table() {
        true => describe(backtest),
        false => context.output.record(&answer, backtest, "id")?,
    };
    context.output.print(&text)?;
    if let Some(path) = &args.junit {
        write_junit(report, &args.fail_on, path)?;
    }
    if let (Some(directory), Some(workflow)) = (&args.cases, &args.workflow_file) {
        save_cases(report, workflow, directory, context).await?;
    }
    let fails = args.fail_on.iter().any(|kind| report["kinds"][kind].as_u64().unwrap_or_default() > 0);
    Ok(match (backtest["state"] == "completed", fails) {
        (false, _) => EXIT_USAGE,
        (true, true) => EXIT_FAILURE,
        (true, false) => 0,
    })
}

/// Writes the report as JUnit XML.
fn write_junit(report: &Value, fail_on: &[String], path: &Path) -> Result<(), CliError> {
    let written = File::create(path).and_then(|mut file| write_backtest_junit(report, fail_on, &mut file));
    written.map_err(|source| CliError::File { path: path.to_owned(), source })
}

/// Writes a test case of the first run of each group of differences.
async fn save_cases(
    report: &Value,
    workflow: &Path,
    directory: &Path,
    context: &CommandContext,
) -> Result<(), CliError> {
    let mut written = 0;
    for group in report["groups"].as_array().into_iter().flatten() {
        let (Some(kind), Some(id)) = (kind_of_case(group), group["samples"][0]["id"].as_str()) else {
            continue;
        };
        let recording = context.fetch(&ApiRequest::get(admin_path(&["recordings", id]))).await?;
        written += 1;
        let name = format!("{kind}: {}", plain(&group["subject"]));
        let file = directory.join(format!("{kind}-{written}.case.json"));
        let saved = write_recorded_case(&recording, &name, workflow, &file);
        saved.map_err(|cause| CliError::Input { place: "--cases".to_owned(), cause })?;
    }
    context.output.note(&format!("Wrote {written} test case(s) to {}.", directory.display()));
    Ok(())
}

/// Returns the kind of a group of which a case is made: one of the known ones, because a file is named by it. A run that
/// cannot be compared expects nothing that a case could hold.
fn kind_of_case(group: &Value) -> Option<&'static str> {
    KINDS.into_iter().find(|kind| group["kind"] == *kind && *kind != "not-comparable")
}

/// Describes a backtest that has ended, for people.
fn describe(backtest: &Value) -> String {
    let report = &backtest["report"];
    let mut text = format!("{}: {} recorded runs\n", plain(&backtest["state"]), plain(&backtest["done"]));
    if let Some(reason) = backtest["reason"].as_str() {
        let _ = writeln!(text, "  {}", printable(reason));
    }
    for kind in KINDS {
        let count = report["kinds"][kind].as_u64().unwrap_or_default();
        if count > 0 {
            let _ = writeln!(text, "  {count:>7}  {kind}");
        }
    }
    let not_judged = report["guards"]["not_judged"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !not_judged.is_empty() {
        let names: Vec<String> = not_judged.iter().map(plain).collect();
        let _ = writeln!(text, "  guards that recordings cannot judge: {}", names.join(", "));
    }
    for group in report["groups"].as_array().into_iter().flatten() {
        let [kind, subject, runs] = ["kind", "subject", "runs"].map(|member| plain(&group[member]));
        let _ = writeln!(text, "\n{kind}: {subject} ({runs} run(s))");
        for sample in group["samples"].as_array().into_iter().flatten() {
            let _ = writeln!(text, "  run {}", plain(&sample["run_key"]));
            for line in sample["lines"].as_array().into_iter().flatten() {
                let _ = writeln!(text, "    {}", plain(line));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_cases_have_known_names() {
        let kind = |kind: &str| kind_of_case(&json!({ "kind": kind }));
        assert_eq!(kind("new-call"), Some("new-call"));
        for other in ["not-comparable", "../../new-call", ""] {
            assert_eq!(kind(other), None, "{other}");
        }
    }

    #[test]
    fn report_is_described_by_kinds_and_groups() {
        let backtest = json!({"state": "completed", "done": 3, "reason": "a\u{1b}[2J", "report": {"runs": 3,
            "kinds": {"same": 2, "different-answer": 1},
            "groups": [{"kind": "different-answer", "subject": "data.sum", "runs": 1,
                "samples": [{"id": "r", "run_key": "k", "lines": ["data.sum: expected 1, got 2"]}]}]}});
        let expected = "completed: 3 recorded runs\n  a\\u{1b}[2J\n        2  same\n        1  different-answer\n\n\
            different-answer: data.sum (1 run(s))\n  run k\n    data.sum: expected 1, got 2\n";
        assert_eq!(describe(&backtest), expected);
    }
}
