//! The names that a topic can have.

/// Maximum length of the name of a topic.
const MAX_LENGTH: usize = 249;

/// Returns `true` if a topic can have this name. A client takes one that begins with `^` for a pattern, and refuses
/// a whole subscription for one that it cannot parse.
pub(super) fn is_topic_name(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    !matches!(name, "" | "." | "..") && name.len() <= MAX_LENGTH && name.chars().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_illegal_character_or_length_is_refused() {
        for name in ["orders", "a.b_C-9", "...", &"x".repeat(249)] {
            assert!(is_topic_name(name), "{name}");
        }
        for name in ["", ".", "..", "^orders", "^[", "a b", "é", "a/b", &"x".repeat(250)] {
            assert!(!is_topic_name(name), "{name}");
        }
    }
}
