//! The comparisons of a verdict: a long `enum` for each value, and every schema for each member that none evaluates.

use serde_json::Value;

use super::{Application, SchemaWays};

/// Comparisons of values that the verdict over one message may take. Each takes some nanoseconds.
const MAX_COMPARISONS: usize = 64_000_000;

/// Comparisons that count as one application of a schema.
const COMPARISONS_OF_APPLICATION: usize = 16;

/// Comparisons of a schema with which no message takes long.
const FEW_COMPARISONS: usize = 100;

/// Comparisons that take as long as to ask a schema if it evaluates a member.
const COMPARISONS_OF_EVALUATION: usize = 2;

/// Keywords for members and items that no schema evaluates, each of which is asked.
const UNEVALUATED: [&str; 2] = ["unevaluatedProperties", "unevaluatedItems"];

/// The comparisons that a schema makes by itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Comparisons {
    /// Number of the values of `enum`, which are compared one after another.
    options: usize,
    /// They are integers, among which the validator searches for an integer.
    are_integers: bool,
    /// Number of comparisons for each member or item.
    for_each_child: usize,
}

impl Comparisons {
    /// Reads those that a schema makes by itself.
    pub(super) fn read(schema: &Value) -> Self {
        let (options, are_integers) = count_options(schema);
        let for_each_child = schema.get("propertyNames").map_or(0, |names| count_options(names).0);
        Self { options, are_integers, for_each_child }
    }

    /// Returns the number of those for a value.
    fn count(self, value: &Value) -> usize {
        let is_searched = self.are_integers && (value.is_i64() || !value.is_number());
        let options = if is_searched { 0 } else { self.options };
        let children = match value {
            Value::Object(members) => members.len(),
            Value::Array(items) => items.len(),
            _ => 0,
        };
        options.saturating_add(self.for_each_child.saturating_mul(children))
    }
}

impl SchemaWays {
    /// Counts the comparisons of all schemas, which are at these places.
    pub(super) fn count_comparisons(&mut self, places: &[&Value]) {
        for (id, schema) in places.iter().enumerate() {
            if UNEVALUATED.iter().all(|key| schema.get(*key).is_none()) {
                continue;
            }
            let evaluations = self.list_applied(id).len().saturating_mul(COMPARISONS_OF_EVALUATION);
            if let Some(node) = self.nodes.get_mut(id) {
                let known = node.comparisons.for_each_child;
                node.comparisons.for_each_child = known.saturating_add(evaluations);
            }
        }
        self.comparisons = self.nodes.iter().fold(0, |sum: usize, node| {
            sum.saturating_add(node.comparisons.options).saturating_add(node.comparisons.for_each_child)
        });
    }

    /// Returns true if a large message may take many comparisons.
    pub(crate) fn compares_much(&self) -> bool {
        self.comparisons > FEW_COMPARISONS
    }

    /// Returns true if the verdict over a message, which has this number of values, takes no more than it may.
    pub(crate) fn are_comparisons_within(&self, value: &Value, values: usize) -> bool {
        let mut room = MAX_COMPARISONS / COMPARISONS_OF_APPLICATION;
        values.saturating_mul(self.comparisons) <= MAX_COMPARISONS
            || self.compare(&Application { node: 0, by: None }, value, &mut room).is_some()
    }

    /// Walks as the verdict does, and counts its comparisons; `None` once the room is used up.
    fn compare(&self, applied: &Application<'_>, value: &Value, room: &mut usize) -> Option<()> {
        let Some(schema) = self.nodes.get(applied.node) else { return Some(()) };
        *room = room.checked_sub(1 + schema.comparisons.count(value) / COMPARISONS_OF_APPLICATION)?;
        for node in schema.same.iter().chain(&schema.alternatives).chain(&schema.tested) {
            if !applied.contains(*node) {
                self.compare(&Application { node: *node, by: Some(applied) }, value, room)?;
            }
        }
        for item in value.as_array().into_iter().flatten() {
            for node in &schema.tested_items {
                self.compare(&Application { node: *node, by: None }, item, room)?;
            }
        }
        schema.visit_children(value, |node, child| self.compare(&Application { node, by: None }, child, room))
    }
}

/// Returns the number of the values of `enum` that are compared one after another, and whether all are integers. Texts
/// are found by their hash.
fn count_options(schema: &Value) -> (usize, bool) {
    let options = schema.get("enum").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if options.iter().all(|option| option.is_null() || option.is_string()) {
        return (0, false);
    }
    (options.len(), options.iter().all(|option| option.is_null() || option.is_i64()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rows(count: usize, row: &Value) -> Value {
        json!({"rows": vec![row; count], "kind": "k"})
    }

    fn takes(ways: &SchemaWays, message: &Value, values: usize) -> bool {
        assert!(ways.compares_much());
        ways.are_comparisons_within(message, values)
    }

    #[test]
    fn long_lists_of_options_take_short_messages() {
        let options: Vec<Value> = (0..3000).map(|n| json!({"n": n})).collect();
        let schema = |name: &str| json!({"properties": {(name): {"not": {"items": {"enum": options}}}}});
        let ways = SchemaWays::find(&schema("rows")).unwrap();
        assert!(takes(&ways, &rows(1_000, &json!(1)), 1_003));
        assert!(!takes(&ways, &rows(60_000, &json!(1)), 60_003));
        let ways = SchemaWays::find(&schema("others")).unwrap();
        assert!(takes(&ways, &rows(60_000, &json!(1)), 60_003), "the rows are compared with nothing");
    }

    #[test]
    fn texts_and_integers_are_found_by_search() {
        let texts: Vec<String> = (0..3000).map(|n| n.to_string()).collect();
        assert!(!SchemaWays::find(&json!({"items": {"enum": texts}})).unwrap().compares_much());
        let integers: Vec<u32> = (0..3000).collect();
        let ways = SchemaWays::find(&json!({"properties": {"rows": {"items": {"enum": integers}}}})).unwrap();
        assert!(takes(&ways, &rows(60_000, &json!(7)), 60_003));
        assert!(!takes(&ways, &rows(60_000, &json!(7.0)), 60_003));
    }

    #[test]
    fn unevaluated_members_are_asked_of_each_schema() {
        let part = |at: usize| json!({"properties": {(format!("k{at}")): {"type": "string"}}});
        let parts: Vec<Value> = (0..800).map(part).collect();
        let ways = SchemaWays::find(&json!({"allOf": parts, "unevaluatedProperties": false})).unwrap();
        let members = |count: usize| -> Value {
            Value::Object((0..count).map(|at| (format!("m{at}"), json!(1))).collect())
        };
        assert!(takes(&ways, &members(1_000), 1_001));
        assert!(!takes(&ways, &members(60_000), 60_001));
        let plain = SchemaWays::find(&json!({"allOf": parts, "additionalProperties": false})).unwrap();
        assert!(!plain.compares_much());
    }
}
