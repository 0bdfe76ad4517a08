//! Statements that insert rows: their recognition, and the table that they insert into.

use svc_model::config::connector::DatabaseKind;

use super::effect::{beginning, behind_comment, in_word};

/// The first words of statements that insert rows.
const INSERTS: [&str; 2] = ["INSERT", "REPLACE"];

/// The words that a statement may begin with behind its common table expressions.
const MAIN_WORDS: [&str; 6] = ["SELECT", "VALUES", "INSERT", "REPLACE", "UPDATE", "DELETE"];

/// Words between the first word and the table: conflict clauses of SQLite, priorities of MySQL.
const BETWEEN: [&str; 11] = [
    "OR",
    "REPLACE",
    "ROLLBACK",
    "ABORT",
    "FAIL",
    "IGNORE",
    "INTO",
    "LOW_PRIORITY",
    "HIGH_PRIORITY",
    "DELAYED",
    "INSERT",
];

/// Returns true for an `INSERT` or `REPLACE`, as MySQL or SQLite read it.
#[must_use]
pub fn is_insert(sql: &str) -> bool {
    let beginnings = [beginning(sql, DatabaseKind::MySql).rest, behind_with(sql)];
    beginnings.into_iter().any(|rest| is_one_of(split_word(rest).0, &INSERTS))
}

/// Returns the name of the table that a statement of SQLite inserts into, without quotes and schema; `None` for a
/// statement that is no insert.
#[must_use]
pub fn inserted_table(sql: &str) -> Option<String> {
    let skip = |sql| beginning(sql, DatabaseKind::Sqlite).rest;
    let (first, mut rest) = split_word(behind_with(sql));
    if !is_one_of(first, &INSERTS) {
        return None;
    }
    loop {
        rest = skip(rest);
        let (word, after) = split_word(rest);
        if !is_one_of(word, &BETWEEN) {
            break;
        }
        rest = after;
    }
    let (name, after) = split_name(rest)?;
    match skip(after).strip_prefix('.') {
        Some(table) => split_name(skip(table)).map(|(table, _)| table),
        None => Some(name),
    }
}

/// Returns a statement of SQLite from its first word on, which is behind its common table expressions.
fn behind_with(sql: &str) -> &str {
    let first = beginning(sql, DatabaseKind::Sqlite).rest;
    let (word, mut rest) = split_word(first);
    if !word.eq_ignore_ascii_case("WITH") {
        return first;
    }
    let mut depth = 0_usize;
    while let Some(next) = rest.chars().next() {
        let (word, after) = split_word(rest);
        if depth == 0 && is_one_of(word, &MAIN_WORDS) {
            return rest;
        }
        let behind_next = rest.get(next.len_utf8()..).unwrap_or_default();
        rest = match next {
            '-' if behind_next.starts_with('-') => rest.split_once('\n').map_or("", |(_, after)| after),
            '/' if behind_next.starts_with('*') => behind_comment(rest, false),
            '"' | '`' | '\'' | '[' => split_name(rest).map_or("", |(_, after)| after),
            _ if !word.is_empty() => after,
            _ => behind_next,
        };
        match next {
            '(' => depth = depth.saturating_add(1),
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    rest
}

fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// Splits a text behind the word that it begins with, which is empty if there is none.
fn split_word(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c| !in_word(c)).unwrap_or(text.len()))
}

/// Splits a text behind the name that it begins with, and takes the name out of its quotes.
fn split_name(text: &str) -> Option<(String, &str)> {
    let close = match text.chars().next()? {
        quote @ ('"' | '`' | '\'') => quote,
        '[' => ']',
        _ => {
            let (word, rest) = split_word(text);
            return (!word.is_empty()).then(|| (word.to_owned(), rest));
        }
    };
    let (mut name, mut rest) = (String::new(), text.get(1..)?);
    loop {
        let (part, after) = rest.split_once(close)?;
        name.push_str(part);
        // Doubled, a quote is part of the name.
        let Some(more) = after.strip_prefix(close).filter(|_| close != ']') else {
            return Some((name, after));
        };
        name.push(close);
        rest = more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_of_an_insert_is_found_behind_its_words() {
        for (sql, table) in [
            ("INSERT INTO orders VALUES (1)", Some("orders")),
            ("insert or replace into t(a) values (1)", Some("t")),
            ("REPLACE INTO main.t DEFAULT VALUES", Some("t")),
            ("-- x\nINSERT /* y */ INTO \"a \"\"b\"\"\" (c) SELECT 1", Some("a \"b\"")),
            ("INSERT INTO [a b] . [c d] VALUES (1)", Some("c d")),
            ("INSERT INTO `t` VALUES (1)", Some("t")),
            ("WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x", Some("t")),
            (
                "with recursive \"a (\"(n) AS (SELECT ') INSERT INTO u' /* ) */), b AS NOT MATERIALIZED (VALUES (1))
                 -- insert into v
                 REPLACE INTO main.t SELECT * FROM b",
                Some("t"),
            ),
            ("WITH x AS (SELECT 1) UPDATE t SET a = 1", None),
            ("WITH x AS (SELECT 1", None),
            ("UPDATE t SET a = 1", None),
            ("SELECT 'INSERT INTO t'", None),
            ("INSERT INTO \"open", None),
            ("INSERT", None),
        ] {
            assert_eq!(inserted_table(sql).as_deref(), table, "{sql}");
        }
    }

    #[test]
    fn only_inserts_report_a_key() {
        for sql in [
            "INSERT INTO t VALUES (1)",
            "# x\nreplace into t values (1)",
            "/*!50000 insert */ into t values (1)",
            "WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x",
        ] {
            assert!(is_insert(sql), "{sql}");
        }
        for sql in ["UPDATE t SET a = 1", "WITH x AS (SELECT 1) DELETE FROM t", "inserted", ""] {
            assert!(!is_insert(sql), "{sql}");
        }
    }
}
