//! The iteration itself: strictly ascending, without needless work, to the last supported year.

use chrono::{DateTime, TimeDelta, Utc};
use svc_schedule::Schedule;

use crate::{fires, parse_instant};

/// Returns the number of local times examined between two instants, and the number of instants found.
fn effort(expression: &str, zone: &str, after: &str, until: &str) -> (u64, u64) {
    let schedule = Schedule::parse(expression, zone).unwrap();
    let (mut walk, mut found) = (schedule.upcoming(parse_instant(after)), 0);
    while walk.next().is_some_and(|next| next <= parse_instant(until)) {
        found += 1;
    }
    (walk.probes(), found)
}

#[test]
fn the_next_instant_is_strictly_after() {
    let schedule = Schedule::parse("*/10 * * * * *", "").unwrap();
    for (after, due) in [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:10Z"),
        ("2026-01-01T00:00:09Z", "2026-01-01T00:00:10Z"),
        ("2026-01-01T00:00:09.999999999Z", "2026-01-01T00:00:10Z"),
        ("2026-01-01T00:00:10.000000001Z", "2026-01-01T00:00:20Z"),
    ] {
        assert_eq!(schedule.next_after(parse_instant(after)), Some(parse_instant(due)), "{after}");
    }
}

#[test]
fn a_gap_is_passed_in_one_step() {
    let berlin = ("2026-03-29T00:59:57Z", "2026-03-29T01:00:00Z");
    let (probes, found) = effort("* * 2 * * *", "Europe/Berlin", berlin.0, berlin.1);
    assert!(
        found == 1 && probes <= 2,
        "an hour of seconds that does not exist: {probes} probes, {found} found"
    );
    let (probes, found) = effort("* * * * * *", "Europe/Berlin", berlin.0, berlin.1);
    assert!(found == 3 && probes <= 6, "{probes} probes, {found} found");
    let apia = ("2011-12-30T09:59:58Z", "2011-12-30T10:00:00Z");
    for expression in ["* * 0-23 * * *", "* * * * * *"] {
        let (probes, found) = effort(expression, "Pacific/Apia", apia.0, apia.1);
        assert!(
            found == 2 && probes <= 4,
            "a day of seconds that does not exist: {probes} probes, {found} found"
        );
    }
}

#[test]
fn a_repeated_hour_is_passed_in_one_step() {
    let back = ("2026-10-25T00:59:58Z", "2026-10-26T00:00:00Z");
    let (probes, found) = effort("* * 2 * * *", "Europe/Berlin", back.0, back.1);
    assert!(found == 1 && probes <= 3, "{probes} probes, {found} found");
    let (probes, found) = effort("* * 2 * * *", "Europe/Berlin", "2026-10-25T01:00:00Z", back.1);
    assert!(found == 0 && probes <= 2, "from within the repetition: {probes} probes, {found} found");
}

#[test]
fn instant_costs_one_probe_where_clocks_stand_still() {
    let (probes, found) =
        effort("* * * * * *", "Europe/Berlin", "2026-06-01T00:00:00Z", "2026-06-01T02:00:00Z");
    assert_eq!((probes, found), (7201, 7200));
    let (probes, found) =
        effort("0 0 0 30 2 *", "Europe/Berlin", "2026-06-01T00:00:00Z", "2099-01-01T00:00:00Z");
    assert_eq!((probes, found), (1, 0));
}

#[test]
fn the_years_end_with_2100() {
    let schedule = Schedule::parse("@hourly", "Pacific/Kiritimati").unwrap();
    let mut end = schedule.upcoming(parse_instant("2100-12-31T08:30:00Z"));
    assert_eq!(end.next(), Some(parse_instant("2100-12-31T09:00:00Z")));
    assert_eq!((end.next(), end.next()), (None, None));
    for after in [DateTime::<Utc>::MAX_UTC, parse_instant("2101-01-01T00:00:00Z")] {
        assert_eq!(schedule.next_after(after), None);
    }
    let first = Schedule::parse("@hourly", "").unwrap().next_after(DateTime::<Utc>::MIN_UTC);
    assert_eq!(first, Some(parse_instant("1970-01-01T00:00:00Z")));
}

#[test]
fn a_preview_shows_five_instants() {
    let schedule = Schedule::parse("@yearly", "Asia/Tokyo").unwrap();
    let shown = schedule.next_fires(parse_instant("2026-01-01T00:00:00Z"));
    assert_eq!(shown.len(), 5);
    assert_eq!(shown[4], parse_instant("2030-12-31T15:00:00Z"));
    assert_eq!(
        schedule.next_fires(parse_instant("2099-01-01T00:00:00Z")).len(),
        1,
        "no year comes after 2100"
    );
}

#[test]
fn an_outage_of_a_day_is_walked_through() {
    let (from, until) = (parse_instant("2026-03-28T12:00:00Z"), parse_instant("2026-03-29T12:00:00Z"));
    let schedule = Schedule::parse("* * * * * *", "Europe/Berlin").unwrap();
    let due: Vec<_> = schedule.upcoming(from).take_while(|next| *next <= until).collect();
    assert_eq!(due.len(), 86_400);
    assert!(due.windows(2).all(|pair| pair[1] - pair[0] == TimeDelta::seconds(1)));
}

/// Prints the duration instead of asserting it: it depends on the machine.
#[test]
#[expect(clippy::disallowed_methods, reason = "measures the real clock")]
fn the_pace_of_a_walk_is_told() {
    for (expression, zone) in [
        ("* * * * * *", "UTC"),
        ("* * * * * *", "Europe/Berlin"),
        ("* * 0-23 * * *", "Europe/Berlin"),
        ("*/5 * * * *", "Europe/Berlin"),
        ("@daily", "Europe/Berlin"),
    ] {
        const INSTANTS: usize = if cfg!(debug_assertions) { 2_000 } else { 1_000_000 };
        let schedule = Schedule::parse(expression, zone).unwrap();
        let from = parse_instant("1971-01-01T00:00:00Z");
        let begin = std::time::Instant::now();
        let count = schedule.upcoming(from).take(INSTANTS).count();
        let rate = count as f64 / begin.elapsed().as_secs_f64();
        println!("{expression} in {zone}: {rate:.0} instants a second");
    }
}

#[test]
fn a_clone_shares_what_it_copies() {
    let schedule = Schedule::parse("@daily", "Asia/Kathmandu").unwrap();
    assert_eq!(schedule.clone(), schedule);
    assert_ne!(schedule, Schedule::parse("@daily", "").unwrap());
    assert_eq!(
        fires("@daily", "Asia/Kathmandu", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"),
        ["2026-01-01T18:15:00Z"]
    );
}
