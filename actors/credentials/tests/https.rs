//! Key sets over real connections.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_rt::System;
use actix_supervision::{Placement, Tree};
use futures_util::future::join_all;
use slog::{Discard, Logger, o};
use svc_auth::KeySets;
use svc_credentials::keysets::{KeySetCache, Settings};
use svc_outbound::{Outbound, Trust};
use svc_testkit::tls::{Behaviour, HttpsServer};

/// A set of so many keys.
fn document(count: usize) -> String {
    let key = |id| {
        format!(
            r#"{{"kty":"OKP","crv":"Ed25519","kid":"{id}","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}}"#
        )
    };
    let all: Vec<_> = (0..count).map(key).collect();
    format!(r#"{{"keys":[{}]}}"#, all.join(","))
}

fn keys(count: usize) -> Behaviour {
    Behaviour::json(document(count), &[("cache-control", "public, max-age=600")])
}

fn with(server: &HttpsServer, allow_private: bool, test: impl AsyncFnOnce(KeySetCache)) {
    System::new().block_on(async {
        let tree = Tree::builder("test").build();
        let outbound = Outbound::new(&Trust::Only(server.authority().to_owned())).unwrap();
        let settings = Settings { outbound, allow_private };
        let log = Logger::root(Discard, o!());
        let cache = KeySetCache::supervise(&tree, "keysets", Placement::Here, settings, log).await.unwrap();
        test(cache).await;
        tree.shutdown(Duration::from_secs(5)).await;
    });
}

/// Moves the clock on, so that keys are no longer the newest; no test sleeps for it.
async fn second_passes() {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(1)).await;
    tokio::time::resume();
}

#[test]
fn key_set_is_refetched_for_unknown_key_id() {
    let server = HttpsServer::start(keys(1)).unwrap();
    with(&server, true, async |cache| {
        let set = cache.key_set(&server.url("/keys")).unwrap();
        assert!(set.fresh().is_none());
        let all = join_all((0..64).map(|_| set.obtain())).await;
        assert!(all.iter().flatten().count() == 64 && server.request_count() == 1);
        let old = set.fresh().unwrap();
        server.set_behaviour(keys(2));
        second_passes().await;
        assert_eq!(set.obtain().await.unwrap().len(), 1);
        assert_eq!((set.renew(&old).await.unwrap().len(), server.request_count()), (2, 2));
    });
}

/// Returns an answer that is both the document of an issuer and its key set.
fn discovery(issuer: &str, keys_at: &str, count: usize) -> Behaviour {
    let mut answer: serde_json::Value = serde_json::from_str(&document(count)).unwrap();
    answer["issuer"] = issuer.into();
    answer["jwks_uri"] = keys_at.into();
    Behaviour::json(answer.to_string(), &[])
}

#[test]
fn key_set_of_an_issuer_is_discovered() {
    let server = HttpsServer::start(Behaviour::Down).unwrap();
    let issuer = server.url("/tenant");
    with(&server, true, async |cache| {
        server.set_behaviour(discovery(&issuer, &server.url("/keys"), 2));
        let set = cache.issuer_key_set(&issuer).unwrap();
        assert_eq!(set.obtain().await.unwrap().len(), 2);
        let paths: Vec<_> = server.requests();
        assert!(paths[0].starts_with("GET /tenant/.well-known/openid-configuration "), "{paths:?}");
        assert!(paths[1].starts_with("GET /keys ") && paths.len() == 2, "{paths:?}");
    });
}

#[test]
fn discovery_document_of_another_issuer_gives_none() {
    let server = HttpsServer::start(Behaviour::Down).unwrap();
    let issuer = server.url("");
    with(&server, true, async |cache| {
        for (named, keys_at) in [
            (server.url("/other"), server.url("/keys")),
            (issuer.clone(), server.url("/keys").replace("https", "http")),
        ] {
            server.set_behaviour(discovery(&named, &keys_at, 1));
            assert!(cache.issuer_key_set(&issuer).unwrap().obtain().await.is_none(), "{named} {keys_at}");
        }
        assert!(server.requests().iter().all(|head| !head.starts_with("GET /keys")));
    });
    with(&server, false, async |cache| {
        assert!(cache.issuer_key_set(&issuer).err().unwrap().contains("not a public address"));
    });
}

