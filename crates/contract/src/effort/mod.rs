//! The effort of a check: how often the validator applies schemas to the values of a message.
//!
//! Schemas that apply to one value within one another are few (`application`). Where several of them describe the same
//! member, as the alternatives of a union do, each level of a message multiplies them. The validator remembers what a
//! schema that leads to itself has decided, so that a verdict takes little; the faults it collects anew by each way. So
//! the ways through a schema are bounded when it compiles, and those through a message before its faults are collected.

mod comparisons;

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::ptr;

use serde_json::{Map, Value};

use self::comparisons::Comparisons;
use crate::application::{SchemaApplicationError, SchemaPlaces};

/// Maximum number of applications of schemas to a value and to one value in it at each level, in a message as deep as
/// the schema.
const MAX_WAYS: usize = 1_000_000;

/// Maximum number of schemas that lead to one another of which the ways are counted, for the sake of the stack.
const MAX_STEPS: usize = 500;

/// The applications of schemas that the faults of one message may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EffortBound {
    /// Their number for the smallest message, each of the weight 1 outside of lists of alternatives.
    least: usize,
    /// Further ones for each value of the message: what a small one costs is bounded by its size.
    for_each: usize,
    /// Their number for any message.
    most: usize,
    /// The weight of an application within `anyOf` and `oneOf`, which keeps the faults of each alternative.
    kept: usize,
}

/// The bound of a report with every fault.
pub(crate) const EVERY_FAULT: EffortBound =
    EffortBound { least: 1_000, for_each: 100, most: 100_000, kept: 1 };
/// The bound of the search for the first fault, which keeps none but those of alternatives.
pub(crate) const FIRST_FAULT: EffortBound =
    EffortBound { least: 10_000, for_each: 200, most: 1_000_000, kept: 5 };

impl EffortBound {
    fn room(self, values: usize) -> usize {
        self.least.saturating_add(values.saturating_mul(self.for_each)).min(self.most)
    }
}

/// The ways from the schemas of a document to those that they apply.
#[derive(Debug)]
pub(crate) struct SchemaWays {
    /// The first is the document.
    nodes: Vec<AppliedSchemas>,
    /// Number of comparisons of all schemas for one value.
    comparisons: usize,
}

/// The schemas that one schema applies, by their places in [`SchemaWays`].
#[derive(Debug, Default)]
struct AppliedSchemas {
    /// Those for the value itself.
    same: Vec<usize>,
    /// Those for the value itself, as alternatives.
    alternatives: Vec<usize>,
    /// Those for members, by name.
    members: HashMap<String, usize>,
    /// Those for members that no schema names.
    other_members: Vec<usize>,
    /// Those for members with certain names.
    patterns: Vec<usize>,
    /// Those for the first items.
    first_items: Vec<Option<usize>>,
    /// Those for the other items.
    items: Vec<usize>,
    /// Those for the value itself, or for its items, that report no faults of their own.
    tested: Vec<usize>,
    tested_items: Vec<usize>,
    /// Its comparisons of the value and of its children.
    comparisons: Comparisons,
}

impl AppliedSchemas {
    /// Returns the only schema that is applied, if it is applied to the value itself.
    fn as_reference(&self) -> Option<usize> {
        let children = [&self.other_members, &self.patterns, &self.items];
        let has_children = !self.members.is_empty()
            || !self.first_items.is_empty()
            || children.iter().any(|nodes| !nodes.is_empty());
        match (self.same.as_slice(), self.alternatives.as_slice()) {
            ([next], []) | ([], [next]) if !has_children => Some(*next),
            _ => None,
        }
    }

    /// Visits the members or the items of a value, each with a schema that is applied to it.
    fn visit_children(
        &self,
        value: &Value,
        mut visit: impl FnMut(usize, &Value) -> Option<()>,
    ) -> Option<()> {
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    let others: &[usize] = match self.members.get(name) {
                        Some(node) => std::slice::from_ref(node),
                        None => &self.other_members,
                    };
                    others.iter().chain(&self.patterns).try_for_each(|node| visit(*node, member))?;
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    match self.first_items.get(index) {
                        Some(first) => first.map_or(Some(()), |node| visit(node, item))?,
                        None => self.items.iter().try_for_each(|node| visit(*node, item))?,
                    }
                }
            }
            _ => {}
        }
        Some(())
    }
}

/// The ways to the members of a value, by name, or to its items, by index. Different members are different values: the
/// ways to them do not add up.
struct ChildWays<K> {
    /// Those of the schemas for children that no schema names.
    others: usize,
    /// Those to the children that a schema names.
    named: HashMap<K, NamedWays>,
}

