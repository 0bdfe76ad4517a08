//! Webhooks: acceptance, claims, the ends of attempts, and the states of endpoints.

use std::time::Duration;

use svc_model::{Page, Timestamp};
use svc_store::{
    ClaimedWebhook, ConsumerContent, EndpointRoom, NewWebhookAttempt, NewWebhookEndpoint, RecordedAttempt,
    Store, StoreError, WebhookAttemptEnd, WebhookChange, WebhookDelivery, WebhookEndpoint, WebhookEvent,
    WebhookFilter, WebhookOutcome, WebhookState,
};

use super::any_mutation;
use super::database::TestDatabase;
use super::traces::ago;

const LEASE: Duration = Duration::from_secs(60);
const DISABLE_AFTER: Duration = Duration::from_secs(3600);
const URL: &str = "https://hooks.example/in";

fn new_endpoint(topics: &[&str], consumer: Option<&str>) -> NewWebhookEndpoint {
    NewWebhookEndpoint {
        url: URL.to_owned(),
        consumer: consumer.map(str::to_owned),
        topics: topics.iter().map(|&topic| topic.to_owned()).collect(),
        connector: "hooks".to_owned(),
        secret: "whsec_first".to_owned(),
    }
}

/// Registers an endpoint that has echoed its challenge.
async fn endpoint(store: &Store, topics: &[&str], consumer: Option<&str>) -> String {
    let webhooks = store.webhooks();
    let created = webhooks.create(new_endpoint(topics, consumer), 100, any_mutation()).await.unwrap();
    assert_eq!(created.parsed_state(), Some(WebhookState::Unverified));
    webhooks.note_challenge(&created.id, URL.to_owned(), Ok(())).await.unwrap();
    created.id
}

fn event(id: &str, topic: &str) -> WebhookEvent {
    WebhookEvent {
        webhook_id: id.to_owned(),
        topic: topic.to_owned(),
        consumer: None,
        payload: format!("{{\"type\":\"{topic}\"}}"),
    }
}

async fn claim(store: &Store, endpoint: &str, holder: &str) -> Vec<ClaimedWebhook> {
    let room = EndpointRoom { endpoint_id: endpoint.to_owned(), room: 10 };
    let claims = store.webhooks().claim(holder, vec![room], LEASE).await.unwrap();
    assert!(claims.unreadable.is_empty(), "{:?}", claims.unreadable);
    claims.claimed
}

fn end(claimed: &ClaimedWebhook, status: i64, outcome: WebhookOutcome) -> WebhookAttemptEnd {
    WebhookAttemptEnd {
        delivery_id: claimed.id.clone(),
        claim: claimed.claim,
        attempt: NewWebhookAttempt {
            endpoint_id: claimed.target.endpoint_id.clone(),
            webhook_id: claimed.webhook_id.clone(),
            topic: claimed.topic.clone(),
            attempt: claimed.attempt,
            status: Some(status),
            error: (outcome != WebhookOutcome::Delivered).then(|| format!("answered {status}")),
            duration_ms: 5,
        },
        outcome,
        disable_after: DISABLE_AFTER,
        report: None,
    }
}

async fn state(store: &Store, id: &str) -> WebhookEndpoint {
    store.webhooks().get(id).await.unwrap().unwrap()
}

async fn deliveries(store: &Store, id: &str) -> Vec<WebhookDelivery> {
    store.webhooks().deliveries(id, None, Page::default()).await.unwrap().0
}

