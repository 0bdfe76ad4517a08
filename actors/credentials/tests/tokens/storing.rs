//! Refreshed tokens that cannot be stored.

use std::sync::atomic::Ordering;

use svc_testkit::state::wait_until;

use crate::kit::{Provider, rotating, run};

const REFUSE: &str = "CREATE TRIGGER refuse BEFORE INSERT ON connector_oauth_state
    BEGIN SELECT RAISE(ABORT, 'the disk is full of holes'); END";

#[test]
fn unstored_tokens_serve_and_are_stored_later() {
    run(async |world| {
        let (provider, upstream) = Provider::start(30);
        let node = world.node().await;
        let source = node.source(&rotating(&upstream, 60));
        assert_eq!(source.token().await.unwrap().expose(), "access-1");
        world.execute(REFUSE);
        assert_eq!(source.token().await.unwrap().expose(), "access-2");
        assert_eq!(node.errors.load(Ordering::SeqCst), 1);
        assert_eq!(world.row().unwrap()["refresh_token"], "refresh-1");
        world.execute("DROP TRIGGER refuse");
        wait_until(async || world.row().unwrap()["refresh_token"] == "refresh-2").await;
        assert_eq!(source.token().await.unwrap().expose(), "access-3");
        let family = provider.family();
        assert_eq!((family.grants, family.reused), (3, 0));
    });
}
