//! The answers that repeats of a request get.

use std::time::Duration;

use super::database::TestDatabase;
use super::traces::ago;

const LIFE: Duration = Duration::from_secs(60);

pub(crate) async fn kept_answer_has_one_claim_until_expiry(db: TestDatabase) {
    let store = db.store().await;
    let answers = store.kept_answers();
    let claim = async |entry: &str| answers.claim("k".into(), entry.into(), LIFE).await.unwrap();
    let read = async || answers.read("k".into()).await.unwrap();
    assert_eq!(read().await, None);
    assert!(claim("a").await && claim("a").await, "its own claim is renewed");
    assert!(!claim("b").await);
    assert!(answers.claim("other".into(), "b".into(), LIFE).await.unwrap());
    assert_eq!(read().await.as_deref(), Some("a"));
    let ago = ago(&db, 1);
    db.execute(&format!("UPDATE kept_answers SET expires_at = {ago} WHERE name = 'k'")).await.unwrap();
    assert_eq!(read().await, None);
    assert!(claim("b").await && !claim("a").await);
}

pub(crate) async fn kept_answer_is_changed_by_its_owner(db: TestDatabase) {
    let store = db.store().await;
    let answers = store.kept_answers();
    assert!(answers.claim("k".into(), "a".into(), LIFE).await.unwrap());
    let transfer = async |from: &str, to: &str| {
        answers.transfer("k".into(), from.into(), to.into(), LIFE).await.unwrap()
    };
    assert!(!transfer("b", "c").await && transfer("a", "c").await && !transfer("a", "d").await);
    answers.release("k".into(), "a".into()).await.unwrap();
    assert_eq!(answers.read("k".into()).await.unwrap().as_deref(), Some("c"));
    answers.release("k".into(), "c".into()).await.unwrap();
    assert_eq!(answers.read("k".into()).await.unwrap(), None);
}

pub(crate) async fn expired_answers_are_deleted_in_steps(db: TestDatabase) {
    let store = db.store().await;
    let answers = store.kept_answers();
    for number in 0..5 {
        assert!(answers.claim(format!("k-{number}"), "a".into(), LIFE).await.unwrap());
    }
    let ago = ago(&db, 1);
    db.execute(&format!("UPDATE kept_answers SET expires_at = {ago} WHERE name <> 'k-4'")).await.unwrap();
    assert_eq!(answers.delete_expired(2).await.unwrap(), 4);
    assert_eq!(answers.delete_expired(2).await.unwrap(), 0);
    assert_eq!(answers.read("k-4".into()).await.unwrap().as_deref(), Some("a"));
}
