//! The values of an environment: a document `{vars: {name: value}, secrets: [names]}` states what `[vars]` and
//! `[secrets]` of its servers declare. It is checked against what a project names, and is never a part of a package.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};
use svc_model::config::value_reference::is_value_name;
use svc_model::unknown_keys;

use crate::checks::Check;
use crate::finding::Finding;
use crate::shared::Origin;
use crate::source::SourceFile;
use crate::stand_ins::StandIns;

/// The members of the document.
const MEMBERS: [&str; 2] = ["secrets", "vars"];

/// The values and the names of the secrets that the servers of one environment declare.
#[derive(Clone, Debug, PartialEq)]
pub struct EnvironmentValues {
    /// The name of the file.
    pub name: String,
    /// The values by name.
    pub vars: Map<String, Value>,
    /// The names of the secrets.
    pub secrets: BTreeSet<String>,
}

impl EnvironmentValues {
    /// Reads a file.
    ///
    /// # Errors
    /// A finding for each unknown key, each name that no server can declare, and each value of another form.
    pub fn read(source: &Arc<SourceFile>) -> Result<Self, Vec<Finding>> {
        let problems = form_problems(&source.value);
        if !problems.is_empty() {
            let root = Origin::root(Arc::clone(source));
            let report = |(path, problem): (String, String)| {
                let message = if path.is_empty() { problem } else { format!("{path}: {problem}") };
                let place = root.join(&path).place();
                Finding { place, ..Check::ValuesForm.finding(source.name.as_str(), message) }
            };
            return Err(problems.into_iter().map(report).collect());
        }
        let vars = source.value.get("vars").and_then(Value::as_object).cloned().unwrap_or_default();
        let secrets = source.value.get("secrets").and_then(Value::as_array).into_iter().flatten();
        let secrets = secrets.filter_map(Value::as_str).map(str::to_owned).collect();
        Ok(Self { name: source.name.clone(), vars, secrets })
    }

    /// Returns the metadata of a case with the values in `vars`, those of the case before those of the file.
    ///
    /// # Errors
    /// The path and the problem of each value of the case that the file has not, or has with another type, and of each
    /// stand-in for a secret that the file does not name.
    pub fn complete_metadata(
        &self,
        metadata: &Map<String, Value>,
        stand_ins: &StandIns,
    ) -> Result<Map<String, Value>, Vec<(String, String)>> {
        let own = metadata.get("vars").and_then(Value::as_object);
        let mut problems = Vec::new();
        for (name, value) in own.into_iter().flatten() {
            let problem = match self.vars.get(name) {
                None => format!("{} declares no such value{}", self.name, list(self.vars.keys())),
                Some(declared) if std::mem::discriminant(declared) != std::mem::discriminant(value) => {
                    format!("{} declares a value of another type", self.name)
                }
                Some(_) => continue,
            };
            problems.push((format!("metadata.vars.{name}"), problem));
        }
        for name in stand_ins.declared_names().filter(|name| !self.secrets.contains(*name)) {
            let problem = format!("{} declares no such secret{}", self.name, list(self.secrets.iter()));
            problems.push((format!("secrets.{name}"), problem));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut vars = self.vars.clone();
        vars.extend(own.cloned().unwrap_or_default());
        let mut metadata = metadata.clone();
        metadata.insert("vars".to_owned(), Value::Object(vars));
        Ok(metadata)
    }
}

/// Returns `; declared: a, b`, or nothing for no names.
pub(crate) fn list<'n>(names: impl Iterator<Item = &'n String>) -> String {
    let names: Vec<_> = names.map(String::as_str).collect();
    if names.is_empty() { String::new() } else { format!("; declared: {}", names.join(", ")) }
}

/// Returns the problems of the document, each with its path.
fn form_problems(document: &Value) -> Vec<(String, String)> {
    let Value::Object(members) = document else {
        return vec![(String::new(), "expected an object with `vars` and `secrets`".to_owned())];
    };
    let unknown = unknown_keys(members, "values", &MEMBERS, &[]).into_iter();
    let mut problems: Vec<_> = unknown
        .map(|error| {
            let path = error.path.strip_prefix("values.").unwrap_or_default().to_owned();
            (path, error.message)
        })
        .collect();
    match members.get("vars") {
        None | Some(Value::Null) => {}
        Some(Value::Object(vars)) => problems.extend(vars.iter().filter_map(|(name, value)| {
            let problem = value_problem(name, value)?;
            Some((format!("vars.{name}"), problem))
        })),
        Some(_) => problems.push(("vars".to_owned(), "expected an object of names and values".to_owned())),
    }
    match members.get("secrets") {
        None | Some(Value::Null) => {}
        Some(Value::Array(names)) => {
            for (index, name) in names.iter().enumerate() {
                if !name.as_str().is_some_and(is_value_name) {
                    problems.push((format!("secrets[{index}]"), NAME_FORM.to_owned()));
                }
            }
        }
        Some(_) => problems.push(("secrets".to_owned(), "expected a list of names".to_owned())),
    }
    problems
}

const NAME_FORM: &str = "a name is letters, digits and underscores, and begins with no digit";

fn value_problem(name: &str, value: &Value) -> Option<String> {
    if !is_value_name(name) {
        return Some(NAME_FORM.to_owned());
    }
    match value {
        Value::Null => Some("a value is a text, a number, a boolean, a list or an object".to_owned()),
        Value::String(text) if svc_secrets::is_reference(text) => {
            Some("holds a secret reference; name the secret in `secrets`".to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::source::SourceFormat;

    fn read(document: &Value) -> Result<EnvironmentValues, Vec<String>> {
        let source = SourceFile::parse("prod.json", SourceFormat::Json, document.to_string()).unwrap();
        let read = EnvironmentValues::read(&Arc::new(source));
        read.map_err(|findings| findings.into_iter().map(|finding| finding.message).collect())
    }

    #[test]
    fn misspelt_key_and_wrong_form_are_refused() {
        let refused = read(&json!({"var": {}, "secrets": ["1a"], "vars": {"a-b": 1, "k": "env://K"}}));
        let messages = refused.unwrap_err();
        for part in ["did you mean 'vars'?", "secrets[0]: a name", "vars.a-b: a name", "vars.k: holds"] {
            assert!(messages.iter().any(|message| message.contains(part)), "{part}: {messages:?}");
        }
        assert!(read(&json!([])).unwrap_err()[0].starts_with("expected an object"));
    }

    #[test]
    fn case_is_completed_and_checked() {
        let values = read(&json!({"vars": {"region": "eu", "limit": 5}, "secrets": ["key"]})).unwrap();
        let metadata = |vars: Value| json!({"vars": vars}).as_object().unwrap().clone();
        let none = StandIns::default();
        let completed = values.complete_metadata(&metadata(json!({"limit": 7})), &none).unwrap();
        assert_eq!(completed["vars"], json!({"region": "eu", "limit": 7}));
        let secrets = StandIns::parse(&json!({"other": "x", "key": "y", "env://A": "z"}), "secrets").unwrap();
        let refused = values.complete_metadata(&metadata(json!({"limit": "7", "zone": 1})), &secrets);
        let paths: Vec<_> = refused.unwrap_err().into_iter().map(|(path, _)| path).collect();
        assert_eq!(paths, ["metadata.vars.limit", "metadata.vars.zone", "secrets.other"]);
    }
}
