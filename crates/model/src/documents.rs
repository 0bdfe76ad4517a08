//! The reference of the authored documents outside their `config`, in the order of `fmt`: for it, for the schemas
//! and for the bodies of requests. Tests compare each row with the reader of its document.

use crate::config::cron::{ConcurrencyKeys, CronTransport};
use crate::config::key_reference::{KeyReference, LOGIC, NUMBER, SWITCH, TEXT, TEXTS, key};
use crate::entity::{ChannelType, ConnectorType, Protocol};
use crate::id::{MAX_ID, PATTERN};

/// Maximum length of a name, in bytes.
pub(crate) const MAX_NAME: usize = 255;
/// Maximum length of a description, in bytes.
pub(crate) const MAX_DESCRIPTION: usize = 2048;
/// Maximum length of a route pattern, a topic and a consumer group, in characters.
pub(crate) const MAX_COLUMN: usize = 255;

/// Declares the id of a document.
const fn id(name: &'static str, example: &'static str) -> KeyReference {
    let text = "the id, which never changes; generated where it is absent";
    key(name, TEXT, example, text).at_most(MAX_ID).matching(PATTERN)
}

/// Declares the name of a document.
const fn name(example: &'static str, text: &'static str) -> KeyReference {
    key("name", TEXT, example, text).required().not_empty().at_most(MAX_NAME)
}

const TAGS: KeyReference = key("tags", TEXTS, r#"["orders"]"#, "labels, for lists and exports");
const DESCRIPTION: KeyReference =
    key("description", TEXT, r#""Takes orders""#, "free text, at most 2048 bytes").at_most(MAX_DESCRIPTION);
const CONDITION: KeyReference =
    key("condition", LOGIC, r#"{"var": "data.paid"}"#, "runs only where this is true").default("true");
const ID: KeyReference =
    key("id", TEXT, r#""load""#, "names the task in traces; unique in the workflow").required();
const TERMINAL: KeyReference =
    key("terminal", SWITCH, "true", "ends the workflow after it has run").default("false");

/// The keys of a channel.
pub static CHANNEL: [KeyReference; 14] = [
    id("channel_id", r#""orders""#),
    name(r#""orders""#, "the name that callers use; unique among channels"),
    DESCRIPTION,
    key(
        "channel_type",
        ChannelType::KIND,
        r#""sync""#,
        "informative; `sync` by default, `async` for `kafka` and `cron`, which needs it",
    ),
    key("protocol", Protocol::KIND, r#""rest""#, "the transport").required(),
    key(
        "methods",
        "list of `GET`, `POST`, `PUT`, `PATCH`, `DELETE`, `HEAD`, `OPTIONS`, in any case",
        r#"["POST"]"#,
        "methods of the route; for `rest` and `http`",
    ),
    key("route_pattern", TEXT, r#""/orders/{id}""#, "path below the data prefix; for `rest` and `http`")
        .at_most(MAX_COLUMN),
    key("topic", TEXT, r#""orders""#, "the topic; for `kafka`").at_most(MAX_COLUMN),
    key(
        "consumer_group",
        TEXT,
        r#""svc""#,
        "the consumer group that reads the topic; without it `kafka.group_id`",
    )
    .at_most(MAX_COLUMN),
    key("workflow_id", TEXT, r#""orders""#, "id of the workflow that runs"),
    key("transport_config", "object", "{}", "the schedule of a `cron` channel; free otherwise"),
    key("config", "block", "{}", "guards and shaping"),
    key("priority", NUMBER, "10", "the highest matches first").default("0"),
    TAGS,
];

/// The keys of the `transport_config` of a cron channel.
pub static CRON: &[KeyReference] = CronTransport::KEYS;

/// The keys of `concurrency` in the `transport_config` of a cron channel.
pub static CONCURRENCY: &[KeyReference] = ConcurrencyKeys::KEYS;

/// Config blocks that need a caller, which a scheduled run does not have.
pub const REFUSED_CRON_BLOCKS: [&str; 10] = [
    "auth",
    "oauth2_login",
    "origin_allow_list",
    "rate_limit",
    "principal_rate_limit",
    "quota",
    "deduplication",
    "cache",
    "request",
    "response",
];

/// The keys of a workflow.
pub static WORKFLOW: [KeyReference; 9] = [
    id("workflow_id", r#""orders""#),
    name(r#""Orders""#, "the name"),
    DESCRIPTION,
    TAGS,
    key("priority", NUMBER, "10", "orders lists; the highest comes first").default("0"),
    CONDITION,
    key("loop", "block", r#"{"max": 3}"#, "repeats the tasks"),
    key("continue_on_error", SWITCH, "true", "a failed task does not end the workflow").default("false"),
    key("tasks", "steps", "[]", "tasks and groups, in order").required(),
];

/// The keys of a task.
pub static TASK: [KeyReference; 7] = [
    ID,
    key("name", TEXT, r#""Load the order""#, "for people").required(),
    key("description", TEXT, r#""Reads the order""#, "for people"),
    CONDITION,
    key("function", "block", "{}", "the function and its input").required(),
    key("continue_on_error", SWITCH, "true", "its failure does not end the workflow").default("false"),
    TERMINAL,
];

/// The keys of a group.
pub static GROUP: [KeyReference; 6] = [
    ID,
    key("name", TEXT, r#""Pay""#, "for people"),
    key("description", TEXT, r#""Takes the money""#, "for people"),
    CONDITION,
    key("tasks", "steps", "[]", "tasks and groups, in order; groups nest at most 8 levels deep").required(),
    TERMINAL,
];

/// The keys of the function of a task.
pub static FUNCTION: [KeyReference; 2] = [
    key("name", "function", r#""map""#, "the function").required(),
    key("input", "input", "{}", "what it is given").default("{}"),
];

/// The keys of a loop.
pub static LOOP: [KeyReference; 4] = [
    key("counter", TEXT, r#""page""#, "path below `temp_data` that holds the counter"),
    key("init", NUMBER, "1", "the first value of the counter").default("0"),
    key("increment", NUMBER, "2", "what is added after each round, at least 1").default("1"),
    key("max", NUMBER, "10", "the loop ends before the counter reaches it").required(),
];

/// The keys of a connector.
pub static CONNECTOR: [KeyReference; 6] = [
    id("id", r#""orders-db""#),
    name(r#""orders-db""#, "the name that tasks use; unique among connectors"),
    key("connector_type", ConnectorType::KIND, r#""db""#, "the system").required(),
    key("config", "block", "{}", "address, credentials and limits"),
    key("enabled", SWITCH, "false", "a disabled connector is not loaded").default("true"),
    TAGS,
];
