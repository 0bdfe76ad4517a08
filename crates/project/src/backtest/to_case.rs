//! A test case made of a recorded run: its input, the answers that it got, and its end.

use serde_json::{Map, Value, json};
use svc_engine::{CallRecording, RecordedCallError, RunRecording, RunRecordingEnd};

use super::masked_parts::holds_mask;
use super::recorded_line::RecordedLine;
use crate::case::workflow_stand_ins;

/// A text that is shorter occurs in another one by accident.
const PART: usize = 8;

/// The beginning of the names of what a topic adds to the metadata.
const KAFKA: &str = "kafka_";

/// Other members of the metadata that a case takes as they are.
const KEPT: [&str; 15] = [
    "auth",
    "body_encoding",
    "channel",
    "cloudevent",
    "cookies",
    "headers",
    "http_method",
    "identity",
    "kafka",
    "oauth",
    "params",
    "query",
    "run",
    "trigger",
    "vars",
];

/// Makes a case of a recorded run. `workflow` is the document of its workflow, and `path` the path of that file from the
/// case. The case expects the end of the recorded run, but for what was drawn: a test draws other values.
#[must_use]
pub fn case_from_recording(line: &RecordedLine, workflow: &Value, path: &str) -> Value {
    let recording = &line.recording;
    let is_kept = |key: &str| KEPT.contains(&key) || key.starts_with(KAFKA);
    let metadata = recording.metadata.iter().filter(|(key, _)| is_kept(key.as_str()));
    let metadata: Map<String, Value> = metadata.map(|(key, value)| (key.clone(), value.clone())).collect();
    let mut case = json!({
        "name": format!("recorded run {}", line.run_key),
        "x-recording": line.id,
        "workflow": path,
        "input": recording.payload,
    });
    let mut put = |key: &str, value: Value| {
        if value.as_object().is_none_or(|members| !members.is_empty()) {
            case[key] = value;
        }
    };
    put("metadata", metadata.into());
    put("secrets", workflow_stand_ins(workflow));
    put("stubs", stubs(&recording.calls));
    put("expect", expect_data(recording));
    put("expect_errors", expect_errors(&recording.end));
    put("expect_tasks", json!(recording.end.tasks));
    case
}

/// Returns the stubs that repeat the last answer to each task; a call that was cut has none.
fn stubs(calls: &[CallRecording]) -> Value {
    let mut stubs: Map<String, Value> = Map::new();
    let mut answered: Vec<(&str, &str, Option<usize>)> = Vec::new();
    for call in calls.iter().filter(|call| !call.is_cut) {
        let target = call.target.as_deref().unwrap_or("*");
        let key = match (&call.target, call.index) {
            (Some(target), None) => format!("{target}#{}", call.task),
            (Some(target), Some(index)) => format!("{target}#{}[{index}]", call.task),
            (None, _) => "*".to_owned(),
        };
        let answer = match &call.error {
            None => call.answer.clone(),
            Some(error) => json!({"$error": stub_error(error)}),
        };
        // A later attempt replaces the answer of an earlier one; another element does not.
        let place = (call.function.as_str(), target, call.index);
        let is_first = stubs.get(&call.function).and_then(|targets| targets.get(&key)).is_none();
        if is_first || answered.contains(&place) {
            answered.push(place);
            let targets = stubs.entry(call.function.clone()).or_insert_with(|| json!({}));
            targets[key] = answer;
        }
    }
    Value::Object(stubs)
}

/// Returns the codes of the errors, in their order. A recording of before they were kept has the first one.
fn expect_errors(end: &RunRecordingEnd) -> Value {
    let listed = end.errors.as_ref().and_then(Value::as_array);
    let codes = listed.map(|errors| errors.iter().filter_map(|error| error["code"].as_str()).collect());
    let codes: Vec<&str> = codes.unwrap_or_else(|| end.error.as_deref().into_iter().collect());
    json!(codes)
}

/// Returns the expected data by paths, without the values that hold one which was drawn, is masked or left out.
fn expect_data(recording: &RunRecording) -> Value {
    let mut expected = Map::new();
    collect_expected("data".to_owned(), &recording.end.data, recording, &mut expected);
    expected.into()
}

fn collect_expected(
    path: String,
    value: &Value,
    recording: &RunRecording,
    expected: &mut Map<String, Value>,
) {
    if recording.drawn.iter().any(|drawn| drawn.value == *value) {
        return;
    }
    let is_drawn = recording.drawn.iter().any(|drawn| holds_drawn(value, &drawn.value));
    let is_above = |dropped: &Vec<String>| {
        dropped.join(".").strip_prefix(&path).is_some_and(|rest| rest.starts_with('.'))
    };
    if !is_drawn && !holds_mask(value) && !recording.dropped.iter().any(is_above) {
        expected.insert(path, value.clone());
        return;
    }
    let is_plain = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    for (name, member) in value.as_object().into_iter().flatten().filter(|(name, _)| is_plain(name)) {
        collect_expected(format!("{path}.{name}"), member, recording, expected);
    }
}

