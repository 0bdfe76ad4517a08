//! A test case made of the trace of a run: its input, what its connectors answered, and how it should end.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use svc_model::MASK;

use super::path::DocumentPath;

/// The shortest stand-in: no key of an algorithm that signs needs more.
const MIN_STAND_IN: usize = 64;

/// Parts of the metadata that no trace keeps.
const PRIVATE_METADATA: [&str; 3] = ["headers", "cookies", "auth"];

/// Functions whose results depend on keys, or on chance.
const KEYED: [&str; 2] = ["crypto", "jwt_sign"];

/// The marker of a stopped workflow, which a case does not expect.
const STOPPED: &str = "WORKFLOW_ERROR";

/// The end that a case made of a failed run expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedEnd {
    /// The run ends without an error: the case fails until the workflow is corrected.
    Corrected,
    /// The run ends as it did.
    Observed,
}

/// A case, and remarks about what its author has to complete.
#[derive(Clone, Debug, PartialEq)]
pub struct TracedCase {
    /// The case.
    pub document: Value,
    /// Remarks, a line each.
    pub notes: Vec<String>,
}

/// The reason why a trace makes no case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// The document is no trace.
    #[error("this is no trace: expected the answer of GET /api/v1/admin/traces/{{id}}")]
    NoTrace,
    /// The run goes on.
    #[error("the run of trace {0} has not ended")]
    NotEnded(String),
    /// The trace is that of accepted work, whose attempts have traces of their own.
    #[error(
        "trace {id} has the steps of its first attempt and the end of its last one; take that of one attempt: \
         svc-cli traces get {last} -o json"
    )]
    SeveralAttempts {
        /// The trace.
        id: String,
        /// The trace of the last attempt.
        last: String,
    },
    /// The trace keeps no steps.
    #[error(
        "trace {0} keeps no task details; set tracing.task_details of its channel to true and repeat the run"
    )]
    NoDetails(String),
    /// The trace does not keep the payload.
    #[error(
        "trace {0} does not keep the payload, which was larger than half of trace_queue.max_result_size_bytes"
    )]
    NoInput(String),
}

/// Makes a case of a trace, as the admin API shows it. `workflow` is the document of its workflow, if it
/// is known, and `path` the path of that file from the case.
///
/// # Errors
/// A trace that holds too little.
pub fn case_from_trace(
    answer: &Value,
    workflow: Option<&Value>,
    path: &str,
    end: ExpectedEnd,
) -> Result<TracedCase, TraceError> {
    let trace = Trace::open(answer)?;
    let mut notes = Vec::new();
    let mut case = json!({
        "name": format!("{} {}", trace.text("channel"), trace.text("id")),
        "x-trace": trace.origin(),
        "workflow": path,
        "input": trace.payload()?,
    });
    let mut put = |key: &str, value: Value| {
        if value.as_object().is_none_or(|members| !members.is_empty()) {
            case[key] = value;
        }
    };
    put("metadata", trace.request());
    put("secrets", workflow.map(workflow_stand_ins).unwrap_or_else(|| json!({})));
    put("stubs", stubs(&trace, &mut notes));
    match (trace.failed, end) {
        (true, ExpectedEnd::Corrected) => {
            put("x-failure", trace.failure());
            put("expect_errors", json!([]));
            notes.push(
                "the case expects no error: add to `expect` what the corrected workflow gives".to_owned(),
            );
        }
        _ => {
            put("expect", end_values(&trace, &mut notes));
            put("expect_errors", trace.codes());
            put("expect_tasks", trace.tasks());
        }
    }
    if workflow.is_none() {
        notes.push(format!(
            "{path} was not read: name the workflow with --workflow, and its secrets in the case"
        ));
    }
    notes.extend(workflow.into_iter().flat_map(unkept_metadata));
    if holds_mask(&case) {
        notes.push(format!(
            "{MASK} stands for values that the trace does not show; replace those that matter"
        ));
    }
    Ok(TracedCase { document: case, notes })
}

/// A trace with its steps.
struct Trace<'t> {
    trace: &'t Value,
    details: &'t Value,
    steps: &'t [Value],
    errors: &'t [Value],
    failed: bool,
}

