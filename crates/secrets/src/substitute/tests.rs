//! Tests of the placeholder syntax and of the detection of comments.

use super::*;

fn lookup(name: &str) -> Option<String> {
    match name {
        "A" => Some("one".into()),
        "EMPTY" => Some(String::new()),
        "SELF" => Some("${A} $$".into()),
        _ => None,
    }
}

fn plain(text: &str) -> Result<String, Vec<SubstituteError>> {
    substitute(text, Syntax::Plain, lookup).map(|done| done.text)
}

fn toml(text: &str) -> String {
    substitute(text, Syntax::Toml, lookup).unwrap().text
}

fn problem(text: &str) -> (usize, usize, PlaceholderError) {
    let mut failed = plain(text).unwrap_err();
    assert_eq!(failed.len(), 1, "{failed:?}");
    let error = failed.remove(0);
    (error.line, error.column, error.problem)
}

#[test]
fn placeholders_defaults_and_escapes() {
    for (rule, text, expected) in [
        ("set", "x${A}y", "xoney"),
        ("twice", "${A}${A}", "oneone"),
        ("default of an unset variable", "${NO:-d e}", "d e"),
        ("the default may be empty", "[${NO:-}]", "[]"),
        ("an empty variable is set", "[${EMPTY:-d}]", "[]"),
        ("the default of a set variable is not used", "${A:-d}", "one"),
        ("a default ends at the first brace", "${NO:-a:-b}}", "a:-b}"),
        ("values are not looked at again", "${SELF}", "${A} $$"),
        ("an escaped dollar", "$${A} $$", "${A} $"),
        ("a dollar before anything else", "$A $ $1", "$A $ $1"),
        ("a dollar at the end", "cost $", "cost $"),
        ("text beyond ASCII", "ä${A}ö", "äoneö"),
    ] {
        assert_eq!(plain(text).as_deref(), Ok(expected), "{rule}");
    }
}

#[test]
fn irreplaceable_placeholder_is_reported_with_its_position() {
    assert_eq!(problem("a\nä ${NO}"), (2, 3, PlaceholderError::Unset { var: "NO".into() }));
    assert_eq!(problem("${}"), (1, 1, PlaceholderError::Name));
    assert_eq!(problem("${A-B}"), (1, 1, PlaceholderError::Name));
    assert_eq!(problem("${A"), (1, 1, PlaceholderError::Unclosed));
    assert_eq!(problem("${A:-x\n}"), (1, 1, PlaceholderError::Unclosed));
    assert_eq!(problem("${NO:-${A}}"), (1, 1, PlaceholderError::Nested { var: "NO".into() }));
}

#[test]
fn all_problems_are_told_at_once() {
    let failed = plain("${X} ${A} ${Y}\n${").unwrap_err();
    let at: Vec<_> = failed.iter().map(|error| (error.line, error.column)).collect();
    assert_eq!(at, [(1, 1), (1, 11), (2, 1)]);
}

#[test]
fn every_mentioned_name_is_kept() {
    let done = substitute("${A} ${NO:-x}", Syntax::Plain, lookup).unwrap();
    assert_eq!(done.names.into_iter().collect::<Vec<_>>(), ["A", "NO"]);
}

#[test]
fn comments_of_toml_are_left_alone() {
    for (rule, text, expected) in [
        ("whole line", "# ${NO}\nx = \"${A}\"", "# ${NO}\nx = \"one\""),
        ("behind a value", "x = 1 # $$ ${NO", "x = 1 # $$ ${NO"),
        ("a hash in a basic string", "x = \"#${A}\" # ${NO}", "x = \"#one\" # ${NO}"),
        ("an escaped quote", r##"x = "\"#${A}" # ${NO}"##, r##"x = "\"#one" # ${NO}"##),
        ("a hash in a literal string", r"x = '\#${A}' # ${NO}", r"x = '\#one' # ${NO}"),
        ("a multi-line string", "x = \"\"\"\n# ${A}\"\"\"\" # ${NO}", "x = \"\"\"\n# one\"\"\"\" # ${NO}"),
        ("a multi-line literal", "x = '''\n# ${A} '' '''\n# ${NO}", "x = '''\n# one '' '''\n# ${NO}"),
        ("an empty string", "x = \"\" # ${NO}\ny = '' # ${NO}", "x = \"\" # ${NO}\ny = '' # ${NO}"),
        ("an unclosed string ends with its line", "x = \"a\n# ${NO}", "x = \"a\n# ${NO}"),
    ] {
        assert_eq!(toml(text), expected, "{rule}");
    }
}