pub(crate) async fn event_becomes_one_row_for_each_endpoint(db: TestDatabase) {
    let store = db.store().await;
    let webhooks = store.webhooks();
    let all = endpoint(&store, &["*"], None).await;
    let paid = endpoint(&store, &["order.paid", "order.sent"], Some("acme")).await;
    let other = endpoint(&store, &["order.sent"], Some("other")).await;
    let unverified = webhooks.create(new_endpoint(&["*"], None), 100, any_mutation()).await.unwrap().id;
    for _repeat in 0..2 {
        assert_eq!(webhooks.accept(event("msg_1", "order.paid")).await.unwrap(), 2);
    }
    let of_acme = WebhookEvent { consumer: Some("acme".to_owned()), ..event("msg_2", "order.sent") };
    assert_eq!(webhooks.accept(of_acme).await.unwrap(), 1);
    let ids = async |id: &str| {
        let rows = deliveries(&store, id).await;
        rows.into_iter().map(|row| row.webhook_id).collect::<Vec<_>>()
    };
    assert_eq!(ids(&all).await, ["msg_1"]);
    assert_eq!(ids(&paid).await, ["msg_2", "msg_1"]);
    assert!(ids(&other).await.is_empty() && ids(&unverified).await.is_empty());
    let filter = WebhookFilter { consumer: Some("acme".to_owned()), state: None };
    let (rows, total) = webhooks.list(filter, Page::default()).await.unwrap();
    assert_eq!((rows[0].id.as_str(), total), (paid.as_str(), 1));
    assert_eq!(rows[0].topics, ["order.paid", "order.sent"]);
    let refused = webhooks.create(new_endpoint(&["*"], None), 4, any_mutation()).await.unwrap_err();
    assert!(matches!(&refused, StoreError::Refused(why) if why.status() == 409), "{refused}");
}

pub(crate) async fn claim_excludes_others_until_its_lease_ends(db: TestDatabase) {
    let store = db.store().await;
    let webhooks = store.webhooks();
    let id = endpoint(&store, &["*"], None).await;
    webhooks.accept(event("msg_1", "a")).await.unwrap();
    let due = webhooks.due_endpoints(10).await.unwrap();
    assert_eq!((due[0].id.as_str(), due[0].is_failing, due.len()), (id.as_str(), false, 1));
    let first = claim(&store, &id, "node-1").await;
    assert_eq!((first.len(), first[0].attempt, first[0].claim), (1, 1, 1));
    assert_eq!(first[0].target.secrets[0].secret, "whsec_first");
    assert!(claim(&store, &id, "node-2").await.is_empty());
    assert!(webhooks.due_endpoints(10).await.unwrap().is_empty());
    db.execute(&format!("UPDATE webhook_deliveries SET due_at = {}", ago(&db, 1))).await.unwrap();
    let second = claim(&store, &id, "node-2").await;
    assert_eq!(
        (second.len(), second[0].claim),
        (1, 2),
        "the node that was killed made no attempt that counts"
    );
}

pub(crate) async fn late_end_of_attempt_changes_nothing(db: TestDatabase) {
    let store = db.store().await;
    let webhooks = store.webhooks();
    let id = endpoint(&store, &["*"], None).await;
    webhooks.accept(event("msg_1", "a")).await.unwrap();
    let first = claim(&store, &id, "node-1").await;
    db.execute(&format!("UPDATE webhook_deliveries SET due_at = {}", ago(&db, 1))).await.unwrap();
    let second = claim(&store, &id, "node-2").await;
    let late = end(&first[0], 410, WebhookOutcome::Gone);
    assert_eq!(webhooks.record_end(late).await.unwrap(), RecordedAttempt::Lost);
    assert_eq!(state(&store, &id).await.state, "enabled");
    let done = end(&second[0], 204, WebhookOutcome::Delivered);
    assert_eq!(webhooks.record_end(done.clone()).await.unwrap(), RecordedAttempt::Written);
    assert_eq!(webhooks.record_end(done).await.unwrap(), RecordedAttempt::Lost);
    let (attempts, total) = webhooks.attempts(&id, Page::default()).await.unwrap();
    assert_eq!((total, attempts[0].attempt.status), (1, Some(204)));
    let rows = deliveries(&store, &id).await;
    assert_eq!((rows[0].state.as_str(), rows[0].attempts), ("delivered", 1));
}

