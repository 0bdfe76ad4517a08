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

/// The note of a report without reasons.
const WITHHELD: &str = "note: the server gives its reasons to admin keys alone, and got none that it accepts; one \
                        comes from --api-key, SVC_API_KEY or 'svc-cli config set api_key <key>'";
/// Milliseconds in a handler after which the server counts an actor as blocked.
const BLOCKED: u64 = 1_000;
/// Reasons of a component that are listed.
const LISTED: usize = 10;

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
        head_line(&body) + &context.output.list(&body, &rows, &COMPONENTS)? + &remarks(&body)
    } else {
        context.output.document(&body)?
    };
    let withheld = (!is_well && body["git_hash"].is_null()).then(|| WITHHELD.to_owned());
    let notes: Vec<_> = version_note(&body).into_iter().chain(withheld).collect();
    let note = (context.output.is_table() && !notes.is_empty()).then(|| notes.join("\n"));
    Ok(WatchFrame { text, note, code: if is_well { 0 } else { EXIT_FAILURE } })
}

/// Returns the line above the components, with a blank one.
fn head_line(body: &Value) -> String {
    let [status, version] = ["status", "version"].map(|name| plain(&body[name]));
    let up = uptime(body["uptime_seconds"].as_u64().unwrap_or(0));
    format!("{status}, version {version}, up {up}\n\n")
}

/// Returns a warning when the server is of another version.
fn version_note(body: &Value) -> Option<String> {
    let (server, own) = (plain(&body["version"]), env!("CARGO_PKG_VERSION"));
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
    let mut reasons: Vec<String> = match name {
        "connectors" => {
            let failed = named_reasons(&detail["failed_to_load"], "connector");
            failed.into_iter().chain(open_breakers(&detail["circuit_breakers"])).collect()
        }
        "channels" => {
            let quarantined = named_reasons(&detail["quarantined"], "channel");
            let paused = named_reasons(&detail["paused"], "channel").into_iter();
            quarantined.into_iter().chain(paused.map(|pause| format!("paused {pause}"))).collect()
        }
        "kafka" => {
            iter::once(&detail["problem"]).chain(elements(&detail["ingest"])).filter_map(text).collect()
        }
        "plugins" => named_reasons(&detail["failed"], "plugin_id"),
        "config_propagation" => text(&body["epoch"]["problem"]).into_iter().collect(),
        "actors" => elements(&detail["nodes"]).filter_map(describe_trouble).collect(),
        _ => text(&detail["reason"]).into_iter().collect(),
    };
    if reasons.is_empty() && state != "ok" && !body["git_hash"].is_null() {
        reasons.extend(known_reason(name, body).map(str::to_owned));
    }
    if let Some(others) = reasons.len().checked_sub(LISTED).filter(|others| *others > 0) {
        reasons.truncate(LISTED);
        reasons.push(format!("and {others} more ('svc-cli health -o json')"));
    }
    json!({"component": name, "state": state, "reason": as_commands(&reasons.join("; "))})
}

/// Returns the circuit breakers that let no call through.
fn open_breakers(states: &Value) -> impl Iterator<Item = String> {
    let open = states.as_object().into_iter().flatten().filter(|(_, state)| *state == "open");
    open.map(|(key, _)| format!("open circuit breaker {key}"))
}

/// Returns the trouble of an actor; `None` for one that is well.
fn describe_trouble(node: &Value) -> Option<String> {
    let path = plain(&node["path"]);
    match node["state"].as_str() {
        Some("quarantined") => Some(match text(&node["quarantine_reason"]) {
            Some(reason) => format!("quarantined {path}: {reason}"),
            None => format!("quarantined {path}"),
        }),
        Some("restarting") => Some(format!("{path} waits for its restart")),
        _ => {
            let busy = node["busy_ms"].as_u64().filter(|busy| *busy >= BLOCKED)?;
            Some(format!("{path} has handled one message for {busy} ms"))
        }
    }
}

/// Returns the reason of a component that the server states by its name alone.
fn known_reason(name: &str, body: &Value) -> Option<&'static str> {
    Some(match name {
        "engine" => "the part that compiles changes does not run; 'svc-cli actors' shows its state",
        "engine_reload" => {
            "the last reload failed, and what served before still serves; the log of the server has the reason"
        }
        "actors" => "'svc-cli actors' shows them",
        "webhooks" => "this node cannot look for deliveries that are due; 'svc-cli actors' and its database",
        "cron" if body["cron"].is_null() => "channels have schedules, and cron.enabled is off on this node",
        "cron" => "schedules wait for the database",
        _ => return None,
    })
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

    #[test]
    fn texts_of_a_server_steer_no_terminal() {
        let body = json!({"status": "ok\u{1b}[2J", "version": "1\n::error::x", "uptime_seconds": 7});
        assert_eq!(head_line(&body), "ok\\u{1b}[2J, version 1\n\\u{3a}:error::x, up 7 s\n\n");
        assert!(!version_note(&body).unwrap_or_default().contains("\n::"));
    }

    #[test]
    fn degraded_components_have_their_reasons() {
        let body = json!({
            "git_hash": "1",
            "connectors": {"failed_to_load": [], "circuit_breakers": {"a:crm": "open", "b:crm": "closed"}},
            "epoch": {"problem": "the poll fails"},
            "plugins": {"failed": [{"plugin_id": "tax", "reason": "no export"}]},
            "actors": {"nodes": [
                {"path": "store", "state": "running", "busy_ms": null},
                {"path": "keysets", "state": "running", "busy_ms": 2000},
                {"path": "cron", "state": "restarting"},
                {"path": "bulk", "state": "quarantined", "quarantine_reason": "too many ends"},
            ]},
        });
        for (name, expected) in [
            ("connectors", "open circuit breaker a:crm"),
            ("config_propagation", "the poll fails"),
            ("plugins", "tax: no export"),
            (
                "actors",
                "keysets has handled one message for 2000 ms; cron waits for its restart; \
                 quarantined bulk: too many ends",
            ),
            ("cron", "channels have schedules, and cron.enabled is off on this node"),
            ("engine", "the part that compiles changes does not run; 'svc-cli actors' shows its state"),
        ] {
            assert_eq!(row(name, &json!("degraded"), &body)["reason"], expected, "{name}");
        }
        assert_eq!(row("engine", &json!("ok"), &body)["reason"], "");
        assert_eq!(row("engine", &json!("degraded"), &json!({}))["reason"], "", "no key, no reasons");
    }

    #[test]
    fn long_list_of_reasons_is_cut() {
        let failed: Vec<_> = (0..12).map(|n| json!({"plugin_id": n.to_string(), "reason": "r"})).collect();
        let shown = row("plugins", &json!("degraded"), &json!({"plugins": {"failed": failed}}));
        assert!(shown["reason"].as_str().unwrap().contains("9: r; and 2 more ("), "{shown}");
    }
}
