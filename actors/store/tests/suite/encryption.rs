//! Encrypted connections to a server, and the certificates that are accepted.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;

use svc_testkit::postgres::{Postgres, PostgresDatabase};
use svc_testkit::tls::{
    IssuedCertificate, expired_self_signed_certificate, issue_certificate, issue_certificate_for,
    issue_expired_certificate, self_signed_certificate,
};
use tempfile::TempDir;

use super::database::on_url;
use super::{any_mutation, workflow};

/// The encrypted and all connections of the store, the one that hears announcements among them.
const SESSIONS: &str = "SELECT count(*) FILTER (WHERE ssl), count(*) FROM pg_stat_ssl \
    JOIN pg_stat_activity USING (pid) WHERE application_name = 'svc-server'";

/// The first message of a client that asks for TLS.
const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

/// Reads, writes and listens over connections with these parameters; returns whether all are encrypted.
fn encrypts(url: &str, parameters: &str, database: &PostgresDatabase) -> Result<bool, String> {
    let mut outcome = Err("the case did not run".to_owned());
    on_url(&format!("{url}?{parameters}"), async |db| {
        if let Err(error) = db.open().await {
            return outcome = Err(error.to_string());
        }
        let store = db.store().await;
        store.workflows().create(None, workflow("w"), any_mutation()).await.unwrap();
        let _listener = store.epoch().listen().await.unwrap().expect("the server announces");
        let row = database.rows(SESSIONS).unwrap().remove(0);
        let [encrypted, all] = [0, 1].map(|at| row[at].as_deref().unwrap().parse::<u32>().unwrap());
        assert!(all >= 3, "the writer, a reader and the listener: {all}");
        assert!(encrypted == 0 || encrypted == all, "{parameters}: {encrypted} of {all}");
        outcome = Ok(encrypted > 0);
    });
    outcome
}

/// Writes an authority to a file and returns the parameter that names it.
fn root(directory: &Path, name: &str, certificate: &IssuedCertificate) -> String {
    let file = directory.join(name);
    std::fs::write(&file, &certificate.authority).unwrap();
    format!("sslrootcert={}", file.display())
}

/// Checks which parameters a new server with this certificate satisfies: encrypted, plain, or the words of the refusal.
fn check(certificate: &IssuedCertificate, cases: &[(String, Result<bool, [&str; 2]>)]) {
    let Some(server) = Postgres::with_tls(certificate) else { return };
    for (parameters, expected) in cases {
        let database = server.database().unwrap();
        match (encrypts(database.url(), parameters, &database), expected) {
            (Ok(is_encrypted), Ok(expected)) => assert_eq!(is_encrypted, *expected, "{parameters}"),
            (Err(text), Err(words)) => {
                assert!(text.contains("error performing TLS handshake"), "{parameters}: {text}");
                assert!(words.iter().all(|word| text.contains(word)), "{parameters}: {text}");
            }
            (outcome, _) => panic!("{parameters}: {outcome:?}"),
        }
    }
}

pub(crate) fn modes_encrypt_every_connection_to_a_server_they_trust() {
    let (certificate, directory) = (issue_certificate().unwrap(), TempDir::new().unwrap());
    let root = root(directory.path(), "authority.pem", &certificate);
    check(
        &certificate,
        &[
            (String::new(), Ok(true)),
            ("sslmode=disable".to_owned(), Ok(false)),
            ("sslmode=prefer".to_owned(), Ok(true)),
            ("sslmode=require".to_owned(), Ok(true)),
            (format!("sslmode=require&{root}"), Ok(true)),
            (format!("sslmode=verify-ca&{root}"), Ok(true)),
            (format!("sslmode=verify-full&{root}"), Ok(true)),
        ],
    );
}

pub(crate) fn refused_certificate_is_told_with_its_remedy() {
    let directory = TempDir::new().unwrap();
    let stranger = root(directory.path(), "stranger.pem", &issue_certificate().unwrap());
    let unknown = Err(["the server's certificate is refused", "sslrootcert=FILE"]);

    let elsewhere = issue_certificate_for(&["db.elsewhere"]).unwrap();
    let authority = root(directory.path(), "elsewhere.pem", &elsewhere);
    check(
        &elsewhere,
        &[
            ("sslmode=require".to_owned(), Ok(true)),
            (format!("sslmode=verify-ca&{authority}"), Ok(true)),
            (format!("sslmode=verify-full&{authority}"), Err(["db.elsewhere", "sslmode=verify-ca"])),
            (format!("sslmode=require&{stranger}"), unknown),
            (format!("sslmode=verify-ca&{stranger}"), unknown),
            (format!("sslmode=verify-full&{stranger}"), unknown),
        ],
    );

    let expired = issue_expired_certificate().unwrap();
    let authority = root(directory.path(), "expired.pem", &expired);
    let refused = Err(["certificate expired", "renew it"]);
    check(
        &expired,
        &[("sslmode=require".to_owned(), Ok(true)), (format!("sslmode=verify-ca&{authority}"), refused)],
    );
}

