//! Query strings: parameters are read strictly, and only those that the endpoint has.

use std::collections::HashMap;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest, web};
use chrono::Datelike as _;
use std::future::{Ready, ready};
use svc_api::QueryParameter;
use svc_model::{FieldError, Page, ServiceError, Timestamp};
use svc_store::AnyOf;

use super::parameters;
use crate::http::Error;

/// The query of a request, or the filter in a body that has its words; of a repeated key that takes one value the last
/// counts.
#[derive(Debug, Default)]
pub(crate) struct QueryParameters {
    values: HashMap<String, Vec<String>>,
    /// True for the words of `body.filter`, which a refusal names as a member of the body.
    is_filter: bool,
    /// The parameters that are let through to the endpoint.
    known: Option<&'static [QueryParameter]>,
}

impl QueryParameters {
    /// Returns the words of a filter as the parameters of a list, which they were checked against.
    pub(crate) fn from_words(values: HashMap<String, Vec<String>>, known: &'static [QueryParameter]) -> Self {
        Self { values, is_filter: true, known: Some(known) }
    }

    /// Returns the refusal of the value of a key.
    fn refuse(&self, key: &str, expectation: &str) -> ServiceError {
        if !self.is_filter {
            return ServiceError::validation(format!("query parameter '{key}' {expectation}"));
        }
        let message = format!("filter word '{key}' {expectation}");
        let sent = self.list_sent(key).join(",");
        FieldError::invalid(format!("body.filter.{key}"), message).with_got(sent).into()
    }

    /// Returns a range that does not end before it begins.
    fn check_range(&self, range: TimeRange) -> Result<TimeRange, ServiceError> {
        check_range(range).map_err(|error| {
            if self.is_filter {
                FieldError::invalid("body.filter.until", error.message()).into()
            } else {
                error
            }
        })
    }

