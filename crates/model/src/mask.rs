//! The mask of secrets, and the references that are shown in its place.

mod url;

use crate::config::value_reference::is_value_name;

pub use crate::config::masking::{
    CREDENTIAL_BLOCKS, each_channel_secret, mask_channel_config, restore_channel_config,
};
pub(crate) use url::decode_query_name;
pub use url::{holds_mask, looks_secret, mask_url, restore_url};

/// The text that replaces a masked value.
pub const MASK: &str = "******";

/// Headers of a message that carry credentials: their names stay visible, their values are masked.
pub const CREDENTIAL_HEADERS: [&str; 4] = ["authorization", "cookie", "proxy-authorization", "x-api-key"];

/// URL schemes of secret references.
const SCHEMES: [&str; 3] = ["env://", "file://", "vault://"];

/// The beginning of the place of a file that the service manager hands to the service.
const CREDENTIALS: &str = "$CREDENTIALS_DIRECTORY/";

/// URL schemes reserved for secret managers. A reference with one of them is refused wherever it would be
/// resolved.
const RESERVED_SCHEMES: [&str; 3] = ["aws-sm://", "gcp-sm://", "azure-kv://"];

/// Returns true if the text starts like a secret reference (`env://`, `file://`, `vault://`).
pub fn is_secret_reference(text: &str) -> bool {
    SCHEMES.iter().any(|scheme| text.starts_with(scheme))
}

/// Returns true if the text starts with a scheme reserved for secret managers.
pub fn is_reserved_reference(text: &str) -> bool {
    RESERVED_SCHEMES.iter().any(|scheme| text.starts_with(scheme))
}

/// Returns the scheme of a secret reference that nothing resolves because it is not the beginning of the text, or not
/// written in small letters. The author of such a text probably means the secret.
pub fn embedded_reference(text: &str) -> Option<&'static str> {
    let small = text.to_ascii_lowercase();
    SCHEMES.into_iter().find(|scheme| {
        small.match_indices(scheme).any(|(at, _)| {
            let is_resolved = at == 0 && text.starts_with(scheme);
            let is_word =
                |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'.');
            let begins = at == 0 || !is_word(small.as_bytes()[at - 1]);
            let is_path = |byte: u8| *scheme == "file://" && matches!(byte, b'/' | b'$');
            let next = small.as_bytes().get(at + scheme.len());
            let names = next.is_some_and(|byte| is_word(*byte) || is_path(*byte));
            begins && names && !is_resolved
        })
    })
}

/// Returns true for a complete reference: `env://` and a name, `file://` and a place, `vault://`, a path, `#` and a
/// field, or `var://` and a name. A text that only starts like one may be a secret itself.
pub fn is_resolvable_reference(text: &str) -> bool {
    match text.split_once("://") {
        Some(("env", name)) => {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        }
        Some(("file", place)) => is_file_place(place),
        Some(("var", name)) => is_value_name(name),
        Some(("vault", place)) => {
            place.split_once('#').is_some_and(|(path, field)| !path.is_empty() && !field.is_empty())
        }
        _ => false,
    }
}

/// Returns true for the place of a file in a reference: an absolute path, or `$CREDENTIALS_DIRECTORY/` and a name. No
/// part of it is empty, `.` or `..`, so that a pattern of allowed places means the files below it.
pub fn is_file_place(place: &str) -> bool {
    let is_part = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(char::is_control);
    match (place.strip_prefix(CREDENTIALS), place.strip_prefix('/')) {
        (Some(name), _) => is_part(name) && !name.contains('/'),
        (None, Some(path)) => path.split('/').all(is_part),
        (None, None) => false,
    }
}

/// Converts a JSON pointer to a path: `/auth/keys/0` to `.auth.keys[0]`.
pub fn dotted_path(pointer: &str) -> String {
    pointer
        .split('/')
        .skip(1)
        .map(
            |part| {
                if part.bytes().all(|b| b.is_ascii_digit()) {
                    format!("[{part}]")
                } else {
                    format!(".{part}")
                }
            },
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_place_is_absolute_path_or_credential() {
        for place in ["/run/keys/a", "/a b", "/x.pem", "$CREDENTIALS_DIRECTORY/admin-key"] {
            assert!(is_file_place(place), "{place:?}");
        }
        for place in [
            "",
            "/",
            "a",
            "host/a",
            "/a/",
            "/a//b",
            "/a/../b",
            "/./a",
            "/a\n",
            "$CREDENTIALS_DIRECTORY",
            "$CREDENTIALS_DIRECTORY/",
            "$CREDENTIALS_DIRECTORY/a/b",
            "$CREDENTIALS_DIRECTORY/..",
            "$HOME/a",
        ] {
            assert!(!is_file_place(place), "{place:?}");
        }
    }

    #[test]
    fn file_reference_within_longer_text_is_found() {
        for text in ["Bearer file:///run/a", "FILE:///run/a", "x file://$CREDENTIALS_DIRECTORY/a"] {
            assert_eq!(embedded_reference(text), Some("file://"), "{text}");
        }
        for text in ["file:///run/a", "profile:///run/a", "file://", "see file:// there"] {
            assert_eq!(embedded_reference(text), None, "{text}");
        }
    }
}
