//! The difference between definitions in a file and those on the server.

use clap::Args;
use serde_json::{Value, json};
use svc_client::ApiRequest;

use crate::commands::entity::{EntityGroup, rows};
use crate::context::CommandContext;
use crate::error::{CliError, EXIT_FAILURE};
use crate::input::{InputArgs, input_error};
use crate::output::{CellKind, TableColumn, TableLayout};

const DIFFERENCES: TableLayout = TableLayout {
    id: "id",
    columns: &[
        TableColumn::new("ID", "id", CellKind::Id),
        TableColumn::new("STATE", "state", CellKind::State),
        TableColumn::new("FIELDS", "fields", CellKind::Text),
    ],
};

/// The options of a comparison.
#[derive(Args, Debug)]
pub(crate) struct DiffArgs {
    #[command(flatten)]
    input: InputArgs,
}

/// The content of a definition: its members, each with the value that an absent one has. Ids, states and times are none.
pub(super) type ContentMembers = &'static [(&'static str, fn() -> Value)];

impl EntityGroup {
    /// Compares; exits with 1 when a definition of the file differs or is missing.
    pub(super) async fn diff(
        &self,
        args: &DiffArgs,
        content: ContentMembers,
        context: &CommandContext,
    ) -> Result<u8, CliError> {
        let document = args.input.require()?;
        let items = document.items()?;
        let stored = rows(&context.fetch(&ApiRequest::get(self.path(&["export"]))).await?);
        let mut differences = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let id = item[self.id].as_str().ok_or_else(|| {
                input_error(
                    &document.place,
                    &format!("item {at} has no {}, so it cannot be compared", self.id),
                )
            })?;
            let stored_row = stored.iter().find(|row| row[self.id] == *id);
            differences.push(difference(id, item, stored_row, content));
        }
        let is_same = differences.iter().all(|row| row["state"] == "unchanged");
        let body = json!({"data": differences});
        context.output.print(&context.output.list(&body, &differences, &DIFFERENCES)?)?;
        Ok(if is_same { 0 } else { EXIT_FAILURE })
    }
}

fn difference(id: &str, item: &Value, stored: Option<&Value>, content: ContentMembers) -> Value {
    let Some(stored) = stored else { return json!({"id": id, "state": "missing", "fields": []}) };
    let value =
        |of: &Value, name: &str, default: fn() -> Value| of.get(name).cloned().unwrap_or_else(default);
    let changed =
        content.iter().filter(|(name, default)| value(item, name, *default) != value(stored, name, *default));
    let fields: Vec<_> = changed.map(|(name, _)| *name).collect();
    let state = if fields.is_empty() { "unchanged" } else { "changed" };
    json!({"id": id, "state": state, "fields": fields})
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTENT: ContentMembers =
        &[("name", || Value::Null), ("priority", || json!(0)), ("tags", || json!([]))];

    #[test]
    fn absent_member_has_its_default() {
        let stored = json!({"workflow_id": "a", "name": "A", "priority": 0, "tags": [], "version": 4});
        let compared = |item: Value| difference("a", &item, Some(&stored), CONTENT);
        assert_eq!(compared(json!({"name": "A"}))["state"], "unchanged");
        let changed = compared(json!({"name": "B", "priority": 1}));
        assert_eq!(
            (&changed["state"], &changed["fields"]),
            (&json!("changed"), &json!(["name", "priority"]))
        );
        assert_eq!(difference("a", &json!({}), None, CONTENT)["state"], "missing");
    }
}
