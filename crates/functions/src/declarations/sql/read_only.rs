//! Statements that may run in a read-only transaction.
//!
//! The database itself refuses writes, in a read-only transaction. Refused here is what would leave that
//! transaction or act outside of it: files of the server, settings, procedures that commit.

use svc_model::config::connector::DatabaseKind;
use svc_model::distance;

use super::effect::{beginning, first_word, in_word, words};

/// First words of statements that read.
const READS: [&str; 8] = ["SELECT", "WITH", "VALUES", "TABLE", "SHOW", "EXPLAIN", "DESCRIBE", "DESC"];
/// Settings of SQLite that only inform. Those that a number in parentheses would change are held back by
/// `query_only`.
const PRAGMAS: [&str; 21] = [
    "APPLICATION_ID",
    "COLLATION_LIST",
    "COMPILE_OPTIONS",
    "DATA_VERSION",
    "DATABASE_LIST",
    "FOREIGN_KEY_CHECK",
    "FOREIGN_KEY_LIST",
    "FREELIST_COUNT",
    "FUNCTION_LIST",
    "INDEX_INFO",
    "INDEX_LIST",
    "INDEX_XINFO",
    "INTEGRITY_CHECK",
    "PAGE_COUNT",
    "PRAGMA_LIST",
    "QUICK_CHECK",
    "SCHEMA_VERSION",
    "TABLE_INFO",
    "TABLE_LIST",
    "TABLE_XINFO",
    "USER_VERSION",
];

/// Refuses a statement that is not one of those that read.
///
/// # Errors
/// The refusal, which names what to use instead.
pub fn check_read_only(sql: &str, database: DatabaseKind) -> Result<(), String> {
    let rest = beginning(sql, database).rest;
    let first = rest.split(|c| !in_word(c)).next().unwrap_or_default();
    let word = first.to_ascii_uppercase();
    let reads = match word.as_str() {
        "PRAGMA" => database == DatabaseKind::Sqlite && informs(&rest[first.len()..]),
        // Inside of a read-only transaction PostgreSQL holds a procedure to it; MySQL lets it end the
        // transaction.
        "CALL" => database == DatabaseKind::Postgres,
        word => READS.contains(&word),
    };
    if !reads {
        let shown = if word.is_empty() { "this" } else { &word };
        return Err(format!("query: {}", for_db_write(shown)));
    }
    if database == DatabaseKind::MySql && writes_a_file(sql) {
        return Err("query: db_read writes no file: OUTFILE and DUMPFILE are not taken".to_owned());
    }
    Ok(())
}

fn for_db_write(word: &str) -> String {
    if let Some(meant) = READS.into_iter().find(|known| distance(word, known) == 1) {
        return format!("no statement begins with {word}, did you mean {meant}?");
    }
    format!("db_read takes statements that read, such as SELECT; {word} is for db_write")
}

/// Returns the reason why no database takes a statement as one that reads; `None` if one of them does, as the author's
/// process does not know which one is behind the connector.
pub(super) fn refused_everywhere(sql: &str) -> Option<String> {
    if let Some(word) = write_of_with(sql) {
        return Some(for_db_write(word));
    }
    let kinds = [DatabaseKind::Postgres, DatabaseKind::MySql, DatabaseKind::Sqlite];
    let mut reasons = kinds.map(|database| check_read_only(sql, database).err()).into_iter();
    let reason = reasons.next().flatten().filter(|_| reasons.all(|reason| reason.is_some()))?;
    Some(reason.strip_prefix("query: ").unwrap_or(&reason).to_owned())
}

/// Returns the write in or behind the queries of a `WITH`, which every database refuses in a read-only transaction. A text
/// with comments, backslashes or quotes of dollars is not looked into.
fn write_of_with(sql: &str) -> Option<&'static str> {
    let is_with = first_word(sql, DatabaseKind::Postgres).eq_ignore_ascii_case("WITH");
    // A number behind it makes a parameter of a dollar.
    let has_dollar_quotes =
        sql.split('$').skip(1).any(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()));
    if !is_with || has_dollar_quotes || ["--", "/*", "#", "\\"].iter().any(|mark| sql.contains(mark)) {
        return None;
    }
    let plain = without_quoted(&sql.to_ascii_uppercase());
    let words: Vec<&str> = words(&plain).collect();
    (1..words.len()).find_map(|at| {
        let (before, behind) = words.split_at(at);
        match behind {
            ["INSERT", "INTO", ..] => Some("INSERT"),
            ["DELETE", "FROM", ..] => Some("DELETE"),
            ["MERGE", "INTO", ..] => Some("MERGE"),
            ["REPLACE", "INTO", ..] => Some("REPLACE"),
            // Not the lock of `FOR UPDATE` and `FOR NO KEY UPDATE`.
            ["UPDATE", rest @ ..] if !matches!(before, [.., "FOR" | "KEY"]) => {
                // A table of one or two names, with ONLY before it and an alias behind it.
                rest.iter().take(6).any(|word| *word == "SET").then_some("UPDATE")
            }
            _ => None,
        }
    })
}

