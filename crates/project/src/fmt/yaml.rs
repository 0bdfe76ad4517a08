//! The layout of YAML: lines move, but what is on them stays.

use std::ops::Range;

use granit_parser::{Event, Parser, options};
use serde_json::Value;

use super::order::Shape;
use crate::source::{Element, SourceFile, SourceFormat};

/// Returns the text of a file with its entries in order, without blanks at the ends of lines, and with one
/// empty line in place of several.
pub(super) fn print(source: &SourceFile) -> String {
    let mut lines = Lines::new(source);
    // An alias must stay behind its anchor.
    if !has_aliases(&source.text) {
        let last = lines.order.len();
        lines.sort(Shape::of_document(&source.value), &source.value, source.root(), 0..last);
    }
    lines.to_text()
}

/// Returns true if two files have the same comments, wherever they are. JSON has none.
pub(super) fn has_same_comments(one: &SourceFile, other: &SourceFile) -> bool {
    one.format() != SourceFormat::Yaml || comments(&one.text) == comments(&other.text)
}

fn comments(text: &str) -> Vec<String> {
    let options = options! { disallow_directives: true, max_buffered_comment_events: usize::MAX };
    let events = Parser::new_from_str_with_options(text, options).map_while(Result::ok);
    let mut comments: Vec<_> = events
        .filter_map(|(event, _)| match event {
            Event::Comment(text, _) => Some(text.trim_end().to_owned()),
            _ => None,
        })
        .collect();
    comments.sort_unstable();
    comments
}

fn has_aliases(text: &str) -> bool {
    let mut events = Parser::new_from_str(text).map_while(Result::ok);
    events.any(|(event, _)| event.is_alias())
}

