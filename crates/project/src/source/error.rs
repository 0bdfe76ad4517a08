//! Errors of reading a file or text: its reason, its place, its remedy.

use std::fmt;
use std::io;
use std::ops::Range;
use std::string::FromUtf8Error;

use svc_outbound::describe_cause;

use super::MAX_DEPTH;
use super::lines::LineIndex;
use crate::finding::{Finding, Severity, SourcePlace};

/// The reason why a file or text cannot be read as a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceError {
    /// The reason.
    pub message: String,
    /// The place of the first problem, if it is known.
    pub place: Option<SourcePlace>,
    /// The remedy.
    pub fix: String,
}

impl std::error::Error for SourceError {}

impl fmt::Display for SourceError {
    /// Writes the reason, and line and column if they are known.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.place {
            Some(place) => write!(f, " at line {} column {}", place.line, place.column),
            None => Ok(()),
        }
    }
}

impl SourceError {
    /// Returns a finding about the file.
    pub fn to_finding(&self, severity: Severity, check: &'static str, entity: &str) -> Finding {
        Finding {
            severity,
            check,
            entity: entity.to_owned(),
            message: self.to_string(),
            fix: Some(self.fix.clone()),
            place: self.place.clone(),
        }
    }

    /// Returns `<name>: <reason>` and the remedy in a line of its own, for a command that cannot go on without the file.
    pub fn report(&self, name: &str) -> String {
        format!("{name}: {self}\n        fix: {}", self.fix)
    }

    pub(crate) fn without_place(message: impl Into<String>, fix: &str) -> Self {
        Self { message: message.into(), place: None, fix: fix.to_owned() }
    }

    pub(crate) fn unreadable(error: &io::Error) -> Self {
        Self::without_place(
            format!("cannot be read: {}", describe_cause(error)),
            "check that the file exists and may be read",
        )
    }

    pub(super) fn too_large(limit: usize) -> Self {
        let message = format!("is larger than {} MiB", limit >> 20);
        Self::without_place(message, "split it, or move it out of the project directory")
    }

    pub(super) fn not_utf8(name: &str, error: &FromUtf8Error) -> Self {
        let bytes = error.as_bytes();
        let fix = "save it as UTF-8".to_owned();
        if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
            return Self { message: "is UTF-16, not UTF-8".to_owned(), place: None, fix };
        }
        let valid = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(&bytes[..valid]);
        let place = LineIndex::new(&text).place(name, &text, valid..valid);
        Self { message: "is not UTF-8".to_owned(), place: Some(place), fix }
    }
}

/// A problem of a text, by its offset.
#[derive(Debug)]
pub(super) struct SyntaxError {
    pub(super) message: String,
    pub(super) span: Range<usize>,
    pub(super) fix: String,
}

impl SyntaxError {
    pub(super) fn new(message: impl Into<String>, span: Range<usize>, fix: impl Into<String>) -> Self {
        Self { message: message.into(), span, fix: fix.into() }
    }

    pub(super) fn empty() -> Self {
        Self::new("the file is empty", 0..0, "write a definition into it, or remove it")
    }

    /// Creates the refusal of a value that is nested too deep.
    pub(super) fn too_deep(span: Range<usize>) -> Self {
        let message = format!("is nested deeper than {MAX_DEPTH} levels");
        Self::new(message, span, "nest the value less deep; shared values and fragments help")
    }

    /// Creates the refusal of a key that is already there, at `first` of the text.
    pub(super) fn duplicate_key(key: &str, first: (usize, usize), span: Range<usize>) -> Self {
        let (line, column) = first;
        let message = format!("duplicate key {key:?} (first at line {line} column {column})");
        Self::new(message, span, "keep one of the two")
    }

    pub(super) fn in_file(self, name: &str, text: &str, lines: &LineIndex) -> SourceError {
        let place = Some(lines.place(name, text, self.span));
        SourceError { message: self.message, place, fix: self.fix }
    }
}
