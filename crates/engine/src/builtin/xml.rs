//! XML to JSON and back.
//!
//! An element is an object: attributes are `@name`, text is `$text`, a child is under its name, and
//! siblings of one name are an array. The name of the root element is dropped. Document types are skipped and
//! no entity but the predefined ones is known, so that no input can make itself larger.
//!
//! Text keeps its blanks except those of the layout: blank text, and leading and trailing blanks of text that has child
//! elements as neighbours. A blank that is written as a reference or in CDATA, or below `xml:space="preserve"`, is
//! kept.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use quick_xml::Reader;
use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::{BytesRef, BytesStart, Event};
use serde_json::{Map, Value};

use crate::bounds::extent::{NODE, describe_bytes};

/// The white space of XML.
const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];

/// Elements inside elements; deeper documents are refused.
const MAX_DEPTH: usize = 128;

/// The reason why a text is not parsed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseXmlError {
    /// The text is not a well-formed document, or nests too deep.
    #[error("{0}")]
    Malformed(String),
    /// The value would take more than so many bytes.
    #[error("the value would take more than {}", describe_bytes(*.0))]
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

struct Element {
    name: String,
    fields: Map<String, Value>,
    text: String,
    /// The part of the text whose blanks are meant.
    meant: Option<Range<usize>>,
    /// True if all blanks are meant, here and below.
    preserves: bool,
    has_children: bool,
}

impl Element {
    fn open(
        start: &BytesStart<'_>,
        parent: Option<&Self>,
        budget: &mut ByteBudget,
    ) -> Result<Self, ParseXmlError> {
        let name = start.name().0.to_owned();
        let mut fields = Map::new();
        // The parser would compare every name with all before it.
        for attribute in start.attributes().with_checks(false) {
            budget.count_member()?;
            let attribute = attribute.map_err(|error| error.to_string())?;
            let key = format!("@{}", attribute.key.0);
            let value = one_line(&attribute.value);
            let value = unescape(&value).map_err(|error| error.to_string())?;
            if let Some(twice) = fields.insert(key, Value::String(value.into_owned())) {
                return Err(format!("<{name}> has an attribute twice, the first time with {twice}").into());
            }
        }
        let preserves = match fields.get("@xml:space").and_then(Value::as_str) {
            Some("preserve") => true,
            Some("default") => false,
            _ => parent.is_some_and(|parent| parent.preserves),
        };
        Ok(Self { name, fields, text: String::new(), meant: None, preserves, has_children: false })
    }

    /// Adds text. Its blanks are meant, or may be those of the layout.
    fn append(&mut self, text: &str, is_meant: bool) {
        let from = self.text.len();
        self.text.push_str(text);
        if is_meant {
            let first = self.meant.as_ref().map_or(from, |meant| meant.start);
            self.meant = Some(first..self.text.len());
        }
    }

    /// Returns the text without the blanks of the layout.
    fn content(&self) -> &str {
        let text = self.text.as_str();
        let core = text.trim_matches(BLANKS);
        if self.preserves || !(core.is_empty() || self.has_children) {
            return text;
        }
        let (mut from, mut to) =
            (text.len() - text.trim_start_matches(BLANKS).len(), text.trim_end_matches(BLANKS).len());
        if let Some(meant) = &self.meant {
            (from, to) = (from.min(meant.start), to.max(meant.end));
        }
        text.get(from..to).unwrap_or_default()
    }

    fn close(mut self) -> (String, Value) {
        let text = self.content();
        if !text.is_empty() {
            let text = text.into();
            self.fields.insert("$text".into(), text);
        }
        (self.name, Value::Object(self.fields))
    }

