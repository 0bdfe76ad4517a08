//! A channel in a backtest: the guards that a recorded run can be judged by, and the answer that it makes of the data.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use svc_contract::{MessageSchema, ResponseControl, ResponseShaper, is_truthy};
use svc_engine::{Engine, Expression, RunRecording};
use svc_model::ChannelConfig;
use svc_model::config::ResponseMode;

use super::decisive_reads::DecisiveReads;
use super::intake::ChannelIntake;
use super::recorded_line::RecordedLine;

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
    /// The version that made the recorded answers, if it is another one.
    recorded_by: Option<RecordedShaper>,
    /// The requests that it takes, if its guards are judged.
    intake: Option<ChannelIntake>,
    is_body_set: bool,
    schema: Option<MessageSchema>,
    validation: Option<Validation>,
    not_judged: Vec<&'static str>,
}

/// The shaper of recorded answers; `None` if they are not shaped.
struct RecordedShaper(Option<ResponseShaper>);

/// The expression that a message must satisfy.
struct Validation {
    expression: Expression,
    /// The paths below `metadata` that it reads.
    metadata: Vec<String>,
    decisive: DecisiveReads,
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
        let parsed = parse_config(config)?;
        let mut channel = Self {
            engine: Arc::clone(engine),
            shaper: make_shaper(&parsed),
            recorded_by: None,
            intake: None,
            is_body_set: false,
            schema: None,
            validation: None,
            not_judged: Vec::new(),
        };
        if !has_guards {
            return Ok(channel);
        }
        let request = |key: &str| config["request"].get(key).filter(|value| !value.is_null());
        channel.intake = Some(ChannelIntake::new(&parsed));
        channel.is_body_set = request("body").is_some();
        let schema = request("schema");
        let schema = schema.map(MessageSchema::compile).transpose();
        channel.schema = schema.map_err(|error| format!("request.schema: {error}"))?;
        if let Some(logic) = &parsed.validation_logic {
            let expression = engine.compile_guard(logic);
            let expression = expression.map_err(|error| format!("validation_logic: {error}"))?;
            let mut metadata = Vec::new();
            collect_metadata(logic, &mut metadata);
            let decisive = DecisiveReads::collect(engine, logic);
            channel.validation = Some(Validation { expression, metadata, decisive });
        }
        let is_set = |key: &&'static str| config.get(*key).is_some_and(|block| !block.is_null());
        channel.not_judged = NOT_JUDGED.into_iter().filter(|key| is_set(key)).collect();
        Ok(channel)
    }

    /// Compares its answers with those of the version with this config, which made the recorded ones.
    ///
    /// # Errors
    /// The reason why the config cannot be used.
    pub fn answered_by(mut self, config: &Value) -> Result<Self, String> {
        let parsed = parse_config(config)?;
        self.recorded_by = Some(RecordedShaper(make_shaper(&parsed)));
        self.intake.iter_mut().for_each(|intake| intake.set_recorded(&parsed));
        Ok(self)
    }

    /// Judges the methods of requests too, by those of its route; an empty list takes all.
    #[must_use]
    pub fn taking(mut self, methods: &[String]) -> Self {
        self.intake.iter_mut().for_each(|intake| intake.restrict(methods));
        self
    }

    /// Describes the guards: those that are judged, and those that cannot be.
    #[must_use]
    pub fn describe_guards(&self) -> Value {
        let intake = self.intake.as_ref().map(|intake| intake.describe(self.is_body_set));
        let (mut judged, not_judged) = intake.unwrap_or_default();
        judged.extend(self.schema.is_some().then_some("request.schema"));
        judged.extend(self.validation.is_some().then_some("validation_logic"));
        let not_judged = [not_judged, self.not_judged.clone()].concat();
        json!({"judged": judged, "not_judged": not_judged})
    }

    /// Judges a recorded run by the methods and the bodies that the channel takes, and by the guards.
    pub(super) fn judge_line(&self, line: &RecordedLine) -> RecordedVerdict {
        match self.intake.as_ref().and_then(|intake| intake.find_refusal(line)) {
            Some((guard, reason)) => RecordedVerdict::Refused(guard, vec![reason]),
            None => self.judge(&line.recording),
        }
    }

    /// Judges a recorded run by the guards, in their order.
    fn judge(&self, recording: &RunRecording) -> RecordedVerdict {
        if let Some(Err(faults)) =
            self.schema.as_ref().map(|schema| schema.check(&recording.payload, "payload"))
        {
            let lines = faults.iter().map(crate::describe_problem).collect();
            return RecordedVerdict::Refused("request.schema", lines);
        }
        let Some(Validation { expression, metadata, decisive }) = &self.validation else {
            return RecordedVerdict::Admitted;
        };
        if let Some(path) = metadata.iter().find(|path| !has_path(&recording.metadata, path)) {
            let member = if path.is_empty() { String::new() } else { format!(".{path}") };
            return RecordedVerdict::Unknown(format!(
                "validation_logic reads metadata{member}, which is not recorded"
            ));
        }
        if let Some(path) = decisive.find_masked(recording) {
            return RecordedVerdict::Unknown(format!(
                "validation_logic compares {path}, which recordings mask"
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
        shape_by(self.shaper.as_ref(), data)
    }

    /// Returns the answer that the version of the recorded runs made of the data.
    pub(super) fn shape_recorded_answer(&self, data: &Value) -> Option<Value> {
        let recorded_by = self.recorded_by.as_ref().map(|RecordedShaper(shaper)| shaper);
        shape_by(recorded_by.unwrap_or(&self.shaper).as_ref(), data)
    }
}

fn parse_config(config: &Value) -> Result<ChannelConfig, String> {
    ChannelConfig::parse(config).map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(crate::describe_problem).collect();
        lines.join("; ")
    })
}

