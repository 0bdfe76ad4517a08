//! Encrypted connections, and whom they trust.

use serde_json::json;
use svc_testkit::mariadb::MariaDb;
use svc_testkit::postgres::Postgres;
use svc_testkit::tls::issue_certificate;

use super::{config, read};
use crate::kit::{ConnectorWorld, Setup, run_in};

/// Returns true if a connection with this mode is encrypted; `None` if it fails.
async fn is_encrypted(world: &ConnectorWorld, url: &str, mode: &str, query: &str) -> Option<bool> {
    let url = if mode.is_empty() { url.to_owned() } else { format!("{url}?{mode}") };
    world.put("c", "db", true, config(&url, json!({}))).await;
    match read(world, query, json!([])).await {
        Ok(rows) => Some(rows[0]["tls"] != "" && rows[0]["tls"] != false),
        Err(error) => {
            assert_eq!((error.code.name(), error.retryable()), ("IO_ERROR", true), "{error:?}");
            None
        }
    }
}

const POSTGRES: &str = "SELECT ssl AS tls FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
const MARIADB: &str =
    "SELECT variable_value AS tls FROM information_schema.session_status WHERE variable_name = 'ssl_cipher'";

fn check(url: &str, query: &str, modes: [&str; 3], anchors: &str, trusted: [Option<bool>; 4]) {
    let setup = Setup { authority: anchors.to_owned(), ..Setup::default() };
    run_in(setup, async |world| {
        for (mode, expected) in ["", modes[0], modes[1], modes[2]].into_iter().zip(trusted) {
            assert_eq!(is_encrypted(world, url, mode, query).await, expected, "{mode}");
        }
    });
}

#[test]
fn postgres_is_believed_by_its_certificate() {
    let certificate = issue_certificate().unwrap();
    let Some(server) = Postgres::with_tls(&certificate) else { return };
    let modes = ["sslmode=disable", "sslmode=require", "sslmode=verify-full"];
    let whole = [Some(true), Some(false), Some(true), Some(true)];
    check(server.url(), POSTGRES, modes, &certificate.authority, whole);
    // A certificate of others is none: nothing is sent in the clear instead, also where encryption is a
    // preference.
    check(server.url(), POSTGRES, modes, "", [None, Some(false), None, None]);
}

#[test]
fn mariadb_is_believed_by_its_certificate() {
    let certificate = issue_certificate().unwrap();
    let Some(server) = MariaDb::with_tls(&certificate) else { return };
    let modes = ["ssl-mode=DISABLED", "ssl-mode=REQUIRED", "require_ssl=true"];
    let whole = [Some(true), Some(false), Some(true), Some(true)];
    check(server.url(), MARIADB, modes, &certificate.authority, whole);
    check(server.url(), MARIADB, modes, "", [None, Some(false), None, None]);
}

#[test]
fn refused_certificate_names_its_remedies_where_encryption_is_preferred() {
    let certificate = issue_certificate().unwrap();
    let mut urls = Vec::new();
    let (postgres, mariadb) = (Postgres::with_tls(&certificate), MariaDb::with_tls(&certificate));
    urls.extend(postgres.as_ref().map(|server| (server.url().to_owned(), "sslmode=prefer")));
    urls.extend(mariadb.as_ref().map(|server| (server.url().to_owned(), "ssl-mode=PREFERRED")));
    run_in(Setup::default(), async |world| {
        for (url, mode) in &urls {
            world.put("c", "db", true, config(&format!("{url}?{mode}"), json!({}))).await;
            let error = read(world, "SELECT 1", json!([])).await.unwrap_err();
            assert!(error.message.contains("SSL_CERT_FILE"), "{url}: {}", error.message);
            assert!(error.message.contains("'disable'"), "{url}: {}", error.message);
        }
    });
}

#[test]
fn plain_server_is_used_unless_encryption_is_required() {
    let due = [Some(false), Some(false), None, None];
    if let Some(server) = Postgres::shared() {
        check(server.url(), POSTGRES, ["sslmode=disable", "sslmode=require", "sslmode=verify-ca"], "", due);
    }
    if let Some(server) = MariaDb::shared() {
        check(server.url(), MARIADB, ["ssl-mode=DISABLED", "ssl-mode=REQUIRED", "require_ssl=true"], "", due);
    }
}
