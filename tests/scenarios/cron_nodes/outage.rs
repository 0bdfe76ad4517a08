//! Every node was away for a day.

use std::time::Duration;

use serde_json::json;
use svc_testkit::cron::every_second;
use svc_testkit::postgres::Postgres;
use svc_testkit::server::wait_until;

use super::Stage;
use crate::support::eventually;

const DAY: i64 = 86_400;
/// The number of occurrences that are made up.
const CAUGHT_UP: i64 = 10;
/// A schedule is up to date within this once its node is ready, also on a machine under load; a row for each second
/// of the day would take minutes.
const RECOVERY: Duration = Duration::from_secs(20);
/// Memory allowed for planning a day of seconds.
const MEMORY_KIB: u64 = 50 * 1024;

#[test]
fn missed_day_is_one_row_within_seconds() {
    let latest = every_second("latest", "tell", json!({}));
    let catch_up =
        every_second("some", "tell", json!({"misfire_policy": "catch_up", "max_catch_up": CAUGHT_UP}));
    let Some(stage) = Stage::set(Postgres::shared(), &[latest, catch_up], |_| Duration::ZERO) else { return };
    let launch = || stage.launch().env("SVC_CRON__MISFIRE_GRACE_SECS", "5");
    let idle = launch().start().unwrap();
    eventually(|| stage.witness.runs().len() >= 4);
    let before = resident_kib(idle.pid());
    drop(idle);
    stage.database.rows("TRUNCATE cron_occurrences").unwrap();
    let away =
        format!("UPDATE cron_schedule_state SET next_fire_at = next_fire_at - interval '{DAY} seconds'");
    stage.database.rows(&away).unwrap();
    let cursor = |channel: &str| {
        let next = "SELECT extract(epoch FROM next_fire_at)::bigint FROM cron_schedule_state";
        stage.ask(&format!("{next} WHERE channel_id = '{channel}'")).parse::<i64>().unwrap()
    };
    let from = ["latest", "some"].map(|channel| (channel, cursor(channel)));

    let node = launch().start().unwrap();
    let up_to_date =
        "SELECT count(*) FROM cron_schedule_state WHERE next_fire_at > (now() AT TIME ZONE 'utc')";
    let recovered = wait_until(RECOVERY, || Ok(stage.ask(up_to_date) == "2")).unwrap();
    assert!(recovered, "the schedules are up to date");
    eventually(|| stage.rows().iter().any(|row| row.channel == "some" && row.status == "completed"));
    let after = resident_kib(node.pid());
    assert!(after < before + MEMORY_KIB, "{before} KiB before, {after} KiB after");
    for (channel, from) in from {
        let rows: Vec<_> = stage.rows().into_iter().filter(|row| row.channel == channel).collect();
        let (summaries, ran): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.status == "skipped_misfire");
        let [summary] = summaries[..] else { panic!("{channel}: {summaries:?}") };
        let says = summary.message.as_deref().unwrap();
        let count: i64 = says.split(' ').nth(1).unwrap().parse().unwrap();
        // Every instant since the cursor ran or is among those that the one row counts.
        let newest = rows.iter().map(|row| row.scheduled_for).max().unwrap();
        assert_eq!(ran.len() as i64 + count, newest - from + 1, "{channel}: {says}");
        assert!((DAY - 60..=DAY + 60).contains(&count), "{channel}: {says}");
        let made_up = ran.iter().filter(|row| row.scheduled_for < summary.scheduled_for).count() as i64;
        assert_eq!(made_up, if channel == "some" { CAUGHT_UP } else { 0 }, "{channel}");
        assert_eq!(ran[made_up as usize].scheduled_for, summary.scheduled_for + 1, "{channel}");
    }
}

/// Resident memory of a process.
fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}
