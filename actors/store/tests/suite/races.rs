//! Many at once.

use futures_util::future::join_all;
use svc_model::Status;

use super::database::Database;
use super::{any, channel, gates, refusal, workflow};

pub(crate) async fn one_of_many_activations_of_a_draft_wins(db: Database) {
    let workflows = db.store().await.workflows();
    for round in 0..5 {
        let id = format!("w{round}");
        workflows.create(Some(id.clone()), workflow(&id), any()).await.unwrap();
        let tries =
            (0..8).map(|_| workflows.set_status(&id, Status::Active, None, Default::default(), any()));
        let (won, lost): (Vec<_>, Vec<_>) = join_all(tries).await.into_iter().partition(Result::is_ok);
        assert_eq!(won.len(), 1);
        // A loser that was too late even to see the draft is told that there is none.
        for error in lost.into_iter().map(refusal) {
            assert!(matches!(error.status(), 409 | 404), "{error}");
        }
        assert_eq!(workflows.active_of(&[id]).await.unwrap().len(), 1);
    }
}

pub(crate) async fn one_of_many_channels_wins_a_name(db: Database) {
    let channels = db.store().await.channels();
    let tries = (0..8).map(|n| channels.create(Some(format!("c{n}")), channel("orders", None), any()));
    let (won, lost): (Vec<_>, Vec<_>) = join_all(tries).await.into_iter().partition(Result::is_ok);
    assert_eq!(won.len(), 1);
    assert!(lost.into_iter().map(refusal).all(|error| error.status() == 409));
}

pub(crate) async fn one_of_many_channels_wins_a_route(db: Database) {
    // Two handles to the same database, as two nodes would have them.
    let (here, there) = (db.store().await, db.store().await);
    here.workflows().create(Some("w".into()), workflow("w"), any()).await.unwrap();
    here.workflows().set_status("w", Status::Active, None, Default::default(), any()).await.unwrap();
    for n in 0..8 {
        let content = channel(&format!("c{n}"), Some("/orders/{id}"));
        here.channels().create(Some(format!("c{n}")), content, any()).await.unwrap();
    }
    let (here, there) = (here.channels(), there.channels());
    let ids: Vec<_> = (0..8).map(|n| format!("c{n}")).collect();
    let tries = ids.iter().enumerate().map(|(n, id)| {
        let node = if n % 2 == 0 { &here } else { &there };
        node.set_status(id, Status::Active, None, gates(), any())
    });
    let (won, lost): (Vec<_>, Vec<_>) = join_all(tries).await.into_iter().partition(Result::is_ok);
    assert_eq!(won.len(), 1);
    // 409 to whom the race was lost, 400 to who came after it.
    assert!(lost.into_iter().map(refusal).all(|error| matches!(error.status(), 409 | 400)));
    assert_eq!(here.active().await.unwrap().len(), 1);
}

pub(crate) async fn many_writers_are_all_answered_and_all_kept(db: Database) {
    let store = db.store().await;
    let workflows = store.workflows();
    let writes = (0..300).map(|n| workflows.create(Some(format!("w{n}")), workflow("w"), any()));
    assert!(join_all(writes).await.into_iter().all(|written| written.is_ok()));
    let (_, total) = workflows.list(Default::default(), Default::default()).await.unwrap();
    assert_eq!(total, 300);
}

pub(crate) async fn a_refused_unit_takes_no_neighbour_along(db: Database) {
    let store = db.store().await;
    let workflows = store.workflows();
    let writes = (0..100).map(|n| workflows.create(Some(format!("w{}", n / 2)), workflow("w"), any()));
    let (won, lost): (Vec<_>, Vec<_>) = join_all(writes).await.into_iter().partition(Result::is_ok);
    assert_eq!((won.len(), lost.len()), (50, 50));
    assert!(lost.into_iter().map(refusal).all(|error| error.status() == 409));
    let (_, records) = store.audit().list(Default::default(), Default::default()).await.unwrap();
    assert_eq!(records, 50);
}
