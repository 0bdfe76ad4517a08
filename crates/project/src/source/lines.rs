//! Lines and columns of byte offsets.

use std::ops::Range;

use crate::finding::SourcePlace;

/// Distance between two offsets whose character count is known, in bytes. A minified file is one line, in which each
/// column would be counted from its start otherwise.
const BLOCK: usize = 4096;

/// The offsets at which the lines of a text begin.
#[derive(Clone, Debug)]
pub(super) struct LineIndex {
    starts: Vec<u32>,
    /// The number of characters before each block.
    blocks: Vec<u32>,
}

impl LineIndex {
    pub(super) fn new(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = breaks.map(|(at, _)| u32::try_from(at + 1).unwrap_or(u32::MAX));
        let counts = text.as_bytes().chunks(BLOCK).scan(0, |before, block| {
            *before += count_characters(block);
            Some(*before)
        });
        Self {
            starts: std::iter::once(0).chain(starts).collect(),
            blocks: std::iter::once(0).chain(counts).collect(),
        }
    }

    /// Returns the line and the column, both counted from 1, of an offset.
    pub(super) fn position(&self, text: &str, offset: usize) -> (usize, usize) {
        let offset = floor_boundary(text, offset);
        let line = self.starts.partition_point(|start| *start as usize <= offset).max(1);
        let start = self.starts[line - 1] as usize;
        let column = self.characters_before(text, offset) - self.characters_before(text, start) + 1;
        (line, column as usize)
    }

    /// Returns the number of characters that begin before an offset.
    fn characters_before(&self, text: &str, offset: usize) -> u32 {
        let block = offset / BLOCK;
        self.blocks[block] + count_characters(&text.as_bytes()[block * BLOCK..offset])
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

/// Returns the number of characters that begin in a part of a text.
fn count_characters(bytes: &[u8]) -> u32 {
    let is_start = |byte: &&u8| **byte & 0xC0 != 0x80;
    u32::try_from(bytes.iter().filter(is_start).count()).unwrap_or(u32::MAX)
}

/// Returns the offset, or the start of the character that it is inside of.
fn floor_boundary(text: &str, offset: usize) -> usize {
    text.floor_char_boundary(offset.min(text.len()))
}
