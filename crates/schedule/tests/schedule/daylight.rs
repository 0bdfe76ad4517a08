//! Places with unusual changes of the clock.

use crate::fires;

/// A schedule over the days around a change of the clock.
struct Case {
    zone: &'static str,
    expression: &'static str,
    after: &'static str,
    until: &'static str,
    due: &'static [&'static str],
}

fn check(cases: &[Case]) {
    for Case { zone, expression, after, until, due } in cases {
        let (after, until) = (format!("{after}:00Z"), format!("{until}:00Z"));
        let instants = fires(expression, zone, &after, &until);
        let due: Vec<_> = due.iter().map(|due| format!("{due}:00Z")).collect();
        assert_eq!(instants, due, "{expression} in {zone}");
    }
}

const fn case(
    zone: &'static str,
    expression: &'static str,
    after: &'static str,
    until: &'static str,
    due: &'static [&'static str],
) -> Case {
    Case { zone, expression, after, until, due }
}

#[test]
fn named_hour_inside_gap_fires_at_its_end() {
    check(&[
        case(
            "Europe/Berlin",
            "30 2 * * *",
            "2026-03-28T00:00",
            "2026-03-30T12:00",
            &["2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"],
        ),
        // One step of the clock covers the skipped local times and the local time at its end.
        case("Europe/Berlin", "*/10 2 * * *", "2026-03-29T00:00", "2026-03-29T12:00", &["2026-03-29T01:00"]),
        case(
            "Europe/Berlin",
            "0,30 2-3 * * *",
            "2026-03-29T00:00",
            "2026-03-29T12:00",
            &["2026-03-29T01:00", "2026-03-29T01:30"],
        ),
        case("America/New_York", "30 2 8 3 *", "2026-01-01T00:00", "2026-12-01T00:00", &["2026-03-08T07:00"]),
    ]);
}

#[test]
fn repeated_named_hour_fires_at_the_first() {
    check(&[
        case(
            "Europe/Berlin",
            "30 2 * * *",
            "2026-10-24T12:00",
            "2026-10-26T12:00",
            &["2026-10-25T00:30", "2026-10-26T01:30"],
        ),
        case(
            "Europe/Berlin",
            "*/20 2 * * *",
            "2026-10-25T00:00",
            "2026-10-25T12:00",
            &["2026-10-25T00:20", "2026-10-25T00:40"],
        ),
        // The search starts within the repetition.
        case("Europe/Berlin", "30 2 * * *", "2026-10-25T01:00", "2026-10-26T12:00", &["2026-10-26T01:30"]),
        case("Europe/Berlin", "15,45 2 * * *", "2026-10-25T01:20", "2026-10-25T12:00", &[]),
        case("Europe/Berlin", "0 3 * * *", "2026-10-25T01:20", "2026-10-25T12:00", &["2026-10-25T02:00"]),
    ]);
}

#[test]
fn a_wildcard_or_stepped_hour_follows_elapsed_time() {
    check(&[
        case(
            "Europe/Berlin",
            "30 * * * *",
            "2026-03-29T00:00",
            "2026-03-29T02:30",
            &["2026-03-29T00:30", "2026-03-29T01:30", "2026-03-29T02:30"],
        ),
        case(
            "Europe/Berlin",
            "30 * * * *",
            "2026-10-25T00:00",
            "2026-10-25T02:30",
            &["2026-10-25T00:30", "2026-10-25T01:30", "2026-10-25T02:30"],
        ),
        // An even hour that does not exist is skipped; one that occurs twice fires twice.
        case(
            "Europe/Berlin",
            "0 */2 * * *",
            "2026-03-28T22:00",
            "2026-03-29T04:00",
            &["2026-03-28T23:00", "2026-03-29T02:00", "2026-03-29T04:00"],
        ),
        case(
            "Europe/Berlin",
            "0 */2 * * *",
            "2026-10-24T21:00",
            "2026-10-25T03:00",
            &["2026-10-24T22:00", "2026-10-25T00:00", "2026-10-25T01:00", "2026-10-25T03:00"],
        ),
        case(
            "Europe/Berlin",
            "30 1/1 * * *",
            "2026-03-29T00:00",
            "2026-03-29T02:00",
            &["2026-03-29T00:30", "2026-03-29T01:30"],
        ),
        case(
            "Europe/Berlin",
            "@hourly",
            "2026-10-25T00:00",
            "2026-10-25T02:00",
            &["2026-10-25T01:00", "2026-10-25T02:00"],
        ),
    ]);
}

#[test]
fn lord_howe_moves_by_half_an_hour() {
    check(&[
        case(
            "Australia/Lord_Howe",
            "15 2 * * *",
            "2026-10-03T00:00",
            "2026-10-04T16:00",
            &["2026-10-03T15:30", "2026-10-04T15:15"],
        ),
        case(
            "Australia/Lord_Howe",
            "45 1 * * *",
            "2026-04-04T00:00",
            "2026-04-05T16:00",
            &["2026-04-04T14:45", "2026-04-05T15:15"],
        ),
        case(
            "Australia/Lord_Howe",
            "*/15 * * * *",
            "2026-04-04T14:30",
            "2026-04-04T15:30",
            &["2026-04-04T14:45", "2026-04-04T15:00", "2026-04-04T15:15", "2026-04-04T15:30"],
        ),
        case(
            "Australia/Lord_Howe",
            "0 * * * *",
            "2026-04-04T13:30",
            "2026-04-04T16:30",
            &["2026-04-04T14:00", "2026-04-04T15:30", "2026-04-04T16:30"],
        ),
    ]);
}

