//! The grammar of expressions, and the instants they name.

use svc_schedule::{Schedule, ScheduleError};

use crate::parse_instant;

/// Returns the first three instants of 2026, whose first day is a Thursday.
fn first(expression: &str) -> Vec<String> {
    let schedule = Schedule::parse_at(expression, "", parse_instant("2026-01-01T00:00:00Z")).unwrap();
    let from = parse_instant("2025-12-31T23:59:59Z");
    schedule.upcoming(from).take(3).map(|next| next.format("%m-%d %H:%M:%S").to_string()).collect()
}

/// Returns the field, number and position of each fault.
fn faults(expression: &str) -> Vec<(&'static str, usize, usize)> {
    match Schedule::parse(expression, "").unwrap_err() {
        ScheduleError::Expression { faults } => {
            faults.iter().map(|fault| (fault.field, fault.number, fault.position)).collect()
        }
        other => panic!("{expression}: {other}"),
    }
}

#[test]
fn six_fields_name_instants_to_the_second() {
    for (expression, due) in [
        ("* * * * * *", ["01-01 00:00:00", "01-01 00:00:01", "01-01 00:00:02"]),
        ("*/20 * * * * *", ["01-01 00:00:00", "01-01 00:00:20", "01-01 00:00:40"]),
        ("50/5 * * * * *", ["01-01 00:00:50", "01-01 00:00:55", "01-01 00:01:50"]),
        ("10-30/10 0 0 * * *", ["01-01 00:00:10", "01-01 00:00:20", "01-01 00:00:30"]),
        ("0 59/59 * * * *", ["01-01 00:59:00", "01-01 01:59:00", "01-01 02:59:00"]),
        ("0 */59 * * * *", ["01-01 00:00:00", "01-01 00:59:00", "01-01 01:00:00"]),
        ("00 05 03 * * *", ["01-01 03:05:00", "01-02 03:05:00", "01-03 03:05:00"]),
        ("0 0 */23 * * *", ["01-01 00:00:00", "01-01 23:00:00", "01-02 00:00:00"]),
        ("0 0 9-17/8,12 * * *", ["01-01 09:00:00", "01-01 12:00:00", "01-01 17:00:00"]),
        ("0 0 0 31 * *", ["01-31 00:00:00", "03-31 00:00:00", "05-31 00:00:00"]),
        ("0 0 0 29 2 *", ["02-29 00:00:00", "02-29 00:00:00", "02-29 00:00:00"]),
        ("0 0 0 ? * 1", ["01-04 00:00:00", "01-11 00:00:00", "01-18 00:00:00"]),
        ("0 0 0 * * 7", ["01-03 00:00:00", "01-10 00:00:00", "01-17 00:00:00"]),
        ("0 0 0 13 * ?", ["01-13 00:00:00", "02-13 00:00:00", "03-13 00:00:00"]),
        ("0 0 0 13 * Fri", ["02-13 00:00:00", "03-13 00:00:00", "11-13 00:00:00"]),
        ("0 0 0 * * Mon-Fri/2", ["01-02 00:00:00", "01-05 00:00:00", "01-07 00:00:00"]),
        ("0 0 0 * * 2-6/2", ["01-02 00:00:00", "01-05 00:00:00", "01-07 00:00:00"]),
        ("0 0 0 * * TUES,Thurs", ["01-01 00:00:00", "01-06 00:00:00", "01-08 00:00:00"]),
        ("0 0 0 1 jan-MARCH/2 *", ["01-01 00:00:00", "03-01 00:00:00", "01-01 00:00:00"]),
        ("0 0 0 1 June,dec *", ["06-01 00:00:00", "12-01 00:00:00", "06-01 00:00:00"]),
        ("  0\t0  12 * *  * ", ["01-01 12:00:00", "01-02 12:00:00", "01-03 12:00:00"]),
        ("0 0 0 1,*/15 * *", ["01-01 00:00:00", "01-16 00:00:00", "01-31 00:00:00"]),
    ] {
        assert_eq!(first(expression), due, "{expression}");
    }
}