pub(crate) fn certificate_in_root_file_is_trusted_as_it_is() {
    let directory = TempDir::new().unwrap();
    let stranger = root(directory.path(), "stranger.pem", &issue_certificate().unwrap());
    // As `openssl req -x509` makes it: the certificate of the server is its own authority.
    let own = self_signed_certificate(&["127.0.0.1"]).unwrap();
    let authority = root(directory.path(), "own.pem", &own);
    check(
        &own,
        &[
            (format!("sslmode=verify-ca&{authority}"), Ok(true)),
            (format!("sslmode=verify-full&{authority}"), Ok(true)),
            (format!("sslmode=verify-ca&{stranger}"), Err(["the server's certificate is refused", ""])),
            (format!("sslmode=verify-full&{stranger}"), Err(["the server's certificate is refused", ""])),
        ],
    );

    let elsewhere = self_signed_certificate(&["db.elsewhere"]).unwrap();
    let authority = root(directory.path(), "elsewhere.pem", &elsewhere);
    check(
        &elsewhere,
        &[
            (format!("sslmode=verify-ca&{authority}"), Ok(true)),
            (format!("sslmode=verify-full&{authority}"), Err(["db.elsewhere", "sslmode=verify-ca"])),
        ],
    );

    let expired = expired_self_signed_certificate().unwrap();
    let authority = root(directory.path(), "expired.pem", &expired);
    check(&expired, &[(format!("sslmode=verify-full&{authority}"), Ok(true))]);
}

pub(crate) fn server_without_tls_is_used_where_sslmode_allows_it() {
    let Some(server) = Postgres::shared() else { return };
    let directory = TempDir::new().unwrap();
    let root = root(directory.path(), "authority.pem", &issue_certificate().unwrap());
    for parameters in ["", "sslmode=prefer", "sslmode=disable"] {
        let database = server.database().unwrap();
        on_url(&format!("{}?{parameters}", database.url()), async |db| {
            db.open().await.unwrap_or_else(|error| panic!("{parameters}: {error}"));
        });
    }
    for mode in ["require".to_owned(), format!("verify-ca&{root}"), format!("verify-full&{root}")] {
        let database = server.database().unwrap();
        on_url(&format!("{}?sslmode={mode}", database.url()), async |db| {
            let text = db.open().await.err().expect(&mode).to_string();
            assert!(text.contains("offers no TLS") && text.contains("ssl = on"), "{mode}: {text}");
        });
    }
}

pub(crate) fn preferred_tls_falls_back_on_refused_encryption() {
    let Some(server) = Postgres::with_tls(&issue_certificate().unwrap()) else { return };
    let database = server.database().unwrap();
    let rule = database.rows("SHOW hba_file").unwrap().remove(0).remove(0).unwrap();
    database.rows(&format!("COPY (SELECT 'hostnossl all all all trust') TO '{rule}'")).unwrap();
    database.rows("SELECT pg_reload_conf()").unwrap();
    // The server follows its rules at some time after it answered.
    while encrypts(database.url(), "sslmode=require", &server.database().unwrap()).is_ok() {
        thread::yield_now();
    }
    let database = server.database().unwrap();
    assert_eq!(encrypts(database.url(), "sslmode=prefer", &database), Ok(false));
    let refused = encrypts(database.url(), "sslmode=require", &database).unwrap_err();
    assert!(refused.contains("pg_hba.conf"), "{refused}");
}

pub(crate) fn preferred_tls_falls_back_after_failed_handshake() {
    let Some(server) = Postgres::shared() else { return };
    let database = server.database().unwrap();
    let (place, name) = database.url().rsplit_once('/').unwrap();
    let peer = place.rsplit_once('@').unwrap().1.parse().unwrap();
    let url = format!("postgres://svc@{}/{name}", spoil_tls(peer));
    on_url(&format!("{url}?sslmode=prefer"), async |db| {
        db.store().await.workflows().create(None, workflow("w"), any_mutation()).await.unwrap();
    });
    on_url(&format!("{url}?sslmode=require"), async |db| {
        let text = db.open().await.err().expect("TLS fails").to_string();
        assert!(text.contains("error performing TLS handshake"), "{text}");
    });
}

/// Starts a proxy that accepts TLS and then closes, and passes plain connections on.
fn spoil_tls(server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut client in listener.incoming().map_while(Result::ok) {
            // A client that breaks off is no error of the proxy.
            thread::spawn(move || -> std::io::Result<()> {
                let mut first = [0; 8];
                client.read_exact(&mut first)?;
                if first == TLS_REQUEST {
                    return client.write_all(b"S");
                }
                let mut server = TcpStream::connect(server)?;
                server.write_all(&first)?;
                let (mut back, mut to) = (server.try_clone()?, client.try_clone()?);
                thread::spawn(move || std::io::copy(&mut back, &mut to));
                std::io::copy(&mut client, &mut server)?;
                server.shutdown(std::net::Shutdown::Both)
            });
        }
    });
    address
}
