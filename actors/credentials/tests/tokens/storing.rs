//! Refreshed tokens that cannot be stored.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::kit::{Provider, rotating, row, run};

const REFUSE: &str = "CREATE TRIGGER refuse BEFORE INSERT ON connector_oauth_state
    BEGIN SELECT RAISE(ABORT, 'the disk is full of holes'); END";

#[test]
fn unstored_tokens_serve_and_are_stored_later() {
    run(async |world| {
        let (provider, upstream) = Provider::start(30);
        let node = world.node().await;
        let source = node.source(&rotating(&upstream, 60));
        let database = rusqlite::Connection::open(world.database()).unwrap();
        database.busy_timeout(Duration::from_secs(10)).unwrap();
        assert_eq!(source.token().await.unwrap().expose(), "access-1");
        database.execute_batch(REFUSE).unwrap();
        assert_eq!(source.token().await.unwrap().expose(), "access-2");
        assert_eq!(node.errors.load(Ordering::SeqCst), 1);
        assert_eq!(row(&world.database()).unwrap()["refresh_token"], "refresh-1");
        database.execute_batch("DROP TRIGGER refuse").unwrap();
        let mut looks = tokio::time::interval(Duration::from_millis(20));
        while row(&world.database()).unwrap()["refresh_token"] != "refresh-2" {
            looks.tick().await;
        }
        assert_eq!(source.token().await.unwrap().expose(), "access-3");
        let family = provider.family();
        assert_eq!((family.grants, family.reused), (3, 0));
    });
}