#[test]
fn five_fields_mean_what_they_mean_on_unix() {
    for (expression, due) in [
        ("* * * * *", ["01-01 00:00:00", "01-01 00:01:00", "01-01 00:02:00"]),
        ("30 3 * * *", ["01-01 03:30:00", "01-02 03:30:00", "01-03 03:30:00"]),
        // Sunday is 0 and 7.
        ("0 0 * * 0", ["01-04 00:00:00", "01-11 00:00:00", "01-18 00:00:00"]),
        ("0 0 * * 7", ["01-04 00:00:00", "01-11 00:00:00", "01-18 00:00:00"]),
        ("0 0 * * sun", ["01-04 00:00:00", "01-11 00:00:00", "01-18 00:00:00"]),
        ("0 0 * * 6-7", ["01-03 00:00:00", "01-04 00:00:00", "01-10 00:00:00"]),
        ("0 0 * * 0-1", ["01-04 00:00:00", "01-05 00:00:00", "01-11 00:00:00"]),
        ("0 0 * * 1-5", ["01-01 00:00:00", "01-02 00:00:00", "01-05 00:00:00"]),
        ("0 0 * * mon-fri", ["01-01 00:00:00", "01-02 00:00:00", "01-05 00:00:00"]),
        ("0 0 * * 5/1", ["01-02 00:00:00", "01-03 00:00:00", "01-04 00:00:00"]),
        ("0 0 * * */3", ["01-03 00:00:00", "01-04 00:00:00", "01-07 00:00:00"]),
        ("0 0 * * */7", ["01-04 00:00:00", "01-11 00:00:00", "01-18 00:00:00"]),
        // Both kinds of days are restricted: either may match.
        ("0 0 13 * 5", ["01-02 00:00:00", "01-09 00:00:00", "01-13 00:00:00"]),
        ("0 0 2 1 fri", ["01-02 00:00:00", "01-09 00:00:00", "01-16 00:00:00"]),
        ("0 0 30 2 0", ["02-01 00:00:00", "02-08 00:00:00", "02-15 00:00:00"]),
        ("0 0 1,* * 1", ["01-01 00:00:00", "01-02 00:00:00", "01-03 00:00:00"]),
        // A field that begins with '*' restricts nothing, even with a step: both must match.
        ("0 0 */2 * 5", ["01-09 00:00:00", "01-23 00:00:00", "02-13 00:00:00"]),
        ("0 0 13 * */5", ["02-13 00:00:00", "03-13 00:00:00", "09-13 00:00:00"]),
        ("0 0 ? * 1", ["01-05 00:00:00", "01-12 00:00:00", "01-19 00:00:00"]),
        ("0 0 13 * ?", ["01-13 00:00:00", "02-13 00:00:00", "03-13 00:00:00"]),
    ] {
        assert_eq!(first(expression), due, "{expression}");
    }
}

#[test]
fn short_names_in_any_case_mean_expressions() {
    for (expression, due) in [
        ("@hourly", ["01-01 00:00:00", "01-01 01:00:00", "01-01 02:00:00"]),
        ("@daily", ["01-01 00:00:00", "01-02 00:00:00", "01-03 00:00:00"]),
        ("@weekly", ["01-04 00:00:00", "01-11 00:00:00", "01-18 00:00:00"]),
        ("@monthly", ["01-01 00:00:00", "02-01 00:00:00", "03-01 00:00:00"]),
        ("@yearly", ["01-01 00:00:00", "01-01 00:00:00", "01-01 00:00:00"]),
        ("@Daily", ["01-01 00:00:00", "01-02 00:00:00", "01-03 00:00:00"]),
        ("@MONTHLY", ["01-01 00:00:00", "02-01 00:00:00", "03-01 00:00:00"]),
    ] {
        assert_eq!(first(expression), due, "{expression}");
    }
}

