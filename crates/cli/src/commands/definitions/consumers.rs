//! `consumers`: the named holders of keys that channels may accept, and their keys.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Map, Value, json};
use svc_client::{ApiRequest, admin_path};

use crate::commands::entity::{rows, show_page, show_record};
use crate::context::CommandContext;
use crate::error::CliError;
use crate::moment::parse_coming_moment;
use crate::output::{CellKind, TableColumn, TableLayout, plain};
use crate::paging::PageArgs;

const CONSUMERS: TableLayout = TableLayout {
    id: "name",
    columns: &[
        TableColumn::new("NAME", "name", CellKind::Id),
        TableColumn::new("TAGS", "tags", CellKind::Text),
        TableColumn::new("LIMIT", "quota.limit", CellKind::Number),
        TableColumn::new("PER", "quota.per", CellKind::Id),
        TableColumn::new("EXPIRES", "expires_at", CellKind::Time),
        TableColumn::new("UPDATED", "updated_at", CellKind::Time).optional(1),
    ],
};

const KEYS: TableLayout = TableLayout {
    id: "id",
    columns: &[
        TableColumn::new("ID", "id", CellKind::Id),
        TableColumn::new("KIND", "kind", CellKind::Id),
        TableColumn::new("CREATED", "created_at", CellKind::Time),
        TableColumn::new("EXPIRES", "expires_at", CellKind::Time),
    ],
};

/// The commands of consumers.
#[derive(Debug, Subcommand)]
pub(crate) enum ConsumerCommand {
    /// List the consumers by name
    List {
        /// Those with this tag alone
        #[arg(long)]
        tag: Option<String>,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show one consumer with its keys
    Get {
        /// Name of the consumer
        name: String,
    },
    /// Create a consumer without keys
    Create {
        /// Its name, which never changes
        name: String,
        #[command(flatten)]
        content: ConsumerContentArgs,
    },
    /// Change tags, quota or end of a consumer
    Update {
        /// Name of the consumer
        name: String,
        #[command(flatten)]
        content: ConsumerContentArgs,
        /// Remove all tags
        #[arg(long, conflicts_with = "tags")]
        no_tags: bool,
        /// Remove the quota
        #[arg(long, conflicts_with = "quota")]
        no_quota: bool,
        /// Let it no longer end
        #[arg(long, conflicts_with = "expires_at")]
        no_expiry: bool,
    },
    /// Delete a consumer with its keys
    Delete {
        /// Name of the consumer
        name: String,
    },
    /// List the keys of a consumer, without their secrets
    Keys {
        /// Name of the consumer
        name: String,
    },
    /// Create a key of a consumer, and show its secret once
    CreateKey {
        /// Name of the consumer
        name: String,
        /// The kind of the key
        #[arg(long, value_enum)]
        kind: ConsumerKeyKindArg,
        /// Refuse it from this time on: an instant, or a time from now such as 90d
        #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_coming_moment)]
        expires_at: Option<String>,
    },
    /// Delete a key of a consumer
    DeleteKey {
        /// Name of the consumer
        name: String,
        /// Id of the key
        id: String,
    },
}

/// The content of a consumer.
#[derive(Args, Debug)]
pub(crate) struct ConsumerContentArgs {
    /// A word by which channels accept it; several with several options
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// The bound of its requests, such as 10000/day: per minute, hour, day or month
    #[arg(long, value_name = "LIMIT/PERIOD", value_parser = parse_quota)]
    quota: Option<QuotaArg>,
    /// Refuse it from this time on: an instant, or a time from now such as 90d
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_coming_moment)]
    expires_at: Option<String>,
}

/// A bound of requests in a period.
#[derive(Clone, Debug)]
pub(crate) struct QuotaArg {
    limit: u64,
    per: String,
}

/// The kind of a key.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ConsumerKeyKindArg {
    /// Requests carry the key
    #[value(name = "api_key")]
    ApiKey,
    /// Requests are signed with the key
    #[value(name = "hmac")]
    Hmac,
}

/// Reads a bound; the server judges the period.
fn parse_quota(text: &str) -> Result<QuotaArg, String> {
    let quota = text.split_once('/').and_then(|(limit, per)| {
        Some(QuotaArg { limit: limit.trim().parse().ok()?, per: per.trim().to_owned() })
    });
    quota.ok_or_else(|| "write a number and a period, such as 10000/day".to_owned())
}

