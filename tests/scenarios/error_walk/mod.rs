//! Every code of the three tables of errors, provoked over HTTP: its envelope, the place and the next step in its text,
//! and no word of the implementation. A code that no request provokes is listed with the test that has it.

mod answers;
mod fields;
mod tasks;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use svc_model::CodeEntry;

struct ProvokedError {
    /// The code of the table.
    code: &'static str,
    /// The text for the caller.
    message: String,
    /// The part of the text that names the place: a field, a task, a definition, or the part of the request.
    place: &'static str,
    /// The next step of the caller.
    next: NextStep,
}

/// The next step that an error names.
enum NextStep {
    /// The text says what to change, or what is accepted, in these words.
    Told(&'static str),
    /// A header of the answer says it.
    Header(&'static str),
    /// The text gives strangers all that they may know; the table of codes has the remedy.
    Table,
}

/// A code that no request provokes: the reason, and the file and the name of the test that has it.
type UnprovokedCode = (&'static str, &'static str, &'static str, &'static str);

/// Checks the texts of errors, and that each code of a table was provoked or is listed.
fn check_walk(
    provoked: &[ProvokedError],
    unprovoked: &[UnprovokedCode],
    table: impl Iterator<Item = CodeEntry>,
) {
    let mut problems: Vec<String> = provoked.iter().filter_map(text_problem).collect();
    for (code, reason, file, test) in unprovoked {
        assert!(!reason.is_empty());
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
        if !text.contains(&format!("fn {test}(")) {
            problems.push(format!("{code}: {file} has no test {test}"));
        }
    }
    let mut codes: BTreeSet<_> = provoked.iter().map(|error| error.code).collect();
    for (code, ..) in unprovoked {
        if !codes.insert(code) {
            problems.push(format!("{code}: is provoked, so its row in the list is wrong"));
        }
    }
    let expected: BTreeSet<_> = table.map(|entry| entry.name).collect();
    for code in expected.symmetric_difference(&codes) {
        problems.push(format!("{code}: in the table or in the walk alone"));
    }
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

/// Returns the problem of the text of an error.
fn text_problem(error: &ProvokedError) -> Option<String> {
    let ProvokedError { code, message, place, next } = error;
    let about = |problem: &str| Some(format!("{code}: {problem}: {message}"));
    if message.trim().is_empty() {
        return about("no text");
    }
    if place.is_empty() || !message.contains(place) {
        return about(&format!("no place '{place}'"));
    }
    match next {
        NextStep::Told(step) if step.is_empty() || !message.contains(step) => {
            return about(&format!("no step '{step}'"));
        }
        NextStep::Told(_) | NextStep::Header(_) | NextStep::Table => {}
    }
    let word = INTERNAL.iter().find(|word| message.contains(**word));
    word.and_then(|word| about(&format!("the word '{word}'")))
}

/// Words of the implementation.
const INTERNAL: [&str; 24] = [
    "panicked", "unwrap", "Option<", "Some(", "None)", "Result<", "Ok(", "Err(", "Error(", "&str", "serde",
    "tokio", "actix", "diesel", "rusqlite", "reqwest", "os error", "actor", "Mutex", "poisoned", "NaN", "::",
    ".rs:", "src/",
];

/// Returns the text of a member.
fn text_of<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap_or_else(|| panic!("no {member}: {value}"))
}
