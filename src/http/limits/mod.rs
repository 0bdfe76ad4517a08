//! The limits of callers: bytes in flight, rates, and the pace of guesses and refusals.

pub(crate) mod guess_pacer;
pub(crate) mod in_flight;
pub(crate) mod lockout;
pub(crate) mod rate_limit;
pub(crate) mod refusal_pacer;