/// Returns a statement with a letter for each character between quotes.
fn without_quoted(sql: &str) -> String {
    let mut within = None;
    let plain = sql.chars().map(|character| match within {
        Some(quote) => {
            within = within.filter(|_| character != quote);
            'x'
        }
        None => {
            within = Some(character).filter(|character| matches!(character, '\'' | '"' | '`'));
            character
        }
    });
    plain.collect()
}

/// Returns true if a pragma only informs: `[schema.]name`, and no value is assigned to it.
fn informs(rest: &str) -> bool {
    let name = rest.split(['(', '=', ';']).next().unwrap_or_default();
    let name = name.rsplit('.').next().unwrap_or_default().trim().to_ascii_uppercase();
    !rest.contains('=') && PRAGMAS.contains(&name.as_str())
}

fn writes_a_file(sql: &str) -> bool {
    words(&sql.to_ascii_uppercase()).any(|word| matches!(word, "OUTFILE" | "DUMPFILE"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [DatabaseKind; 3] = [DatabaseKind::Postgres, DatabaseKind::MySql, DatabaseKind::Sqlite];

    #[test]
    fn statements_that_read_are_taken() {
        for database in ALL {
            for sql in [
                "select 1",
                "-- x\n (SELECT 1)",
                "with a as (select 1) select * from a",
                "values (1)",
                "explain select 1",
                "table t",
            ] {
                assert_eq!(check_read_only(sql, database), Ok(()), "{database:?} {sql}");
            }
        }
        for sql in ["PRAGMA table_info(t)", "pragma main.table_info('t')", "PRAGMA user_version"] {
            assert_eq!(check_read_only(sql, DatabaseKind::Sqlite), Ok(()), "{sql}");
        }
        assert_eq!(check_read_only("call p()", DatabaseKind::Postgres), Ok(()));
    }

    #[test]
    fn statement_no_database_reads_is_refused_early() {
        let reason = refused_everywhere("  update t set a = 1");
        assert_eq!(
            reason.as_deref(),
            Some("db_read takes statements that read, such as SELECT; UPDATE is for db_write")
        );
        let misspelt = refused_everywhere("selct 1");
        assert_eq!(misspelt.as_deref(), Some("no statement begins with SELCT, did you mean SELECT?"));
        for sql in ["select 1", "call p()", "pragma table_info(t)", "select 1 into outfile '/tmp/x'"] {
            assert_eq!(refused_everywhere(sql), None, "{sql}");
        }
        for (sql, word) in [
            ("with a as (select 1) insert into t select * from a", "INSERT"),
            ("WITH gone AS (DELETE FROM t WHERE id = $1 RETURNING *) SELECT * FROM gone", "DELETE"),
            ("with a as (select 1) update only \"my\".\"t\" as x set b = 1", "UPDATE"),
            ("with a as (select 1) merge into t using a on true when matched then do nothing", "MERGE"),
        ] {
            let reason = refused_everywhere(sql).unwrap();
            assert!(reason.ends_with(&format!("; {word} is for db_write")), "{reason}");
        }
        for sql in [
            "with a as (select 'insert into t' as text) select text from a",
            "with a as (select 1) select * from a for update",
            "with a as (select * from t for no key update) select a.set from a",
            "with a as (select 1) -- insert into t\nselect * from a",
            "with a as (select \"delete\" from t) select * from a",
            "with a as (select $q$insert into t$q$ as text) select text from a",
        ] {
            assert_eq!(refused_everywhere(sql), None, "{sql}");
        }
    }

    #[test]
    fn other_statements_are_refused() {
        for database in ALL {
            for sql in [
                "DELETE FROM t",
                "/* x */ drop table t",
                "insert into t values (1) returning a",
                "set transaction read write",
                "do $$ begin end $$",
                "vacuum into 'x'",
                "attach 'x' as y",
                "lock tables t write",
                "copy t to '/tmp/x'",
                "start replica",
                "é",
            ] {
                assert!(check_read_only(sql, database).is_err(), "{database:?} {sql}");
            }
        }
        for sql in [
            "PRAGMA query_only=0",
            "PRAGMA query_only(0)",
            "PRAGMA user_version = 3",
            "PRAGMA /* x */ table_info(t)",
            "PRAGMA wal_checkpoint",
            "PRAGMA journal_mode",
        ] {
            assert!(check_read_only(sql, DatabaseKind::Sqlite).is_err(), "{sql}");
        }
        for sql in ["call p()", "select '\"' into outfile '/tmp/x'", "select 1 /*!50000 INTO DUMPFILE */ 'x'"]
        {
            assert!(check_read_only(sql, DatabaseKind::MySql).is_err(), "{sql}");
        }
        assert!(check_read_only("pragma table_info(t)", DatabaseKind::Postgres).is_err());
    }
}
