//! Authored files: their text, the value it holds, and the places of its elements.

mod element;
mod error;
mod json;
mod json_error;
mod lines;
mod path;
mod yaml;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::OnceLock;

use serde_json::Value;

use crate::finding::SourcePlace;
pub(crate) use element::Element;
pub use error::SourceError;
use lines::LineIndex;
use path::KeyIndex;

/// Maximum size of an authored file. The admin API takes far less in one body.
pub const MAX_FILE_BYTES: usize = 16 << 20;

/// Maximum size of a package, which may hold the components of plugins.
pub const MAX_PACKAGE_BYTES: usize = 256 << 20;

/// Maximum nesting depth of a value, that of `serde_json`.
pub(crate) const MAX_DEPTH: usize = 128;

/// The byte order mark of UTF-8. Editors write it, and it means nothing.
const BYTE_ORDER_MARK: char = '\u{FEFF}';

/// The notation of an authored file, known by its extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceFormat {
    Json,
    /// `.yaml` or `.yml`
    Yaml,
}

impl SourceFormat {
    /// Returns the notation of a file by its extension, in upper or lower case; `None` for a file that holds no definition.
    pub fn from_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "json" => Some(Self::Json),
            "yaml" | "yml" => Some(Self::Yaml),
            _ => None,
        }
    }
}

/// An authored file.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The name in findings.
    pub name: String,
    /// The text, without a byte order mark.
    pub text: String,
    pub value: Value,
    /// True if a statement that the file names was refused. Its reference is still in the value.
    pub(crate) has_refused_statements: bool,
    format: SourceFormat,
    root: Element,
    lines: LineIndex,
    /// Made for the first place that is asked for.
    keys: OnceLock<KeyIndex>,
}

impl SourceFile {
    /// Reads a file. One without a known extension is read as JSON.
    ///
    /// # Errors
    /// The file cannot be read, is larger than [`MAX_FILE_BYTES`], or holds no value of its notation.
    pub fn read(name: &str, path: &Path) -> Result<Self, SourceError> {
        let format = SourceFormat::from_path(path).unwrap_or(SourceFormat::Json);
        Self::parse(name, format, read_text(name, path)?)
    }

    /// Reads the file of a package. One without a known extension is read as JSON.
    ///
    /// # Errors
    /// The file cannot be read, is larger than [`MAX_PACKAGE_BYTES`], or holds no value of its notation.
    pub fn read_package(name: &str, path: &Path) -> Result<Self, SourceError> {
        let format = SourceFormat::from_path(path).unwrap_or(SourceFormat::Json);
        let bytes = read_bounded(path, MAX_PACKAGE_BYTES).map_err(|error| SourceError::unreadable(&error))?;
        Self::from_bytes(name, format, bytes)
    }

    /// Reads the content of the file of a package.
    ///
    /// # Errors
    /// The content is no UTF-8, too large, or holds no value of its notation.
    pub fn from_bytes(name: &str, format: SourceFormat, bytes: Vec<u8>) -> Result<Self, SourceError> {
        let text = decode(name, bytes, MAX_PACKAGE_BYTES)?;
        Self::parse_within(name, format, text, MAX_PACKAGE_BYTES)
    }

    /// Reads a text.
    ///
    /// # Errors
    /// The text is too large, or no document of its notation.
    pub fn parse(name: &str, format: SourceFormat, text: String) -> Result<Self, SourceError> {
        Self::parse_within(name, format, text, MAX_FILE_BYTES)
    }

    fn parse_within(
        name: &str,
        format: SourceFormat,
        text: String,
        limit: usize,
    ) -> Result<Self, SourceError> {
        if text.len() > limit {
            return Err(SourceError::too_large(limit));
        }
        let text = without_byte_order_mark(text);
        let lines = LineIndex::new(&text);
        let parsed = match format {
            SourceFormat::Json => json::parse(&text, &lines),
            SourceFormat::Yaml => yaml::parse(&text, &lines),
        };
        match parsed {
            Ok((value, root)) => {
                let (name, keys) = (name.to_owned(), OnceLock::new());
                Ok(Self { name, text, value, has_refused_statements: false, format, root, lines, keys })
            }
            Err(error) => Err(error.in_file(name, &text, &lines)),
        }
    }

    /// Returns the notation.
    pub fn format(&self) -> SourceFormat {
        self.format
    }

    /// Returns the place of the element at a path of authored coordinates (`tasks[1].function.input.query`),
    /// or of its nearest ancestor that is there. A leading name of the resource (`channel.protocol`,
    /// `body.tasks`) is skipped.
    ///
    /// The place of an object or array is that of its key, so that a report points at one line.
    pub fn place(&self, path: &str) -> Option<SourcePlace> {
        let (value, element) = self.locate(path);
        let span = match (value, element.key()) {
            (Value::Object(_) | Value::Array(_), Some(key)) => key,
            _ => element.span(),
        };
        Some(self.lines.place(&self.name, &self.text, span))
    }

    /// Returns the place of the key of the element at a path, as [`place`](Self::place) finds it.
    pub fn key_place(&self, path: &str) -> Option<SourcePlace> {
        let (_, element) = self.locate(path);
        let span = element.key().unwrap_or(element.span());
        Some(self.lines.place(&self.name, &self.text, span))
    }

    fn locate(&self, path: &str) -> (&Value, &Element) {
        let keys = self.keys.get_or_init(|| KeyIndex::new(&self.value, &self.root));
        path::locate(&self.value, &self.root, path, keys)
    }

    /// Returns the place of the root element, and with it those of all others.
    pub(crate) fn root(&self) -> &Element {
        &self.root
    }
}

/// Reads the text of a file, without a byte order mark. `name` is that of the file in errors.
///
/// # Errors
/// The file cannot be read, is larger than [`MAX_FILE_BYTES`], or is no UTF-8.
pub fn read_text(name: &str, path: &Path) -> Result<String, SourceError> {
    let bytes = read_bounded(path, MAX_FILE_BYTES).map_err(|error| SourceError::unreadable(&error))?;
    decode(name, bytes, MAX_FILE_BYTES).map(without_byte_order_mark)
}

fn decode(name: &str, bytes: Vec<u8>, limit: usize) -> Result<String, SourceError> {
    if bytes.len() > limit {
        return Err(SourceError::too_large(limit));
    }
    String::from_utf8(bytes).map_err(|error| SourceError::not_utf8(name, &error))
}

/// Reads a file up to one byte more than it may have.
fn read_bounded(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn without_byte_order_mark(text: String) -> String {
    match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => rest.to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests;