#[test]
fn santiago_and_cairo_have_no_midnight_once_a_year() {
    check(&[
        case(
            "America/Santiago",
            "@daily",
            "2026-09-05T00:00",
            "2026-09-07T12:00",
            &["2026-09-05T04:00", "2026-09-06T04:00", "2026-09-07T03:00"],
        ),
        case(
            "America/Santiago",
            "30 23 * * *",
            "2026-04-04T12:00",
            "2026-04-06T12:00",
            &["2026-04-05T02:30", "2026-04-06T03:30"],
        ),
        case("America/Santiago", "@daily", "2026-04-05T00:00", "2026-04-05T12:00", &["2026-04-05T04:00"]),
        case(
            "Africa/Cairo",
            "@daily",
            "2026-04-23T00:00",
            "2026-04-25T00:00",
            &["2026-04-23T22:00", "2026-04-24T21:00"],
        ),
        case(
            "Africa/Cairo",
            "30 23 * * *",
            "2026-10-29T12:00",
            "2026-10-30T23:00",
            &["2026-10-29T20:30", "2026-10-30T21:30"],
        ),
    ]);
}

#[test]
fn apia_had_no_30_december_2011() {
    check(&[
        case(
            "Pacific/Apia",
            "0 9 * * *",
            "2011-12-28T20:00",
            "2011-12-31T00:00",
            &["2011-12-29T19:00", "2011-12-30T10:00", "2011-12-30T19:00"],
        ),
        case("Pacific/Apia", "0 9 30 12 *", "2011-06-01T00:00", "2012-06-01T00:00", &["2011-12-30T10:00"]),
        case(
            "Pacific/Apia",
            "0 */12 * * *",
            "2011-12-29T09:00",
            "2011-12-31T00:00",
            &["2011-12-29T10:00", "2011-12-29T22:00", "2011-12-30T10:00", "2011-12-30T22:00"],
        ),
    ]);
}

#[test]
fn troll_moves_by_two_hours() {
    check(&[
        case(
            "Antarctica/Troll",
            "30 1,2 * * *",
            "2026-03-28T12:00",
            "2026-03-30T00:00",
            &["2026-03-29T01:00", "2026-03-29T23:30"],
        ),
        case(
            "Antarctica/Troll",
            "30 1,2 * * *",
            "2026-10-24T12:00",
            "2026-10-25T12:00",
            &["2026-10-24T23:30", "2026-10-25T00:30"],
        ),
        case(
            "Antarctica/Troll",
            "30 * * * *",
            "2026-10-24T23:00",
            "2026-10-25T03:00",
            &["2026-10-24T23:30", "2026-10-25T00:30", "2026-10-25T01:30", "2026-10-25T02:30"],
        ),
    ]);
}

#[test]
fn summer_time_below_the_standard_makes_no_difference() {
    check(&[
        // Morocco sets its clocks back for Ramadan.
        case(
            "Africa/Casablanca",
            "30 2 * * *",
            "2026-02-14T12:00",
            "2026-02-16T12:00",
            &["2026-02-15T01:30", "2026-02-16T02:30"],
        ),
        case(
            "Africa/Casablanca",
            "30 2 * * *",
            "2026-03-21T12:00",
            "2026-03-23T12:00",
            &["2026-03-22T02:00", "2026-03-23T01:30"],
        ),
        // The clock is set forward again before the day of the schedule returns.
        case(
            "Africa/Casablanca",
            "30 2/23 15 2 *",
            "2026-01-01T00:00",
            "2026-12-31T00:00",
            &["2026-02-15T01:30", "2026-02-15T02:30"],
        ),
        // In the IANA database the Irish winter time is the exception.
        case(
            "Europe/Dublin",
            "30 1 * * *",
            "2026-03-28T12:00",
            "2026-03-30T12:00",
            &["2026-03-29T01:00", "2026-03-30T00:30"],
        ),
        case(
            "Europe/Dublin",
            "30 1 * * *",
            "2026-10-24T12:00",
            "2026-10-26T12:00",
            &["2026-10-25T00:30", "2026-10-26T01:30"],
        ),
    ]);
}

#[test]
fn gaza_changes_its_clocks_on_a_saturday() {
    check(&[
        case(
            "Asia/Gaza",
            "30 2 * * *",
            "2026-03-27T12:00",
            "2026-03-29T12:00",
            &["2026-03-28T00:00", "2026-03-28T23:30"],
        ),
        case(
            "Asia/Gaza",
            "30 1 * * *",
            "2026-10-23T12:00",
            "2026-10-25T12:00",
            &["2026-10-23T22:30", "2026-10-24T23:30"],
        ),
        // Gaza changed twice per summer while Ramadan fell in it; in April 2023 the clock went back late.
        case("Asia/Gaza", "30 2 29 4 *", "2023-01-01T00:00", "2023-12-31T00:00", &["2023-04-29T00:00"]),
    ]);
}
