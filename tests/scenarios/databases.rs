//! Databases as the caller and the author of definitions meet them.

use std::os::unix::fs::symlink;

use serde_json::json;

use crate::support::{details, error, serve, start};

const CONNECTORS: &str = "/api/v1/admin/connectors";

#[test]
fn own_database_is_refused_as_a_connector() {
    let server = start();
    let mut client = server.client();
    let (directory, own) = (server.directory().to_owned(), server.directory().join("svc.db"));
    assert!(own.exists(), "the database is where this test thinks it is");
    symlink(&own, directory.join("link.db")).unwrap();
    std::fs::hard_link(&own, directory.join("hard.db")).unwrap();
    let fine = json!({"name": "fine", "connector_type": "db",
        "config": {"connection_string": format!("sqlite:{}", directory.join("fine.db").display())}});
    let answer = client.json("POST", CONNECTORS, &fine).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
    let id = answer.json()["data"]["id"].as_str().unwrap().to_owned();
    let at = |name: &str| directory.join(name).display().to_string();
    for place in [
        at("svc.db"),
        format!("//{}?mode=ro", at("svc.db")),
        at("./svc.db"),
        at("link.db"),
        at("hard.db"),
        at("svc.db-wal"),
        at("svc.db-shm"),
        format!("file:{}", at("svc.db")),
        format!("file:{}%3Fmode=rw", at("svc.db")),
    ] {
        let config = json!({"connection_string": format!("sqlite:{place}")});
        let body = json!({"name": "spy", "connector_type": "db", "config": config});
        let refused = error(&client.json("POST", CONNECTORS, &body).unwrap(), 400, "VALIDATION_ERROR");
        let expected = [("connector.config.connection_string".to_owned(), "INVALID".to_owned())];
        assert_eq!(details(&refused), expected, "{place}: {refused}");
        let checked = client.json("POST", &format!("{CONNECTORS}/validate"), &body).unwrap().json();
        assert_eq!(checked["data"]["valid"], false, "{place}: {checked}");
        let changed = client.json("PUT", &format!("{CONNECTORS}/{id}"), &json!({"config": config})).unwrap();
        error(&changed, 400, "VALIDATION_ERROR");
        let imported = client.json("POST", &format!("{CONNECTORS}/import"), &json!([body])).unwrap();
        assert!(
            imported.text().contains("the service itself") || imported.text().contains("file: URI"),
            "{}",
            imported.text()
        );
    }
    // A name that is known only when it is looked up is refused when it connects.
    let hidden = json!({"name": "spy", "connector_type": "db",
        "config": {"connection_string": format!("sqlite:${{NOT_SET_HERE:-{}}}", at("svc.db"))}});
    let answer = client.json("POST", CONNECTORS, &hidden).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
    let delete = json!([{"id": "t", "name": "", "function": {"name": "db_write", "input": {
        "connector": "spy", "query": "DELETE FROM audit_logs"}}}]);
    serve(&mut client, "wipe", delete);
    error(&client.json("POST", "/api/v1/data/wipe", &json!({})).unwrap(), 500, "ENGINE_ERROR");
    let audited = client.get("/api/v1/admin/audit-logs?resource_type=connector").unwrap().json();
    assert!(audited["total"].as_u64().unwrap() >= 2, "{audited}");
}

#[test]
fn violated_constraints_answer_409_and_400_without_a_value() {
    let server = start();
    let mut client = server.client();
    let file = server.directory().join("app.db").display().to_string();
    let connector = json!({"id": "app", "name": "app", "connector_type": "db",
        "config": {"connection_string": format!("sqlite:{file}")}});
    assert_eq!(client.json("POST", CONNECTORS, &connector).unwrap().status, 201);
    let task = |id: &str, query: &str, params: serde_json::Value| {
        json!([{"id": id, "name": "", "function": {"name": "db_write", "input": {
            "connector": "app", "query": query, "params": params}}}])
    };
    serve(&mut client, "parents", task("p", "CREATE TABLE p (id INTEGER PRIMARY KEY)", json!([])));
    let table =
        "CREATE TABLE t (id TEXT PRIMARY KEY, n INTEGER NOT NULL CHECK (n > 0), p INTEGER REFERENCES p (id))";
    serve(&mut client, "tables", task("t", table, json!([])));
    let values = json!([{"var": "payload.id"}, {"var": "payload.n"}, {"var": "payload.p"}]);
    serve(&mut client, "add", task("add", "INSERT INTO t VALUES (?, ?, ?)", values));
    for made in ["parents", "tables"] {
        assert_eq!(client.json("POST", &format!("/api/v1/data/{made}"), &json!({})).unwrap().status, 200);
    }
    let add = json!({"id": "swordfish", "n": 1, "p": null});
    assert_eq!(client.json("POST", "/api/v1/data/add", &add).unwrap().status, 200);
    for (row, status, code) in [
        (add, 409, "CONFLICT"),
        (json!({"id": "swordfish-2", "n": 1, "p": 7}), 409, "CONFLICT"),
        (json!({"id": "swordfish-2", "n": null, "p": null}), 400, "VALIDATION_ERROR"),
        (json!({"id": "swordfish-2", "n": -1, "p": null}), 400, "VALIDATION_ERROR"),
    ] {
        let answer = client.json("POST", "/api/v1/data/add", &row).unwrap();
        error(&answer, status, code);
        assert!(!answer.text().contains("swordfish"), "{}", answer.text());
    }
}
