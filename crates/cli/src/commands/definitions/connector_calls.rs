//! `connectors calls`: the last calls of a connector on one node, with its breakers and its token.

use clap::Args;
use serde_json::Value;
use svc_client::ApiRequest;

use super::connectors::{CONNECTORS, resolve};
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CellKind, TableColumn, TableLayout, plain};
use crate::watch::{WatchArgs, WatchFrame};

const CALLS: TableLayout = TableLayout {
    id: "ended_at",
    columns: &[
        TableColumn::new("ENDED", "ended_at", CellKind::Time),
        TableColumn::new("CHANNEL", "channel", CellKind::Id),
        TableColumn::new("FUNCTION", "function", CellKind::Id).optional(2),
        TableColumn::new("TARGET", "target", CellKind::Text).optional(1).movable(),
        TableColumn::new("OUTCOME", "outcome", CellKind::State),
        TableColumn::new("MS", "ms", CellKind::Number),
        TableColumn::new("ATTEMPTS", "attempts", CellKind::Number).optional(3),
    ],
};

/// The options of the calls.
#[derive(Args, Debug)]
pub(crate) struct ConnectorCallsArgs {
    /// Name or id of the connector
    id: String,
    #[command(flatten)]
    watch: WatchArgs,
}

/// Lists the calls, the newest first.
pub(super) async fn list_calls(args: &ConnectorCallsArgs, context: &CommandContext) -> Result<u8, CliError> {
    let id = resolve(&args.id, context).await?;
    let draw = async || {
        let answer = context.fetch(&ApiRequest::get(CONNECTORS.path(&[&id, "calls"]))).await?;
        let calls = answer["data"]["calls"].as_array();
        let rows: Vec<Value> = calls.into_iter().flatten().map(add_outcome).collect();
        WatchFrame::list(context, &answer, &rows, &CALLS, "calls")
    };
    args.watch.show(context, draw).await
}

/// Adds the outcome of a call in one word: the code of its error, with the status of an HTTP answer.
fn add_outcome(call: &Value) -> Value {
    let mut row = call.clone();
    row["outcome"] = match (call["ok"].as_bool(), call["http_status"].as_u64()) {
        (Some(true), _) => "ok".into(),
        (_, Some(status)) => format!("{} {status}", plain(&call["code"])).into(),
        (_, None) => call["code"].clone(),
    };
    row
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn outcome_is_code_with_status() {
        for (call, expected) in [
            (json!({"ok": true, "code": null}), "ok"),
            (json!({"ok": false, "code": "http", "http_status": 502}), "http 502"),
            (json!({"ok": false, "code": "timeout", "http_status": null}), "timeout"),
        ] {
            assert_eq!(add_outcome(&call)["outcome"], expected, "{call}");
        }
    }
}
