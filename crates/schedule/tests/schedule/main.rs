//! Tests of schedules: the grammar, the instants, and the effect of clock changes.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod daylight;
mod grammar;
mod sweep;
mod walk;
mod zones;

use chrono::{DateTime, Utc};
use svc_schedule::Schedule;

fn parse_instant(text: &str) -> DateTime<Utc> {
    text.parse().unwrap_or_else(|_| panic!("{text} is no instant"))
}

/// Returns the instants of a schedule between two instants, the first excluded, in UTC.
fn fires(expression: &str, zone: &str, after: &str, until: &str) -> Vec<String> {
    let schedule = Schedule::parse(expression, zone).unwrap();
    let due = schedule.upcoming(parse_instant(after)).take_while(|next| *next <= parse_instant(until));
    due.map(|next| next.format("%Y-%m-%dT%H:%M:%SZ").to_string()).collect()
}
