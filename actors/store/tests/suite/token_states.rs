//! Tokens of connectors, and the lease to refresh them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use svc_model::ConnectorContent;
use svc_secrets::EnvelopeKeys;
use svc_store::{ExpectedTokens, SaveOutcome, Store, TokenState, reencrypt};

use super::any_mutation;
use super::database::TestDatabase;

const LEASE: Duration = Duration::from_secs(30);

fn tokens(number: u32) -> TokenState {
    TokenState {
        fingerprint: "f".into(),
        access_token: format!("access-{number}"),
        lifetime: Duration::from_secs(60),
        refresh_token: format!("refresh-{number}"),
    }
}

async fn connect(store: &Store, id: &str, name: &str) {
    let content = ConnectorContent {
        name: name.into(),
        connector_type: "http".into(),
        config: json!({"url": "http://a"}),
        enabled: true,
        tags: Vec::new(),
    };
    store.connectors().create(Some(id.into()), content, any_mutation()).await.unwrap();
}

async fn rename(store: &Store, id: &str, name: &'static str) {
    let merge = Box::new(move |stored: &ConnectorContent| {
        Ok(ConnectorContent { name: name.into(), ..stored.clone() })
    });
    store.connectors().update(id, merge, Arc::new(()), any_mutation()).await.unwrap();
}

fn expected_tokens(refresh_token: &str) -> ExpectedTokens {
    ExpectedTokens::These(refresh_token.to_owned())
}

/// Returns the stored tokens of a connector for a fingerprint.
async fn load_state(store: &Store, name: &str, fingerprint: &str) -> Option<TokenState> {
    let states = store.token_states();
    let look = states.begin(name, fingerprint, "reader", LEASE).await.unwrap();
    states.release("reader").await.unwrap();
    look.state.unwrap()
}

pub(crate) async fn next_turn_finds_tokens_of_the_last(db: TestDatabase) {
    let store = db.store().await;
    let states = store.token_states();
    connect(&store, "c", "api").await;
    connect(&store, "o", "other").await;
    let first = states.begin("api", "f", "a", LEASE).await.unwrap();
    assert!(first.turn && !first.abandoned && first.state.unwrap().is_none());
    assert_eq!(first.connector.as_deref(), Some("c"));
    let none = states.begin("none", "f", "a", LEASE).await.unwrap();
    assert!(!none.turn && none.connector.is_none(), "there is nothing to refresh");
    assert!(!states.begin("api", "f", "b", LEASE).await.unwrap().turn);
    assert!(states.begin("other", "f", "b", LEASE).await.unwrap().turn, "of another connector");
    assert_eq!(states.save("c", "a", ExpectedTokens::Others, tokens(1)).await.unwrap(), SaveOutcome::Saved);
    let next = states.begin("api", "f", "b", LEASE).await.unwrap();
    let state = next.state.unwrap().unwrap();
    assert!(
        next.turn && state.lifetime <= Duration::from_secs(60) && state.lifetime > Duration::from_secs(30)
    );
    assert_eq!((state.access_token.as_str(), state.refresh_token.as_str()), ("access-1", "refresh-1"));
    states.release("somebody else").await.unwrap();
    assert!(!states.begin("api", "f", "c", LEASE).await.unwrap().turn);
    states.release("b").await.unwrap();
    let lost = states.begin("api", "f", "c", Duration::ZERO).await.unwrap();
    assert!(lost.turn && !lost.abandoned);
    let after = states.begin("api", "f", "d", LEASE).await.unwrap();
    assert!(after.turn && after.abandoned, "a lease that has ended is free, and was never given back");
}

pub(crate) async fn of_many_at_once_one_has_the_turn(db: TestDatabase) {
    let store = db.store().await;
    let states = store.token_states();
    connect(&store, "c", "api").await;
    let holders: Vec<_> = (0..16).map(|number| number.to_string()).collect();
    for _ in 0..5 {
        let looks = holders.iter().map(|holder| states.begin("api", "f", holder, LEASE));
        let looks = futures_util::future::join_all(looks).await;
        let turns: Vec<_> =
            looks.into_iter().zip(&holders).filter(|(look, _)| look.as_ref().unwrap().turn).collect();
        assert_eq!(turns.len(), 1);
        states.release(turns[0].1).await.unwrap();
    }
}