pub(crate) async fn failures_alone_disable_endpoint_after_their_time(db: TestDatabase) {
    let store = db.store().await;
    let webhooks = store.webhooks();
    let id = endpoint(&store, &["*"], None).await;
    let attempt = async |status, outcome| {
        db.execute(&format!("UPDATE webhook_deliveries SET due_at = {}", ago(&db, 1))).await.unwrap();
        let claimed = claim(&store, &id, "node-1").await;
        webhooks.record_end(end(&claimed[0], status, outcome)).await.unwrap()
    };
    let failing = format!("UPDATE webhook_endpoints SET failing_since = {}", ago(&db, 2));
    let retry = WebhookOutcome::Retry(Duration::ZERO);
    webhooks.accept(event("msg_1", "a")).await.unwrap();
    assert_eq!(attempt(500, retry).await, RecordedAttempt::Written);
    assert!(state(&store, &id).await.failing_since.is_some());
    db.execute(&failing).await.unwrap();
    assert_eq!(attempt(200, WebhookOutcome::Delivered).await, RecordedAttempt::Written);
    assert_eq!(state(&store, &id).await.failing_since, None, "a success begins the time anew");
    webhooks.accept(event("msg_2", "a")).await.unwrap();
    assert_eq!(attempt(500, retry).await, RecordedAttempt::Written);
    db.execute(&failing).await.unwrap();
    assert_eq!(attempt(500, retry).await, RecordedAttempt::Disabled);
    let disabled = state(&store, &id).await;
    assert_eq!(disabled.state, "disabled");
    assert!(disabled.reason.unwrap().contains("answered 500"));
    assert!(claim(&store, &id, "node-1").await.is_empty());
    let (audit, _) = store.audit().list(svc_store::AuditFilter::default(), Page::default()).await.unwrap();
    assert_eq!((audit[0].action.as_str(), audit[0].resource_id.as_str()), ("disable", id.as_str()));
}

pub(crate) async fn gone_endpoint_keeps_dead_letters_for_replay(db: TestDatabase) {
    let store = db.store().await;
    let webhooks = store.webhooks();
    let id = endpoint(&store, &["*"], None).await;
    webhooks.accept(event("msg_1", "a")).await.unwrap();
    webhooks.accept(event("msg_2", "a")).await.unwrap();
    let claimed = claim(&store, &id, "node-1").await;
    let gone = end(&claimed[0], 410, WebhookOutcome::Gone);
    assert_eq!(webhooks.record_end(gone).await.unwrap(), RecordedAttempt::Disabled);
    let states: Vec<_> = deliveries(&store, &id).await.into_iter().map(|row| row.state).collect();
    assert_eq!(states, ["failed", "failed"]);
    let since = Timestamp::parse("2000-01-01T00:00:00Z").unwrap();
    let refused = webhooks.replay(&id, since, true, any_mutation()).await.unwrap_err();
    assert!(matches!(&refused, StoreError::Refused(why) if why.status() == 409), "{refused}");
    webhooks.enable(&id, None, any_mutation()).await.unwrap();
    assert!(claim(&store, &id, "node-1").await.is_empty());
    let replayed = webhooks.replay(&id, since, true, any_mutation()).await.unwrap();
    assert_eq!((replayed.replayed, replayed.next_since), (2, None));
    let again = claim(&store, &id, "node-2").await;
    let ids = |claimed: &[ClaimedWebhook]| claimed.iter().map(|one| one.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&again), ids(&claimed[..1]), "an attempt at the other one may still go on");
    db.execute(&format!(
        "UPDATE webhook_deliveries SET due_at = {} WHERE id = '{}'",
        ago(&db, 1),
        claimed[1].id
    ))
    .await
    .unwrap();
    let other = claim(&store, &id, "node-2").await;
    assert_eq!((ids(&other), other[0].attempt), (ids(&claimed[1..]), 1), "its lease has ended");
    let late = end(&claimed[1], 200, WebhookOutcome::Delivered);
    assert_eq!(webhooks.record_end(late).await.unwrap(), RecordedAttempt::Lost);
    assert_eq!(webhooks.counts().await.unwrap().pending, 2);
    webhooks.delete(&id, any_mutation()).await.unwrap();
    assert_eq!(webhooks.get(&id).await.unwrap(), None);
    assert_eq!(webhooks.accept(event("msg_3", "a")).await.unwrap(), 0);
}

