//! Resolvable inputs: data in which `{"var": path}` nodes are replaced by what the message holds.
//!
//! Every other node is data, other operators included; what comes from the message is never scanned again.

use serde_json::{Map, Value};

use crate::message::Message;
use crate::path::Path;

/// A compiled input.
///
/// ```
/// use serde_json::{Map, json};
/// use svc_engine::{Message, Template};
///
/// let template = Template::compile(&json!({"to": {"var": "payload.email"}, "subject": "Order"}));
/// let message = Message::new(json!({"email": "ann@example.com"}), Map::new());
/// assert_eq!(template.resolve(&message), json!({"to": "ann@example.com", "subject": "Order"}));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Template(Node);

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Literal(Value),
    /// The path (`None` = the whole context) and the default for null.
    Var(Option<Path>, Value),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
}

impl Template {
    /// Compiles an authored input. A `var` whose path is malformed reads null, as any missing value does.
    pub fn compile(source: &Value) -> Self {
        Self(Node::compile(source))
    }

    /// Returns the value without a message, if there is no `var` in it.
    pub fn as_literal(&self) -> Option<&Value> {
        match &self.0 {
            Node::Literal(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the input for one message.
    pub fn resolve(&self, message: &Message) -> Value {
        self.0.resolve(message)
    }
}

impl Node {
    fn compile(source: &Value) -> Self {
        match source {
            Value::Object(map) => {
                if let Some(var) = compile_var(map) {
                    return var;
                }
                let fields: Vec<_> =
                    map.iter().map(|(key, value)| (key.clone(), Self::compile(value))).collect();
                if fields.iter().all(|(_, node)| matches!(node, Self::Literal(_))) {
                    return Self::Literal(source.clone());
                }
                Self::Object(fields)
            }
            Value::Array(items) => {
                let nodes: Vec<_> = items.iter().map(Self::compile).collect();
                if nodes.iter().all(|node| matches!(node, Self::Literal(_))) {
                    return Self::Literal(source.clone());
                }
                Self::Array(nodes)
            }
            scalar => Self::Literal(scalar.clone()),
        }
    }

    fn resolve(&self, message: &Message) -> Value {
        match self {
            Self::Literal(value) => value.clone(),
            Self::Var(None, _) => message.context(),
            Self::Var(Some(path), default) => match message.get(path) {
                Value::Null => default.clone(),
                value => value,
            },
            Self::Array(nodes) => nodes.iter().map(|node| node.resolve(message)).collect(),
            Self::Object(fields) => {
                fields.iter().map(|(key, node)| (key.clone(), node.resolve(message))).collect()
            }
        }
    }
}

fn compile_var(map: &Map<String, Value>) -> Option<Node> {
    let argument = map.get("var").filter(|_| map.len() == 1)?;
    let (path, default) = match argument {
        Value::String(path) => (path, Value::Null),
        Value::Array(items) => match items.as_slice() {
            [Value::String(path)] => (path, Value::Null),
            [Value::String(path), default] => (path, default.clone()),
            _ => return None,
        },
        _ => return None,
    };
    if path.is_empty() {
        return Some(Node::Var(None, default));
    }
    Some(match Path::parse(path) {
        Ok(path) => Node::Var(Some(path), default),
        Err(_) => Node::Literal(default),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resolve(source: Value) -> Value {
        let mut message = Message::new(json!({"p": 1}), Map::new());
        message.data = json!({"id": 7, "tricky": {"var": "data.id"}});
        Template::compile(&source).resolve(&message)
    }

    #[test]
    fn var_nodes_fold_at_any_depth() {
        assert_eq!(
            resolve(
                json!({"a": [{"var": "data.id"}, {"b": {"var": ["data.none", "d"]}}], "p": {"var": "payload.p"}})
            ),
            json!({"a": [7, {"b": "d"}], "p": 1})
        );
    }

    #[test]
    fn other_operators_are_data() {
        let source = json!({"cat": ["a", "b"], "n": {"+": [1, 2]}});
        assert_eq!(resolve(source.clone()), source);
        assert!(Template::compile(&source).as_literal().is_some());
    }

    #[test]
    fn values_from_the_message_are_not_scanned_again() {
        assert_eq!(resolve(json!([{"var": "data.tricky"}])), json!([{"var": "data.id"}]));
    }

    #[test]
    fn missing_is_null_and_a_malformed_path_too() {
        assert_eq!(resolve(json!([{"var": "data.none.x"}, {"var": "data..x"}])), json!([null, null]));
    }
}
