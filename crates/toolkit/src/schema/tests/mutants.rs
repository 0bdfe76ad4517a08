//! Mutants of the corpus: documents that differ in one member. A schema takes each that create accepts, and refuses each
//! whose shape create refuses.

use serde_json::{Map, Value, json};
use svc_engine::{Engine, Stubs};
use svc_model::{FieldCode, Issue};
use svc_project::case::{Case, CaseStubs};
use svc_project::schema::DocumentKind;

use super::{Judge, cases, corpus, kind_of};

/// Calls `visit` with every document that differs from one in one member: removed, added, or of another type.
fn each_mutant(document: &Value, visit: &mut dyn FnMut(&str, &Value)) {
    let mut pointers = Vec::new();
    each_object("", document, &mut pointers);
    for pointer in pointers {
        let Some(Value::Object(members)) = document.pointer(&pointer) else { continue };
        let mut with = |change: &str, edit: &dyn Fn(&mut Map<String, Value>)| {
            let mut mutant = document.clone();
            if let Some(Value::Object(members)) = mutant.pointer_mut(&pointer) {
                edit(members);
            }
            visit(&format!("{change} at {pointer:?}"), &mutant);
        };
        with("added zzzzzzzz", &|members| drop(members.insert("zzzzzzzz".to_owned(), json!(1))));
        for name in members.keys() {
            with(&format!("removed {name}"), &|members| drop(members.remove(name)));
            for other in [json!(null), json!(7), json!("text"), json!(true), json!([1]), json!({"zz": 1})] {
                let edit =
                    |members: &mut Map<String, Value>| drop(members.insert(name.clone(), other.clone()));
                with(&format!("{name} = {other}"), &edit);
            }
        }
    }
}

fn each_object(pointer: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            found.push(pointer.to_owned());
            for (name, member) in members {
                each_object(
                    &format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1")),
                    member,
                    found,
                );
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                each_object(&format!("{pointer}/{index}"), item, found);
            }
        }
        _ => {}
    }
}

/// Returns `true` if a document is refused for its shape.
const fn is_shape(code: FieldCode) -> bool {
    use FieldCode::{Required, RequiredForProtocol, TypeMismatch, UnknownField};
    matches!(code, UnknownField | TypeMismatch | Required | RequiredForProtocol)
}

/// Fields that are required by some values of others, or whose null counts as absent, which a schema for editors does not
/// show.
const CONDITIONALLY_REQUIRED: [&str; 11] = [
    "for_each.over",
    "input.data",
    "input.expires_in",
    "input.key",
    "input.keys",
    "oauth2_login.client_id",
    "oauth2_login.client_secret",
    "connector.config.url",
    "deduplication.header",
    "principal_rate_limit.key_logic",
    "transport_config.max_catch_up",
];

/// Returns `true` for a field that is missing though some value of another one requires it.
fn is_conditional(issue: &Issue) -> bool {
    issue.code == Some(FieldCode::Required)
        && CONDITIONALLY_REQUIRED.iter().any(|field| issue.field.ends_with(field))
        // The keys of a row to page behind are those of the order.
        || issue.field.contains("input.query.after")
}

/// The verdicts of a parser and of a schema about mutants.
#[derive(Default)]
struct Comparison {
    accepted: usize,
    refused: usize,
    wrong: Vec<String>,
}

impl Comparison {
    /// Compares the codes of the errors of a parser with the errors of the schema.
    fn add(&mut self, change: &str, mutant: &Value, codes: &[FieldCode], schema_errors: &[String]) {
        if codes.is_empty() {
            self.accepted += 1;
            if !schema_errors.is_empty() {
                self.wrong.push(format!("{change}: accepted, but {schema_errors:?}"));
            }
        } else if codes.iter().any(|code| is_shape(*code)) {
            self.refused += 1;
            if schema_errors.is_empty() {
                self.wrong.push(format!("{change}: validates, but {codes:?} in {mutant}"));
            }
        }
    }

    fn assert_agreement(mut self, least: (usize, usize)) {
        let Self { accepted, refused, .. } = self;
        assert!(accepted > least.0 && refused > least.1, "{accepted} accepted, {refused} refused");
        self.wrong.sort();
        self.wrong.dedup();
        let shown = self.wrong[..self.wrong.len().min(60)].join("\n");
        assert!(self.wrong.is_empty(), "{} of {}:\n{shown}", self.wrong.len(), accepted + refused);
    }
}

#[test]
fn schema_agrees_with_create_on_mutants() {
    let judge = Judge::new();
    let mut comparison = Comparison::default();
    for document in corpus() {
        let kind = kind_of(&document);
        each_mutant(&document, &mut |change, mutant| {
            // A document that has lost what tells its kind is a document of another kind.
            if kind_of(mutant) != kind {
                return;
            }
            let report = judge.report(kind, mutant);
            if report.errors.iter().any(is_conditional) {
                return;
            }
            let codes: Vec<_> = report.errors.iter().filter_map(|issue| issue.code).collect();
            comparison.add(change, mutant, &codes, &judge.schema_errors(kind, mutant));
        });
    }
    comparison.assert_agreement((1000, 3000));
}

/// Returns the codes of the problems of a case and of its stubs.
fn case_problems(engine: &Engine, document: &Value) -> Vec<FieldCode> {
    let parsed = Case::parse(document, engine.catalogue()).and_then(|case| match case.stubs {
        CaseStubs::Inline(stubs) => Stubs::parse(engine.catalogue(), &stubs, "stubs").map(drop),
        CaseStubs::None | CaseStubs::File(_) => Ok(()),
    });
    parsed.err().into_iter().flatten().map(|error| error.code).collect()
}

#[test]
fn mutants_of_cases_validate_where_they_parse() {
    let judge = Judge::new();
    let whole = json!({"name": "n", "workflow": "w.json", "input": {"a": 1}, "secrets": {"s": "stand-in"},
        "metadata": {"headers": {"a": "b"}, "params": {"a": "b"}, "query": {"a": "b"}, "cookies": {"a": "b"},
            "channel": "c", "http_method": "GET", "vars": {"v": 1}, "auth": {"claims": {"sub": "u"}}, "other": 1},
        "stubs": {"db_read": {"shop": [{"n": 1}], "*": []}, "channel_call": {"c": {"a": 1}}}, "stubs_file": "s.json",
        "expect": {"data.a": 1, "calls.db_read[0].input": {}}, "expect_errors": ["TIMEOUT_ERROR"],
        "expect_calls": {"db_read": [{"connector": "shop"}]}, "expect_tasks": ["t"]});
    let mut comparison = Comparison::default();
    for document in cases().into_iter().chain([whole]) {
        assert_eq!(case_problems(&judge.engine, &document), [], "{document}");
        each_mutant(&document, &mut |change, mutant| {
            let codes = case_problems(&judge.engine, mutant);
            comparison.add(change, mutant, &codes, &judge.schema_errors(DocumentKind::Case, mutant));
        });
    }
    comparison.assert_agreement((1000, 300));
}