impl<'t> Trace<'t> {
    fn open(answer: &'t Value) -> Result<Self, TraceError> {
        let trace = answer.get("data").filter(|data| data.get("status").is_some()).unwrap_or(answer);
        let (Some(id), Some(status)) = (trace["id"].as_str(), trace["status"].as_str()) else {
            return Err(TraceError::NoTrace);
        };
        let failed = match status {
            "completed" => false,
            "failed" => true,
            _ => return Err(TraceError::NotEnded(id.to_owned())),
        };
        let last = trace["attempts"].as_array().and_then(|attempts| attempts.last()?["trace_id"].as_str());
        if let Some(last) = last.filter(|last| *last != id) {
            return Err(TraceError::SeveralAttempts { id: id.to_owned(), last: last.to_owned() });
        }
        let details = &trace["task_trace_json"];
        let steps = details["steps"].as_array().filter(|steps| {
            let ran = steps.iter().filter(|step| has_run(step));
            ran.clone().next().is_none() || ran.clone().any(|step| step["function"].is_string())
        });
        let steps = steps.ok_or_else(|| TraceError::NoDetails(id.to_owned()))?;
        let errors = [&trace["errors"], &trace["message"]["errors"]].into_iter().find_map(Value::as_array);
        Ok(Self { trace, details, steps, errors: errors.map(Vec::as_slice).unwrap_or_default(), failed })
    }

    fn text(&self, key: &str) -> &'t str {
        self.trace[key].as_str().unwrap_or_default()
    }

    fn origin(&self) -> Value {
        let keys = ["id", "channel", "mode", "status", "workflow_id", "workflow_version", "created_at"];
        let members = keys.iter().filter_map(|key| Some(((*key).to_owned(), self.trace.get(*key)?.clone())));
        Value::Object(members.collect())
    }

    fn payload(&self) -> Result<Value, TraceError> {
        let places = [self.details.pointer("/input/payload"), self.trace.pointer("/message/payload")];
        let payload = places.into_iter().flatten().next().cloned();
        payload.ok_or_else(|| TraceError::NoInput(self.text("id").to_owned()))
    }

    fn request(&self) -> Value {
        self.details.pointer("/input/request").cloned().unwrap_or_else(|| json!({}))
    }

    /// Returns the error of a step: that of its task, and of its element in a fan-out.
    fn error_of(&self, step: &Value) -> Option<&'t Value> {
        let is_of_step = |error: &&Value| ["task_id", "index"].iter().all(|key| error[*key] == step[*key]);
        self.errors.iter().find(|error| is_of_step(error) && error["code"] != STOPPED)
    }

    fn failure(&self) -> Value {
        let error = self.errors.iter().find(|error| error["code"] != STOPPED);
        error.cloned().unwrap_or_else(|| json!({"message": self.trace["error"]}))
    }

    fn codes(&self) -> Value {
        let codes = self.errors.iter().map(|error| error["code"].clone());
        codes.filter(|code| code != STOPPED).collect()
    }

    /// Returns the ids of the tasks that ran, in order.
    fn tasks(&self) -> Value {
        self.steps.iter().filter(|step| has_run(step)).map(|step| step["task_id"].clone()).collect()
    }

    /// Returns the data at the end of the run.
    fn data(&self) -> Option<&'t Value> {
        let message = &self.trace["message"];
        let places = [
            message.pointer("/context/data"),
            message.get("data").filter(|_| message.get("errors").is_some()),
        ];
        let last = || self.steps.iter().rev().find_map(|step| step.pointer("/message/data"));
        places.into_iter().flatten().next().or_else(last)
    }
}

fn has_run(step: &Value) -> bool {
    matches!(step["result"].as_str(), Some("executed" | "failed"))
}

/// One answer of a connector or channel.
struct Answer<'t> {
    function: &'t str,
    target: &'t str,
    task: &'t str,
    /// The element of a list that got it, if the first one got another.
    index: Option<u64>,
    value: Value,
}