#[test]
fn fault_is_found_by_field_and_character() {
    for (expression, due) in [
        ("60 * * * * *", [("second", 1, 1)]),
        ("0 60 * * * *", [("minute", 2, 3)]),
        ("0 0 24 * * *", [("hour", 3, 5)]),
        ("0 0 0 0 * *", [("day of month", 4, 7)]),
        ("0 0 0 32 * *", [("day of month", 4, 7)]),
        ("0 0 0 1 0 *", [("month", 5, 9)]),
        ("0 0 0 1 13 *", [("month", 5, 9)]),
        ("0 0 0 * * 0", [("day of week", 6, 11)]),
        ("0 0 0 * * 8", [("day of week", 6, 11)]),
        ("0 0 * * 8", [("day of week", 5, 9)]),
        ("1,2,x * * * *", [("minute", 1, 5)]),
        ("1,,2 * * * *", [("minute", 1, 3)]),
        (",1 * * * *", [("minute", 1, 1)]),
        ("1, * * * *", [("minute", 1, 3)]),
        ("1-, * * * *", [("minute", 1, 1)]),
        ("-5 * * * *", [("minute", 1, 1)]),
        ("1-2-3 * * * *", [("minute", 1, 1)]),
        ("+5 * * * *", [("minute", 1, 1)]),
        ("1.5 * * * *", [("minute", 1, 1)]),
        ("*5 * * * *", [("minute", 1, 1)]),
        ("** * * * *", [("minute", 1, 1)]),
        ("*-5 * * * *", [("minute", 1, 1)]),
        ("30-10 * * * *", [("minute", 1, 1)]),
        ("0 22-3 * * *", [("hour", 2, 3)]),
        ("0 0 0 * * Fri-Mon", [("day of week", 6, 11)]),
        ("0 0 * * Fri-Sun", [("day of week", 5, 9)]),
        ("*/0 * * * *", [("minute", 1, 1)]),
        ("*/60 * * * *", [("minute", 1, 1)]),
        ("0 */24 * * *", [("hour", 2, 3)]),
        ("*/ * * * *", [("minute", 1, 1)]),
        ("*/x * * * *", [("minute", 1, 1)]),
        ("*/5/5 * * * *", [("minute", 1, 1)]),
        ("/5 * * * *", [("minute", 1, 1)]),
        ("0 0 0 * * Mon/2", [("day of week", 6, 11)]),
        ("0 0 0 * * 2-Fri", [("day of week", 6, 11)]),
        ("0 0 0 * sept *", [("month", 5, 9)]),
        ("0 0 0 * * wedn", [("day of week", 6, 11)]),
        ("jan * * * *", [("minute", 1, 1)]),
        ("? * * * *", [("minute", 1, 1)]),
        ("0 0 ? * * *", [("hour", 3, 5)]),
        ("0 0 0 ?/2 * *", [("day of month", 4, 7)]),
        ("0 0 0 ?,1 * *", [("day of month", 4, 7)]),
        ("0 0 0 1,? * *", [("day of month", 4, 9)]),
        ("0 0 0 ?-3 * *", [("day of month", 4, 7)]),
        ("0 0 0 L * *", [("day of month", 4, 7)]),
        ("0 0 0 15W * *", [("day of month", 4, 7)]),
        ("0 0 0 * * 2#1", [("day of week", 6, 11)]),
        ("H 0 * * *", [("minute", 1, 1)]),
        ("99999999999999999999 * * * *", [("minute", 1, 1)]),
        ("٣ * * * *", [("minute", 1, 1)]),
        ("  0   0 0 x * *", [("day of month", 4, 11)]),
        ("é * * * x", [("minute", 1, 1)]),
    ]
    .map(|(expression, due)| (expression, due.to_vec()))
    {
        let faults = faults(expression);
        assert_eq!(faults[..1], due, "{expression}");
    }
    let all = faults("é 24 0 13 x");
    let fields =
        [("minute", 1, 1), ("hour", 2, 3), ("day of month", 3, 6), ("month", 4, 8), ("day of week", 5, 11)];
    assert_eq!(all, fields, "each field has its fault, and places are counted in characters");
}

#[test]
fn another_number_of_fields_is_refused() {
    for (expression, due) in [
        ("", ("minute", 1, 1)),
        ("  ", ("minute", 1, 1)),
        ("* *", ("day of month", 3, 4)),
        ("* * * *", ("day of week", 5, 8)),
        ("0 0 0 * * * 2030", ("year", 7, 13)),
        ("0 0 0 1, 2 * *", ("year", 7, 14)),
        ("0 0 0 1 - 5 * *", ("none", 8, 15)),
        ("@reboot", ("schedule", 1, 1)),
        ("@every 5m", ("schedule", 1, 1)),
        (" daily", ("schedule", 1, 2)),
        ("@midnight", ("schedule", 1, 1)),
        ("@daily * * * *", ("minute", 1, 1)),
        ("*\u{a0}*\u{a0}*\u{a0}*\u{a0}*", ("schedule", 1, 1)),
    ] {
        assert_eq!(faults(expression), [due], "{expression:?}");
    }
}

