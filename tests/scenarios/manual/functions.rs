//! The examples of the functions, against the systems that their connectors reach.

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::mongo::Mongo;
use svc_testkit::s3::{BUCKET, KEY, ObjectStore, SECRET};
use svc_testkit::smtp::{MailServer, Protection};
use svc_testkit::upstream::{ReceivedRequest, Upstream, UpstreamReply};

use super::blocks::{ManualBlock, blocks, page, workflow};
use super::{run, serve};
use crate::support::launch;

/// A Kafka client that is its own broker.
const KAFKA: &str = "[kafka]\nenabled = true\nbrokers = [\"127.0.0.1:1\"]\n\
    [kafka.extra_config]\n\"test.mock.num.brokers\" = \"1\"\n";
/// Connectors to systems that may be missing.
const PEERS: [&str; 3] = ["crm", "post", "files"];

fn connect(client: &mut HttpClient, name: &str, kind: &str, config: Value) {
    let connector = json!({"name": name, "connector_type": kind, "config": config});
    let answer = client.json("POST", "/api/v1/admin/connectors", &connector).unwrap();
    assert_eq!(answer.json()["data"]["load_status"], "loaded", "{}", answer.text());
}

/// Answers with what it was asked.
fn echo(asked: &ReceivedRequest) -> UpstreamReply {
    let body: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
    UpstreamReply::new(200, json!({"path": asked.target, "method": asked.method, "body": body}).to_string())
}

/// The connectors that a workflow names.
fn connectors(tasks: &Value) -> Vec<String> {
    let tasks = tasks.as_array().into_iter().flatten();
    tasks.filter_map(|task| Some(task["function"]["input"]["connector"].as_str()?.to_owned())).collect()
}

/// The blocks of the page, each list of tasks with its runs.
fn examples() -> Vec<(ManualBlock, Vec<ManualBlock>)> {
    let mut examples: Vec<(ManualBlock, Vec<ManualBlock>)> = Vec::new();
    for block in blocks(&page("functions.md")) {
        match block.kind.as_str() {
            "tasks" => examples.push((block, Vec::new())),
            _ => examples.last_mut().expect("tasks come first").1.push(block),
        }
    }
    examples
}

#[test]
fn examples_of_all_functions_run_as_the_page_says() {
    let launch = launch();
    let config = launch.directory().join("svc.toml");
    std::fs::write(&config, KAFKA).unwrap();
    let shop = launch.directory().join("shop.db");
    let server = launch.args(&["-c", config.to_str().unwrap()]).start().unwrap();
    let mut client = server.client();

    let billing = Upstream::start(echo).unwrap();
    let shop = json!({"connection_string": format!("sqlite:{}", shop.display())});
    connect(&mut client, "sessions", "cache", json!({"backend": "memory"}));
    connect(&mut client, "shop", "db", shop);
    connect(&mut client, "billing", "http", json!({"url": billing.url(""), "allow_private_urls": true}));
    connect(&mut client, "events", "kafka", json!({"brokers": []}));
    let peers = (Mongo::own(), MailServer::start(Protection::None, None), ObjectStore::start());
    let mut missing = PEERS.to_vec();
    if let Some(mongo) = &peers.0 {
        let config = json!({"connection_string": mongo.url(), "allow_private_urls": true});
        connect(&mut client, "crm", "db", config);
        missing.retain(|name| *name != "crm");
    }
    if let Some(mail) = &peers.1 {
        let config = json!({"host": "127.0.0.1", "port": mail.port(), "tls": "none", "from": "shop@example.com",
            "allow_private_urls": true});
        connect(&mut client, "post", "smtp", config);
        missing.retain(|name| *name != "post");
    }
    if let Some(store) = &peers.2 {
        let config = json!({"endpoint": format!("http://{}", store.address()), "region": "eu-central-1", "bucket": BUCKET,
            "access_key": KEY, "secret_key": SECRET, "force_path_style": true, "allow_private_urls": true});
        connect(&mut client, "files", "storage", config);
        missing.retain(|name| *name != "files");
    }
    let table = "CREATE TABLE orders (id TEXT PRIMARY KEY, total INTEGER)";
    let table = json!([{"id": "t", "name": "T", "function": {"name": "db_write", "input": {
        "connector": "shop", "query": table, "output": "data.made"}}}]);
    serve(&mut client, "the table", "tables", workflow(table));
    assert_eq!(client.json("POST", "/api/v1/data/tables", &json!({})).unwrap().status, 200);
    let total = json!([{"id": "t", "name": "T", "function": {"name": "map", "input": {"mappings": [
        {"path": "data.total", "logic": {"*": [{"var": "payload.qty"}, {"var": "payload.unit"}]}}]}}}]);
    serve(&mut client, "the prices", "pricing", workflow(total));

    for (number, (tasks, runs)) in examples().iter().enumerate() {
        if connectors(&tasks.value).iter().any(|name| missing.contains(&name.as_str())) {
            continue;
        }
        let id = format!("example-{number}");
        serve(&mut client, &tasks.place, &id, workflow(tasks.value.clone()));
        assert!(!runs.is_empty(), "{}: an example says what it does", tasks.place);
        for block in runs {
            run(&mut client, &id, block);
        }
    }
}