pub(crate) async fn overtaken_save_keeps_nothing(db: TestDatabase) {
    let store = db.store().await;
    let states = store.token_states();
    connect(&store, "c", "api").await;
    assert_eq!(states.save("c", "a", ExpectedTokens::Others, tokens(1)).await.unwrap(), SaveOutcome::Saved);
    assert_eq!(
        states.save("c", "a", ExpectedTokens::Others, tokens(2)).await.unwrap(),
        SaveOutcome::Overtaken
    );
    assert_eq!(
        states.save("c", "a", expected_tokens("refresh-0"), tokens(2)).await.unwrap(),
        SaveOutcome::Overtaken
    );
    assert_eq!(
        states.save("c", "a", expected_tokens("refresh-1"), tokens(2)).await.unwrap(),
        SaveOutcome::Saved
    );
    assert_eq!(
        states.save("c", "a", expected_tokens("refresh-1"), tokens(2)).await.unwrap(),
        SaveOutcome::Saved,
        "again"
    );
    assert_eq!(load_state(&store, "api", "f").await.unwrap().access_token, "access-2");
    // Another fingerprint finds no tokens and replaces them.
    assert!(load_state(&store, "api", "other").await.is_none());
    let other = TokenState { fingerprint: "other".into(), ..tokens(3) };
    assert_eq!(states.save("c", "a", ExpectedTokens::Others, other).await.unwrap(), SaveOutcome::Saved);
    for before in [expected_tokens("refresh-2"), ExpectedTokens::Nothing] {
        assert_eq!(states.save("c", "a", before, tokens(4)).await.unwrap(), SaveOutcome::Overtaken);
    }
    assert_eq!(load_state(&store, "api", "other").await.unwrap().access_token, "access-3");
}

pub(crate) async fn tokens_follow_their_connector_and_its_end(db: TestDatabase) {
    let store = db.store().await;
    let states = store.token_states();
    assert_eq!(states.save("c", "a", ExpectedTokens::Others, tokens(1)).await.unwrap(), SaveOutcome::Gone);
    connect(&store, "c", "api").await;
    states.save("c", "a", ExpectedTokens::Others, tokens(1)).await.unwrap();
    rename(&store, "c", "new").await;
    assert!(load_state(&store, "api", "f").await.is_none());
    assert_eq!(load_state(&store, "new", "f").await.unwrap().refresh_token, "refresh-1");
    states.begin("new", "f", "a", LEASE).await.unwrap();
    store.connectors().delete("c", any_mutation()).await.unwrap();
    connect(&store, "d", "new").await;
    assert!(states.begin("new", "f", "b", LEASE).await.unwrap().turn);
    states.release("b").await.unwrap();
    assert!(load_state(&store, "new", "f").await.is_none());
}

pub(crate) async fn turn_follows_connector_rename(db: TestDatabase) {
    let store = db.store().await;
    let states = store.token_states();
    connect(&store, "c", "api").await;
    assert!(states.begin("api", "f", "a", LEASE).await.unwrap().turn);
    rename(&store, "c", "new").await;
    assert!(!states.begin("new", "f", "b", LEASE).await.unwrap().turn, "a refresh goes on");
    assert_eq!(states.save("c", "a", ExpectedTokens::Others, tokens(1)).await.unwrap(), SaveOutcome::Saved);
    assert_eq!(load_state(&store, "new", "f").await.unwrap().refresh_token, "refresh-1");
    // Another connector takes the former name. The refresh lease stays with the first one.
    assert!(states.begin("new", "f", "c", LEASE).await.unwrap().turn);
    rename(&store, "c", "newer").await;
    connect(&store, "d", "new").await;
    assert!(states.begin("new", "f", "d", LEASE).await.unwrap().turn);
    assert_eq!(
        states.save("c", "c", expected_tokens("refresh-1"), tokens(2)).await.unwrap(),
        SaveOutcome::Saved
    );
    states.release("d").await.unwrap();
    assert!(load_state(&store, "new", "f").await.is_none());
    assert_eq!(load_state(&store, "newer", "f").await.unwrap().refresh_token, "refresh-2");
    // The lease is released under the current name.
    assert!(states.begin("newer", "f", "e", LEASE).await.unwrap().turn);
    rename(&store, "c", "newest").await;
    states.release("e").await.unwrap();
    assert!(states.begin("newest", "f", "f", LEASE).await.unwrap().turn);
}

