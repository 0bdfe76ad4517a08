//! Events to one value with its places.

use std::collections::HashMap;
use std::ops::Range;

use granit_parser::{ScalarStyle, Tag};
use serde_json::{Map, Value};

use super::super::MAX_DEPTH;
use super::super::element::Element;
use super::super::error::SyntaxError;
use super::super::lines::LineIndex;
use super::scalar;

/// Maximum size of what the aliases of a file repeat, in values and bytes of text: an alias may hold aliases,
/// so that a few lines can expand to gigabytes.
const MAX_REPEATED: usize = 1 << 20;

/// The remedy for a tag.
const REMOVE_TAG: &str = "remove the tag, or write a value of it as the core schema of YAML 1.2 has it";

/// A value that is complete.
#[derive(Clone)]
struct Node {
    value: Value,
    element: Element,
    /// Levels of nesting, 1 for a scalar.
    depth: usize,
    /// Values and bytes of text.
    weight: usize,
}

/// An array or object that is being read.
struct Container {
    start: usize,
    anchor: usize,
    content: Content,
    members: Vec<Element>,
    depth: usize,
    weight: usize,
}

enum Content {
    List(Vec<Value>),
    Object(Map<String, Value>, Option<(String, Range<usize>)>),
}

/// Builds the value of a document.
pub(super) struct Builder<'t> {
    text: &'t str,
    lines: &'t LineIndex,
    open: Vec<Container>,
    anchors: HashMap<usize, Node>,
    repeated: usize,
    root: Option<Node>,
    has_document: bool,
}

impl<'t> Builder<'t> {
    pub(super) fn new(text: &'t str, lines: &'t LineIndex) -> Self {
        let (open, anchors) = (Vec::new(), HashMap::new());
        Self { text, lines, open, anchors, repeated: 0, root: None, has_document: false }
    }

    pub(super) fn begin_document(&mut self, span: Range<usize>) -> Result<(), SyntaxError> {
        if self.has_document {
            let fix = "a file holds one document; move the other one into a file of its own";
            return Err(SyntaxError::new("a second document begins", span, fix));
        }
        self.has_document = true;
        Ok(())
    }

