//! JSON text parsed into a value within a number of bytes.
//!
//! The value of a text takes up to sixteen times its bytes. The parser counts what it builds as
//! [`extent`](crate::bounds::extent) does, and stops before the bound of the message would be passed, or the
//! run may not go on.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use svc_model::without_byte_order_mark;
use tokio::time::Instant;

use crate::bounds::budget::{self, BudgetExhausted};
use crate::bounds::extent::{NODE, describe_bytes};
use crate::error::TaskError;
use crate::error_code::ErrorCode;

/// Values between two checks of the budget of the run.
const CHECK_INTERVAL: usize = 1 << 12;

/// The reason why a text is not parsed.
#[derive(Debug, thiserror::Error)]
pub enum ParseJsonError {
    /// The text is not JSON.
    #[error("not JSON ({0})")]
    Malformed(serde_json::Error),
    /// The value would take more than so many bytes.
    #[error("the value would take more than {}", describe_bytes(*.0))]
    TooLarge(usize),
    /// The run has reached a limit.
    #[error(transparent)]
    Stopped(RunStopped),
}

/// The limit of a run that was reached in the middle of a task.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error(transparent)]
pub struct RunStopped(BudgetExhausted);

impl ParseJsonError {
    /// Returns the error of the task that parsed the text of `subject`.
    pub fn into_task_error(self, subject: &str) -> TaskError {
        match self {
            Self::Malformed(_) => TaskError::new(ErrorCode::Deserialization, format!("{subject}: {self}")),
            Self::TooLarge(_) => TaskError::new(ErrorCode::Task, format!("{subject}: {self}")),
            Self::Stopped(RunStopped(exhausted)) => exhausted.into_error(),
        }
    }
}

/// Parses a text into a value of at most `limit` bytes. A byte order mark before it is skipped.
///
/// # Errors
/// [`ParseJsonError`]: the text is malformed, its value is too large, or the run may not go on.
pub fn parse_json_within(text: &[u8], limit: usize) -> Result<Value, ParseJsonError> {
    let counter = Counter { left: Cell::new(limit), values: Cell::new(0), stopped: Cell::new(None) };
    let mut deserializer = serde_json::Deserializer::from_slice(without_byte_order_mark(text));
    let parsed = Bounded(&counter).deserialize(&mut deserializer);
    let parsed = parsed.and_then(|value| deserializer.end().map(|()| value));
    parsed.map_err(|error| match counter.stopped.get() {
        None => ParseJsonError::Malformed(error),
        Some(StopReason::Bytes) => ParseJsonError::TooLarge(limit),
        Some(StopReason::Run(exhausted)) => ParseJsonError::Stopped(RunStopped(exhausted)),
    })
}

/// The reason why the parser stopped, if it is not the text.
#[derive(Clone, Copy)]
enum StopReason {
    Bytes,
    Run(BudgetExhausted),
}

struct Counter {
    left: Cell<usize>,
    values: Cell<usize>,
    stopped: Cell<Option<StopReason>>,
}

impl Counter {
    /// Counts a value or a key with its text.
    fn count<E: serde::de::Error>(&self, text: &str) -> Result<(), E> {
        let Some(left) = self.left.get().checked_sub(NODE + text.len()) else {
            return Err(self.stop(StopReason::Bytes));
        };
        self.left.set(left);
        self.values.set(self.values.get() + 1);
        if self.values.get().is_multiple_of(CHECK_INTERVAL)
            && let Some(Err(exhausted)) = budget::check_or_cut(Instant::now())
        {
            return Err(self.stop(StopReason::Run(exhausted)));
        }
        Ok(())
    }

    fn stop<E: serde::de::Error>(&self, reason: StopReason) -> E {
        self.stopped.set(Some(reason));
        E::custom("stopped")
    }
}

/// Builds one value and everything in it.
#[derive(Clone, Copy)]
struct Bounded<'c>(&'c Counter);

impl Bounded<'_> {
    fn scalar<E: serde::de::Error>(self, value: Value) -> Result<Value, E> {
        self.0.count("").map(|()| value)
    }
}

impl<'de> DeserializeSeed<'de> for Bounded<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Bounded<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Value, E> {
        self.scalar(Value::Null)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Value, E> {
        self.scalar(value.into())
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Value, E> {
        self.scalar(value.into())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        self.scalar(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        self.scalar(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Value, E> {
        self.0.count(text).map(|()| text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.0.count("")?;
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        self.0.count("")?;
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            self.0.count::<A::Error>(&key)?;
            object.insert(key, members.next_value_seed(self)?);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::bounds::extent;

    #[test]
    fn value_is_that_of_an_unbounded_parser() {
        for text in [
            r#"{"a":[1,-2,3.5,1e300,18446744073709551615,true,null,"é\n"],"b":{},"a":{"c":[]}}"#,
            "[]",
            r#""x""#,
            " 7 ",
            "-0.0",
        ] {
            let expected: Value = serde_json::from_str(text).unwrap();
            assert_eq!(parse_json_within(text.as_bytes(), 4096).unwrap(), expected, "{text}");
        }
        assert_eq!(parse_json_within("\u{feff}[1]".as_bytes(), 4096).unwrap(), json!([1]));
        for text in ["", "[1", "{} x", "nul", "[1,]"] {
            assert!(
                matches!(parse_json_within(text.as_bytes(), 4096), Err(ParseJsonError::Malformed(_))),
                "{text}"
            );
        }
    }

    #[test]
    fn bound_is_that_of_a_message() {
        let value = json!({"key": ["four", 1, {"deep": null}]});
        let bytes = extent::value_bytes(&value);
        assert_eq!(parse_json_within(value.to_string().as_bytes(), bytes).unwrap(), value);
        let refused = parse_json_within(value.to_string().as_bytes(), bytes - 1).unwrap_err();
        assert!(matches!(refused, ParseJsonError::TooLarge(limit) if limit == bytes - 1), "{refused}");
    }

    #[test]
    fn nesting_is_bounded_as_by_an_unbounded_parser() {
        let deep = "[".repeat(1000);
        assert!(matches!(parse_json_within(deep.as_bytes(), 1 << 20), Err(ParseJsonError::Malformed(_))));
    }
}
