//! A failure in production becomes a regression test.

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::postgres::Postgres;
use svc_testkit::server::ServerProcess;
use tempfile::TempDir;

use super::{command, read, write};
use crate::support::{error, launch, serve_with};

const TRACES: &str = "/api/v1/admin/traces";

fn task(id: &str, function: &str, input: Value) -> Value {
    json!({"id": id, "name": id, "function": {"name": function, "input": input}})
}

/// The tasks that price an order by the products of a database; `total` computes the total.
fn tasks(total: Value) -> Value {
    let select = "SELECT sku, price FROM products WHERE sku = $1";
    json!([
        task("take", "parse_json", json!({"source": "payload", "target": "order"})),
        task(
            "read",
            "db_read",
            json!({"connector": "shop", "query": select, "params": [{"var": "data.order.sku"}],
            "output": "data.rows"})
        ),
        task(
            "rates",
            "db_read",
            json!({"connector": "shop", "query": "SELECT 19 AS vat", "output": "data.rates"})
        ),
        task(
            "sign",
            "crypto",
            json!({"op": "hmac", "key": {"secret": "sign"}, "data": {"var": "data.order.sku"},
            "output": "data.signature"})
        ),
        task("price", "map", json!({"mappings": [{"path": "data.total", "logic": total}]})),
    ])
}

/// Fails for a product whose price is no number.
fn careless() -> Value {
    json!({"*": [{"var": "data.rows.0.price"}, {"var": "data.order.qty"}]})
}

fn careful() -> Value {
    json!({"try": [careless(), "on request"]})
}

/// Serves the pricing of orders over a database of its own.
fn shop(postgres: &Postgres) -> (ServerProcess, HttpClient) {
    let database = postgres.database().unwrap();
    let rows = "INSERT INTO products VALUES ('lamp', '40'), ('opera', 'on request')";
    database.rows(&format!("CREATE TABLE products (sku text, price text); {rows}")).unwrap();
    let server = launch();
    std::fs::write(server.directory().join("svc.toml"), "[secrets]\nsign = \"env://SHOP_SIGN\"\n").unwrap();
    let server =
        server.args(&["-c", "svc.toml"]).env("SHOP_SIGN", "canary-sign").env("SHOP_DB", database.url());
    let server = server.start().unwrap();
    let mut client = server.client();
    let connector = json!({"name": "shop", "connector_type": "db",
        "config": {"connection_string": "env://SHOP_DB", "allow_private_urls": true}});
    let answer = client.json("POST", "/api/v1/admin/connectors", &connector).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
    serve_with(&mut client, "pricing", json!({"tracing": {"task_details": true}}), tasks(careless()));
    (server, client)
}

/// Returns the newest trace of a status, as the admin API answers.
fn trace(client: &mut HttpClient, status: &str) -> Value {
    let page = client.get(&format!("{TRACES}?channel=pricing&status={status}")).unwrap().json();
    let id = page["data"][0]["id"].as_str().unwrap_or_else(|| panic!("{page}")).to_owned();
    let trace = client.get(&format!("{TRACES}/{id}")).unwrap();
    assert!(!trace.text().contains("canary"), "{}", trace.text());
    trace.json()
}

/// Writes the project with the workflow of this total.
fn project(total: Value) -> TempDir {
    let project = TempDir::new().unwrap();
    let workflow = json!({"workflow_id": "pricing", "name": "Pricing", "tasks": tasks(total)});
    write(project.path(), "workflows/pricing.json", &workflow);
    std::fs::create_dir(project.path().join("tests")).unwrap();
    project
}

