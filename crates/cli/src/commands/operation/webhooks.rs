//! `webhooks`: the addresses of customers that get events, their deliveries and attempts.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Map, Value, json};
use svc_client::{ApiRequest, admin_path};

use crate::commands::entity::{show_page, show_record};
use crate::context::CommandContext;
use crate::error::CliError;
use crate::moment::parse_moment;
use crate::output::{CellKind, TableColumn, TableLayout, plain};
use crate::paging::PageArgs;

const ENDPOINTS: TableLayout = TableLayout {
    id: "id",
    columns: &[
        TableColumn::new("ID", "id", CellKind::Id),
        TableColumn::new("URL", "url", CellKind::Text).optional(1).movable(),
        TableColumn::new("CONSUMER", "consumer", CellKind::Id),
        TableColumn::new("TOPICS", "topics", CellKind::Text).optional(1).movable(),
        TableColumn::new("STATE", "state", CellKind::State),
        TableColumn::new("FAILING SINCE", "failing_since", CellKind::Time).optional(2),
    ],
};

const ATTEMPTS: TableLayout = TableLayout {
    id: "id",
    columns: &[
        TableColumn::new("TIME", "created_at", CellKind::Time),
        TableColumn::new("WEBHOOK ID", "webhook_id", CellKind::Id),
        TableColumn::new("TOPIC", "topic", CellKind::Text),
        TableColumn::new("ATTEMPT", "attempt", CellKind::Number),
        TableColumn::new("STATUS", "status", CellKind::Number),
        TableColumn::new("MS", "duration_ms", CellKind::Number),
        TableColumn::new("ERROR", "error", CellKind::Text).optional(1),
    ],
};

const DELIVERIES: TableLayout = TableLayout {
    id: "id",
    columns: &[
        TableColumn::new("ACCEPTED", "created_at", CellKind::Time),
        TableColumn::new("WEBHOOK ID", "webhook_id", CellKind::Id),
        TableColumn::new("TOPIC", "topic", CellKind::Text),
        TableColumn::new("STATE", "state", CellKind::State),
        TableColumn::new("ATTEMPTS", "attempts", CellKind::Number),
        TableColumn::new("NEXT", "next_attempt_at", CellKind::Time),
        TableColumn::new("ERROR", "last_error", CellKind::Text).optional(1),
    ],
};

/// The commands of webhooks.
#[derive(Debug, Subcommand)]
pub(crate) enum WebhookCommand {
    /// List the endpoints
    List {
        /// Those of this consumer alone
        #[arg(long)]
        consumer: Option<String>,
        /// Those in this state alone
        #[arg(long, value_enum)]
        state: Option<WebhookStateArg>,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Show one endpoint
    Get {
        /// Id of the endpoint
        id: String,
    },
    /// Register an endpoint, challenge it, and show its secret once
    Create {
        /// Its address
        url: String,
        /// A topic that it gets, or * for all; several with several options
        #[arg(long = "topic", value_name = "TOPIC", required = true)]
        topics: Vec<String>,
        /// Name of an http connector with allow_urls
        #[arg(long)]
        connector: String,
        /// Name of the consumer that it belongs to
        #[arg(long)]
        consumer: Option<String>,
    },
    /// Change address, topics, connector or consumer of an endpoint
    Update {
        /// Id of the endpoint
        id: String,
        #[command(flatten)]
        change: WebhookChangeArgs,
    },
    /// Delete an endpoint
    Delete {
        /// Id of the endpoint
        id: String,
    },
    /// Challenge an endpoint and enable it
    Enable {
        /// Id of the endpoint
        id: String,
        /// Enable it without a challenge
        #[arg(long)]
        no_verify: bool,
    },
    /// Replace the secret of an endpoint, and show the new one once
    Rotate {
        /// Id of the endpoint
        id: String,
        /// Seconds for which the former secret signs as well
        #[arg(long, value_name = "SECONDS")]
        overlap_secs: Option<u64>,
    },
    /// Send a test event to an endpoint
    Test {
        /// Id of the endpoint
        id: String,
    },
    /// Deliver events again that were accepted since a time
    Replay {
        /// Id of the endpoint
        id: String,
        /// An instant, or a time ago such as 2h
        #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_moment)]
        since: String,
        /// Dead letters alone
        #[arg(long)]
        failed_only: bool,
    },
    /// List the attempts at an endpoint
    Attempts {
        /// Id of the endpoint
        id: String,
        #[command(flatten)]
        page: PageArgs,
    },
    /// List the deliveries to an endpoint; those that failed are its dead letters
    Deliveries {
        /// Id of the endpoint
        id: String,
        /// Those in this state alone
        #[arg(long, value_enum)]
        state: Option<WebhookDeliveryStateArg>,
        #[command(flatten)]
        page: PageArgs,
    },
}

/// A change of an endpoint.
#[derive(Args, Debug)]
pub(crate) struct WebhookChangeArgs {
    /// Another address, which is challenged
    #[arg(long)]
    url: Option<String>,
    /// A topic that it gets from now on, in place of all before; several with several options
    #[arg(long = "topic", value_name = "TOPIC")]
    topics: Vec<String>,
    /// Name of an http connector with allow_urls
    #[arg(long)]
    connector: Option<String>,
    /// Name of the consumer that it belongs to
    #[arg(long)]
    consumer: Option<String>,
    /// Let it belong to no consumer
    #[arg(long, conflicts_with = "consumer")]
    no_consumer: bool,
}

/// The state of an endpoint.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum WebhookStateArg {
    /// It has not echoed its challenge
    Unverified,
    /// It gets events
    Enabled,
    /// It was disabled
    Disabled,
}

