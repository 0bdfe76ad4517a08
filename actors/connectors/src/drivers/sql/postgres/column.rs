//! The column of a placeholder of a statement. Statements that are made of documents have one
//! form.

/// The column that the placeholder of that number, counted from 1, is inserted into, set to or compared with.
pub(super) fn find_column(sql: &str, number: usize) -> Option<&str> {
    let at = position(sql, number)?;
    let (before, _) = sql.split_at_checked(at)?;
    match before.find(" VALUES (") {
        Some(values) if before.starts_with("INSERT INTO ") => inserted_column(before, values),
        _ => compared_column(before),
    }
}

/// The place of a placeholder, outside of names.
fn position(sql: &str, number: usize) -> Option<usize> {
    let placeholder = format!("${number}");
    let mut is_name = false;
    for (at, character) in sql.char_indices() {
        match character {
            '"' => is_name = !is_name,
            '$' if !is_name => {
                let behind = sql[at..].strip_prefix(&placeholder);
                if behind.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit())) {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// The column of a value of an insert, by its place in the row.
fn inserted_column(before: &str, values: usize) -> Option<&str> {
    let (head, rows) = before.split_at_checked(values)?;
    let names = head.split_once('(')?.1;
    let row = rows.rsplit('(').find(|part| !part.is_empty() || rows.ends_with('('))?;
    names.split('"').skip(1).step_by(2).nth(row.matches(',').count())
}

/// The last column that is named before a value.
fn compared_column(before: &str) -> Option<&str> {
    before.rsplit('"').nth(1).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholder_column_is_its_written_or_compared_one() {
        let insert = r#"INSERT INTO "t" ("id", "größe", "x$3") VALUES ($1, $2, $3), ($4, $5, $6)"#;
        let update = r#"UPDATE "t" SET "a" = $1, "b" = $2 WHERE "id" = $3"#;
        let select = r#"SELECT t0."n" FROM "t" AS t0 WHERE t0."a" IN ($1, $2) AND t0."b" = $11::bigint"#;
        for (sql, number, expected) in [
            (insert, 1, Some("id")),
            (insert, 2, Some("größe")),
            (insert, 3, Some("x$3")),
            (insert, 5, Some("größe")),
            (update, 2, Some("b")),
            (update, 3, Some("id")),
            (select, 2, Some("a")),
            (select, 11, Some("b")),
            (select, 7, None),
        ] {
            assert_eq!(find_column(sql, number), expected, "{sql} {number}");
        }
    }
}