/// Returns `true` if a value holds a drawn one or, as a date holds one of an instant, a long part of it.
fn holds_drawn(value: &Value, drawn: &Value) -> bool {
    if value == drawn {
        return true;
    }
    match (value, drawn) {
        (Value::String(text), Value::String(drawn)) => {
            (drawn.len() >= PART && text.contains(drawn.as_str()))
                || (text.len() >= PART && drawn.contains(text.as_str()))
        }
        (Value::Array(items), drawn) => items.iter().any(|item| holds_drawn(item, drawn)),
        (Value::Object(members), drawn) => members.values().any(|member| holds_drawn(member, drawn)),
        _ => false,
    }
}

fn stub_error(error: &RecordedCallError) -> Value {
    let mut stub = json!({"code": error.code, "message": error.message});
    if let Some(status) = error.status {
        stub["status"] = status.into();
    }
    if let Some(body) = &error.body {
        stub["body"] = body.clone();
    }
    stub
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use svc_engine::DrawnValue;

    use super::*;

    #[test]
    fn case_has_input_answers_and_end() {
        let call = CallRecording {
            task: "load".into(),
            attempt: 1,
            function: "http_call".into(),
            target: Some("shop".into()),
            answer: json!({"stock": 5}),
            ..CallRecording::default()
        };
        let end = RunRecordingEnd {
            matched: true,
            error: None,
            tasks: vec!["load".into()],
            data: json!({"stock": {"stock": 5}}),
            errors: None,
        };
        let mut recording =
            RunRecording { payload: json!({"item": 1}), calls: vec![call], end, ..RunRecording::default() };
        recording.metadata.insert("run".into(), json!({"key": "k1"}));
        recording.metadata.insert("progress".into(), json!({}));
        let line = RecordedLine {
            id: "r1".into(),
            run_key: "k1".into(),
            recording: Arc::new(recording),
            ..RecordedLine::default()
        };
        let case = case_from_recording(&line, &json!({}), "../workflows/w.json");
        assert_eq!(case["stubs"], json!({"http_call": {"shop#load": {"stock": 5}}}));
        assert_eq!(case["metadata"], json!({"run": {"key": "k1"}}));
        assert_eq!((&case["input"], &case["expect_tasks"]), (&json!({"item": 1}), &json!(["load"])));
        assert_eq!(case["expect"]["data"], json!({"stock": {"stock": 5}}));
        assert_eq!(case["expect_errors"], json!([]));
    }

    fn case(recording: RunRecording) -> Value {
        let line = RecordedLine { recording: Arc::new(recording), ..RecordedLine::default() };
        case_from_recording(&line, &json!({}), "w.json")
    }

    #[test]
    fn case_expects_errors_and_answers_of_elements() {
        let call = |index: usize, answer: &str| CallRecording {
            task: "load".into(),
            index: Some(index),
            attempt: 1,
            function: "http_call".into(),
            target: Some("shop".into()),
            answer: answer.into(),
            ..CallRecording::default()
        };
        let errors = json!([{"code": "IO_ERROR", "task_id": "a"}, {"code": "HTTP_ERROR", "task_id": "b"}]);
        let end = RunRecordingEnd { errors: Some(errors), ..RunRecordingEnd::default() };
        let calls = vec![call(1, "second"), call(0, "first")];
        let made = case(RunRecording { calls, end, ..RunRecording::default() });
        let stubs = json!({"http_call": {"shop#load[0]": "first", "shop#load[1]": "second"}});
        assert_eq!(made["stubs"], stubs);
        assert_eq!(made["expect_errors"], json!(["IO_ERROR", "HTTP_ERROR"]));
        let end = RunRecordingEnd { error: Some("IO_ERROR".into()), ..RunRecordingEnd::default() };
        let earlier = case(RunRecording { end, ..RunRecording::default() });
        assert_eq!(earlier["expect_errors"], json!(["IO_ERROR"]));
    }

    #[test]
    fn case_expects_no_drawn_value() {
        let cache = json!({"namespaces": 1, "stores": 3});
        let drawn = [json!("2026-01-02T03:04:05Z"), json!("0190a1b2-uuid"), cache.clone()]
            .map(|value| DrawnValue { value, ..DrawnValue::default() });
        let data = json!({"at": "2026-01-02T03:04:05Z", "day": {"date": "2026-01-02", "n": 1},
            "ids": ["0190a1b2-uuid"], "note": "id 0190a1b2-uuid", "sum": 3, "cache": cache});
        let end = RunRecordingEnd { data, ..RunRecordingEnd::default() };
        let made = case(RunRecording { drawn: drawn.to_vec(), end, ..RunRecording::default() });
        assert_eq!(made["expect"], json!({"data.day.n": 1, "data.sum": 3}));
    }

    #[test]
    fn case_expects_nothing_masked_or_left_out() {
        let data = json!({"card": {"no": "******", "n": 1}, "rows": [{}], "rest": {"sum": 3}, "sums": 4});
        let dropped = ["data.rows.pin", "data.rest.pin"]
            .map(|path| path.split('.').map(str::to_owned).collect::<Vec<_>>());
        let end = RunRecordingEnd { data, ..RunRecordingEnd::default() };
        let made = case(RunRecording { end, dropped: dropped.to_vec(), ..RunRecording::default() });
        assert_eq!(made["expect"], json!({"data.card.n": 1, "data.rest.sum": 3, "data.sums": 4}));
    }
}
