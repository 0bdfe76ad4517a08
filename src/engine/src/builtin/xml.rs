//! XML to JSON and back.
//!
//! An element is an object: attributes are `@name`, text is `$text`, a child stands under its name, and
//! siblings of one name are an array. The name of the root element is dropped. Document types are skipped and
//! no entity but the predefined ones is known, so that no input can make itself larger.

use std::fmt::Write as _;

use quick_xml::Reader;
use quick_xml::escape::{escape, resolve_predefined_entity, unescape};
use quick_xml::events::{BytesRef, BytesStart, Event};
use serde_json::{Map, Value};

use crate::extent::NODE;

/// Elements inside elements; deeper documents are refused.
const MAX_DEPTH: usize = 128;

/// The reason why a text is not parsed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ParseXmlError {
    /// The text is not a well-formed document, or nests too deep.
    #[error("{0}")]
    Malformed(String),
    /// The value would take more than so many bytes.
    #[error("the value would take more than {} MiB", .0 >> 20)]
    TooLarge(usize),
}

impl From<String> for ParseXmlError {
    fn from(reason: String) -> Self {
        Self::Malformed(reason)
    }
}

impl From<&str> for ParseXmlError {
    fn from(reason: &str) -> Self {
        Self::Malformed(reason.to_owned())
    }
}

/// The bytes that the rest of a value may take.
struct ByteBudget {
    left: usize,
    limit: usize,
}

impl ByteBudget {
    /// Counts a value under a name. Their texts are counted as the text of the document.
    fn count_member(&mut self) -> Result<(), ParseXmlError> {
        self.left = self.left.checked_sub(2 * NODE).ok_or(ParseXmlError::TooLarge(self.limit))?;
        Ok(())
    }
}

#[derive(Default)]
struct Element {
    name: String,
    fields: Map<String, Value>,
    text: String,
}

impl Element {
    fn open(start: &BytesStart<'_>, budget: &mut ByteBudget) -> Result<Self, ParseXmlError> {
        let name = start.name().0.to_owned();
        let mut fields = Map::new();
        // The parser would compare every name with all before it.
        for attribute in start.attributes().with_checks(false) {
            budget.count_member()?;
            let attribute = attribute.map_err(|error| error.to_string())?;
            let key = format!("@{}", attribute.key.0);
            let value = unescape(&attribute.value).map_err(|error| error.to_string())?;
            if let Some(twice) = fields.insert(key, Value::String(value.into_owned())) {
                return Err(format!("<{name}> has an attribute twice, the first time with {twice}").into());
            }
        }
        Ok(Self { name, fields, text: String::new() })
    }

    fn close(mut self) -> (String, Value) {
        let text = self.text.trim();
        if !text.is_empty() {
            self.fields.insert("$text".into(), text.into());
        }
        (self.name, Value::Object(self.fields))
    }

    fn add(&mut self, name: String, child: Value) {
        match self.fields.get_mut(&name) {
            None => {
                self.fields.insert(name, child);
            }
            Some(Value::Array(siblings)) => siblings.push(child),
            Some(first) => *first = Value::Array(vec![first.take(), child]),
        }
    }
}

