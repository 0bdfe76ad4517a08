//! `Retry-After` of a response (RFC 9110, 10.2.3).

use std::time::{Duration, SystemTime};

use reqwest::StatusCode;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// The longest wait that a server may ask for. A longer one counts as this one.
const LONGEST: Duration = Duration::from_secs(60 * 60);

/// Returns the wait that a response with the status 429 or 503 asks for, at most an hour; `None` for any other
/// status, and without a readable header.
pub(crate) fn retry_after(status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
    if !matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        return None;
    }
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let wait = match is_number {
        // Too large for a number is longer than the longest.
        true => text.parse().map_or(LONGEST, Duration::from_secs),
        false => httpdate::parse_http_date(text).ok()?.duration_since(now(headers)).unwrap_or_default(),
    };
    Some(wait.min(LONGEST))
}

/// Returns the instant of the response: by the clock of the server, which wrote the other date too, else by
/// the clock of this machine.
#[expect(clippy::disallowed_methods, reason = "the date of a server that tells no date of its own")]
fn now(headers: &HeaderMap) -> SystemTime {
    let date = headers.get(DATE).and_then(|date| date.to_str().ok());
    date.and_then(|date| httpdate::parse_http_date(date).ok()).unwrap_or_else(SystemTime::now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(status: u16, headers: &[(&'static str, &'static str)]) -> Option<u64> {
        let headers = headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect::<HeaderMap>();
        retry_after(StatusCode::from_u16(status).unwrap(), &headers).map(|wait| wait.as_secs())
    }

    #[test]
    fn retry_after_of_429_and_503_is_bounded() {
        let sent = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        for (text, expected) in [
            ("0", 0),
            (" 7 ", 7),
            ("7200", 3600),
            ("99999999999999999999999999", 3600),
            ("Sun, 06 Nov 1994 08:50:07 GMT", 30),
            ("Sunday, 06-Nov-94 08:50:07 GMT", 30),
            ("Sun, 06 Nov 1994 08:00:00 GMT", 0),
            ("Sun, 06 Nov 1994 18:00:00 GMT", 3600),
        ] {
            assert_eq!(wait(429, &[("retry-after", text), sent]), Some(expected), "{text}");
            assert_eq!(wait(503, &[("retry-after", text), sent]), Some(expected), "{text}");
        }
        assert_eq!(wait(429, &[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")]), Some(0));
    }

    #[test]
    fn other_statuses_and_unreadable_headers_are_ignored() {
        for text in ["", "soon", "-1", "1.5", "1s"] {
            assert_eq!(wait(429, &[("retry-after", text)]), None, "{text}");
        }
        assert_eq!(wait(429, &[]), None);
        assert_eq!(wait(500, &[("retry-after", "1")]), None);
        assert_eq!(wait(302, &[("retry-after", "1")]), None);
    }
}