/// The ways to a child that schemas name.
#[derive(Default)]
struct NamedWays {
    /// Those of the schemas that name it.
    own: usize,
    /// Those that these schemas have to other children.
    instead: usize,
}

impl<K> Default for ChildWays<K> {
    fn default() -> Self {
        Self { others: 0, named: HashMap::new() }
    }
}

impl<K: Eq + Hash> ChildWays<K> {
    /// Adds the ways of a schema to a child that it names. `others` are those that it has to children it does not name.
    fn add_named(&mut self, child: K, ways: usize, others: usize) {
        let named = self.named.entry(child).or_default();
        named.own = named.own.saturating_add(ways);
        named.instead = named.instead.saturating_add(others);
    }

    /// Adds the ways of a schema to the children that it does not name.
    fn add_others(&mut self, ways: usize) {
        self.others = self.others.saturating_add(ways);
    }

    /// Returns the ways to the child that has most.
    fn find_most(&self) -> usize {
        let total = |ways: &NamedWays| ways.own.saturating_add(self.others.saturating_sub(ways.instead));
        self.named.values().map(total).max().unwrap_or(0).max(self.others)
    }
}

/// A schema that is being applied to a value, and those that led to it at the same value.
struct Application<'a> {
    node: usize,
    by: Option<&'a Self>,
}

impl Application<'_> {
    fn contains(&self, node: usize) -> bool {
        self.node == node || self.by.is_some_and(|by| by.contains(node))
    }
}

impl SchemaWays {
    /// Finds the ways through a document whose applications have been checked.
    ///
    /// # Errors
    /// There are too many.
    pub(crate) fn find(schema: &Value) -> Result<Self, SchemaApplicationError> {
        let places = SchemaPlaces::find(schema);
        let by_place = places.objects.iter().enumerate().map(|(id, object)| (ptr::from_ref(*object), id));
        let ids: HashMap<*const Value, usize> = by_place.collect();
        let nodes = places.objects.iter().map(|object| read_node(object, &places, &ids)).collect();
        let mut ways = Self { nodes, comparisons: 0 };
        let mut counted = vec![None; ways.nodes.len()];
        if ways.count(0, 0, &mut counted) > MAX_WAYS {
            return Err(SchemaApplicationError::Multiplied);
        }
        ways.count_comparisons(&places.objects);
        Ok(ways)
    }

    /// Returns true if the faults of a message, which has this number of values, can be collected within a bound.
    pub(crate) fn are_within(&self, value: &Value, values: usize, bound: EffortBound) -> bool {
        let mut room = bound.room(values);
        self.nodes.is_empty()
            || self.walk(&Application { node: 0, by: None }, value, 1, bound.kept, &mut room).is_some()
    }

    /// Counts the ways from a schema that lies `steps` deep: those at its value, and those at the member or item that
    /// has most. One that is being counted leads to itself, and is decided once for each value.
    fn count(&self, node: usize, steps: usize, counted: &mut [Option<usize>]) -> usize {
        let Some(place) = counted.get_mut(node).filter(|_| steps < MAX_STEPS) else { return 1 };
        if let Some(known) = *place {
            return known;
        }
        *place = Some(1);
        let count = match self.nodes.get(node).and_then(AppliedSchemas::as_reference) {
            Some(next) => self.count(next, steps + 1, counted).saturating_add(1),
            None => self.count_applied(node, steps, counted),
        };
        if let Some(place) = counted.get_mut(node) {
            *place = Some(count);
        }
        count
    }

    /// Counts the ways from a schema, by all that it applies to its own value.
    fn count_applied(&self, node: usize, steps: usize, counted: &mut [Option<usize>]) -> usize {
        let mut here = 0_usize;
        let mut members = ChildWays::default();
        let mut items = ChildWays::default();
        let mut patterns = 0_usize;
        for (node, times) in self.list_applied(node) {
            here = here.saturating_add(times);
            let Some(schema) = self.nodes.get(node) else { continue };
            let mut sum = |nodes: &[usize]| {
                let count = |node: &usize| self.count(*node, steps + 1, counted);
                let ways = nodes.iter().map(count).fold(0, usize::saturating_add);
                ways.saturating_mul(times)
            };
            let (others, rest) = (sum(&schema.other_members), sum(&schema.items));
            patterns = patterns.saturating_add(sum(&schema.patterns));
            for (name, node) in &schema.members {
                members.add_named(name.as_str(), sum(&[*node]), others);
            }
            members.add_others(others);
            for (index, node) in schema.first_items.iter().enumerate() {
                items.add_named(index, sum(node.as_slice()), rest);
            }
            items.add_others(rest);
        }
        let child = patterns.saturating_add(members.find_most()).max(items.find_most());
        here.saturating_add(child)
    }