/// Parses a document into a value of at most `limit` bytes.
///
/// # Errors
/// Text that is not well-formed, that nests too deep, or whose value is too large.
pub(super) fn parse(text: &str, limit: usize) -> Result<Value, ParseXmlError> {
    let mut reader = Reader::from_str(text);
    let mut open: Vec<Element> = Vec::new();
    let mut root = None;
    let mut budget = ByteBudget { left: limit.saturating_sub(text.len()), limit };
    loop {
        budget.count_member()?;
        match reader.read_event().map_err(|error| error.to_string())? {
            Event::Start(start) => {
                if root.is_some() {
                    return Err("more than one root element".into());
                }
                if open.len() == MAX_DEPTH {
                    return Err(format!("nested more than {MAX_DEPTH} deep").into());
                }
                open.push(Element::open(&start, &mut budget)?);
            }
            Event::Empty(start) => close(Element::open(&start, &mut budget)?, &mut open, &mut root)?,
            Event::End(_) => {
                if let Some(element) = open.pop() {
                    close(element, &mut open, &mut root)?;
                }
            }
            Event::Text(text) => {
                append(&mut open, &text.xml10_content())?;
            }
            Event::CData(text) => {
                append(&mut open, &text.xml10_content())?;
            }
            Event::GeneralRef(reference) => append(&mut open, &entity(&reference)?)?,
            Event::Eof => break,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
    match (root, open.pop()) {
        (Some(root), None) => Ok(root),
        (_, Some(element)) => Err(format!("<{}> is not closed", element.name).into()),
        (None, None) => Err("no element".into()),
    }
}

fn close(element: Element, open: &mut [Element], root: &mut Option<Value>) -> Result<(), String> {
    let (name, value) = element.close();
    match open.last_mut() {
        Some(parent) => parent.add(name, value),
        None if root.is_some() => return Err("more than one root element".into()),
        None => *root = Some(value),
    }
    Ok(())
}

fn append(open: &mut [Element], text: &str) -> Result<(), String> {
    match open.last_mut() {
        Some(element) => element.text.push_str(text),
        None if text.trim_matches(['\u{feff}', ' ', '\t', '\r', '\n']).is_empty() => {}
        None => return Err("text outside the root element".into()),
    }
    Ok(())
}

fn entity(reference: &BytesRef<'_>) -> Result<String, String> {
    if let Some(character) = reference.resolve_char_ref().map_err(|error| error.to_string())? {
        return Ok(character.to_string());
    }
    let name: &str = reference;
    resolve_predefined_entity(name).map(str::to_owned).ok_or_else(|| format!("unknown entity &{name};"))
}

/// Writes a value as an element; members of an array become `<item>` elements.
pub(super) fn write(name: &str, value: &Value) -> String {
    let mut out = String::new();
    write_element(&mut out, name, value);
    out
}

fn write_element(out: &mut String, name: &str, value: &Value) {
    let _ = write!(out, "<{name}");
    let body = out.len();
    match value {
        Value::Object(map) => {
            let attributes =
                map.iter().filter_map(|(key, value)| Some((key.strip_prefix('@')?, scalar(value)?)));
            for (key, text) in attributes {
                let _ = write!(out, " {}=\"{}\"", element_name(key), escape(legal(&text)));
            }
            out.push('>');
            for (key, value) in map {
                match scalar(value) {
                    Some(_) if key.starts_with('@') => {}
                    Some(text) if key == "$text" => out.push_str(&escape(legal(&text))),
                    _ => write_element(out, &element_name(key), value),
                }
            }
        }
        Value::Array(items) => {
            out.push('>');
            items.iter().for_each(|item| write_element(out, "item", item));
        }
        scalar_value => {
            out.push('>');
            out.push_str(&escape(legal(&scalar(scalar_value).unwrap_or_default())));
        }
    }
    if out[body..].ends_with('>') && out[body..].matches('>').count() == 1 {
        out.truncate(out.len() - 1);
        out.push_str("/>");
    } else {
        let _ = write!(out, "</{name}>");
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some(String::new()),
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// Drops the control characters no XML document may hold.
fn legal(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\t' | '\n' | '\r')).collect()
}

/// Returns a legal element name: other characters become `_`, and a name that cannot start one gets a leading
/// `_`.
pub(super) fn element_name(key: &str) -> String {
    let mut name: String = key
        .chars()
        .map(|c| if c.is_alphanumeric() || matches!(c, '_' | '-' | '.') { c } else { '_' })
        .collect();
    if !name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        name.insert(0, '_');
    }
    name
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const LIMIT: usize = 1 << 20;

    fn parse(text: &str) -> Result<Value, ParseXmlError> {
        super::parse(text, LIMIT)
    }

    #[test]
    fn the_root_name_is_dropped_and_attributes_and_text_are_marked() {
        assert_eq!(
            parse(r#"<?xml version="1.0"?><order id="7&amp;8"><sku>A &lt;1&gt; &#65;</sku><note/></order>"#),
            Ok(json!({"@id": "7&8", "sku": {"$text": "A <1> A"}, "note": {}}))
        );
        assert_eq!(parse("<a><![CDATA[x<y]]></a>"), Ok(json!({"$text": "x<y"})));
    }

    #[test]
    fn value_that_would_be_too_large_is_refused_before_it_is_built() {
        let wide = |children: usize| format!("<o>{}</o>", "<i/>".repeat(children));
        assert!(parse(&wide(10_000)).is_ok());
        assert_eq!(parse(&wide(50_000)), Err(ParseXmlError::TooLarge(LIMIT)));
        let attributes: String = (0..50_000).map(|n| format!(" a{n}=''")).collect();
        assert_eq!(parse(&format!("<o{attributes}/>")), Err(ParseXmlError::TooLarge(LIMIT)));
    }

    #[test]
    fn repeated_siblings_become_an_array() {
        assert_eq!(
            parse("<o><i>1</i><i>2</i><i>3</i></o>"),
            Ok(json!({"i": [{"$text": "1"}, {"$text": "2"}, {"$text": "3"}]}))
        );
    }

    #[test]
    fn what_is_not_one_well_formed_element_is_refused() {
        for text in [
            "",
            "text",
            "<a>",
            "<a></b>",
            "<a/><b/>",
            "<a>&bomb;</a>",
            "<a/>tail",
            "<a x=\"1\" y=\"2\" x=\"3\"/>",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"<a>".repeat(5000)).is_err());
    }

    #[test]
    fn an_entity_of_a_document_type_is_never_expanded() {
        let bomb = r#"<!DOCTYPE a [<!ENTITY x "xxxxxxxx">]><a>&x;</a>"#;
        assert_eq!(parse(bomb), Err("unknown entity &x;".into()));
    }

    #[test]
    fn values_are_written_with_items_attributes_and_legal_names() {
        let value = json!({"@id": 7, "tags": ["a", 2], "1st name": "x & y", "none": null, "$text": "t"});
        assert_eq!(
            write("order", &value),
            r#"<order id="7"><tags><item>a</item><item>2</item></tags><_1st_name>x &amp; y</_1st_name><none/>t</order>"#
        );
        assert_eq!(write("root", &json!([])), "<root/>");
    }

    #[test]
    fn what_was_written_parses_back() {
        let value = json!({"a": {"@k": "\"v\""}, "b": [1, 2]});
        assert_eq!(
            parse(&write("root", &value)),
            Ok(json!({"a": {"@k": "\"v\""}, "b": {"item": [{"$text": "1"}, {"$text": "2"}]}}))
        );
    }
}
