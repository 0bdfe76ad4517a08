//! The writer under injected faults.

use std::time::Duration;

use actix_supervision::{FaultKind, PlannedFault, Tree};
use futures_util::future::join_all;
use svc_store::StoreError;

use super::database::TestDatabase;
use super::{any_mutation, is_unavailable, workflow};

fn tree(nth: &[u64]) -> Tree {
    let fault = |nth: &u64| PlannedFault {
        path: "store/writer".into(),
        message: "*".into(),
        nth: *nth,
        kind: FaultKind::Panic,
    };
    Tree::builder("test").faults(nth.iter().map(fault).collect()).build()
}

pub(crate) async fn a_crash_of_the_writer_is_told_and_survived(db: TestDatabase) {
    let workflows = db.store_in(&tree(&[5])).await.workflows();
    let writes = (0..9).map(|n| workflows.create(Some(format!("w{n}")), workflow("w"), any_mutation()));
    let answers = join_all(writes).await;
    assert!(is_unavailable(&answers[4]), "{:?}", answers[4]);
    for (n, answer) in answers.iter().enumerate() {
        let stored = workflows.latest(&format!("w{n}")).await.unwrap().is_some();
        match answer {
            Ok(_) => assert!(stored, "w{n} was promised"),
            // The write began and was not answered: its result is unknown, and the caller received that.
            Err(StoreError::Unanswered(_)) => {}
            Err(other) => panic!("w{n}: {other}"),
        }
    }
    workflows
        .create(Some("after".into()), workflow("w"), any_mutation())
        .await
        .expect("a new instance writes");
}

pub(crate) async fn a_call_waits_for_a_restart_that_is_near(db: TestDatabase) {
    // The second consecutive crash is followed by a pause, in which a call is returned and tried again.
    let workflows = db.store_in(&tree(&[1, 2])).await.workflows();
    for n in 0..2 {
        assert!(is_unavailable(
            &workflows.create(Some(format!("w{n}")), workflow("w"), any_mutation()).await
        ));
    }
    workflows
        .create(Some("w".into()), workflow("w"), any_mutation())
        .await
        .expect("it is written after the pause");
}

pub(crate) async fn a_failed_commit_fails_every_unit_of_it(db: TestDatabase) {
    let workflows = db.store().await.workflows();
    let broken = if db.is_sqlite() {
        "CREATE TABLE parents (id INTEGER PRIMARY KEY);
         CREATE TABLE children (parent INTEGER REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED);
         CREATE TRIGGER no_commit AFTER INSERT ON definitions BEGIN INSERT INTO children VALUES (1); END;"
    } else {
        "CREATE FUNCTION no_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no commit'; END $$;
         CREATE CONSTRAINT TRIGGER no_commit AFTER INSERT ON definitions DEFERRABLE INITIALLY DEFERRED
         FOR EACH ROW EXECUTE FUNCTION no_commit();"
    };
    db.execute(broken).await.unwrap();
    let writes = (0..20).map(|n| workflows.create(Some(format!("w{n}")), workflow("w"), any_mutation()));
    for answer in join_all(writes).await {
        assert!(matches!(answer, Err(StoreError::Unavailable(_))), "nobody knows whose fault: {answer:?}");
    }
    assert_eq!(workflows.list(Default::default(), Default::default()).await.unwrap().1, 0);
    let mended =
        if db.is_sqlite() { "DROP TRIGGER no_commit" } else { "DROP TRIGGER no_commit ON definitions" };
    db.execute(mended).await.unwrap();
    workflows.create(Some("w".into()), workflow("w"), any_mutation()).await.expect("the next commit holds");
}

pub(crate) async fn admitted_writes_are_committed_before_shutdown(db: TestDatabase) {
    let tree = tree(&[]);
    let workflows = db.store_in(&tree).await.workflows();
    let writes = (0..300).map(|n| workflows.create(Some(format!("w{n}")), workflow("w"), any_mutation()));
    let end = async {
        tokio::task::yield_now().await;
        tree.shutdown(Duration::from_secs(20)).await
    };
    let (answers, _) = futures_util::future::join(join_all(writes), end).await;
    let written = answers.iter().filter(|answer| answer.is_ok()).count();
    assert!(written > 0, "the shutdown came first");
    assert!(answers.iter().all(|answer| answer.is_ok() || is_unavailable(answer)));
    let stored = db.store().await.workflows().list(Default::default(), Default::default()).await.unwrap().1;
    assert_eq!(usize::try_from(stored), Ok(written), "what was answered is stored, and nothing else");
}