    /// Returns the schemas that a schema applies to its own value, itself included, each with the number of ways to it.
    fn list_applied(&self, node: usize) -> Vec<(usize, usize)> {
        let mut order = Vec::new();
        self.order_applied(node, 0, &mut HashSet::new(), &mut order);
        let mut times: HashMap<usize, usize> = HashMap::from([(node, 1)]);
        let mut passed = HashSet::new();
        // In this order a schema comes after those that apply it. The last step of a circle is left out.
        for node in order.iter().rev() {
            passed.insert(*node);
            let own = times.get(node).copied().unwrap_or(1);
            let Some(schema) = self.nodes.get(*node) else { continue };
            let applied = schema.same.iter().chain(&schema.alternatives);
            for next in applied.filter(|next| !passed.contains(*next)) {
                let ways = times.entry(*next).or_insert(0);
                *ways = ways.saturating_add(own);
            }
        }
        order.into_iter().map(|node| (node, times.get(&node).copied().unwrap_or(1))).collect()
    }

    /// Lists the schemas that one applies to its own value, each after all that it applies.
    fn order_applied(&self, node: usize, steps: usize, seen: &mut HashSet<usize>, order: &mut Vec<usize>) {
        if steps >= MAX_STEPS || !seen.insert(node) {
            return;
        }
        let schema = self.nodes.get(node);
        let next = schema.into_iter().flat_map(|schema| schema.same.iter().chain(&schema.alternatives));
        next.for_each(|next| self.order_applied(*next, steps + 1, seen, order));
        order.push(node);
    }

    /// Walks as the validator does; `None` once the room is used up.
    fn walk(
        &self,
        applied: &Application<'_>,
        value: &Value,
        weight: usize,
        kept: usize,
        room: &mut usize,
    ) -> Option<()> {
        *room = room.checked_sub(weight)?;
        let Some(schema) = self.nodes.get(applied.node) else { return Some(()) };
        let same = schema.same.iter().map(|node| (*node, weight));
        for (node, weight) in same.chain(schema.alternatives.iter().map(|node| (*node, kept))) {
            if !applied.contains(node) {
                self.walk(&Application { node, by: Some(applied) }, value, weight, kept, room)?;
            }
        }
        schema.visit_children(value, |node, child| {
            self.walk(&Application { node, by: None }, child, weight, kept, room)
        })
    }
}

