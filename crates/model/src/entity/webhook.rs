//! The topics of webhooks.

/// The topic of an endpoint that gets the events of all topics.
pub const ALL_WEBHOOK_TOPICS: &str = "*";

/// Topics of an endpoint at most.
pub const MAX_WEBHOOK_TOPICS: usize = 64;

/// Bytes of the name of a topic at most.
pub const MAX_WEBHOOK_TOPIC: usize = 128;

/// Returns the reason why a text is no name of a topic; `None` for one that is.
pub fn webhook_topic_problem(topic: &str) -> Option<&'static str> {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:/".contains(&byte);
    if topic.is_empty() || topic.len() > MAX_WEBHOOK_TOPIC {
        return Some("a topic has 1 to 128 characters");
    }
    (!topic.bytes().all(is_known)).then_some("a topic has letters, digits and _ - . : / only")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topic_has_known_characters_and_a_bound() {
        assert_eq!(webhook_topic_problem("order.paid:v2/eu_1-A"), None);
        assert_eq!(webhook_topic_problem(&"a".repeat(128)), None);
        for bad in ["", "*", "a b", "ä", "a\0", &"a".repeat(129)] {
            assert!(webhook_topic_problem(bad).is_some(), "{bad}");
        }
    }
}
