//! Consumers and their keys.

use std::slice;

use svc_model::config::QuotaTerms;
use svc_model::{ConsumerKeyKind, MAX_CONSUMER_KEYS, Page, Timestamp};
use svc_secrets::EnvelopeKeys;
use svc_store::{
    ChangedEntity, ConsumerContent, ConsumerCredentials, ConsumerPatch, ConsumerSecret, Mutation,
    NewConsumerKey, Store, reencrypt,
};

use super::database::TestDatabase;
use super::{mutation, refusal};

const API_KEY: NewConsumerKey = NewConsumerKey { kind: ConsumerKeyKind::ApiKey, expires_at: None };
const HMAC: NewConsumerKey = NewConsumerKey { kind: ConsumerKeyKind::Hmac, expires_at: None };

fn change() -> Mutation {
    mutation("consumer", "create")
}

fn tagged(tags: &[&str]) -> ConsumerContent {
    let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
    ConsumerContent { tags, ..ConsumerContent::default() }
}

fn quota(limit: u64) -> QuotaTerms {
    let block = serde_json::json!({"limit": limit, "per": "day"});
    QuotaTerms::parse(&block, "body.quota").unwrap()
}

async fn with_consumer(db: &TestDatabase, name: &str) -> Store {
    let store = db.store().await;
    store.consumers().create(name, tagged(&["gold"]), change()).await.unwrap();
    store
}