    pub(super) fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        span: Range<usize>,
    ) -> Result<(), SyntaxError> {
        if self.expects_key() && text == "<<" && style == ScalarStyle::Plain {
            let fix = "write the members out, or use a shared value with $from";
            return Err(SyntaxError::new("merge keys are not supported", span, fix));
        }
        let is_key = self.expects_key();
        let read = scalar::read(text, style, tag).or_else(|message| match tag {
            None if is_key => Ok(Value::from(text)),
            _ => Err(message),
        });
        let value = read.map_err(|message| {
            let fix = match tag {
                Some(tag) => tag_remedy(tag),
                None => "write a number below 1.8e308, or put it in quotes",
            };
            SyntaxError::new(message, span.clone(), fix)
        })?;
        let weight = 1 + text.len();
        let node = Node { value, element: Element::new(span, Vec::new()), depth: 1, weight };
        if !is_key {
            return self.add(node, anchor);
        }
        // A key is its text, whatever the type of the scalar is elsewhere.
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        self.add(Node { value: Value::from(text), ..node }, 0)
    }

    pub(super) fn begin_list(
        &mut self,
        anchor: usize,
        tag: Option<&Tag>,
        span: Range<usize>,
    ) -> Result<(), SyntaxError> {
        check_tag(tag, "seq", &span)?;
        self.open(anchor, Content::List(Vec::new()), span)
    }

    pub(super) fn begin_object(
        &mut self,
        anchor: usize,
        tag: Option<&Tag>,
        span: Range<usize>,
    ) -> Result<(), SyntaxError> {
        check_tag(tag, "map", &span)?;
        self.open(anchor, Content::Object(Map::new(), None), span)
    }

    /// Repeats the value of an anchor. Its members keep the places of the original.
    pub(super) fn alias(&mut self, anchor: usize, span: Range<usize>) -> Result<(), SyntaxError> {
        let Some(original) = self.anchors.get(&anchor) else {
            let fix = "write the value out; put a text that begins with * in quotes";
            return Err(SyntaxError::new("the alias is part of the value it names", span, fix));
        };
        self.repeated = self.repeated.saturating_add(original.weight);
        if self.repeated > MAX_REPEATED {
            let fix = "use shared definitions in place of aliases of aliases";
            return Err(SyntaxError::new("the aliases of the file repeat too much", span, fix));
        }
        let members = original.element.members.clone();
        let node = Node { element: Element::new(span, members), ..original.clone() };
        self.add(node, 0)
    }

    /// Ends the innermost array or object.
    pub(super) fn end(&mut self, span: Range<usize>) -> Result<(), SyntaxError> {
        let Some(container) = self.open.pop() else { return Ok(()) };
        let value = match container.content {
            Content::List(items) => Value::Array(items),
            Content::Object(members, _) => Value::Object(members),
        };
        let span = container.start..span.end.max(container.start);
        let element = Element::new(span, container.members);
        let node = Node { value, element, depth: container.depth + 1, weight: container.weight + 1 };
        self.add(node, container.anchor)
    }

    /// Returns the value of the document.
    pub(super) fn finish(self) -> Result<(Value, Element), SyntaxError> {
        let root = self.root.ok_or_else(SyntaxError::empty)?;
        Ok((root.value, root.element))
    }

    fn expects_key(&self) -> bool {
        matches!(self.open.last(), Some(Container { content: Content::Object(_, None), .. }))
    }

    fn open(&mut self, anchor: usize, content: Content, span: Range<usize>) -> Result<(), SyntaxError> {
        if self.expects_key() {
            return Err(key_type(span));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(SyntaxError::too_deep(span));
        }
        let members = Vec::new();
        self.open.push(Container { start: span.start, anchor, content, members, depth: 0, weight: 0 });
        Ok(())
    }

    fn add(&mut self, node: Node, anchor: usize) -> Result<(), SyntaxError> {
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        if self.open.len() + node.depth > MAX_DEPTH + 1 {
            return Err(SyntaxError::too_deep(node.element.span()));
        }
        let Some(container) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        container.depth = container.depth.max(node.depth);
        container.weight = container.weight.saturating_add(node.weight);
        match &mut container.content {
            Content::List(items) => {
                items.push(node.value);
                container.members.push(node.element);
            }
            Content::Object(members, key @ None) => {
                let span = node.element.span();
                let Value::String(name) = node.value else { return Err(key_type(span)) };
                if members.contains_key(&name) {
                    let index = members.keys().position(|known| *known == name).unwrap_or_default();
                    let first = container.members[index].key().unwrap_or_default();
                    let first = self.lines.position(self.text, first.start);
                    return Err(SyntaxError::duplicate_key(&name, first, span));
                }
                *key = Some((name, span));
            }
            Content::Object(members, key) => {
                let (name, span) = key.take().unwrap_or_default();
                members.insert(name, node.value);
                container.members.push(node.element.with_key(span));
            }
        }
        Ok(())
    }
}

/// Returns the remedy for a tag. An operator without quotes reads like one.
fn tag_remedy(tag: &Tag) -> &'static str {
    match tag.original().trim_end_matches(':') {
        "!" | "!!" | "!=" | "!==" => "put an operator that begins with ! in quotes",
        _ => REMOVE_TAG,
    }
}

fn check_tag(tag: Option<&Tag>, core: &str, span: &Range<usize>) -> Result<(), SyntaxError> {
    match tag {
        Some(tag) if !tag.is_yaml_core_schema_tag(core) => {
            Err(SyntaxError::new(scalar::unknown_tag(tag), span.clone(), tag_remedy(tag)))
        }
        _ => Ok(()),
    }
}

fn key_type(span: Range<usize>) -> SyntaxError {
    SyntaxError::new("a key is not text", span, "write the key in quotes")
}
