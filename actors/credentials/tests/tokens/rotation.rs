//! Refresh tokens that are good once.

use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::json;
use svc_credentials::tokens::TokenSource;
use svc_model::ConnectorContent;
use svc_testkit::upstream::Upstream;
use svc_testworld::definitions::mutation;

use crate::kit::{Provider, TokenNode, content, granting, oauth, rotating, run};

/// Callers of one node.
const CALLERS: usize = 100;
/// Tokens that each caller asks for, one after the other.
const EACH: usize = 20;

#[test]
fn tokens_are_stored_before_use_and_survive_restart() {
    run(async |world| {
        let (provider, upstream) = Provider::start(3600);
        let block = rotating(&upstream, 60);
        let first = world.node().await;
        assert_eq!(first.source(&block).token().await.unwrap().expose(), "access-1");
        let row = world.row().unwrap();
        assert_eq!((&row["access_token"], &row["refresh_token"]), (&json!("access-1"), &json!("refresh-1")));
        assert!(row["expires_at_epoch_ms"].as_i64().unwrap() > 1_700_000_000_000);
        let second = world.node().await;
        let source = second.source(&block);
        let token = source.token().await.unwrap();
        assert_eq!((token.expose(), provider.family().grants), ("access-1", 1), "adopted");
        source.reject(&token);
        assert_eq!(source.token().await.unwrap().expose(), "access-2", "the refresh token was kept");
        let family = provider.family();
        assert_eq!((family.grants, family.reused), (2, 0));
    });
}

#[test]
fn a_changed_block_begins_with_its_own_seed() {
    run(async |world| {
        let (provider, upstream) = Provider::start(3600);
        let node = world.node().await;
        assert!(node.source(&rotating(&upstream, 60)).token().await.is_ok());
        let again = node.source(&rotating(&upstream, 61)).token().await.unwrap_err();
        assert_eq!(
            again.to_string(),
            "connector 'c': the token endpoint refused with status 400: invalid_grant; \
             update the connector with a fresh refresh_token"
        );
        assert_eq!((again.is_final(), provider.family().reused), (true, 1));
    });
}

#[test]
fn answer_without_refresh_token_keeps_the_former() {
    run(async |world| {
        let upstream = Upstream::start(|_| granting("t", 30)).unwrap();
        let node = world.node().await;
        let source = node.source(&rotating(&upstream, 60));
        for _ in 0..3 {
            assert!(source.token().await.is_ok());
        }
        let texts: Vec<_> =
            upstream.requests().iter().map(svc_testkit::upstream::ReceivedRequest::text).collect();
        assert!(texts.iter().all(|form| form.contains("refresh_token=seed")), "{texts:?}");
        assert_eq!(world.row().unwrap()["refresh_token"], "seed");
    });
}

#[test]
fn other_grants_leave_nothing_behind() {
    run(async |world| {
        let upstream = Upstream::start(|_| granting("t", 3600)).unwrap();
        let node = world.node().await;
        let account = json!({"grant": "account_credentials", "account_id": "a1"});
        for more in [json!({}), account] {
            assert!(node.source(&oauth(&upstream, more)).token().await.is_ok());
            assert_eq!(world.row(), None);
        }
        let request = upstream.requests().remove(1);
        assert_eq!(request.text(), "grant_type=account_credentials&account_id=a1");
        assert!(request.header("authorization").unwrap().starts_with("Basic "));
    });
}

#[test]
fn tokens_follow_rename_and_removal_of_connector() {
    run(async |world| {
        let (provider, upstream) = Provider::start(3600);
        let block = rotating(&upstream, 60);
        let node = world.node().await;
        assert!(node.source(&block).token().await.is_ok());
        let rename =
            Box::new(|stored: &ConnectorContent| Ok(ConnectorContent { name: "d".into(), ..stored.clone() }));
        let connectors = node.store.connectors();
        connectors.update("c", rename, Arc::new(()), mutation()).await.unwrap();
        let url = block.token_url.parse().unwrap();
        let renamed = node.tokens.source("d", &block, &url, true);
        assert_eq!(renamed.token().await.unwrap().expose(), "access-1");
        connectors.delete("c", mutation()).await.unwrap();
        node.tokens.forget("d");
        connectors.create(Some("e".into()), content("d"), mutation()).await.unwrap();
        assert!(node.tokens.source("d", &block, &url, true).token().await.is_err(), "the seed is spent");
        assert_eq!(provider.family().reused, 1);
    });
}

#[test]
fn a_rename_during_the_request_loses_no_refresh_token() {
    run(async |world| {
        let (provider, upstream) = Provider::start(3600);
        let node = world.node().await;
        let block = rotating(&upstream, 60);
        let rename =
            Box::new(|stored: &ConnectorContent| Ok(ConnectorContent { name: "d".into(), ..stored.clone() }));
        let source = node.source(&block);
        let former = source.clone();
        let (mut asked, gate) = provider.hold();
        let call = actix_rt::spawn(async move { former.token().await });
        asked.recv().await.unwrap();
        node.store.connectors().update("c", rename, Arc::new(()), mutation()).await.unwrap();
        drop(gate);
        assert_eq!(call.await.unwrap().unwrap().expose(), "access-1");
        let url = block.token_url.parse().unwrap();
        let renamed = node.tokens.source("d", &block, &url, true);
        let token = renamed.token().await.unwrap();
        assert_eq!(token.expose(), "access-1", "found where it was stored");
        renamed.reject(&token);
        assert_eq!(renamed.token().await.unwrap().expose(), "access-2");
        // By the former name nothing is refreshed, and nothing used twice.
        source.reject(&source.token().await.unwrap());
        let error = source.token().await.unwrap_err();
        assert!(!error.is_final() && error.to_string().contains("was renamed"), "{error}");
        let family = provider.family();
        assert_eq!((family.grants, family.reused), (2, 0));
    });
}

async fn want(source: &TokenSource) -> usize {
    let mut had = 0;
    for _ in 0..EACH {
        had += usize::from(source.token().await.is_ok());
    }
    had
}

#[test]
fn callers_of_two_nodes_share_refresh_tokens() {
    run(async |world| {
        // Never fresh: every wait is a refresh.
        let (provider, upstream) = Provider::start(30);
        let block = rotating(&upstream, 60);
        let nodes: Vec<TokenNode> = join_all((0..2).map(|_| world.node())).await;
        let sources: Vec<_> = nodes.iter().map(|node| node.source(&block)).collect();
        let callers = sources.iter().flat_map(|source| (0..CALLERS).map(move |_| want(source)));
        let had: usize = join_all(callers).await.into_iter().sum();
        let family = provider.family();
        assert_eq!((family.reused, had), (0, 2 * CALLERS * EACH));
        assert!(family.grants > 1, "{}", family.grants);
        let row = world.row().unwrap();
        assert_eq!(row["refresh_token"], format!("refresh-{}", family.grants));
    });
}
