//! Statements in files: `{"$sql": "sql/settle.sql"}` in an authored file is the text of a file of SQL.
//!
//! The path is relative to the file that names it. Outside of quotes comments are dropped and blanks collapse, so that
//! neither changes what is stored; quoted parts and hints stay byte for byte. What PostgreSQL and MySQL read in different
//! ways is refused.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use crate::source::{MAX_FILE_BYTES, SourceError, SourceFile, read_text};

/// The member of a reference to a statement.
const REFERENCE: &str = "$sql";

/// Bytes of a file of SQL.
const MAX_STATEMENT_BYTES: usize = 1 << 20;

/// The remedy of a statement that cannot be read in one way.
const REWRITE: &str = "write the statement so that PostgreSQL and MySQL read it alike";

/// Reads an authored file, and the statements that it names. Those must be in the current directory if the file is, else
/// in its own directory.
///
/// # Errors
/// As [`SourceFile::read`], and the first problem of a statement.
pub fn read_with_statements(name: &str, path: &Path) -> Result<SourceFile, SourceError> {
    with_statements(SourceFile::read(name, path)?, path)
}

/// Reads the file of a package, as [`read_with_statements`] reads an authored file.
///
/// # Errors
/// As [`SourceFile::read_package`], and the first problem of a statement.
pub fn read_package_file(name: &str, path: &Path) -> Result<SourceFile, SourceError> {
    with_statements(SourceFile::read_package(name, path)?, path)
}

fn with_statements(mut source: SourceFile, path: &Path) -> Result<SourceFile, SourceError> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let current = Path::new(".").canonicalize().ok();
    let is_below = |current: &PathBuf| parent.canonicalize().is_ok_and(|parent| parent.starts_with(current));
    let root = current.filter(is_below).unwrap_or_else(|| parent.to_owned());
    match include_statements(&mut source, path, &root).into_iter().next() {
        Some(problem) => Err(problem),
        None => Ok(source),
    }
}

/// Replaces the references to statements in a file at `path` by the statements, which must be in the directory `root`.
/// Returns the problems; the reference of each stays.
pub(crate) fn include_statements(source: &mut SourceFile, path: &Path, root: &Path) -> Vec<SourceError> {
    if !source.text.contains(REFERENCE) {
        return Vec::new();
    }
    let mut references = Vec::new();
    find_references(&source.value, "", &mut references);
    let directory = path.parent().unwrap_or(Path::new(""));
    let (mut statements, mut problems, mut bytes) = (Vec::new(), Vec::new(), 0);
    for (place, reference) in &references {
        let read = read_reference(reference, directory, root).and_then(|statement| {
            bytes += statement.len();
            if bytes > MAX_FILE_BYTES {
                let message =
                    format!("the statements of the file take more than {} MiB", MAX_FILE_BYTES >> 20);
                return Err(SourceError::without_place(message, "name fewer or smaller files"));
            }
            Ok(statement)
        });
        statements.push(read.as_ref().ok().cloned());
        problems.extend(read.err().map(|problem| SourceError {
            message: format!("{place}: {}", problem.message),
            place: source.place(place),
            ..problem
        }));
    }
    replace_references(&mut source.value, &mut statements.into_iter());
    source.has_refused_statements = !problems.is_empty();
    problems
}

/// Returns the paths of the references in a document.
pub(crate) fn reference_paths(document: &Value) -> impl Iterator<Item = String> {
    let mut references = Vec::new();
    find_references(document, "", &mut references);
    references.into_iter().map(|(path, _)| path)
}

/// Returns `true` for an object that names a statement.
fn is_reference(value: &Value) -> bool {
    value.as_object().is_some_and(|members| members.contains_key(REFERENCE))
}

/// Collects the references with their paths, in the order of the document.
fn find_references(value: &Value, at: &str, references: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(_) if is_reference(value) => references.push((at.to_owned(), value.clone())),
        Value::Object(members) => {
            for (key, member) in members {
                let at = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
                find_references(member, &at, references);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                find_references(item, &format!("{at}[{index}]"), references);
            }
        }
        _ => {}
    }
}

/// Replaces the references, in the same order, by those of the statements that could be read.
fn replace_references(value: &mut Value, statements: &mut impl Iterator<Item = Option<String>>) {
    if is_reference(value) {
        if let Some(Some(statement)) = statements.next() {
            *value = Value::String(statement);
        }
        return;
    }
    match value {
        Value::Object(members) => {
            members.values_mut().for_each(|member| replace_references(member, statements));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace_references(item, statements)),
        _ => {}
    }
}

