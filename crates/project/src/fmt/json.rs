//! The layout of JSON: two blanks of indentation, and on one line what fits.

use serde_json::Value;

use super::order::Shape;
use crate::source::{Element, SourceFile};

/// Maximum width of an array or object on one line, with its indentation, without the comma behind it.
const WIDTH: usize = 110;

/// Blanks for each level.
const INDENT: usize = 2;

/// Returns the text of a file laid out anew. Keys and scalars are copied as they are written.
pub(super) fn print(source: &SourceFile) -> String {
    let mut printer =
        Printer { text: &source.text, out: String::with_capacity(source.text.len()), column: 0 };
    let root =
        Part { shape: Shape::of_document(&source.value), value: &source.value, element: source.root() };
    match root.members().is_empty() {
        true => printer.flat(root),
        false => printer.write_broken(root, 0),
    }
    printer.push("\n");
    printer.out
}

/// A value with its places.
#[derive(Clone, Copy)]
struct Part<'s> {
    shape: Shape,
    value: &'s Value,
    element: &'s Element,
}

impl<'s> Part<'s> {
    /// Returns the members in their order.
    fn members(self) -> Vec<Self> {
        let part = |key: &str, value: &'s Value, element: &'s Element| Self {
            shape: self.shape.member(key, value),
            value,
            element,
        };
        match self.value {
            Value::Array(items) => items
                .iter()
                .zip(&self.element.members)
                .map(|(value, element)| part("", value, element))
                .collect(),
            Value::Object(map) => {
                let members: Vec<_> = map.iter().zip(&self.element.members).collect();
                let order = self.shape.sort_indices(map.keys().map(String::as_str));
                order
                    .into_iter()
                    .map(|index| members[index])
                    .map(|((key, value), element)| part(key, value, element))
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    fn brackets(self) -> Option<(&'static str, &'static str)> {
        match self.value {
            Value::Array(_) => Some(("[", "]")),
            Value::Object(_) => Some(("{", "}")),
            _ => None,
        }
    }
}

struct Printer<'t> {
    text: &'t str,
    out: String,
    column: usize,
}

impl Printer<'_> {
    fn push(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().count();
    }

    fn begin_line(&mut self, indent: usize) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', indent));
        self.column = indent;
    }

    fn key(&mut self, part: Part<'_>) {
        if let Some(key) = part.element.key() {
            self.push(&self.text[key]);
            self.push(": ");
        }
    }

    /// Writes a value on one line, if it fits.
    fn value(&mut self, part: Part<'_>, indent: usize) {
        let room = WIDTH.saturating_sub(self.column);
        if part.brackets().is_none() || self.flat_width(part, room).is_some() {
            self.flat(part);
        } else {
            self.write_broken(part, indent);
        }
    }

    fn flat(&mut self, part: Part<'_>) {
        let Some((open, close)) = part.brackets() else {
            return self.push(&self.text[part.element.span()]);
        };
        self.push(open);
        for (index, member) in part.members().into_iter().enumerate() {
            self.push(if index == 0 { "" } else { ", " });
            self.key(member);
            self.flat(member);
        }
        self.push(close);
    }

    fn write_broken(&mut self, part: Part<'_>, indent: usize) {
        let Some((open, close)) = part.brackets() else { return self.flat(part) };
        self.push(open);
        for (index, member) in part.members().into_iter().enumerate() {
            self.push(if index == 0 { "" } else { "," });
            self.begin_line(indent + INDENT);
            self.key(member);
            self.value(member, indent + INDENT);
        }
        self.begin_line(indent);
        self.push(close);
    }

    /// Returns the width of a value on one line; `None` once it is above `room`.
    fn flat_width(&self, part: Part<'_>, room: usize) -> Option<usize> {
        let within = |width: usize| (width <= room).then_some(width);
        let width = |span: std::ops::Range<usize>| self.text[span].chars().take(room + 1).count();
        let (true, members) = (part.brackets().is_some(), &part.element.members) else {
            return within(width(part.element.span()));
        };
        let mut total = within(2 * members.len().max(1))?;
        let values: Vec<&Value> = match part.value {
            Value::Array(items) => items.iter().collect(),
            Value::Object(map) => map.values().collect(),
            _ => Vec::new(),
        };
        for (value, element) in values.into_iter().zip(members) {
            let key = element.key().map_or(0, |key| width(key) + 2);
            total = within(total + key)?;
            let member = Part { shape: Shape::Data, value, element };
            total += self.flat_width(member, room - total)?;
        }
        Some(total)
    }
}
