//! The mask of secrets, and the references that are shown in its place.

mod url;

pub use crate::config::masking::{each_channel_secret, mask_channel_config, restore_channel_config};
pub(crate) use url::decode_query_name;
pub use url::{holds_mask, looks_secret, mask_url, restore_url};

/// The text that replaces a masked value.
pub const MASK: &str = "******";

/// URL schemes of secret references.
const SCHEMES: [&str; 2] = ["env://", "vault://"];

/// URL schemes reserved for secret managers. A reference with one of them is refused wherever it would be
/// resolved.
const RESERVED_SCHEMES: [&str; 3] = ["aws-sm://", "gcp-sm://", "azure-kv://"];

/// Returns true if the text starts like a secret reference (`env://`, `vault://`).
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
            let names = small.as_bytes().get(at + scheme.len()).is_some_and(|byte| is_word(*byte));
            begins && names && !is_resolved
        })
    })
}

/// Returns true for a complete reference: `env://` and a name, or `vault://`, a path, `#` and a field. A text
/// that only starts like one may be a secret itself.
pub fn is_resolvable_reference(text: &str) -> bool {
    match text.split_once("://") {
        Some(("env", name)) => {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        }
        Some(("vault", place)) => {
            place.split_once('#').is_some_and(|(path, field)| !path.is_empty() && !field.is_empty())
        }
        _ => false,
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
