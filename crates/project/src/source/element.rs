//! The places of the elements of a document.

use std::ops::Range;

/// The place of a value, of its key, and of the values within it.
///
/// It mirrors the value of the document: the members are in the order of the items of the array or of the
/// members of the object. Offsets are of 32 bits, as no file is larger than
/// [`MAX_PACKAGE_BYTES`](super::MAX_PACKAGE_BYTES).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Element {
    start: u32,
    end: u32,
    key: Option<(u32, u32)>,
    pub(crate) members: Vec<Element>,
}

impl Element {
    pub(super) fn new(span: Range<usize>, members: Vec<Self>) -> Self {
        Self { start: offset(span.start), end: offset(span.end), key: None, members }
    }

    pub(super) fn with_key(self, span: Range<usize>) -> Self {
        Self { key: Some((offset(span.start), offset(span.end))), ..self }
    }

    /// Returns the bytes of the value.
    pub(crate) fn span(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Returns the bytes of the key, if the value is a member of an object.
    pub(crate) fn key(&self) -> Option<Range<usize>> {
        self.key.map(|(start, end)| start as usize..end as usize)
    }
}

fn offset(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}
