//! Connectors and the credentials of channels at rest: encrypted, under keys that are replaced, through crashes.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use diesel::prelude::*;
use diesel::sql_types::BigInt;
use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::server::ServerCommand;

use crate::support::{echo, error, eventually, launch, open_database};

const CONNECTORS: &str = "/api/v1/admin/connectors";
const WRITERS: usize = 4;
const ROUNDS: u64 = 4;
/// Updates that are answered before the server is killed.
const UPDATES: u64 = 60;

/// The binary on a database that outlives it, with a key that writes and one that only reads.
fn command(directory: &Path, current: Option<&str>, previous: Option<&str>) -> ServerCommand {
    let url = format!("sqlite:{}", directory.join("kept.db").display());
    let launch = launch().env("SVC_STORAGE__URL", &url);
    let launch = match current {
        Some(_) => launch.env("SVC_STORAGE__CONNECTOR_ENCRYPTION_KEY", "env://CURRENT_KEY"),
        None => launch,
    };
    let launch = launch.env("CURRENT_KEY", current.unwrap_or_default());
    match previous {
        Some(key) => launch.env("SVC_STORAGE__PREVIOUS_CONNECTOR_ENCRYPTION_KEYS", key),
        None => launch,
    }
}

/// A config whose number can be read, and whose secret cannot.
fn config(number: u64) -> Value {
    json!({"url": "https://a.example", "max_response_size": number + 1,
        "auth": {"type": "bearer", "token": format!("swordfish-{number}")}})
}

/// The state of the writer of one connector.
#[derive(Default)]
struct Told {
    sent: AtomicU64,
    answered: AtomicU64,
}

/// Updates a connector until the server is gone.
fn update(address: SocketAddr, id: usize, told: &Told) {
    let mut client = HttpClient::new(address).keep_alive();
    loop {
        let number = told.sent.fetch_add(1, Ordering::Relaxed) + 1;
        let answer = client.json("PUT", &format!("{CONNECTORS}/{id}"), &json!({"config": config(number)}));
        match answer {
            Ok(answer) if answer.status == 200 => told.answered.store(number, Ordering::Relaxed),
            _ => return,
        }
    }
}

fn rows(client: &mut HttpClient) -> Vec<Value> {
    client.get(CONNECTORS).unwrap().json()["data"].as_array().unwrap().clone()
}

fn files_hold(directory: &Path, text: &str) -> bool {
    let files = std::fs::read_dir(directory).unwrap();
    files
        .map(|file| std::fs::read(file.unwrap().path()).unwrap())
        .any(|bytes| bytes.windows(text.len()).any(|part| part == text.as_bytes()))
}

#[test]
fn kills_during_rekey_leave_every_row_readable() {
    let directory = tempfile::tempdir().unwrap();
    let keys = ["a1".repeat(32), "b2".repeat(32)];
    let told: Vec<Told> = (0..WRITERS).map(|_| Told::default()).collect();
    for round in 0..=ROUNDS {
        let (current, previous) = (&keys[round as usize % 2], &keys[(round as usize + 1) % 2]);
        let server = command(directory.path(), Some(current), Some(previous)).start().unwrap();
        let mut client = server.client();
        if round == 0 {
            for id in 0..WRITERS {
                let body = json!({"id": id.to_string(), "name": format!("c{id}"), "connector_type": "http", "config": config(0)});
                assert_eq!(client.json("POST", CONNECTORS, &body).unwrap().status, 201);
            }
        }
        for (row, told) in rows(&mut client).iter().zip(&told) {
            assert_eq!(row["load_status"], "loaded", "{row}");
            let number = row["config"]["max_response_size"].as_u64().unwrap() - 1;
            let (answered, sent) = (told.answered.load(Ordering::Relaxed), told.sent.load(Ordering::Relaxed));
            assert!((answered..=sent).contains(&number), "{number}: {answered} answered, {sent} sent");
        }
        if round == ROUNDS {
            break;
        }
        let address = server.address();
        let done = || told.iter().map(|told| told.answered.load(Ordering::Relaxed)).sum::<u64>();
        let before = done();
        std::thread::scope(|scope| {
            for (id, told) in told.iter().enumerate() {
                scope.spawn(move || update(address, id, told));
            }
            eventually(|| done() >= before + UPDATES);
            // Killed, as by a power cut.
            drop(server);
        });
        assert!(!files_hold(directory.path(), "swordfish"));
    }
    // Rewritten, the former key is not needed any more.
    let (current, former) = (&keys[1], &keys[0]);
    let run = |launch: ServerCommand| launch.args(&["reencrypt"]).run_to_end().unwrap();
    let done = run(command(directory.path(), Some(current), Some(former)));
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(0), "{said}");
    assert!(
        said.contains("connectors rewritten: ") && said.contains(", stored tokens rewritten: 0"),
        "{said}"
    );
    let server = command(directory.path(), Some(current), None).start().unwrap();
    assert!(rows(&mut server.client()).iter().all(|row| row["load_status"] == "loaded"));
    drop(server);
    assert_eq!(
        run(command(directory.path(), Some(former), None)).status.code(),
        Some(1),
        "no row can be read"
    );
    assert_eq!(
        run(command(directory.path(), None, Some(current))).status.code(),
        Some(78),
        "nothing to encrypt with"
    );
}

