//! Translates predicates to MongoDB query documents.

use serde_json::{Value, json};

use crate::constant::Constant;
use crate::predicate::{Comparison, Predicate, Quantifier, TextPosition};
use crate::refusal::DialectRefusal;
use crate::schema::{InMongo, RelationCardinality, SchemaRelation};

/// Translates a predicate to a query document.
///
/// # Errors
/// [`DialectRefusal::Invalid`] for a condition that MongoDB cannot express.
pub fn filter(predicate: &Predicate) -> Result<Value, DialectRefusal> {
    filter_below("", predicate)
}

/// Does the work of [`filter`] for members under `prefix`, which is empty or ends with a dot.
fn filter_below(prefix: &str, predicate: &Predicate) -> Result<Value, DialectRefusal> {
    let named = |name: &str, condition: Value| json!({format!("{prefix}{name}"): condition});
    Ok(match predicate {
        Predicate::True => json!({}),
        Predicate::False => json!({"_id": {"$in": []}}),
        Predicate::And(parts) => json!({"$and": filter_each(prefix, parts)?}),
        Predicate::Or(parts) => json!({"$or": filter_each(prefix, parts)?}),
        Predicate::Compare(column, comparison, constant) | Predicate::Order(column, comparison, constant) => {
            named(&column.physical, json!({operator(*comparison): value(constant)}))
        }
        Predicate::Null { column, negated } => {
            named(&column.physical, json!({if *negated { "$ne" } else { "$eq" }: null}))
        }
        Predicate::OneOf { column, values, negated } => {
            // `$nin` also matches documents where the field is null or missing; adding null to the list
            // excludes them.
            let null = negated.then_some(Value::Null);
            let values: Vec<_> = values.iter().map(value).chain(null).collect();
            named(&column.physical, json!({if *negated { "$nin" } else { "$in" }: values}))
        }
        Predicate::Text { column, place, text, negated } => {
            let pattern = json!({"$regex": pattern(*place, text)});
            named(&column.physical, if *negated { json!({"$not": pattern, "$ne": null}) } else { pattern })
        }
        Predicate::Related { relation, quantifier, predicate } => {
            relation_query(prefix, relation, *quantifier, predicate)?
        }
    })
}

fn filter_each(prefix: &str, parts: &[Predicate]) -> Result<Vec<Value>, DialectRefusal> {
    parts.iter().map(|part| filter_below(prefix, part)).collect()
}

const fn operator(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "$eq",
        Comparison::NotEqual => "$ne",
        Comparison::Less => "$lt",
        Comparison::LessOrEqual => "$lte",
        Comparison::Greater => "$gt",
        Comparison::GreaterOrEqual => "$gte",
    }
}

pub(super) fn value(constant: &Constant) -> Value {
    match constant {
        Constant::Bool(flag) => json!(flag),
        Constant::Number(number) => json!(number),
        Constant::Text(text) => json!(text),
        Constant::Oid(text) => json!({"$oid": text}),
        Constant::Date(text) => json!({"$date": text}),
        Constant::Binary(text) => json!({"$binary": {"base64": text, "subType": "00"}}),
    }
}

/// Builds a regular expression that matches the text literally at the given position.
fn pattern(place: TextPosition, text: &str) -> String {
    let mut pattern = String::new();
    if place == TextPosition::Start {
        pattern.push('^');
    }
    for letter in text.chars() {
        match letter {
            '\0' => pattern.push_str("\\x00"),
            _ if letter.is_ascii_punctuation() => pattern.extend(['\\', letter]),
            _ => pattern.push(letter),
        }
    }
    if place == TextPosition::End {
        // `$` would also match before a final line feed.
        pattern.push_str("(?![\\s\\S])");
    }
    pattern
}

fn relation_query(
    prefix: &str,
    relation: &SchemaRelation,
    quantifier: Quantifier,
    predicate: &Predicate,
) -> Result<Value, DialectRefusal> {
    if relation.mongo != Some(InMongo::Embedded) {
        let why = format!(
            "MongoDB looks through a relation only where its documents are embedded; \"{}\" is not declared so",
            relation.name
        );
        return Err(DialectRefusal::invalid("filter", why));
    }
    let name = format!("{prefix}{}", relation.name);
    if relation.kind == RelationCardinality::HasOne {
        let one = filter_below(&format!("{name}."), predicate)?;
        let there = json!({"$and": [{name: {"$ne": null}}, one]});
        return Ok(match quantifier {
            Quantifier::Some | Quantifier::All => there,
            Quantifier::None | Quantifier::NotAll => json!({"$nor": [there]}),
        });
    }
    let any = json!({format!("{name}.0"): {"$exists": true}});
    let some = match predicate {
        Predicate::True => any.clone(),
        predicate => json!({name.clone(): {"$elemMatch": filter(predicate)?}}),
    };
    let all = || -> Result<Value, DialectRefusal> {
        let other = json!({name.clone(): {"$elemMatch": {"$nor": [filter(predicate)?]}}});
        Ok(json!({"$and": [any, {"$nor": [other]}]}))
    };
    Ok(match quantifier {
        Quantifier::Some => some,
        Quantifier::None => json!({"$nor": [some]}),
        Quantifier::All => all()?,
        Quantifier::NotAll => json!({"$nor": [all()?]}),
    })
}
