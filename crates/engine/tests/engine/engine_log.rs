//! The log of a test.

#![expect(
    clippy::disallowed_types,
    reason = "a drain of slog must be unwind safe, as the lock of std is by its poison"
)]

use std::fmt::{self, Display, Write};
use std::sync::{Arc, Mutex};

use slog::{Drain, KV, Key, Never, OwnedKVList, Record, Serializer};

/// A line with its message and its values, each as ` key=value`.
pub(crate) struct Line {
    pub(crate) level: slog::Level,
    pub(crate) text: String,
    pub(crate) values: String,
}

impl Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.text, self.values)
    }
}

/// Keeps the lines that are logged.
#[derive(Clone, Default)]
pub(crate) struct EngineLog(Arc<Mutex<Vec<Line>>>);

impl EngineLog {
    /// Returns the lines that were not taken yet.
    pub(crate) fn take(&self) -> Vec<Line> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Drain for EngineLog {
    type Ok = ();
    type Err = Never;

    fn log(&self, record: &Record<'_>, _: &OwnedKVList) -> Result<(), Never> {
        let mut values = Values(String::new());
        record.kv().serialize(record, &mut values).unwrap();
        let line = Line { level: record.level(), text: record.msg().to_string(), values: values.0 };
        self.0.lock().unwrap().push(line);
        Ok(())
    }
}

struct Values(String);

impl Serializer for Values {
    fn emit_arguments(&mut self, key: Key, value: &fmt::Arguments<'_>) -> slog::Result {
        write!(self.0, " {key}={value}").map_err(slog::Error::from)
    }

    fn emit_none(&mut self, key: Key) -> slog::Result {
        write!(self.0, " {key}=none").map_err(slog::Error::from)
    }
}
