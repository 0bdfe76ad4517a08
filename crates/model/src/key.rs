//! Names as parts of joined keys.

use std::borrow::Cow;

/// Separators of joined keys, and the character that escapes them.
const RESERVED: [char; 3] = ['%', ':', '/'];

/// Returns a name as a part of a key whose parts are joined by `:` or `/`: different sequences of parts have different
/// keys, whatever characters the names have. A name without a separator is its own part.
pub fn key_part(name: &str) -> Cow<'_, str> {
    if !name.contains(RESERVED) {
        return Cow::Borrowed(name);
    }
    let mut part = String::with_capacity(name.len() + 8);
    for letter in name.chars() {
        match letter {
            '%' => part.push_str("%25"),
            ':' => part.push_str("%3A"),
            '/' => part.push_str("%2F"),
            other => part.push(other),
        }
    }
    Cow::Owned(part)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::key_part;

    #[test]
    fn joined_names_are_told_apart_whatever_they_hold() {
        let names = ["a", "b", ":", "%", "/", "a:b", "a%3Ab", "a/b", "%3A", "", "a:", ":b"];
        let mut seen = HashMap::new();
        for one in names {
            for other in names {
                let joined = format!("{}:{}", key_part(one), key_part(other));
                assert_eq!(seen.insert(joined.clone(), (one, other)), None, "{joined}");
            }
        }
        assert_eq!(key_part("orders.v1"), "orders.v1");
    }
}
