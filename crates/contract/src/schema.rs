//! Compiled schemas of messages.

use std::fmt;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;
use svc_model::FieldError;

use crate::application::{SchemaApplicationError, check_application};
use crate::effort::{EVERY_FAULT, FIRST_FAULT, SchemaWays};
use crate::faults::{MAX_FAULTS, describe_schema_fault, to_field_errors};

/// Maximum size of a schema, in bytes of JSON.
pub const MAX_SCHEMA_BYTES: usize = 64 << 10;

/// Maximum size of a compiled pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// Maximum number of calls within one another with which the validator walks through a message. A thread has a stack of
/// two mebibytes, of which this takes the half.
const MAX_CALLS: usize = 1000;

/// Maximum depth of a message that was read from JSON.
const MAX_DEPTH: usize = 128;

/// Values in a message of which every fault is reported. The validator collects all of them before the first can be
/// read, so that the faults of a larger message would take many times its bytes.
const MAX_REPORTED_VALUES: usize = 10_000;

/// Keywords whose value is the address of another schema.
const REFERENCES: [&str; 2] = ["$ref", "$dynamicRef"];

/// The draft that schemas are written in.
const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The reason why a document is no schema of messages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// The document is too large.
    #[error("at most {} bytes of JSON, and this has {bytes}", MAX_SCHEMA_BYTES)]
    TooLarge {
        /// The size.
        bytes: usize,
    },
    /// The document names another draft.
    #[error("'$schema' is {}, or absent", DRAFT)]
    Draft,
    /// A reference leads out of the document.
    #[error("{path}: the reference leads out of the schema; write '#/$defs/<name>', and define it there")]
    Outside {
        /// The path of the reference below the schema.
        path: String,
    },
    /// Too many schemas apply to one value, or cannot be counted.
    #[error(transparent)]
    Application(#[from] SchemaApplicationError),
    /// The document does not compile.
    #[error("{path}: {reason}")]
    Invalid {
        /// The path of the fault below the schema; `$` for the document.
        path: String,
        /// The reason.
        reason: String,
    },
}

/// A compiled schema of messages.
pub struct MessageSchema {
    validator: Validator,
    /// Number of schemas that apply to one value within one another.
    nested: usize,
    /// The ways by which its faults are collected.
    ways: SchemaWays,
}

impl fmt::Debug for MessageSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MessageSchema").finish_non_exhaustive()
    }
}

impl MessageSchema {
    /// Compiles a schema. Formats are asserted, and those that are not known are refused.
    ///
    /// # Errors
    /// The first reason why the document cannot be used.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        let bytes = schema.to_string().len();
        if bytes > MAX_SCHEMA_BYTES {
            return Err(SchemaError::TooLarge { bytes });
        }
        check_addresses("$", schema)?;
        let nested = check_application(schema)?;
        let ways = SchemaWays::find(schema)?;
        let options = jsonschema::draft202012::options()
            .offline()
            .should_validate_formats(true)
            .should_ignore_unknown_formats(false)
            .with_pattern_options(PatternOptions::regex().size_limit(MAX_PATTERN_BYTES));
        let compiled = options.build(schema).map_err(|error| {
            let path = format!("${}", svc_model::mask::dotted_path(error.instance_path().as_str()));
            let reason = describe_schema_fault(&path, &error.to_string());
            SchemaError::Invalid { path, reason }
        });
        compiled.map(|validator| Self { validator, nested, ways })
    }

    /// Checks a value. Paths begin at `at`.
    ///
    /// # Errors
    /// The faults of the value, each with its path; at most a hundred, of a large value the first, and one without a
    /// path where the schemas that apply multiply.
    pub fn check(&self, value: &Value, at: &str) -> Result<(), Vec<FieldError>> {
        // At each level of the message the validator calls itself for what applies there, and for the next level.
        let levels = MAX_CALLS / (self.nested + 2);
        if levels < MAX_DEPTH && !is_within_levels(value, levels) {
            let message = format!("the schema takes at most {levels} levels of lists and objects");
            return Err(vec![FieldError::invalid(at, message)]);
        }
        if self.ways.compares_much() && !self.ways.are_comparisons_within(value, count_values(value)) {
            let message =
                "it has more values than the schema can compare with its enum or unevaluated members";
            return Err(vec![FieldError::invalid(at, message)]);
        }
        if self.validator.is_valid(value) {
            return Ok(());
        }
        let mut faults = self.collect_faults(value, at);
        faults.truncate(MAX_FAULTS);
        if faults.is_empty() {
            faults.push(FieldError::invalid(at, "does not match the schema"));
        }
        Err(faults)
    }

    /// Collects the faults of a value, of a large one the first; none where that would take too long.
    fn collect_faults(&self, value: &Value, at: &str) -> Vec<FieldError> {
        let values = count_values(value);
        if values <= MAX_REPORTED_VALUES && self.ways.are_within(value, values, EVERY_FAULT) {
            let errors = self.validator.iter_errors(value).take(MAX_FAULTS);
            return errors.flat_map(|error| to_field_errors(&error, value, at)).collect();
        }
        if self.ways.are_within(value, values, FIRST_FAULT) {
            let first = self.validator.validate(value).err();
            return first.map(|error| to_field_errors(&error, value, at)).unwrap_or_default();
        }
        Vec::new()
    }
}