pub(crate) async fn changed_address_must_be_verified_anew(db: TestDatabase) {
    let store = db.store().await;
    let webhooks = store.webhooks();
    let id = endpoint(&store, &["*"], None).await;
    let topics = WebhookChange { topics: Some(vec!["b".to_owned()]), ..WebhookChange::default() };
    let changed = webhooks.update(&id, topics, any_mutation()).await.unwrap();
    assert_eq!((changed.state.as_str(), changed.topics), ("enabled", vec!["b".to_owned()]));
    let moved = "https://new.example/in".to_owned();
    let change = WebhookChange { url: Some(moved.clone()), ..WebhookChange::default() };
    let changed = webhooks.update(&id, change, any_mutation()).await.unwrap();
    assert_eq!((changed.state.as_str(), changed.verified_at), ("unverified", None));
    assert_eq!(webhooks.accept(event("msg_1", "b")).await.unwrap(), 0);
    let late = webhooks.note_challenge(&id, URL.to_owned(), Ok(())).await.unwrap();
    assert_eq!(late.state, "unverified", "another address echoed");
    let failed = webhooks.note_challenge(&id, moved.clone(), Err("no echo".to_owned())).await.unwrap();
    assert_eq!((failed.state.as_str(), failed.reason.as_deref()), ("unverified", Some("no echo")));
    let refused = webhooks.enable(&id, Some(URL.to_owned()), any_mutation()).await.unwrap_err();
    assert!(matches!(&refused, StoreError::Refused(why) if why.status() == 409), "{refused}");
    let echoed = webhooks.note_challenge(&id, moved.clone(), Ok(())).await.unwrap();
    assert_eq!((echoed.state.as_str(), echoed.reason), ("enabled", None));
    let (audit, _) = store.audit().list(svc_store::AuditFilter::default(), Page::default()).await.unwrap();
    assert_eq!((audit[0].action.as_str(), audit[0].principal.as_str()), ("enable", "webhooks"));
    let enabled = webhooks.enable(&id, Some(moved), any_mutation()).await.unwrap();
    assert!(enabled.state == "enabled" && enabled.verified_at.is_some());
}

pub(crate) async fn next_consumer_sees_no_earlier_delivery(db: TestDatabase) {
    let store = db.store().await;
    let webhooks = store.webhooks();
    let id = endpoint(&store, &["*"], Some("acme")).await;
    for number in 0..2 {
        webhooks.accept(event(&format!("msg_{number}"), "a")).await.unwrap();
    }
    let claimed = claim(&store, &id, "node-1").await;
    webhooks.record_end(end(&claimed[0], 200, WebhookOutcome::Delivered)).await.unwrap();
    let to = |consumer: &str| WebhookChange {
        consumer: Some(Some(consumer.to_owned())),
        ..WebhookChange::default()
    };
    webhooks.update(&id, to("acme"), any_mutation()).await.unwrap();
    assert_eq!(deliveries(&store, &id).await.len(), 2, "it is the same one");
    let changed = webhooks.update(&id, to("brand"), any_mutation()).await.unwrap();
    assert_eq!((changed.state.as_str(), changed.consumer.as_deref()), ("enabled", Some("brand")));
    assert!(deliveries(&store, &id).await.is_empty());
    assert_eq!(webhooks.attempts(&id, Page::default()).await.unwrap().1, 0);
    let late = end(&claimed[1], 200, WebhookOutcome::Delivered);
    assert_eq!(webhooks.record_end(late).await.unwrap(), RecordedAttempt::Lost);
}

pub(crate) async fn rotated_secret_signs_with_its_successor(db: TestDatabase) {
    let store = db.store().await;
    let webhooks = store.webhooks();
    let id = endpoint(&store, &["*"], None).await;
    let secrets = async || {
        let target = webhooks.target(&id).await.unwrap().unwrap();
        target.secrets.into_iter().map(|secret| secret.secret).collect::<Vec<_>>()
    };
    let rotate = async |secret: &str, overlap: u64| {
        let overlap = Duration::from_secs(overlap);
        webhooks.rotate(&id, secret.to_owned(), overlap, any_mutation()).await.unwrap();
    };
    rotate("whsec_second", 60).await;
    assert_eq!(secrets().await, ["whsec_second", "whsec_first"]);
    rotate("whsec_third", 60).await;
    assert_eq!(secrets().await, ["whsec_third", "whsec_second"]);
    rotate("whsec_fourth", 0).await;
    assert_eq!(secrets().await, ["whsec_fourth"]);
}

