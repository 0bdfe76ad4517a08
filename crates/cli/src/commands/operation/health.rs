//! `health`: the state of the server and of its components.

use std::iter;

use clap::Args;
use serde_json::{Value, json};
use svc_client::{ApiRequest, ClientError, StatusCode};

use crate::context::CommandContext;
use crate::error::{CliError, EXIT_FAILURE};
use crate::output::{CellKind, TableColumn, TableLayout, plain};
use crate::remedy::as_commands;
use crate::watch::{WatchArgs, WatchFrame};

const COMPONENTS: TableLayout = TableLayout {
    id: "component",
    columns: &[
        TableColumn::new("COMPONENT", "component", CellKind::Id),
        TableColumn::new("STATE", "state", CellKind::State),
        TableColumn::new("REASON", "reason", CellKind::Text),
    ],
};

/// The options of the command.
#[derive(Args, Debug)]
pub(crate) struct HealthArgs {
    #[command(flatten)]
    watch: WatchArgs,
}

/// Shows the health; exits with 1 when a component is degraded.
pub(crate) async fn run(args: &HealthArgs, context: &CommandContext) -> Result<u8, CliError> {
    args.watch.show(context, async || draw(context).await).await
}

async fn draw(context: &CommandContext) -> Result<WatchFrame, CliError> {
    // A server without its database answers 503 and says so in the body.
    let response = context.exchange(&ApiRequest::get("/health")).await?;
    let body: Value = match response.status {
        StatusCode::OK | StatusCode::SERVICE_UNAVAILABLE => response.json()?,
        // The usual error of any other answer.
        _ => context.fetch(&ApiRequest::get("/health")).await?,
    };
    let status = body["status"].as_str().ok_or_else(|| {
        CliError::Client(ClientError::Shape {
            request: "GET /health".to_owned(),
            cause: "it has no status".to_owned(),
        })
    })?;
    let components = body["components"].as_object();
    let is_well = status == "ok" && components.into_iter().flatten().all(|(_, state)| state == "ok");
    let text = if context.output.is_quiet {
        format!("{}\n", plain(&body["status"]))
    } else if context.output.is_table() {
        let rows: Vec<_> =
            components.into_iter().flatten().map(|(name, state)| row(name, state, &body)).collect();
        let head = format!(
            "{status}, version {}, up {}\n\n",
            plain(&body["version"]),
            uptime(body["uptime_seconds"].as_u64().unwrap_or(0))
        );
        head + &context.output.list(&body, &rows, &COMPONENTS)? + &remarks(&body)
    } else {
        context.output.document(&body)?
    };
    let note = version_note(&body).filter(|_| context.output.is_table());
    Ok(WatchFrame { text, note, code: if is_well { 0 } else { EXIT_FAILURE } })
}

/// Returns a warning when the server is of another version.
fn version_note(body: &Value) -> Option<String> {
    let (server, own) = (body["version"].as_str().unwrap_or_default(), env!("CARGO_PKG_VERSION"));
    (server != own).then(|| format!("warning: the server is version {server} and svc-cli {own}"))
}

/// Returns the remarks of the server about what is no failure, a line each.
fn remarks(body: &Value) -> String {
    let notes: Vec<_> =
        elements(&body["notes"]).map(|note| format!("note: {}\n", as_commands(&plain(note)))).collect();
    if notes.is_empty() { String::new() } else { format!("\n{}", notes.concat()) }
}

/// Returns the row of a component, with the reasons that an operator sees.
fn row(name: &str, state: &Value, body: &Value) -> Value {
    let detail = &body[name];
    let reasons = match name {
        "connectors" => named_reasons(&detail["failed_to_load"], "connector"),
        "channels" => {
            let quarantined = named_reasons(&detail["quarantined"], "channel");
            let paused = named_reasons(&detail["paused"], "channel").into_iter();
            quarantined.into_iter().chain(paused.map(|pause| format!("paused {pause}"))).collect()
        }
        "kafka" => {
            iter::once(&detail["problem"]).chain(elements(&detail["ingest"])).filter_map(text).collect()
        }
        _ => text(&detail["reason"]).into_iter().collect(),
    };
    json!({"component": name, "state": state, "reason": as_commands(&reasons.join("; "))})
}

/// Returns the reasons of a list, each with the name that is under `subject`.
fn named_reasons(list: &Value, subject: &str) -> Vec<String> {
    elements(list).map(|item| format!("{}: {}", plain(&item[subject]), plain(&item["reason"]))).collect()
}

fn elements(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Returns a number of seconds in its two largest units.
fn uptime(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min {} s", seconds % 60),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uptime_has_its_two_largest_units() {
        for (seconds, expected) in [(7, "7 s"), (67, "1 min 7 s"), (3_720, "1 h 2 min"), (180_000, "2 d 2 h")]
        {
            assert_eq!(uptime(seconds), expected);
        }
    }
}
