//! The `transport_config` of a cron channel: its schedule and execution rules.

use serde_json::{Map, Value};

use super::block::ConfigBlock;
use super::declare::{KeyValue, block, choice};
use crate::field::FieldError;

/// Path of the transport in a channel document.
pub(crate) const ROOT: &str = "channel.transport_config";
const MAX_CATCH_UP: u32 = 1000;
const MAX_SLOTS: u32 = 64;
const MAX_KEY: usize = 128;

type Read<T> = Result<Option<T>, FieldError>;

block! {
    reports all;
    /// The transport of a cron channel. The schedule is only text here, because its validity depends on the
    /// current time. A blank time zone is UTC. Without `max_catch_up`, one missed occurrence runs.
    #[derive(Clone, Debug, PartialEq)]
    pub struct CronTransport: Default {
        /// the cron expression, with or without a field of seconds
        pub schedule: String = _ => "0 30 3 * * Mon-Fri", required(), by(schedule);
        /// IANA name of the time zone
        pub timezone: String = _ => "Europe/Berlin", default("\"UTC\"");
        /// the payload of each run
        pub payload: Map<String, Value> = _ => {"span": "day"}, default("{}");
        /// what becomes of missed occurrences
        pub misfire_policy: MisfirePolicy = "latest" => "skip";
        /// missed occurrences that run at most, 1 to 1000; needed by `catch_up`
        pub max_catch_up: Option<u32> => 5, by(max_catch_up);
        /// the bound on runs at once
        pub exclusion as "concurrency": Option<RunExclusion> => {"policy": "forbid"};
    }
}

choice! {
    /// The treatment of occurrences that were missed while no process scheduled.
    pub enum MisfirePolicy {
        /// Missed occurrences are skipped.
        Skip = "skip",
        /// Only the latest missed occurrence runs.
        Latest = "latest",
        /// Missed occurrences run, up to the maximum.
        CatchUp = "catch_up",
    }
}

/// A limit of concurrent runs, shared by all channels with the same key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunExclusion {
    /// The key; `None` uses the id of the channel.
    pub key: Option<String>,
    /// Maximum number of concurrent runs.
    pub slots: u32,
}

block! {
    reports all;
    /// The `concurrency` block, as it is written.
    pub(crate) struct ConcurrencyKeys {
        /// whether runs may overlap
        policy: ConcurrencyPolicy = "allow" => "forbid";
        /// channels that name one key share it; the channel's id by default
        key: Option<String> => "reports", by(key);
        /// runs at once, 1 to 64; with `forbid`
        slots: Option<u32> => 2, default("1"), by(slots);
    }
}

choice! {
    /// The admission of a run next to others.
    pub(crate) enum ConcurrencyPolicy {
        /// Runs overlap.
        Allow = "allow",
        /// Runs have slots.
        Forbid = "forbid",
    }
}

impl CronTransport {
    /// Reads and validates the transport of a channel document.
    ///
    /// # Errors
    /// All problems of the form. The expression and the time zone are not checked.
    pub fn parse(transport: &Value) -> Result<Self, Vec<FieldError>> {
        let mut errors = Vec::new();
        let parsed = Self::read_valid(transport, &mut errors);
        if errors.is_empty() { Ok(parsed) } else { Err(errors) }
    }

    /// Reads the valid fields and adds the problems of the others to `errors`.
    pub(crate) fn read_valid(transport: &Value, errors: &mut Vec<FieldError>) -> Self {
        let mut block = match ConfigBlock::open(None, ROOT.to_owned(), transport) {
            Ok(block) => block,
            Err(error) => {
                errors.push(error);
                return Self::default();
            }
        };
        let parsed = Self::read(&mut block).unwrap_or_default();
        if parsed.misfire_policy == MisfirePolicy::CatchUp && block.any("max_catch_up").is_none() {
            block.report(block.missing("max_catch_up"));
        }
        errors.extend(block.take_all());
        parsed
    }
}

/// Reads the expression; a blank one is reported as missing.
fn schedule(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<String> {
    let schedule = block.string(name)?;
    if schedule.as_deref().is_none_or(|text| text.trim().is_empty()) {
        block.report(block.missing(name));
    }
    Ok(schedule)
}

fn max_catch_up(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<u32> {
    block.integer_up_to(name, MAX_CATCH_UP)
}

fn slots(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<u32> {
    block.integer_up_to(name, MAX_SLOTS)
}

fn key(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<String> {
    match block.string(name)? {
        Some(key) if key.chars().count() > MAX_KEY => {
            Err(FieldError::too_long(block.field(name), MAX_KEY, key.chars().count(), "characters"))
        }
        Some(key) if !is_key(&key) => {
            let rule =
                "a key starts with a letter or digit and holds at most 128 letters, digits, '_', '.' and '-'";
            Err(block.invalid(name, rule).with_got(key))
        }
        key => Ok(key),
    }
}

impl KeyValue for RunExclusion {
    const KIND: &'static str = "block";

    fn read(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<Self> {
        Ok(block.whole_block(name, exclusion)?.flatten())
    }
}

fn exclusion(block: &mut ConfigBlock<'_>) -> Option<RunExclusion> {
    let ConcurrencyKeys { policy, key, slots } = ConcurrencyKeys::read(block)?;
    match policy {
        ConcurrencyPolicy::Forbid => Some(RunExclusion { key, slots: slots.unwrap_or(1) }),
        ConcurrencyPolicy::Allow => {
            if block.any("slots").is_some() {
                block.report(block.invalid("slots", "slots need the policy forbid"));
            }
            None
        }
    }
}

fn is_key(key: &str) -> bool {
    let mut bytes = key.bytes();
    key.len() <= MAX_KEY
        && bytes.next().is_some_and(|b| b.is_ascii_alphanumeric())
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
}