/// The state of a delivery.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum WebhookDeliveryStateArg {
    /// It waits for its next attempt
    Pending,
    /// The endpoint took it
    Delivered,
    /// It is a dead letter
    Failed,
}

impl WebhookStateArg {
    const fn name(self) -> &'static str {
        match self {
            Self::Unverified => "unverified",
            Self::Enabled => "enabled",
            Self::Disabled => "disabled",
        }
    }
}

impl WebhookDeliveryStateArg {
    const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
        }
    }
}

impl WebhookChangeArgs {
    /// Returns the members that were given.
    fn members(self) -> Map<String, Value> {
        let mut members = Map::new();
        let texts = [("url", self.url), ("connector", self.connector), ("consumer", self.consumer)];
        for (member, text) in texts {
            members.extend(text.map(|text| (member.to_owned(), text.into())));
        }
        if !self.topics.is_empty() {
            members.insert("topics".to_owned(), json!(self.topics));
        }
        if self.no_consumer {
            members.insert("consumer".to_owned(), Value::Null);
        }
        members
    }
}

/// Runs a command of webhooks.
pub(crate) async fn run(command: WebhookCommand, context: &CommandContext) -> Result<u8, CliError> {
    match command {
        WebhookCommand::List { consumer, state, page } => {
            let request = ApiRequest::get(path(&[])).optional("consumer", consumer);
            let request = request.optional("state", state.map(|state| state.name().to_owned()));
            show_page(page.add_to(request), &ENDPOINTS, "webhook endpoints", context).await
        }
        WebhookCommand::Get { id } => show_record(&ApiRequest::get(path(&[&id])), "id", context).await,
        WebhookCommand::Create { url, topics, connector, consumer } => {
            let body = json!({"url": url, "topics": topics, "connector": connector, "consumer": consumer});
            show_secret(&ApiRequest::post(path(&[])).json(&body)?, "Registered", context).await
        }
        WebhookCommand::Update { id, change } => {
            let request = ApiRequest::patch(path(&[&id])).json(&change.members())?;
            show_change(&request, &id, &format!("Updated webhook endpoint '{id}'."), context).await
        }
        WebhookCommand::Delete { id } => {
            context.confirm(&format!("Delete webhook endpoint '{id}'?"))?;
            context.send(&ApiRequest::delete(path(&[&id]))).await?;
            let sentence = format!("Deleted webhook endpoint '{id}'.");
            context.output.print(&context.output.change(None, &id, &sentence)?)?;
            Ok(0)
        }
        WebhookCommand::Enable { id, no_verify } => {
            let request = ApiRequest::post(path(&[&id, "enable"])).json(&json!({"verify": !no_verify}))?;
            show_change(&request, &id, &format!("Enabled webhook endpoint '{id}'."), context).await
        }
        WebhookCommand::Rotate { id, overlap_secs } => {
            let body = json!({"overlap_secs": overlap_secs});
            let request = ApiRequest::post(path(&[&id, "rotate"])).json(&body)?;
            show_secret(&request, "Rotated the secret of", context).await
        }
        WebhookCommand::Test { id } => send_test(&id, context).await,
        WebhookCommand::Replay { id, since, failed_only } => {
            let body = json!({"since": since, "failed_only": failed_only});
            let request = ApiRequest::post(path(&[&id, "replay"])).json(&body)?;
            let answer = context.fetch(&request).await?;
            let replayed = plain(&answer["data"]["replayed"]);
            let noun = if replayed == "1" { "delivery" } else { "deliveries" };
            let mut sentence = format!("Replayed {replayed} {noun}.");
            if let Some(next) = answer["data"]["next_since"].as_str() {
                sentence.push_str(&format!(" More follow: go on with --since {next}"));
            }
            context.output.print(&context.output.change(Some(&answer), &replayed, &sentence)?)?;
            Ok(0)
        }
        WebhookCommand::Attempts { id, page } => {
            let request = page.add_to(ApiRequest::get(path(&[&id, "attempts"])));
            show_page(request, &ATTEMPTS, "attempts", context).await
        }
        WebhookCommand::Deliveries { id, state, page } => {
            let request = ApiRequest::get(path(&[&id, "deliveries"]));
            let request = request.optional("state", state.map(|state| state.name().to_owned()));
            show_page(page.add_to(request), &DELIVERIES, "deliveries", context).await
        }
    }
}