/// Rows that are rewritten in the face of kills,
const ROWS: u64 = 300;
/// and rows that are rewritten between two kills, at least.
const STEP: i64 = 12;

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    count: i64,
}

/// Counts the rewritten rows.
fn count_rewritten(directory: &Path) -> i64 {
    let file = directory.join("kept.db");
    let mut database = open_database(&file);
    let query = "SELECT count(*) AS count FROM audit_logs WHERE action = 'reencrypt'";
    diesel::sql_query(query).get_result::<Count>(&mut database).unwrap().count
}

/// That every row is read as it was written; the first one is changed all the time.
fn assert_readable(client: &mut HttpClient) {
    let rows = client.get(&format!("{CONNECTORS}/export")).unwrap().json()["data"].clone();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len() as u64, ROWS);
    for row in rows {
        let number: u64 = row["id"].as_str().unwrap().parse().unwrap();
        let shown = row["config"]["max_response_size"].as_u64();
        assert!(shown == Some(number + 1) || number == 0 && shown.is_some(), "{row}");
        assert_eq!(row["config"]["auth"]["token"], "******");
    }
}

#[test]
fn killed_reencryption_leaves_rows_under_either_key() {
    let directory = tempfile::tempdir().unwrap();
    let keys = ["d4".repeat(32), "e5".repeat(32)];
    let server = command(directory.path(), Some(&keys[0]), None).start().unwrap();
    let items = (0..ROWS).map(|id| {
        json!({"id": id.to_string(), "name": format!("c{id}"), "connector_type": "http", "config": config(id)})
    });
    let answer =
        server.client().json("POST", &format!("{CONNECTORS}/import"), &items.collect::<Value>()).unwrap();
    assert_eq!(answer.json()["data"]["imported"], ROWS, "{}", answer.text());
    drop(server);
    let mut kills = 0;
    for round in 0..2 {
        let launch = || command(directory.path(), Some(&keys[(round + 1) % 2]), Some(&keys[round % 2]));
        let server = launch().start().unwrap();
        let (address, mut client, told) = (server.address(), server.client(), Told::default());
        std::thread::scope(|scope| {
            scope.spawn(|| update(address, 0, &told));
            loop {
                let enough = count_rewritten(directory.path()) + STEP;
                let killed =
                    launch().args(&["reencrypt"]).kill_when(|| count_rewritten(directory.path()) >= enough);
                assert_readable(&mut client);
                if !killed.unwrap() {
                    break;
                }
                kills += 1;
            }
            // Killed, too.
            drop(server);
        });
        assert!(told.answered.load(Ordering::Relaxed) > 0);
    }
    assert!(kills >= 6, "{kills} kills");
    // But for the first row, which a server may have been quicker with.
    let recorded = u64::try_from(count_rewritten(directory.path())).unwrap();
    assert!((2 * (ROWS - 1)..=2 * ROWS).contains(&recorded), "{recorded} on record");
    let server = command(directory.path(), Some(&keys[0]), None).start().unwrap();
    assert_readable(&mut server.client());
    assert!(!files_hold(directory.path(), "swordfish"));
}

#[test]
fn connector_without_its_key_fails_alone() {
    let directory = tempfile::tempdir().unwrap();
    let key = "c3".repeat(32);
    let server = command(directory.path(), None, None).start().unwrap();
    let body = |name: &str| json!({"id": name, "name": name, "connector_type": "http", "config": config(7)});
    assert_eq!(server.client().json("POST", CONNECTORS, &body("plain")).unwrap().status, 201);
    drop(server);
    let server = command(directory.path(), Some(&key), None).start().unwrap();
    assert_eq!(server.client().json("POST", CONNECTORS, &body("sealed")).unwrap().status, 201);
    assert!(
        rows(&mut server.client()).iter().all(|row| row["load_status"] == "loaded"),
        "plain rows are read"
    );
    drop(server);
    let server = command(directory.path(), None, None).start().unwrap();
    let mut client = server.client();
    let rows = rows(&mut client);
    assert_eq!((&rows[0]["load_status"], &rows[1]["load_status"]), (&json!("loaded"), &json!("failed")));
    let why = rows[1]["load_error"].as_str().unwrap();
    assert!(why.contains("is not configured"), "{why}");
    assert_eq!((&rows[1]["config"], &rows[1]["content_hash"]), (&Value::Null, &json!("")));
    let off =
        client.json("PATCH", &format!("{CONNECTORS}/sealed/status"), &json!({"status": "archived"})).unwrap();
    assert_eq!(off.status, 200, "{}", off.text());
    drop(server);
    let server = command(directory.path(), Some(&key), None).start().unwrap();
    let sealed = client_row(&mut server.client(), "sealed");
    assert_eq!((&sealed["config"]["max_response_size"], &sealed["enabled"]), (&json!(8), &json!(false)));
}

