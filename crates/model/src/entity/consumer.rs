//! Consumers: named holders of keys, whom channels may accept in place of keys of their own.

use crate::config::QuotaTerms;
use crate::field::FieldError;
use crate::time::Timestamp;

/// Longest name of a consumer, in characters.
pub const MAX_CONSUMER_NAME: usize = 100;

/// Most consumers of a service: every node holds all of them in memory.
pub const MAX_CONSUMERS: usize = 10_000;

/// Most keys of a consumer, those that have expired included.
pub const MAX_CONSUMER_KEYS: usize = 10;

/// A consumer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consumer {
    /// The name, which never changes.
    pub name: String,
    /// Words by which channels accept it.
    pub tags: Vec<String>,
    /// The bounds of its requests, over all channels together.
    pub quota: Option<QuotaTerms>,
    /// Time from which on it is refused.
    pub expires_at: Option<Timestamp>,
    /// Time of its creation.
    pub created_at: Timestamp,
    /// Time of its last change; that of a key is none.
    pub updated_at: Timestamp,
    /// Its keys, without their secrets, the oldest first.
    pub keys: Vec<ConsumerKey>,
}

/// A key of a consumer, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerKey {
    /// Id of the key.
    pub id: String,
    /// The way in which the consumer proves that it has the key.
    pub kind: ConsumerKeyKind,
    /// Time from which on it is refused.
    pub expires_at: Option<Timestamp>,
    /// Time of its creation.
    pub created_at: Timestamp,
}

/// The kind of a key of a consumer, after the mode of the channels that accept it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsumerKeyKind {
    /// Requests carry the key.
    ApiKey,
    /// Requests are signed with the key.
    Hmac,
}

impl ConsumerKeyKind {
    /// The words of all kinds.
    pub const NAMES: [&str; 2] = [Self::ApiKey.name(), Self::Hmac.name()];

    /// Returns the word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ApiKey => "api_key",
            Self::Hmac => "hmac",
        }
    }

    /// Returns the kind of a word.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::ApiKey, Self::Hmac].into_iter().find(|kind| kind.name() == name)
    }
}

/// Returns the reason why no consumer has this name: it is a segment of paths.
pub fn check_consumer_name(path: &str, name: &str) -> Option<FieldError> {
    let length = name.chars().count();
    if length > MAX_CONSUMER_NAME {
        return Some(FieldError::too_long(path, MAX_CONSUMER_NAME, length, "characters"));
    }
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'@');
    let begins_well = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if !begins_well || !name.bytes().all(is_allowed) {
        let rule = "begin with a letter or digit, and use letters, digits, '.', '_', '-' and '@'";
        return Some(FieldError::invalid(path, rule).with_got(name));
    }
    None
}

/// Returns the scope in which the quota of a consumer is counted, in the place of the id of a channel. No channel has such an
/// id.
pub fn consumer_quota_scope(consumer: &str) -> String {
    format!("consumer:{consumer}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consumer_names_are_segments_of_paths() {
        let (longest, longer) = ("a".repeat(MAX_CONSUMER_NAME), "a".repeat(MAX_CONSUMER_NAME + 1));
        for good in ["acme", "Acme-2.eu", "ops@acme.example", "7", &longest] {
            assert_eq!(check_consumer_name("body.name", good), None, "{good}");
        }
        for bad in ["", ".", "..", "-a", "a b", "a/b", "ä", "a:b", &longer] {
            assert!(check_consumer_name("body.name", bad).is_some(), "{bad:?}");
        }
    }

    #[test]
    fn kinds_have_the_words_of_modes() {
        for kind in ConsumerKeyKind::NAMES {
            assert_eq!(ConsumerKeyKind::parse(kind).map(ConsumerKeyKind::name), Some(kind));
        }
        assert_eq!(ConsumerKeyKind::parse("jwt"), None);
    }
}
