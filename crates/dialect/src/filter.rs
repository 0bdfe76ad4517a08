//! The filter of a document before binding: its shape is fixed, its values may still be open.

use std::sync::Arc;

use serde_json::Value;
use svc_model::{FieldCode, FieldError, nearest};

use crate::operand::{Argument, Operand, OperandSource, is_var};
use crate::predicate::{Comparison, Quantifier, TextPosition};
use crate::reader::{DocumentReader, join, single};
use crate::schema::{ColumnUse, SchemaColumn, SchemaRelation, SchemaScope};

/// The operators of a filter whose names may be misspelt.
const OPERATORS: [&str; 9] =
    ["and", "or", "in", "starts_with", "ends_with", "missing", "some", "none", "all"];

/// A node of a filter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FilterDocument {
    And(Vec<FilterDocument>),
    Or(Vec<FilterDocument>),
    Not(Box<FilterDocument>),
    Compare(SchemaColumn, Comparison, Operand),
    In(SchemaColumn, Items),
    Text(SchemaColumn, TextPosition, Operand),
    Missing(Vec<SchemaColumn>),
    Related(Arc<SchemaRelation>, Quantifier, Box<FilterDocument>),
}

/// The values of a list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Items {
    Written(Vec<Operand>),
    /// One open value, which must be a list when it is bound.
    Open(Operand),
}

impl DocumentReader {
    /// Reads the filter of a document. An empty object matches every row.
    pub(crate) fn filter(
        &mut self,
        value: Option<&Value>,
        at: &str,
        scope: &SchemaScope<'_>,
    ) -> Option<FilterDocument> {
        match value {
            None | Some(Value::Null) => Some(FilterDocument::And(Vec::new())),
            Some(Value::Object(members)) if members.is_empty() => Some(FilterDocument::And(Vec::new())),
            Some(node) => self.node(node, at, scope),
        }
    }

    fn node(&mut self, node: &Value, at: &str, scope: &SchemaScope<'_>) -> Option<FilterDocument> {
        match node {
            // An empty conjunction is always true, an empty disjunction never.
            Value::Bool(true) => return Some(FilterDocument::And(Vec::new())),
            Value::Bool(false) => return Some(FilterDocument::Or(Vec::new())),
            Value::Object(_) => {}
            _ => {
                self.mismatch(at, "object", node);
                return None;
            }
        }
        let Some((operator, argument)) = single(node) else {
            self.invalid(at, "a filter node has exactly one operator");
            return None;
        };
        let at = join(at, operator);
        match operator {
            "and" => self.nodes(argument, &at, scope).map(FilterDocument::And),
            "or" => self.nodes(argument, &at, scope).map(FilterDocument::Or),
            "!" => self.negation(argument, &at, scope),
            "==" | "===" => self.comparison(argument, Comparison::Equal, &at, scope),
            "!=" | "!==" => self.comparison(argument, Comparison::NotEqual, &at, scope),
            "<" => self.comparison(argument, Comparison::Less, &at, scope),
            "<=" => self.comparison(argument, Comparison::LessOrEqual, &at, scope),
            ">" => self.comparison(argument, Comparison::Greater, &at, scope),
            ">=" => self.comparison(argument, Comparison::GreaterOrEqual, &at, scope),
            "in" => self.membership(argument, &at, scope),
            "starts_with" => self.affix(argument, TextPosition::Start, &at, scope),
            "ends_with" => self.affix(argument, TextPosition::End, &at, scope),
            "missing" => self.missing(argument, &at, scope),
            "some" => self.read_relation(argument, Quantifier::Some, &at, scope),
            "none" => self.read_relation(argument, Quantifier::None, &at, scope),
            "all" => self.read_relation(argument, Quantifier::All, &at, scope),
            "field" | "param" => {
                self.invalid(&at, "a value is no filter; compare it with something");
                None
            }
            other => {
                let hint = match nearest(other, OPERATORS) {
                    _ if is_var(node) => "; what a message holds is never a filter".to_owned(),
                    Some(meant) => format!(", did you mean \"{meant}\"?"),
                    None => String::new(),
                };
                let message = format!("filters know no operator \"{other}\"{hint}");
                self.errors.push(FieldError::new(&at, FieldCode::UnknownOp, message).with_wrong_key());
                None
            }
        }
    }

    fn nodes(&mut self, nodes: &Value, at: &str, scope: &SchemaScope<'_>) -> Option<Vec<FilterDocument>> {
        let nodes = self.items(nodes, at)?;
        let read: Vec<_> = nodes
            .iter()
            .enumerate()
            .filter_map(|(n, node)| self.node(node, &format!("{at}[{n}]"), scope))
            .collect();
        (read.len() == nodes.len()).then_some(read)
    }

    fn negation(&mut self, argument: &Value, at: &str, scope: &SchemaScope<'_>) -> Option<FilterDocument> {
        let node = match argument.as_array().map(Vec::as_slice) {
            Some([node]) => self.node(node, &format!("{at}[0]"), scope),
            Some(_) => {
                self.invalid(at, "this takes one node");
                None
            }
            None => self.node(argument, at, scope),
        };
        node.map(|node| FilterDocument::Not(Box::new(node)))
    }

