//! Orders taken for later, a channel that calls another, and a second version under a part of the traffic.

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::postgres::{Postgres, PostgresDatabase};
use svc_testkit::server::ServerProcess;

use super::{Project, admin, examples, scalar, traces};
use crate::offline::repeat_offline;
use crate::support::{error, eventually};

const WORKFLOW: &str = "workflows/order-pipeline";
const CUSTOMERS: usize = 200;

/// The project, running.
struct World {
    server: ServerProcess,
    database: PostgresDatabase,
    project: Project,
    _postgres: Postgres,
}

/// Starts the project; `None` if a peer is missing.
fn world() -> Option<(World, HttpClient)> {
    world_with(&[])
}

fn world_with(replacements: &[(&str, &str)]) -> Option<(World, HttpClient)> {
    let postgres = Postgres::shared()?;
    let project = Project::copy("pipeline", replacements);
    let database = project.database(&postgres);
    let server = project.launch().env("ORDERS_DB", database.url()).start().unwrap();
    let client = project.load(&server).keep_alive();
    Some((World { server, database, project, _postgres: postgres }, client))
}

impl World {
    /// Stores the draft of the second version.
    fn draft(&self, client: &mut HttpClient) {
        admin(client, "POST", &format!("{WORKFLOW}/versions"), json!({}));
        admin(client, "PUT", WORKFLOW, self.project.json("versions/order-pipeline.v2.body"));
    }

    fn stored_documents(&self, id: &str) -> Vec<Option<String>> {
        let sql = format!("SELECT total_cents, priority FROM pipeline_orders WHERE id = '{id}'");
        self.database.rows(&sql).unwrap().concat()
    }
}

fn order(id: &str, qty: i64) -> Value {
    json!({"id": id, "qty": qty, "unit_cents": 10_000})
}

/// Version, status and share of each version, the newest first.
fn versions(client: &mut HttpClient) -> Vec<(i64, String, i64)> {
    let listed = client.get(&format!("/api/v1/admin/{WORKFLOW}/versions")).unwrap().json();
    let row = |row: &Value| {
        let number = |key: &str| row[key].as_i64().unwrap();
        (number("version"), row["status"].as_str().unwrap().to_owned(), number("rollout_percentage"))
    };
    listed["data"].as_array().unwrap().iter().map(row).collect()
}

/// Version and share of each active version, the newest first.
fn active(client: &mut HttpClient) -> Vec<(i64, i64)> {
    let versions = versions(client).into_iter().filter(|(_, status, _)| status == "active");
    versions.map(|(number, _, share)| (number, share)).collect()
}

fn version(number: i64, status: &str, share: i64) -> (i64, String, i64) {
    (number, status.to_owned(), share)
}

/// Sends an order of each customer: true if the second version, which ranks orders, took it. `round` makes them new.
fn rank(world: &World, client: &mut HttpClient, round: &str) -> Vec<bool> {
    let meets = |customer: usize| {
        let body = order(&format!("{round}-{customer}"), 1).to_string();
        let customer = format!("customer-{customer}");
        let headers = [("content-type", "application/json"), ("x-customer", customer.as_str())];
        let answer = client.send("POST", "/api/v1/data/intake", &headers, body.as_bytes()).unwrap();
        assert_eq!(answer.status, 200, "{}\n{}", answer.text(), world.server.log_text());
        answer.json()["data"].get("priority").is_some()
    };
    (0..CUSTOMERS).map(meets).collect()
}

fn share(ranked: &[bool]) -> usize {
    ranked.iter().filter(|ranked| **ranked).count()
}

#[test]
fn dry_runs_of_pipeline_answer_like_the_service() {
    let traced = (
        "\"config\": {\"validation_logic\"",
        "\"config\": {\"tracing\": {\"task_details\": true}, \"validation_logic\"",
    );
    let Some((_world, mut client)) = world_with(&[traced]) else { return };
    for (order, is_priced) in [(order("a", 12), true), (order("b", 3), true), (order("c", 0), false)] {
        let answer = client.json("POST", "/api/v1/data/intake", &order).unwrap();
        assert_eq!(answer.status == 200, is_priced, "{}", answer.text());
    }
    assert_eq!(
        repeat_offline(&mut client, &examples().join("pipeline/workflows"), &["intake"], &json!({})),
        3
    );
}

