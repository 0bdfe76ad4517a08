//! Takes secrets out of a text that somebody else wrote.
//!
//! Whoever is sent a secret may repeat it, and seldom as it was sent: percent-encoded in a URL, escaped in a JSON text, as
//! entities in a page. So a secret is looked for unit by unit, each in whatever spelling. Nothing here reads base64: what is sent
//! in it is a secret of its own.

mod spelling;

use std::collections::BTreeSet;

use svc_model::mask::MASK;

use spelling::{SIGNS, units};

/// A shorter value stays where it is: it would be found by accident all over a text, and whoever wants it needs no text to guess
/// it.
const SHORTEST: usize = 4;

/// A text without these secrets, in whatever spelling it has them. What several of them cover is hidden as one.
pub fn redact<'s>(text: String, secrets: impl IntoIterator<Item = &'s str>) -> String {
    let secrets: Vec<&[u8]> =
        secrets.into_iter().map(str::as_bytes).filter(|secret| secret.len() >= SHORTEST).collect();
    let mut hidden: Vec<(usize, usize)> = Vec::new();
    let firsts: BTreeSet<u8> = secrets.iter().filter_map(|secret| secret.first()).copied().collect();
    for (at, byte) in text.bytes().enumerate() {
        if !SIGNS.contains(&byte) && !firsts.contains(&byte) {
            continue;
        }
        let rest = text.as_bytes().get(at..).unwrap_or_default();
        let Some(length) = secrets.iter().filter_map(|secret| spelled(rest, secret)).max() else { continue };
        match hidden.last_mut() {
            Some((_, end)) if at < *end => *end = at.saturating_add(length).max(*end),
            _ => hidden.push((at, at + length)),
        }
    }
    without(text, &hidden)
}

/// How much of the beginning of a text spells a secret, at most.
fn spelled(text: &[u8], secret: &[u8]) -> Option<usize> {
    let mut longest = None;
    // What of the secret is found, and what of the text is read for it: in order, so that no way is gone twice.
    let mut ways = BTreeSet::from([(0, 0)]);
    while let Some((found, read)) = ways.pop_first() {
        let due = secret.get(found..).unwrap_or_default();
        if due.is_empty() {
            longest = longest.max(Some(read));
            continue;
        }
        for unit in units(text.get(read..).unwrap_or_default()) {
            ways.extend(unit.covers(due).map(|covered| (found + covered, read + unit.length)));
        }
    }
    longest
}

/// A text with a mask in the place of each of these spans, which are in order and apart.
fn without(text: String, spans: &[(usize, usize)]) -> String {
    if spans.is_empty() {
        return text;
    }
    let mut shown = String::with_capacity(text.len());
    let mut from = 0;
    for (start, end) in spans {
        shown.push_str(text.get(from..*start).unwrap_or_default());
        shown.push_str(MASK);
        from = *end;
    }
    shown.push_str(text.get(from..).unwrap_or_default());
    shown
}

#[cfg(test)]
mod tests;
