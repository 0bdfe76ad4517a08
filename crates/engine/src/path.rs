//! Dotted paths into a message: how tasks name what they read and write.
//!
//! Segments are separated by dots. An all-digit segment is an array index, unless what it meets is an object;
//! a leading `#` forces an object key and is dropped (`#20` is the key `20`, `##x` the key `#x`); alone it is
//! the key `#`. Reading never fails: what is missing is `None`. Writing creates missing containers, pads
//! arrays with null, and silently does nothing if the path would have to walk through a scalar. What a
//! write builds is bounded: in depth, and in the nulls it pads arrays with.

use std::fmt;

use serde_json::{Map, Value};

use crate::bounds::extent::{self, Excess, MAX_DEPTH, describe_bytes};
use crate::error::TaskError;
use crate::error_code::ErrorCode;

/// The largest array index a path may name.
pub const MAX_INDEX: usize = 99_999;
/// Segments below the root that a path may have; half of what a value may nest.
pub const MAX_SEGMENTS: usize = 64;
/// Nulls one write may pad arrays with: an index far beyond the end of its array is a mistake, and would cost
/// memory.
pub const MAX_PADDING: usize = 1024;

/// The part of a message in which a path starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Root {
    /// The result that the caller receives.
    Data,
    /// Facts about the request and stamps of the engine.
    Metadata,
    /// Scratch space, never returned.
    TempData,
    /// The ingress payload; read-only.
    Payload,
    /// Any other name: a sibling root, readable by later expressions and never returned.
    Other(String),
}

impl Root {
    fn parse(name: &str) -> Self {
        match name {
            "data" => Self::Data,
            "metadata" => Self::Metadata,
            "temp_data" => Self::TempData,
            "payload" => Self::Payload,
            other => Self::Other(other.to_owned()),
        }
    }

    /// Returns the name by which expressions read it.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Data => "data",
            Self::Metadata => "metadata",
            Self::TempData => "temp_data",
            Self::Payload => "payload",
            Self::Other(name) => name,
        }
    }
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// An object key.
    Key(Box<str>),
    /// All digits: an array index, or the same digits as a key if the container is an object.
    Index(usize, Box<str>),
}

impl Segment {
    fn parse(text: &str) -> Result<Self, PathError> {
        if let Some(key) = forced_key(text) {
            return Ok(Self::Key(key.into()));
        }
        if text.is_empty() {
            return Err(PathError::EmptySegment);
        }
        if !text.bytes().all(|b| b.is_ascii_digit()) {
            return Ok(Self::Key(text.into()));
        }
        match text.parse() {
            Ok(index) if index <= MAX_INDEX => Ok(Self::Index(index, text.into())),
            _ => Err(PathError::IndexTooLarge(text.to_owned())),
        }
    }

    /// Returns the segment as an object key.
    pub fn key(&self) -> &str {
        match self {
            Self::Key(key) | Self::Index(_, key) => key,
        }
    }

    /// Returns the segment as an array index, if it is one.
    pub fn index(&self) -> Option<usize> {
        match self {
            Self::Key(_) => None,
            Self::Index(index, _) => Some(*index),
        }
    }
}

/// Returns the object key a segment forces, if it does.
pub(crate) fn forced_key(segment: &str) -> Option<&str> {
    segment.strip_prefix('#').filter(|key| !key.is_empty())
}

/// The reason why a text is not a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Nothing, or nothing between two dots.
    #[error("a path needs a name between its dots")]
    EmptySegment,
    /// An array index above [`MAX_INDEX`].
    #[error("array index {0} is above {MAX_INDEX}")]
    IndexTooLarge(String),
    /// More than [`MAX_SEGMENTS`] segments.
    #[error("a path has at most {MAX_SEGMENTS} segments below its root")]
    TooLong,
    /// A write target under the payload.
    #[error("the payload is read-only; write to data, metadata or temp_data")]
    ReadOnly,
}

/// The reason why a write was refused. Nothing was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The value would nest deeper than [`MAX_DEPTH`].
    #[error("the value would nest more than {MAX_DEPTH} deep")]
    TooDeep,
    /// The message would take more than so many bytes.
    #[error("the message would take more than {}", describe_bytes(*.0))]
    TooLarge(usize),
    /// The copy of the message on which an element or a member works would take more than so many bytes, its share.
    #[error("the copy of the message would take more than its share, {}", describe_bytes(*.0))]
    OverShare(usize),
    /// There is something other than an array at the path to which elements would be added.
    #[error("there is no array to add to")]
    NoArray,
    /// Arrays would be padded with more than [`MAX_PADDING`] nulls.
    #[error("the write would pad arrays with {0} nulls, more than {MAX_PADDING}")]
    Padding(usize),
}

