//! The `transport_config` of a cron channel: its schedule and execution rules.

use serde_json::{Map, Value};

use crate::field::FieldError;
use crate::validate::unknown_keys;

/// Path of the transport in a channel document.
pub(crate) const ROOT: &str = "channel.transport_config";
const MAX_CATCH_UP: u64 = 1000;
const MAX_SLOTS: u64 = 64;
const MAX_KEY: usize = 128;

/// The transport of a cron channel. The schedule is only text here, because its validity depends on the
/// current time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CronTransport {
    /// Cron expression.
    pub schedule: String,
    /// Name of the time zone; blank for UTC.
    pub timezone: String,
    /// Payload of every run.
    pub payload: Map<String, Value>,
    /// Treatment of missed occurrences.
    pub misfire_policy: MisfirePolicy,
    /// Maximum number of missed occurrences that run; `None` runs one.
    pub max_catch_up: Option<u32>,
    /// Limit of concurrent runs; `None` lets runs overlap.
    pub exclusion: Option<RunExclusion>,
}

/// The treatment of occurrences that were missed while no process scheduled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MisfirePolicy {
    /// Missed occurrences are skipped.
    Skip,
    /// Only the latest missed occurrence runs.
    #[default]
    Latest,
    /// Missed occurrences run, up to the maximum.
    CatchUp,
}

/// A limit of concurrent runs, shared by all channels with the same key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunExclusion {
    /// The key; `None` uses the id of the channel.
    pub key: Option<String>,
    /// Maximum number of concurrent runs.
    pub slots: u32,
}

impl CronTransport {
    /// All keys of a transport.
    pub const KEYS: [&str; 6] =
        ["schedule", "timezone", "payload", "misfire_policy", "max_catch_up", "concurrency"];
    const CONCURRENCY_KEYS: [&str; 3] = ["policy", "key", "slots"];

    /// Reads and validates the transport of a channel document.
    ///
    /// # Errors
    /// All problems of the form. The expression and the time zone are not checked.
    pub fn parse(transport: &Value) -> Result<Self, Vec<FieldError>> {
        let mut errors = Vec::new();
        let parsed = Self::read(transport, &mut errors);
        if errors.is_empty() { Ok(parsed) } else { Err(errors) }
    }

    /// Reads the valid fields and adds the problems of the others to `errors`.
    pub(crate) fn read(transport: &Value, errors: &mut Vec<FieldError>) -> Self {
        let Value::Object(object) = transport else {
            errors.push(FieldError::type_mismatch(ROOT.to_owned(), "object", transport));
            return Self::default();
        };
        let mut reader = ObjectReader { root: ROOT, object, errors };
        reader.refuse_unknown(&Self::KEYS);
        let schedule = reader.text("schedule").unwrap_or_default();
        if schedule.trim().is_empty() && reader.present("schedule").is_none_or(Value::is_string) {
            reader.errors.push(FieldError::required(format!("{ROOT}.schedule")));
        }
        let misfire_policy = reader.choice(
            "misfire_policy",
            &[
                ("skip", MisfirePolicy::Skip),
                ("latest", MisfirePolicy::Latest),
                ("catch_up", MisfirePolicy::CatchUp),
            ],
        );
        if misfire_policy == Some(MisfirePolicy::CatchUp) && reader.present("max_catch_up").is_none() {
            reader.errors.push(FieldError::required(format!("{ROOT}.max_catch_up")));
        }
        Self {
            schedule: schedule.to_owned(),
            timezone: reader.text("timezone").unwrap_or_default().to_owned(),
            payload: reader.object("payload").cloned().unwrap_or_default(),
            misfire_policy: misfire_policy.unwrap_or_default(),
            max_catch_up: reader.integer("max_catch_up", MAX_CATCH_UP),
            exclusion: reader.object("concurrency").and_then(|object| Self::read_exclusion(object, errors)),
        }
    }

    fn read_exclusion(object: &Map<String, Value>, errors: &mut Vec<FieldError>) -> Option<RunExclusion> {
        let root = format!("{ROOT}.concurrency");
        let mut reader = ObjectReader { root: &root, object, errors };
        reader.refuse_unknown(&Self::CONCURRENCY_KEYS);
        let excludes = reader.choice("policy", &[("allow", false), ("forbid", true)]).unwrap_or_default();
        let key = reader.text("key");
        if let Some(key) = key.filter(|key| !is_key(key)) {
            let rule =
                "a key starts with a letter or digit and holds at most 128 letters, digits, '_', '.' and '-'";
            reader.errors.push(FieldError::invalid(format!("{root}.key"), rule).with_got(key));
        }
        let slots = reader.integer("slots", MAX_SLOTS);
        if reader.present("slots").is_some() && !excludes {
            reader.errors.push(FieldError::invalid(format!("{root}.slots"), "slots need the policy forbid"));
        }
        excludes.then(|| RunExclusion { key: key.map(str::to_owned), slots: slots.unwrap_or(1) })
    }
}

fn is_key(key: &str) -> bool {
    let mut bytes = key.bytes();
    key.len() <= MAX_KEY
        && bytes.next().is_some_and(|b| b.is_ascii_alphanumeric())
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
}

/// Reads the members of an object and reports those with a wrong type. `null` counts as absent.
struct ObjectReader<'r, 'v> {
    root: &'r str,
    object: &'v Map<String, Value>,
    errors: &'r mut Vec<FieldError>,
}

impl<'v> ObjectReader<'_, 'v> {
    fn present(&self, name: &str) -> Option<&'v Value> {
        self.object.get(name).filter(|value| !value.is_null())
    }

    fn refuse_unknown(&mut self, known: &[&str]) {
        self.errors.extend(unknown_keys(self.object, self.root, known, &[]));
    }

    fn text(&mut self, name: &str) -> Option<&'v str> {
        let value = self.present(name)?;
        if !value.is_string() {
            self.mismatch(name, "string", value);
        }
        value.as_str()
    }

    fn object(&mut self, name: &str) -> Option<&'v Map<String, Value>> {
        let value = self.present(name)?;
        if !value.is_object() {
            self.mismatch(name, "object", value);
        }
        value.as_object()
    }

    fn choice<T: Copy>(&mut self, name: &str, known: &[(&str, T)]) -> Option<T> {
        let text = self.text(name)?;
        let chosen = known.iter().find(|(word, _)| *word == text);
        if chosen.is_none() {
            let words: Vec<_> = known.iter().map(|(word, _)| *word).collect();
            let error =
                FieldError::invalid(format!("{}.{name}", self.root), format!("use {}", words.join(", ")));
            self.errors.push(error.with_expected(words).with_got(text));
        }
        chosen.map(|(_, value)| *value)
    }

    fn integer(&mut self, name: &str, max: u64) -> Option<u32> {
        let value = self.present(name)?;
        if !value.is_i64() && !value.is_u64() {
            self.mismatch(name, "integer", value);
            return None;
        }
        let number = value.as_u64().filter(|number| (1..=max).contains(number));
        if number.is_none() {
            let error =
                FieldError::invalid(format!("{}.{name}", self.root), format!("must be between 1 and {max}"));
            self.errors.push(error.with_got(value.clone()));
        }
        number.and_then(|number| u32::try_from(number).ok())
    }

    fn mismatch(&mut self, name: &str, expected: &str, got: &Value) {
        self.errors.push(FieldError::type_mismatch(format!("{}.{name}", self.root), expected, got));
    }
}
