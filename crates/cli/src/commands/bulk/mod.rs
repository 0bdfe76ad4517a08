//! `bulk`: actions on many rows, their progress and their end.

mod run_wait;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Map, Value, json};
use svc_client::{ApiRequest, admin_path};

use super::entity::{show_page, show_record};
use super::several::IdsArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CellKind, TableColumn, TableLayout, plain};
use crate::paging::PageArgs;

pub(super) use run_wait::{RunWaitArgs, show_start};

const RUNS: TableLayout = TableLayout {
    id: "id",
    columns: &[
        TableColumn::new("ID", "id", CellKind::Id),
        TableColumn::new("ACTION", "action", CellKind::Text),
        TableColumn::new("KIND", "kind", CellKind::Text).optional(2),
        TableColumn::new("STATE", "state", CellKind::State),
        TableColumn::new("MATCHED", "matched", CellKind::Number),
        TableColumn::new("DONE", "done", CellKind::Number),
        TableColumn::new("FAILED", "failed", CellKind::Number).optional(1),
        TableColumn::new("SKIPPED", "skipped", CellKind::Number).optional(1),
        TableColumn::new("STARTED", "started_at", CellKind::Time).optional(3),
        TableColumn::new("BY", "started_by", CellKind::Text).optional(4),
    ],
};

const SAMPLES: TableLayout = TableLayout {
    id: "id",
    columns: &[
        TableColumn::new("ID", "id", CellKind::Id),
        TableColumn::new("CHANNEL", "channel", CellKind::Text),
        TableColumn::new("STATUS", "status", CellKind::State).optional(1),
        TableColumn::new("CREATED", "created_at", CellKind::Time).optional(2),
        TableColumn::new("ERROR", "error", CellKind::Text).optional(3).movable(),
    ],
};

/// The commands of actions on many rows.
#[derive(Debug, Subcommand)]
pub(crate) enum BulkCommand {
    /// Act on every row that the filter selects
    Start(BulkStartArgs),
    /// List runs and backfills, newest first
    List {
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show a run with its counts and its first errors
    Get {
        /// Id of the run
        id: String,
    },
    /// Wait for the end of a run; exits with 1 unless it completed without errors
    Wait {
        /// Id of the run
        id: String,
    },
    /// End runs before their next page; what is done stays done
    Abort(IdsArgs),
}

/// The rows and the action.
#[derive(Args, Debug)]
pub(crate) struct BulkStartArgs {
    /// The action
    #[arg(value_enum)]
    action: ActionWord,
    /// The kind of the rows
    #[arg(value_enum)]
    kind: KindWord,
    /// Take rows with this alone, in the words of their list: channel=orders, since=-1h, error_group=…; may be repeated
    #[arg(long = "where", value_name = "WORD=VALUE", value_parser = parse_word)]
    words: Vec<(String, String)>,
    /// Take every row of the kind
    #[arg(long, conflicts_with = "words")]
    all: bool,
    /// Rows a second; 0 for no pace
    #[arg(long, value_name = "N")]
    rate: Option<u32>,
    /// Only show how many rows match, and the oldest of them
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    wait: RunWaitArgs,
}

/// The actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ActionWord {
    /// Make dead letters due at once, with all their retries again
    Requeue,
    /// Delete dead letters
    Purge,
    /// Make another attempt at occurrences
    Retry,
    /// End occurrences, or accepted work
    Cancel,
    /// Submit the inputs of ended runs again
    Rerun,
}

/// The kinds of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum KindWord {
    /// Dead letters
    #[value(alias = "dead_letters")]
    DeadLetters,
    /// Occurrences of schedules
    Occurrences,
    /// Traces
    Traces,
}

impl ActionWord {
    const fn name(self) -> &'static str {
        match self {
            Self::Requeue => "requeue",
            Self::Purge => "purge",
            Self::Retry => "retry",
            Self::Cancel => "cancel",
            Self::Rerun => "rerun",
        }
    }
}

impl KindWord {
    const fn name(self) -> &'static str {
        match self {
            Self::DeadLetters => "dead_letters",
            Self::Occurrences => "occurrences",
            Self::Traces => "traces",
        }
    }
}

/// Reads a word of a filter with its value.
fn parse_word(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((word, value)) if !word.trim().is_empty() => Ok((word.trim().to_owned(), value.to_owned())),
        _ => Err("a word and its value are wanted, such as channel=orders".to_owned()),
    }
}

/// Returns the filter of the words; the values of one that is repeated become a list.
fn make_filter(words: &[(String, String)]) -> Value {
    let mut filter: Map<String, Value> = Map::new();
    for (word, value) in words {
        match filter.get_mut(word) {
            Some(Value::Array(values)) => values.push(value.as_str().into()),
            Some(first) => *first = json!([first.take(), value]),
            None => drop(filter.insert(word.clone(), value.as_str().into())),
        }
    }
    Value::Object(filter)
}