/// Returns true for a value with at most that many levels of lists and objects.
fn is_within_levels(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|item| is_within_levels(item, levels - 1)),
        Value::Object(members) => {
            levels > 0 && members.values().all(|member| is_within_levels(member, levels - 1))
        }
        _ => true,
    }
}

/// Counts the values of a message.
fn count_values(value: &Value) -> usize {
    let inner: usize = match value {
        Value::Array(items) => items.iter().map(count_values).sum(),
        Value::Object(members) => members.values().map(count_values).sum(),
        _ => 0,
    };
    inner + 1
}

/// Refuses references out of the document, and another draft, wherever a schema may state them.
fn check_addresses(path: &str, schema: &Value) -> Result<(), SchemaError> {
    match schema {
        Value::Object(members) => {
            for (key, member) in members {
                let path = format!("{path}.{key}");
                match member.as_str() {
                    Some(address) if REFERENCES.contains(&key.as_str()) && !address.starts_with('#') => {
                        return Err(SchemaError::Outside { path });
                    }
                    Some(draft) if key == "$schema" && draft.trim_end_matches('#') != DRAFT => {
                        return Err(SchemaError::Draft);
                    }
                    _ => check_addresses(&path, member)?,
                }
            }
            Ok(())
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(index, item)| check_addresses(&format!("{path}[{index}]"), item)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use svc_model::FieldCode;

    use super::*;

    fn order() -> MessageSchema {
        let schema = json!({
            "type": "object",
            "properties": {
                "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
                "email": {"type": "string", "format": "email"},
            },
            "required": ["items"],
            "additionalProperties": false,
            "$defs": {"item": {
                "type": "object",
                "properties": {"qty": {"type": "integer", "minimum": 1}},
                "required": ["qty"],
            }},
        });
        MessageSchema::compile(&schema).unwrap()
    }

    fn faults(value: &Value) -> Vec<(String, FieldCode)> {
        let faults = order().check(value, "body").unwrap_err();
        faults.into_iter().map(|fault| (fault.path, fault.code)).collect()
    }

    #[test]
    fn each_fault_is_named_by_its_path() {
        assert_eq!(order().check(&json!({"items": [{"qty": 1}], "email": "a@b.example"}), "body"), Ok(()));
        let value = json!({"items": [{"qty": 1}, {}, {"qty": "1"}, {"qty": 0}], "email": "none", "itms": 1});
        let mut found = faults(&value);
        found.sort_by(|one, other| one.0.cmp(&other.0));
        let expected = [
            ("body.email", FieldCode::Invalid),
            ("body.items[1].qty", FieldCode::Required),
            ("body.items[2].qty", FieldCode::TypeMismatch),
            ("body.items[3].qty", FieldCode::Invalid),
            ("body.itms", FieldCode::UnknownField),
        ];
        assert_eq!(found, expected.map(|(path, code)| (path.to_owned(), code)));
        assert_eq!(faults(&json!([])), [("body".to_owned(), FieldCode::TypeMismatch)]);
    }

    #[test]
    fn paths_have_members_by_their_names() {
        let schema =
            MessageSchema::compile(&json!({"additionalProperties": {"items": {"required": ["0"]}}})).unwrap();
        let value = json!({"a/b~c": [{}], "0": [{"0": 1}, {}], "": [{}]});
        let mut found: Vec<_> =
            schema.check(&value, "body").unwrap_err().into_iter().map(|fault| fault.path).collect();
        found.sort();
        assert_eq!(found, ["body.0[1].0", "body.[0].0", "body.a/b~c[0].0"]);
    }

    #[test]
    fn report_has_at_most_a_hundred_faults() {
        let items: Vec<_> = (0..500).map(|_| json!({"qty": "x"})).collect();
        assert_eq!(faults(&json!({"items": items})).len(), 100);
        let unknown: serde_json::Map<_, _> = (0..500).map(|index| (format!("k{index}"), json!(1))).collect();
        assert_eq!(faults(&Value::Object(unknown)).len(), 100);
    }

    #[test]
    fn large_value_is_reported_by_its_first_fault() {
        let items: Vec<_> = (0..MAX_REPORTED_VALUES).map(|_| json!({"qty": "x"})).collect();
        let found = faults(&json!({"items": items}));
        assert_eq!(found, [("body.items[0].qty".to_owned(), FieldCode::TypeMismatch)]);
        assert_eq!(faults(&json!({"items": vec![json!({"qty": "x"}); 50]})).len(), 50);
    }

    #[test]
    fn deep_value_of_nested_schemas_is_refused() {
        let mut defs: serde_json::Map<_, _> =
            (0..50).map(|at| (at.to_string(), json!({"$ref": format!("#/$defs/{}", at + 1)}))).collect();
        defs.insert("50".to_owned(), json!({"properties": {"a": {"$ref": "#/$defs/0"}}}));
        let schema = MessageSchema::compile(&json!({"$ref": "#/$defs/0", "$defs": defs})).unwrap();
        let nest = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!({"a": inner}));
        assert_eq!(schema.check(&nest(18), "body"), Ok(()));
        let faults = schema.check(&nest(120), "body").unwrap_err();
        assert_eq!((faults.len(), faults[0].path.as_str()), (1, "body"));
        assert!(faults[0].message.contains("at most 18 levels"), "{faults:?}");
    }

    #[test]
    fn faults_of_multiplied_alternatives_are_one() {
        let part =
            |kind: &str| json!({"required": ["k"], "properties": {"k": {"const": kind}, "c": {"$ref": "#"}}});
        let schema = MessageSchema::compile(&json!({"oneOf": [part("x"), part("y")]})).unwrap();
        let nest = |levels: usize, last: &str| {
            (0..levels).fold(json!({"k": last}), |inner, _| json!({"k": "x", "c": inner}))
        };
        assert_eq!(schema.check(&nest(60, "y"), "body"), Ok(()));
        let faults = schema.check(&nest(60, "z"), "body").unwrap_err();
        assert_eq!((faults.len(), faults[0].path.as_str()), (1, "body"));
        assert_eq!(faults[0].message, "does not match the schema");
    }

    #[test]
    fn long_names_of_senders_are_cut_in_paths() {
        let schema = json!({"additionalProperties": {"items": {"required": ["id"]}}});
        let schema = MessageSchema::compile(&schema).unwrap();
        let value = json!({"k".repeat(100_000): [{}, {}, {}]});
        let faults = schema.check(&value, "body").unwrap_err();
        assert_eq!(faults.len(), 3);
        assert!(faults.iter().all(|fault| fault.path.len() == 300), "{:?}", faults[0].path.len());
    }

    #[test]
    fn every_format_of_the_draft_is_known() {
        for (format, good, bad) in [
            ("date-time", "2026-01-31T08:00:00Z", "2026-01-31"),
            ("date", "2026-01-31", "2026-13-31"),
            ("time", "08:00:00Z", "25:00:00Z"),
            ("duration", "P3D", "3D"),
            ("email", "a@b.example", "a"),
            ("idn-email", "ä@ö.example", "ä"),
            ("hostname", "a.example", "-a-"),
            ("idn-hostname", "ö.example", "-ö-"),
            ("ipv4", "10.0.0.1", "10.0.0.256"),
            ("ipv6", "::1", "::g"),
            ("uri", "https://a.example/", "/a b"),
            ("uri-reference", "/a", "\\a"),
            ("iri", "https://a.example/ö", "/ö ö"),
            ("iri-reference", "/ö", "\\ö"),
            ("uri-template", "/a/{id}", "/a/{id"),
            ("uuid", "0199a7a0-0000-7000-8000-000000000000", "0199"),
            ("json-pointer", "/a/0", "a"),
            ("relative-json-pointer", "1/a", "/a"),
            ("regex", "^a+$", "("),
        ] {
            let schema = MessageSchema::compile(&json!({"format": format})).unwrap();
            assert_eq!(schema.check(&json!(good), "body"), Ok(()), "{format}");
            assert!(schema.check(&json!(bad), "body").is_err(), "{format}");
        }
    }

    #[test]
    fn values_are_not_repeated_in_messages() {
        let faults = order().check(&json!({"items": "swordfish"}), "body").unwrap_err();
        assert!(faults.iter().all(|fault| !fault.message.contains("swordfish")), "{faults:?}");
    }

    #[test]
    fn unusable_schema_is_refused_with_its_reason() {
        for (schema, part) in [
            (json!({"type": "objet"}), "type"),
            (json!({"$ref": "https://example.com/a.json"}), "$.$ref: the reference leads out"),
            (json!({"properties": {"a": {"$ref": "other.json#/x"}}}), "$.properties.a.$ref"),
            (json!({"$ref": "#/$defs/gone"}), "gone"),
            (json!({"$schema": "http://json-schema.org/draft-07/schema#"}), "2020-12"),
            (json!({"format": "no-such-format"}), "no-such-format"),
            (json!({"pattern": "(?=a)b"}), "(?=a)b"),
            (json!({"description": "x".repeat(MAX_SCHEMA_BYTES)}), "at most 65536 bytes"),
        ] {
            let error = MessageSchema::compile(&schema).unwrap_err().to_string();
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}