/// Calls the channel with its credential and returns the status.
fn call(client: &mut HttpClient, name: &str) -> u16 {
    let path = format!("/api/v1/data/{name}");
    let headers = [("authorization", "Bearer swordfish-key"), ("content-type", "application/json")];
    client.send("POST", &path, &headers, b"{}").unwrap().status
}

#[test]
fn channel_credentials_are_reencrypted_without_loss() {
    let directory = tempfile::tempdir().unwrap();
    let keys = ["a7".repeat(32), "b8".repeat(32)];
    let auth = || json!({"auth": {"mode": "api_key", "keys": ["swordfish-key", "env://PATH"]}});
    let reencrypt = |launch: ServerCommand| {
        let done = launch.args(&["reencrypt"]).run_to_end().unwrap();
        (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    let server = command(directory.path(), Some(&keys[0]), None).start().unwrap();
    echo(&mut server.client(), "orders", auth());
    let answer = server.client().send("POST", "/api/v1/admin/channels/orders/versions", &[], b"").unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
    assert_eq!(call(&mut server.client(), "orders"), 200);
    assert!(!files_hold(directory.path(), "swordfish"));
    let (code, text) = reencrypt(command(directory.path(), Some(&keys[1]), Some(&keys[0])));
    let nodes = server.client().get("/api/v1/admin/nodes").unwrap().json();
    let node = nodes["data"][0]["id"].as_str().unwrap();
    assert!(code == Some(1) && text.contains("live nodes cannot read") && text.contains(node), "{text}");
    drop(server);
    let (code, text) = reencrypt(command(directory.path(), Some(&keys[1]), Some(&keys[0])));
    assert!(code == Some(0) && text.contains("versions of channels rewritten: 2"), "{text}");
    let (code, text) = reencrypt(command(directory.path(), Some(&keys[1]), None));
    assert!(code == Some(0) && text.contains("versions of channels rewritten: 0"), "{text}");
    let server = command(directory.path(), Some(&keys[1]), None).start().unwrap();
    assert_eq!(call(&mut server.client(), "orders"), 200);
    drop(server);

    // Without the key the channel is quarantined, says why, and is not copied elsewhere.
    let server = command(directory.path(), None, None).start().unwrap();
    let mut client = server.client();
    assert_eq!(call(&mut client, "orders"), 503);
    let health = client.get("/health").unwrap().text();
    assert!(health.contains("config.auth.keys[0]") && health.contains("is not configured"), "{health}");
    let shown = client.get("/api/v1/admin/channels/orders").unwrap();
    assert!(shown.status == 200 && !shown.text().contains("enc:v"), "{}", shown.text());
    let body = json!({"config": {"auth": {"mode": "api_key", "keys": ["******"]}}});
    let refused = client.json("PUT", "/api/v1/admin/channels/orders", &body).unwrap();
    let refused = error(&refused, 400, "VALIDATION_ERROR");
    assert_eq!(refused["details"][0]["path"], "channel.config.auth.keys[0]", "{refused}");
    echo(&mut client, "plain", auth());
    drop(server);
    let (code, text) = reencrypt(command(directory.path(), Some(&keys[0]), None));
    assert!(code == Some(1) && text.contains("channel 'orders' version 1 was left as it is"), "{text}");
    assert!(text.contains("versions of channels rewritten: 1"), "the one in plain text: {text}");
    let server = command(directory.path(), Some(&keys[1]), Some(&keys[0])).start().unwrap();
    for name in ["orders", "plain"] {
        assert_eq!(call(&mut server.client(), name), 200, "{name}");
    }
}

fn client_row(client: &mut HttpClient, id: &str) -> Value {
    client.get(&format!("{CONNECTORS}/{id}")).unwrap().json()["data"].clone()
}

#[test]
fn a_key_that_cannot_be_had_ends_the_start() {
    for (key, part) in [("env://NOT_SET_ANYWHERE", "NOT_SET_ANYWHERE"), ("abc", "64 hexadecimal digits")] {
        let done = launch().env("SVC_STORAGE__CONNECTOR_ENCRYPTION_KEY", key).run_to_end().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(78), "{said}");
        assert!(said.contains("storage.connector_encryption_key") && said.contains(part), "{said}");
    }
}
