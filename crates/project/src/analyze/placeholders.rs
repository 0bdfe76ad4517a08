//! The placeholders of a statement, counted without a database.

/// Returns the number of values that a statement takes; `None` if it cannot be known without its database. `address` is
/// the connection string as it is written, which may be a reference.
pub(super) fn count_placeholders(sql: &str, address: &str) -> Option<usize> {
    let bare = without_quotes_and_comments(sql)?;
    let is_mysql = address.starts_with("mysql") || address.starts_with("mariadb");
    let is_sqlite = address.starts_with("sqlite");
    if !address.starts_with("postgres") && has_names(&bare) {
        return None;
    }
    match (highest_number(&bare), bare.matches('?').count()) {
        (0, 0) => Some(0),
        (numbered, 0) if !is_mysql => Some(numbered),
        (0, marks) if is_mysql => Some(marks),
        (0, marks) if is_sqlite && !is_numbered_mark(&bare) => Some(marks),
        // PostgreSQL has operators of this sign.
        _ => None,
    }
}

/// Returns `true` for a statement with placeholders that have names, or with variables.
fn has_names(bare: &str) -> bool {
    let bare = bare.replace("::", " ");
    bare.split([':', '@']).skip(1).any(|behind| behind.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

/// Returns `true` for a statement with placeholders such as `?1`.
fn is_numbered_mark(bare: &str) -> bool {
    bare.split('?').skip(1).any(|behind| behind.starts_with(|first: char| first.is_ascii_digit()))
}

/// Returns the highest number of a placeholder such as `$2`.
fn highest_number(bare: &str) -> usize {
    let digits = |behind: &str| {
        let end = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
        behind[..end].parse::<usize>().unwrap_or(0)
    };
    bare.split('$').skip(1).map(digits).max().unwrap_or(0)
}

/// Returns a statement without quoted parts and comments; `None` if one of them does not end, or databases read it in
/// different ways.
fn without_quotes_and_comments(sql: &str) -> Option<String> {
    let (mut bare, mut rest) = (String::with_capacity(sql.len()), sql);
    while let Some(first) = rest.chars().next() {
        if let Some(comment) = rest.strip_prefix("--") {
            rest = comment.find('\n').map_or("", |end| &comment[end..]);
        } else if let Some(comment) = rest.strip_prefix("/*") {
            let (inside, behind) = comment.split_once("*/")?;
            if inside.contains("/*") || inside.starts_with('!') {
                return None;
            }
            rest = behind;
        } else if matches!(first, '\'' | '"' | '`') {
            let (quoted, behind) = rest[1..].split_once(first)?;
            if quoted.contains('\\') {
                return None;
            }
            bare.push(' ');
            rest = behind;
        } else if first == '#' || rest.starts_with("$$") {
            return None;
        } else {
            bare.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    // A tag of a text in dollar quotes.
    let is_tag = |behind: &str| behind.starts_with(|first: char| first.is_alphabetic() || first == '_');
    (!bare.split('$').skip(1).any(is_tag)).then_some(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_counted_outside_of_quotes() {
        for (sql, address, expected) in [
            ("SELECT 1", "", Some(0)),
            ("SELECT $1, $2, $1", "env://DB", Some(2)),
            ("SELECT '$3', $1 -- $4\n/* $5 */", "postgres://db/a", Some(1)),
            ("SELECT a ? 'b'", "postgres://db/a", None),
            ("SELECT ?, '?', ?", "mysql://db/a", Some(2)),
            ("SELECT ?, ?", "sqlite:a.db", Some(2)),
            ("SELECT ?1, ?1", "sqlite:a.db", None),
            ("SELECT ?", "env://DB", None),
            ("SELECT :name", "sqlite:a.db", None),
            ("SELECT $1::text", "env://DB", Some(1)),
            ("SELECT $$ $9 $$", "", None),
            ("SELECT $a$ $9 $a$", "", None),
            ("SELECT 'a\\'", "", None),
            ("SELECT 'a", "", None),
        ] {
            assert_eq!(count_placeholders(sql, address), expected, "{sql}");
        }
    }
}