#[test]
fn deferred_order_is_priced_and_stored_once() {
    let Some((world, mut client)) = world() else { return };
    for order in [order("a", 12), order("a", 1), order("b", 3)] {
        let answer = client.json("POST", "/api/v1/data/intake/async", &order).unwrap();
        assert_eq!(answer.status, 202, "{}", answer.text());
        eventually(|| world.stored_documents(order["id"].as_str().unwrap()).len() == 2);
    }
    eventually(|| traces(&mut client, "intake", "completed").len() == 3);
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(world.stored_documents("a"), [text("108000"), None], "the first delivery counts");
    assert_eq!(world.stored_documents("b"), [text("30000"), None]);

    let unpriced = client.json("POST", "/api/v1/data/intake/async", &order("c", 0)).unwrap();
    assert_eq!(unpriced.status, 202);
    eventually(|| !traces(&mut client, "intake", "failed").is_empty());
    assert_eq!(scalar(&world.database, "SELECT count(*) FROM pipeline_orders"), "2");
    let exhausted = "/api/v1/admin/trace-dlq?channel=intake&exhausted=true";
    eventually(|| {
        client.get(exhausted).unwrap().json()["data"].as_array().is_some_and(|rows| rows.len() == 1)
    });
    let unnamed = client.json("POST", "/api/v1/data/intake/async", &json!({"qty": 1})).unwrap();
    error(&unnamed, 400, "VALIDATION_ERROR");
}

#[test]
fn second_version_takes_a_share_then_all() {
    let Some((world, mut client)) = world() else { return };
    world.draft(&mut client);
    assert_eq!(share(&rank(&world, &mut client, "draft")), 0, "a draft serves nobody");
    let canary = json!({"status": "active", "rollout_percentage": 20});
    admin(&mut client, "PATCH", &format!("{WORKFLOW}/status"), canary);
    assert_eq!(versions(&mut client), [version(2, "active", 20), version(1, "active", 80)]);
    let few = rank(&world, &mut client, "canary");
    assert!((20..=60).contains(&share(&few)), "a fifth of {CUSTOMERS}: {}", share(&few));
    assert_eq!(rank(&world, &mut client, "again"), few, "a customer stays with a version");

    admin(&mut client, "PATCH", &format!("{WORKFLOW}/rollout"), json!({"rollout_percentage": 60}));
    let more = rank(&world, &mut client, "more");
    assert!((100..=140).contains(&share(&more)), "three fifths of {CUSTOMERS}: {}", share(&more));
    assert!(few.iter().zip(&more).all(|(few, more)| *more || !few), "who had it keeps it");
    admin(&mut client, "PATCH", &format!("{WORKFLOW}/rollout"), json!({"rollout_percentage": 100}));
    assert_eq!(share(&rank(&world, &mut client, "all")), CUSTOMERS);
    assert_eq!(world.stored_documents("all-0"), [Some("10000".to_owned()), Some("normal".to_owned())]);
}

#[test]
fn second_version_is_aborted_replaced_and_rolled_back() {
    let Some((world, mut client)) = world() else { return };
    let rollout = format!("{WORKFLOW}/rollout");
    let status = format!("{WORKFLOW}/status");
    world.draft(&mut client);
    admin(&mut client, "PATCH", &status, json!({"status": "active", "rollout_percentage": 20}));
    admin(&mut client, "PATCH", &rollout, json!({"rollout_percentage": 0}));
    assert_eq!(active(&mut client), [(1, 100)]);
    assert_eq!(share(&rank(&world, &mut client, "aborted")), 0);

    admin(&mut client, "POST", &format!("{WORKFLOW}/versions"), json!({"from_version": 2}));
    admin(&mut client, "PATCH", &status, json!({"status": "active", "rollout_percentage": 20}));
    admin(&mut client, "POST", &format!("{WORKFLOW}/versions"), json!({}));
    let second = json!({"status": "active", "rollout_percentage": 10});
    let refused = client.json("PATCH", &format!("/api/v1/admin/{status}"), &second).unwrap();
    error(&refused, 409, "CONFLICT");
    assert_eq!(active(&mut client), [(3, 20), (1, 80)], "the first canary and the stable version go on");
    let replacing = json!({"status": "active", "rollout_percentage": 10, "replace_canary": true});
    admin(&mut client, "PATCH", &status, replacing);
    assert_eq!(active(&mut client), [(4, 10), (1, 90)]);

    admin(&mut client, "PATCH", &rollout, json!({"rollout_percentage": 100}));
    assert_eq!(share(&rank(&world, &mut client, "all")), CUSTOMERS);
    let back = admin(&mut client, "POST", &format!("{WORKFLOW}/rollback"), json!({"to_version": 1}));
    assert_eq!((&back["version"], &back["status"]), (&json!(5), &json!("active")), "{back}");
    assert_eq!(active(&mut client), [(5, 100)]);
    assert_eq!(share(&rank(&world, &mut client, "back")), 0);
}
