//! The grammar of a case file.

use std::path::PathBuf;

use serde_json::{Map, Value};
use svc_engine::catalogue::Catalogue;
use svc_model::{FieldError, is_annotation, unknown_key};

use super::expect::Expectations;
use crate::metadata::offline_metadata;
use crate::stand_ins::StandIns;

/// The keys of a case in the order of `fmt`.
pub(crate) const KEYS: [&str; 11] = [
    "name",
    "workflow",
    "input",
    "metadata",
    "secrets",
    "stubs",
    "stubs_file",
    "expect",
    "expect_errors",
    "expect_calls",
    "expect_tasks",
];

/// One test case.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name in reports; that of the file by default.
    pub name: Option<String>,
    /// The file of the workflow, relative to that of the case.
    pub workflow: PathBuf,
    /// The payload.
    pub input: Value,
    /// The metadata, checked.
    pub metadata: Map<String, Value>,
    /// The answers of connectors and channels.
    pub stubs: CaseStubs,
    /// The stand-ins for secrets.
    pub secrets: StandIns,
    /// The expected end of the run.
    pub expectations: Expectations,
}

/// The source of the stubs of a case.
#[derive(Clone, Debug, PartialEq)]
pub enum CaseStubs {
    /// The case has none.
    None,
    /// They are in the case.
    Inline(Value),
    /// They are in a file of their own, relative to that of the case.
    File(PathBuf),
}

impl Case {
    /// Reads a case. The catalogue has the functions whose calls a case may expect.
    ///
    /// # Errors
    /// Every problem, with its path in the case.
    pub fn parse(document: &Value, catalogue: &Catalogue) -> Result<Self, Vec<FieldError>> {
        let Value::Object(members) = document else {
            return Err(vec![FieldError::type_mismatch("case", "object", document)]);
        };
        let mut reader = CaseReader { members, errors: Vec::new() };
        reader.refuse_unknown_keys();
        let case = Self {
            name: reader.text("name").map(str::to_owned),
            workflow: reader.required_text("workflow").into(),
            input: reader.input(),
            metadata: reader.metadata(),
            stubs: reader.stubs(),
            secrets: reader.secrets(),
            expectations: Expectations::parse(members, catalogue, &mut reader.errors),
        };
        if reader.errors.is_empty() { Ok(case) } else { Err(reader.errors) }
    }
}

struct CaseReader<'d> {
    members: &'d Map<String, Value>,
    errors: Vec<FieldError>,
}

impl<'d> CaseReader<'d> {
    fn refuse_unknown_keys(&mut self) {
        let unknown = self.members.keys().filter(|key| !KEYS.contains(&key.as_str()) && !is_annotation(key));
        self.errors.extend(unknown.map(|key| unknown_key(key.clone(), key, &KEYS, &[])));
    }

