//! Every function a workflow may name, with the table of its inputs.
//!
//! The catalogue is static: it says what may be written, not what this process can run. A name listed here without
//! a registered handler is accepted from authors and keeps its channels out of service.

mod connector;
mod document;
mod field;
pub mod operators;
mod utility;

use serde_json::{Value, json};

pub use field::{InputField, InputKind, PathUse};

/// Where a function comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionSource {
    /// Built into the engine; its inputs are listed only where all are asked for.
    Engine,
    /// A handler of the service.
    Service,
}

/// One function.
#[derive(Debug)]
pub struct FunctionEntry {
    /// The name workflows use.
    pub name: &'static str,
    /// `connector`, `control`, `data` or `utility`.
    pub category: &'static str,
    /// Where it comes from.
    pub source: FunctionSource,
    /// Other accepted names.
    pub aliases: &'static [&'static str],
    /// What running it twice means: `pure`, `read`, `idempotent_write`, `unsafe_write`, `depends_on:<input>`.
    pub retry_safety: &'static str,
    /// One line.
    pub description: &'static str,
    /// True where a stored task with an unknown input is refused too.
    pub strict: bool,
    /// Its inputs.
    pub fields: &'static [InputField],
    /// What each value of its input `op` asks for; empty when no input depends on another.
    pub cases: &'static [OperationCase],
}

/// What one value of the input `op` asks for.
#[derive(Debug)]
pub struct OperationCase {
    /// The value.
    pub op: &'static str,
    /// Inputs that must be there.
    pub required: &'static [&'static str],
    /// Inputs that may be there. One that only other cases name is refused.
    pub optional: &'static [&'static str],
    /// What `algorithm` may be, the default first; empty when it is chosen otherwise.
    pub algorithms: &'static [&'static str],
}

impl FunctionEntry {
    /// The input of this name or alias.
    pub fn field(&self, name: &str) -> Option<&'static InputField> {
        self.fields.iter().find(|field| field.name == name || field.alias == Some(name))
    }

    /// The names of its inputs, aliases included.
    pub fn input_names(&self) -> impl Iterator<Item = &'static str> {
        self.fields.iter().flat_map(|field| std::iter::once(field.name).chain(field.alias))
    }

    /// What a value of `op` asks for.
    pub fn case(&self, op: &str) -> Option<&'static OperationCase> {
        self.cases.iter().find(|case| case.op == op)
    }

    /// Whether an input may be there in a case: the case names it, or no case does.
    pub fn applies(&self, case: &OperationCase, input: &str) -> bool {
        case.names(input) || !self.cases.iter().any(|other| other.names(input))
    }

    /// The entry as the function list shows it; the inputs of a built-in with `all` alone.
    pub fn to_json(&self, all: bool) -> Value {
        let mut entry = json!({
            "name": self.name,
            "category": self.category,
            "source": match self.source {
                FunctionSource::Engine => "engine",
                FunctionSource::Service => "orion",
            },
            "aliases": self.aliases,
            "retry_safety": self.retry_safety,
            "description": self.description,
        });
        if all || self.source == FunctionSource::Service {
            entry["input_fields"] = self.fields.iter().flat_map(InputField::to_json).collect();
        }
        entry
    }
}

impl OperationCase {
    fn names(&self, input: &str) -> bool {
        self.required.contains(&input) || self.optional.contains(&input)
    }
}

/// Every function, sorted by name.
pub static ENTRIES: [&FunctionEntry; 26] = [
    &connector::CACHE_READ,
    &connector::CACHE_WRITE,
    &utility::CHANNEL_CALL,
    &utility::CRYPTO,
    &document::DATA_QUERY,
    &document::DATA_WRITE,
    &connector::DB_READ,
    &connector::DB_WRITE,
    &utility::FILTER,
    &connector::HTTP_CALL,
    &utility::JWT_SIGN,
    &utility::JWT_VERIFY,
    &utility::LOG,
    &utility::MAP,
    &document::MONGO_AGGREGATE,
    &document::MONGO_READ,
    &document::MONGO_WRITE,
    &utility::PARSE_JSON,
    &utility::PARSE_XML,
    &utility::PUBLISH_JSON,
    &connector::PUBLISH_KAFKA,
    &utility::PUBLISH_XML,
    &connector::SEND_EMAIL,
    &connector::STORAGE_HEAD,
    &connector::STORAGE_PRESIGN,
    &utility::VALIDATION,
];

