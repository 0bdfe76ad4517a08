//! Ends of runs whose commits get no answer.

use serde_json::json;
use svc_testkit::commit_proxy::CommitProxy;
use svc_testkit::postgres::Postgres;
use svc_testkit::state::wait_until;

use crate::kit::run_on_server;

#[test]
fn unacknowledged_end_is_kept_and_nothing_repeats() {
    let Some(server) = Postgres::shared() else { return };
    let database = server.database().unwrap();
    let proxy = CommitProxy::start(database.url()).unwrap();
    run_on_server(proxy.url(), async |world| {
        let process = world.start(|_| {}).await;
        process.report_failures();
        let orders =
            [("wait", "completed", "\"ran\""), ("wait, then fail for good", "failed", "it is wrong")];
        for (n, (order, status, text)) in orders.into_iter().enumerate() {
            let id = process.submit(json!({"do": order, "then": "well"})).await.unwrap();
            process.ends(id, "running").await;
            proxy.lose_commit_of(text);
            process.runner.gate.add_permits(1);
            process.ends(id, status).await;
            wait_until(async || proxy.lost() == n + 1).await;
            assert_eq!(process.runner.runs_of(id), 1, "{order}");
        }
        wait_until(async || process.error_count("trace_status_write") >= 2).await;
        // The report was committed with the end, and is run by this process.
        wait_until(async || process.count("completed").await == 2).await;
        let last = process.submit(json!({})).await.unwrap();
        process.ends(last, "completed").await;
        let channels: Vec<_> = process.runner.runs.lock().iter().map(|run| run.channel.to_string()).collect();
        assert_eq!(channels, ["orders", "orders", "alerts", "orders"]);
        assert_eq!(process.letters().await.len(), 1);
        // It counts for a channel that pauses itself.
        wait_until(async || process.runner.failures.lock().len() == 1).await;
    });
}
