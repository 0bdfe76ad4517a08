//! The headers by which an answer reports what is left of the rates that its caller met, as
//! draft-ietf-httpapi-ratelimit-headers-10 defines them.

use svc_model::ServiceError;

use crate::answer::response::ChannelResponse;

/// The rate and what it leaves, each with one member for every rate.
const POLICY_HEADER: &str = "ratelimit-policy";
const STATE_HEADER: &str = "ratelimit";

/// The largest integer of a structured field (RFC 9651, section 3.3.1): a parser drops the whole field for a larger one.
const MAX_INTEGER: u64 = 999_999_999_999_999;

/// The status of a refused credential: its answer is the same whatever else is known of the caller.
const UNAUTHORIZED: u16 = 401;

/// A rate, and what it left to a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RateState {
    /// Requests within a window.
    pub(crate) quota: u64,
    /// Seconds of a window.
    pub(crate) window: u64,
    /// Requests that are left now.
    pub(crate) left: u64,
    /// Seconds until all are there again.
    pub(crate) reset: u64,
}

/// The rates that a request met, by the keys of their guards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RateReport(Vec<(&'static str, RateState)>);

impl RateReport {
    pub(crate) fn add(&mut self, guard: &'static str, state: RateState) {
        self.0.push((guard, state));
    }

    /// Adds the headers to an answer or to an error, but to no 401.
    pub(crate) fn write(
        &self,
        answer: Result<ChannelResponse, ServiceError>,
    ) -> Result<ChannelResponse, ServiceError> {
        match answer {
            Ok(mut answer) if answer.status != UNAUTHORIZED => {
                answer.set_header(POLICY_HEADER, self.policies());
                answer.set_header(STATE_HEADER, self.states());
                Ok(answer)
            }
            Err(error) if error.status() != UNAUTHORIZED => Err(error
                .with_header(POLICY_HEADER, self.policies())
                .with_header(STATE_HEADER, self.states())),
            unauthorized => unauthorized,
        }
    }

    fn policies(&self) -> String {
        self.list(|state| format!("q={};w={}", to_integer(state.quota), to_integer(state.window)))
    }

    fn states(&self) -> String {
        self.list(|state| format!("r={};t={}", to_integer(state.left), to_integer(state.reset)))
    }

    fn list(&self, parameters: impl Fn(&RateState) -> String) -> String {
        let items = self.0.iter().map(|(guard, state)| format!("\"{guard}\";{}", parameters(state)));
        items.collect::<Vec<_>>().join(", ")
    }
}

/// Returns the nearest integer that a structured field can have.
fn to_integer(number: u64) -> u64 {
    number.min(MAX_INTEGER)
}

#[cfg(test)]
mod tests {
    use svc_model::Code;

    use super::*;

    fn report() -> RateReport {
        let mut report = RateReport::default();
        report.add("rate_limit", RateState { quota: 20, window: 2, left: 19, reset: 1 });
        report.add("principal_rate_limit", RateState { quota: 5, window: 1, left: 0, reset: 1 });
        report
    }

    #[test]
    fn answer_and_error_name_each_rate() {
        let policy = r#""rate_limit";q=20;w=2, "principal_rate_limit";q=5;w=1"#;
        let state = r#""rate_limit";r=19;t=1, "principal_rate_limit";r=0;t=1"#;
        let answer = report().write(Ok(ChannelResponse::json(200, "{}".to_owned()))).unwrap();
        for (name, value) in [(POLICY_HEADER, policy), (STATE_HEADER, state)] {
            assert!(answer.headers.contains(&(name.to_owned(), value.to_owned())), "{:?}", answer.headers);
        }
        let refused = report().write(Err(ServiceError::rate_limited())).unwrap_err();
        let expected = [(POLICY_HEADER, policy.to_owned()), (STATE_HEADER, state.to_owned())];
        assert_eq!((refused.code(), refused.headers()), (Code::RateLimited, &expected[..]));
    }

    #[test]
    fn numbers_have_fifteen_digits_at_most() {
        let mut report = RateReport::default();
        report
            .add("quota", RateState { quota: u64::MAX, window: 60, left: 1_000_000_000_000_000, reset: 60 });
        assert_eq!(report.policies(), "\"quota\";q=999999999999999;w=60");
        assert_eq!(report.states(), "\"quota\";r=999999999999999;t=60");
    }

    #[test]
    fn refused_credential_has_no_rates() {
        let refused = report().write(Err(ServiceError::unauthorized())).unwrap_err();
        assert!(refused.headers().is_empty());
        let own = report().write(Ok(ChannelResponse::json(401, "{}".to_owned()))).unwrap();
        assert_eq!(own, ChannelResponse::json(401, "{}".to_owned()));
    }
}
