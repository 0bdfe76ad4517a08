//! The schemas of the inputs of functions, made from the catalogue.

use serde_json::{Map, Value, json};
use svc_engine::catalogue::{Catalogue, FunctionEntry, FunctionSource, InputField, InputKind, OperationCase};
use svc_model::documents::FUNCTION;

use super::nodes::{ObjectSchema, members, nullable, one_of, or_shared_value, reference, with_description};
use super::shapes;

/// Returns the schema of the function of a task; the input depends on the name.
pub(super) fn function_schema(catalogue: &Catalogue) -> Value {
    let mut object = ObjectSchema::default();
    for key in &FUNCTION {
        let value = match key.kind {
            "function" => one_of(&catalogue.names().collect::<Vec<_>>()),
            _ => json!({"type": "object"}),
        };
        object.key(key, value);
    }
    for entry in catalogue.entries() {
        let names: Vec<_> = entry.names().collect();
        let mut then = json!({"properties": {"input": with_description(entry.description, input(entry))}});
        if entry.fields.iter().any(|field| field.required) {
            then["required"] = json!(["input"]);
        }
        let applies = json!({"properties": {"name": {"enum": names}}, "required": ["name"]});
        object.rule(json!({"if": applies, "then": then}));
    }
    object.finish()
}

/// Returns the schemas of the inputs, by the names of their definitions.
pub(super) fn input_definitions(catalogue: &Catalogue) -> Map<String, Value> {
    let inputs = catalogue.entries().map(|entry| (definition(entry), input_schema(entry)));
    inputs.chain(shapes::definitions()).collect()
}

fn definition(entry: &FunctionEntry) -> String {
    format!("input_{}", entry.name)
}

/// Refers to the schema of an input, which may be null if nothing in it is required.
fn input(entry: &FunctionEntry) -> Value {
    let input = reference(&definition(entry));
    let needs_input = entry.fields.iter().any(|field| field.required);
    or_shared_value(if needs_input { input } else { nullable(input) })
}

fn input_schema(entry: &FunctionEntry) -> Value {
    let mut object = ObjectSchema::default();
    add_fields(&mut object, entry, entry.fields);
    for case in entry.cases {
        object.rule(case_rule(entry, case));
    }
    let object = if entry.accepts_any_input { object.open() } else { object };
    with_description(entry.description, object.finish())
}

fn add_fields(object: &mut ObjectSchema, entry: &FunctionEntry, fields: &[InputField]) {
    for field in fields {
        object.property(
            field.name,
            with_description(field.description, or_shared_value(field_schema(entry, field))),
        );
        let Some(alias) = field.alias else {
            match field.unless.filter(|_| field.required) {
                Some(flag) => object.rule(json!({"anyOf": [{"required": [field.name]},
                    {"properties": {flag: {"const": true}}, "required": [flag]}]})),
                None if field.required => object.require(field.name),
                None => {}
            }
            continue;
        };
        let is_logic = alias.ends_with("_logic");
        let value = if is_logic { reference("expression") } else { field_schema(entry, field) };
        object.property(
            alias,
            with_description(&format!("In the place of `{}`", field.name), or_shared_value(value)),
        );
        if field.required {
            object.require_any([field.name, alias].into_iter());
        }
        if !field.alias_wins {
            object.rule(json!({"not": {"required": [field.name, alias]}}));
        }
    }
}

fn field_schema(entry: &FunctionEntry, field: &InputField) -> Value {
    if field.logic {
        return reference("expression");
    }
    // A shape says everything that the value may be.
    if let Some(shape) = field.shape {
        let value = shapes::reference_to(shape);
        let value = if field.template { or_call(value) } else { value };
        let may_be_null = field.kind == InputKind::Any && !field.required;
        return if may_be_null { nullable(value) } else { value };
    }
    let own = kind_schema(entry, field);
    let mut accepted = vec![own];
    if field.resolvable {
        accepted.push(reference("var"));
    }
    if field.template {
        accepted.push(reference("operator_call"));
    }
    if field.secret_at.contains(&"") {
        accepted.push(reference("secret"));
    }
    let value = match accepted.len() {
        1 => accepted.remove(0),
        _ => json!({"anyOf": accepted}),
    };
    // The built-ins take null for an absent optional input.
    if entry.source == FunctionSource::Engine && !field.required { nullable(value) } else { value }
}

/// Accepts the call of an operator in the place of a value.
fn or_call(value: Value) -> Value {
    json!({"anyOf": [value, reference("operator_call")]})
}

fn kind_schema(entry: &FunctionEntry, field: &InputField) -> Value {
    match field.kind {
        InputKind::String if !field.one_of.is_empty() => one_of(field.one_of),
        InputKind::String => json!({"type": "string"}),
        InputKind::Number => json!({"type": "number"}),
        InputKind::Bool => json!({"type": "boolean"}),
        InputKind::Object if field.holds_logic => members(reference("expression")),
        InputKind::Object => json!({"type": "object"}),
        InputKind::Array if field.members.is_empty() => json!({"type": "array"}),
        InputKind::Array => {
            let mut member = ObjectSchema::default();
            add_fields(&mut member, entry, field.members);
            json!({"type": "array", "items": or_shared_value(member.finish())})
        }
        InputKind::Any => json!({}),
    }
}

/// Returns the rule of the inputs that belong to one value of `op`.
fn case_rule(entry: &FunctionEntry, case: &OperationCase) -> Value {
    let mut properties = Map::new();
    for field in entry.fields.iter().filter(|field| !entry.applies(case, field.name)) {
        properties.insert(field.name.to_owned(), false.into());
    }
    if !case.algorithms.is_empty() && entry.applies(case, "algorithm") {
        properties.insert("algorithm".to_owned(), or_shared_value(json!({"enum": case.algorithms})));
    }
    let applies = json!({"properties": {"op": {"const": case.op}}, "required": ["op"]});
    json!({"if": applies, "then": {"required": case.required, "properties": properties}})
}