    /// Reads exactly `N` arguments of an operator and returns each with its path.
    fn arguments<'v, const N: usize>(
        &mut self,
        argument: &'v Value,
        at: &str,
    ) -> Option<[(&'v Value, String); N]> {
        let items = self.items(argument, at)?;
        let placed: Vec<_> = items.iter().enumerate().map(|(n, item)| (item, format!("{at}[{n}]"))).collect();
        match placed.try_into() {
            Ok(arguments) => Some(arguments),
            Err(_) => {
                self.invalid(at, format!("this takes {N} arguments"));
                None
            }
        }
    }

    fn comparison(
        &mut self,
        argument: &Value,
        comparison: Comparison,
        at: &str,
        scope: &SchemaScope<'_>,
    ) -> Option<FilterDocument> {
        let between = matches!(comparison, Comparison::Less | Comparison::LessOrEqual);
        if between && argument.as_array().is_some_and(|items| items.len() == 3) {
            let [low, field, high] = self.arguments(argument, at)?;
            let Argument::Field(name) = self.argument(field.0, &field.1)? else {
                self.invalid(&field.1, "a field stands between two bounds");
                return None;
            };
            let column = self.column(name, &field.1, scope)?;
            let (low, high) = (self.operand(low.0, &low.1), self.operand(high.0, &high.1));
            let above = FilterDocument::Compare(column.clone(), comparison.flip(), low?);
            return Some(FilterDocument::And(vec![
                above,
                FilterDocument::Compare(column, comparison, high?),
            ]));
        }
        let [left, right] = self.arguments(argument, at)?;
        let (first, second) = (self.argument(left.0, &left.1), self.argument(right.0, &right.1));
        match (first?, second?) {
            (Argument::Field(name), Argument::Value(value)) => {
                Some(FilterDocument::Compare(self.column(name, &left.1, scope)?, comparison, value))
            }
            (Argument::Value(value), Argument::Field(name)) => {
                Some(FilterDocument::Compare(self.column(name, &right.1, scope)?, comparison.flip(), value))
            }
            (Argument::Field(_), Argument::Field(_)) => {
                self.invalid(at, "two columns cannot be compared with each other");
                None
            }
            (Argument::List(_), _) | (_, Argument::List(_)) => {
                self.invalid(at, "a list cannot be compared; use in");
                None
            }
            (Argument::Value(_), Argument::Value(_)) => {
                self.invalid(at, "one side must be a field");
                None
            }
        }
    }

    fn membership(&mut self, argument: &Value, at: &str, scope: &SchemaScope<'_>) -> Option<FilterDocument> {
        let [left, right] = self.arguments(argument, at)?;
        let (first, second) = (self.argument(left.0, &left.1), self.argument(right.0, &right.1));
        match (first?, second?) {
            (Argument::Field(name), Argument::List(items)) => {
                let operands: Vec<_> = items
                    .iter()
                    .enumerate()
                    .filter_map(|(n, item)| self.operand(item, &format!("{}[{n}]", right.1)))
                    .collect();
                let column = self.column(name, &left.1, scope)?;
                (operands.len() == items.len()).then(|| FilterDocument::In(column, Items::Written(operands)))
            }
            (Argument::Field(name), Argument::Value(list)) => {
                if matches!(list.source, OperandSource::Literal(_)) {
                    self.mismatch(&right.1, "array", right.0);
                    return None;
                }
                Some(FilterDocument::In(self.column(name, &left.1, scope)?, Items::Open(list)))
            }
            (Argument::Value(text), Argument::Field(name)) => {
                let column = self.column(name, &right.1, scope)?;
                self.is_text(&text).map(|()| FilterDocument::Text(column, TextPosition::Anywhere, text))
            }
            _ => {
                self.invalid(at, "this takes a field and a list, or a text and a field");
                None
            }
        }
    }

    fn affix(
        &mut self,
        argument: &Value,
        place: TextPosition,
        at: &str,
        scope: &SchemaScope<'_>,
    ) -> Option<FilterDocument> {
        let [left, right] = self.arguments(argument, at)?;
        let (first, second) = (self.argument(left.0, &left.1), self.argument(right.0, &right.1));
        let (Argument::Field(name), Argument::Value(text)) = (first?, second?) else {
            self.invalid(at, "this takes a field and a text");
            return None;
        };
        let column = self.column(name, &left.1, scope)?;
        self.is_text(&text).map(|()| FilterDocument::Text(column, place, text))
    }

    /// Reports a literal value that is not a string.
    fn is_text(&mut self, operand: &Operand) -> Option<()> {
        match &operand.source {
            OperandSource::Literal(value) => self.text(value, &operand.at).map(drop),
            OperandSource::Param(_) | OperandSource::Folded(_) => Some(()),
        }
    }

    fn missing(&mut self, argument: &Value, at: &str, scope: &SchemaScope<'_>) -> Option<FilterDocument> {
        let names = self.items(argument, at)?;
        let columns: Vec<_> = names
            .iter()
            .enumerate()
            .filter_map(|(n, name)| {
                let at = format!("{at}[{n}]");
                let name = self.name(name, &at)?;
                self.column(name, &at, scope)
            })
            .collect();
        (columns.len() == names.len()).then_some(FilterDocument::Missing(columns))
    }

    fn read_relation(
        &mut self,
        argument: &Value,
        quantifier: Quantifier,
        at: &str,
        scope: &SchemaScope<'_>,
    ) -> Option<FilterDocument> {
        let [(field, field_at), (filter, filter_at)] = self.arguments(argument, at)?;
        let Some(Argument::Field(name)) = self.argument(field, &field_at) else {
            self.invalid(&field_at, "this takes {\"field\": relation} and a filter");
            return None;
        };
        let (relation, target) = scope.relation(name, &field_at, self)?;
        let filter = self.node(filter, &filter_at, &target)?;
        Some(FilterDocument::Related(relation, quantifier, Box::new(filter)))
    }

    pub(crate) fn column(&mut self, name: &str, at: &str, scope: &SchemaScope<'_>) -> Option<SchemaColumn> {
        self.accept(at, scope.column(name, ColumnUse::Query))
    }
}
