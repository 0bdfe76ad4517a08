//! TLS between the service and its own PostgreSQL.

use serde_json::json;
use svc_testkit::postgres::Postgres;
use svc_testkit::tls::issue_certificate;

use crate::support::{echo, launch};

/// The state of each connection of the service: encrypted or not, and its last statement.
const SESSIONS: &str = "SELECT ssl, query FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
    WHERE application_name = 'svc-server'";

#[test]
fn server_and_commands_speak_tls_with_the_storage() {
    let certificate = issue_certificate().unwrap();
    let Some(postgres) = Postgres::with_tls(&certificate) else { return };
    let database = postgres.database().unwrap();
    let url = format!("{}?sslmode=verify-full", database.url());
    // The anchors of the system are those of SSL_CERT_FILE.
    let with = |url: &str| {
        let launch = launch().env("SVC_STORAGE__URL", url).env("SVC_STORAGE__CONNECT_RETRY_SECS", "0");
        let authority = launch.directory().join("authority.pem");
        std::fs::write(&authority, &certificate.authority).unwrap();
        (launch.env("SSL_CERT_FILE", &authority.display().to_string()), authority.display().to_string())
    };
    for command in [&["migrate"][..], &["test-connectivity"], &["preflight"], &["migrate", "--dry-run"]] {
        let output = with(&url).0.args(command).run_to_end().unwrap();
        assert_eq!(output.status.code(), Some(0), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let server = with(&url).0.start().unwrap();
    echo(&mut server.client(), "e", json!({}));
    assert_eq!(server.client().json("POST", "/api/v1/data/e", &json!({})).unwrap().status, 200);
    let sessions = database.rows(SESSIONS).unwrap();
    assert!(sessions.iter().all(|row| row[0].as_deref() == Some("t")), "{sessions:?}");
    let listens =
        |row: &Vec<Option<String>>| row[1].as_deref().is_some_and(|text| text.starts_with("LISTEN"));
    assert!(sessions.iter().any(listens), "{sessions:?}");
    server.wait_for_log(&["connections to the storage are encrypted", "verify-full"]).unwrap();
    drop(server);

    let (launch, authority) = with("");
    let named = format!("{url}&sslrootcert={authority}");
    let output = launch.env("SVC_STORAGE__URL", &named).env("SSL_CERT_FILE", "/dev/null");
    let output = output.args(&["test-connectivity"]).run_to_end().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn untrusted_storage_certificate_ends_the_start() {
    let Some(postgres) = Postgres::with_tls(&issue_certificate().unwrap()) else { return };
    let stranger = launch().env("SVC_STORAGE__CONNECT_RETRY_SECS", "0");
    let file = stranger.directory().join("stranger.pem");
    std::fs::write(&file, issue_certificate().unwrap().authority).unwrap();
    let url = format!("{}?sslmode=verify-full&sslrootcert={}", postgres.url(), file.display());
    let output = stranger.env("SVC_STORAGE__URL", &url).run_to_end().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("the server's certificate is refused") && text.contains("sslrootcert=FILE"),
        "{text}"
    );
}

#[test]
fn misspelt_parameters_of_the_storage_url_stop_every_command() {
    for (parameters, words) in [
        ("sslmode=requier", "sslmode must be disable, prefer, require, verify-ca or verify-full"),
        ("sslmod=require", "sslmod"),
        ("sslmode=verify-full&sslrootcert=/no/such/file", "sslrootcert: cannot read '/no/such/file'"),
        ("sslrootcert=/etc/root.pem", "set one of them"),
    ] {
        for command in [&[][..], &["validate-config"], &["test-connectivity"], &["migrate"]] {
            let url = format!("postgres://svc:hunter2@127.0.0.1:1/svc?{parameters}");
            let output = launch().env("SVC_STORAGE__URL", &url).args(command).run_to_end().unwrap();
            let text = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(78), "{command:?} {parameters}: {text}");
            assert!(text.contains("storage.url") && text.contains(words), "{command:?}: {text}");
            assert!(!text.contains("hunter2"), "{text}");
        }
    }
}

#[test]
fn log_tells_whether_the_storage_is_encrypted() {
    let Some(plain) = Postgres::shared() else { return };
    let Some(encrypted) = Postgres::with_tls(&issue_certificate().unwrap()) else { return };
    for (postgres, expected) in [
        (&plain, "connections to the storage are not encrypted: the server offers no TLS"),
        (&encrypted, "connections to the storage are encrypted"),
    ] {
        let database = postgres.database().unwrap();
        let server = launch().env("SVC_STORAGE__URL", database.url()).start().unwrap();
        let log = server.wait_for_log(&[expected, "prefer"]).unwrap();
        assert_eq!(log.matches("connections to the storage").count(), 1, "{log}");
    }
}
