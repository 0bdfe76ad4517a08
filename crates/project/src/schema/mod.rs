//! JSON Schemas (2020-12) of the authored documents, for editors: made from the declarations that documents are checked
//! by, so that the two cannot differ.
//!
//! A schema accepts whatever the admin API accepts, and what the compiler of projects replaces: shared values, calls of
//! fragments and, in fragments, parameters. It refuses what is wrong by shape: unknown keys, wrong types, missing keys.
//! Rules beyond that (a route that conflicts, an expression that does not compile) are those of `lint`.

mod blocks;
mod case;
mod documents;
mod functions;
mod nodes;
mod shapes;
mod words;

pub use nodes::one_of_any_case;

use serde_json::{Map, Value, json};
use svc_engine::catalogue::Catalogue;
use svc_engine::catalogue::operators;

/// A kind of authored document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DocumentKind {
    Channel,
    Workflow,
    Connector,
    /// Shared definitions.
    Shared,
    /// A test case.
    Case,
}

impl DocumentKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Channel, Self::Workflow, Self::Connector, Self::Shared, Self::Case];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Channel => "channel",
            Self::Workflow => "workflow",
            Self::Connector => "connector",
            Self::Shared => "shared",
            Self::Case => "case",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Channel => "A channel",
            Self::Workflow => "A workflow",
            Self::Connector => "A connector",
            Self::Shared => "Shared definitions",
            Self::Case => "A test case",
        }
    }

    /// Returns the JSON Schema of documents of this kind, with the functions of a catalogue.
    pub fn schema(self, catalogue: &Catalogue) -> Value {
        let (body, mut definitions) = match self {
            Self::Channel => documents::channel(),
            Self::Workflow => documents::workflow(catalogue),
            Self::Connector => documents::connector(),
            Self::Shared => documents::shared_document(catalogue),
            Self::Case => (case::schema(catalogue), Map::new()),
        };
        definitions.insert("shared_value".to_owned(), shared_value(self));
        definitions.insert("expression".to_owned(), expression());
        definitions.insert("operator_call".to_owned(), operator_call());
        let mut schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": self.title(),
        });
        match self {
            Self::Channel | Self::Workflow | Self::Connector => {
                schema["if"] = nodes::reference("shared_value");
                schema["else"] = body;
            }
            Self::Shared | Self::Case => schema["allOf"] = json!([body]),
        }
        schema["$defs"] = definitions.into();
        schema
    }
}

/// Returns the schema of what the compiler replaces: a shared value, a statement in a file and, in shared definitions, a
/// parameter. It has no description of its own: editors would show it in place of that of each key.
fn shared_value(kind: DocumentKind) -> Value {
    let statement = json!({"required": ["$sql"], "maxProperties": 1});
    let shared = json!({"type": "object", "anyOf": [{"required": ["$from"]}, statement]});
    let parameter = json!({"type": "object", "required": ["$param"], "maxProperties": 1});
    match kind {
        DocumentKind::Case => json!(false),
        DocumentKind::Shared => json!({"anyOf": [shared, parameter]}),
        _ => shared,
    }
}

/// Returns the schema of an expression: any value, with the operators for editors to offer.
fn expression() -> Value {
    json!({"anyOf": [{"type": "object", "properties": described_operators()}, {}]})
}

/// Returns the schema of the call of one operator, which an input takes in the place of a scalar.
fn operator_call() -> Value {
    let operators = described_operators();
    json!({"type": "object", "properties": operators, "additionalProperties": false, "minProperties": 1,
        "maxProperties": 1})
}

fn described_operators() -> Map<String, Value> {
    operators::all()
        .map(|operator| (operator.name.to_owned(), json!({"description": operator.description})))
        .collect()
}

#[cfg(test)]
mod tests;