/// Returns the stubs that repeat what connectors and channels answered.
fn stubs(trace: &Trace<'_>, notes: &mut Vec<String>) -> Value {
    let mut answers: Vec<Answer<'_>> = Vec::new();
    for step in trace.steps.iter().filter(|step| has_run(step)) {
        let texts = (step["function"].as_str(), step["target"].as_str(), step["task_id"].as_str());
        let (Some(function), Some(target), Some(task)) = texts else { continue };
        let error = trace.error_of(step);
        // A task whose input cannot be computed makes no call.
        if error.is_some_and(|error| error["code"] == "LOGIC_ERROR") {
            continue;
        }
        let written = step.pointer("/changes/0/new_value").cloned();
        if written.is_none() && error.is_none() && trace.details["truncated"] == true {
            notes.push(format!(
                "the trace was cut: write the answer of {function} of '{target}' to task '{task}'"
            ));
        }
        let value = match error {
            Some(error) => json!({"$error": stub_error(error)}),
            None => written.unwrap_or_default(),
        };
        let element = step["index"].as_u64();
        let earlier = |index: Option<u64>| {
            let key = (function, target, task, index);
            answers.iter().find(move |one| (one.function, one.target, one.task, one.index) == key)
        };
        let known = earlier(element).or_else(|| earlier(None));
        match known {
            Some(known) if known.value == value => {}
            Some(known) if known.index == element => notes.push(format!(
                "task '{task}' got several answers of {function} of '{target}'; the stub gives the first one each time"
            )),
            _ => {
                let index = element.filter(|_| known.is_some());
                answers.push(Answer { function, target, task, index, value });
            }
        }
    }
    let mut stubs: Map<String, Value> = Map::new();
    for answer in &answers {
        let same_target = |one: &&Answer<'_>| {
            one.function == answer.function && one.target == answer.target && one.index.is_none()
        };
        let agree = answers.iter().filter(same_target).all(|one| one.value == answer.value);
        let target = match answer.index {
            Some(index) => format!("{}#{}[{index}]", answer.target, answer.task),
            None if agree => answer.target.to_owned(),
            None => format!("{}#{}", answer.target, answer.task),
        };
        let targets = stubs.entry(answer.function).or_insert_with(|| json!({}));
        targets[target] = answer.value.clone();
    }
    Value::Object(stubs)
}

fn stub_error(error: &Value) -> Value {
    let keys = ["code", "message", "status", "body"];
    let members = keys.iter().filter_map(|key| Some(((*key).to_owned(), error.get(*key)?.clone())));
    Value::Object(members.collect())
}

/// Returns the expected values: each member of the data, or the whole of it if a name cannot be part of a
/// path. What was made with a secret is left out: stand-ins lead to another value.
fn end_values(trace: &Trace<'_>, notes: &mut Vec<String>) -> Value {
    let Some(data) = trace.data() else { return json!({}) };
    let Some(members) = data.as_object().filter(|members| !members.is_empty()) else {
        return json!({"data": data});
    };
    let secret = keyed_members(trace);
    notes.extend(
        secret
            .iter()
            .map(|name| format!("data.{name} was made with a secret, so the case does not expect it")),
    );
    let shown = members.iter().filter(|(name, _)| *name != "_svc" && !secret.contains(name.as_str()));
    let values = shown.map(|(name, value)| {
        let path = format!("data.{name}");
        let leads_back = DocumentPath::parse(&path).is_ok_and(|path| path.read(data) == Some(value));
        leads_back.then(|| (path, value.clone()))
    });
    let values: Option<Map<_, _>> = values.collect();
    values.map_or_else(|| json!({"data": data}), Value::Object)
}

/// Returns the members of the data that functions with keys have written.
fn keyed_members<'t>(trace: &Trace<'t>) -> BTreeSet<&'t str> {
    let keyed = |step: &&Value| step["function"].as_str().is_some_and(|name| KEYED.contains(&name));
    let changes = trace.steps.iter().filter(keyed).filter_map(|step| step["changes"].as_array()).flatten();
    let paths = changes.filter_map(|change| change["path"].as_str()?.strip_prefix("data."));
    paths.map(|path| path.split('.').next().unwrap_or(path)).collect()
}

/// Returns `{name: text}`: a stand-in for every secret that the document of a workflow reads.
#[must_use]
pub fn workflow_stand_ins(workflow: &Value) -> Value {
    let mut names = BTreeSet::new();
    collect_secrets(workflow, &mut names);
    let stand_in = |name: &String| {
        let text = format!("stand-in-for-{name}");
        (name.clone(), Value::from(format!("{text:-<MIN_STAND_IN$}")))
    };
    Value::Object(names.iter().map(stand_in).collect())
}

