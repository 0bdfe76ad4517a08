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
const EACH: KeyReference = key(
    "for_each",
    "block",
    r#"{"over": {"var": "payload.items"}, "into": "data.results"}"#,
    "runs it for each element of a list",
);

/// The keys of a group that hold steps.
pub const STEP_LISTS: [&str; 3] = ["tasks", "on_error", "finally"];

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
pub static TASK: [KeyReference; 12] = [
    ID,
    key("name", TEXT, r#""Load the order""#, "for people").required(),
    key("description", TEXT, r#""Reads the order""#, "for people"),
    CONDITION,
    EACH,
    key("retry", "block", r#"{"attempts": 3}"#, "repeats it where it failed by what time may heal"),
    key("retry_safety", TEXT, r#""read""#, "the effect of its call, in place of that of its function"),
    key("timeout_ms", NUMBER, "5000", "milliseconds that an attempt may take, at most a day"),
    key("function", "block", "{}", "the function and its input").required(),
    key("continue_on_error", SWITCH, "true", "its failure does not end the workflow").default("false"),
    key("halt_on", "`failure`", r#""failure""#, "ends the workflow where its status is 400 or more"),
    TERMINAL,
];

/// The keys of a group.
pub static GROUP: [KeyReference; 11] = [
    ID,
    key("name", TEXT, r#""Pay""#, "for people"),
    key("description", TEXT, r#""Takes the money""#, "for people"),
    CONDITION,
    EACH,
    key("timeout_ms", NUMBER, "5000", "milliseconds that its members may take together, at most a day"),
    key("parallel", SWITCH, "true", "runs its members at once").default("false"),
    key("tasks", "steps", "[]", "tasks and groups, in order; groups nest at most 8 levels deep").required(),
    key("on_error", "steps", "[]", "tasks that run where a member failed, in place of the failure"),
    key("finally", "steps", "[]", "tasks that run after it, failed or not"),
    TERMINAL,
];

/// The keys of `for_each`.
pub static FOR_EACH: [KeyReference; 7] = [
    key("over", LOGIC, r#"{"var": "payload.items"}"#, "the list; null is an empty one").required(),
    key("as", TEXT, r#""order""#, "the key below `temp_data` that holds the element").default(r#""item""#),
    key("index_as", TEXT, r#""n""#, "the key below `temp_data` that holds the index of the element"),
    key("max_concurrency", NUMBER, "10", "elements that run at once, 1 to 256").default("1"),
    key(
        "collect",
        TEXT,
        r#""temp_data.answer""#,
        "the path of the value kept of an element; by default its output",
    ),
    key("into", TEXT, r#""data.answers""#, "the path of the list of those values, in the order of `over`")
        .required(),
    key("continue_on_error", SWITCH, "true", "a failed element is null in the list, and the others go on")
        .default("false"),
];

/// The keys of `retry`.
pub static RETRY: [KeyReference; 5] = [
    key("attempts", NUMBER, "3", "attempts in all, 1 to 10").required(),
    key("delay", TEXT, r#""250ms""#, "the wait before the second attempt, up to `1h`; spread by half of it")
        .default(r#""1s""#),
    key("factor", "number", "3", "what each further wait is multiplied by, 1 to 100").default("2"),
    key(
        "on",
        TEXTS,
        r#"["TIMEOUT_ERROR"]"#,
        "codes of errors that lead to another attempt; by default all that may heal",
    ),
    key("unsafe", SWITCH, "true", "allows it for a function that is not safe to repeat").default("false"),
];

/// The keys of the function of a task.
pub static FUNCTION: [KeyReference; 2] = [
    key("name", "function", r#""map""#, "the function").required(),
    key("input", "input", "{}", "what it is given").default("{}"),
];

/// The keys of a loop.
pub static LOOP: [KeyReference; 8] = [
    key("over", LOGIC, r#"{"var": "data.pages"}"#, "a list; each round takes the next element"),
    key("as", TEXT, r#""page""#, "the key below `temp_data` that holds the element").default(r#""item""#),
    key("setup", "steps", "[]", "tasks and groups that run once, before the list is evaluated"),
    key("scratch", TEXT, r#""work""#, "a key below `temp_data` that each round finds as an empty object"),
    key("counter", TEXT, r#""page""#, "path below `temp_data` that holds the counter"),
    key("init", NUMBER, "1", "the first value of the counter").default("0"),
    key("increment", NUMBER, "2", "what is added after each round, at least 1").default("1"),
    key("max", NUMBER, "10", "the loop ends before the counter reaches it").or("over"),
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
