//! JSON (RFC 8259): the value by `serde_json`, the places by `jsonc-parser` without its extensions.

use std::collections::HashMap;
use std::ops::Range;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use serde_json::Value;

use super::element::Element;
use super::error::SyntaxError;
use super::json_error::{NOT_JSON, syntax_error};
use super::lines::LineIndex;

/// Reads a text and finds the places of its elements.
pub(super) fn parse(text: &str, lines: &LineIndex) -> Result<(Value, Element), SyntaxError> {
    let value = serde_json::from_str(text).map_err(|error| syntax_error(text, lines, &error))?;
    let tree = parse_to_ast(text, &COLLECTED, &STRICT)
        .map_err(|error| SyntaxError::new(error.kind().to_string(), range(error.range()), NOT_JSON))?;
    let tree = tree.value.ok_or_else(SyntaxError::empty)?;
    let root = Places { text, lines }.element(&tree, &value)?;
    Ok((value, root))
}

const COLLECTED: CollectOptions = CollectOptions { comments: CommentCollectionStrategy::Off, tokens: false };

const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

struct Places<'t> {
    text: &'t str,
    lines: &'t LineIndex,
}

impl Places<'_> {
    /// Returns the places of a value. Its depth is bounded, as `serde_json` has read it.
    fn element(&self, tree: &ast::Value<'_>, value: &Value) -> Result<Element, SyntaxError> {
        let members = match (tree, value) {
            (ast::Value::Array(tree), Value::Array(items)) => {
                let pairs = tree.elements.iter().zip(items);
                pairs.map(|(tree, value)| self.element(tree, value)).collect::<Result<_, _>>()?
            }
            (ast::Value::Object(tree), Value::Object(map)) => {
                if tree.properties.len() != map.len() {
                    return Err(self.duplicate_key(tree));
                }
                let pairs = tree.properties.iter().zip(map.values());
                let member = |(tree, value): (&ast::ObjectProp<'_>, _)| {
                    Ok(self.element(&tree.value, value)?.with_key(range(tree.name.range())))
                };
                pairs.map(member).collect::<Result<_, _>>()?
            }
            _ => Vec::new(),
        };
        Ok(Element::new(range(tree.range()), members))
    }

    /// Returns the refusal of the first key that an object has twice.
    fn duplicate_key(&self, object: &ast::Object<'_>) -> SyntaxError {
        let mut first: HashMap<&str, usize> = HashMap::new();
        for property in &object.properties {
            let (key, span) = (property.name.as_str(), range(property.name.range()));
            if let Some(first) = first.insert(key, span.start) {
                return SyntaxError::duplicate_key(key, self.lines.position(self.text, first), span);
            }
        }
        SyntaxError::new("duplicate key", range(object.range()), "keep one of the two")
    }
}

fn range(range: jsonc_parser::common::Range) -> Range<usize> {
    range.start..range.end
}