pub(crate) async fn unreadable_secrets_stop_their_endpoint_alone(db: TestDatabase) {
    let store = db.store().await;
    let webhooks = store.webhooks();
    let sound = endpoint(&store, &["*"], None).await;
    let broken = endpoint(&store, &["*"], None).await;
    webhooks.accept(event("msg_1", "a")).await.unwrap();
    db.execute(&format!("UPDATE webhook_endpoints SET secrets_json = 'enc:v2:lost' WHERE id = '{broken}'"))
        .await
        .unwrap();
    let rooms = [&sound, &broken].map(|id| EndpointRoom { endpoint_id: id.clone(), room: 10 });
    let claims = webhooks.claim("node-1", rooms.to_vec(), LEASE).await.unwrap();
    let claimed: Vec<_> = claims.claimed.iter().map(|one| one.target.endpoint_id.as_str()).collect();
    assert_eq!(claimed, [sound.as_str()]);
    assert_eq!(claims.unreadable.len(), 1);
    assert_eq!(claims.unreadable[0].endpoint_id, broken);
    assert!(matches!(webhooks.target(&broken).await, Err(StoreError::Database(_))));
    let kept = webhooks.rotate(&broken, "whsec_new".to_owned(), Duration::from_secs(60), any_mutation());
    assert!(matches!(kept.await, Err(StoreError::Database(_))), "the former one cannot sign any more");
    webhooks.rotate(&broken, "whsec_new".to_owned(), Duration::ZERO, any_mutation()).await.unwrap();
    assert_eq!(claim(&store, &broken, "node-1").await.len(), 1);
}

pub(crate) async fn deliveries_without_endpoint_end_with_retention(db: TestDatabase) {
    let store = db.store().await;
    let webhooks = store.webhooks();
    let id = endpoint(&store, &["*"], None).await;
    webhooks.accept(event("msg_1", "a")).await.unwrap();
    // As if the endpoint had been deleted by another node while the event was accepted.
    db.execute("DELETE FROM webhook_endpoints").await.unwrap();
    assert_eq!(deliveries(&store, &id).await[0].state, "pending");
    webhooks.delete_expired(2, 3).await.unwrap();
    let row = deliveries(&store, &id).await.remove(0);
    assert_eq!((row.state.as_str(), row.last_error.as_deref()), ("failed", Some("the endpoint was deleted")));
    assert!(row.ended_at.is_some());
}

pub(crate) async fn deleted_consumer_leaves_its_endpoints_disabled(db: TestDatabase) {
    let store = db.store().await;
    let webhooks = store.webhooks();
    let create =
        async || store.consumers().create("acme", ConsumerContent::default(), any_mutation()).await.unwrap();
    create().await;
    let (own, other) =
        (endpoint(&store, &["a"], Some("acme")).await, endpoint(&store, &["a"], Some("brand")).await);
    webhooks.accept(event("msg_1", "a")).await.unwrap();
    store.consumers().delete("acme", any_mutation()).await.unwrap();
    let left = state(&store, &own).await;
    assert_eq!((left.state.as_str(), left.consumer), ("disabled", None));
    assert_eq!(left.reason.as_deref(), Some("its consumer was deleted"));
    assert_eq!(deliveries(&store, &own).await[0].state, "failed");
    create().await;
    let filter = WebhookFilter { consumer: Some("acme".to_owned()), state: None };
    assert_eq!(webhooks.list(filter, Page::default()).await.unwrap().1, 0, "it is another one");
    let kept = state(&store, &other).await;
    assert_eq!((kept.state.as_str(), kept.consumer.as_deref()), ("enabled", Some("brand")));
}

pub(crate) async fn expired_deliveries_and_attempts_are_deleted(db: TestDatabase) {
    let store = db.store().await;
    let webhooks = store.webhooks();
    let id = endpoint(&store, &["*"], None).await;
    for number in 0..5 {
        webhooks.accept(event(&format!("msg_{number}"), "a")).await.unwrap();
    }
    for claimed in claim(&store, &id, "node-1").await.iter().take(4) {
        webhooks.record_end(end(claimed, 200, WebhookOutcome::Delivered)).await.unwrap();
    }
    let old = ago(&db, 3);
    for change in [
        format!("UPDATE webhook_deliveries SET created_at = {old}"),
        format!("UPDATE webhook_deliveries SET ended_at = {old} WHERE ended_at IS NOT NULL"),
        format!("UPDATE webhook_attempts SET created_at = {old}"),
    ] {
        db.execute(&change).await.unwrap();
    }
    assert_eq!(webhooks.delete_expired(2, 3).await.unwrap(), 4);
    let rows = deliveries(&store, &id).await;
    assert_eq!((rows.len(), rows[0].state.as_str()), (1, "pending"), "what has not ended stays");
    assert_eq!(webhooks.attempts(&id, Page::default()).await.unwrap().1, 0);
}
