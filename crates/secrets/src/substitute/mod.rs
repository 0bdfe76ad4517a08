//! Replacement of `${VAR}` in a text before it is parsed.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::reference::is_variable_name;

/// The syntax of a text, which determines the parts that are left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// Everything is replaced (JSON, plain text).
    Plain,
    /// Comments are copied unchanged; a `#` inside a string does not start a comment.
    Toml,
}

/// A text with its placeholders replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Substituted {
    /// The text; may contain secrets.
    pub text: String,
    /// Names of all variables in placeholders, set or not.
    pub names: BTreeSet<String>,
}

/// An error in a placeholder and its position; line and column start at 1, columns count characters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct SubstituteError {
    /// Line of the `$`.
    pub line: usize,
    /// Column of the `$`.
    pub column: usize,
    /// The kind of error.
    pub problem: PlaceholderError,
}

/// A kind of error in a placeholder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceholderError {
    /// The variable is unset and the placeholder has no default.
    #[error("the variable {var} is not set; set it, or write ${{{var}:-default}}")]
    Unset {
        /// Name of the variable.
        var: String,
    },
    /// The name contains other characters than letters, digits and underscores.
    #[error(
        "a placeholder is ${{NAME}} or ${{NAME:-default}}, its name letters, digits and underscores; write $$ for a plain $"
    )]
    Name,
    /// There is no `}` on the line.
    #[error("a placeholder is not closed; close it with }}, or write $$ for a plain $")]
    Unclosed,
    /// The default contains a placeholder.
    #[error("the default of {var} holds another placeholder, which would not be replaced")]
    Nested {
        /// Name of the variable.
        var: String,
    },
}

/// Replaces `${VAR}` and `${VAR:-default}` by the result of `lookup`, and `$$` by `$`.
///
/// The text is scanned once: values are not scanned again. A default applies only to an *unset* variable and
/// may be empty. A `$` before any other character is copied.
///
/// # Errors
/// All placeholders that cannot be replaced.
pub fn substitute(
    text: &str,
    syntax: Syntax,
    lookup: impl Fn(&str) -> Option<String>,
) -> Result<Substituted, Vec<SubstituteError>> {
    let comments = match syntax {
        Syntax::Plain => Vec::new(),
        Syntax::Toml => toml_comments(text),
    };
    let mut comments = comments.into_iter().peekable();
    let mut substituted = Substituted { text: String::with_capacity(text.len()), names: BTreeSet::new() };
    let mut failed = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find('$').map(|offset| at + offset) {
        while comments.next_if(|comment| comment.end <= found).is_some() {}
        if let Some(comment) = comments.peek().filter(|comment| comment.start <= found) {
            substituted.text.push_str(&text[at..comment.end]);
            at = comment.end;
            continue;
        }
        substituted.text.push_str(&text[at..found]);
        let rest = &text[found + 1..];
        at = found + 1;
        if rest.starts_with('$') {
            substituted.text.push('$');
            at += 1;
        } else if let Some(inner) = rest.strip_prefix('{') {
            let line = inner.lines().next().unwrap_or_default();
            let (length, value) = match line.find('}') {
                Some(end) => (end + 2, replace(&line[..end], &lookup, &mut substituted.names)),
                None => (line.len() + 1, Err(PlaceholderError::Unclosed)),
            };
            at += length;
            match value {
                Ok(value) => substituted.text.push_str(&value),
                Err(problem) => {
                    let (line, column) = position(text, found);
                    failed.push(SubstituteError { line, column, problem });
                }
            }
        } else {
            substituted.text.push('$');
        }
    }
    substituted.text.push_str(&text[at..]);
    if failed.is_empty() { Ok(substituted) } else { Err(failed) }
}

/// Returns the value of a placeholder; `inside` is `NAME` or `NAME:-default`.
fn replace(
    inside: &str,
    lookup: &impl Fn(&str) -> Option<String>,
    names: &mut BTreeSet<String>,
) -> Result<String, PlaceholderError> {
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    if !is_variable_name(name) {
        return Err(PlaceholderError::Name);
    }
    names.insert(name.to_owned());
    if default.is_some_and(|default| default.contains("${")) {
        return Err(PlaceholderError::Nested { var: name.to_owned() });
    }
    lookup(name)
        .or_else(|| default.map(str::to_owned))
        .ok_or_else(|| PlaceholderError::Unset { var: name.to_owned() })
}

/// Returns line and column of a byte offset, both starting at 1.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// Returns the byte ranges of the comments in a TOML text. A `#` inside a string does not start one.
fn toml_comments(text: &str) -> Vec<Range<usize>> {
    let mut comments = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find(['#', '"', '\'']).map(|offset| at + offset) {
        let rest = &text[found..];
        if rest.starts_with('#') {
            at = rest.find('\n').map_or(text.len(), |end| found + end);
            comments.push(found..at);
        } else {
            at = found + string_length(rest);
        }
    }
    comments
}

/// Returns the length in bytes of the TOML string at the start of a text, including quotes. The text must
/// begin with a quote. An unclosed string ends with its line (a multi-line string with the text) and is left
/// for the parser to report.
fn string_length(text: &str) -> usize {
    let quote = &text[..1];
    let triple = quote.repeat(3);
    let multi_line = text.starts_with(&triple);
    let close = if multi_line { triple.as_str() } else { quote };
    let escapes = quote == "\"";
    let mut at = close.len();
    while let Some(next) = text[at..].chars().next() {
        if text[at..].starts_with(close) {
            at += close.len();
            // A multi-line string may end with quotes of its own, directly before the closing ones.
            while multi_line && text[at..].starts_with(quote) {
                at += 1;
            }
            return at;
        }
        if next == '\n' && !multi_line {
            return at;
        }
        at += next.len_utf8();
        if escapes && next == '\\' {
            at += text[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
    text.len()
}

#[cfg(test)]
mod tests;
