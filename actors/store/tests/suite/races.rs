//! Concurrent changes.

use futures_util::future::join_all;
use svc_model::LifecycleStatus;
use svc_store::Backend;

use super::database::TestDatabase;
use super::traces::pending;
use super::{any_mutation, channel, refusal, requirements, workflow};

pub(crate) async fn one_of_many_activations_of_a_draft_wins(db: TestDatabase) {
    let workflows = db.store().await.workflows();
    for round in 0..5 {
        let id = format!("w{round}");
        workflows.create(Some(id.clone()), workflow(&id), any_mutation()).await.unwrap();
        let tries = (0..8).map(|_| {
            workflows.set_status(&id, LifecycleStatus::Active, None, Default::default(), any_mutation())
        });
        let (won, lost): (Vec<_>, Vec<_>) = join_all(tries).await.into_iter().partition(Result::is_ok);
        assert_eq!(won.len(), 1);
        // This includes the one that came too late to see the draft: all were requested before any was
        // answered.
        for error in lost.into_iter().map(refusal) {
            assert_eq!(error.status(), 409, "{error}");
        }
        let later = workflows
            .set_status(&id, LifecycleStatus::Active, None, Default::default(), any_mutation())
            .await;
        assert_eq!(refusal(later).status(), 404, "there is no draft any more");
        assert_eq!(workflows.active_of(&[id]).await.unwrap().len(), 1);
    }
}

pub(crate) async fn one_of_many_rollbacks_wins(db: TestDatabase) {
    let workflows = db.store().await.workflows();
    workflows.create(Some("w".into()), workflow("w"), any_mutation()).await.unwrap();
    for _ in 0..2 {
        workflows
            .set_status("w", LifecycleStatus::Active, None, Default::default(), any_mutation())
            .await
            .unwrap();
        workflows.new_version("w", any_mutation()).await.unwrap();
    }
    workflows
        .set_status("w", LifecycleStatus::Active, None, Default::default(), any_mutation())
        .await
        .unwrap();
    let sources = join_all((0..8).map(|_| workflows.rollback_source("w", None))).await;
    let tries = sources
        .into_iter()
        .map(|source| workflows.rollback("w", source.unwrap(), Default::default(), any_mutation()));
    let (won, lost): (Vec<_>, Vec<_>) = join_all(tries).await.into_iter().partition(Result::is_ok);
    assert_eq!(won.len(), 1);
    for error in lost.into_iter().map(refusal) {
        assert_eq!(error.status(), 409, "{error}");
    }
    let active = workflows.active().await.unwrap();
    assert_eq!(active.iter().map(|row| row.version).collect::<Vec<_>>(), [4]);
}

/// Under another isolation, a statement would not see what was committed while it waited for a lock.
pub(crate) async fn isolation_follows_no_default_of_the_database(db: TestDatabase) {
    let name = db.config.url.rsplit('/').next().expect("the URL names a database");
    let default = format!("ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'");
    db.execute(&default).await.unwrap();
    let store = db.store().await;
    for table in ["definitions", "traces"] {
        let is_right = "current_setting('transaction_isolation') = 'read committed'";
        db.execute(&format!("ALTER TABLE {table} ADD CHECK ({is_right})")).await.unwrap();
    }
    // In a transaction of its own, and in one of the writer.
    store.workflows().create(Some("w".into()), workflow("w"), any_mutation()).await.unwrap();
    store.traces().insert(pending("orders")).await.unwrap();
}

pub(crate) async fn refusals_at_once_make_no_conflict(db: TestDatabase) {
    let workflows = db.store().await.workflows();
    let tries = (0..8).map(|_| {
        workflows.set_status("absent", LifecycleStatus::Active, None, Default::default(), any_mutation())
    });
    for outcome in join_all(tries).await {
        assert_eq!(refusal(outcome).status(), 404, "nothing was changed");
    }
}