/// Reads what a schema applies.
fn read_node<'s>(
    schema: &'s Value,
    places: &SchemaPlaces<'s>,
    ids: &HashMap<*const Value, usize>,
) -> AppliedSchemas {
    let id = |schema: &Value| ids.get(&ptr::from_ref(schema)).copied();
    let one = |key: &str| schema.get(key).and_then(id);
    let list = |key: &str| schema.get(key).and_then(Value::as_array).into_iter().flatten();
    let map = |key: &str| schema.get(key).and_then(Value::as_object).into_iter().flat_map(Map::iter);
    let address = |key: &str| places.resolve(schema, schema.get(key)?.as_str()?).and_then(id);
    let mut same: Vec<usize> = ["then", "else"].into_iter().filter_map(one).collect();
    same.extend(["$ref", "$dynamicRef"].into_iter().filter_map(address));
    same.extend(list("allOf").filter_map(id));
    same.extend(map("dependentSchemas").filter_map(|(_, schema)| id(schema)));
    AppliedSchemas {
        same,
        alternatives: list("anyOf").chain(list("oneOf")).filter_map(id).collect(),
        members: map("properties").filter_map(|(name, schema)| Some((name.clone(), id(schema)?))).collect(),
        other_members: ["additionalProperties", "unevaluatedProperties"]
            .into_iter()
            .filter_map(one)
            .collect(),
        patterns: map("patternProperties").filter_map(|(_, schema)| id(schema)).collect(),
        first_items: list("prefixItems").map(id).collect(),
        items: ["items", "unevaluatedItems"].into_iter().filter_map(one).collect(),
        tested: ["not", "if"].into_iter().filter_map(one).collect(),
        tested_items: one("contains").into_iter().collect(),
        comparisons: Comparisons::read(schema),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn nest(levels: usize) -> Value {
        (0..levels).fold(json!(1), |inner, _| json!({"a": inner}))
    }

    /// A chain of definitions, each of which has two alternatives for the same member.
    fn doubling(length: usize) -> Value {
        let mut defs = Map::new();
        for at in 0..length {
            let next = json!({"properties": {"a": {"$ref": format!("#/$defs/{}", at + 1)}}});
            defs.insert(at.to_string(), json!({"anyOf": [next, next]}));
        }
        defs.insert(length.to_string(), json!({"type": "string"}));
        json!({"$ref": "#/$defs/0", "$defs": defs})
    }

    #[test]
    fn multiplying_chain_of_definitions_is_refused() {
        assert!(SchemaWays::find(&doubling(8)).is_ok());
        assert_eq!(SchemaWays::find(&doubling(40)).unwrap_err(), SchemaApplicationError::Multiplied);
        let wide: Map<String, Value> =
            (0..1000).map(|at| (format!("k{at}"), json!({"items": {"type": "string"}}))).collect();
        assert!(SchemaWays::find(&json!({"properties": wide})).is_ok());
    }

    /// Levels of 16 alternatives, the member of each of which has the next level.
    fn alternate(levels: usize, name: impl Fn(usize) -> String) -> Value {
        let mut defs = Map::new();
        for level in 0..levels {
            let next = format!("#/$defs/{}", level + 1);
            let part =
                |at: usize| json!({"properties": {(name(at)): {"$ref": next}}, "required": [name(at)]});
            defs.insert(level.to_string(), json!({"oneOf": (0..16).map(part).collect::<Vec<_>>()}));
        }
        defs.insert(levels.to_string(), json!({"type": "string"}));
        json!({"$ref": "#/$defs/0", "$defs": defs})
    }

    #[test]
    fn alternatives_for_different_members_do_not_multiply() {
        let ways = SchemaWays::find(&alternate(8, |at| format!("k{at}"))).unwrap();
        let message = (0..8).fold(json!("x"), |inner, _| json!({"k3": inner}));
        assert!(ways.are_within(&message, 9, EVERY_FAULT));
        let shared = SchemaWays::find(&alternate(8, |_| "k".to_owned()));
        assert_eq!(shared.unwrap_err(), SchemaApplicationError::Multiplied);
    }

    #[test]
    fn schemas_for_other_members_count_with_named_ones() {
        let bomb = |part: &dyn Fn(&str) -> Value| {
            let mut defs = Map::new();
            for level in 0..24 {
                defs.insert(level.to_string(), part(&format!("#/$defs/{}", level + 1)));
            }
            defs.insert("24".to_owned(), json!({"type": "string"}));
            SchemaWays::find(&json!({"$ref": "#/$defs/0", "$defs": defs}))
        };
        let others = |next: &str| json!({"additionalProperties": {"$ref": next}});
        let named = |next: &str| json!({"properties": {"a": {"$ref": next}}});
        let both = bomb(&|next| json!({"anyOf": [others(next), named(next)]}));
        assert_eq!(both.unwrap_err(), SchemaApplicationError::Multiplied);
        let items = |next: &str| json!({"prefixItems": [{"$ref": next}], "items": {"$ref": next}});
        let both = bomb(&|next| json!({"anyOf": [items(next), {"items": {"$ref": next}}]}));
        assert_eq!(both.unwrap_err(), SchemaApplicationError::Multiplied);
        let mixed = |next: &str| {
            let mut schema = others(next);
            schema["properties"] = json!({"a": {"$ref": next}});
            schema
        };
        assert!(bomb(&|next| json!({"anyOf": [mixed(next)]})).is_ok(), "one schema has one way to a member");
    }

    #[test]
    fn recursive_union_is_bounded_by_the_depth() {
        let part = |kind: &str| json!({"properties": {"kind": {"const": kind}, "a": {"$ref": "#"}}});
        let ways = SchemaWays::find(&json!({"oneOf": [part("x"), part("y")]})).unwrap();
        assert!(ways.are_within(&nest(6), 7, EVERY_FAULT));
        assert!(!ways.are_within(&nest(14), 15, EVERY_FAULT));
        assert!(!ways.are_within(&nest(14), 15, FIRST_FAULT));
        assert!(!ways.are_within(&nest(60), usize::MAX, FIRST_FAULT));
    }

    #[test]
    fn plain_recursion_takes_every_depth() {
        let ways = SchemaWays::find(&json!({"properties": {"a": {"$ref": "#"}}, "items": {"$ref": "#"}}));
        let ways = ways.unwrap();
        assert!(ways.are_within(&nest(127), 128, EVERY_FAULT));
        let many = json!(vec![1; 200_000]);
        assert!(!ways.are_within(&many, 200_001, EVERY_FAULT));
        assert!(ways.are_within(&many, 200_001, FIRST_FAULT));
    }

    #[test]
    fn schema_that_applies_itself_is_followed_once() {
        for schema in [json!({"$ref": "#"}), json!({"anyOf": [{"$ref": "#"}, {"allOf": [{"$ref": "#"}]}]})] {
            assert!(SchemaWays::find(&schema).unwrap().are_within(&nest(5), 6, EVERY_FAULT), "{schema}");
        }
        assert!(SchemaWays::find(&json!(true)).unwrap().are_within(&nest(5), 6, EVERY_FAULT));
    }
}
