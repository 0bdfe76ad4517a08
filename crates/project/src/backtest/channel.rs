//! A channel in a backtest: the guards that a recorded run can be judged by, and the answer that it makes of the data.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use svc_contract::{MessageSchema, ResponseControl, ResponseShaper};
use svc_engine::{Engine, Expression, RunRecording};
use svc_model::ChannelConfig;
use svc_model::config::ResponseMode;

/// The guards that a recorded run cannot be judged by, by their keys in the config: what they look at is not recorded.
const NOT_JUDGED: [&str; 9] = [
    "auth",
    "oauth2_login",
    "rate_limit",
    "principal_rate_limit",
    "quota",
    "origin_allow_list",
    "deduplication",
    "cache",
    "backpressure",
];

/// A channel that recorded runs are judged by.
pub struct BacktestChannel {
    engine: Arc<Engine>,
    shaper: Option<ResponseShaper>,
    schema: Option<MessageSchema>,
    validation: Option<Validation>,
    not_judged: Vec<&'static str>,
}

/// The expression that a message must satisfy.
struct Validation {
    expression: Expression,
    /// The paths below `metadata` that it reads.
    metadata: Vec<String>,
}

/// The verdict of the guards of a channel on a recorded run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RecordedVerdict {
    /// They let it pass.
    Admitted,
    /// The guard of this name refuses it, with reasons.
    Refused(&'static str, Vec<String>),
    /// It cannot be judged, for this reason.
    Unknown(String),
}

impl BacktestChannel {
    /// Reads the config of a channel. With `has_guards` its guards are judged, too.
    ///
    /// # Errors
    /// The reason why the config cannot be used.
    pub fn read(engine: &Arc<Engine>, config: &Value, has_guards: bool) -> Result<Self, String> {
        let parsed = ChannelConfig::parse(config).map_err(|errors| {
            let lines: Vec<String> = errors.iter().map(crate::describe_problem).collect();
            lines.join("; ")
        })?;
        let is_shaped = parsed.response.mode == ResponseMode::Shaped;
        let mut channel = Self {
            engine: Arc::clone(engine),
            shaper: is_shaped.then(|| ResponseShaper::new(&parsed.response)),
            schema: None,
            validation: None,
            not_judged: Vec::new(),
        };
        if !has_guards {
            return Ok(channel);
        }
        let schema = config["request"].get("schema").filter(|schema| !schema.is_null());
        let schema = schema.map(MessageSchema::compile).transpose();
        channel.schema = schema.map_err(|error| format!("request.schema: {error}"))?;
        if let Some(logic) = &parsed.validation_logic {
            let expression = engine.compile_guard(logic);
            let expression = expression.map_err(|error| format!("validation_logic: {error}"))?;
            let mut metadata = Vec::new();
            collect_metadata(logic, &mut metadata);
            channel.validation = Some(Validation { expression, metadata });
        }
        let is_set = |key: &&'static str| config.get(*key).is_some_and(|block| !block.is_null());
        channel.not_judged = NOT_JUDGED.into_iter().filter(|key| is_set(key)).collect();
        Ok(channel)
    }

    /// Describes the guards: those that are judged, and those that cannot be.
    #[must_use]
    pub fn describe_guards(&self) -> Value {
        let judged = [
            self.schema.is_some().then_some("request.schema"),
            self.validation.is_some().then_some("validation_logic"),
        ];
        let judged: Vec<&str> = judged.into_iter().flatten().collect();
        json!({"judged": judged, "not_judged": self.not_judged})
    }

    /// Judges a recorded run by the guards, in their order.
    pub(super) fn judge(&self, recording: &RunRecording) -> RecordedVerdict {
        if let Some(Err(faults)) =
            self.schema.as_ref().map(|schema| schema.check(&recording.payload, "payload"))
        {
            let lines = faults.iter().map(crate::describe_problem).collect();
            return RecordedVerdict::Refused("request.schema", lines);
        }
        let Some(Validation { expression, metadata }) = &self.validation else {
            return RecordedVerdict::Admitted;
        };
        if let Some(path) = metadata.iter().find(|path| !has_path(&recording.metadata, path)) {
            return RecordedVerdict::Unknown(format!(
                "validation_logic reads metadata.{path}, which is not recorded"
            ));
        }
        let known = Value::Object(recording.metadata.clone());
        let roots = [("data", &recording.payload), ("metadata", &known)];
        match self.engine.evaluate(expression, &roots) {
            Ok(value) if is_truthy(&value) => RecordedVerdict::Admitted,
            _ => {
                let line = "the message does not satisfy validation_logic".to_owned();
                RecordedVerdict::Refused("validation_logic", vec![line])
            }
        }
    }

