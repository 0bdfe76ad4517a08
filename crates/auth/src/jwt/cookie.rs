//! Cookies that carry a credential (RFC 6265).

/// Returns the value of a cookie; `None` if it is absent or empty. Header names are in lower case.
///
/// Cookie names are case-sensitive, the first of repeated cookies counts, and a pair of double quotes around
/// the value is removed. The value may have any length and any bytes, so that a presented credential is
/// always checked.
pub(crate) fn cookie<'r>(headers: &'r [(String, Vec<u8>)], name: &str) -> Option<&'r [u8]> {
    let value = headers
        .iter()
        .filter(|(header, _)| header == "cookie")
        .flat_map(|(_, line)| line.split(|byte| *byte == b';'))
        .find_map(|pair| {
            let (present, value) = pair.split_at(pair.iter().position(|byte| *byte == b'=')?);
            (present.trim_ascii() == name.as_bytes()).then(|| value[1..].trim_ascii())
        })?;
    let value = value.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(value);
    (!value.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[&[u8]]) -> Vec<(String, Vec<u8>)> {
        lines.iter().map(|line| ("cookie".to_owned(), line.to_vec())).collect()
    }

    #[test]
    fn first_cookie_of_a_name_wins_even_empty() {
        let headers = headers(&[b"a=1; b=", b"a=2; b=3; c = x=y "]);
        assert_eq!(cookie(&headers, "a"), Some(&b"1"[..]));
        assert_eq!(cookie(&headers, "b"), None);
        assert_eq!(cookie(&headers, "c"), Some(&b"x=y"[..]));
        assert_eq!(cookie(&headers, "A"), None, "names are exact");
    }

    #[test]
    fn one_pair_of_quotes_is_taken_off() {
        let headers = headers(&[br#"a="1"; b=""2""; c="; d="""#]);
        assert_eq!(cookie(&headers, "a"), Some(&b"1"[..]));
        assert_eq!(cookie(&headers, "b"), Some(&b"\"2\""[..]));
        assert_eq!(cookie(&headers, "c"), Some(&b"\""[..]));
        assert_eq!(cookie(&headers, "d"), None);
    }

    #[test]
    fn no_length_and_no_byte_hides_a_cookie() {
        let long = [&b"\xff=\xfe; a=\xff"[..], &[b'x'; 100_000]].concat();
        assert_eq!(cookie(&headers(&[&long]), "a").map(<[u8]>::len), Some(100_001));
    }

    #[test]
    fn other_headers_and_bare_names_are_no_cookies() {
        let other = [("x-cookie".to_owned(), b"a=1".to_vec()), ("cookie".to_owned(), b"b; a; =a".to_vec())];
        assert_eq!(cookie(&other, "a"), None);
    }
}
