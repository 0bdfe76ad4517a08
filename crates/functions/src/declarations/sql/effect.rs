//! Classification of statements by their effect on the session: by their first word and the words in them.
//!
//! In doubt a statement is taken to leave state behind: that costs a connection, not a wrong answer.

use svc_model::config::connector::DatabaseKind;

/// The effect of a statement on the session it runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementEffect {
    /// Reads or writes rows; the session is unchanged.
    Rows,
    /// May leave state in the session: a setting, a lock, a temporary table, a variable.
    Session,
    /// Opens or ends a transaction.
    Transaction,
    /// Transfers rows outside of a result.
    Stream,
    /// No statement at all.
    Nothing,
}

/// The first words of statements about rows.
const ROWS: [&str; 14] = [
    "SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE", "TRUNCATE", "WITH", "VALUES", "TABLE",
    "SHOW", "EXPLAIN", "DESCRIBE", "DESC",
];
/// The first words of statements about transactions. `START` is one of many.
const TRANSACTION: [&str; 8] = ["BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "END", "ABORT", "XA"];
/// Parts of the names of functions and tables through which a statement about rows changes its session.
const TRACES: [&str; 10] = [
    "SET_CONFIG",
    "PG_SETTINGS",
    "PG_TEMP",
    "SETSEED",
    "SET_LIMIT",
    "ADVISORY_LOCK",
    "GET_LOCK",
    "DBLINK",
    "REPLICATION_",
    "LAST_INSERT_ID",
];

/// Reads a statement as its database does.
#[must_use]
pub fn effect(sql: &str, database: DatabaseKind) -> StatementEffect {
    let Beginning { rest, conditional } = beginning(sql, database);
    let sql = sql.to_ascii_uppercase();
    let has = |wanted: &str| words(&sql).any(|word| word == wanted);
    let first = rest.split(|c| !in_word(c)).next().unwrap_or_default().to_ascii_uppercase();
    match first.as_str() {
        _ if rest.is_empty() => StatementEffect::Nothing,
        first if TRANSACTION.contains(&first) => StatementEffect::Transaction,
        "START" if has("TRANSACTION") => StatementEffect::Transaction,
        "COPY" if streams(&sql) => StatementEffect::Stream,
        "LOAD" if has("LOCAL") => StatementEffect::Stream,
        first if conditional || !ROWS.contains(&first) || leaves_traces(&sql, database) => {
            StatementEffect::Session
        }
        _ => StatementEffect::Rows,
    }
}

/// Returns the first word of a statement; empty if there is none, or if an empty statement comes before it.
#[must_use]
pub fn first_word(sql: &str, database: DatabaseKind) -> &str {
    let rest = beginning(sql, database).rest;
    let (word, _) = rest.split_at(rest.find(|c| !in_word(c)).unwrap_or(rest.len()));
    let skipped = &sql[..sql.len() - rest.len()];
    if skipped.contains(';') { "" } else { word }
}

/// Returns true if a text holds no statement, for any database.
pub(super) fn is_blank(sql: &str) -> bool {
    // MySQL knows the most kinds of comments; for PostgreSQL they end at either end of a line.
    effect(&sql.replace('\r', "\n"), DatabaseKind::MySql) == StatementEffect::Nothing
}

fn leaves_traces(sql: &str, database: DatabaseKind) -> bool {
    let has_special_syntax = match database {
        // A name may be written in the codes of its characters; a table may be made of what is selected.
        DatabaseKind::Postgres => sql.contains("U&") || makes_temporary(sql),
        // A variable.
        DatabaseKind::MySql => unquoted_parts(sql).any(|part| part.contains('@')),
        DatabaseKind::Sqlite | DatabaseKind::Mongo => false,
    };
    has_special_syntax || words(sql).any(|word| TRACES.iter().any(|trace| word.contains(trace)))
}

/// Returns true if a statement may make a temporary table: `INTO TEMP`, `CREATE LOCAL TEMPORARY`.
fn makes_temporary(sql: &str) -> bool {
    let makes = words(sql).any(|word| matches!(word, "INTO" | "CREATE"));
    makes && words(sql).any(|word| matches!(word, "TEMP" | "TEMPORARY"))
}

/// Returns true if the rows of a `COPY` come from the client or go to it, rather than from or to a file.
fn streams(sql: &str) -> bool {
    unquoted_parts(sql).flat_map(words).any(|word| matches!(word, "STDIN" | "STDOUT"))
}

/// Returns the parts outside of string literals, each of which ends at the next quote.
fn unquoted_parts(sql: &str) -> impl Iterator<Item = &str> {
    sql.split('\'').step_by(2)
}

pub(super) fn words(sql: &str) -> impl Iterator<Item = &str> {
    sql.split(|c| !in_word(c)).filter(|word| !word.is_empty())
}

pub(super) fn in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The beginning of a statement.
pub(super) struct Beginning<'s> {
    pub(super) rest: &'s str,
    /// `true` behind a comment that some servers execute and others skip.
    conditional: bool,
}