/// Reads the statement that a reference in a file of `directory` names.
fn read_reference(reference: &Value, directory: &Path, root: &Path) -> Result<String, SourceError> {
    let form = "write {\"$sql\": \"sql/name.sql\"}, a path relative to this file, and nothing next to it";
    let refused = |message: String| SourceError::without_place(message, form);
    let target = reference.get(REFERENCE).and_then(Value::as_str);
    let is_alone = reference.as_object().is_some_and(|members| members.len() == 1);
    let Some(target) = target.filter(|_| is_alone) else {
        return Err(refused("a statement is named by \"$sql\" alone, with the path of a file".to_owned()));
    };
    let relative = Path::new(target);
    let is_plain = relative
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::ParentDir | Component::CurDir));
    if !is_plain || target.contains('\\') || relative.extension().is_none_or(|ending| ending != "sql") {
        return Err(refused(format!("'{target}' is no relative path of a file that ends with .sql")));
    }
    let path = directory.join(relative);
    let unreadable = |error: &std::io::Error| {
        let problem = SourceError::unreadable(error);
        SourceError { message: format!("'{target}' {}", problem.message), ..problem }
    };
    let (found, root) = (path.canonicalize().map_err(|error| unreadable(&error))?, root.canonicalize());
    if !root.is_ok_and(|root| found.starts_with(root)) {
        let message = format!("'{target}' leads out of the project directory");
        return Err(SourceError::without_place(message, "move the file into the project directory"));
    }
    // Opening a named pipe would wait for a writer.
    if !found.is_file() {
        return Err(refused(format!("'{target}' is not a regular file")));
    }
    let text = read_text(target, &found)
        .map_err(|problem| SourceError { message: format!("'{target}' {}", problem.message), ..problem })?;
    if text.len() > MAX_STATEMENT_BYTES {
        let message = format!("'{target}' is larger than {} MiB", MAX_STATEMENT_BYTES >> 20);
        return Err(SourceError::without_place(message, "split the statement"));
    }
    compact(&text).map_err(|why| SourceError::without_place(format!("'{target}': {why}"), REWRITE))
}

/// Returns a statement without comments, superfluous blanks and the semicolon at its end.
///
/// # Errors
/// The part that databases read in different ways.
fn compact(text: &str) -> Result<String, &'static str> {
    let mut compacted = String::with_capacity(text.len());
    let (mut rest, mut gap) = (text, Gap::None);
    let mut line_has_hash = false;
    while let Some(first) = rest.chars().next() {
        if first.is_ascii_whitespace() {
            // MySQL reads a comment behind `#` up to the end of the line.
            let ends_line = first == '\n' && line_has_hash;
            gap = if ends_line || gap == Gap::Line { Gap::Line } else { Gap::Blank };
            line_has_hash &= first != '\n';
            rest = &rest[1..];
            continue;
        }
        if let Some(behind) = skip_comment(rest)? {
            gap = gap.max(Gap::Blank);
            rest = behind;
            continue;
        }
        let is_word =
            compacted.ends_with(|last: char| last.is_alphanumeric() || last == '_') && gap == Gap::None;
        let length = token_length(rest, is_word)?;
        line_has_hash |= first == '#';
        match gap {
            Gap::None => {}
            _ if compacted.is_empty() => {}
            Gap::Blank => compacted.push(' '),
            Gap::Line => compacted.push('\n'),
        }
        gap = Gap::None;
        compacted.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    let statement = compacted.strip_suffix(';').unwrap_or(&compacted).trim_end();
    if statement.is_empty() { Err("there is no statement in it") } else { Ok(statement.to_owned()) }
}

/// Blanks between two tokens.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    None,
    Blank,
    /// The end of a line that must stay one.
    Line,
}

/// Returns the text behind a comment that it begins with; `None` if it begins with none, or with a hint.
fn skip_comment(text: &str) -> Result<Option<&str>, &'static str> {
    if let Some(comment) = text.strip_prefix("--") {
        if comment.starts_with(|next: char| !next.is_ascii_whitespace()) {
            return Err("'--' without a blank behind it is a comment for PostgreSQL and two signs for MySQL");
        }
        return Ok(Some(comment.find('\n').map_or("", |end| &comment[end..])));
    }
    let is_hint = |comment: &&str| comment.starts_with(['+', '!']) || comment.starts_with("M!");
    let Some(comment) = text.strip_prefix("/*").filter(|comment| !is_hint(comment)) else {
        return Ok(None);
    };
    let (inside, behind) = comment.split_once("*/").ok_or("a comment does not end")?;
    if inside.contains("/*") {
        return Err("a comment within a comment ends at different places for PostgreSQL and MySQL");
    }
    Ok(Some(behind))
}

