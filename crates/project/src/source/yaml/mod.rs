//! YAML 1.2: one document of the JSON data model, by the events of `granit-parser`.
//!
//! A plain scalar is typed only if JSON would read it as `true`, `false`, `null` or a number, or if the
//! core schema spells one of the first three otherwise (`True`, `~`, an empty value); all else is text. What
//! has no counterpart in JSON is refused: other tags, directives, several documents, merge keys, keys that
//! are lists or objects. A scalar as a key is its text.

mod builder;
mod scalar;

use granit_parser::{ErrorKind, Event, Options, Parser, ScanError, Span, options};
use serde_json::Value;

use super::element::Element;
use super::error::SyntaxError;
use super::lines::LineIndex;
use builder::Builder;

/// Reads a text and finds the places of its elements.
pub(super) fn parse(text: &str, lines: &LineIndex) -> Result<(Value, Element), SyntaxError> {
    let mut builder = Builder::new(text, lines);
    for next in Parser::new_from_str_with_options(text, parser_options()) {
        let (event, span) = next.map_err(|error| syntax_error(&error))?;
        let span = span.byte_range().unwrap_or_default();
        match event {
            Event::Scalar(value, style, anchor, tag) => {
                builder.scalar(&value, style, anchor, tag.as_deref(), span)?;
            }
            Event::SequenceStart(_, anchor, tag) => builder.begin_list(anchor, tag.as_deref(), span)?,
            Event::MappingStart(_, anchor, tag) => builder.begin_object(anchor, tag.as_deref(), span)?,
            Event::SequenceEnd | Event::MappingEnd => builder.end(span)?,
            Event::Alias(anchor) => builder.alias(anchor, span)?,
            Event::DocumentStart(..) => builder.begin_document(span)?,
            _ => {}
        }
    }
    builder.finish()
}

/// Deeper nesting than this is refused by [`Builder`], with a message of its own.
fn parser_options() -> Options {
    let mut options = options! {
        disallow_directives: true,
        max_buffered_comment_events: usize::MAX,
    };
    options.set_emit_comments(false);
    options
}

fn syntax_error(error: &ScanError) -> SyntaxError {
    let at = Span::empty(*error.marker()).byte_range().unwrap_or_default();
    match error.kind() {
        // Brackets that are never closed give no event that the builder could refuse.
        ErrorKind::RecursionLimitExceeded => SyntaxError::too_deep(at),
        kind => SyntaxError::new(error.info(), at, remedy(kind)),
    }
}

/// Returns the remedy for an error of the parser.
fn remedy(kind: &ErrorKind) -> &'static str {
    match kind {
        ErrorKind::UnclosedFlowCollection { .. }
        | ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofImplicitFlowMapping => {
            "close the bracket; if the file was cut off, restore the rest of it"
        }
        ErrorKind::UnclosedQuotedScalar | ErrorKind::DocumentIndicatorInQuotedScalar => {
            "end the text with the quote that begins it; if the file was cut off, restore the rest of it"
        }
        ErrorKind::UnexpectedEof
        | ErrorKind::UnexpectedEofBlockSequence
        | ErrorKind::UnexpectedEofBlockMapping => {
            "write the whole value; if the file was cut off, restore it"
        }
        ErrorKind::MismatchedFlowCollectionEnd { .. } | ErrorKind::MisplacedFlowCollectionEnd => {
            "close each bracket with its counterpart, the innermost first"
        }
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabAtBlockScalarStart
        | ErrorKind::TabInIndentation
        | ErrorKind::TabInPlainScalar => "indent with blanks, not with tabs",
        ErrorKind::UnknownAnchor => "define the anchor above with &; put a text that begins with * in quotes",
        ErrorKind::UnexpectedCharacter { .. } | ErrorKind::PlainScalarStartsWithDashFlowIndicator => {
            "put a text that begins with this character in quotes"
        }
        ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement => {
            "put a text that holds a colon in quotes, and indent the keys of an object alike"
        }
        ErrorKind::DirectiveDisallowed => "remove the line that begins with %",
        ErrorKind::UnknownQuotedScalarEscape
        | ErrorKind::InvalidQuotedScalarHexEscape
        | ErrorKind::InvalidUnicodeEscape
        | ErrorKind::InvalidLowSurrogateHexEscape
        | ErrorKind::InvalidLowSurrogate
        | ErrorKind::MissingLowSurrogate
        | ErrorKind::UnpairedLowSurrogate => {
            r"write \\ for a backslash, or put the text in single quotes, where it is no escape"
        }
        ErrorKind::InvalidIndentation
        | ErrorKind::InvalidBlockScalarIndent
        | ErrorKind::InvalidQuotedScalarIndent
        | ErrorKind::InvalidFlowScalarIndent
        | ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::ExpectedBlockSequenceEntry
        | ErrorKind::BlockSequenceEntryNotAllowed => "indent the members of a list or object alike",
        _ => "write the part as YAML 1.2 has it, or put the text in quotes",
    }
}
