//! Reports of validations and dry runs.

use clap::Args;
use serde_json::{Value, json};
use svc_client::ApiRequest;

use crate::commands::entity::EntityGroup;
use crate::context::CommandContext;
use crate::error::{CliError, EXIT_FAILURE};
use crate::input::InputArgs;
use crate::output::{CellKind, TableColumn, TableLayout};

const ISSUES: TableLayout = TableLayout {
    id: "field",
    columns: &[
        TableColumn::new("SEVERITY", "severity", CellKind::State),
        TableColumn::new("FIELD", "field", CellKind::Id),
        TableColumn::new("CODE", "code", CellKind::Id).optional(1),
        TableColumn::new("MESSAGE", "message", CellKind::Text),
    ],
};

/// The options of a validation.
#[derive(Args, Debug)]
pub(crate) struct ValidateArgs {
    #[command(flatten)]
    input: InputArgs,
}

impl EntityGroup {
    pub(super) async fn validate(
        &self,
        args: &ValidateArgs,
        context: &CommandContext,
    ) -> Result<u8, CliError> {
        let document = args.input.require()?;
        document.json()?;
        let request = ApiRequest::post(self.path(&["validate"])).json_bytes(document.text).repeatable();
        show_validation(&context.fetch(&request).await?, context)
    }
}

/// Shows a report; exits with 1 when it is one of errors.
pub(super) fn show_validation(answer: &Value, context: &CommandContext) -> Result<u8, CliError> {
    let report = &answer["data"];
    let is_valid = report["valid"].as_bool().unwrap_or(false);
    let rows: Vec<_> =
        issues(report, "errors", "error").chain(issues(report, "warnings", "warning")).collect();
    let text = if !context.output.is_table() {
        context.output.list(answer, &rows, &ISSUES)?
    } else {
        let verdict = if is_valid { "valid\n" } else { "invalid\n" };
        let table =
            if rows.is_empty() { String::new() } else { context.output.list(answer, &rows, &ISSUES)? };
        format!("{verdict}{table}")
    };
    context.output.print(&text)?;
    Ok(if is_valid { 0 } else { EXIT_FAILURE })
}

/// Returns the issues of a list of the report, each with its severity.
fn issues<'r>(
    report: &'r Value,
    list: &str,
    severity: &'static str,
) -> impl Iterator<Item = Value> + use<'r> {
    report[list].as_array().into_iter().flatten().map(move |issue| {
        json!({"severity": severity, "field": issue["field"], "code": issue["code"], "message": issue["message"]})
    })
}