impl WriteError {
    /// Returns the code of the error of a task.
    pub(crate) const fn code(self) -> ErrorCode {
        match self {
            Self::OverShare(_) => ErrorCode::LimitExceeded,
            Self::TooDeep | Self::TooLarge(_) | Self::NoArray | Self::Padding(_) => ErrorCode::Task,
        }
    }

    /// Returns the error of a task whose write to `path` was refused.
    pub fn into_task_error(self, path: &Path) -> TaskError {
        TaskError::new(self.code(), format!("{path}: {self}"))
    }
}

/// A parsed path: its root and the segments below it.
///
/// ```
/// use svc_engine::path::{Path, PathError};
///
/// let path = Path::parse("data.items.0.price")?;
/// assert_eq!(path.segments().len(), 3);
/// assert_eq!(Path::parse_target("payload.total"), Err(PathError::ReadOnly));
/// # Ok::<(), PathError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    text: String,
    root: Root,
    segments: Box<[Segment]>,
}

impl Path {
    /// Parses a path whose first segment names the root.
    ///
    /// # Errors
    /// An empty segment, an array index above [`MAX_INDEX`], or more than [`MAX_SEGMENTS`] segments.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let (root, rest) = text.split_once('.').map_or((text, None), |(root, rest)| (root, Some(rest)));
        if root.is_empty() {
            return Err(PathError::EmptySegment);
        }
        let segments = rest.map_or(Ok(Box::default()), segments)?;
        Ok(Self { text: text.to_owned(), root: Root::parse(root), segments })
    }

    /// Parses a path that will be written to.
    ///
    /// # Errors
    /// As [`Path::parse`], and a path under the read-only payload.
    pub fn parse_target(text: &str) -> Result<Self, PathError> {
        let path = Self::parse(text)?;
        if path.root == Root::Payload { Err(PathError::ReadOnly) } else { Ok(path) }
    }

    /// Returns the path of a field of the metadata.
    pub(crate) fn below_metadata(key: &str) -> Self {
        Self {
            text: format!("metadata.{key}"),
            root: Root::Metadata,
            segments: Box::new([Segment::Key(key.into())]),
        }
    }

    /// Returns the path of a field of the scratch space.
    pub(crate) fn below_temp_data(key: &str) -> Self {
        Self {
            text: format!("temp_data.{key}"),
            root: Root::TempData,
            segments: Box::new([Segment::Key(key.into())]),
        }
    }

    /// Returns the path of a field below this one.
    pub fn child(&self, key: &str) -> Self {
        let mut segments = self.segments.to_vec();
        segments.push(Segment::Key(key.into()));
        Self { text: format!("{}.{key}", self.text), root: self.root.clone(), segments: segments.into() }
    }

    /// Returns the path of an element below this one.
    pub(crate) fn element(&self, index: usize) -> Self {
        let mut segments = self.segments.to_vec();
        let digits = index.to_string();
        let text = format!("{}.{digits}", self.text);
        segments.push(Segment::Index(index, digits.into()));
        Self { text, root: self.root.clone(), segments: segments.into() }
    }

    /// Returns the root the path starts in.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Returns the path of the container; of a bare root the path itself.
    pub(crate) fn container(&self) -> Self {
        let Some((last, above)) = self.segments.split_last() else { return self.clone() };
        let text = self.text.strip_suffix(last.key()).unwrap_or(&self.text);
        let text = text.strip_suffix('#').unwrap_or(text);
        let text = text.strip_suffix('.').unwrap_or(text);
        Self { text: text.to_owned(), root: self.root.clone(), segments: above.into() }
    }

    /// Returns the segments below the root.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Returns the path as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Parses dot-separated segments without a root.
///
/// # Errors
/// An empty segment, an array index above [`MAX_INDEX`], or more than [`MAX_SEGMENTS`] segments.
pub fn segments(text: &str) -> Result<Box<[Segment]>, PathError> {
    if text.split('.').nth(MAX_SEGMENTS).is_some() {
        return Err(PathError::TooLong);
    }
    text.split('.').map(Segment::parse).collect()
}

