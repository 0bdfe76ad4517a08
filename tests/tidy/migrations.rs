//! Migrations of one release leave the schema usable for the release before: they add, and change nothing that is there.

use crate::files_with;

/// Words of statements that a program of the release before cannot live with.
const BREAKING: [&str; 6] =
    ["drop table", "drop column", "drop view", " rename ", "alter column", "set not null"];

/// Returns the statement of a script that breaks the programs of the release before.
fn breaking_statement(script: &str) -> Option<String> {
    let lines = script.lines().map(|line| line.split("--").next().unwrap_or_default());
    let script = lines.collect::<Vec<_>>().join(" ").to_lowercase();
    let is_breaking = |statement: &&str| {
        let adds_required = statement.contains("add column")
            && statement.contains("not null")
            && !statement.contains("default");
        adds_required || BREAKING.iter().any(|words| statement.contains(words))
    };
    script.split(';').find(is_breaking).map(|statement| statement.trim().to_owned())
}

#[test]
fn migrations_only_add_to_the_schema() {
    let scripts = files_with(&["up.sql"]);
    let broken: Vec<_> = scripts
        .iter()
        .filter_map(|(path, text)| Some(format!("{path}: {}", breaking_statement(text)?)))
        .collect();
    assert!(broken.is_empty(), "the release before cannot run on this schema (CONTRIBUTING.md): {broken:#?}");
}

#[test]
fn statement_that_changes_what_is_there_is_found() {
    for breaking in [
        "ALTER TABLE t DROP COLUMN a;",
        "CREATE TABLE s (a TEXT);\nDROP TABLE t;",
        "ALTER TABLE t RENAME a TO b;",
        "ALTER TABLE t ADD COLUMN a TEXT NOT NULL;",
        "ALTER TABLE t\n  ALTER COLUMN a TYPE BIGINT;",
    ] {
        assert!(breaking_statement(breaking).is_some(), "{breaking}");
    }
    for adding in [
        "-- What a drop table would do.\nCREATE TABLE t (a TEXT NOT NULL);",
        "ALTER TABLE t ADD COLUMN a TEXT;",
        "ALTER TABLE t ADD COLUMN a BIGINT NOT NULL DEFAULT 0;",
    ] {
        assert_eq!(breaking_statement(adding), None, "{adding}");
    }
}