/// The node of the loser knows of the change only through the database.
pub(crate) async fn activation_on_another_node_is_a_conflict(db: TestDatabase) {
    let (here, there) = (db.store().await, db.store().await);
    here.workflows().create(Some("w".into()), workflow("w"), any_mutation()).await.unwrap();
    let received = any_mutation();
    here.workflows()
        .set_status("w", LifecycleStatus::Active, None, Default::default(), any_mutation())
        .await
        .unwrap();
    let late =
        there.workflows().set_status("w", LifecycleStatus::Active, None, Default::default(), received).await;
    // A SQLite file has a single process, so two stores on it are not two nodes.
    let expected = if here.backend() == Backend::Postgres { 409 } else { 404 };
    assert_eq!(refusal(late).status(), expected);
    let later = there
        .workflows()
        .set_status("w", LifecycleStatus::Active, None, Default::default(), any_mutation())
        .await;
    assert_eq!(refusal(later).status(), 404);
}

pub(crate) async fn one_of_many_channels_wins_a_name(db: TestDatabase) {
    let channels = db.store().await.channels();
    let tries =
        (0..8).map(|n| channels.create(Some(format!("c{n}")), channel("orders", None), any_mutation()));
    let (won, lost): (Vec<_>, Vec<_>) = join_all(tries).await.into_iter().partition(Result::is_ok);
    assert_eq!(won.len(), 1);
    assert!(lost.into_iter().map(refusal).all(|error| error.status() == 409));
}

pub(crate) async fn one_of_many_channels_wins_a_route(db: TestDatabase) {
    // Two nodes, if the database supports several.
    let here = db.store().await;
    let there = if here.backend() == Backend::Postgres { db.store().await } else { here.clone() };
    here.workflows().create(Some("w".into()), workflow("w"), any_mutation()).await.unwrap();
    here.workflows()
        .set_status("w", LifecycleStatus::Active, None, Default::default(), any_mutation())
        .await
        .unwrap();
    for n in 0..8 {
        let content = channel(&format!("c{n}"), Some("/orders/{id}"));
        here.channels().create(Some(format!("c{n}")), content, any_mutation()).await.unwrap();
    }
    let (here, there) = (here.channels(), there.channels());
    let ids: Vec<_> = (0..8).map(|n| format!("c{n}")).collect();
    let tries = ids.iter().enumerate().map(|(n, id)| {
        let node = if n % 2 == 0 { &here } else { &there };
        node.set_status(id, LifecycleStatus::Active, None, requirements(), any_mutation())
    });
    let (won, lost): (Vec<_>, Vec<_>) = join_all(tries).await.into_iter().partition(Result::is_ok);
    assert_eq!(won.len(), 1);
    for error in lost.into_iter().map(refusal) {
        assert_eq!(error.status(), 409, "{error}");
    }
    assert_eq!(here.active().await.unwrap().len(), 1);
    let loser = if here.active().await.unwrap()[0].channel_id == "c0" { "c1" } else { "c0" };
    let later = here.set_status(loser, LifecycleStatus::Active, None, requirements(), any_mutation()).await;
    assert_eq!(refusal(later).status(), 400, "the route is taken");
}

pub(crate) async fn many_writers_are_all_answered_and_all_kept(db: TestDatabase) {
    let store = db.store().await;
    let workflows = store.workflows();
    let writes = (0..300).map(|n| workflows.create(Some(format!("w{n}")), workflow("w"), any_mutation()));
    assert!(join_all(writes).await.into_iter().all(|written| written.is_ok()));
    let (_, total) = workflows.list(Default::default(), Default::default()).await.unwrap();
    assert_eq!(total, 300);
}

pub(crate) async fn a_refused_unit_takes_no_neighbour_along(db: TestDatabase) {
    let store = db.store().await;
    let workflows = store.workflows();
    let writes =
        (0..100).map(|n| workflows.create(Some(format!("w{}", n / 2)), workflow("w"), any_mutation()));
    let (won, lost): (Vec<_>, Vec<_>) = join_all(writes).await.into_iter().partition(Result::is_ok);
    assert_eq!((won.len(), lost.len()), (50, 50));
    assert!(lost.into_iter().map(refusal).all(|error| error.status() == 409));
    let (_, records) = store.audit().list(Default::default(), Default::default()).await.unwrap();
    assert_eq!(records, 50);
}
