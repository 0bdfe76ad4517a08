//! The end of a run whose commit gets no answer.

use std::sync::Arc;

use serde_json::json;
use svc_testkit::commit_proxy::CommitProxy;
use svc_testkit::postgres::Postgres;
use svc_testkit::state::wait_until;

use crate::kit::{run_on_server, yearly_schedule};
use crate::runs::trigger;

#[test]
fn unacknowledged_end_is_kept_and_reported_once() {
    let Some(server) = Postgres::shared() else { return };
    let database = server.database().unwrap();
    let proxy = CommitProxy::start(database.url()).unwrap();
    run_on_server(proxy.url(), async |world| {
        let node = world.start().await;
        node.traces.start(Arc::new(node.registry.clone()), &[]).await.unwrap();
        let once = json!({"failures": 1, "within_secs": 600});
        let config = json!({"on_failure": "alerts", "on_repeated_failure": once});
        node.channel("tick", yearly_schedule("hold, then fail"), config).await;
        trigger(&node, "tick").await;
        wait_until(async || world.witness.running() == 1).await;
        proxy.lose_commit_of("it was told to fail");
        world.witness.release(1);
        node.come_to("tick", "failed", 1).await;
        wait_until(async || proxy.lost() == 1).await;
        // The failure counts: the channel pauses itself.
        let pauses = "SELECT paused_by FROM channel_pauses";
        let by_itself = vec![vec![Some("on_repeated_failure".to_owned())]];
        wait_until(async || database.rows(pauses).unwrap() == by_itself).await;
        // The reports of both run here, not after a takeover, and fail, because nothing is named `alerts`.
        let reports = "SELECT status FROM traces WHERE channel = 'alerts'";
        let failed = vec![vec![Some("failed".to_owned())]; 2];
        wait_until(async || database.rows(reports).unwrap() == failed).await;
        let row = node.occurrences("tick").await.remove(0);
        assert_eq!((row.row.attempt, world.witness.reported_runs().len()), (1, 1), "it was not run again");
        wait_until(async || node.metric("cron_occurrences_total{status=\"failed\"}") == 1.0).await;
        node.end().await;
    });
}
