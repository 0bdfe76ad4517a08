//! Every operator an expression may call.
//!
//! The list is static; a test holds it to the set the engine evaluates, and evaluates every example.

mod collections;
mod decimals;
mod logic;
mod text;

use serde_json::{Value, json};
use svc_model::nearest;

/// An operator of expressions.
#[derive(Debug, Clone, Copy)]
pub struct Operator {
    /// The name expressions use.
    pub name: &'static str,
    /// The group it belongs to.
    pub category: &'static str,
    /// The fewest operands that make sense.
    pub least: usize,
    /// Maximum number of operands that make sense; [`MANY`] for no bound.
    pub most: usize,
    /// True if a call with fewer or more operands is refused: it fails, or gives null, whatever they are.
    pub is_strict: bool,
    /// One line.
    pub description: &'static str,
    /// A call, as JSON.
    pub example: &'static str,
    /// The `data` of the message the example is evaluated over, as JSON; empty for `{}`.
    pub data: &'static str,
    /// The result of the example, as JSON; empty if it is not the same every time.
    pub result: &'static str,
}

/// No bound.
pub const MANY: usize = usize::MAX;

impl Operator {
    /// An operator that takes a range of operands.
    const fn new(name: &'static str, operands: (usize, usize), description: &'static str) -> Self {
        Self {
            name,
            category: "",
            least: operands.0,
            most: operands.1,
            is_strict: false,
            description,
            example: "",
            data: "",
            result: "",
        }
    }

    /// Marks an operator that makes nothing of any other number of operands.
    const fn strict(self) -> Self {
        Self { is_strict: true, ..self }
    }

    /// Adds the example and its result.
    const fn shows(self, example: &'static str, result: &'static str) -> Self {
        Self { example, result, ..self }
    }

    /// Adds the data that the example reads.
    const fn over(self, data: &'static str) -> Self {
        Self { data, ..self }
    }

    /// Returns the row of the operator list: `example.result` is absent if it is not the same every time.
    pub fn to_json(&self) -> Value {
        let mut example = json!({"logic": read(self.example), "data": self.example_data()});
        if let Some(result) = self.example_result() {
            example["result"] = result;
        }
        json!({
            "name": self.name,
            "category": self.category,
            "arity": {"min": self.least, "max": (self.most != MANY).then_some(self.most)},
            "description": self.description,
            "example": example,
        })
    }

    /// Returns the `data` of the message that the example is evaluated over.
    pub fn example_data(&self) -> Value {
        if self.data.is_empty() { json!({}) } else { read(self.data) }
    }

    /// Returns the result of the example; `None` if it is not the same every time.
    pub fn example_result(&self) -> Option<Value> {
        (!self.result.is_empty()).then(|| read(self.result))
    }
}

/// The tables are constants of this crate; a test reads every one of them.
fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// The groups of operators, in the order of the list.
static GROUPS: [(&str, &[Operator]); 10] = [
    ("data access", &logic::ACCESS),
    ("comparison", &logic::COMPARISON),
    ("control", &logic::CONTROL),
    ("arithmetic", &logic::ARITHMETIC),
    ("decimal numbers", &decimals::DECIMALS),
    ("text", &text::TEXT),
    ("encoding", &text::ENCODING),
    ("time", &text::TIME),
    ("array", &collections::ARRAY),
    ("object", &collections::OBJECT),
];

/// The operators that 0.1.0 does not have, in which an object of one member of such a name is data.
pub(crate) const ADDED: [&str; 18] = [
    "avg",
    "capture",
    "decimal",
    "decimal_add",
    "decimal_compare",
    "decimal_div",
    "decimal_mul",
    "decimal_round",
    "decimal_sub",
    "decimal_sum",
    "format_number",
    "hash",
    "index",
    "matches",
    "replace",
    "round",
    "sum",
    "uuid",
];

/// Names of other languages, and the operators that do what they do there.
const FOREIGN: [(&str, &str); 34] = [
    ("&&", "and"),
    ("=", "=="),
    ("=<", "<="),
    ("=>", ">="),
    ("any", "some"),
    ("append", "merge"),
    ("average", "avg"),
    ("coalesce", "??"),
    ("concat", "cat"),
    ("contains", "in"),
    ("count", "length"),
    ("eq", "=="),
    ("equals", "=="),
    ("every", "all"),
    ("gt", ">"),
    ("gte", ">="),
    ("ifelse", "if"),
    ("includes", "in"),
    ("len", "length"),
    ("lowercase", "lower"),
    ("lt", "<"),
    ("lte", "<="),
    ("mean", "avg"),
    ("md5", "hash"),
    ("ne", "!="),
    ("not", "!"),
    ("regex", "matches"),
    ("replace_all", "replace"),
    ("sha256", "hash"),
    ("size", "length"),
    ("substring", "substr"),
    ("union", "merge"),
    ("uppercase", "upper"),
    ("||", "or"),
];

/// Returns every operator, group after group.
pub fn all() -> impl Iterator<Item = Operator> {
    GROUPS.iter().flat_map(|(category, group)| group.iter().map(|one| Operator { category, ..*one }))
}

/// Returns the operator of this name.
pub fn find(name: &str) -> Option<&'static Operator> {
    GROUPS.iter().flat_map(|(_, group)| group.iter()).find(|operator| operator.name == name)
}

/// Returns every name, in the order of the list.
pub fn names() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().flat_map(|(_, group)| group.iter().map(|operator| operator.name))
}

/// Returns the operator that a misspelt name was probably meant to be.
pub fn suggest_operator(name: &str) -> Option<&'static str> {
    let foreign = FOREIGN.iter().map(|(foreign, _)| *foreign);
    let near = nearest(name, names().chain(foreign))?;
    Some(FOREIGN.iter().find(|(foreign, _)| *foreign == near).map_or(near, |(_, operator)| operator))
}

/// Returns the operator list.
pub fn to_json() -> Value {
    all().map(|operator| operator.to_json()).collect()
}

#[cfg(test)]
mod tests;
