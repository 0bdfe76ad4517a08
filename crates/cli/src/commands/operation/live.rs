//! `live`: what happens on a node, line by line.

use clap::Args;
use serde_json::{Value, json};
use svc_client::{ApiRequest, ServerEvent, admin_path};

use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{json_line, plain};

/// The options of the command.
#[derive(Args, Debug)]
pub(crate) struct LiveArgs {
    /// Show the state once, and end
    #[arg(long)]
    once: bool,
    /// Add the history to the first event: hour, day or both, separated by commas
    #[arg(long, value_name = "SPANS")]
    history: Option<String>,
}

/// Shows each event of the stream as a line, until the server ends it or the command is interrupted.
pub(crate) async fn run(args: &LiveArgs, context: &CommandContext) -> Result<u8, CliError> {
    let request = ApiRequest::get(admin_path(&["live"]))
        .optional("once", args.once.then_some(true))
        .optional("history", args.history.as_deref());
    let mut events = context.client.events(&request).await?;
    loop {
        let event = tokio::select! {
            interrupted = tokio::signal::ctrl_c() => {
                // Without the signal handler, the signal ends the process by itself.
                let _unavailable = interrupted;
                return Ok(0);
            }
            event = events.next() => event?,
        };
        let Some(event) = event else {
            context.output.note("the stream has ended");
            return Ok(1);
        };
        let data: Value = serde_json::from_str(&event.data).unwrap_or_default();
        let is_table = context.output.is_table();
        if event.name == "end" {
            if !is_table {
                context.output.print(&document(&event, &data))?;
            } else if !args.once {
                context.output.note(&format!("the server has ended the stream: {}", plain(&data["reason"])));
            }
            return Ok(u8::from(!args.once));
        }
        context.output.print(&if is_table { lines(&data) } else { document(&event, &data) })?;
    }
}

/// Returns an event as one line of JSON.
fn document(event: &ServerEvent, data: &Value) -> String {
    json_line(&json!({"event": event.name, "id": event.id, "data": data}))
}

/// Returns a line with the figures, and one for each run that did not complete.
fn lines(data: &Value) -> String {
    let (traffic, counts, totals) = (&data["traffic"], &data["counts"], &data["tree"]["totals"]);
    let number = |value: &Value| value.as_f64().unwrap_or_default();
    let latency = traffic["p99_ms"].as_f64().map_or_else(|| "-".to_owned(), |p99| format!("{p99:.1} ms"));
    let sum = |names: &[&str]| names.iter().filter_map(|name| counts[*name].as_u64()).sum::<u64>();
    let waiting = sum(&["waiting_paused", "waiting_scheduled", "waiting_share", "waiting_retrying"]);
    let dead = sum(&["dead_letters_waiting", "dead_letters_exhausted"]);
    let mut text = format!(
        "{}  {:.1}/s  errors {:.1}/s  p99 {latency}  queue {}  waiting {waiting}  due {}  dead {dead}  restarts {}  quarantined {}\n",
        plain(&data["at"]),
        number(&traffic["requests"]),
        number(&traffic["errors"]),
        plain(&counts["queue_depth"]),
        plain(&counts["occurrences_due"]),
        plain(&totals["restarts"]),
        plain(&counts["channels_quarantined"]),
    );
    for run in data["runs"].as_array().into_iter().flatten().filter(|run| run["status"] != "completed") {
        let part = |name: &str| plain(&run[name]);
        text.push_str(&format!(
            "  {}  {}  {}  {}\n",
            part("status"),
            part("channel"),
            part("id"),
            part("error_code")
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_is_a_line_and_its_failed_runs() {
        let data = json!({"at": "2026-01-02T12:00:00Z", "traffic": {"requests": 12.5, "errors": 1, "p99_ms": 20.25},
            "counts": {"queue_depth": 3, "waiting_paused": 2, "waiting_share": 1, "occurrences_due": 0,
                "dead_letters_waiting": 3, "dead_letters_exhausted": 1, "channels_quarantined": 0},
            "tree": {"totals": {"restarts": 5}},
            "runs": [{"status": "completed"},
                {"status": "failed", "channel": "orders", "id": "a", "error_code": "HTTP_ERROR"}]});
        let expected = "2026-01-02T12:00:00Z  12.5/s  errors 1.0/s  p99 20.2 ms  queue 3  waiting 3  due 0  dead 4  \
                        restarts 5  quarantined 0\n  failed  orders  a  HTTP_ERROR\n";
        assert_eq!(lines(&data), expected);
    }
}