fn make_shaper(config: &ChannelConfig) -> Option<ResponseShaper> {
    let is_shaped = config.response.mode == ResponseMode::Shaped;
    is_shaped.then(|| ResponseShaper::new(&config.response))
}

/// Returns the answer that a shaper makes of the data, by its parts.
fn shape_by(shaper: Option<&ResponseShaper>, data: &Value) -> Option<Value> {
    let shaper = shaper?;
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

/// The operators that take paths.
const PATH_OPERATORS: [&str; 5] = ["var", "val", "exists", "missing", "missing_some"];

/// Collects the paths below `metadata` that an expression reads; the empty path for the whole of it.
fn collect_metadata(logic: &Value, paths: &mut Vec<String>) {
    match logic {
        Value::Array(items) => items.iter().for_each(|item| collect_metadata(item, paths)),
        Value::Object(members) => {
            for (name, operands) in members {
                match operands {
                    _ if members.len() != 1 || !PATH_OPERATORS.contains(&name.as_str()) => {
                        collect_metadata(operands, paths);
                    }
                    // Behind the path is the value in its absence.
                    Value::Array(items) if name == "var" => {
                        items.iter().take(1).for_each(|path| collect_named(path, paths));
                        items.iter().skip(1).for_each(|item| collect_metadata(item, paths));
                    }
                    operands => collect_named(operands, paths),
                }
            }
        }
        _ => {}
    }
}

/// Collects the paths below `metadata` that the operand of an operator which takes paths names, or may compute.
fn collect_named(operand: &Value, paths: &mut Vec<String>) {
    match operand {
        Value::String(text) => match text.strip_prefix("metadata") {
            Some("") => paths.push(String::new()),
            Some(rest) => paths.extend(rest.strip_prefix('.').map(str::to_owned)),
            None => {}
        },
        Value::Array(items) if items.first().and_then(Value::as_str) == Some("metadata") => {
            let names: Vec<&str> = items.iter().skip(1).map_while(Value::as_str).collect();
            paths.push(names.join("."));
            items.iter().filter(|item| !item.is_string()).for_each(|item| collect_named(item, paths));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_named(item, paths)),
        Value::Object(members) => members.values().for_each(|member| collect_named(member, paths)),
        _ => {}
    }
}

fn has_path(metadata: &Map<String, Value>, path: &str) -> bool {
    let mut segments = path.split('.');
    let first = segments.next().and_then(|segment| metadata.get(segment));
    segments.try_fold(first, |value, segment| Some(value?.get(segment))).flatten().is_some()
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
    fn text_that_is_no_path_reads_nothing() {
        for logic in [
            json!({"!=": [{"var": "data.kind"}, "metadata.headers.x-kind"]}),
            json!({"!=": [{"var": ["data.kind", "metadata"]}, "b"]}),
            json!({"in": [{"var": "data.n"}, [4, "metadata"]]}),
        ] {
            let verdict =
                channel(&json!({"validation_logic": logic})).judge(&recording(json!({"n": 4}), json!({})));
            assert_eq!(verdict, RecordedVerdict::Admitted, "{logic}");
        }
    }

    #[test]
    fn guard_over_unrecorded_metadata_is_unknown() {
        for read in [
            json!({"var": "metadata.headers.x-kind"}),
            json!({"var": ["metadata.headers.x-kind", "b"]}),
            json!({"val": ["metadata", "headers", "x-kind"]}),
        ] {
            let channel = channel(&json!({"validation_logic": {"==": [read, "a"]}}));
            let verdict = |metadata: Value| channel.judge(&recording(json!({}), metadata));
            assert_eq!(verdict(json!({"headers": {"x-kind": "a"}})), RecordedVerdict::Admitted, "{read}");
            assert!(matches!(verdict(json!({"headers": {}})), RecordedVerdict::Unknown(_)), "{read}");
        }
        for rule in [
            json!({"exists": ["metadata", "headers", "x-kind"]}),
            json!({"!": {"missing": ["metadata.headers.x-kind"]}}),
            json!({"!!": {"var": "metadata"}}),
        ] {
            let channel = channel(&json!({"validation_logic": rule}));
            let verdict = channel.judge(&recording(json!({}), json!({"headers": {}})));
            assert!(matches!(verdict, RecordedVerdict::Unknown(_)), "{rule}: {verdict:?}");
        }
    }

    #[test]
    fn guard_over_masked_metadata_is_unknown() {
        let masked = json!({"headers": {"x-api-token": svc_model::MASK}});
        let verdict = |logic: Value| {
            channel(&json!({"validation_logic": logic})).judge(&recording(json!({}), masked.clone()))
        };
        let token = json!({"var": "metadata.headers.x-api-token"});
        assert!(matches!(verdict(json!({"==": [token, "a"]})), RecordedVerdict::Unknown(_)));
        assert_eq!(verdict(json!({"!!": token})), RecordedVerdict::Admitted, "a masked text is there");
    }

    #[test]
    fn shaped_answer_has_status_headers_and_body() {
        let channel = channel(&json!({"response": {"mode": "shaped"}}));
        let control = json!({"status": 201, "headers": {"etag": "7", "x-own": "1"}, "body_path": "a"});
        let data = json!({"a": {"n": 1}, "b": 2, "_svc": {"response": control}});
        let expected = json!({"status": 201, "body": {"n": 1},
            "headers": {"etag": ["7"], "content-type": ["application/json"]}});
        assert_eq!(channel.shape_answer(&data), Some(expected.clone()));
        assert_eq!(channel.shape_answer(&json!({"a": 1})), None);
        assert_eq!(channel.shape_recorded_answer(&data), Some(expected.clone()));
        let config = json!({"response": {"mode": "shaped", "allowed_headers": []}});
        let compared = channel.answered_by(&config).unwrap();
        assert_eq!(compared.shape_answer(&data), Some(expected));
        let recorded = compared.shape_recorded_answer(&data).unwrap();
        assert_eq!(recorded["headers"], json!({"content-type": ["application/json"]}));
    }
}
