//! Validation of the names of entities, columns and relations.

/// Refuses a name that some database could interpret as anything but a name.
pub(crate) fn check(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("a name must not be empty".to_owned());
    }
    if name.starts_with('$') {
        return Err("a name must not start with $".to_owned());
    }
    let is_forbidden = |at: char| matches!(at, '.' | '"' | '\'' | '`' | '\\') || at.is_control();
    if name.contains(is_forbidden) {
        return Err(
            "a name must not hold a dot, a quote, a backtick, a backslash or a control character".to_owned()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn names_hold_nothing_a_database_could_take_for_syntax() {
        for name in ["id", "créé", "order items", "a-b", "a;b", "select", "x$", "名前", "a(b)", "--"] {
            assert!(check(name).is_ok(), "{name}");
        }
        for name in ["", "$where", "a.b", "a\"b", "a'b", "a`b", "a\\b", "a\0b", "a\nb", "a\u{85}b"] {
            assert!(check(name).is_err(), "{name:?}");
        }
    }
}
