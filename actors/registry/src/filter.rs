//! The selection of channels that a process serves.

/// Patterns over channel names; `*` matches any text. A channel that is not selected is absent, not
/// quarantined.
#[derive(Clone, Debug, Default)]
pub struct ChannelFilter {
    /// Names to serve; empty for all.
    pub include: Vec<String>,
    /// Names not to serve, whatever `include` says.
    pub exclude: Vec<String>,
}

impl ChannelFilter {
    /// Returns `true` if it selects every channel.
    pub(crate) fn is_empty(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty()
    }

    pub(crate) fn admits(&self, name: &str) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| glob(pattern, name));
        (self.include.is_empty() || any(&self.include)) && !any(&self.exclude)
    }
}

/// Returns `true` if `text` matches `pattern`: the parts between stars occur in order, the outer ones at its
/// ends.
fn glob(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(head) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let tail = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match text.find(piece) {
            Some(at) => text = &text[at + piece.len()..],
            None => return false,
        }
    }
    text.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text, fits) in [
            ("orders", "orders", true),
            ("orders", "orders-2", false),
            ("orders*", "orders", true),
            ("*-eu", "orders-eu", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c", false),
            ("ab*ba", "aba", false),
            ("*", "", true),
        ] {
            assert_eq!(glob(pattern, text), fits, "{pattern} {text}");
        }
    }

    #[test]
    fn exclusion_wins() {
        let filter = ChannelFilter { include: vec!["orders*".into()], exclude: vec!["*-old".into()] };
        assert!(filter.admits("orders-new"));
        assert!(!filter.admits("orders-old"));
        assert!(!filter.admits("invoices"));
        assert!(ChannelFilter::default().admits("anything"));
    }
}