    /// Returns the value of a key, if present.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        debug_assert!(
            self.known.is_none_or(|known| known.iter().any(|parameter| parameter.name == key)),
            "'{key}' is missing among the parameters of the endpoint"
        );
        self.list_sent(key).last().map(String::as_str)
    }

    /// Returns every value of a key, as sent.
    fn list_sent(&self, key: &str) -> &[String] {
        self.values.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the values of a key that takes several, separated by commas or repeated; `None` if there is none.
    pub(crate) fn any_of(&self, key: &str) -> Option<AnyOf> {
        let parameter = self.known.into_iter().flatten().find(|parameter| parameter.name == key);
        let spell = |value: &str| {
            parameter.and_then(|parameter| parameter.spelling(value)).unwrap_or(value).to_owned()
        };
        let parts = self.list_sent(key).iter().flat_map(|sent| sent.split(','));
        let values: Vec<_> = parts.map(str::trim).filter(|value| !value.is_empty()).map(spell).collect();
        (!values.is_empty()).then(|| AnyOf::new(values))
    }

    /// Returns the whole numbers of a key that takes several; none if it is absent.
    pub(crate) fn numbers(&self, key: &str) -> Result<Vec<i64>, ServiceError> {
        let values = self.any_of(key).unwrap_or_default();
        let parse = |text: &String| text.parse().ok().filter(|number: &i64| *number >= 0);
        let numbers = values.values().iter().map(parse).collect::<Option<_>>();
        numbers.ok_or_else(|| self.refuse(key, "must be whole numbers, 0 or more"))
    }

    /// Returns the range of `since` and `until`, each an instant or a time ago.
    ///
    /// # Errors
    /// 400 for a range that ends before it begins.
    pub(crate) fn range(&self, now: Timestamp) -> Result<TimeRange, ServiceError> {
        let range = (self.moment("since", now)?, self.moment("until", now)?);
        self.check_range(range)
    }

    /// Does the same for a list that took instants without a zone from the beginning, as those in UTC.
    ///
    /// # Errors
    /// As [`Self::range`].
    pub(crate) fn zoneless_range(&self, now: Timestamp) -> Result<TimeRange, ServiceError> {
        self.check_range((self.zoneless_moment("since", now)?, self.zoneless_moment("until", now)?))
    }

    /// Returns the direction of the default order of a list, `asc` or `desc`, if one is asked for.
    ///
    /// # Errors
    /// 400 together with `sort_by`.
    pub(crate) fn order(&self) -> Result<Option<String>, ServiceError> {
        let order = self.text("order");
        if order.is_some() && self.values.contains_key("sort_by") {
            return Err(ServiceError::validation(
                "query parameters 'order' and 'sort_by' exclude each other; with 'sort_by' the direction is 'sort_order'",
            ));
        }
        Ok(order)
    }

    /// Returns the value of a key as owned text, if present and not empty: one of a set of names as the set spells it.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        let sent = self.get(key).filter(|value| !value.is_empty())?;
        let parameter = self.known.into_iter().flatten().find(|parameter| parameter.name == key);
        Some(parameter.and_then(|parameter| parameter.spelling(sent)).unwrap_or(sent).to_owned())
    }

    /// Returns an instant in RFC 3339, or one so long before `now`, if present.
    pub(crate) fn moment(&self, key: &str, now: Timestamp) -> Result<Option<Timestamp>, ServiceError> {
        self.read_moment(key, now, Timestamp::parse_rfc3339)
    }

    /// Does the same for a word that took an instant without a zone from the beginning, as one in UTC.
    pub(crate) fn zoneless_moment(
        &self,
        key: &str,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, ServiceError> {
        self.read_moment(key, now, Timestamp::parse)
    }

    fn read_moment(
        &self,
        key: &str,
        now: Timestamp,
        parse: fn(&str) -> Option<Timestamp>,
    ) -> Result<Option<Timestamp>, ServiceError> {
        let Some(text) = self.get(key) else { return Ok(None) };
        let moment = match text.strip_prefix('-') {
            Some(ago) => before(now, ago),
            // An unescaped + of an offset arrives as a blank.
            None => parse(text).or_else(|| parse(&text.replace(' ', "+"))),
        };
        moment.map(Some).ok_or_else(|| {
            self.refuse(
                key,
                "must be an RFC 3339 instant with an offset or Z, such as 2026-01-31T08:00:00Z, or a time ago such \
                 as -15m, -2h or -7d",
            )
        })
    }

    /// Returns a whole number, 0 or more, if present.
    pub(crate) fn integer(&self, key: &str) -> Result<Option<i64>, ServiceError> {
        let Some(text) = self.get(key) else { return Ok(None) };
        let parsed = text.parse().ok().filter(|number| *number >= 0);
        parsed.map(Some).ok_or_else(|| self.refuse(key, "must be a whole number, 0 or more"))
    }

    /// Returns `limit` and `offset`.
    pub(crate) fn page(&self) -> Result<Page, ServiceError> {
        Page::parse(self.get("limit"), self.get("offset"))
    }

    /// Returns the cursor of a previous page, if present and not empty.
    ///
    /// # Errors
    /// 400 if combined with an offset.
    pub(crate) fn cursor(&self) -> Result<Option<&str>, ServiceError> {
        let cursor = self.get("cursor").filter(|cursor| !cursor.is_empty());
        if cursor.is_some() && self.get("offset").is_some() {
            return Err(ServiceError::validation(
                "query parameters 'cursor' and 'offset' exclude each other",
            ));
        }
        Ok(cursor)
    }

    /// Returns a boolean; absent means `false`.
    pub(crate) fn flag(&self, key: &str) -> Result<bool, ServiceError> {
        self.one_of(key, &[("false", false), ("true", true)])
    }

    /// Returns a boolean, or `None` if absent.
    pub(crate) fn choice(&self, key: &str) -> Result<Option<bool>, ServiceError> {
        self.get(key).map(|_| self.flag(key)).transpose()
    }

    /// Returns true if the number of all rows is left out of a list that has it.
    pub(crate) fn leaves_out_total(&self) -> Result<bool, ServiceError> {
        Ok(self.choice("include_total")? == Some(false))
    }

    /// Refuses the dry run of a request that cannot be tried without its effect.
    ///
    /// # Errors
    /// 400 with `dry_run=true`.
    pub(crate) fn refuse_dry_run(&self) -> Result<(), ServiceError> {
        if self.flag("dry_run")? {
            return Err(ServiceError::validation(
                "this request has no dry run, and nothing was done; send it without dry_run",
            ));
        }
        Ok(())
    }

    /// Returns one of the named values; absent means the first of them.
    pub(crate) fn one_of<T: Copy>(&self, key: &str, known: &[(&str, T)]) -> Result<T, ServiceError> {
        let Some(text) = self.get(key).or(known.first().map(|(name, _)| *name)) else {
            return Err(ServiceError::internal_error("a query choice without values"));
        };
        known.iter().find(|(name, _)| *name == text).map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
            self.refuse(key, &format!("must be one of {}", names.join(", ")))
        })
    }
}

/// The two ends of a range of time, either of which may be absent.
pub(crate) type TimeRange = (Option<Timestamp>, Option<Timestamp>);

/// Returns a range that does not end before it begins.
///
/// # Errors
/// 400 for one that does.
pub(super) fn check_range(range: TimeRange) -> Result<TimeRange, ServiceError> {
    match range {
        (Some(since), Some(until)) if until < since => {
            Err(ServiceError::validation("the range of 'since' and 'until' ends before it begins"))
        }
        range => Ok(range),
    }
}

/// Returns the instant that lies a number of seconds, minutes, hours or days before another; `None` for one before the
/// year 0, which RFC 3339 cannot write.
fn before(now: Timestamp, ago: &str) -> Option<Timestamp> {
    let unit = ago.chars().last()?;
    let number: i64 = ago.strip_suffix(unit)?.parse().ok().filter(|number| *number >= 0)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => return None,
    };
    let ago = chrono::Duration::try_seconds(number.checked_mul(seconds)?)?;
    let instant = now.naive().checked_sub_signed(ago).filter(|instant| instant.year() >= 0)?;
    Some(Timestamp::from_naive(instant))
}

