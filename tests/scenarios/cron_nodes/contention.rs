//! One key, three nodes.

use std::time::Duration;

use svc_testkit::cron::{every_second, forbid};
use svc_testkit::postgres::Postgres;

use super::Stage;
use crate::support::eventually;

const CHANNELS: usize = 4;
const ROWS: usize = 60;

#[test]
fn key_has_one_run_per_instant() {
    let channels: Vec<_> =
        (0..CHANNELS).map(|n| every_second(&format!("c{n}"), "tell", forbid("shared"))).collect();
    let hold = |_: &svc_testkit::witness::WitnessedRun| Duration::from_millis(300);
    let Some(stage) = Stage::set(Postgres::shared(), &channels, hold) else { return };
    let nodes = [(); 3].map(|()| stage.node());
    let terminal = |stage: &Stage| {
        stage.rows().into_iter().filter(svc_testkit::cron::RecordedOccurrence::is_terminal).count()
    };
    let before = terminal(&stage);
    eventually(|| terminal(&stage) >= before + ROWS);
    drop(nodes);
    let rows = stage.rows();
    let mut runs = stage.witness.runs();
    runs.sort_by_key(|run| run.begin);
    for pair in runs.windows(2) {
        assert!(pair[0].end.is_some_and(|end| end <= pair[1].begin), "{pair:?}");
    }
    assert!(runs.iter().all(|run| run.key.as_deref() == Some("shared")), "{runs:?}");
    let count = |status: &str| rows.iter().filter(|row| row.status == status).count();
    let (skipped, completed) = (count("skipped_singleton"), count("completed"));
    assert!(skipped >= ROWS / 2 && completed >= 5, "{skipped} skipped, {completed} completed");
    assert_eq!(count("failed") + count("skipped_misfire"), 0);
}
