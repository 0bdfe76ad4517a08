//! Statements that may run in a read-only transaction.
//!
//! The database itself refuses writes, in a read-only transaction. Refused here is what would leave that
//! transaction or act outside of it: files of the server, settings, procedures that commit.

use svc_model::config::connector::DatabaseKind;

use super::effect::{beginning, in_word, words};

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
        return Err(format!(
            "query: db_read takes statements that read, such as SELECT; {shown} is for db_write"
        ));
    }
    if database == DatabaseKind::MySql && writes_a_file(sql) {
        return Err("query: db_read writes no file: OUTFILE and DUMPFILE are not taken".to_owned());
    }
    Ok(())
}

/// Returns the reason why no database takes a statement as one that reads; `None` if one of them does, as the author's
/// process does not know which one is behind the connector.
pub(super) fn refused_everywhere(sql: &str) -> Option<String> {
    let kinds = [DatabaseKind::Postgres, DatabaseKind::MySql, DatabaseKind::Sqlite];
    let mut reasons = kinds.map(|database| check_read_only(sql, database).err()).into_iter();
    let reason = reasons.next().flatten().filter(|_| reasons.all(|reason| reason.is_some()))?;
    Some(reason.strip_prefix("query: ").unwrap_or(&reason).to_owned())
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
        for sql in ["select 1", "call p()", "pragma table_info(t)", "select 1 into outfile '/tmp/x'"] {
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