    /// Returns an optional member; null counts as absent.
    fn member(&self, key: &str) -> Option<&'d Value> {
        self.members.get(key).filter(|value| !value.is_null())
    }

    /// Returns an optional text, which must not be blank.
    fn text(&mut self, key: &str) -> Option<&'d str> {
        match self.member(key)? {
            Value::String(text) if text.trim().is_empty() => {
                self.errors.push(FieldError::invalid(key, "this must not be empty"));
                None
            }
            Value::String(text) => Some(text),
            other => {
                self.errors.push(FieldError::type_mismatch(key, "string", other));
                None
            }
        }
    }

    fn required_text(&mut self, key: &str) -> &'d str {
        if self.member(key).is_none() {
            self.errors.push(FieldError::required(key));
        }
        self.text(key).unwrap_or_default()
    }

    /// Returns the payload, which may be null.
    fn input(&mut self) -> Value {
        let input = self.members.get("input");
        if input.is_none() {
            self.errors.push(FieldError::required("input"));
        }
        input.cloned().unwrap_or_default()
    }

    fn metadata(&mut self) -> Map<String, Value> {
        let checked = match self.member("metadata") {
            None => return Map::new(),
            Some(Value::Object(metadata)) => offline_metadata(metadata.clone(), "metadata"),
            Some(other) => Err(vec![FieldError::type_mismatch("metadata", "object", other)]),
        };
        checked.unwrap_or_else(|errors| {
            self.errors.extend(errors);
            Map::new()
        })
    }

    fn stubs(&mut self) -> CaseStubs {
        let file = self.text("stubs_file");
        match (self.member("stubs"), file) {
            (Some(stubs), _) => CaseStubs::Inline(stubs.clone()),
            (None, Some(file)) => CaseStubs::File(file.into()),
            (None, None) => CaseStubs::None,
        }
    }

    fn secrets(&mut self) -> StandIns {
        let parsed = self.member("secrets").map(|secrets| StandIns::parse(secrets, "secrets"));
        parsed.transpose().map(Option::unwrap_or_default).unwrap_or_else(|errors| {
            self.errors.extend(errors);
            StandIns::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use svc_engine::Engine;

    use super::*;

    fn problems(document: Value) -> Vec<String> {
        let engine = Engine::builder().build();
        let errors = Case::parse(&document, engine.catalogue()).err().unwrap_or_default();
        errors.iter().map(|error| format!("{} {}", error.path, error.code.name())).collect()
    }

    fn with(key: &str, value: Value) -> Value {
        let mut document = json!({"workflow": "w.json", "input": null});
        document[key] = value;
        document
    }

    #[test]
    fn smallest_case_has_a_workflow_and_an_input() {
        let engine = Engine::builder().build();
        let case = Case::parse(&with("x-ticket", json!(7)), engine.catalogue()).unwrap();
        assert_eq!((case.name, case.input, case.stubs), (None, Value::Null, CaseStubs::None));
        assert_eq!(problems(json!({"workflow": "w.json"})), ["input REQUIRED"]);
        assert_eq!(problems(json!({"input": 1})), ["workflow REQUIRED"]);
        assert_eq!(problems(json!([])), ["case TYPE_MISMATCH"]);
    }

    #[test]
    fn unknown_key_is_refused_with_the_nearest_name() {
        let engine = Engine::builder().build();
        let errors = Case::parse(&with("expect_task", json!([])), engine.catalogue()).unwrap_err();
        assert_eq!(errors[0].path, "expect_task");
        assert!(errors[0].message.contains("did you mean 'expect_tasks'?"), "{}", errors[0].message);
    }

    #[test]
    fn wrong_key_types_are_all_reported() {
        for (key, value, problem) in [
            ("name", json!(7), "name TYPE_MISMATCH"),
            ("name", json!(" "), "name INVALID"),
            ("workflow", json!(["w.json"]), "workflow TYPE_MISMATCH"),
            ("metadata", json!([]), "metadata TYPE_MISMATCH"),
            ("metadata", json!({"vars": 1}), "metadata.vars TYPE_MISMATCH"),
            ("stubs_file", json!({}), "stubs_file TYPE_MISMATCH"),
            ("secrets", json!({"a": 1}), "secrets.a TYPE_MISMATCH"),
            ("secrets", json!("a"), "secrets TYPE_MISMATCH"),
            ("expect", json!([]), "expect TYPE_MISMATCH"),
            ("expect", json!({"state": 1}), "expect.state INVALID"),
            ("expect_errors", json!("TASK_ERROR"), "expect_errors TYPE_MISMATCH"),
            ("expect_errors", json!([1]), "expect_errors[0] TYPE_MISMATCH"),
            ("expect_errors", json!(["TASK_EROR"]), "expect_errors[0] INVALID"),
            ("expect_calls", json!([]), "expect_calls TYPE_MISMATCH"),
            ("expect_calls", json!({"map": []}), "expect_calls.map UNKNOWN_FUNCTION"),
            ("expect_tasks", json!("a"), "expect_tasks TYPE_MISMATCH"),
            ("expect_tasks", json!([1]), "expect_tasks[0] TYPE_MISMATCH"),
        ] {
            assert_eq!(problems(with(key, value)), [problem]);
        }
        let many = json!({"input": 1, "workflow": 1, "expct": 1, "expect": {"x": 1}});
        assert_eq!(problems(many), ["expct UNKNOWN_FIELD", "workflow TYPE_MISMATCH", "expect.x INVALID"]);
    }

    #[test]
    fn inline_stubs_win_over_a_file() {
        let engine = Engine::builder().build();
        let stubs = |document: Value| Case::parse(&document, engine.catalogue()).unwrap().stubs;
        let mut document = with("stubs_file", json!("stubs.json"));
        assert_eq!(stubs(document.clone()), CaseStubs::File("stubs.json".into()));
        document["stubs"] = json!({});
        assert_eq!(stubs(document), CaseStubs::Inline(json!({})));
    }
}
