//! Text for terminals and CI logs: texts of definitions, files and servers must not steer them.
//!
//! A terminal obeys control characters; a runner of CI obeys lines that begin with `::` (GitHub) and marks such as
//! `##[`, `##vso[` and `##teamcity[` (Azure, TeamCity, GitHub before).

use std::io::{self, Write};

/// Marks of commands that a runner of CI obeys anywhere in a line.
const MARKS: [&str; 3] = ["##[", "##vso[", "##teamcity["];

/// Returns text in one line that neither a terminal nor a runner of CI obeys: control characters, line breaks among them,
/// and marks that begin a command are escaped.
pub fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    escape_line(text, false, &mut safe);
    safe
}

/// As [`printable`], of a part of a line that something precedes: `::` at its beginning, as in an address, is no command.
pub fn printable_part(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    escape_marks(text, false, &mut safe);
    safe
}

/// As [`printable`], line by line: line breaks stay.
pub fn printable_lines(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            safe.push('\n');
        }
        escape_line(line, false, &mut safe);
    }
    safe
}

/// Returns the text of a JSON document that no terminal obeys. The characters that JSON may hold as they are, control
/// characters from DEL on among them, are escaped in its way, so that its values stay the same.
pub fn printable_json(text: String) -> String {
    let is_obeyed = |character: char| {
        (character.is_control() && !character.is_ascii()) || character == '\u{7f}' || moves_text(character)
    };
    if !text.contains(is_obeyed) {
        return text;
    }
    text.chars().fold(String::with_capacity(text.len()), |mut safe, character| {
        if is_obeyed(character) {
            safe.extend(format!("\\u{:04x}", u32::from(character)).chars());
        } else {
            safe.push(character);
        }
        safe
    })
}

/// Appends a line, escaped. Colours and weights of text pass if `may_color` is set.
fn escape_line(line: &str, may_color: bool, safe: &mut String) {
    let mut rest = line;
    if line.trim_start().starts_with("::") {
        let (blank, command) = line.split_at(line.len() - line.trim_start().len());
        escape_characters(blank, may_color, safe);
        safe.push_str("\\u{3a}");
        rest = &command[1..];
    }
    escape_marks(rest, may_color, safe);
}

/// Appends a part of a line: what steers a terminal is escaped, and so are marks.
fn escape_marks(part: &str, may_color: bool, safe: &mut String) {
    let mut rest = part;
    while let Some(at) = MARKS.iter().filter_map(|mark| rest.find(mark)).min() {
        escape_characters(&rest[..at], may_color, safe);
        safe.push_str("\\u{23}");
        rest = &rest[at + 1..];
    }
    escape_characters(rest, may_color, safe);
}

fn escape_characters(text: &str, may_color: bool, safe: &mut String) {
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if may_color && let Some(length) = color_length(rest) {
            safe.push_str(&rest[..length]);
            rest = &rest[length..];
            continue;
        }
        if character.is_control() || moves_text(character) {
            safe.extend(character.escape_unicode());
        } else {
            safe.push(character);
        }
        rest = &rest[character.len_utf8()..];
    }
}

/// Returns the length of a sequence that sets the colour or weight of text, if the text begins with one.
fn color_length(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    parameters[end..].starts_with('m').then_some(2 + end + 1)
}

/// Returns `true` for the characters that reorder the text around them, or break its line.
fn moves_text(character: char) -> bool {
    matches!(
        character,
        '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

/// A stream whose lines are made printable before they are written. A line is written when it is complete, or at a flush.
pub struct PrintableWriter<'w> {
    inner: &'w mut dyn Write,
    may_color: bool,
    pending: Vec<u8>,
}

impl<'w> PrintableWriter<'w> {
    /// Creates a stream over another one. Colours pass if `may_color` is set.
    pub fn new(inner: &'w mut dyn Write, may_color: bool) -> Self {
        Self { inner, may_color, pending: Vec::new() }
    }

    fn write_line(&mut self, line: &[u8], end: &str) -> io::Result<()> {
        let mut safe = String::with_capacity(line.len() + end.len());
        escape_line(&String::from_utf8_lossy(line), self.may_color, &mut safe);
        safe.push_str(end);
        self.inner.write_all(safe.as_bytes())
    }
}

impl Write for PrintableWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        while let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.pending.drain(..=end).collect();
            self.write_line(&line[..end], "\n")?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.pending.is_empty() {
            let line = std::mem::take(&mut self.pending);
            self.write_line(&line, "")?;
        }
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_is_obeyed() {
        for (text, expected) in [
            ("plain ünïcode 名前", "plain ünïcode 名前"),
            ("\u{1b}]0;owned\u{7}", "\\u{1b}]0;owned\\u{7}"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("a\r\nb", "a\\u{d}\\u{a}b"),
            ("\u{202e}gnp.exe", "\\u{202e}gnp.exe"),
            ("a\u{2028}b", "a\\u{2028}b"),
            ("::error file=a::b", "\\u{3a}:error file=a::b"),
            (" \t::add-mask::x", " \\u{9}\\u{3a}:add-mask::x"),
            ("a::b", "a::b"),
            ("x ##[error]y ##vso[task]z", "x \\u{23}#[error]y \\u{23}#vso[task]z"),
            ("# a ## b", "# a ## b"),
        ] {
            assert_eq!(printable(text), expected);
        }
        assert_eq!(printable_lines("a\n::error::b\n"), "a\n\\u{3a}:error::b\n");
        assert_eq!(printable_part("::1\n##[error]"), "::1\\u{a}\\u{23}#[error]");
    }

    #[test]
    fn values_of_printable_json_stay_the_same() {
        let text = "{\n  \"a\": \"ü\u{9b}31m\u{85}\u{7f}\u{2028}\u{202e}\"\n}";
        let safe = printable_json(text.to_owned());
        assert_eq!(safe, "{\n  \"a\": \"ü\\u009b31m\\u0085\\u007f\\u2028\\u202e\"\n}");
        assert_eq!(printable_json("[\"名前\"]".to_owned()), "[\"名前\"]");
    }

    #[test]
    fn stream_escapes_whole_lines_however_they_are_written() {
        let run = |parts: &[&[u8]], may_color| {
            let mut out = Vec::new();
            let mut writer = PrintableWriter::new(&mut out, may_color);
            parts.iter().for_each(|part| writer.write_all(part).unwrap());
            writer.flush().unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(run(&[b":", b":error", b"::x\nb"], false), "\\u{3a}:error::x\nb");
        assert_eq!(run(&["名".as_bytes().split_at(1).0, "名".as_bytes().split_at(1).1], false), "名");
        assert_eq!(run(&[b"\x1b[1;31mred\x1b[0m \x1b[2J\n"], true), "\u{1b}[1;31mred\u{1b}[0m \\u{1b}[2J\n");
        assert_eq!(run(&[b"\x1b[31mred\n"], false), "\\u{1b}[31mred\n");
        assert_eq!(run(&[b"\xff\n"], false), "\u{fffd}\n");
    }
}