/// The lines of a file, and the order in which they are written.
struct Lines<'t> {
    text: &'t str,
    /// The start of each line, and the end of the text.
    starts: Vec<usize>,
    /// True for each line that is part of a text of several lines, whose blanks may count.
    is_content: Vec<bool>,
    /// The prefix of a line in place of its own.
    prefixes: Vec<Option<&'t str>>,
    order: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn new(source: &'t SourceFile) -> Self {
        let text = source.text.as_str();
        let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        let mut starts: Vec<_> = std::iter::once(0).chain(breaks).collect();
        if starts.last() != Some(&text.len()) {
            starts.push(text.len());
        }
        let count = starts.len() - 1;
        let (is_content, prefixes) = (vec![false; count], vec![None; count]);
        let mut lines = Self { text, starts, is_content, prefixes, order: (0..count).collect() };
        lines.mark_content(source.root());
        lines
    }

    /// Marks the lines of texts that have several.
    fn mark_content(&mut self, element: &Element) {
        element.members.iter().for_each(|member| self.mark_content(member));
        let span = element.span();
        if element.members.is_empty() && self.text[span.clone()].contains('\n') {
            let (first, last) = (self.line_at(span.start), self.line_at(span.end.saturating_sub(1)));
            self.is_content[first..=last].fill(true);
        }
    }

    fn line_at(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset).clamp(1, self.is_content.len()) - 1
    }

    fn line(&self, line: usize) -> &'t str {
        self.text[self.starts[line]..self.starts[line + 1]].trim_end_matches('\n')
    }

    /// Returns true for a line that holds a comment, or nothing.
    fn is_filler(&self, line: usize) -> bool {
        let text = self.line(line).trim_start();
        !self.is_content[line] && (text.is_empty() || text.starts_with('#'))
    }

    /// Puts the entries of a value in order, those of its members first. `range` are the lines that the value
    /// takes.
    fn sort(&mut self, shape: Shape, value: &Value, element: &Element, range: Range<usize>) {
        // What is written in braces or brackets stays as it is.
        if shape == Shape::Data || self.text[element.span()].starts_with(['{', '[']) {
            return;
        }
        let keyed: Vec<(&str, &Value)> = match value {
            Value::Array(items) => items.iter().map(|value| ("", value)).collect(),
            Value::Object(map) => map.iter().map(|(key, value)| (key.as_str(), value)).collect(),
            _ => return,
        };
        let start = |member: &Element| member.key().unwrap_or(member.span()).start;
        let starts: Vec<_> = element.members.iter().map(|member| self.line_at(start(member))).collect();
        if starts.windows(2).any(|pair| pair[0] >= pair[1])
            || starts.first().is_some_and(|first| *first < range.start)
        {
            return;
        }
        let ends = starts.iter().skip(1).copied().chain([range.end]);
        let ranges: Vec<_> = starts.iter().zip(ends).map(|(start, end)| *start..end).collect();
        for (((key, value), member), range) in keyed.iter().zip(&element.members).zip(&ranges) {
            self.sort(shape.member(key, value), value, member, range.clone());
        }
        if value.is_object() && self.is_block(element) {
            self.move_entries(&shape.sort_indices(keyed.iter().map(|(key, _)| *key)), element, &ranges);
        }
    }

    /// Returns true if nothing but indentation precedes each key; before the first one there may be the
    /// dash of a list item.
    fn is_block(&self, element: &Element) -> bool {
        let columns = element.members.iter().enumerate().map(|(index, member)| {
            let prefix = self.prefix(member);
            let is_indentation = prefix.chars().all(|c| c == ' ' || (index == 0 && c == '-'));
            is_indentation.then_some(prefix.len())
        });
        let columns: Vec<_> = columns.collect();
        columns.iter().all(|column| column.is_some() && *column == columns[0])
    }

    fn prefix(&self, member: &Element) -> &'t str {
        let key = member.key().unwrap_or(member.span()).start;
        &self.text[self.starts[self.line_at(key)]..key]
    }

    /// Moves entries, each with the comments above it. Comments behind the last entry stay there.
    fn move_entries(&mut self, order: &[usize], element: &Element, ranges: &[Range<usize>]) {
        if order.is_sorted() {
            return;
        }
        let body_end = |range: &Range<usize>| {
            range.clone().rev().find(|line| !self.is_filler(*line)).map_or(range.end, |line| line + 1)
        };
        let bodies: Vec<_> = ranges.iter().map(|range| range.start..body_end(range)).collect();
        let heads = bodies.iter().zip(&bodies[1..]).map(|(one, next)| one.end..next.start);
        let heads: Vec<_> = std::iter::once(bodies[0].start..bodies[0].start).chain(heads).collect();
        let (first, last) = (bodies[0].start, bodies[bodies.len() - 1].end);
        // What was sorted within the entries stays as it is now.
        let current = self.order[first..last].to_vec();
        let at = |range: &Range<usize>| current[range.start - first..range.end - first].to_vec();
        let moved = order.iter().flat_map(|index| [at(&heads[*index]), at(&bodies[*index])].concat());
        let moved: Vec<_> = moved.collect();
        self.order[first..last].copy_from_slice(&moved);
        // The dash belongs to the entry that comes first.
        let (dash, blank) = (self.prefix(&element.members[0]), self.prefix(&element.members[1]));
        self.prefixes[bodies[order[0]].start] = Some(dash);
        self.prefixes[bodies[0].start] = Some(blank);
    }

    fn to_text(&self) -> String {
        let mut text = String::with_capacity(self.text.len() + 1);
        let mut was_empty = true;
        for line in &self.order {
            let own = self.line(*line);
            let prefix = self.prefixes[*line];
            let rest = prefix.map_or(own, |prefix| &own[prefix.len()..]);
            let rest = if self.is_content[*line] { rest } else { rest.trim_end_matches([' ', '\t']) };
            let is_empty = rest.is_empty() && !self.is_content[*line];
            if !(is_empty && was_empty) {
                text.push_str(prefix.unwrap_or_default());
                text.push_str(rest);
                text.push('\n');
            }
            was_empty = is_empty;
        }
        if was_empty && text.ends_with("\n\n") {
            text.pop();
        }
        text
    }
}