pub(crate) async fn tokens_are_encrypted_and_move_to_another_key(mut db: TestDatabase) {
    let (one, two) = ("01".repeat(32), "02".repeat(32));
    let keys = |current: &str, previous: &[&str]| {
        EnvelopeKeys::new(Some(current), previous.iter().copied()).unwrap()
    };
    db.config.connector_keys = keys(&one, &[]);
    let store = db.store().await;
    connect(&store, "c", "api").await;
    store.token_states().save("c", "a", ExpectedTokens::Others, tokens(1)).await.unwrap();
    db.config.connector_keys = keys(&two, &[]);
    let blind = db.store().await.token_states();
    assert!(blind.begin("api", "f", "a", LEASE).await.unwrap().state.is_err());
    assert!(blind.begin("api", "other", "a", LEASE).await.unwrap().state.unwrap().is_none());
    blind.release("a").await.unwrap();
    db.config.connector_keys = keys(&two, &[&one]);
    let done = reencrypt(&db.config).await.unwrap();
    assert_eq!((done.connectors, done.tokens, done.failed.len()), (1, 1, 0));
    db.config.connector_keys = keys(&two, &[]);
    let state = load_state(&db.store().await, "api", "f").await.unwrap();
    assert_eq!(state.refresh_token, "refresh-1");
}

/// Tokens under the key `01…`, in the older form that is not bound to a place.
const UNBOUND: &str = "enc:v1:fb0cbbaeb52a5706:BwcHBwcHBwcHBwcH9tGLx2zLwtJG7mtbw65F8IXI4roBGHx0OgAfn4NsIsQ+TLHdoKnmiNQyXbToXAubonu0BOwcA+4TrnZiNbQAx9FskJbU7mT3Uxyw3KN0SEfLCP910oegXS3BzRYJTGE=";

pub(crate) async fn tokens_are_bound_to_their_connector_whatever_its_name(mut db: TestDatabase) {
    let key = "01".repeat(32);
    db.config.connector_keys = EnvelopeKeys::new(Some(&key), []).unwrap();
    let store = db.store().await;
    for id in ["c", "o"] {
        connect(&store, id, id).await;
        store.token_states().save(id, "a", ExpectedTokens::Others, tokens(1)).await.unwrap();
    }
    rename(&store, "c", "renamed").await;
    assert_eq!(load_state(&store, "renamed", "f").await.unwrap().refresh_token, "refresh-1");
    let copy = |from: &str, to: &str| {
        format!(
            "UPDATE connector_oauth_state SET state_json = (SELECT state_json FROM connector_oauth_state \
             WHERE connector_name = '{from}') WHERE connector_name = '{to}'"
        )
    };
    db.execute(&copy("renamed", "o")).await.unwrap();
    let states = store.token_states();
    assert!(states.begin("o", "f", "reader", LEASE).await.unwrap().state.is_err());
    states.release("reader").await.unwrap();
    // The older form is readable, and re-encryption binds it.
    db.execute(&format!("UPDATE connector_oauth_state SET state_json = '{UNBOUND}'")).await.unwrap();
    assert_eq!(load_state(&store, "o", "f").await.unwrap().refresh_token, "refresh-1");
    let done = reencrypt(&db.config).await.unwrap();
    assert_eq!((done.connectors, done.tokens, done.failed.len()), (0, 2, 0));
    for name in ["o", "renamed"] {
        assert_eq!(load_state(&store, name, "f").await.unwrap().refresh_token, "refresh-1", "{name}");
    }
    db.execute(&copy("renamed", "o")).await.unwrap();
    assert!(states.begin("o", "f", "reader", LEASE).await.unwrap().state.is_err());
}
