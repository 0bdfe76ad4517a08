//! A test case made of a recorded run: its input, the answers that it got, and its end.

use serde_json::{Map, Value, json};
use svc_engine::{CallRecording, RecordedCallError};

use super::recorded_line::RecordedLine;
use crate::case::workflow_stand_ins;

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
/// case. The case expects the end of the recorded run. The elements of a list share the answer to the first one.
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
    put("expect", json!({"data": recording.end.data}));
    put("expect_tasks", json!(recording.end.tasks));
    case
}

/// Returns the stubs that repeat the last answer to each task; a call that was cut has none.
fn stubs(calls: &[CallRecording]) -> Value {
    let mut stubs: Map<String, Value> = Map::new();
    let mut answered: Vec<(&str, &str, Option<usize>)> = Vec::new();
    for call in calls.iter().filter(|call| !call.is_cut) {
        let target = call.target.as_deref().unwrap_or("*");
        let key = match &call.target {
            Some(target) => format!("{target}#{}", call.task),
            None => "*".to_owned(),
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

    use svc_engine::{RunRecording, RunRecordingEnd};

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
    }
}
