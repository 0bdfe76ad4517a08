//! `channels stats`, `channels quotas`, `channels test`: the refusals of a channel by inner reason, the use of its quota,
//! and the trial of a request.

use clap::Args;
use serde_json::{Map, Value, json};
use svc_client::{ApiRequest, Method};

use super::channels::CHANNELS;
use crate::commands::runs::send::parse_header;
use crate::context::CommandContext;
use crate::error::{CliError, EXIT_FAILURE};
use crate::input::InputArgs;
use crate::output::{CellKind, TableColumn, TableLayout, plain};
use crate::watch::{WatchArgs, WatchFrame};

const REFUSALS: TableLayout = TableLayout {
    id: "reason",
    columns: &[
        TableColumn::new("GUARD", "guard", CellKind::Id),
        TableColumn::new("STATUS", "status", CellKind::Number),
        TableColumn::new("REASON", "reason", CellKind::Id),
        TableColumn::new("COUNT", "count", CellKind::Number),
        TableColumn::new("LAST SEEN", "last_seen", CellKind::Time).optional(1),
        TableColumn::new("EXPLANATION", "explanation", CellKind::Text).optional(2).movable(),
    ],
};

const VERDICTS: TableLayout = TableLayout {
    id: "guard",
    columns: &[
        TableColumn::new("GUARD", "guard", CellKind::Id),
        TableColumn::new("RESULT", "result", CellKind::State),
        TableColumn::new("NOTE", "note", CellKind::Text).optional(1).movable(),
    ],
};

const QUOTA_KEYS: TableLayout = TableLayout {
    id: "key",
    columns: &[
        TableColumn::new("KEY", "key", CellKind::Id),
        TableColumn::new("USED", "used", CellKind::Number),
        TableColumn::new("REMAINING", "remaining", CellKind::Number),
        TableColumn::new("RESETS IN SECS", "resets_in_secs", CellKind::Number).optional(1),
    ],
};

/// The options of the counts.
#[derive(Args, Debug)]
pub(crate) struct ChannelStatsArgs {
    /// Id of the channel
    id: String,
    #[command(flatten)]
    watch: WatchArgs,
}

/// The request of a trial.
#[derive(Args, Debug)]
pub(crate) struct GuardTrialArgs {
    /// Id of the channel
    id: String,
    #[command(flatten)]
    body: InputArgs,
    /// Method of the request
    #[arg(long, default_value = "POST")]
    method: Method,
    /// Path of the request, as its client sends it; without it the route is not tried
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// A header, <name>: <value>; may be repeated
    #[arg(long = "header", value_name = "HEADER", value_parser = parse_header)]
    headers: Vec<(String, String)>,
}

/// Shows what this node has counted.
pub(super) async fn show_stats(args: &ChannelStatsArgs, context: &CommandContext) -> Result<u8, CliError> {
    let draw = async || {
        let answer = context.fetch(&ApiRequest::get(CHANNELS.path(&[&args.id, "stats"]))).await?;
        let refusals = answer["data"]["refusals"].as_array().cloned().unwrap_or_default();
        let frame = WatchFrame::list(context, &answer, &refusals, &REFUSALS, "refusals")?;
        let unserved = describe_unserved(&answer["data"]).filter(|_| context.output.is_table());
        Ok(WatchFrame { note: unserved.or(frame.note), ..frame })
    };
    args.watch.show(context, draw).await
}

/// Returns why a channel refuses every request, whatever its guards say; `None` for one that serves.
fn describe_unserved(stats: &Value) -> Option<String> {
    match (stats["quarantined"].as_str(), stats["served"].as_bool()) {
        (Some(reason), _) => Some(format!(
            "the channel is quarantined on this node and refuses every request with 503: {reason}"
        )),
        (None, Some(false)) => Some("the channel does not serve on this node".to_owned()),
        (None, _) => None,
    }
}

/// Shows the use of the quota of a channel, over all nodes.
pub(super) async fn show_quota(args: &ChannelStatsArgs, context: &CommandContext) -> Result<u8, CliError> {
    let draw = async || {
        let answer = context.fetch(&ApiRequest::get(CHANNELS.path(&[&args.id, "quotas"]))).await?;
        let keys = answer["data"]["keys"].as_array().cloned().unwrap_or_default();
        WatchFrame::list(context, &answer, &keys, &QUOTA_KEYS, "keys")
    };
    args.watch.show(context, draw).await
}

/// Tries a request; exits with 1 if it would be refused.
pub(super) async fn try_request(args: &GuardTrialArgs, context: &CommandContext) -> Result<u8, CliError> {
    let request = ApiRequest::post(CHANNELS.path(&[&args.id, "test"])).json(&args.to_json()?)?;
    let answer = context.fetch(&request.repeatable()).await?;
    let data = &answer["data"];
    let guards = data["guards"].as_array().cloned().unwrap_or_default();
    context.output.print(&context.output.list(&answer, &guards, &VERDICTS)?)?;
    let refusal = &data["refusal"];
    if refusal.is_null() {
        context.output.note("no guard would refuse the request");
        return Ok(0);
    }
    let [guard, reason, status, explanation] =
        ["guard", "reason", "status", "explanation"].map(|key| plain(&refusal[key]));
    context.output.note(&format!("{guard} would refuse the request with {status}, {reason}: {explanation}"));
    Ok(EXIT_FAILURE)
}

impl GuardTrialArgs {
    /// Returns the body of the call.
    fn to_json(&self) -> Result<Value, CliError> {
        let mut request = json!({"method": self.method.as_str(), "headers": group_headers(&self.headers)});
        if let Some(path) = &self.path {
            request["path"] = path.as_str().into();
        }
        if let Some(document) = self.body.read()? {
            request["body"] = document.text.into();
        }
        Ok(request)
    }
}

/// Groups the values of headers by their names, those of one name in their order.
fn group_headers(headers: &[(String, String)]) -> Value {
    let mut grouped: Map<String, Value> = Map::new();
    for (name, value) in headers {
        let values = grouped.entry(name.clone()).or_insert_with(|| json!([]));
        if let Some(values) = values.as_array_mut() {
            values.push(value.as_str().into());
        }
    }
    Value::Object(grouped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_headers_are_grouped_in_order() {
        let headers = [("x-a", "1"), ("x-b", "2"), ("x-a", "3")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(group_headers(&headers), json!({"x-a": ["1", "3"], "x-b": ["2"]}));
    }
}
