//! Ids of entities, messages and records.

use uuid::Uuid;

use crate::field::FieldError;

/// Maximum length of an id, in characters.
pub const MAX_ID: usize = 128;

/// The form of an id.
pub(crate) const PATTERN: &str = "^[A-Za-z0-9][A-Za-z0-9._-]*$";

/// Words that cannot be ids in any case, because they are path segments of the admin API.
pub const RESERVED: [&str; 12] = [
    "import",
    "export",
    "validate",
    "versions",
    "status",
    "rollout",
    "test",
    "circuit-breakers",
    "purge",
    "requeue",
    "reload",
    "trigger",
];

/// Words that cannot be ids of channels, in addition: they are the paths of actions on several channels.
const RESERVED_FOR_CHANNELS: [&str; 2] = ["pause", "resume"];

/// Creates an id for an entity (UUID v4).
pub fn new_entity_id() -> String {
    Uuid::new_v4().to_string()
}

/// Creates an id that sorts by creation time (UUID v7), for messages, traces, occurrences and audit rows.
pub fn new_ordered_id() -> Uuid {
    Uuid::now_v7()
}

/// Validates an id from a caller: a letter or digit, then letters, digits, `.`, `_`, `-`; not a reserved
/// word.
///
/// # Errors
/// `TOO_LONG` above 128 characters, otherwise `INVALID`, both with `path`.
pub fn check(id: &str, path: &str) -> Result<(), FieldError> {
    let length = id.chars().count();
    if length > MAX_ID {
        return Err(FieldError::too_long(path, MAX_ID, length, "characters"));
    }
    let mut bytes = id.bytes();
    let starts_well = bytes.next().is_some_and(|b| b.is_ascii_alphanumeric());
    if !starts_well || !bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-')) {
        let rule = "an id starts with a letter or digit and holds only letters, digits, '.', '_' and '-'";
        return Err(FieldError::invalid(path, rule).with_got(id));
    }
    refuse_reserved(id, path, &RESERVED)
}

/// Validates the id of a channel like [`check`].
///
/// # Errors
/// As [`check`].
pub(crate) fn check_channel(id: &str, path: &str) -> Result<(), FieldError> {
    check(id, path)?;
    refuse_reserved(id, path, &RESERVED_FOR_CHANNELS)
}

fn refuse_reserved(id: &str, path: &str, words: &[&str]) -> Result<(), FieldError> {
    if words.iter().any(|word| word.eq_ignore_ascii_case(id)) {
        let rule = format!("'{id}' is a reserved word, a part of paths of the admin API; '{id}-1' is an id");
        return Err(FieldError::invalid(path, rule).with_got(id));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::FieldCode;

    #[test]
    fn ids_follow_the_grammar() {
        for good in ["a", "0", "order-intake", "A.b_c-9", &"x".repeat(128)] {
            assert!(check(good, "p").is_ok(), "{good}");
        }
        for bad in ["", "-a", ".a", "a b", "a/b", "ä", "a\n"] {
            assert_eq!(check(bad, "p").unwrap_err().code, FieldCode::Invalid, "{bad:?}");
        }
        assert_eq!(check(&"x".repeat(129), "p").unwrap_err().code, FieldCode::TooLong);
    }

    #[test]
    fn reserved_words_are_refused_whatever_their_case() {
        for word in RESERVED {
            let refused = check(word, "p").unwrap_err().message;
            assert!(refused.ends_with(&format!("'{word}-1' is an id")), "{refused}");
            assert!(check(&word.to_uppercase(), "p").is_err());
            assert!(check(&format!("{word}s-1"), "p").is_ok());
        }
    }

    #[test]
    fn generated_ids_pass_their_own_check() {
        assert!(check(&new_entity_id(), "p").is_ok());
        assert!(check(&new_ordered_id().to_string(), "p").is_ok());
    }
}
