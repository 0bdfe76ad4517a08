//! `rollout`: canaries that move by themselves.

use std::time::Duration;

use clap::Subcommand;
use serde_json::{Value, json};
use svc_client::ApiRequest;

use super::workflows::{WORKFLOWS, parse_object};
use crate::context::CommandContext;
use crate::error::{CliError, EXIT_FAILURE};
use crate::output::{plain, printable};

/// Time between two looks of `watch`.
const POLL: Duration = Duration::from_secs(2);

/// The commands of rollouts.
#[derive(Debug, Subcommand)]
pub(crate) enum RolloutCommand {
    /// Show the rollout at each of its changes, until it ends; exits with 1 when it was rolled back or aborted
    Watch {
        /// Id of the workflow
        id: String,
        /// Show it once
        #[arg(long)]
        once: bool,
    },
    /// Let the share of the newest active version rise by itself
    Begin {
        /// Id of the workflow
        id: String,
        /// The plan: steps, and interval_secs, gate and on_rollback if the defaults do not fit
        #[arg(long, value_name = "JSON")]
        plan: String,
        /// End another rollout of the workflow
        #[arg(long = "override")]
        overrides: bool,
    },
    /// Leave the shares as they are until it is resumed
    Pause {
        /// Id of the workflow
        id: String,
    },
    /// Go on with the present step
    Resume {
        /// Id of the workflow
        id: String,
    },
    /// Give all traffic to the newer version now
    Promote {
        /// Id of the workflow
        id: String,
    },
    /// Give all traffic to the older version now
    Abort {
        /// Id of the workflow
        id: String,
    },
}

/// Runs a command of rollouts.
pub(crate) async fn run(command: RolloutCommand, context: &CommandContext) -> Result<u8, CliError> {
    match command {
        RolloutCommand::Watch { id, once } => watch(&id, once, context).await,
        RolloutCommand::Begin { id, plan, overrides } => {
            let mut body = parse_object("--plan", &plan)?;
            if overrides {
                body["override"] = true.into();
            }
            order(&id, &body, "began", context).await
        }
        RolloutCommand::Pause { id } => order(&id, &json!({"state": "paused"}), "is paused", context).await,
        RolloutCommand::Resume { id } => order(&id, &json!({"state": "watching"}), "goes on", context).await,
        RolloutCommand::Promote { id } => {
            order(&id, &json!({"state": "promoted"}), "gave all traffic to the newer version", context).await
        }
        RolloutCommand::Abort { id } => {
            order(&id, &json!({"state": "aborted"}), "gave all traffic to the older version", context).await
        }
    }
}

async fn order(id: &str, body: &Value, done: &str, context: &CommandContext) -> Result<u8, CliError> {
    let request = ApiRequest::patch(WORKFLOWS.path(&[id, "rollout"])).json(body)?;
    let answer = context.fetch(&request).await?;
    let sentence = format!("The rollout of workflow '{id}' {done}.");
    context.output.print(&context.output.change(Some(&answer), id, &sentence)?)?;
    Ok(0)
}

async fn watch(id: &str, once: bool, context: &CommandContext) -> Result<u8, CliError> {
    let mut shown = String::new();
    loop {
        let answer = context.fetch(&ApiRequest::get(WORKFLOWS.path(&[id, "rollout"]))).await?;
        let rollout = &answer["data"];
        let text = if context.output.is_quiet {
            format!("{}\n", plain(&rollout["canary"]["state"]))
        } else if context.output.is_table() {
            format!("{}\n", describe(rollout))
        } else {
            context.output.document(&answer)?
        };
        if text != shown {
            context.output.print(&text)?;
            shown = text;
        }
        let state = rollout["canary"]["state"].as_str().unwrap_or_default();
        if once || !matches!(state, "watching" | "paused") {
            let is_bad = matches!(state, "rolled_back" | "aborted");
            return Ok(if is_bad { EXIT_FAILURE } else { 0 });
        }
        tokio::select! {
            interrupted = tokio::signal::ctrl_c() => {
                // Without the signal handler, the signal ends the process by itself.
                let _unavailable = interrupted;
                return Ok(0);
            }
            () = tokio::time::sleep(POLL) => {}
        }
    }
}

