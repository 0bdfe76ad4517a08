//! Migrations of one release leave the schema usable for the release before: they add, and change nothing that is there.
//! One that takes away names the migration that a program must know from then on.

use crate::files_with;

/// Begin of the line by which a migration that takes away names the migration that a program must know.
const CONTRACT: &str = "-- contract:";

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

/// Returns the statement of a script that breaks a program which may run on the schema. `earlier` are the versions of the
/// migrations before it.
fn unannounced_statement(script: &str, earlier: &[&str]) -> Option<String> {
    let required = script.lines().find_map(|line| line.strip_prefix(CONTRACT)).map(str::trim);
    match required {
        Some(version) if earlier.contains(&version) => None,
        Some(version) => Some(format!("{CONTRACT} {version} is no earlier migration")),
        None => breaking_statement(script),
    }
}

/// Returns the folder of a migration with its version, such as `2026-11-20-000001`.
fn folder_and_version(path: &str) -> (&str, &str) {
    let (folder, name) = path.trim_end_matches("/up.sql").rsplit_once('/').unwrap_or_default();
    (folder, name.split('_').next().unwrap_or_default())
}

#[test]
fn migrations_only_add_to_the_schema() {
    let scripts = files_with(&["up.sql"]);
    let broken: Vec<_> = scripts
        .iter()
        .filter_map(|(path, text)| {
            let (folder, version) = folder_and_version(path);
            let all = scripts.iter().map(|(path, _)| folder_and_version(path));
            let earlier: Vec<_> = all
                .filter(|(other, earlier)| *other == folder && *earlier < version)
                .map(|(_, version)| version)
                .collect();
            Some(format!("{path}: {}", unannounced_statement(text, &earlier)?))
        })
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

#[test]
fn migration_that_takes_away_names_an_earlier_one() {
    let script = "-- contract: 2026-11-20-000002\nALTER TABLE t DROP COLUMN a;";
    assert_eq!(unannounced_statement(script, &["2026-11-20-000001", "2026-11-20-000002"]), None);
    assert!(unannounced_statement(script, &["2026-11-20-000001"]).is_some(), "it is no earlier one");
    assert!(unannounced_statement("ALTER TABLE t DROP COLUMN a;", &["2026-11-20-000001"]).is_some());
    assert_eq!(
        folder_and_version("migrations/sqlite/2026-11-20-000001_a_b/up.sql"),
        ("migrations/sqlite", "2026-11-20-000001")
    );
}