/// Returns the bytes of the token that a text begins with: a quoted part, a hint, or one character. `is_word` is true
/// right behind a word.
fn token_length(text: &str, is_word: bool) -> Result<usize, &'static str> {
    match text.chars().next() {
        Some(quote @ ('\'' | '"' | '`')) => {
            let end = text[1..].find(quote).ok_or("a quoted part does not end")? + 1;
            if text[..end].ends_with('\\') {
                return Err(
                    "a backslash before the closing quote ends the text for PostgreSQL and not for MySQL",
                );
            }
            Ok(end + 1)
        }
        Some('/') if text.starts_with("/*") => {
            text.find("*/").map(|end| end + 2).ok_or("a hint does not end")
        }
        Some('$') if !is_word => Ok(dollar_quoted_length(text).unwrap_or(1)),
        Some(other) => Ok(other.len_utf8()),
        None => Ok(0),
    }
}

/// Returns the bytes of a text in dollar quotes of PostgreSQL that a text begins with.
fn dollar_quoted_length(text: &str) -> Option<usize> {
    let tag = &text[..text[1..].find('$')? + 2];
    let name = &tag[1..tag.len() - 1];
    let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !name.starts_with(|first: char| first.is_ascii_digit());
    let end = text[tag.len()..].find(tag).filter(|_| is_name)?;
    Some(end + 2 * tag.len())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    #[test]
    fn comments_and_blanks_do_not_change_a_statement() {
        for (text, expected) in [
            ("SELECT 1;\n", "SELECT 1"),
            (
                "-- settles\nUPDATE t\n   SET a = $1 -- the sum\n WHERE id = $2;\n\n",
                "UPDATE t SET a = $1 WHERE id = $2",
            ),
            ("SELECT /* c */ a/* d */, b", "SELECT a , b"),
            ("SELECT /*+ INDEX(t i) */  a", "SELECT /*+ INDEX(t i) */ a"),
            ("/*!50000 SELECT */ 1", "/*!50000 SELECT */ 1"),
            ("SELECT 'a  -- b', \"c  /* d\", `e  f`", "SELECT 'a  -- b', \"c  /* d\", `e  f`"),
            ("SELECT 'it''s  so'", "SELECT 'it''s  so'"),
            ("DO $body$ -- kept\n  x $body$", "DO $body$ -- kept\n  x $body$"),
            ("SELECT a #  b\n FROM t", "SELECT a # b\nFROM t"),
            ("SELECT 1 - -1;;", "SELECT 1 - -1;"),
            ("--\nSELECT 1 --", "SELECT 1"),
        ] {
            assert_eq!(compact(text).as_deref(), Ok(expected), "{text}");
        }
        for text in [
            "",
            ";",
            "-- x",
            "SELECT 1--2",
            "SELECT 'a\\'",
            "SELECT 'a",
            "/* a",
            "/* /* */ */ SELECT 1",
            "/*+ a",
        ] {
            assert!(compact(text).is_err(), "{text}");
        }
    }

    #[test]
    fn reference_becomes_the_text_of_its_file() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("project");
        fs::create_dir_all(root.join("workflows/sql")).unwrap();
        fs::write(root.join("workflows/sql/one.sql"), "SELECT 1; -- one\n").unwrap();
        fs::write(root.join("two.sql"), "SELECT\n  2").unwrap();
        fs::write(directory.path().join("outside.sql"), "SELECT 3").unwrap();
        fs::write(root.join("large.sql"), format!("SELECT '{}'", "x".repeat(1 << 20))).unwrap();
        let path = root.join("workflows/w.json");
        let include = |value: &Value| {
            fs::write(&path, value.to_string()).unwrap();
            let mut source = SourceFile::read("workflows/w.json", &path).unwrap();
            let problems = include_statements(&mut source, &path, &root);
            (source.value, problems.into_iter().map(|problem| problem.message).collect::<Vec<_>>())
        };
        let (value, problems) =
            include(&json!({"a": [{"$sql": "sql/one.sql"}], "b": {"$sql": "../two.sql"}}));
        assert_eq!((value, problems), (json!({"a": ["SELECT 1"], "b": "SELECT 2"}), vec![]));
        for (reference, why) in [
            (json!({"$sql": "../../outside.sql"}), "leads out of the project directory"),
            (json!({"$sql": "/etc/hosts.sql"}), "no relative path"),
            (json!({"$sql": "sql/one.txt"}), "ends with .sql"),
            (json!({"$sql": "sql/none.sql"}), "cannot be read"),
            (json!({"$sql": "../large.sql"}), "is larger than 1 MiB"),
            (json!({"$sql": 1}), "alone"),
            (json!({"$sql": "sql/one.sql", "more": 1}), "alone"),
        ] {
            let (value, problems) = include(&json!({"query": reference}));
            assert_eq!((&value["query"], problems.len()), (&reference, 1));
            assert!(problems[0].starts_with("query: ") && problems[0].contains(why), "{}", problems[0]);
        }
    }
}