/// Runs a command of actions on many rows.
pub(crate) async fn run(command: BulkCommand, context: &CommandContext) -> Result<u8, CliError> {
    match command {
        BulkCommand::Start(args) => start(args, context).await,
        BulkCommand::List { page } => {
            let request = ApiRequest::get(admin_path(&["bulk"]));
            show_page(page.add_to(request), &RUNS, "bulk runs", context).await
        }
        BulkCommand::Get { id } => {
            show_record(&ApiRequest::get(admin_path(&["bulk", &id])), "id", context).await
        }
        BulkCommand::Wait { id } => run_wait::wait_for_end(&id, context).await,
        BulkCommand::Abort(ids) => {
            ids.for_each(context, async |id: &str| {
                let request = ApiRequest::post(admin_path(&["bulk", id, "abort"]));
                let answer = context.fetch(&request).await?;
                let sentence = format!("Told bulk run '{id}' to end.");
                context.output.print(&context.output.change(Some(&answer), id, &sentence)?)?;
                Ok(0)
            })
            .await
        }
    }
}

async fn start(args: BulkStartArgs, context: &CommandContext) -> Result<u8, CliError> {
    let BulkStartArgs { action, kind, words, all, rate, dry_run, wait } = args;
    let mut body = json!({"kind": kind.name(), "action": action.name(), "filter": make_filter(&words)});
    if all {
        body["all"] = true.into();
    }
    if let Some(rate) = rate {
        body["rate_per_second"] = rate.into();
    }
    if dry_run {
        return show_dry_run(body, context).await;
    }
    if action == ActionWord::Purge {
        confirm_purge(body.clone(), context).await?;
    }
    let answer = context.fetch(&ApiRequest::post(admin_path(&["bulk"])).json(&body)?).await?;
    let id = plain(&answer["data"]["id"]);
    let sentence = format!("Started bulk run '{id}'.");
    show_start(&answer, &id, &sentence, &wait, context).await
}

/// Fetches the number of the rows that match, and the oldest of them.
async fn fetch_dry_run(mut body: Value, context: &CommandContext) -> Result<Value, CliError> {
    body["dry_run"] = true.into();
    context.fetch(&ApiRequest::post(admin_path(&["bulk"])).json(&body)?).await
}

async fn show_dry_run(body: Value, context: &CommandContext) -> Result<u8, CliError> {
    let answer = fetch_dry_run(body, context).await?;
    let samples = answer["data"]["samples"].as_array().cloned().unwrap_or_default();
    context.output.print(&context.output.list(&answer, &samples, &SAMPLES)?)?;
    if context.output.is_table() {
        let matched = plain(&answer["data"]["matched"]);
        let note = match samples.len() {
            0 => "no row matches".to_owned(),
            shown => format!("{matched} row(s) match; the oldest {shown} are shown"),
        };
        context.output.note(&note);
    }
    Ok(0)
}

/// States what a purge loses, and asks.
async fn confirm_purge(body: Value, context: &CommandContext) -> Result<(), CliError> {
    let filter = body["filter"].clone();
    let answer = fetch_dry_run(body, context).await?;
    let matched = plain(&answer["data"]["matched"]);
    let of = describe_channels(&filter, &answer["data"]);
    context.output.note(&format!(
        "{matched} dead letters{of} are lost with their payloads, for ever: their work ends as failed, and nothing can \
         requeue it"
    ));
    context.confirm(&format!("Delete {matched} dead letters?"))
}

/// Returns the channels of the rows that match: those that the filter names, else those of the samples.
fn describe_channels(filter: &Value, dry_run: &Value) -> String {
    let samples = dry_run["samples"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_named = !filter["channel"].is_null();
    let mut channels: Vec<_> = match &filter["channel"] {
        Value::Null => samples.iter().map(|row| plain(&row["channel"])).collect(),
        Value::Array(names) => names.iter().map(plain).collect(),
        name => vec![plain(name)],
    };
    channels.sort_unstable();
    channels.dedup();
    let shown = u64::try_from(samples.len()).unwrap_or(u64::MAX);
    let has_others = !is_named && dry_run["matched"].as_u64() > Some(shown);
    match channels.as_slice() {
        [] => String::new(),
        channels if has_others => format!(" (of {} and others)", channels.join(", ")),
        channels => format!(" (of {})", channels.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn purge_names_the_channels_of_its_filter() {
        let dry_run =
            json!({"matched": 30, "samples": [{"channel": "b"}, {"channel": "a"}, {"channel": "b"}]});
        assert_eq!(describe_channels(&json!({"tag": "t"}), &dry_run), " (of a, b and others)");
        assert_eq!(describe_channels(&json!({"channel": "b"}), &dry_run), " (of b)");
        assert_eq!(describe_channels(&json!({"channel": ["b", "c"]}), &dry_run), " (of b, c)");
        let all = json!({"matched": 1, "samples": [{"channel": "a"}]});
        assert_eq!(describe_channels(&json!({}), &all), " (of a)");
    }

    #[test]
    fn repeated_words_become_lists() {
        let words =
            ["channel=a", "since=-1h", "channel=b", "channel=c"].map(|text| parse_word(text).unwrap());
        assert_eq!(make_filter(&words), json!({"channel": ["a", "b", "c"], "since": "-1h"}));
        assert_eq!(parse_word("error_code=a=b").unwrap(), ("error_code".to_owned(), "a=b".to_owned()));
        for bad in ["channel", "=a", ""] {
            assert!(parse_word(bad).is_err(), "{bad}");
        }
    }
}
