//! The replay window: the maximum age of a signed request.

/// Returns true if the timestamp (Unix time in seconds, as text) differs from `now` by at most
/// `tolerance_secs`. A text that is not an integer is outside of the window.
pub(super) fn holds(tolerance_secs: u64, now: i64, text: &[u8]) -> bool {
    let text = std::str::from_utf8(text.trim_ascii()).unwrap_or_default();
    text.parse::<i64>().is_ok_and(|signed| now.abs_diff(signed) <= tolerance_secs)
}

#[cfg(test)]
mod tests {
    use super::holds;

    #[test]
    fn window_includes_both_of_its_edges() {
        for (text, inside) in [
            ("1000", true),
            ("700", true),
            ("699", false),
            ("1300", true),
            ("1301", false),
            (" 1000\t", true),
            ("1000.0", false),
            ("1e3", false),
            ("0x3e8", false),
            ("1 000", false),
            ("", false),
            ("-1000", false),
            ("now", false),
            ("１０００", false),
        ] {
            assert_eq!(holds(300, 1000, text.as_bytes()), inside, "{text:?}");
        }
        assert!(!holds(300, 1000, b"1000\xff"));
    }

    #[test]
    fn the_farthest_instants_do_not_overflow() {
        for (now, text, inside) in [
            (i64::MAX, "-9223372036854775808", false),
            (i64::MIN, "9223372036854775807", false),
            (i64::MIN, "-9223372036854775808", true),
            (i64::MAX, "9223372036854775807", true),
            (0, "9223372036854775808", false),
            (0, "-9223372036854775809", false),
            (0, "99999999999999999999999999", false),
        ] {
            assert_eq!(holds(300, now, text.as_bytes()), inside, "{now} {text}");
        }
        assert!(holds(u64::MAX, i64::MAX, b"-9223372036854775808"));
    }
}
