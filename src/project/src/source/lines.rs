//! Lines and columns of byte offsets.

use std::ops::Range;

use crate::finding::SourcePlace;

/// The offsets at which the lines of a text begin.
#[derive(Clone, Debug)]
pub(super) struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    pub(super) fn new(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = breaks.map(|(at, _)| u32::try_from(at + 1).unwrap_or(u32::MAX));
        Self { starts: std::iter::once(0).chain(starts).collect() }
    }

    /// Returns the line and the column, both counted from 1, of an offset.
    pub(super) fn position(&self, text: &str, offset: usize) -> (usize, usize) {
        let offset = floor_boundary(text, offset);
        let line = self.starts.partition_point(|start| *start as usize <= offset).max(1);
        let start = self.starts[line - 1] as usize;
        (line, text[start..offset].chars().count() + 1)
    }

    /// Returns the offset of a line, counted from 1, and a column in bytes, counted from 1.
    pub(super) fn offset(&self, text: &str, line: usize, column: usize) -> usize {
        let start = self.starts.get(line.saturating_sub(1)).map_or(text.len(), |start| *start as usize);
        floor_boundary(text, start + column.saturating_sub(1))
    }

    /// Returns the place of a span; one of several lines ends with its first.
    pub(super) fn place(&self, name: &str, text: &str, span: Range<usize>) -> SourcePlace {
        let start = floor_boundary(text, span.start);
        let end = floor_boundary(text, span.end).max(start);
        let end = text[start..end].find(['\r', '\n']).map_or(end, |length| start + length);
        let (line, column) = self.position(text, start);
        SourcePlace { file: name.to_owned(), line, column, span: start..end }
    }
}

/// Returns the offset, or the start of the character that it is inside of.
fn floor_boundary(text: &str, offset: usize) -> usize {
    text.floor_char_boundary(offset.min(text.len()))
}