/// Returns what is loaded of the only consumer.
async fn loaded(store: &Store) -> ConsumerCredentials {
    let mut all = store.consumers().load().await.unwrap();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

pub(crate) async fn consumer_is_created_changed_and_deleted(db: TestDatabase) {
    let store = with_consumer(&db, "acme").await;
    let consumers = store.consumers();
    let again = consumers.create("acme", tagged(&[]), change()).await;
    assert_eq!(refusal(again).status(), 409);
    let end = Timestamp::parse("2999-01-02T03:04:05Z");
    let patch = ConsumerPatch { tags: None, quota: Some(Some(quota(7))), expires_at: Some(end) };
    let changed = consumers.update("acme", patch, change()).await.unwrap();
    assert_eq!((changed.tags.as_slice(), changed.quota), (&["gold".to_owned()][..], Some(quota(7))));
    assert_eq!(changed.expires_at, end);
    let patch = ConsumerPatch { quota: Some(None), expires_at: Some(None), ..ConsumerPatch::default() };
    consumers.update("acme", patch, change()).await.unwrap();
    let stored = consumers.get("acme").await.unwrap().unwrap();
    assert_eq!((stored.quota, stored.expires_at, stored.tags.len()), (None, None, 1));
    let past = ConsumerPatch {
        expires_at: Some(Timestamp::parse("2001-01-01T00:00:00Z")),
        ..ConsumerPatch::default()
    };
    assert_eq!(refusal(consumers.update("acme", past, change()).await).status(), 400);
    consumers.create_key("acme", API_KEY, change()).await.unwrap();
    consumers.delete("acme", change()).await.unwrap();
    assert_eq!(refusal(consumers.delete("acme", change()).await).status(), 404);
    assert!(consumers.load().await.unwrap().is_empty());
    consumers.create("acme", tagged(&[]), change()).await.unwrap();
    assert!(consumers.get("acme").await.unwrap().unwrap().keys.is_empty(), "no key came back");
    let changes = store.epoch().changes_after(0).await.unwrap();
    assert_eq!(changes.len(), 6, "a refusal raised no epoch");
    assert!(changes.iter().all(|change| change.entity == ChangedEntity::Consumers));
}

pub(crate) async fn consumers_are_listed_by_tag(db: TestDatabase) {
    let store = with_consumer(&db, "b").await;
    let consumers = store.consumers();
    consumers.create("a", tagged(&["silver"]), change()).await.unwrap();
    consumers.create_key("a", HMAC, change()).await.unwrap();
    let (all, total) = consumers.list(None, Page::default()).await.unwrap();
    assert_eq!((all[0].name.as_str(), all[0].keys.len(), all[1].name.as_str(), total), ("a", 1, "b", 2));
    let (gold, total) = consumers.list(Some("gold".into()), Page::default()).await.unwrap();
    assert_eq!((gold.len(), gold[0].name.as_str(), total), (1, "b", 1));
    assert_eq!(consumers.list(Some("g\0ld".into()), Page::default()).await.unwrap().1, 0);
}

pub(crate) async fn consumer_keys_are_kept_apart_and_bounded(db: TestDatabase) {
    let store = with_consumer(&db, "acme").await;
    let consumers = store.consumers();
    let (first, secret) = consumers.create_key("acme", API_KEY, change()).await.unwrap();
    for _ in 1..MAX_CONSUMER_KEYS {
        consumers.create_key("acme", API_KEY, change()).await.unwrap();
    }
    assert_eq!(refusal(consumers.create_key("acme", API_KEY, change()).await).status(), 409);
    let ConsumerCredentials { consumer, secrets } = loaded(&store).await;
    assert_eq!((consumer.keys.len(), &consumer.keys[0]), (MAX_CONSUMER_KEYS, &first));
    let shown = format!("{consumer:?} {secrets:?} {secret:?}");
    assert!(!shown.contains(secret.expose()), "{shown}");
    consumers.delete_key("acme", &first.id, change()).await.unwrap();
    assert_eq!(refusal(consumers.delete_key("acme", &first.id, change()).await).status(), 404);
    assert_eq!(refusal(consumers.delete_key("other", &first.id, change()).await).status(), 404);
    assert_eq!(refusal(consumers.create_key("other", API_KEY, change()).await).status(), 404);
    let dry_run = Mutation { dry_run: true, ..change() };
    consumers.create_key("acme", API_KEY, dry_run).await.unwrap();
    assert_eq!(loaded(&store).await.secrets.len(), MAX_CONSUMER_KEYS - 1);
}

pub(crate) async fn consumer_secrets_are_hashed_or_sealed(mut db: TestDatabase) {
    let (one, two) = ("01".repeat(32), "02".repeat(32));
    let keys = |current: &str, previous: &[&str]| {
        EnvelopeKeys::new(Some(current), previous.iter().copied()).unwrap()
    };
    db.config.connector_keys = keys(&one, &[]);
    let store = with_consumer(&db, "acme").await;
    store.consumers().create_key("acme", API_KEY, change()).await.unwrap();
    let (_, signing) = store.consumers().create_key("acme", HMAC, change()).await.unwrap();
    let stored = loaded(&store).await.secrets;
    let [ConsumerSecret::Digest(_), ConsumerSecret::Text(text)] = stored.as_slice() else {
        panic!("{stored:?}")
    };
    assert_eq!(text.expose(), signing.expose());
    db.config.connector_keys = keys(&two, slice::from_ref(&one.as_str()));
    assert_eq!(reencrypt(&db.config).await.unwrap().consumer_keys, 1);
    db.config.connector_keys = keys(&two, &[]);
    let moved = loaded(&db.store().await).await.secrets;
    assert!(matches!(&moved[1], ConsumerSecret::Text(text) if text.expose() == signing.expose()));
    db.config.connector_keys = keys(&one, &[]);
    let blind = loaded(&db.store().await).await.secrets;
    assert!(matches!(blind[1], ConsumerSecret::Sealed(_)), "{blind:?}");
}

pub(crate) async fn unknown_bounds_close_one_consumer_alone(db: TestDatabase) {
    let store = with_consumer(&db, "acme").await;
    let consumers = store.consumers();
    consumers.create("other", tagged(&[]), change()).await.unwrap();
    for name in ["acme", "other"] {
        consumers.create_key(name, API_KEY, change()).await.unwrap();
    }
    let later = r#"{"limit": 1, "per": "year"}"#;
    db.execute(&format!("UPDATE consumers SET quota = '{later}' WHERE name = 'acme'")).await.unwrap();
    let all = consumers.load().await.unwrap();
    let secrets: Vec<_> =
        all.iter().map(|one| (one.consumer.name.as_str(), one.secrets.as_slice())).collect();
    let [("acme", [ConsumerSecret::Unknown]), ("other", [ConsumerSecret::Digest(_)])] = secrets.as_slice()
    else {
        panic!("{secrets:?}")
    };
}