fn collect_secrets(part: &Value, names: &mut BTreeSet<String>) {
    match part {
        Value::String(text) => {
            names.extend(svc_secrets::parse(text).ok().flatten().map(|found| found.to_string()))
        }
        Value::Array(items) => items.iter().for_each(|item| collect_secrets(item, names)),
        Value::Object(members) => {
            let read = members.get("secret").filter(|_| members.len() == 1);
            let name = read.and_then(|read| read.as_str().or_else(|| read.get(0)?.as_str()));
            names.extend(name.map(str::to_owned));
            members.values().for_each(|member| collect_secrets(member, names));
        }
        _ => {}
    }
}

/// Returns a remark for each part of the metadata that a workflow reads and no trace keeps.
fn unkept_metadata(workflow: &Value) -> Vec<String> {
    let text = workflow.to_string();
    let read = PRIVATE_METADATA.iter().filter(|part| text.contains(&format!("metadata.{part}")));
    read.map(|part| format!("no trace keeps metadata.{part}, which the workflow reads: add it to `metadata`"))
        .collect()
}

fn holds_mask(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(MASK),
        Value::Array(items) => items.iter().any(holds_mask),
        Value::Object(members) => members.values().any(holds_mask),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(task: &str, function: &str, target: Option<&str>, answer: Value) -> Value {
        let mut step = json!({"workflow_id": "w", "task_id": task, "result": "executed", "function": function,
            "changes": [{"path": "data.x", "old_value": null, "new_value": answer}]});
        if let Some(target) = target {
            step["target"] = target.into();
        }
        step
    }

    fn trace(status: &str, steps: Value) -> Value {
        json!({"data": {"id": "t1", "status": status, "channel": "orders", "mode": "sync", "workflow_id": "w",
            "task_trace_json": {"input": {"payload": {"n": 1}, "request": {"params": {"id": "7"}}}, "steps": steps}}})
    }

    fn make_case(trace: &Value, workflow: Option<&Value>) -> TracedCase {
        case_from_trace(trace, workflow, "w.json", ExpectedEnd::Corrected).unwrap()
    }

    #[test]
    fn element_that_failed_leaves_answers_of_others() {
        let mut steps = json!([
            step("ask", "http_call", Some("crm"), json!("a")),
            {"task_id": "ask", "result": "failed", "function": "http_call", "target": "crm"}]);
        (steps[0]["index"], steps[1]["index"]) = (json!(0), json!(1));
        let mut answer = trace("completed", steps);
        answer["data"]["message"] = json!({"id": "t1", "status": "ok", "data": {"list": ["a", null]},
            "errors": [{"code": "IO_ERROR", "task_id": "ask", "index": 1}]});
        let case = make_case(&answer, None);
        let error = json!({"$error": {"code": "IO_ERROR"}});
        assert_eq!(case.document["stubs"], json!({"http_call": {"crm": "a", "crm#ask[1]": error}}));
        assert!(!case.notes.iter().any(|note| note.contains("several answers")), "{:?}", case.notes);
    }

    #[test]
    fn case_of_completed_run_expects_its_end() {
        let mut answer = trace(
            "completed",
            json!([step("load", "db_read", Some("shop"), json!([{"paid": true}])),
            {"task_id": "idle", "result": "skipped"}, step("sum", "map", None, json!(2))]),
        );
        answer["data"]["message"] =
            json!({"id": "t1", "status": "ok", "data": {"sum": 2, "_svc": {}}, "errors": []});
        let case = make_case(&answer, None);
        assert_eq!(
            case.document,
            json!({"name": "orders t1", "workflow": "w.json", "input": {"n": 1}, "metadata": {"params": {"id": "7"}},
                "x-trace": {"id": "t1", "channel": "orders", "mode": "sync", "status": "completed", "workflow_id": "w"},
                "stubs": {"db_read": {"shop": [{"paid": true}]}},
                "expect": {"data.sum": 2}, "expect_errors": [], "expect_tasks": ["load", "sum"]})
        );
        assert!(case.notes[0].contains("--workflow"), "{:?}", case.notes);
    }

    #[test]
    fn case_of_failed_run_expects_correction_or_failure() {
        let mut answer = trace("failed", json!([step("pay", "http_call", Some("bank"), json!(null))]));
        answer["data"]["errors"] = json!([
            {"code": "HTTP_ERROR", "message": "502", "status": 502, "task_id": "pay", "timestamp": "x"},
            {"code": "WORKFLOW_ERROR", "message": "stopped"}]);
        let corrected = make_case(&answer, Some(&json!({}))).document;
        assert_eq!(corrected["expect_errors"], json!([]));
        assert_eq!(corrected["x-failure"]["code"], "HTTP_ERROR");
        let stub = json!({"$error": {"code": "HTTP_ERROR", "message": "502", "status": 502}});
        assert_eq!(corrected["stubs"], json!({"http_call": {"bank": stub}}));
        let observed = case_from_trace(&answer, None, "w.json", ExpectedEnd::Observed).unwrap().document;
        assert_eq!(observed["expect_errors"], json!(["HTTP_ERROR"]));
        assert_eq!(observed["expect_tasks"], json!(["pay"]));
    }

    #[test]
    fn different_answers_of_one_target_stand_by_task() {
        let steps = json!([
            step("a", "db_read", Some("shop"), json!(1)),
            step("b", "db_read", Some("shop"), json!(2)),
            step("c", "db_read", Some("crm"), json!(3)),
            step("c", "db_read", Some("crm"), json!(4))
        ]);
        let case = make_case(&trace("completed", steps), Some(&json!({})));
        assert_eq!(case.document["stubs"], json!({"db_read": {"shop#a": 1, "shop#b": 2, "crm": 3}}));
        assert!(case.notes.iter().any(|note| note.contains("several answers")), "{:?}", case.notes);
    }

    #[test]
    fn secrets_become_stand_ins_and_losses_are_noted() {
        let workflow = json!({"tasks": [{"function": {"input": {"key": "env://SIGN", "body_logic": {"cat": [
            {"secret": "token"}, {"secret": ["db.password"]}, {"var": "metadata.headers.x-tenant"}]}}}}]});
        let answer =
            trace("completed", json!([step("a", "db_read", Some("shop"), json!({"pin": "******"}))]));
        let case = make_case(&answer, Some(&workflow));
        let secrets = case.document["secrets"].as_object().unwrap();
        assert_eq!(secrets.keys().collect::<Vec<_>>(), ["db.password", "env://SIGN", "token"]);
        assert!(
            secrets["token"]
                .as_str()
                .is_some_and(|text| text.starts_with("stand-in-for-token-") && text.len() == 64)
        );
        assert!(case.notes.iter().any(|note| note.contains("metadata.headers")), "{:?}", case.notes);
        assert!(case.notes.iter().any(|note| note.contains("******")), "{:?}", case.notes);
    }

    #[test]
    fn trace_of_several_attempts_names_the_last() {
        let mut answer = trace("completed", json!([step("ask", "http_call", Some("crm"), json!("a"))]));
        answer["data"]["attempts"] = json!([{"attempt": 1, "trace_id": "t1"}]);
        assert_eq!(make_case(&answer, None).document["expect_tasks"], json!(["ask"]));
        answer["data"]["attempts"] =
            json!([{"attempt": 1, "trace_id": "t1"}, {"attempt": 2, "trace_id": "t2"}]);
        let refused =
            case_from_trace(&answer, None, "w.json", ExpectedEnd::Corrected).unwrap_err().to_string();
        assert!(refused.contains("trace t1 has") && refused.contains("traces get t2"), "{refused}");
    }

    #[test]
    fn insufficient_trace_names_the_remedy() {
        let refusal = |answer: Value| {
            case_from_trace(&answer, None, "w", ExpectedEnd::Corrected).unwrap_err().to_string()
        };
        assert!(refusal(json!({"data": []})).contains("GET /api/v1/admin/traces/{id}"));
        assert!(refusal(json!({"id": "t", "status": "running"})).contains("has not ended"));
        let shallow = json!({"id": "t", "status": "failed", "task_trace_json": {"steps": [{"task_id": "a", "result": "failed"}]}});
        assert!(refusal(shallow).contains("tracing.task_details"));
        let mut large = trace("completed", json!([step("a", "map", None, json!(1))]));
        large["data"]["task_trace_json"].as_object_mut().unwrap().remove("input");
        assert!(refusal(large).contains("max_result_size_bytes"));
    }
}
