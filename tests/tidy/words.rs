//! Plain words: bounds of the names of tests and of some words of doc comments. A bound is only ever lowered.

use crate::files_with;
use crate::language::function_name;

/// Words that open a question. The name of a test states a condition and its result.
const QUESTION_WORDS: [&str; 10] =
    ["how", "what", "when", "where", "whether", "which", "who", "whom", "whose", "why"];

/// Number of words above which the name of a test is long. A new one has eight at most (CODE_STYLE.md, section 6).
const LONG_NAME: usize = 9;

/// Maximum of long names in a hundred names of tests. Only to be lowered.
const LONG_NAMES: usize = 3;

/// Beginnings of the attributes that make a function a test.
const TEST_ATTRIBUTES: [&str; 2] = ["#[test]", "#[tokio::test"];

/// The macro that makes each case of its list a test of each backend.
const CASES: &str = "on_both!";

/// A word of which doc comments have few, because plain English has a clearer one.
struct RareWord {
    forms: &'static [&'static str],
    /// The clearer words.
    clearer: &'static str,
    /// Maximum of lines that have it, in ten thousand doc lines. Only to be lowered.
    bound: usize,
}

const RARE_WORDS: [RareWord; 5] = [
    RareWord { forms: &["beside"], clearer: "next to, in addition to, other than", bound: 1 },
    RareWord { forms: &["tell", "tells", "told"], clearer: "return, report, notify", bound: 2 },
    RareWord { forms: &["stand", "stands"], clearer: "is, occurs, means", bound: 4 },
    RareWord { forms: &["nobody", "everybody"], clearer: "no caller, all readers", bound: 1 },
    RareWord { forms: &["where"], clearer: "if, when, in which", bound: 9 },
];

/// Returns true for a character of a name.
fn is_name_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns the names of the tests of a file: functions with a test attribute, and cases that a macro makes tests of.
fn test_names(text: &str) -> Vec<&str> {
    let (mut names, mut is_test) = (Vec::new(), false);
    for line in text.lines().map(str::trim_start) {
        is_test |= TEST_ATTRIBUTES.iter().any(|attribute| line.starts_with(attribute));
        if is_test && let Some(name) = function_name(line) {
            names.push(name);
            is_test = false;
        }
    }
    let lists = text.split(CASES).skip(1).filter_map(|rest| rest.split(['}', ')']).next());
    let cases = lists.flat_map(|list| list.split(',')).filter_map(|case| case.rsplit("::").next());
    names.extend(cases.map(|case| case.trim_matches(|c: char| !is_name_character(c))));
    names.retain(|name| !name.is_empty() && name.chars().all(is_name_character));
    names
}

/// Returns the words of a line in lower case, code left out; `None` for a line that is no doc comment.
fn doc_words(line: &str) -> Option<Vec<String>> {
    let line = line.trim_start();
    let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
    let prose = comment.split('`').step_by(2);
    let words = prose.flat_map(|part| part.split(|c: char| !c.is_alphanumeric() && c != '-'));
    Some(words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect())
}

#[test]
fn test_names_open_with_no_question() {
    for (path, text) in files_with(&[".rs"]) {
        for name in test_names(&text) {
            let first = name.split('_').next().unwrap_or_default();
            assert!(!QUESTION_WORDS.contains(&first), "{path}: {name}: state condition and result");
        }
    }
}

#[test]
fn share_of_long_test_names_is_bounded() {
    let files = files_with(&[".rs"]);
    let names: Vec<_> = files.iter().flat_map(|(_, text)| test_names(text)).collect();
    let long = names.iter().filter(|name| name.split('_').count() > LONG_NAME).count();
    assert!(names.len() > 3_000, "{} tests: the check would pass on nothing", names.len());
    assert!(
        long * 100 <= names.len() * LONG_NAMES,
        "{long} of {} names have more than {LONG_NAME} words: give a new test at most eight",
        names.len()
    );
}

#[test]
fn doc_comments_use_plain_words() {
    let mut lines = Vec::new();
    for (path, text) in files_with(&[".rs"]) {
        for (number, line) in text.lines().enumerate() {
            lines.extend(doc_words(line).map(|words| (format!("{path}:{}", number + 1), words)));
        }
    }
    for RareWord { forms, clearer, bound } in RARE_WORDS {
        let is_rare = |word: &String| forms.contains(&word.as_str());
        let rare = lines.iter().filter(|(_, words)| words.iter().any(is_rare));
        let places: Vec<_> = rare.map(|(place, _)| place).collect();
        assert!(
            places.len() * 10_000 <= lines.len() * bound,
            "{forms:?}: {} in {} doc lines; clearer are: {clearer}: {places:#?}",
            places.len(),
            lines.len()
        );
    }
}

#[test]
fn test_functions_and_listed_cases_are_found() {
    let text = "#[test]\nfn first() {}\n\nfn helper() {}\n\n    #[tokio::test(start_paused = true)]\n    \
        async fn second() {}\non_both! {\n    schema::third,\n    races::fourth,\n}\non_both!(fifth, sixth);\n";
    assert_eq!(test_names(text), ["first", "second", "third", "fourth", "fifth", "sixth"]);
    assert_eq!(doc_words("let a = 1; /// no"), None);
    assert_eq!(doc_words("    /// Told `where` x.").unwrap_or_default().join(" "), "told x");
}
