//! The headers by which a submitter has its message run later.

use std::time::Duration;

use svc_model::{ServiceError, Timestamp};
use svc_traces::DueTime;

use crate::request::{DataRequest, Delivery};

/// Header with the instant before which a message is not run.
const DELIVER_AT: &str = "svc-deliver-at";
/// Header with the time that a message waits before it is run.
const DELAY: &str = "svc-delay";
/// Begin of both names: most requests have neither.
const PREFIX: &str = "svc-de";

/// Reads the time at which a request wants to be run; `None` for at once. `longest` is the longest wait, `now` the clock
/// of this node, which judges that bound alone: the clock of the database decides when the message is due.
///
/// # Errors
/// 400 for both headers, one on a synchronous call, one that does not parse, or a wait beyond the bound.
pub(crate) fn read_delivery_time(
    request: &DataRequest,
    longest: Duration,
    now: impl FnOnce() -> Timestamp,
) -> Result<Option<DueTime>, ServiceError> {
    let mut named = request.headers.iter().filter(|(name, _)| name.starts_with(PREFIX)).peekable();
    if named.peek().is_none() {
        return Ok(None);
    }
    let named: Vec<_> = named.filter(|(name, _)| name == DELIVER_AT || name == DELAY).collect();
    let (name, value) = match named.as_slice() {
        [] => return Ok(None),
        [header] => header,
        _ => return Err(ServiceError::validation(format!("Give one of {DELIVER_AT} and {DELAY}, once"))),
    };
    if request.delivery == Delivery::Sync {
        let remedy = "call the channel below /async, or set its request.mode to accept";
        return Err(ServiceError::validation(format!("{name} is for accepted work: {remedy}")));
    }
    let text = std::str::from_utf8(value).unwrap_or_default().trim();
    let due = match &**name {
        DELAY => parse_delay(text).map(DueTime::After),
        _ => Timestamp::parse_rfc3339(text).map(DueTime::At),
    };
    let form = match due {
        _ if name == DELAY => "a time like 90s, 15m, 2h or 1d",
        _ => "an instant like 2026-01-31T08:00:00Z",
    };
    let due = due.ok_or_else(|| ServiceError::validation(format!("{name} must be {form}")))?;
    let wait = match due {
        DueTime::After(delay) => delay,
        DueTime::At(instant) => (instant.naive() - now().naive()).to_std().unwrap_or_default(),
    };
    if wait > longest {
        let days = longest.as_secs() / 86_400;
        let why = format!("{name} is too far away: trace_queue.max_delay_days allows {days} days");
        return Err(ServiceError::validation(why));
    }
    Ok(Some(due).filter(|due| *due != DueTime::After(Duration::ZERO)))
}

/// Parses a number with a unit; 0 needs none.
fn parse_delay(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return None,
    };
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    number.parse::<u64>().ok()?.checked_mul(seconds).map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const MONTH: Duration = Duration::from_secs(30 * 86_400);

    fn read(delivery: Delivery, headers: &[(&str, &str)]) -> Result<Option<DueTime>, String> {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()));
        let request =
            DataRequest { delivery, headers: headers.collect(), ..DataRequest::embedded(json!(null)) };
        let now = || Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
        read_delivery_time(&request, MONTH, now).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn header_delays_accepted_work() {
        let after = |seconds| Some(DueTime::After(Duration::from_secs(seconds)));
        for (text, expected) in [
            ("90s", after(90)),
            (" 2h ", after(7200)),
            ("15m", after(900)),
            ("30d", after(30 * 86_400)),
            ("0s", None),
            ("0", None),
        ] {
            assert_eq!(read(Delivery::Async, &[(DELAY, text)]), Ok(expected), "{text}");
        }
        let instant = |text| Some(DueTime::At(Timestamp::parse(text).unwrap()));
        for (text, expected) in [
            ("2026-01-02T03:04:05Z", instant("2026-01-02T03:04:05Z")),
            ("2026-01-02T03:04:05+01:00", instant("2026-01-02T02:04:05Z")),
            ("1999-01-01T00:00:00Z", instant("1999-01-01T00:00:00Z")),
        ] {
            assert_eq!(read(Delivery::Async, &[(DELIVER_AT, text)]), Ok(expected), "{text}");
        }
        assert_eq!(read(Delivery::Async, &[("svc-debug", "1"), ("accept", "*/*")]), Ok(None));
    }

    #[test]
    fn impossible_delays_are_refused() {
        for headers in [
            &[(DELAY, "1s"), (DELIVER_AT, "2026-01-01T00:00:00Z")][..],
            &[(DELAY, "1s"), (DELAY, "2s")],
            &[(DELAY, "")],
            &[(DELAY, "s")],
            &[(DELAY, "-1s")],
            &[(DELAY, "1.5h")],
            &[(DELAY, "90")],
            &[(DELAY, "31d")],
            &[(DELAY, "99999999999999999999d")],
            &[(DELIVER_AT, "tomorrow")],
            &[(DELIVER_AT, "2026-01-01T00:00:00")],
            &[(DELIVER_AT, "2026-02-01T00:00:00Z")],
        ] {
            let refused = read(Delivery::Async, headers).expect_err("it is refused");
            assert!(refused.contains("svc-de"), "{headers:?}: {refused}");
        }
        let refused = read(Delivery::Sync, &[(DELAY, "0s")]).expect_err("nobody waits for a delayed answer");
        assert!(refused.contains("/async"), "{refused}");
    }
}