    fn add(&mut self, name: String, child: Value) {
        self.has_children = true;
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
pub fn parse_xml_within(text: &str, limit: usize) -> Result<Value, ParseXmlError> {
    let mut reader = Reader::from_str(text);
    let budget = ByteBudget { left: limit.saturating_sub(text.len()), limit };
    read_document(&mut reader, budget).map_err(|error| {
        let ParseXmlError::Malformed(reason) = error else { return error };
        let at = [reader.error_position(), reader.buffer_position()].into_iter().find(|at| *at != 0);
        let read = text.bytes().take(at.and_then(|at| usize::try_from(at).ok()).unwrap_or(0));
        let line = read.filter(|byte| *byte == b'\n').count() + 1;
        ParseXmlError::Malformed(format!("{reason} (line {line})"))
    })
}

fn read_document(reader: &mut Reader<&[u8]>, mut budget: ByteBudget) -> Result<Value, ParseXmlError> {
    let mut open: Vec<Element> = Vec::new();
    let mut root = None;
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
                let element = Element::open(&start, open.last(), &mut budget)?;
                open.push(element);
            }
            Event::Empty(start) => {
                close(Element::open(&start, open.last(), &mut budget)?, &mut open, &mut root)?;
            }
            Event::End(_) => {
                if let Some(element) = open.pop() {
                    close(element, &mut open, &mut root)?;
                }
            }
            Event::Text(text) => {
                append(&mut open, &text.xml10_content(), false)?;
            }
            Event::CData(text) => {
                append(&mut open, &text.xml10_content(), true)?;
            }
            Event::GeneralRef(reference) => append(&mut open, &entity(&reference)?, true)?,
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

/// Replaces the white space of an attribute by blanks, as every reader does; what is meant is written as a reference.
fn one_line(value: &str) -> Cow<'_, str> {
    if value.contains(['\t', '\n', '\r']) {
        value.replace("\r\n", " ").replace(['\t', '\n', '\r'], " ").into()
    } else {
        value.into()
    }
}

fn append(open: &mut [Element], text: &str, is_meant: bool) -> Result<(), String> {
    match open.last_mut() {
        Some(element) => element.append(text, is_meant),
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
                let _ = write!(out, " {}=\"", element_name(key));
                escape(out, &text, Blanks::InAttribute);
                out.push('"');
            }
            out.push('>');
            for (key, value) in map {
                match scalar(value) {
                    Some(_) if key.starts_with('@') => {}
                    Some(text) if key == "$text" => {
                        let is_alone = map.keys().all(|key| key == "$text" || key.starts_with('@'));
                        write_text(out, &text, is_alone);
                    }
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
            write_text(out, &scalar(scalar_value).unwrap_or_default(), true);
        }
    }
    if out[body..].ends_with('>') && out[body..].matches('>').count() == 1 {
        out.truncate(out.len() - 1);
        out.push_str("/>");
    } else {
        let _ = write!(out, "</{name}>");
    }
}

/// Writes text so that a reader does not take its blanks for those of the layout: if it is blank or has neighbours.
fn write_text(out: &mut String, text: &str, is_alone: bool) {
    let core = text.trim_matches(BLANKS);
    if is_alone && !core.is_empty() {
        return escape(out, text, Blanks::Kept);
    }
    let from = text.len() - text.trim_start_matches(BLANKS).len();
    escape(out, &text[..from], Blanks::Meant);
    escape(out, core, Blanks::Kept);
    escape(out, &text[from + core.len()..], Blanks::Meant);
}

/// The form in which white space is written. A carriage return is always a reference: a reader would make a line feed
/// of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Blanks {
    /// As it is.
    Kept,
    /// Tabs and line feeds as references: in an attribute a reader would make a blank of each.
    InAttribute,
    /// As references: a reader would take it for the layout.
    Meant,
}