/// The function of this name or alias.
pub fn find(name: &str) -> Option<&'static FunctionEntry> {
    ENTRIES.iter().copied().find(|entry| entry.name == name || entry.aliases.contains(&name))
}

/// Every accepted name, aliases included.
pub fn names() -> impl Iterator<Item = &'static str> {
    ENTRIES.iter().flat_map(|entry| std::iter::once(entry.name).chain(entry.aliases.iter().copied()))
}

/// The function list, with the inputs of built-ins where `all` are asked for.
pub fn to_json(all: bool) -> Value {
    ENTRIES.iter().map(|entry| entry.to_json(all)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn twenty_seven_names_make_twenty_six_sorted_entries() {
        let sorted: BTreeSet<_> = ENTRIES.iter().map(|entry| entry.name).collect();
        assert!(sorted.into_iter().eq(ENTRIES.iter().map(|entry| entry.name)), "sorted and distinct");
        assert_eq!(names().collect::<BTreeSet<_>>().len(), 27);
        assert_eq!(find("validate").map(|entry| entry.name), Some("validation"));
        assert!(find("enrich").is_none());
    }

    #[test]
    fn an_entry_shows_its_inputs_unless_it_is_of_the_engine() {
        assert_eq!(
            find("cache_read").unwrap().to_json(false)["input_fields"][1],
            json!({"name": "key", "kind": "string", "required": true, "resolvable": true, "template_at": [],
                   "secret_at": [], "alias": null, "description": "Key to look up"})
        );
        let map = find("map").unwrap().to_json(false);
        assert_eq!(
            (&map["source"], &map["category"], &map["aliases"]),
            (&json!("engine"), &json!("data"), &json!([]))
        );
        assert!(map.get("input_fields").is_none());
        assert_eq!(find("db_write").unwrap().to_json(false)["retry_safety"], "depends_on:query");
    }

    #[test]
    fn built_ins_list_their_inputs_where_all_are_asked_for() {
        let map = find("map").unwrap().to_json(true);
        let names: Vec<_> = map["input_fields"].as_array().unwrap().iter().map(|row| &row["name"]).collect();
        assert_eq!(names, ["mappings", "mappings[].path", "mappings[].logic"]);
        assert!(to_json(true).as_array().unwrap().iter().all(|entry| entry["input_fields"].is_array()));
    }

    #[test]
    fn every_built_in_is_listed_as_of_the_engine() {
        let listed: BTreeSet<_> =
            names().filter(|name| find(name).unwrap().source == FunctionSource::Engine).collect();
        assert_eq!(listed, BTreeSet::from(crate::builtin::NAMES));
    }

    #[test]
    fn cases_name_inputs_of_their_table() {
        for entry in ENTRIES.iter().filter(|entry| !entry.cases.is_empty()) {
            let ops: Vec<_> = entry.cases.iter().map(|case| case.op).collect();
            assert_eq!(entry.field("op").unwrap().one_of, ops, "{}", entry.name);
            for case in entry.cases {
                let mut named = case.required.iter().chain(case.optional);
                assert!(named.all(|input| entry.field(input).is_some()), "{} {}", entry.name, case.op);
                let known = entry.field("algorithm").unwrap().one_of;
                assert!(case.algorithms.iter().all(|algorithm| known.contains(algorithm)));
                assert_eq!(case.names("algorithm"), !case.algorithms.is_empty(), "{}", case.op);
            }
        }
    }

    #[test]
    fn a_deciding_input_exists() {
        for entry in ENTRIES {
            if let Some(input) = entry.retry_safety.strip_prefix("depends_on:") {
                let inside = input == "op" && entry.name == "data_write";
                assert!(inside || entry.field(input).is_some(), "{}: {input}", entry.name);
            }
        }
    }
}
