//! The secret store as the service meets it: over HTTP, against a stand-in that speaks the contract of the
//! real servers.

#![expect(clippy::unwrap_used, reason = "a failed expectation is the finding")]

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use svc_outbound::{Outbound, Trust};
use svc_secrets::{Readings, Reference, Resolver as _, SecretSource as _};
use svc_testkit::tls::{Behaviour, HttpsServer};
use svc_testkit::vault::{FakeVault as Server, Health};
use svc_vault::SecretProvider;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

const TOKEN: &str = "hvs.canary-token";

fn store(environment: &[(&str, &str)], trust: &Trust) -> SecretProvider {
    let environment: Vec<_> =
        environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let lookup = move |wanted: &str| {
        environment.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone())
    };
    SecretProvider::new(Arc::new(lookup), &Outbound::new(trust).unwrap(), Handle::current()).unwrap()
}

fn reference(text: &str) -> Reference {
    svc_secrets::parse(text).unwrap().unwrap()
}

async fn read(store: &SecretProvider, texts: &[&str]) -> Readings {
    store.read(texts.iter().map(|text| reference(text)).collect::<BTreeSet<_>>()).await
}

fn value(readings: &Readings, text: &str) -> String {
    readings.resolve(&reference(text)).unwrap().expose().to_owned()
}

fn why(readings: &Readings, text: &str) -> String {
    readings.resolve(&reference(text)).unwrap_err().to_string()
}