/// Skips everything before the first word: white space, comments, empty statements, parentheses.
pub(super) fn beginning(sql: &str, database: DatabaseKind) -> Beginning<'_> {
    let (postgres, mysql) = (database == DatabaseKind::Postgres, database == DatabaseKind::MySql);
    let line_ends: &[char] = if postgres { &['\n', '\r'] } else { &['\n'] };
    let (mut rest, mut conditional) = (sql, false);
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c', ';', '(']);
        let executed = rest.strip_prefix("/*!").or_else(|| rest.strip_prefix("/*M!")).filter(|_| mysql);
        if rest.starts_with("--") || mysql && rest.starts_with('#') {
            rest = rest.split_once(line_ends).map_or("", |(_, after)| after);
        } else if let Some(inside) = executed {
            conditional = true;
            rest = inside.trim_start_matches(|c: char| c.is_ascii_digit());
        } else if let Some(after) = rest.strip_prefix("*/").filter(|_| conditional) {
            rest = after;
        } else if rest.starts_with("/*") {
            rest = behind_comment(rest, postgres);
        } else {
            return Beginning { rest, conditional };
        }
    }
}

/// Returns the text behind the comment that it begins with.
pub(super) fn behind_comment(text: &str, nests: bool) -> &str {
    let (mut rest, mut depth) = (text, 0_u32);
    loop {
        if let Some(inside) = rest.strip_prefix("/*").filter(|_| nests || depth == 0) {
            (rest, depth) = (inside, depth.saturating_add(1));
        } else if let Some(after) = rest.strip_prefix("*/") {
            (rest, depth) = (after, depth.saturating_sub(1));
            if depth == 0 {
                return rest;
            }
        } else {
            let mut chars = rest.chars();
            if chars.next().is_none() {
                return "";
            }
            rest = chars.as_str();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [DatabaseKind; 3] = [DatabaseKind::Postgres, DatabaseKind::MySql, DatabaseKind::Sqlite];

    fn check(databases: &[DatabaseKind], due: StatementEffect, statements: &[&str]) {
        for (database, sql) in databases.iter().flat_map(|one| statements.iter().map(move |sql| (one, sql))) {
            assert_eq!(effect(sql, *database), due, "{database:?}: {sql}");
        }
    }

    #[test]
    fn first_word_is_found_behind_comments() {
        for (sql, word) in [
            (" select 1", "select"),
            ("-- a\n/* b */ (SELECT 1) UNION (SELECT 2)", "SELECT"),
            (";SELECT 1", ""),
            ("-- nothing", ""),
            ("", ""),
        ] {
            assert_eq!(first_word(sql, DatabaseKind::Postgres), word, "{sql}");
        }
    }

    #[test]
    fn transactions_are_told_behind_whatever_precedes_them() {
        check(
            &ALL,
            StatementEffect::Transaction,
            &[
                "BEGIN",
                " begin;",
                ";\t; begin",
                "-- a comment\nCOMMIT",
                "/* a */ /* b */rollback to x",
                "/*/ */ end",
                "/***/abort",
                "start transaction read only",
                "START /* x */ TRANSACTION",
                "SAVEPOINT a",
                "xa start 'x1'",
            ],
        );
        check(
            &[DatabaseKind::Postgres],
            StatementEffect::Transaction,
            &["/* /* */ */ begin", "-- x\rbegin", "/*/**/*/begin"],
        );
        check(
            &[DatabaseKind::MySql],
            StatementEffect::Transaction,
            &[
                "# x\nstart transaction",
                "/*! start transaction */",
                "/*!50000begin*/",
                "/*M!100100 */ begin",
                "/*!99999*/ commit",
                "#\r\n/* # */-- x\nbegin",
            ],
        );
    }

    #[test]
    fn row_statements_leave_the_session_unchanged() {
        check(
            &ALL,
            StatementEffect::Rows,
            &[
                "SELECT 'BEGIN'",
                "(select 1) union (select 2)",
                "INSERT INTO commit VALUES (1)",
                "with x as (select 1) update t set a = 1",
                "SELECT * FROM jobs FOR UPDATE SKIP LOCKED",
                "update t set temperature = 1",
                "select temp from weather",
                "explain select 1",
                "select 1 where mail = 'a@b.example'",
            ],
        );
        check(
            &[DatabaseKind::Postgres],
            StatementEffect::Rows,
            &["select a @> b from t", "/* # */ select 1"],
        );
        check(
            &[DatabaseKind::MySql],
            StatementEffect::Rows,
            &["# x\nselect 1", "select a /*!80017 collate utf8mb4_bin */ from t"],
        );
    }

    #[test]
    fn whatever_else_may_leave_something_in_the_session() {
        check(
            &ALL,
            StatementEffect::Session,
            &[
                "set autocommit = 0",
                "create temporary table t (a int)",
                "create table t (a int)",
                "call p()",
                "pragma foreign_keys = off",
                "attach 'x' as y",
                "beginning",
                "START REPLICA",
                "é",
                "\"select\" 1",
                "\u{a0}begin",
            ],
        );
        check(
            &[DatabaseKind::Postgres],
            StatementEffect::Session,
            &[
                "select set_config('search_path', 'x', false)",
                "select \"set_config\"('search_path', 'x', false)",
                "select U&\"set\\005fconfig\"('search_path', 'x', false)",
                "update pg_settings set setting = 'x'",
                "select pg_try_advisory_lock(1)",
                "select 1 as a into temp t",
                "select 1 as a into pg_temp.t",
                "listen x",
                "copy t from '/tmp/stdin'",
                "/*! begin */ set a = 1",
            ],
        );
        check(
            &[DatabaseKind::MySql],
            StatementEffect::Session,
            &[
                "use other",
                "lock tables t write",
                "select get_lock('a', 1)",
                "select @a := 1",
                "select 1 into @a",
                "/*!99999 select */ begin",
                "load data infile 'x' into table t",
            ],
        );
    }

    #[test]
    fn streaming_statements_are_recognised() {
        check(
            &[DatabaseKind::Postgres],
            StatementEffect::Stream,
            &["copy t to stdout", "COPY t FROM STDIN", "copy (select 'a') to stdout csv"],
        );
        check(&[DatabaseKind::MySql], StatementEffect::Stream, &["load data local infile 'x' into table t"]);
    }

    #[test]
    fn a_text_without_a_statement_is_none() {
        check(&ALL, StatementEffect::Nothing, &["", " \n\t", "--", "-- x", "/* open", "/* a */ ;;"]);
        for blank in ["", " ", "# x", "-- x\n;", "/*! */"] {
            assert!(is_blank(blank), "{blank}");
        }
        for statement in ["select 1", "/*! select 1 */", "-- x\nselect 1", "-- x\rselect 1"] {
            assert!(!is_blank(statement), "{statement}");
        }
    }
}
