//! Shares of accepted work over several nodes.

use serde_json::json;
use svc_testkit::example::create_and_activate;
use svc_testkit::http::HttpClient;
use svc_testkit::postgres::PostgresDatabase;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use super::{database, node, runs, serve_jobs, settle, status};
use crate::support::{channel, eventually};

fn submit(client: &mut HttpClient, key: &str, n: usize) -> String {
    let answer = client.json("POST", "/api/v1/data/fair/async", &json!({"key": key, "n": n})).unwrap();
    assert_eq!(answer.status, 202, "{}", answer.text());
    answer.json()["trace_id"].as_str().unwrap().to_owned()
}

/// Returns the number of rows with one of the statuses, of each key that has some.
fn by_key(database: &PostgresDatabase, statuses: &str) -> Vec<(String, String)> {
    let rows = format!(
        "SELECT queue_key, count(*)::text FROM traces WHERE status IN ({statuses}) GROUP BY queue_key ORDER BY 1"
    );
    let text = |column: &Option<String>| column.clone().unwrap_or_default();
    database.rows(&rows).unwrap().iter().map(|row| (text(&row[0]), text(&row[1]))).collect()
}

#[test]
fn shares_hold_over_nodes_and_kills() {
    let Some((_postgres, database)) = database() else { return };
    let witness = Upstream::start(|_| UpstreamReply::Held).unwrap();
    let first = node(&database).start().unwrap();
    serve_jobs(&mut first.client(), &witness);
    let queue = json!({"queue": {"key_logic": {"var": "data.key"}, "max_concurrent_per_key": 1, "max_concurrent": 3}});
    let fair = channel("fair", "jobs", queue);
    create_and_activate(&mut first.client(), "channels", "channel_id", &fair).unwrap();
    let second = node(&database).start().unwrap();
    let mut ids = Vec::new();
    for n in 0..4 {
        for (key, number) in [("flood", n), ("small", 10 + n)] {
            ids.push(submit(&mut first.client(), key, number));
            ids.push(submit(&mut second.client(), key, 20 + number));
        }
    }
    let held = |keys: &[&str]| keys.iter().map(|key| ((*key).to_owned(), "1".to_owned())).collect::<Vec<_>>();
    witness.wait_for(2);
    eventually(|| by_key(&database, "'running'") == held(&["flood", "small"]));
    let waiting = [("flood", "7"), ("small", "7")].map(|(key, rows)| (key.to_owned(), rows.to_owned()));
    eventually(|| by_key(&database, "'waiting'") == waiting);
    assert_eq!(witness.requests().len(), 2, "one of each key over both nodes");

    first.signal("KILL").unwrap();
    let live = "SELECT count(*)::text FROM traces t JOIN nodes n ON n.id = t.owner \
                WHERE t.status IN ('pending', 'running') AND n.lease_until >= (now() AT TIME ZONE 'utc')";
    eventually(|| {
        let open = by_key(&database, "'pending', 'running'");
        assert_eq!(open, held(&["flood", "small"]), "what runs again runs in its own share");
        database
            .rows("SELECT 1::text FROM nodes WHERE lease_until < (now() AT TIME ZONE 'utc')")
            .unwrap()
            .len()
            == 1
            && database.rows(live).unwrap()[0][0].as_deref() == Some("2")
    });
    witness.open();
    settle(&mut second.client());
    assert!(ids.iter().all(|id| status(&mut second.client(), id) == "completed"));
    let runs = runs(&witness);
    assert_eq!(runs.len(), 16);
    assert!(runs.values().sum::<usize>() <= 18, "only what the killed node ran ran twice: {runs:?}");
}