#[tokio::test]
async fn both_engines_are_read_once_per_document() {
    let server = Server::start(TOKEN).unwrap();
    server.put_v1("kv/app", json!({"user": "u1", "port": 5432}));
    server.put_v2("db", json!({"password": "p2", "pool": {"max": 4}}));
    let address = format!("{}//", server.url());
    let store = store(&[("VAULT_ADDR", &address), ("VAULT_TOKEN", TOKEN), ("X", "e3")], &Trust::System);
    let texts = [
        "vault://kv/app#user",
        "vault://kv/app#port",
        "vault://secret/data/db#password",
        "vault://secret/data/db#pool",
        "env://X",
    ];
    let readings = read(&store, &texts).await;
    assert_eq!(texts.map(|text| value(&readings, text)), ["u1", "5432", "p2", r#"{"max":4}"#, "e3"]);
    let mut paths = server.take_requested_paths();
    paths.sort();
    assert_eq!(paths, ["kv/app", "secret/data/db"]);
}

#[tokio::test]
async fn rotated_secret_is_seen_by_next_read() {
    let server = Server::start(TOKEN).unwrap();
    let store = store(&[("VAULT_ADDR", &server.url()), ("VAULT_TOKEN", TOKEN)], &Trust::System);
    for password in ["one", "two"] {
        server.put_v2("db", json!({"password": password}));
        let readings = read(&store, &["vault://secret/data/db#password"]).await;
        assert_eq!(value(&readings, "vault://secret/data/db#password"), password);
    }
}

#[tokio::test]
async fn unresolved_secret_names_only_reference_and_cause() {
    let server = Server::start(TOKEN).unwrap();
    server.put_v2("db", json!({"password": "swordfish", "none": null}));
    let address = server.url();
    let good = store(&[("VAULT_ADDR", &address), ("VAULT_TOKEN", TOKEN)], &Trust::System);
    let bad = store(&[("VAULT_ADDR", &address), ("VAULT_TOKEN", "wrong-token")], &Trust::System);
    let (password, absent) = ("vault://secret/data/db#password", "vault://secret/data/db#absent");
    let (none, unknown, out) =
        ("vault://secret/data/db#none", "vault://secret/data/gone#f", "vault://../sys/health#version");
    let readings = read(&good, &[password, absent, none, unknown, out]).await;
    let mut messages = vec![
        (why(&readings, absent), "vault://secret/data/db#absent: the document has no such field"),
        (why(&readings, none), "vault://secret/data/db#none: the document has no such field"),
        (why(&readings, unknown), "vault://secret/data/gone#f: the secret store answered 404 Not Found"),
        (why(&readings, out), "vault://../sys/health#version: the path is not usable"),
        (
            why(&read(&bad, &[password]).await, password),
            "vault://secret/data/db#password: the secret store answered 403 Forbidden",
        ),
    ];
    server.set_health(Health::Sealed);
    let sealed = why(&read(&good, &[password]).await, password);
    messages
        .push((sealed, "vault://secret/data/db#password: the secret store answered 503 Service Unavailable"));
    for (message, expected) in &messages {
        assert_eq!(message, expected);
    }
    server.set_health(Health::Down);
    messages.push((why(&read(&good, &[password]).await, password), ""));
    for (message, _) in messages {
        assert!(message.starts_with("vault://"), "{message}");
        assert!(!message.contains("swordfish") && !message.contains("token"), "{message}");
    }
    assert_eq!(value(&readings, password), "swordfish");
}

#[tokio::test]
async fn store_without_address_and_token_is_unusable() {
    let text = "vault://secret/data/db#password";
    for environment in [
        &[][..],
        &[("VAULT_ADDR", "http://127.0.0.1:1")],
        &[("VAULT_TOKEN", TOKEN)],
        &[("VAULT_ADDR", ""), ("VAULT_TOKEN", TOKEN)],
    ] {
        let message = why(&read(&store(environment, &Trust::System), &[text]).await, text);
        assert_eq!(message, format!("{text}: not usable here: VAULT_ADDR and VAULT_TOKEN are not both set"));
    }
}

#[tokio::test]
async fn unusable_address_or_token_is_named_without_text() {
    let text = "vault://secret/data/db#password";
    for (address, token) in [
        ("not a url", TOKEN),
        ("ftp://127.0.0.1", TOKEN),
        ("http://user:s3cret@127.0.0.1", TOKEN),
        ("http://127.0.0.1:1", "s3cret\nsplit"),
    ] {
        let store = store(&[("VAULT_ADDR", address), ("VAULT_TOKEN", token)], &Trust::System);
        let message = why(&read(&store, &[text]).await, text);
        assert!(message.starts_with(&format!("{text}: VAULT_")), "{message}");
        assert!(!message.contains("s3cret") && !message.contains(TOKEN), "{message}");
    }
}

#[tokio::test]
async fn redirects_and_untrusted_servers_are_refused() {
    let document = json!({"data": {"data": {"password": "swordfish"}}}).to_string();
    let server = HttpsServer::start(Behaviour::json(document, &[])).unwrap();
    let elsewhere = HttpsServer::start(Behaviour::json("{}", &[])).unwrap();
    let address = server.url("");
    let environment = [("VAULT_ADDR", address.as_str()), ("VAULT_TOKEN", TOKEN)];
    let text = "vault://secret/data/db#password";
    let trusting = store(&environment, &Trust::Only(server.authority().to_owned()));
    assert_eq!(value(&read(&trusting, &[text]).await, text), "swordfish");
    let asked = server.requests()[0].clone();
    assert!(asked.contains(&format!("x-vault-token: {TOKEN}\r\n")) && !asked.contains("x-vault-namespace"));
    let namespace = ("VAULT_NAMESPACE", "team/a");
    let environment = [environment[0], environment[1], namespace];
    let trust = Trust::Only(server.authority().to_owned());
    assert_eq!(value(&read(&store(&environment, &trust), &[text]).await, text), "swordfish");
    assert!(server.requests()[1].contains("x-vault-namespace: team/a\r\n"), "{:?}", server.requests());
    server.set_behaviour(Behaviour::redirect(307, &elsewhere.url("/v1/secret/data/db")));
    let message = why(&read(&trusting, &[text]).await, text);
    assert_eq!(message, format!("{text}: the secret store answered 307 Temporary Redirect"));
    assert_eq!(elsewhere.request_count(), 0);
    let distrusting = store(&environment, &Trust::Only(elsewhere.authority().to_owned()));
    let message = why(&read(&distrusting, &[text]).await, text);
    assert!(message.contains("no connection to '127.0.0.1:"), "{message}");
}

/// The clock runs ahead while nothing happens.
#[tokio::test(start_paused = true)]
async fn hanging_store_costs_one_timeout_for_all_documents() {
    let server = Server::start(TOKEN).unwrap();
    server.set_health(Health::Hanging);
    let store = store(&[("VAULT_ADDR", &server.url()), ("VAULT_TOKEN", TOKEN)], &Trust::System);
    let texts: Vec<String> = (0..40).map(|n| format!("vault://secret/data/{n}#f")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let readings = read(&store, &texts).await;
    let messages: Vec<String> = texts.iter().map(|text| why(&readings, text)).collect();
    let timed_out = messages.iter().filter(|told| told.contains("within 5000 ms")).count();
    let spared = messages.iter().filter(|told| told.ends_with("the secret store does not answer")).count();
    assert_eq!(timed_out + spared, 40, "{messages:?}");
    assert!(server.take_requested_paths().len() < 40, "those that waited in line were not asked for");
}

/// Answers each request with the field `f`, as late as may be.
async fn sluggish() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    Handle::current().spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            Handle::current().spawn(async move {
                let mut request = [0; 1024];
                let _ = stream.read(&mut request).await;
                sleep(Duration::from_millis(4900)).await;
                let answer = "HTTP/1.1 200 OK\r\ncontent-length: 18\r\nconnection: close\r\n\r\n{\"data\":{\"f\":\"v\"}}";
                let _ = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    address
}

/// On the clock that runs ahead; the server is a task next to the client, so that it sees the same one.
#[tokio::test(start_paused = true)]
async fn many_documents_of_a_slow_store_cost_one_deadline() {
    let address = format!("http://{}", sluggish().await);
    let store = store(&[("VAULT_ADDR", &address), ("VAULT_TOKEN", TOKEN)], &Trust::System);
    let texts: Vec<String> = (0..80).map(|n| format!("vault://secret/data/{n}#f")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let start = Instant::now();
    let readings = read(&store, &texts).await;
    assert!(start.elapsed() < Duration::from_secs(11), "{:?}", start.elapsed());
    let read: Vec<_> = texts.iter().map(|text| readings.resolve(&reference(text))).collect();
    let answered = read.iter().filter(|read| read.as_ref().is_ok_and(|value| value.expose() == "v")).count();
    assert_eq!(answered, 32, "two rounds are answered in ten seconds: {read:?}");
    for error in read.into_iter().filter_map(Result::err) {
        assert!(error.to_string().ends_with("the secret store does not answer"), "{error}");
    }
}
