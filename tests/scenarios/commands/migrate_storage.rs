//! `migrate-storage`: a service goes on in PostgreSQL with all that it had in its file.

use serde_json::json;

use super::{Database, stderr, stdout};
use crate::support::{echo, launch};

#[test]
fn service_goes_on_after_move_to_postgres() {
    let (Some(target), source) = (Database::postgres(), Database::sqlite()) else { return };
    let server = source.start();
    echo(&mut server.client(), "orders", json!({}));
    let answer = server.client().json("POST", "/api/v1/data/orders", &json!({"n": 1})).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    let refused = source.run(&["migrate-storage", "--to", &target.url]);
    assert_eq!(refused.status.code(), Some(1), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("in use by"), "{}", stderr(&refused));
    // A backup may be moved while the server serves.
    let copy = source.directory.path().join("copy.db");
    let backup = source.run(&["backup", "--output", copy.to_str().unwrap()]);
    assert_eq!(backup.status.code(), Some(0), "{}", stderr(&backup));
    let from = format!("sqlite:{}", copy.display());
    let args = ["migrate-storage", "--from", &from, "--to", "env://TARGET_URL"];
    let moved = source.run_with(&args, ("TARGET_URL", target.url.as_str()));
    assert_eq!(moved.status.code(), Some(0), "{}", stderr(&moved));
    assert!(stdout(&moved).contains("\ntraces: 1 row(s), sha256 sum "), "{}", stdout(&moved));
    drop(server);
    let server = target.start();
    let answer = server.client().json("POST", "/api/v1/data/orders", &json!({"n": 2})).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[test]
fn unusable_target_is_refused_with_its_place() {
    let source = Database::sqlite();
    for (to, word) in [("mysql://db/svc", "--to: "), ("env://NO_SUCH_VARIABLE", "NO_SUCH_VARIABLE")] {
        let output = source.run(&["migrate-storage", "--to", to]);
        assert_eq!(output.status.code(), Some(78), "{}", stderr(&output));
        assert!(stderr(&output).contains(word), "{}", stderr(&output));
    }
    let output = launch().args(&["migrate-storage"]).run_to_end().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}
