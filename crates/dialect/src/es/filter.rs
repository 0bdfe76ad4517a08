//! Translates predicates to Elasticsearch queries in filter context.

use serde_json::{Value, json};

use crate::constant::Constant;
use crate::predicate::{Comparison, Predicate, Quantifier, TextPosition};
use crate::refusal::DialectRefusal;
use crate::schema::{InElastic, SchemaRelation};

/// Translates a predicate to a query.
///
/// # Errors
/// [`DialectRefusal::Invalid`] for a condition that Elasticsearch cannot express: the quantifier `all`, a
/// relation that is neither nested nor child, or a constant of a MongoDB type.
pub fn filter(predicate: &Predicate) -> Result<Value, DialectRefusal> {
    filter_below("", predicate)
}

/// Does the work of [`filter`] for members under `prefix`, which is empty or ends with a dot.
fn filter_below(prefix: &str, predicate: &Predicate) -> Result<Value, DialectRefusal> {
    let path = |name: &str| format!("{prefix}{name}");
    Ok(match predicate {
        Predicate::True => json!({"match_all": {}}),
        Predicate::False => json!({"match_none": {}}),
        Predicate::And(parts) => json!({"bool": {"filter": filter_each(prefix, parts)?}}),
        Predicate::Or(parts) => {
            json!({"bool": {"should": filter_each(prefix, parts)?, "minimum_should_match": 1}})
        }
        Predicate::Compare(column, comparison, constant) | Predicate::Order(column, comparison, constant) => {
            let (field, value) = (path(&column.physical), value(constant)?);
            match comparison {
                Comparison::Equal => json!({"term": {field: {"value": value}}}),
                Comparison::NotEqual => negate(json!({"term": {field: {"value": value}}})),
                Comparison::Less => json!({"range": {field: {"lt": value}}}),
                Comparison::LessOrEqual => json!({"range": {field: {"lte": value}}}),
                Comparison::Greater => json!({"range": {field: {"gt": value}}}),
                Comparison::GreaterOrEqual => json!({"range": {field: {"gte": value}}}),
            }
        }
        Predicate::Null { column, negated } => {
            negate_if(!negated, json!({"exists": {"field": path(&column.physical)}}))
        }
        Predicate::OneOf { column, values, negated } => {
            let values: Vec<_> = values.iter().map(value).collect::<Result<_, _>>()?;
            let field = path(&column.physical);
            let query = json!({"terms": {field.clone(): values}});
            if *negated { differs_or_absent(&field, query) } else { query }
        }
        Predicate::Text { column, place, text, negated } => {
            let field = path(&column.physical);
            let query = match place {
                TextPosition::Start => json!({"prefix": {field.clone(): {"value": text}}}),
                TextPosition::End => {
                    json!({"wildcard": {field.clone(): {"value": format!("*{}", escape_wildcards(text))}}})
                }
                TextPosition::Anywhere => {
                    json!({"wildcard": {field.clone(): {"value": format!("*{}*", escape_wildcards(text))}}})
                }
            };
            if *negated { differs_or_absent(&field, query) } else { query }
        }
        Predicate::Related { relation, quantifier, predicate } => {
            let negated = match quantifier {
                Quantifier::Some => false,
                Quantifier::None => true,
                Quantifier::All | Quantifier::NotAll => {
                    return Err(DialectRefusal::invalid(
                        "filter",
                        "Elasticsearch does not know all, use some and none",
                    ));
                }
            };
            negate_if(negated, relation_query(prefix, relation, predicate)?)
        }
    })
}

fn filter_each(prefix: &str, parts: &[Predicate]) -> Result<Vec<Value>, DialectRefusal> {
    parts.iter().map(|part| filter_below(prefix, part)).collect()
}

fn negate(query: Value) -> Value {
    json!({"bool": {"must_not": [query]}})
}

/// Matches documents whose field has a value, and the value does not match `query`.
fn differs_or_absent(field: &str, query: Value) -> Value {
    json!({"bool": {"filter": [{"exists": {"field": field}}], "must_not": [query]}})
}

fn negate_if(negated: bool, query: Value) -> Value {
    if negated { negate(query) } else { query }
}

fn value(constant: &Constant) -> Result<Value, DialectRefusal> {
    match constant {
        Constant::Bool(flag) => Ok(json!(flag)),
        Constant::Number(number) => Ok(json!(number)),
        Constant::Text(text) => Ok(json!(text)),
        Constant::Binary(_) => Err(DialectRefusal::invalid("filter", "Elasticsearch does not search bytes")),
        Constant::Oid(_) | Constant::Date(_) => Err(DialectRefusal::invalid(
            "filter",
            "values of the types $oid and $date are MongoDB's; use a text",
        )),
    }
}

/// Escapes a text so that a wildcard query matches it literally.
fn escape_wildcards(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '*' | '?' | '\\') {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

fn relation_query(
    prefix: &str,
    relation: &SchemaRelation,
    predicate: &Predicate,
) -> Result<Value, DialectRefusal> {
    match relation.elastic {
        Some(InElastic::Nested) => {
            let path = format!("{prefix}{}", relation.name);
            let query = filter_below(&format!("{path}."), predicate)?;
            Ok(json!({"nested": {"path": path, "query": query}}))
        }
        Some(InElastic::Child) if prefix.is_empty() => {
            Ok(json!({"has_child": {"type": &*relation.target.physical, "query": filter(predicate)?}}))
        }
        _ => {
            let why = format!(
                "Elasticsearch looks through a relation only where it is declared nested or child; \"{}\" is not",
                relation.name
            );
            Err(DialectRefusal::invalid("filter", why))
        }
    }
}