impl ConsumerContentArgs {
    /// Returns the members that were given.
    fn members(self) -> Map<String, Value> {
        let mut members = Map::new();
        if !self.tags.is_empty() {
            members.insert("tags".to_owned(), json!(self.tags));
        }
        if let Some(QuotaArg { limit, per }) = self.quota {
            members.insert("quota".to_owned(), json!({"limit": limit, "per": per}));
        }
        if let Some(end) = self.expires_at {
            members.insert("expires_at".to_owned(), end.into());
        }
        members
    }
}

/// Runs a command of consumers.
pub(crate) async fn run(command: ConsumerCommand, context: &CommandContext) -> Result<u8, CliError> {
    match command {
        ConsumerCommand::List { tag, page } => {
            let request = ApiRequest::get(path(&[])).optional("tag", tag);
            show_page(page.add_to(request), &CONSUMERS, "consumers", context).await
        }
        ConsumerCommand::Get { name } => show_record(&ApiRequest::get(path(&[&name])), "name", context).await,
        ConsumerCommand::Create { name, content } => {
            let mut members = content.members();
            members.insert("name".to_owned(), name.as_str().into());
            let request = ApiRequest::post(path(&[])).json(&members)?;
            show_change(&request, &name, &format!("Created consumer '{name}'."), context).await
        }
        ConsumerCommand::Update { name, content, no_tags, no_quota, no_expiry } => {
            let mut members = content.members();
            let removed = [
                (no_tags, "tags", json!([])),
                (no_quota, "quota", Value::Null),
                (no_expiry, "expires_at", Value::Null),
            ];
            let removed = removed.into_iter().filter(|(is_removed, ..)| *is_removed);
            members.extend(removed.map(|(_, member, value)| (member.to_owned(), value)));
            let request = ApiRequest::patch(path(&[&name])).json(&members)?;
            show_change(&request, &name, &format!("Updated consumer '{name}'."), context).await
        }
        ConsumerCommand::Delete { name } => {
            context.confirm(&format!("Delete consumer '{name}' with its keys?"))?;
            delete(&path(&[&name]), &name, &format!("Deleted consumer '{name}'."), context).await
        }
        ConsumerCommand::Keys { name } => {
            let answer = context.fetch(&ApiRequest::get(path(&[&name, "keys"]))).await?;
            context.output.print(&context.output.list(&answer, &rows(&answer), &KEYS)?)?;
            Ok(0)
        }
        ConsumerCommand::CreateKey { name, kind, expires_at } => {
            create_key(&name, kind, expires_at, context).await
        }
        ConsumerCommand::DeleteKey { name, id } => {
            context.confirm(&format!("Delete key '{id}' of consumer '{name}'?"))?;
            let sentence = format!("Deleted key '{id}' of consumer '{name}'.");
            delete(&path(&[&name, "keys", &id]), &id, &sentence, context).await
        }
    }
}

fn path(rest: &[&str]) -> String {
    admin_path(&[&["consumers"][..], rest].concat())
}

async fn show_change(
    request: &ApiRequest,
    name: &str,
    sentence: &str,
    context: &CommandContext,
) -> Result<u8, CliError> {
    let answer = context.fetch(request).await?;
    context.output.print(&context.output.change(Some(&answer), name, sentence)?)?;
    Ok(0)
}

async fn delete(path: &str, id: &str, sentence: &str, context: &CommandContext) -> Result<u8, CliError> {
    context.send(&ApiRequest::delete(path)).await?;
    context.output.print(&context.output.change(None, id, sentence)?)?;
    Ok(0)
}

/// Creates a key. Quiet output is its secret, for scripts that hand it on.
async fn create_key(
    name: &str,
    kind: ConsumerKeyKindArg,
    expires_at: Option<String>,
    context: &CommandContext,
) -> Result<u8, CliError> {
    let kind = match kind {
        ConsumerKeyKindArg::ApiKey => "api_key",
        ConsumerKeyKindArg::Hmac => "hmac",
    };
    let body = json!({"kind": kind, "expires_at": expires_at});
    let answer = context.fetch(&ApiRequest::post(path(&[name, "keys"])).json(&body)?).await?;
    let (id, secret) = (plain(&answer["data"]["id"]), plain(&answer["data"]["secret"]));
    let sentence = format!("Created key {id} of consumer '{name}'. Its secret is shown only now: {secret}");
    context.output.print(&context.output.change(Some(&answer), &secret, &sentence)?)?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quota_is_number_and_period() {
        let QuotaArg { limit, per } = parse_quota("10000/day").unwrap();
        assert_eq!((limit, per.as_str()), (10_000, "day"));
        for bad in ["day", "10000", "many/day", "-1/day", "/day"] {
            assert!(parse_quota(bad).is_err(), "{bad}");
        }
    }
}
