//! A database that does not answer.

use std::time::Duration;

use serde_json::json;
use svc_testkit::postgres::Postgres;
use svc_testkit::server::wait_until;

use super::{ends, hurried_command, request};
use crate::support::echo;

#[test]
fn a_frozen_postgresql_does_not_hold_up_the_end() {
    let Some(postgres) = Postgres::own() else { return };
    let database = postgres.database().unwrap();
    let mut server = hurried_command().env("SVC_STORAGE__URL", database.url()).start().unwrap();
    echo(&mut server.client(), "s", json!({}));
    postgres.hang().unwrap();
    // The first waits for its row, the second for its trace.
    let callers = [request(&server, "s/async", json!({})), request(&server, "s", json!({}))];
    let mut client = server.client();
    let away = wait_until(Duration::from_secs(60), || Ok(client.get("/readyz")?.status == 503));
    assert!(away.unwrap(), "it is noticed");
    ends(&mut server, "TERM");
    for caller in callers {
        if let Ok(answer) = caller.join().unwrap() {
            assert_eq!(answer.status, 503, "{}", answer.text());
        }
    }
    postgres.resume().unwrap();
}
