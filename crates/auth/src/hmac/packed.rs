//! Headers with packed, comma-separated `k=v` pairs.

/// Returns the values of a key, in order. Spaces around a pair are trimmed; keys are compared byte by byte;
/// the value is everything after the first `=`, unchanged.
pub(super) fn values<'h>(header: &'h [u8], key: &str) -> impl Iterator<Item = &'h [u8]> {
    header.split(|byte| *byte == b',').filter_map(move |pair| {
        let pair = pair.trim_ascii();
        let (name, value) = pair.split_at(pair.iter().position(|byte| *byte == b'=')?);
        (name == key.as_bytes()).then(|| &value[1..])
    })
}

#[cfg(test)]
mod tests {
    use super::values;

    fn values_of(header: &str, key: &str) -> Vec<String> {
        let text = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
        values(header.as_bytes(), key).map(text).collect()
    }

    #[test]
    fn every_value_of_the_key_is_found_in_order() {
        assert_eq!(values_of("t=1, v1=a ,v0=x,\tv1=b", "v1"), ["a", "b"]);
        assert_eq!(values_of("v1=a=b==", "v1"), ["a=b=="]);
        assert_eq!(values_of("v1=", "v1"), [""]);
        assert_eq!(values_of("v1=\"a\"", "v1"), ["\"a\""]);
    }

    #[test]
    fn another_key_is_another_key() {
        for header in ["", ",", "v1", "V1=a", "v1 =a", "v11=a", "=a", "t=v1", ";v1=a"] {
            assert_eq!(values_of(header, "v1"), Vec::<String>::new(), "{header:?}");
        }
    }
}
