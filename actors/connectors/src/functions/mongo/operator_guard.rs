//! Inputs with MongoDB operators: the author writes the operators, the message provides values.
//!
//! `{"password": {"var": "data.password"}}` over a message that holds `{"$ne": null}` must not match every
//! password. So a value from the message that would act — an object with a `$` key that is no extended JSON,
//! a regular expression, code — stays a value if one is possible (`$eq` in a filter, `$literal` in an
//! expression, as it is in a document), and is refused everywhere else. Who hands a whole filter over with
//! one `var` means its operators; those that run code are refused there too.

use serde_json::{Map, Value, json};
use svc_engine::{CompileCx, TaskCx, TaskError, Template};
use svc_functions::declarations::mongo::is_var;

/// Wrappers of extended JSON that denote a value and nothing else.
const TYPED: [&str; 14] = [
    "$oid",
    "$date",
    "$numberInt",
    "$numberLong",
    "$numberDouble",
    "$numberDecimal",
    "$binary",
    "$uuid",
    "$timestamp",
    "$symbol",
    "$dbPointer",
    "$minKey",
    "$maxKey",
    "$undefined",
];
/// Operators that run code on the server.
const CODE: [&str; 3] = ["$where", "$function", "$accumulator"];

/// The syntactic context of a value in an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputContext {
    /// A query: names of fields and logical operators.
    Query,
    /// The condition of a query on one field.
    Field,
    /// An expression, or a stage of a pipeline.
    Expression,
    /// Update operators.
    Update,
    /// A value, whatever it looks like.
    Data,
    /// None of these: no value from a message may act as an operator here.
    Sealed,
}

/// An input prepared once.
pub(crate) struct GuardedInput {
    name: &'static str,
    place: InputContext,
    node: Node,
}

enum Node {
    /// A value that the author wrote.
    Authored(Value),
    /// A value from the message.
    FromMessage(Template),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl GuardedInput {
    /// Prepares an input, if it is given.
    pub(crate) fn compile(
        input: &Value,
        name: &'static str,
        place: InputContext,
        cx: &CompileCx<'_>,
    ) -> Option<Self> {
        let input_source = input.get(name).filter(|value| !value.is_null())?;
        Some(Self { name, place, node: Node::compile(input_source, &|source: &Value| cx.template(source)) })
    }

    /// The input for one message.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` for a value of the message that would act as an operator.
    pub(crate) fn resolve(&self, cx: &TaskCx<'_>) -> Result<Value, TaskError> {
        self.resolve_with(&|template| cx.resolve(template))
    }

    fn resolve_with(&self, fold: &dyn Fn(&Template) -> Value) -> Result<Value, TaskError> {
        if let Node::FromMessage(template) = &self.node {
            let value = fold(template);
            return match code(&value) {
                Some(operator) => Err(operator_error(self.name, operator)),
                None => Ok(value),
            };
        }
        self.node.resolve(self.place, self.name, fold)
    }
}

impl Node {
    fn compile(source: &Value, template: &dyn Fn(&Value) -> Template) -> Self {
        match source {
            source if is_var(source) => Self::FromMessage(template(source)),
            Value::Object(map) => {
                let fields: Vec<_> =
                    map.iter().map(|(key, value)| (key.clone(), Self::compile(value, template))).collect();
                if fields.iter().all(|(_, node)| matches!(node, Self::Authored(_))) {
                    return Self::Authored(source.clone());
                }
                Self::Object(fields)
            }
            Value::Array(items) => {
                let nodes: Vec<_> = items.iter().map(|item| Self::compile(item, template)).collect();
                if nodes.iter().all(|node| matches!(node, Self::Authored(_))) {
                    return Self::Authored(source.clone());
                }
                Self::Array(nodes)
            }
            scalar => Self::Authored(scalar.clone()),
        }
    }

    fn resolve(
        &self,
        place: InputContext,
        at: &str,
        fold: &dyn Fn(&Template) -> Value,
    ) -> Result<Value, TaskError> {
        match self {
            Self::Authored(value) => Ok(value.clone()),
            Self::FromMessage(template) => place.admit(fold(template), at),
            Self::Array(nodes) => nodes.iter().map(|node| node.resolve(place.item(), at, fold)).collect(),
            Self::Object(fields) => {
                let mut resolved = Map::new();
                for (key, node) in fields {
                    let below = format!("{at}.{key}");
                    resolved.insert(key.clone(), node.resolve(place.at_key(key), &below, fold)?);
                }
                Ok(Value::Object(resolved))
            }
        }
    }
}

impl InputContext {
    /// Returns the context below a key that the author wrote.
    fn at_key(self, key: &str) -> Self {
        match (self, key) {
            (Self::Query, "$and" | "$or" | "$nor") => Self::Query,
            (Self::Query, "$expr") | (Self::Expression, _) if key != "$match" => Self::Expression,
            (Self::Expression, _) => Self::Query,
            (Self::Query, key) if !key.starts_with('$') => Self::Field,
            (Self::Field, "$eq") | (Self::Update, "$set" | "$setOnInsert") | (Self::Data, _) => Self::Data,
            // A field of a document that is compared as a whole.
            (Self::Field, key) if !key.starts_with('$') => Self::Data,
            _ => Self::Sealed,
        }
    }

    /// Returns the context of the items of an array that the author wrote.
    fn item(self) -> Self {
        if self == Self::Field { Self::Data } else { self }
    }

    /// A value of the message at this place.
    fn admit(self, value: Value, at: &str) -> Result<Value, TaskError> {
        match self {
            Self::Data => Ok(value),
            Self::Expression if acts(&value).is_some() || names_field(&value) => {
                Ok(json!({"$literal": value}))
            }
            Self::Field if acts(&value).is_some() => Ok(json!({"$eq": value})),
            _ => match acts(&value) {
                Some(operator) => Err(operator_error(at, operator)),
                None => Ok(value),
            },
        }
    }
}

fn operator_error(at: &str, operator: &str) -> TaskError {
    let why = format!("{at}: the message brings \"{operator}\" here; write operators in the task itself");
    TaskError::validation(why)
}

/// The first key of a value that MongoDB would act on.
fn acts(value: &Value) -> Option<&str> {
    match value {
        Value::Array(items) => items.iter().find_map(acts),
        Value::Object(map) => {
            if map.len() == 1 && map.keys().all(|key| TYPED.contains(&key.as_str())) {
                return None;
            }
            let key = map.keys().find(|key| key.starts_with('$'));
            key.map(String::as_str).or_else(|| map.values().find_map(acts))
        }
        _ => None,
    }
}

/// The first operator in a value that runs code.
fn code(value: &Value) -> Option<&str> {
    match value {
        Value::Array(items) => items.iter().find_map(code),
        Value::Object(map) => {
            let key = map.keys().find(|key| CODE.contains(&key.as_str()));
            key.map(String::as_str).or_else(|| map.values().find_map(code))
        }
        _ => None,
    }
}

/// Returns true if a text in a value would read a field in an expression.
fn names_field(value: &Value) -> bool {
    match value {
        Value::String(text) => text.starts_with('$'),
        Value::Array(items) => items.iter().any(names_field),
        Value::Object(map) => map.values().any(names_field),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
