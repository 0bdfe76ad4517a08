//! The network of sign-ins over real connections.

use std::sync::Arc;
use std::time::Duration;

use actix_rt::System;
use actix_supervision::{Placement, Tree};
use serde_json::json;
use slog::{Discard, Logger, o};
use svc_auth::{ProviderAccess, ProviderRequest};
use svc_outbound::{Outbound, Trust};
use svc_testkit::tls::{Behaviour, HttpsServer};

use super::{Settings, SignInNetwork};

fn with(server: &HttpsServer, allow_private: bool, test: impl AsyncFnOnce(SignInNetwork)) {
    System::new().block_on(async {
        let tree = Tree::builder("test").build();
        let outbound = Outbound::new(&Trust::Only(server.authority().to_owned())).unwrap();
        let settings = Settings { outbound, allow_private };
        let log = Logger::root(Discard, o!());
        let network =
            SignInNetwork::supervise(&tree, "sign-in", Placement::Here, settings, log).await.unwrap();
        test(network).await;
        tree.shutdown(Duration::from_secs(5)).await;
    });
}

fn document(issuer: &str) -> Behaviour {
    let document = json!({"issuer": issuer, "token_endpoint": "https://id.example/token"});
    Behaviour::json(document.to_string(), &[])
}

fn request(url: String, form: Option<&str>) -> ProviderRequest {
    ProviderRequest { url, authorization: Some("Bearer t".to_owned()), form: form.map(str::to_owned) }
}

#[test]
fn document_is_read_once_for_all() {
    let server = HttpsServer::start(Behaviour::Down).unwrap();
    let issuer = server.url("/tenant");
    with(&server, true, async |network| {
        server.set_behaviour(document(&issuer));
        let (one, other) = (network.issuer(&issuer).unwrap(), network.issuer(&issuer).unwrap());
        let (first, second) = tokio::join!(one.document(), other.document());
        let first = first.unwrap();
        assert!(Arc::ptr_eq(&first, &second.unwrap()));
        assert_eq!(first.token_endpoint.as_deref(), Some("https://id.example/token"));
        assert!(server.requests()[0].starts_with("GET /tenant/.well-known/openid-configuration "));
        assert_eq!(server.request_count(), 1);
    });
}

#[test]
fn old_document_serves_while_issuer_is_away() {
    let server = HttpsServer::start(Behaviour::Down).unwrap();
    let issuer = server.url("");
    with(&server, true, async |network| {
        server.set_behaviour(document(&server.url("/other")));
        let shared = network.issuer(&issuer).unwrap();
        assert!(shared.document().await.is_none(), "the document names another issuer");
        server.set_behaviour(document(&issuer));
        assert!(shared.document().await.is_none(), "it is not asked again at once");
        pass(6).await;
        let known = shared.document().await.unwrap();
        server.set_behaviour(Behaviour::Down);
        pass(7200).await;
        assert!(Arc::ptr_eq(&known, &shared.document().await.unwrap()));
    });
}

/// Moves the clock on; no test sleeps for it.
async fn pass(seconds: u64) {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(seconds)).await;
    tokio::time::resume();
}

#[test]
fn answer_comes_whatever_its_status() {
    let answer = Behaviour::Answer { status: 400, headers: Vec::new(), body: b"no".to_vec() };
    let server = HttpsServer::start(answer).unwrap();
    with(&server, true, async |network| {
        let answer = network.send(request(server.url("/token"), Some("code=1"))).await.ok().unwrap();
        assert_eq!((answer.status, answer.body.as_slice()), (400, &b"no"[..]));
        let head = server.requests().remove(0).to_ascii_lowercase();
        assert!(head.starts_with("post /token ") && head.contains("authorization: bearer t"), "{head}");
        let plain = server.url("/token").replace("https", "http");
        assert!(network.send(request(plain, None)).await.err().unwrap().contains("https only"));
    });
}

#[test]
fn private_provider_is_refused_unless_allowed() {
    let server = HttpsServer::start(document("https://id.example")).unwrap();
    with(&server, false, async |network| {
        for refused in [
            network.check(&server.url("/token")),
            network.issuer(&server.url("")).map(drop),
            network.send(request(server.url("/token"), None)).await.map(drop),
        ] {
            let reason = refused.unwrap_err();
            assert!(reason.contains("oauth2_login.allow_private_token_urls"), "{reason}");
        }
    });
    assert_eq!(server.request_count(), 0);
}
