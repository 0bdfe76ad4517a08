//! The canonical form of authored files.
//!
//! Keys of entities, tasks, shared documents and test cases are put in the order of the manual; what a
//! function, a config or an expression holds keeps its order. JSON is laid out anew. YAML keeps its notation,
//! its indentation and its comments: whole entries move with the comments above them. The result is read
//! again, and is dropped unless it means the same.

mod json;
mod order;
mod yaml;

use crate::source::{SourceError, SourceFile, SourceFormat};

/// Returns the canonical form of a file.
///
/// # Errors
/// The text is no document of its notation.
pub fn format_text(name: &str, format: SourceFormat, text: &str) -> Result<String, SourceError> {
    match format {
        SourceFormat::Json => {
            let source = SourceFile::parse(name, format, text.to_owned())?;
            keep_meaning(&source, json::print(&source), json::print)
        }
        SourceFormat::Yaml => {
            let source = SourceFile::parse(name, format, text.replace("\r\n", "\n"))?;
            keep_meaning(&source, yaml::print(&source), yaml::print)
        }
    }
}

/// Returns the new text, if it means the same and is its own canonical form.
fn keep_meaning(
    source: &SourceFile,
    text: String,
    print: fn(&SourceFile) -> String,
) -> Result<String, SourceError> {
    let refused = || {
        let message = "cannot be formatted without changing what it means";
        SourceError::without_place(message, "simplify its layout, or leave the file out")
    };
    let again = SourceFile::parse(&source.name, source.format(), text).map_err(|_| refused())?;
    let is_same = again.value == source.value && yaml::has_same_comments(source, &again);
    if is_same && print(&again) == again.text { Ok(again.text) } else { Err(refused()) }
}

#[cfg(test)]
mod tests;