#[test]
fn library_extensions_of_the_grammar_are_refused() {
    let more = ["0 0 0 ?/2 * *", "0 0 0 ?,5 * *", "0 0 0 * * * 2030", "0 0 0 1 - 5 * *", "0 0 0 1, 2 * *"];
    for expression in more {
        assert!(expression.parse::<cron::Schedule>().is_ok(), "{expression}: nothing more than the grammar");
        faults(expression);
    }
}

#[test]
fn a_remedy_can_be_taken_as_it_stands() {
    for (expression, remedy) in [
        ("22-3 * * * * *", "use 22-59,0-3"),
        ("59-0 * * * * *", "use 59,0"),
        ("30-0 * * * * *", "use 30-59,0"),
        ("0 0 0 * * Sat-Mon", "use 7,1-2"),
        ("0 0 * * Fri-Sun", "use 5-7"),
        ("0 0 * * Fri-Tue", "use 5-7,0-2"),
        ("0 0 0 * * 2-Fri", "use 2-6"),
        ("Daily", "use @daily"),
        ("midnight", "use @daily"),
        ("@annually", "use @yearly"),
        ("*/0 * * * *", "use a step from 1 to 59"),
        ("0 0 0 * * 0", "use 1 to 7 (with six fields Sunday is 1 and Saturday 7)"),
    ] {
        let ScheduleError::Expression { faults } = Schedule::parse(expression, "").unwrap_err() else {
            panic!("{expression}: not for the expression");
        };
        assert_eq!(faults[0].remedy, remedy, "{expression}");
        assert!(faults[0].to_string().ends_with(remedy));
    }
}

#[test]
fn a_schedule_that_never_fires_is_refused() {
    let refused = |expression: &str, now: &str| {
        let error = Schedule::parse_at(expression, "", parse_instant(now)).err();
        error.is_some_and(|error| matches!(error, ScheduleError::NeverFires { .. }))
    };
    for expression in ["0 0 0 30 2 *", "0 0 0 31 2,4,6,9,11 ?", "0 0 31 feb *"] {
        assert!(refused(expression, "2026-01-01T00:00:00Z"), "{expression}");
    }
    assert!(!refused("0 0 29 2 *", "2026-01-01T00:00:00Z"));
    // February 2100 has 28 days.
    assert!(refused("0 0 29 2 *", "2096-03-01T00:00:00Z"));
    // The next 29 February on a Monday is in 2044. The horizon is 1825 days, including its last second.
    assert!(refused("0 0 0 29 2 mon", "2026-01-01T00:00:00Z"));
    assert!(refused("0 0 0 29 2 mon", "2039-03-01T23:59:59Z"));
    assert!(!refused("0 0 0 29 2 mon", "2039-03-02T00:00:00Z"));
    assert!(
        Schedule::parse("0 0 0 30 2 *", "")
            .unwrap()
            .next_after(parse_instant("2026-01-01T00:00:00Z"))
            .is_none()
    );
}

#[test]
fn every_problem_is_found_at_once() {
    let now = parse_instant("2026-01-01T00:00:00Z");
    let kinds = |expression: &str, zone: &str| {
        let kind = |problem: &ScheduleError| match problem {
            ScheduleError::Expression { .. } => "expression",
            ScheduleError::Zone { .. } => "zone",
            ScheduleError::NeverFires { .. } => "never",
        };
        Schedule::problems(expression, zone, now).iter().map(kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds("x", "x"), ["expression", "zone"]);
    assert_eq!(kinds("0 0 30 2 *", "x"), ["never", "zone"]);
    assert_eq!(kinds("0 0 30 2 *", "Europe/Berlin"), ["never"]);
    assert!(kinds("@daily", " ").is_empty());
}

#[test]
fn zone_of_megabytes_is_refused_in_one_line() {
    let now = parse_instant("2026-01-01T00:00:00Z");
    let problems = Schedule::problems("@daily", &"x".repeat(4_000_000), now);
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert!(texts.len() == 1 && texts[0].len() < 200, "{} problems", texts.len());
}