impl FromRequest for QueryParameters {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let pairs = web::Query::<Vec<(String, String)>>::from_query(request.query_string());
        ready(match pairs {
            Ok(pairs) => {
                let mut values: HashMap<String, Vec<String>> = HashMap::new();
                for (key, value) in pairs.into_inner() {
                    values.entry(key).or_default().push(value);
                }
                Ok(Self { values, is_filter: false, known: parameters::endpoint_parameters(request) })
            }
            Err(_) => Err(ServiceError::validation("The query string cannot be parsed").into()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(pairs: &[(&str, &str)]) -> QueryParameters {
        let mut values: HashMap<String, Vec<String>> = HashMap::new();
        for (key, value) in pairs {
            values.entry((*key).to_owned()).or_default().push((*value).to_owned());
        }
        QueryParameters { values, is_filter: false, known: None }
    }

    #[test]
    fn choice_defaults_to_first_and_refuses_others() {
        let names = [("now", 1), ("defer", 2)];
        assert_eq!(query(&[]).one_of("reload", &names).unwrap(), 1);
        assert_eq!(query(&[("reload", "defer")]).one_of("reload", &names).unwrap(), 2);
        let error = query(&[("reload", "soon")]).one_of("reload", &names).unwrap_err();
        assert!(error.message().contains("reload") && error.message().contains("defer"));
        assert!(query(&[("dry_run", "yes")]).flag("dry_run").is_err());
    }

    #[test]
    fn several_values_are_separated_or_repeated() {
        let several = query(&[("status", "failed, retrying"), ("status", "pending"), ("channel", ",")]);
        let values = several.any_of("status").unwrap();
        assert_eq!(values.values(), ["failed", "retrying", "pending"]);
        assert_eq!((several.any_of("channel"), several.any_of("mode")), (None, None));
        assert_eq!(query(&[("version", "1,3"), ("version", "2")]).numbers("version").unwrap(), [1, 3, 2]);
        for refused in ["1,x", "-1", "1.5"] {
            assert_eq!(
                query(&[("version", refused)]).numbers("version").unwrap_err().status(),
                400,
                "{refused}"
            );
        }
    }

    #[test]
    fn range_that_ends_before_its_begin_is_refused() {
        let now = Timestamp::parse("2026-01-02T12:00:00Z").unwrap();
        let range = |since, until| query(&[("since", since), ("until", until)]).range(now);
        assert!(range("-2h", "-1h").is_ok() && range("-1h", "-1h").is_ok());
        assert_eq!(range("-1h", "-2h").unwrap_err().status(), 400);
    }

    #[test]
    fn order_excludes_a_sorting_column() {
        assert_eq!(query(&[("order", "asc")]).order().unwrap().as_deref(), Some("asc"));
        assert_eq!(query(&[("sort_by", "status")]).order().unwrap(), None);
        assert_eq!(query(&[("order", "asc"), ("sort_by", "status")]).order().unwrap_err().status(), 400);
    }

    #[test]
    fn moment_is_an_instant_or_a_time_ago() {
        let now = Timestamp::parse("2026-01-02T12:00:00Z").unwrap();
        let read = |text: &str| query(&[("since", text)]).moment("since", now);
        for (text, expected) in [
            ("2026-01-02T11:59:30Z", "2026-01-02T11:59:30Z"),
            ("-30s", "2026-01-02T11:59:30Z"),
            ("-15m", "2026-01-02T11:45:00Z"),
            ("-2h", "2026-01-02T10:00:00Z"),
            ("-7d", "2025-12-26T12:00:00Z"),
            ("-0s", "2026-01-02T12:00:00Z"),
        ] {
            assert_eq!(read(text).unwrap(), Timestamp::parse(expected), "{text}");
        }
        assert_eq!(query(&[]).moment("since", now).unwrap(), None);
        for refused in [
            "-",
            "-m",
            "-15",
            "-15w",
            "--5m",
            "-1.5h",
            "-999999d",
            "-9223372036854775807d",
            "15m",
            "yesterday",
        ] {
            let message = read(refused).unwrap_err().message().to_owned();
            assert!(message.contains("'since'") && message.contains("-15m"), "{refused}: {message}");
        }
    }

    #[test]
    fn instant_needs_an_offset_invalid_is_named() {
        let now = Timestamp::parse("2026-01-03T12:00:00Z").unwrap();
        let read = |text: &str| query(&[("since", text)]).moment("since", now);
        let noon = Timestamp::parse("2026-01-02T12:00:00");
        for text in ["2026-01-02T12:00:00Z", "2026-01-02T14:00:00+02:00", "2026-01-02T14:00:00 02:00"] {
            assert_eq!(read(text).unwrap(), noon, "{text}");
        }
        for zoneless in ["2026-01-02T12:00:00", "2026-01-02 12:00:00"] {
            assert!(read(zoneless).is_err(), "{zoneless}");
            let lenient = query(&[("since", zoneless)]).zoneless_moment("since", now);
            assert_eq!(lenient.unwrap(), noon, "{zoneless}");
        }
        assert!(read("").is_err());
        assert!(read("yesterday").unwrap_err().message().contains("since"));
    }
}