#[test]
fn case_of_failed_order_passes_after_correction() {
    let Some(postgres) = Postgres::shared() else { return };
    let (_server, mut client) = shop(&postgres);
    let order = json!({"sku": "opera", "qty": 3});
    error(&client.json("POST", "/api/v1/data/pricing", &order).unwrap(), 500, "ENGINE_ERROR");
    let failed = trace(&mut client, "failed");
    let code = failed["data"]["errors"][0]["code"].as_str().unwrap().to_owned();

    let project = project(careless());
    let root = project.path();
    write(root, "trace.json", &failed);
    let output = command(root, &["case", "--from-trace", "trace.json", "-o", "tests/opera.case.json"]);
    assert_eq!((output.code(), output.stdout_text()), (Some(0), String::new()), "{}", output.err());
    let case = read(root, "tests/opera.case.json");
    assert_eq!((&case["input"], &case["workflow"]), (&order, &json!("../workflows/pricing.json")), "{case}");
    let stub = json!({"shop#read": [{"sku": "opera", "price": "on request"}], "shop#rates": [{"vat": 19}]});
    assert_eq!(case["stubs"], json!({"db_read": stub}), "what the database answered");
    assert!(case["secrets"]["sign"].as_str().unwrap().starts_with("stand-in-for-sign"), "{case}");
    assert_eq!(case["x-failure"]["code"], code.as_str());

    let same = command(root, &["test", "tests"]);
    assert_eq!(same.code(), Some(1), "{}", same.stdout_text());
    assert!(
        same.stdout_text().contains(&format!(r#"errors: expected [], got ["{code}"]"#)),
        "{}",
        same.stdout_text()
    );
    assert!(
        same.stdout_text().contains("task 'price'")
            && same.stdout_text().contains("0 passed, 1 failed (1 case(s))")
    );
    let observed =
        command(root, &["case", "--from-trace", "trace.json", "--as-observed", "-o", "tests/o.case.json"]);
    assert_eq!(observed.code(), Some(0), "{}", observed.err());
    let observed = command(root, &["test", "tests/o.case.json"]);
    assert_eq!(
        observed.code(),
        Some(0),
        "the failure itself may be what is expected: {}",
        observed.stdout_text()
    );

    let corrected = json!({"workflow_id": "pricing", "name": "Pricing", "tasks": tasks(careful())});
    write(root, "workflows/pricing.json", &corrected);
    let passes = command(root, &["test", "tests/opera.case.json"]);
    assert_eq!(passes.code(), Some(0), "{}", passes.stdout_text());
    assert!(passes.stdout_text().ends_with("1 passed, 0 failed (1 case(s))\n"), "{}", passes.stdout_text());
}

#[test]
fn completed_run_becomes_case_expecting_its_end() {
    let Some(postgres) = Postgres::shared() else { return };
    let (_server, mut client) = shop(&postgres);
    let answer = client.json("POST", "/api/v1/data/pricing", &json!({"sku": "lamp", "qty": 2})).unwrap();
    assert_eq!((answer.status, &answer.json()["data"]["total"]), (200, &json!(80)), "{}", answer.text());
    let project = project(careless());
    let root = project.path();
    write(root, "trace.json", &trace(&mut client, "completed"));
    let output = command(root, &["case", "--from-trace", "trace.json", "-o", "tests/lamp.case.json"]);
    assert_eq!(output.code(), Some(0), "{}", output.err());
    let case = read(root, "tests/lamp.case.json");
    assert_eq!(case["expect"]["data.total"], 80, "{case}");
    assert_eq!(case["expect_tasks"], json!(["take", "read", "rates", "sign", "price"]));
    // Another key leads to another signature.
    assert_eq!(case["expect"].get("data.signature"), None, "{case}");
    assert!(output.err().contains("data.signature was made with a secret"), "{}", output.err());
    let passes = command(root, &["test", "tests"]);
    assert_eq!(passes.code(), Some(0), "{}", passes.stdout_text());
    write(root, "workflows/pricing.json", &json!({"name": "Pricing", "tasks": tasks(json!(79))}));
    let fails = command(root, &["test", "tests"]);
    assert!(fails.stdout_text().contains("data.total: expected 80, got 79"), "{}", fails.stdout_text());
}

#[test]
fn trace_without_task_details_is_refused_with_remedy() {
    let project = project(careless());
    let bare = json!({"data": {"id": "t", "status": "completed", "channel": "c", "workflow_id": "pricing"}});
    write(project.path(), "trace.json", &bare);
    let refused = command(project.path(), &["case", "--from-trace", "trace.json"]);
    assert_eq!((refused.code(), refused.stdout_text()), (Some(1), String::new()));
    assert!(refused.err().contains("tracing.task_details"), "{}", refused.err());
}
