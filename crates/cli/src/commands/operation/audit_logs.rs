//! `audit-logs`: the changes that admins made.

use clap::{Args, Subcommand};
use serde_json::Value;
use svc_client::{ApiRequest, admin_path};

use crate::commands::entity::show_page_of;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::moment::parse_moment;
use crate::output::{CellKind, TableColumn, TableLayout};
use crate::paging::{OrderArgs, PageArgs};

/// Digits of a content hash that are shown.
const HASH: usize = 8;

const AUDIT_ROWS: TableLayout = TableLayout {
    id: "id",
    columns: &[
        TableColumn::new("TIME", "created_at", CellKind::Time),
        TableColumn::new("PRINCIPAL", "principal", CellKind::Id).optional(1).movable(),
        TableColumn::new("ACTION", "action", CellKind::Id),
        TableColumn::new("RESOURCE", "resource_type", CellKind::Id),
        TableColumn::new("ID", "resource_id", CellKind::Id),
        TableColumn::new("CHANGE", "change", CellKind::Text).optional(2),
    ],
};

/// The commands of the audit log.
#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// List the changes, newest first
    List(AuditListArgs),
}

/// The filters of the list.
#[derive(Args, Debug)]
pub(crate) struct AuditListArgs {
    /// Show this action alone, such as status_active
    #[arg(long)]
    action: Option<String>,
    /// Show this type of resources alone, such as workflow
    #[arg(long, value_name = "TYPE")]
    resource_type: Option<String>,
    /// Show this resource alone
    #[arg(long, value_name = "ID")]
    resource_id: Option<String>,
    /// Show the changes of this key alone
    #[arg(long)]
    principal: Option<String>,
    /// Show changes from this time on: RFC 3339, or a time ago such as 15m, 2h, 1d
    #[arg(long, visible_alias = "since", value_name = "TIME", allow_hyphen_values = true, value_parser = parse_moment)]
    start_time: Option<String>,
    /// Show changes before this time
    #[arg(long, visible_alias = "until", value_name = "TIME", allow_hyphen_values = true, value_parser = parse_moment)]
    end_time: Option<String>,
    /// Go on behind this position
    #[arg(long)]
    cursor: Option<String>,
    #[command(flatten)]
    order: OrderArgs,
    #[command(flatten)]
    page: PageArgs,
}

/// Runs a command of the audit log.
pub(crate) async fn run(command: AuditCommand, context: &CommandContext) -> Result<u8, CliError> {
    let AuditCommand::List(args) = command;
    let request = ApiRequest::get(admin_path(&["audit-logs"]))
        .optional("action", args.action)
        .optional("resource_type", args.resource_type)
        .optional("resource_id", args.resource_id)
        .optional("principal", args.principal)
        .optional("start_time", args.start_time)
        .optional("end_time", args.end_time)
        .optional("cursor", args.cursor);
    let request = args.page.add_to(args.order.add_to(request));
    show_page_of(request, &AUDIT_ROWS, "changes", with_change, context).await
}

/// Describes the change of a row: its version, its share of the traffic, and the first digits of the content hashes
/// before and after it.
fn with_change(mut row: Value) -> Value {
    let facts = row["change"].take();
    let version = facts["version"].as_i64().map(|version| format!("version {version}"));
    let share = facts["rollout_percentage"].as_i64().map(|share| format!("{share} %"));
    let hashes = facts.get("content_hash").map(|hashes| {
        let short = |hash: &Value| {
            let digits = hash.as_str().and_then(|text| text.rsplit(':').next()?.get(..HASH));
            digits.unwrap_or("none").to_owned()
        };
        format!("{} → {}", short(&hashes["before"]), short(&hashes["after"]))
    });
    let change: Vec<_> = [version, share, hashes].into_iter().flatten().collect();
    row["change"] = change.join(", ").into();
    row
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn change_is_told_in_short() {
        let change = |facts: Value| with_change(json!({"change": facts}))["change"].clone();
        let hash = "sha256:0123456789abcdef";
        let facts = json!({"version": 2, "rollout_percentage": 10,
            "content_hash": {"before": null, "after": hash}});
        assert_eq!(change(facts), "version 2, 10 %, none → 01234567");
        assert_eq!(change(json!({"outcome": "failed"})), "");
        assert_eq!(change(Value::Null), "");
        assert_eq!(with_change(json!({"details": "{}"}))["change"], "", "of a server without the member");
    }
}