#[test]
fn whatever_is_no_key_set_leaves_the_old_one() {
    let target = HttpsServer::start(keys(3)).unwrap();
    let failure = |status| Behaviour::Answer { status, headers: Vec::new(), body: document(2).into_bytes() };
    let cases = [
        ("down", Behaviour::Down),
        ("redirect", Behaviour::redirect(302, &target.url("/keys"))),
        ("permanent redirect", Behaviour::redirect(308, "/elsewhere")),
        ("error", failure(500)),
        ("not found", failure(404)),
        ("huge", Behaviour::json(format!("{}{}", document(2), " ".repeat(262_145)), &[])),
        ("endless", Behaviour::Endless),
        ("cut short", Behaviour::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n{\"keys\":[".to_vec())),
        ("empty", Behaviour::json(r#"{"keys":[]}"#, &[])),
        ("too many", Behaviour::json(document(101), &[])),
        ("another document", Behaviour::json(r#"{"jwks_uri":"https://issuer.example/"}"#, &[])),
        ("no json", Behaviour::json("<html>", &[])),
        ("nothing", Behaviour::json("", &[])),
    ];
    let server = HttpsServer::start(Behaviour::Down).unwrap();
    with(&server, true, async |cache| {
        for (at, (name, behaviour)) in cases.into_iter().enumerate() {
            let set = cache.key_set(&server.url(&format!("/{at}"))).unwrap();
            server.set_behaviour(keys(1));
            let old = set.obtain().await.unwrap();
            server.set_behaviour(behaviour);
            second_passes().await;
            assert!(set.renew(&old).await.is_none(), "{name}");
            assert!(Arc::ptr_eq(&set.fresh().unwrap(), &old), "{name}");
            assert!(
                name == "down"
                    || server.requests().iter().filter(|head| head.contains(&format!("/{at} "))).count() == 2
            );
        }
        assert!(server.requests().iter().all(|head| !head.contains("/elsewhere")), "no redirect is followed");
    });
    assert_eq!(target.request_count(), 0);
}

#[test]
fn the_longest_key_set_that_is_allowed_is_read() {
    let padding = " ".repeat(262_144 - document(1).len());
    let server = HttpsServer::start(Behaviour::json(format!("{}{padding}", document(1)), &[])).unwrap();
    with(&server, true, async |cache| {
        assert!(cache.key_set(&server.url("/keys")).unwrap().obtain().await.is_some());
    });
}

#[test]
fn silent_issuer_is_answered_by_the_fetch_limit() {
    let server = HttpsServer::start(Behaviour::Hang).unwrap();
    with(&server, true, async |cache| {
        let set = cache.key_set(&server.url("/keys")).unwrap();
        #[expect(clippy::disallowed_methods, reason = "sockets live in real time")]
        let start = Instant::now();
        assert!(join_all((0..64).map(|_| set.obtain())).await.iter().all(Option::is_none));
        // Two fetches, one behind the other, take ten.
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        assert_eq!(server.request_count(), 1);
    });
}

#[test]
fn private_issuer_is_not_fetched_unless_allowed() {
    let server = HttpsServer::start(keys(1)).unwrap();
    with(&server, false, async |cache| {
        assert!(cache.key_set(&server.url("/keys")).err().unwrap().contains("not a public address"));
        let by_name = format!("https://localhost:{}/keys", server.address().port());
        assert!(cache.key_set(&by_name).unwrap().obtain().await.is_none());
        assert_eq!(server.request_count(), 0);
    });
    with(&server, true, async |cache| {
        let by_name = format!("https://localhost:{}/keys", server.address().port());
        assert!(cache.key_set(&by_name).unwrap().obtain().await.is_some());
    });
}
