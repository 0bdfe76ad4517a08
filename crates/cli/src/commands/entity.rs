//! The requests that workflows, channels and connectors share.

use clap::Args;
use serde_json::Value;
use svc_client::{ApiRequest, admin_path};

use super::several::IdsArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::input::{InputArgs, input_error};
use crate::output::{TableLayout, member, plain};
use crate::paging::{PageArgs, SortArgs};

/// A kind of definitions.
pub(super) struct EntityGroup {
    /// The segment of its paths.
    pub(super) plural: &'static str,
    /// The word for one.
    pub(super) singular: &'static str,
    /// The member that holds the id.
    pub(super) id: &'static str,
    /// The columns of lists.
    pub(super) layout: TableLayout,
}

/// The options of a list.
#[derive(Args, Debug)]
pub(crate) struct EntityListArgs {
    /// Show those with this tag alone
    #[arg(long)]
    tag: Option<String>,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    sort: SortArgs,
}

/// The options of an export.
#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    /// Export those with this tag alone
    #[arg(long)]
    tag: Option<String>,
}

/// The options of a creation.
#[derive(Args, Debug)]
pub(crate) struct CreateArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Id of the definition, instead of the one in the document
    #[arg(long)]
    id: Option<String>,
}

/// The options of an update.
#[derive(Args, Debug)]
pub(crate) struct UpdateArgs {
    /// Id of the definition
    pub(super) id: String,
    #[command(flatten)]
    input: InputArgs,
}

/// The options of a deletion.
#[derive(Args, Debug)]
pub(crate) struct DeleteArgs {
    #[command(flatten)]
    pub(super) ids: IdsArgs,
    /// Delete it even if active definitions use it
    #[arg(long)]
    force: bool,
}

impl EntityGroup {
    /// Returns the path of a part of the group.
    pub(super) fn path(&self, segments: &[&str]) -> String {
        let all: Vec<_> = [self.plural].iter().chain(segments).copied().collect();
        admin_path(&all)
    }

    pub(super) async fn list(
        &self,
        args: &EntityListArgs,
        filters: &[(&str, Option<&str>)],
        context: &CommandContext,
    ) -> Result<u8, CliError> {
        self.list_completed(args, filters, |row| row, context).await
    }

    /// Shows a page of the list, whose rows are completed for the table.
    pub(super) async fn list_completed(
        &self,
        args: &EntityListArgs,
        filters: &[(&str, Option<&str>)],
        complete: fn(Value) -> Value,
        context: &CommandContext,
    ) -> Result<u8, CliError> {
        let mut request = ApiRequest::get(self.path(&[])).optional("tag", args.tag.as_deref());
        for (name, value) in filters {
            request = request.optional(name, *value);
        }
        let request = args.sort.add_to(args.page.add_to(request));
        show_page_of(request, &self.layout, self.plural, complete, context).await
    }

    pub(super) async fn get(&self, id: &str, context: &CommandContext) -> Result<u8, CliError> {
        show_record(&ApiRequest::get(self.path(&[id])), self.id, context).await
    }

    pub(super) async fn create(&self, args: &CreateArgs, context: &CommandContext) -> Result<u8, CliError> {
        let document = args.input.require()?;
        let mut body = document.json()?;
        let Some(members) = body.as_object_mut() else {
            let cause = format!("one {} is wanted, an object; 'import' takes several", self.singular);
            return Err(input_error(&document.place, &cause));
        };
        if let Some(id) = &args.id {
            members.insert(self.id.to_owned(), id.as_str().into());
        }
        let answer = context.fetch(&ApiRequest::post(self.path(&[])).json(&body)?).await?;
        self.show_change(&answer, "Created", context)
    }

    pub(super) async fn update(&self, args: &UpdateArgs, context: &CommandContext) -> Result<u8, CliError> {
        let document = args.input.require()?;
        document.json()?;
        let request = ApiRequest::put(self.path(&[&args.id])).json_bytes(document.text);
        let answer = context.fetch(&request).await?;
        self.show_change(&answer, "Updated", context)
    }

    /// Deletes after one question about all of them. `resolve` makes the id of what the user named; `loss` says what goes
    /// with each.
    pub(super) async fn delete(
        &self,
        args: &DeleteArgs,
        loss: &str,
        mut resolve: impl AsyncFnMut(&str) -> Result<String, CliError>,
        context: &CommandContext,
    ) -> Result<u8, CliError> {
        let noun = if args.ids.ids.len() == 1 { self.singular } else { self.plural };
        context.confirm(&format!("Delete {noun} {}{loss}?", args.ids.quoted()))?;
        args.ids
            .for_each(context, async |named| {
                self.delete_one(&resolve(named).await?, args.force, context).await
            })
            .await
    }

    async fn delete_one(&self, id: &str, force: bool, context: &CommandContext) -> Result<u8, CliError> {
        let request = ApiRequest::delete(self.path(&[id]));
        let deleted = context.send(&if force { request.query("force", true) } else { request }).await;
        deleted.map_err(|error| match error {
            CliError::Client(error) if error.status() == Some(409) => {
                CliError::Advised { error, advice: "--force deletes it although it is in use".to_owned() }
            }
            other => other,
        })?;
        let sentence = format!("Deleted {} '{id}'.", self.singular);
        context.output.print(&context.output.change(None, id, &sentence)?)?;
        Ok(0)
    }

    pub(super) async fn export(
        &self,
        args: &ExportArgs,
        filters: &[(&str, Option<&str>)],
        context: &CommandContext,
    ) -> Result<u8, CliError> {
        let mut request = ApiRequest::get(self.path(&["export"])).optional("tag", args.tag.as_deref());
        for (name, value) in filters {
            request = request.optional(name, *value);
        }
        let rows = rows(&context.fetch(&request).await?);
        let text = if context.output.is_quiet {
            context.output.list(&Value::Null, &rows, &self.layout)?
        } else {
            context.output.document(&Value::Array(rows))?
        };
        context.output.print(&text)?;
        Ok(0)
    }

