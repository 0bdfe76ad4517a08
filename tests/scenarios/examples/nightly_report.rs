//! A schedule, PostgreSQL, an OpenID provider and an API behind it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::oidc::OidcProvider;
use svc_testkit::postgres::{Postgres, PostgresDatabase};
use svc_testkit::server::ServerProcess;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use super::{Project, admin, examples, scalar};
use crate::offline::repeat_offline;
use crate::support::eventually;

/// Noon of the day before today, and of today, in the zone of the schedule.
const SALES: &str = "INSERT INTO sales (sold_at, category, cents)
    SELECT ((now() AT TIME ZONE 'Europe/Berlin')::date - days + time '12:00') AT TIME ZONE 'Europe/Berlin', category, cents
    FROM (VALUES (1, 'books', 1500), (1, 'toys', 700), (1, 'books', 500), (0, 'toys', 9900)) AS sold (days, category, cents)";

/// The project, running.
struct World {
    server: ServerProcess,
    database: PostgresDatabase,
    provider: OidcProvider,
    api: Upstream,
    refuses: Arc<AtomicBool>,
    _postgres: Postgres,
}

/// Starts the project; `None` if a peer is missing.
fn world() -> Option<(World, HttpClient)> {
    let (postgres, provider) = (Postgres::shared()?, OidcProvider::start(3600)?);
    let refuses = Arc::new(AtomicBool::new(false));
    let switch = Arc::clone(&refuses);
    let api = Upstream::start(move |_| match switch.load(Ordering::Relaxed) {
        true => UpstreamReply::new(422, r#"{"error": "the period is closed"}"#),
        false => UpstreamReply::new(200, "{}"),
    })
    .unwrap();
    let project = Project::copy("nightly-report", &[]);
    let database = project.database(&postgres);
    database.rows(SALES).unwrap();
    let server = project
        .launch()
        .env("WAREHOUSE_DB", database.url())
        .env("REPORTS_URL", &api.url("/v1"))
        .env("REPORTS_TOKEN_URL", &provider.token_url())
        .env("REPORTS_CLIENT_ID", "basic")
        .env("REPORTS_CLIENT_SECRET", "s3cret")
        .start()
        .unwrap();
    let client = project.load(&server);
    Some((World { server, database, provider, api, refuses, _postgres: postgres }, client))
}

/// Waits until an occurrence has this status, and returns it.
fn wait_for_status(server: &ServerProcess, id: &Value, status: &str) -> Value {
    let path = format!("/api/v1/admin/cron/occurrences/{}", id.as_str().unwrap());
    let mut last = Value::Null;
    eventually(|| {
        last = server.client().get(&path).unwrap().json()["data"].clone();
        last["status"] == status
    });
    last
}

#[test]
fn sales_of_yesterday_are_summed_and_sent() {
    let Some((world, mut client)) = world() else { return };
    let due = admin(&mut client, "POST", "channels/nightly/trigger", json!({}));
    let done = wait_for_status(&world.server, &due["id"], "completed");
    let day = scalar(&world.database, "SELECT (now() AT TIME ZONE 'Europe/Berlin')::date - 1");
    let requests = world.api.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert_eq!((requests[0].method.as_str(), &requests[0].target), ("PUT", &format!("/v1/reports/{day}")));
    let report: Value = serde_json::from_str(&requests[0].text()).unwrap();
    let lines = json!([{"category": "books", "sales": 2, "cents": 2000}, {"category": "toys", "sales": 1, "cents": 700}]);
    assert_eq!(report, json!({"day": day, "lines": lines, "total_cents": 2700}));
    let granted = world.provider.token_events().unwrap();
    let token = granted[0].access_token.clone().unwrap();
    assert_eq!(requests[0].header("authorization"), Some(&format!("Bearer {token}") as &str));
    assert_eq!(scalar(&world.database, "SELECT total_cents FROM reports"), "2700");
    let trace =
        admin(&mut client, "GET", &format!("traces/{}", done["trace_id"].as_str().unwrap()), json!({}));
    assert!(!trace.to_string().contains(&token), "{trace}");
    let project = examples().join("nightly-report");
    assert_eq!(repeat_offline(&mut client, &project, &["nightly"], &json!({})), 1);
}

#[test]
fn refused_report_fails_its_occurrence_until_repeated() {
    let Some((world, mut client)) = world() else { return };
    world.refuses.store(true, Ordering::Relaxed);
    let due = admin(&mut client, "POST", "channels/nightly/trigger", json!({}));
    let failed = wait_for_status(&world.server, &due["id"], "failed");
    assert!(failed["error_message"].as_str().is_some_and(|text| text.contains("422")), "{failed}");
    assert_eq!(world.api.requests().len(), 1, "a refusal is not repeated");
    assert_eq!(scalar(&world.database, "SELECT count(*) FROM reports"), "0");

    world.refuses.store(false, Ordering::Relaxed);
    let path = format!("cron/occurrences/{}/retry", due["id"].as_str().unwrap());
    admin(&mut client, "POST", &path, json!({}));
    let done = wait_for_status(&world.server, &due["id"], "completed");
    assert_eq!((&done["attempt"], &done["scheduled_for"]), (&json!(2), &due["scheduled_for"]));
    let requests = world.api.requests();
    assert_eq!((requests.len(), &requests[0].target), (2, &requests[1].target), "the same day: {requests:?}");
    assert_eq!(scalar(&world.database, "SELECT total_cents FROM reports"), "2700");
    assert_eq!(world.provider.token_events().unwrap().len(), 1, "one token serves both");
}
