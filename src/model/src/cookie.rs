//! Cookies of a request (RFC 6265).

/// Longest value that counts, in bytes.
const MAX_VALUE: usize = 4096;

/// The value of a cookie, looked up in headers whose names are in lower case.
///
/// Names compare exactly and the first of a repeated one decides. A pair of double quotes around the value is taken off;
/// a value that is empty or longer than 4096 bytes counts as absent, and so does a header that is not UTF-8.
pub fn cookie<'r>(headers: &'r [(String, Vec<u8>)], name: &str) -> Option<&'r str> {
    let (_, value) = headers
        .iter()
        .filter(|(header, _)| header == "cookie")
        .filter_map(|(_, line)| std::str::from_utf8(line).ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.split_once('='))
        .find(|(present, _)| present.trim() == name)?;
    let value = value.trim();
    let value = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
    (1..=MAX_VALUE).contains(&value.len()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[&str]) -> Vec<(String, Vec<u8>)> {
        lines.iter().map(|line| ("cookie".to_owned(), line.as_bytes().to_vec())).collect()
    }

    #[test]
    fn the_first_of_a_name_decides_even_when_it_is_empty() {
        let headers = headers(&["a=1; b=", "a=2; b=3; c = x=y "]);
        assert_eq!(cookie(&headers, "a"), Some("1"));
        assert_eq!(cookie(&headers, "b"), None);
        assert_eq!(cookie(&headers, "c"), Some("x=y"));
        assert_eq!(cookie(&headers, "A"), None, "names are exact");
    }

    #[test]
    fn one_pair_of_quotes_is_taken_off() {
        let headers = headers(&[r#"a="1"; b=""2""; c="; d="""#]);
        assert_eq!(cookie(&headers, "a"), Some("1"));
        assert_eq!(cookie(&headers, "b"), Some("\"2\""));
        assert_eq!(cookie(&headers, "c"), Some("\""));
        assert_eq!(cookie(&headers, "d"), None);
    }

    #[test]
    fn a_value_beyond_the_limit_is_absent() {
        for (length, present) in [(MAX_VALUE, true), (MAX_VALUE + 1, false)] {
            let headers = headers(&[&format!("a={}", "x".repeat(length))]);
            assert_eq!(cookie(&headers, "a").is_some(), present);
        }
    }

    #[test]
    fn other_headers_and_broken_text_are_no_cookies() {
        let headers = [("x-cookie".to_owned(), b"a=1".to_vec()), ("cookie".to_owned(), b"a=\xff".to_vec())];
        assert_eq!(cookie(&headers, "a"), None);
    }
}
