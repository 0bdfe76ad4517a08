//! `send`: messages for a channel.

use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value, json};
use svc_client::{ApiRequest, ApiResponse, Method, path};

use super::send_lines::send_lines;
use super::trace_wait::TraceWait;
use crate::commands::definitions::workflows::parse_object;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::input::{InputArgs, input_error};
use crate::output::plain;
use crate::watch::parse_interval;

/// The base of the data plane.
const DATA_BASE: &str = "/api/v1/data";
/// Time between two looks at a trace.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The options of the command.
#[derive(Args, Debug)]
pub(crate) struct SendArgs {
    /// Name of the channel, or a route with a leading slash
    channel: String,
    #[command(flatten)]
    input: InputArgs,
    /// Send the document as it is, instead of {"data": document}
    #[arg(long)]
    raw: bool,
    /// Metadata of the message, a JSON object
    #[arg(long, value_name = "JSON", conflicts_with = "raw")]
    metadata: Option<String>,
    /// Only have it accepted; prints the id and the token of its trace
    #[arg(long, visible_alias = "async")]
    async_mode: bool,
    /// Wait for the end of the run; exits as 'traces wait' does
    #[arg(long, requires = "async_mode")]
    wait: bool,
    /// Longest wait
    #[arg(long, default_value = "60", value_name = "SECS", value_parser = parse_interval)]
    timeout: f64,
    /// Have the times of the run measured
    #[arg(long)]
    profile: bool,
    /// Method of the request
    #[arg(long, default_value = "POST")]
    method: Method,
    /// Another header, <name>: <value>; may be repeated
    #[arg(long = "header", value_name = "HEADER", value_parser = parse_header)]
    headers: Vec<(String, String)>,
    /// Send every line of the document as a message of its own
    #[arg(long, conflicts_with = "wait")]
    jsonl: bool,
    /// Messages under way at the same time, with --jsonl
    #[arg(long, default_value_t = 8, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    concurrency: u16,
}

pub(in crate::commands) fn parse_header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("a name, a colon and a value are wanted")?;
    Ok((name.trim().to_ascii_lowercase(), value.trim().to_owned()))
}

/// Sends a message, or one for each line.
pub(crate) async fn run(args: &SendArgs, context: &CommandContext) -> Result<u8, CliError> {
    if args.jsonl {
        let document = args.input.require()?;
        let prepare = |line: &str, place: &str| args.request(Some(line), place);
        return send_lines(&document.text, usize::from(args.concurrency), prepare, context).await;
    }
    let document = args.input.read()?;
    let text = document.as_ref().map(|document| document.text.as_str());
    let place = document.as_ref().map_or("--data", |document| &document.place);
    let response = context.send(&args.request(text, place)?).await?;
    if args.wait {
        return wait(args, &response, context).await;
    }
    show(&response, context)
}

impl SendArgs {
    fn request(&self, text: Option<&str>, place: &str) -> Result<ApiRequest, CliError> {
        let suffix = if self.async_mode { "/async" } else { "" };
        let mut request =
            ApiRequest::new(self.method.clone(), format!("{}{suffix}", data_path(&self.channel)));
        // A message has effects that a second one repeats.
        request = request.once();
        if let Some(body) = self.body(text, place)? {
            request = request.json_bytes(body);
        }
        if self.profile {
            request = request.header("x-svc-profile", "1")?;
        }
        for (name, value) in &self.headers {
            request = request.header(name, value)?;
        }
        Ok(request)
    }

    fn body(&self, text: Option<&str>, place: &str) -> Result<Option<String>, CliError> {
        if self.raw {
            return Ok(text.map(str::to_owned));
        }
        let data: Value = match text {
            None => json!({}),
            Some(text) => serde_json::from_str(text)
                .map_err(|error| input_error(place, &format!("it is not JSON: {error}")))?,
        };
        let mut body = Map::from_iter([("data".to_owned(), data)]);
        if let Some(metadata) = &self.metadata {
            body.insert("metadata".to_owned(), parse_object("--metadata", metadata)?);
        }
        Ok(Some(Value::Object(body).to_string()))
    }
}

/// Returns the path of a channel: by name, or by a route whose segments are encoded each for itself.
pub(super) fn data_path(channel: &str) -> String {
    match channel.strip_prefix('/') {
        Some(route) => format!("{DATA_BASE}{}", path(&route.split('/').collect::<Vec<_>>())),
        None => format!("{DATA_BASE}{}", path(&[channel])),
    }
}

/// Shows the answer of a channel: JSON as the format has it, anything else byte for byte but on a terminal.
fn show(response: &ApiResponse, context: &CommandContext) -> Result<u8, CliError> {
    let Ok(body) = response.json::<Value>() else {
        context.output.print_answer(&response.body)?;
        return Ok(0);
    };
    let text = if context.output.is_quiet { message_id(&body) } else { context.output.document(&body)? };
    context.output.print(&text)?;
    warn_of_task_errors(&body, context);
    Ok(0)
}

/// Returns the id that quiet output prints: of the trace, or of the message. A shaped answer has none.
pub(super) fn message_id(body: &Value) -> String {
    let id = if body["trace_id"].is_null() { &body["id"] } else { &body["trace_id"] };
    if id.is_null() { String::new() } else { format!("{}\n", plain(id)) }
}

fn warn_of_task_errors(body: &Value, context: &CommandContext) {
    // A shaped answer may have a member of this name that means something else.
    let errors = body["errors"].as_array().filter(|_| body["status"] == "ok");
    for error in errors.into_iter().flatten() {
        let task = error["task_id"].as_str().map(|task| format!("task '{task}': ")).unwrap_or_default();
        context.output.warn(&format!("{task}[{}] {}", plain(&error["code"]), plain(&error["message"])));
    }
}

async fn wait(args: &SendArgs, response: &ApiResponse, context: &CommandContext) -> Result<u8, CliError> {
    let accepted: Value = response.json()?;
    let id = plain(&accepted["trace_id"]);
    let wait = TraceWait {
        id: &id,
        token: accepted["trace_token"].as_str(),
        interval: LOOK_EVERY,
        limit: Duration::from_secs_f64(args.timeout),
    };
    wait.show(context).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channel_is_a_name_or_a_route() {
        assert_eq!(data_path("a b/c"), "/api/v1/data/a%20b%2Fc");
        assert_eq!(data_path("/orders/7 8"), "/api/v1/data/orders/7%208");
    }

    #[test]
    fn header_has_a_name_and_a_value() {
        assert_eq!(parse_header("X-Tenant: a:b"), Ok(("x-tenant".to_owned(), "a:b".to_owned())));
        assert!(parse_header("nothing").is_err());
    }
}