/// Appends a text, escaped, without the characters that XML forbids.
fn escape(out: &mut String, text: &str, blanks: Blanks) {
    for character in text.chars() {
        match character {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\r' => out.push_str("&#13;"),
            '\t' if blanks != Blanks::Kept => out.push_str("&#9;"),
            '\n' if blanks != Blanks::Kept => out.push_str("&#10;"),
            ' ' if blanks == Blanks::Meant => out.push_str("&#32;"),
            ' '.. | '\t' | '\n' if !matches!(character, '\u{fffe}' | '\u{ffff}') => out.push(character),
            _ => {}
        }
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

/// Returns a legal element name: other characters become `_`, and a name that cannot start one gets a leading
/// `_`.
pub(super) fn element_name(key: &str) -> String {
    let mut name: String = key.chars().map(|c| if is_name_character(c) { c } else { '_' }).collect();
    if !name.starts_with(is_name_start) {
        name.insert(0, '_');
    }
    name
}

/// Returns true for a character that may begin a name (XML 1.0, 2.3), but for the colon of a prefix.
fn is_name_start(character: char) -> bool {
    matches!(character,
        'A'..='Z' | '_' | 'a'..='z' | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}'
        | '\u{370}'..='\u{37d}' | '\u{37f}'..='\u{1fff}' | '\u{200c}'..='\u{200d}' | '\u{2070}'..='\u{218f}'
        | '\u{2c00}'..='\u{2fef}' | '\u{3001}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}'
        | '\u{10000}'..='\u{effff}')
}

fn is_name_character(character: char) -> bool {
    is_name_start(character)
        || matches!(character, '-' | '.' | '0'..='9' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const LIMIT: usize = 1 << 20;
    fn parse(text: &str) -> Result<Value, ParseXmlError> {
        super::parse_xml_within(text, LIMIT)
    }

    #[test]
    fn root_name_is_dropped_attributes_and_text_marked() {
        assert_eq!(
            parse(r#"<?xml version="1.0"?><order id="7&amp;8"><sku>A &lt;1&gt; &#65;</sku><note/></order>"#),
            Ok(json!({"@id": "7&8", "sku": {"$text": "A <1> A"}, "note": {}}))
        );
        assert_eq!(parse("<a><![CDATA[x<y]]></a>"), Ok(json!({"$text": "x<y"})));
    }

    #[test]
    fn oversized_xml_value_is_refused_before_building() {
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
    fn text_beyond_one_wellformed_element_is_refused() {
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
    fn unknown_entity_is_refused_with_its_line() {
        let bomb = r#"<!DOCTYPE a [<!ENTITY x "xxxxxxxx">]><a>&x;</a>"#;
        assert_eq!(parse(bomb), Err("unknown entity &x; (line 1)".into()));
        assert_eq!(parse("<a>\n\n&x;\n</a>"), Err("unknown entity &x; (line 3)".into()));
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
    fn written_xml_parses_back() {
        let value = json!({"a": {"@k": "\"v\""}, "b": [1, 2]});
        assert_eq!(
            parse(&write("root", &value)),
            Ok(json!({"a": {"@k": "\"v\""}, "b": {"item": [{"$text": "1"}, {"$text": "2"}]}}))
        );
        for text in [
            " x ",
            "  ",
            "\n",
            "a\r\nb\rc\nd",
            "\t",
            "]]>",
            "\u{85}\u{a0}",
            "\u{a0}x\u{2028}",
            "😀",
            "<&>'\"",
        ] {
            for value in [
                json!({"$text": text}),
                json!({"@a": text}),
                json!({"c": {"@a": text, "$text": text}}),
                json!({"c": {}, "$text": text}),
            ] {
                assert_eq!(parse(&write("r", &value)), Ok(value.clone()), "{value} {}", write("r", &value));
            }
        }
    }

    #[test]
    fn line_breaks_in_attributes_become_references() {
        let value = json!({"@a": "l1\r\nl2\tx", "t": "l1\r\nl2", "b": " "});
        let expected =
            "<r a=\"l1&#13;&#10;l2&#9;x\"><t>l1&#13;\nl2</t><b> </b></r>".replace("> <", ">&#32;<");
        assert_eq!(write("r", &value), expected);
    }

    #[test]
    fn forbidden_characters_are_left_out() {
        let value = json!({"@a": "x\u{0}\u{fffe}y", "t": "a\u{1}b\u{b}c\u{ffff}\u{7f}\u{9f}\u{fffd}"});
        assert_eq!(write("r", &value), "<r a=\"xy\"><t>abc\u{7f}\u{9f}\u{fffd}</t></r>");
        assert_eq!(element_name("½ a²×"), "__a__");
        assert_eq!(element_name("größe-1.x"), "größe-1.x");
    }

    #[test]
    fn layout_blanks_are_dropped_and_text_blanks_kept() {
        for (text, expected) in [
            ("<o>\n  <i> A </i>\n  <j>\n </j>\n</o>", json!({"i": {"$text": " A "}, "j": {}})),
            ("<o> a <i/> b </o>", json!({"i": {}, "$text": "a  b"})),
            ("<o><![CDATA[ ]]></o>", json!({"$text": " "})),
            ("<o> &#32;<i/> &#x9; </o>", json!({"i": {}, "$text": "  \t"})),
            (
                "<o xml:space=\"preserve\"> <i> </i></o>",
                json!({"@xml:space": "preserve", "i": {"$text": " "}, "$text": " "}),
            ),
            ("<o a=\"1\r\n2\t3&#10;4\"/>", json!({"@a": "1 2 3\n4"})),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
    }
}