fn path(rest: &[&str]) -> String {
    admin_path(&[&["webhooks"][..], rest].concat())
}

async fn show_change(
    request: &ApiRequest,
    id: &str,
    sentence: &str,
    context: &CommandContext,
) -> Result<u8, CliError> {
    let answer = context.fetch(request).await?;
    context.output.print(&context.output.change(Some(&answer), id, sentence)?)?;
    Ok(0)
}

/// Shows the secret of an endpoint. Quiet output is its id.
async fn show_secret(request: &ApiRequest, act: &str, context: &CommandContext) -> Result<u8, CliError> {
    let answer = context.fetch(request).await?;
    let endpoint = &answer["data"];
    let (id, secret, state) = (plain(&endpoint["id"]), plain(&endpoint["secret"]), plain(&endpoint["state"]));
    let mut sentence =
        format!("{act} webhook endpoint {id} ({state}). Its secret is shown only now: {secret}");
    if let Some(reason) = endpoint["reason"].as_str() {
        sentence.push_str(&format!("\nIt gets nothing yet: {reason}"));
        sentence.push_str(&format!("\nMend that, then run: svc-cli webhooks enable {id}"));
    }
    context.output.print(&context.output.change(Some(&answer), &id, &sentence)?)?;
    Ok(0)
}

/// Sends a test event. The exit code is 1 if the endpoint did not take it.
async fn send_test(id: &str, context: &CommandContext) -> Result<u8, CliError> {
    let answer = context.fetch(&ApiRequest::post(path(&[id, "test"]))).await?;
    let test = &answer["data"];
    let is_delivered = test["delivered"] == true;
    let sentence = match is_delivered {
        true => {
            format!("The endpoint answered {} in {} ms.", plain(&test["status"]), plain(&test["duration_ms"]))
        }
        false => format!("The endpoint did not take the event: {}", plain(&test["error"])),
    };
    context.output.print(&context.output.change(Some(&answer), id, &sentence)?)?;
    Ok(u8::from(!is_delivered))
}