/// Returns the shares, the state and the figures in one line.
fn describe(rollout: &Value) -> String {
    let versions = rollout["versions"].as_array();
    let shares = versions
        .into_iter()
        .flatten()
        .map(|version| format!("version {} serves {} %", version["version"], version["rollout_percentage"]));
    let mut parts: Vec<String> = shares.collect();
    let canary = &rollout["canary"];
    let Some(state) = canary["state"].as_str() else {
        parts.push("no rollout moves by itself".to_owned());
        return parts.join(", ");
    };
    if canary["shadow"] == true {
        parts.push(format!("version {} runs as a shadow, {state}", canary["canary_version"]));
    } else {
        let steps = canary["steps"].as_array().map_or(0, Vec::len);
        let step = canary["step"].as_u64().unwrap_or_default() + 1;
        parts.push(format!("{state} at step {step} of {steps}"));
    }
    if let Some(reason) = canary["reason"].as_str() {
        parts.push(reason.to_owned());
    }
    let figures = &canary["figures"];
    if figures.is_object() {
        parts.push(format!(
            "{} of {} runs failed, of version {} {} of {}",
            figures["canary"]["errors"],
            figures["canary"]["runs"],
            canary["stable_version"],
            figures["stable"]["errors"],
            figures["stable"]["runs"]
        ));
        for (name, percentile) in [("p99_ratio", "99th"), ("p90_ratio", "90th"), ("p50_ratio", "50th")] {
            if let Some(ratio) = figures[name].as_f64() {
                parts.push(format!("{percentile} percentile {ratio:.2} times its"));
            }
        }
    }
    let shadows = &canary["shadows"];
    if shadows.is_object() {
        parts.push(format!("{} of {} compared runs differ", shadows["different"], shadows["runs"]));
        parts.extend(list_kinds(&shadows["node"]));
    }
    printable(&parts.join(", "))
}

/// Returns the kinds of differences that the node counted.
fn list_kinds(node: &Value) -> Option<String> {
    let kinds = node["kinds"].as_object()?.iter().filter(|(kind, _)| *kind != "same");
    let kinds: Vec<String> = kinds.map(|(kind, runs)| format!("{kind} {runs}")).collect();
    (!kinds.is_empty()).then(|| format!("on this node {}", kinds.join(" and ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_has_shares_state_and_figures() {
        let rollout = json!({
            "versions": [{"version": 2, "rollout_percentage": 25}, {"version": 1, "rollout_percentage": 75}],
            "canary": {"state": "watching", "step": 1, "steps": [10, 25], "reason": null, "stable_version": 1,
                "figures": {"canary": {"runs": 300, "errors": 2}, "stable": {"runs": 900, "errors": 5},
                    "p99_ratio": 1.234, "p90_ratio": 1.0, "p50_ratio": 0.987}},
        });
        let expected = "version 2 serves 25 %, version 1 serves 75 %, watching at step 2 of 2, 2 of 300 runs failed, \
             of version 1 5 of 900, 99th percentile 1.23 times its, 90th percentile 1.00 times its, \
             50th percentile 0.99 times its";
        assert_eq!(describe(&rollout), expected);
        let shadow = json!({
            "versions": [{"version": 2, "rollout_percentage": 0}, {"version": 1, "rollout_percentage": 100}],
            "canary": {"state": "watching", "shadow": true, "canary_version": 2, "steps": [], "figures": null,
                "shadows": {"runs": 10, "different": 3, "node": {"kinds": {"same": 7, "new-call": 3}}}},
        });
        let expected = "version 2 serves 0 %, version 1 serves 100 %, version 2 runs as a shadow, watching, \
             3 of 10 compared runs differ, on this node new-call 3";
        assert_eq!(describe(&shadow), expected);
        let plain = json!({"versions": [{"version": 1, "rollout_percentage": 100}], "canary": null});
        assert_eq!(describe(&plain), "version 1 serves 100 %, no rollout moves by itself");
        let hostile = json!({"versions": [], "canary": {"state": "paused", "reason": "a\u{1b}[2J"}});
        assert_eq!(describe(&hostile), "paused at step 1 of 0, a\\u{1b}[2J");
    }
}
