//! Entity tags and `If-Match` preconditions (RFC 9110, sections 8.8.3 and 13.1.1), which prevent lost
//! updates.

use std::fmt;

use crate::code::Code;
use crate::entity::EntityKind;
use crate::error::ServiceError;

/// The strong entity tag of one state of an entity, without quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityTag(String);

impl EntityTag {
    /// Creates the tag of a version with this content.
    pub(crate) fn of_version(version: i64, content_hash: &str) -> Self {
        Self(format!("{version}-{content_hash}"))
    }

    /// Creates the tag of an entity without versions.
    pub(crate) fn of_content(content_hash: String) -> Self {
        Self(content_hash)
    }
}

/// Formats the tag as in header fields, with quotes.
impl fmt::Display for EntityTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0)
    }
}

/// The value of `If-Match`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Precondition {
    /// The field is absent.
    #[default]
    None,
    /// `*`: any current state.
    Any,
    /// A list of tags, one of which must be current. Weak tags are omitted, because they never match.
    OneOf(Vec<String>),
}

impl Precondition {
    /// Parses the lines of the header field, which form one list.
    ///
    /// # Errors
    /// 400 if the value is neither `*` nor a list of entity tags.
    pub fn parse<'l>(lines: impl IntoIterator<Item = &'l [u8]>) -> Result<Self, ServiceError> {
        let lines: Vec<_> = lines.into_iter().collect();
        if lines.is_empty() {
            return Ok(Self::None);
        }
        let list = lines.join(&b',');
        if list.trim_ascii() == b"*" {
            return Ok(Self::Any);
        }
        tags(&list).map(Self::OneOf).ok_or_else(|| {
            ServiceError::validation(
                "If-Match must be * or a list of entity tags in double quotes, as ETag shows them",
            )
        })
    }

    /// Returns true if the field is absent, so that the current state need not be loaded.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// Compares the tags with the current state, using strong comparison.
    ///
    /// # Errors
    /// 412 if the entity is in another state; the message contains its current tag.
    pub fn check(&self, kind: EntityKind, id: &str, current: &EntityTag) -> Result<(), ServiceError> {
        match self {
            Self::OneOf(tags) if tags.iter().all(|tag| *tag != current.0) => {
                let message = format!(
                    "{kind} '{id}' is not in the state that If-Match names: its ETag is {current}; read it again"
                );
                Err(ServiceError::new(Code::PreconditionFailed, message))
            }
            _ => Ok(()),
        }
    }
}

/// Splits a list of tags; returns `None` if it is malformed. Elements may be empty, and a tag may contain a
/// comma.
fn tags(list: &[u8]) -> Option<Vec<String>> {
    let mut tags = Vec::new();
    let mut rest = list.trim_ascii_start();
    let mut is_empty = true;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix(b",") {
            rest = after.trim_ascii_start();
            continue;
        }
        let (is_weak, quoted) = match rest.strip_prefix(b"W/") {
            Some(quoted) => (true, quoted),
            None => (false, rest),
        };
        let body = quoted.strip_prefix(b"\"")?;
        let end = body.iter().position(|byte| *byte == b'"')?;
        let (tag, after) = body.split_at(end);
        if !tag.iter().all(|byte| matches!(byte, 0x21 | 0x23..=0x7e | 0x80..)) {
            return None;
        }
        if !is_weak {
            tags.push(String::from_utf8_lossy(tag).into_owned());
        }
        is_empty = false;
        rest = after.get(1..)?.trim_ascii_start();
        if !rest.is_empty() && !rest.starts_with(b",") {
            return None;
        }
    }
    (!is_empty).then_some(tags)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(lines: &[&str]) -> Result<Precondition, ServiceError> {
        Precondition::parse(lines.iter().map(|line| line.as_bytes()))
    }

    fn one_of(tags: &[&str]) -> Precondition {
        Precondition::OneOf(tags.iter().map(|&tag| tag.to_owned()).collect())
    }

    #[test]
    fn precondition_is_absent_any_or_tags() {
        for (lines, expected) in [
            (&[][..], Precondition::None),
            (&["*"], Precondition::Any),
            (&[" * "], Precondition::Any),
            (&["\"a\""], one_of(&["a"])),
            (&["\"a\", ,\"b,c\" ,"], one_of(&["a", "b,c"])),
            (&["\"a\"", "\"b\""], one_of(&["a", "b"])),
            (&["\"\""], one_of(&[""])),
            (&["W/\"a\""], one_of(&[])),
            (&["W/\"a\", \"b\""], one_of(&["b"])),
        ] {
            assert_eq!(parse(lines).unwrap(), expected, "{lines:?}");
        }
    }

    #[test]
    fn invalid_tag_list_is_refused() {
        for bad in [
            "",
            " ",
            ",",
            "a",
            "\"a",
            "a\"",
            "\"a\" \"b\"",
            "\"a\"b",
            "\"a b\"",
            "w/\"a\"",
            "*, \"a\"",
            "W/*",
        ] {
            assert_eq!(parse(&[bad]).unwrap_err().status(), 400, "{bad}");
        }
    }

    #[test]
    fn only_current_strong_tag_matches() {
        let current = EntityTag::of_version(3, "sha256:ab");
        assert_eq!(current.to_string(), "\"3-sha256:ab\"");
        let check = |lines: &[&str]| parse(lines).unwrap().check(EntityKind::Workflow, "w", &current);
        for fine in [&[][..], &["*"], &["\"3-sha256:ab\""], &["\"x\", \"3-sha256:ab\""]] {
            assert!(check(fine).is_ok(), "{fine:?}");
        }
        for stale in ["\"2-sha256:ab\"", "\"3-sha256:AB\"", "W/\"3-sha256:ab\""] {
            let refused = check(&[stale]).unwrap_err();
            assert_eq!(refused.status(), 412, "{stale}");
            assert!(refused.message().contains("\"3-sha256:ab\""), "{}", refused.message());
        }
    }
}