/// Reads below `value`; `None` if the path leads nowhere.
pub fn read<'v>(value: &'v Value, segments: &[Segment]) -> Option<&'v Value> {
    segments.iter().try_fold(value, |value, segment| match value {
        Value::Object(map) => map.get(segment.key()),
        Value::Array(items) => items.get(segment.index()?),
        _ => None,
    })
}

/// Reads below an object.
pub fn read_map<'v>(map: &'v Map<String, Value>, segments: &[Segment]) -> Option<&'v Value> {
    let (first, rest) = segments.split_first()?;
    read(map.get(first.key())?, rest)
}

/// Checks a write of `new` below `slot` and returns the bytes that it adds if nothing is replaced.
///
/// # Errors
/// The bound that the write would exceed; `limit` is in bytes.
pub(crate) fn check(
    slot: Option<&Value>,
    segments: &[Segment],
    new: &Value,
    limit: usize,
) -> Result<usize, WriteError> {
    let depth = MAX_DEPTH.saturating_sub(segments.len());
    let bytes = extent::measure(new, depth, limit).map_err(|excess| match excess {
        Excess::Depth => WriteError::TooDeep,
        Excess::Bytes(limit) => WriteError::TooLarge(limit),
    })?;
    match padding(slot, segments) {
        nulls if nulls > MAX_PADDING => Err(WriteError::Padding(nulls)),
        nulls => Ok(bytes + nulls * size_of::<Value>()),
    }
}

/// Nulls a write below `slot` would add.
fn padding(mut slot: Option<&Value>, segments: &[Segment]) -> usize {
    let mut nulls = 0;
    if segments.iter().all(|segment| segment.index().is_none()) {
        return nulls;
    }
    for segment in segments {
        slot = match (slot, segment.index()) {
            (Some(Value::Object(map)), _) => map.get(segment.key()),
            (Some(Value::Array(items)), Some(index)) => {
                nulls += index.saturating_sub(items.len());
                items.get(index)
            }
            (None | Some(Value::Null), index) => {
                nulls += index.unwrap_or(0);
                None
            }
            // Nothing will be written.
            _ => return 0,
        };
    }
    nulls
}

/// Writes `new` below `slot`. Returns whether anything was written.
pub fn write(slot: &mut Value, segments: &[Segment], new: Value) -> bool {
    let Some((first, rest)) = segments.split_first() else {
        *slot = new;
        return true;
    };
    if slot.is_null() {
        *slot = if first.index().is_some() { Value::Array(Vec::new()) } else { Value::Object(Map::new()) };
    }
    match slot {
        Value::Object(map) => write_map(map, segments, new),
        Value::Array(items) => {
            let Some(index) = first.index() else { return false };
            if items.len() <= index {
                items.resize(index + 1, Value::Null);
            }
            write(&mut items[index], rest, new)
        }
        _ => false,
    }
}

/// Writes `new` below an object; an empty path writes nothing. Returns whether anything was written.
pub fn write_map(map: &mut Map<String, Value>, segments: &[Segment], new: Value) -> bool {
    let Some((first, rest)) = segments.split_first() else { return false };
    if rest.is_empty() {
        map.insert(first.key().to_owned(), new);
        return true;
    }
    match map.get_mut(first.key()) {
        Some(slot) => write(slot, rest, new),
        None => write(map.entry(first.key()).or_insert(Value::Null), rest, new),
    }
}

/// Removes what is below `slot`; the elements behind a removed one move up. Returns whether there was anything.
pub fn remove(slot: &mut Value, segments: &[Segment]) -> bool {
    let Some((first, rest)) = segments.split_first() else { return false };
    match slot {
        Value::Object(map) => remove_from_map(map, segments),
        Value::Array(items) => match first.index().filter(|index| *index < items.len()) {
            Some(index) if rest.is_empty() => {
                items.remove(index);
                true
            }
            Some(index) => remove(&mut items[index], rest),
            None => false,
        },
        _ => false,
    }
}

/// Removes what is below an object; the other members keep their order. Returns whether there was anything.
pub fn remove_from_map(map: &mut Map<String, Value>, segments: &[Segment]) -> bool {
    match segments {
        [] => false,
        [last] => map.shift_remove(last.key()).is_some(),
        [first, rest @ ..] => map.get_mut(first.key()).is_some_and(|slot| remove(slot, rest)),
    }
}

#[cfg(test)]
mod tests;