    /// Shows the entity that a change answered with.
    pub(super) fn show_change(
        &self,
        answer: &Value,
        verb: &str,
        context: &CommandContext,
    ) -> Result<u8, CliError> {
        let entity = &answer["data"];
        let id = plain(member(entity, self.id));
        let name = if self.id == "id" { plain(&entity["name"]) } else { id.clone() };
        let state = match (&entity["version"], &entity["status"], &entity["enabled"]) {
            (Value::Number(version), Value::String(status), _) => format!(", version {version} ({status})"),
            (_, _, Value::Bool(false)) => " (disabled)".to_owned(),
            _ => String::new(),
        };
        let sentence = format!("{verb} {} '{name}'{state}.", self.singular);
        context.output.print(&context.output.change(Some(answer), &id, &sentence)?)?;
        if entity["load_status"] == "failed" {
            let reason = plain(&entity["load_error"]);
            context.output.warn(&format!("{} '{name}' is stored and not in use: {reason}", self.singular));
        }
        Ok(0)
    }
}

/// Returns the id of a definition that is named by its id alone.
pub(super) async fn as_named(id: &str) -> Result<String, CliError> {
    Ok(id.to_owned())
}

/// Returns the rows of an answer, which are objects.
pub(super) fn rows(answer: &Value) -> Vec<Value> {
    answer["data"].as_array().into_iter().flatten().filter(|row| row.is_object()).cloned().collect()
}

/// Shows a page of a list. `what` names its rows.
pub(super) async fn show_page(
    request: ApiRequest,
    layout: &TableLayout,
    what: &str,
    context: &CommandContext,
) -> Result<u8, CliError> {
    show_page_of(request, layout, what, |row| row, context).await
}

/// Shows a page of a list whose rows are completed for the table.
pub(super) async fn show_page_of(
    request: ApiRequest,
    layout: &TableLayout,
    what: &str,
    complete: fn(Value) -> Value,
    context: &CommandContext,
) -> Result<u8, CliError> {
    let answer = context.fetch(&request).await?;
    let rows: Vec<_> = rows(&answer).into_iter().map(complete).collect();
    context.output.print(&context.output.list(&answer, &rows, layout)?)?;
    if context.output.is_table() {
        count_note(&answer).iter().for_each(|note| context.output.note(note));
        page_notes(&answer, rows.len(), what).iter().for_each(|note| context.output.note(note));
    }
    Ok(0)
}

/// Returns the note with the counts by status, if the answer has them.
fn count_note(answer: &Value) -> Option<String> {
    let counts = answer["counts"].as_object()?;
    let present = counts.iter().filter(|(_, count)| count.as_u64() != Some(0));
    let present: Vec<_> = present.map(|(status, count)| format!("{status} {count}")).collect();
    Some(if present.is_empty() { "0 of every status".to_owned() } else { present.join(", ") })
}

/// Returns the notes below a page: none when it is all there is.
fn page_notes(answer: &Value, shown: usize, what: &str) -> Vec<String> {
    let offset = answer["offset"].as_u64().unwrap_or(0);
    let end = offset + u64::try_from(shown).unwrap_or(u64::MAX);
    if let Some(cursor) = answer["next_cursor"].as_str() {
        return match answer["scanned_until"].as_str() {
            Some(instant) => vec![format!("read up to {instant}, more may follow: --cursor {cursor}")],
            None => vec![format!("more follow: --cursor {cursor}")],
        };
    }
    match answer["total"].as_u64() {
        Some(total) if end < total && shown > 0 => {
            vec![format!("{end} of {total} {what}; more follow: --offset {end}")]
        }
        Some(total) if shown == 0 && total > 0 => vec![format!("none of {total} {what} from {offset} on")],
        _ if shown == 0 => vec![format!("no {what}")],
        _ => Vec::new(),
    }
}

/// Shows the object that a request answers with.
pub(super) async fn show_record(
    request: &ApiRequest,
    id: &str,
    context: &CommandContext,
) -> Result<u8, CliError> {
    let answer = context.fetch(request).await?;
    context.output.print(&context.output.record(&answer, &answer["data"], id)?)?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counts_are_noted_by_status() {
        for (answer, expected) in [
            (json!({"total": 3}), None),
            (json!({"counts": {"completed": 0, "failed": 2, "pending": 10}}), Some("failed 2, pending 10")),
            (json!({"counts": {"completed": 0}}), Some("0 of every status")),
        ] {
            assert_eq!(count_note(&answer).as_deref(), expected, "{answer}");
        }
    }

    #[test]
    fn page_says_how_to_get_the_next_one() {
        for (answer, shown, expected) in [
            (json!({"total": 3, "offset": 0}), 3, None),
            (json!({"total": 3, "offset": 1}), 1, Some("2 of 3 rows; more follow: --offset 2")),
            (json!({"total": 3, "offset": 9}), 0, Some("none of 3 rows from 9 on")),
            (json!({"total": 0}), 0, Some("no rows")),
            (json!({}), 0, Some("no rows")),
            (json!({"next_cursor": "abc"}), 2, Some("more follow: --cursor abc")),
            (
                json!({"next_cursor": "abc", "scanned_until": "2026-11-29T12:00:00Z"}),
                0,
                Some("read up to 2026-11-29T12:00:00Z, more may follow: --cursor abc"),
            ),
        ] {
            assert_eq!(page_notes(&answer, shown, "rows").first().map(String::as_str), expected, "{answer}");
        }
    }
}
