//! The database restarts under the schedules.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::json;
use svc_testkit::cron::every_second;
use svc_testkit::postgres::Postgres;
use svc_testkit::server::wait_until;

use super::Stage;
use crate::support::eventually;

const CHANNELS: usize = 20;
const RESTARTS: usize = 3;
/// Every schedule fires again within this, also on a machine under load.
const AGAIN: Duration = Duration::from_secs(15);

#[test]
fn every_schedule_fires_soon_after_databases_return() {
    let channels: Vec<_> = (0..CHANNELS).map(|n| every_second(&format!("c{n}"), "tell", json!({}))).collect();
    let Some(stage) = Stage::set(Postgres::own(), &channels, |_| Duration::ZERO) else { return };
    let node = stage.node();
    let mut pid = node.pid();
    for _ in 0..RESTARTS {
        let since = stage.witness.now();
        eventually(|| channels_run_since(&stage, since) == CHANNELS);
        stage.postgres.stop().unwrap();
        // For longer than anything in the node waits without asking again.
        let away = stage.witness.now() + Duration::from_secs(6);
        wait_until(AGAIN * 2, || Ok(stage.witness.now() >= away)).unwrap();
        stage.postgres.restart().unwrap();
        let back = stage.witness.now();
        assert!(
            wait_until(AGAIN, || Ok(channels_run_since(&stage, back) == CHANNELS)).unwrap(),
            "{} of {CHANNELS} schedules fire again",
            channels_run_since(&stage, back)
        );
        assert_eq!(std::mem::replace(&mut pid, node.pid()), node.pid(), "nobody restarted the node");
    }
    let rows = stage.rows();
    let instants: HashSet<_> = rows.iter().map(|row| (&row.channel, row.scheduled_for)).collect();
    assert_eq!(instants.len(), rows.len());
    for channel in 0..CHANNELS {
        let of = |row: &&svc_testkit::cron::RecordedOccurrence| row.channel == format!("c{channel}");
        let seconds: Vec<_> = rows.iter().filter(of).map(|row| row.scheduled_for).collect();
        assert!(seconds.windows(2).all(|pair| pair[1] == pair[0] + 1), "c{channel} lost an instant");
    }
}

/// Counts the channels with a run that began after an instant.
fn channels_run_since(stage: &Stage, since: Duration) -> usize {
    let rows = stage.rows();
    let runs = stage.witness.runs();
    let ids: HashSet<&str> =
        runs.iter().filter(|run| run.begin >= since).map(|run| run.occurrence.as_str()).collect();
    let channels: HashSet<_> =
        rows.iter().filter(|row| ids.contains(row.id.as_str())).map(|row| &row.channel).collect();
    channels.len()
}
