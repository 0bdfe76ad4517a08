//! Credentials with an authentication scheme (RFC 9110, section 11.4).

/// Returns the credential of `scheme 1*SP credential`; `None` if the value has another form or the credential
/// is empty. The scheme ignores case. Without a scheme, the whole value is the credential.
pub(crate) fn credential<'v>(value: &'v [u8], scheme: Option<&str>) -> Option<&'v [u8]> {
    let credential = match scheme {
        None => value,
        Some(scheme) => {
            let (named, rest) = value.split_at_checked(scheme.len())?;
            let spaces = rest.iter().take_while(|byte| **byte == b' ').count();
            if !named.eq_ignore_ascii_case(scheme.as_bytes()) || spaces == 0 {
                return None;
            }
            &rest[spaces..]
        }
    };
    (!credential.is_empty()).then_some(credential)
}

#[cfg(test)]
mod tests {
    use super::credential;

    #[test]
    fn scheme_is_followed_by_blanks_and_the_credential() {
        for (value, found) in [
            ("Bearer abc", Some("abc")),
            ("bEARER   abc", Some("abc")),
            ("Bearer a b ", Some("a b ")),
            ("Bearerabc", None),
            ("Bearer\tabc", None),
            ("Bearer ", None),
            ("Bearer", None),
            ("Basic abc", None),
            (" Bearer abc", None),
            ("", None),
        ] {
            assert_eq!(credential(value.as_bytes(), Some("Bearer")), found.map(str::as_bytes), "{value:?}");
        }
    }

    #[test]
    fn value_without_a_scheme_is_the_credential() {
        assert_eq!(credential(b"Bearer abc", None), Some(&b"Bearer abc"[..]));
        assert_eq!(credential(b"", None), None);
    }
}
