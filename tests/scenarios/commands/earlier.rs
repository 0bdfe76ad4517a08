//! `migrate` and a start on a database of the last build before 0.1.0.

use serde_json::json;

use super::{Database, on_both, stderr, stdout};
use crate::support::launch;

on_both!(earlier_database_is_migrated_with_its_key_alone);

const SQLITE: &str = include_str!("../../../actors/store/tests/fixtures/earlier_sqlite.sql");
const POSTGRES: &str = include_str!("../../../actors/store/tests/fixtures/earlier_postgres.sql");

fn earlier_database_is_migrated_with_its_key_alone(database: &Database) {
    database.execute(if database.postgres.is_some() { POSTGRES } else { SQLITE });
    for command in [&["migrate"][..], &[]] {
        let refused = database.run(command);
        let text = stderr(&refused);
        assert_eq!(refused.status.code(), Some(78), "{text}");
        assert!(text.contains("the key 668253b37812d982, which is not configured"), "{text}");
    }
    let key = "a1".repeat(32);
    let key = ("SVC_STORAGE__CONNECTOR_ENCRYPTION_KEY", key.as_str());
    let migrated = database.run_with(&["migrate"], key);
    assert_eq!(migrated.status.code(), Some(0), "{}", stderr(&migrated));
    assert!(stdout(&migrated).contains(" 001 — schema\n"), "{}", stdout(&migrated));
    let server = launch().env("SVC_STORAGE__URL", &database.url).env(key.0, key.1).start().unwrap();
    let mut client = server.client();
    let channels = client.get("/api/v1/admin/channels").unwrap().json();
    assert_eq!(channels["total"], 4, "{channels}");
    let connector = client.get("/api/v1/admin/connectors/plain").unwrap().json();
    assert_eq!(connector["data"]["load_status"], "loaded", "{connector}");
    let answer = client.json("POST", "/api/v1/data/fast", &json!({"z": 1})).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
}
