//! Errors of JSON: the message of `serde_json`, the place in the file, and the remedy.

use super::error::SyntaxError;
use super::lines::LineIndex;

/// The remedy if nothing more is known.
pub(super) const NOT_JSON: &str = "write the part as JSON (RFC 8259) has it";

/// Converts an error of `serde_json`: its message without the position at its end, and the remedy.
pub(super) fn syntax_error(text: &str, lines: &LineIndex, error: &serde_json::Error) -> SyntaxError {
    if text.trim().is_empty() {
        return SyntaxError::empty();
    }
    let (line, column) = (error.line(), error.column());
    let text_of_error = error.to_string();
    let position = format!(" at line {line} column {column}");
    let message = text_of_error.strip_suffix(&position).unwrap_or(&text_of_error);
    let at = lines.offset(text, line, column);
    if message == "recursion limit exceeded" {
        return SyntaxError::too_deep(at..at);
    }
    let fix = match error.is_eof() {
        true => close_what_is_open(text, lines),
        false => remedy(message, &text[at..]).to_owned(),
    };
    SyntaxError::new(message, at..at, fix)
}

/// Returns the remedy for a message about the text that begins with `rest`.
fn remedy(message: &str, rest: &str) -> &'static str {
    match message {
        "trailing comma" => "remove the comma before the closing bracket",
        "key must be a string" => "write the key in double quotes",
        "trailing characters" => "a file holds one value; remove what follows it",
        _ if rest.starts_with(['/', '#']) => "JSON has no comments; write YAML, or a key that begins with x-",
        "expected `:`" => "write a colon between the key and its value",
        "expected `,` or `]`" => "separate the items with a comma, or close the list before this one",
        "expected `,` or `}`" => "separate the members with a comma, or close the object before this one",
        "expected value" | "expected ident" => {
            "write an object, a list, a text in double quotes, a number, true, false or null"
        }
        "invalid number" => {
            "write the number with digits on both sides of its point and without a leading zero; else put it in quotes"
        }
        "number out of range" => "write a number below 1.8e308, or put it in quotes",
        "invalid escape" => r##"write \\ for a backslash; the escapes are \" \\ \/ \b \f \n \r \t \uXXXX"##,
        _ if message.starts_with("control character") => r"write it as an escape, such as \n or \t",
        _ if message.contains("hex escape") || message.contains("unicode code point") => {
            r"write the character itself, or \u with four digits, twice for a character above \uFFFF"
        }
        _ => NOT_JSON,
    }
}

/// Returns the remedy for a text that ends too early: it names the innermost part that is not closed.
fn close_what_is_open(text: &str, lines: &LineIndex) -> String {
    let restore = "if the file was cut off, restore the rest of it";
    let Some(at) = innermost_open(text) else { return format!("write the whole value; {restore}") };
    let (name, end) = match text.as_bytes()[at] {
        b'{' => ("object", '}'),
        b'[' => ("list", ']'),
        _ => ("text", '"'),
    };
    let (line, column) = lines.position(text, at);
    format!("close the {name} that begins at line {line} column {column} with {end}; {restore}")
}

/// Returns the offset of the bracket or quote that was opened last and is not closed.
fn innermost_open(text: &str) -> Option<usize> {
    let (mut brackets, mut quote, mut is_escaped) = (Vec::new(), None, false);
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), b'\\') => is_escaped = true,
            (Some(_), b'"') => quote = None,
            (None, b'"') => quote = Some(at),
            (None, b'{' | b'[') => brackets.push(at),
            (None, b'}' | b']') => {
                brackets.pop();
            }
            _ => {}
        }
    }
    quote.or_else(|| brackets.pop())
}