    /// Returns the answer that the channel makes of the data at the end of a run, by its parts: `status`, `headers` and
    /// `body`. `None` if it answers with the data as they are.
    pub(super) fn shape_answer(&self, data: &Value) -> Option<Value> {
        let shaper = self.shaper.as_ref()?;
        let mut data = data.clone();
        let control = ResponseControl::take(&mut data)?;
        let (answer, _) = shaper.shape(&control, &data);
        let mut headers: Map<String, Value> = Map::new();
        for (name, value) in answer.headers {
            match headers.get_mut(&name) {
                Some(Value::Array(values)) => values.push(value.into()),
                _ => drop(headers.insert(name, Value::Array(vec![value.into()]))),
            }
        }
        let body = serde_json::from_str(&answer.body).unwrap_or(Value::String(answer.body));
        Some(json!({"status": answer.status, "headers": headers, "body": body}))
    }
}

/// Collects the paths below `metadata` that an expression reads by a constant name.
fn collect_metadata(logic: &Value, paths: &mut Vec<String>) {
    match logic {
        Value::Array(items) => items.iter().for_each(|item| collect_metadata(item, paths)),
        Value::Object(members) => {
            for (key, value) in members {
                let name = value.as_str().or_else(|| value.get(0).and_then(Value::as_str));
                let path = name.filter(|_| key == "var").and_then(|name| name.strip_prefix("metadata."));
                paths.extend(path.map(str::to_owned));
                collect_metadata(value, paths);
            }
        }
        _ => {}
    }
}

fn has_path(metadata: &Map<String, Value>, path: &str) -> bool {
    let mut segments = path.split('.');
    let first = segments.next().and_then(|segment| metadata.get(segment));
    segments.try_fold(first, |value, segment| Some(value?.get(segment))).flatten().is_some()
}

/// Returns the truth of a value as guards see it: null, false, zero and the empty string and array are falsy.
fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(config: &Value) -> BacktestChannel {
        let engine = Arc::new(Engine::builder().build());
        BacktestChannel::read(&engine, config, true).unwrap_or_else(|error| panic!("{error}"))
    }

    fn recording(payload: Value, metadata: Value) -> RunRecording {
        let Value::Object(metadata) = metadata else { panic!("{metadata} is no object") };
        RunRecording { payload, metadata, ..RunRecording::default() }
    }

    #[test]
    fn guards_judge_what_is_recorded() {
        let config = json!({
            "request": {"schema": {"type": "object", "required": ["n"]}},
            "validation_logic": {">": [{"var": "data.n"}, 3]},
            "rate_limit": {"requests_per_second": 1},
        });
        let channel = channel(&config);
        let verdict = |payload: Value| channel.judge(&recording(payload, json!({})));
        assert_eq!(verdict(json!({"n": 4})), RecordedVerdict::Admitted);
        assert!(matches!(verdict(json!({"n": 3})), RecordedVerdict::Refused("validation_logic", _)));
        assert!(matches!(verdict(json!({})), RecordedVerdict::Refused("request.schema", _)));
        let expected =
            json!({"judged": ["request.schema", "validation_logic"], "not_judged": ["rate_limit"]});
        assert_eq!(channel.describe_guards(), expected);
    }

    #[test]
    fn guard_over_unrecorded_metadata_is_unknown() {
        let config = json!({"validation_logic": {"==": [{"var": "metadata.headers.x-kind"}, "a"]}});
        let channel = channel(&config);
        let verdict = |metadata: Value| channel.judge(&recording(json!({}), metadata));
        assert_eq!(verdict(json!({"headers": {"x-kind": "a"}})), RecordedVerdict::Admitted);
        assert!(matches!(verdict(json!({"headers": {}})), RecordedVerdict::Unknown(_)));
    }

    #[test]
    fn shaped_answer_has_status_headers_and_body() {
        let channel = channel(&json!({"response": {"mode": "shaped"}}));
        let control = json!({"status": 201, "headers": {"etag": "7", "x-own": "1"}, "body_path": "a"});
        let data = json!({"a": {"n": 1}, "b": 2, "_svc": {"response": control}});
        let expected = json!({"status": 201, "body": {"n": 1},
            "headers": {"etag": ["7"], "content-type": ["application/json"]}});
        assert_eq!(channel.shape_answer(&data), Some(expected));
        assert_eq!(channel.shape_answer(&json!({"a": 1})), None);
    }
}
