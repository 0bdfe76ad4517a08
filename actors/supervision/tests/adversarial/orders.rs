//! Orders that cross exits, drains and each other.

use super::*;

#[test]
fn to_replace_win_over_a_crash_in_between() {
    Universe::new(1).run(async |tree| {
        let victim = spawn(&tree, "v", ChildSpec::new()).await;
        let prepared = tree.replace(&victim, None, victims(Victim::default)).await.unwrap();
        // The second crash puts the node into a backoff.
        let _ = victim.call(Boom).await;
        let _ = victim.call(Boom).await;
        let generation = prepared.commit().await.unwrap();
        // The prepared instance, named when it was built.
        assert_eq!(victim.call(Name).await.unwrap(), 2);
        tokio::time::sleep(HOUR).await;
        assert_eq!(victim.call(Name).await.unwrap(), 2);
        assert_eq!(tree.snapshot().node("v").unwrap().generation, generation);
    });
}

#[test]
fn abandoned_replacements_leave_the_node_running() {
    Universe::new(1).run(async |tree| {
        let victim = spawn(&tree, "v", ChildSpec::new()).await;
        let prepared = tree.replace(&victim, None, victims(Victim::default)).await.unwrap();
        let mut commit = Box::pin(prepared.commit());
        assert!(poll!(&mut commit).is_pending());
        drop(commit);
        let running = async {
            victim.call(Name).await.unwrap();
            tree.restart("v").await.unwrap();
            victim.call(Name).await.unwrap();
        };
        tokio::time::timeout(HOUR, running).await.unwrap();
    });
}

#[test]
fn to_shut_down_may_have_no_deadline() {
    Universe::new(1).run(async |tree| {
        let mut policy = restarts(9);
        policy.backoff = Backoff { first: Duration::MAX, max: Duration::MAX, jitter: 0.0 };
        let spec = ChildSpec::new().drain_deadline(Duration::MAX).policy(policy);
        let victim = spawn(&tree, "v", spec).await;
        let _ = victim.call(Boom).await;
        let _ = victim.call(Boom).await;
        assert_eq!(tree.shutdown(Duration::MAX).await, TreeExit::Shutdown);
    });
}

#[test]
fn to_replace_a_retired_node_fail() {
    Universe::new(1).run(async |tree| {
        let victim = spawn(&tree, "v", ChildSpec::new()).await;
        let prepared = tree.replace(&victim, None, victims(Victim::default)).await.unwrap();
        tree.retire("v", SECOND).await.unwrap();
        assert!(prepared.commit().await.is_err());
        assert!(tree.replace(&victim, None, victims(Victim::default)).await.is_err());
    });
}

#[test]
fn for_all_follow_two_failures_at_once() {
    Universe::new(1).run(async |tree| {
        tree.add_group("g", GroupSpec::new().strategy(Strategy::OneForAll)).await.unwrap();
        let a = spawn(&tree, "g/a", ChildSpec::new()).await;
        let b = spawn(&tree, "g/b", ChildSpec::new().needs(["a"])).await;
        let (left, right) = tokio::join!(a.call(Boom), b.call(Boom));
        assert!(left.is_err() && right.is_err());
        tree.wait_until_running("g").await.unwrap();
        assert!(a.call(Name).await.unwrap() > 1 && b.call(Name).await.unwrap() > 1);
    });
}

#[test]
fn shutdown_is_obeyed_despite_failing_drain() {
    Universe::new(1).run(async |tree| {
        let hangs = || Victim { drain: Some(Box::pin(pending())), ..Victim::default() };
        let panics =
            || Victim { drain: Some(Box::pin(async { panic!("boom in drain") })), ..Victim::default() };
        tree.spawn("h", ChildSpec::new(), Placement::Here, victims(hangs)).await.unwrap();
        tree.spawn("p", ChildSpec::new(), Placement::Here, victims(panics)).await.unwrap();
        tree.wait_until_running("h").await.unwrap();
        tree.wait_until_running("p").await.unwrap();
        let began = tokio::time::Instant::now();
        let (first, second) = tokio::join!(tree.shutdown(SECOND), tree.shutdown(HOUR));
        assert_eq!((first, second), (TreeExit::Shutdown, TreeExit::Shutdown));
        assert!(began.elapsed() < 3 * SECOND, "{:?}", began.elapsed());
    });
}

#[test]
fn actor_may_order_shutdown_and_wait_for_it() {
    Universe::new(1).run(async |tree| {
        let victim = spawn(&tree, "v", ChildSpec::new()).await;
        let _ = victim.call(ShutDown(tree.clone())).await;
        assert_eq!(tree.wait_until_ended().await, TreeExit::Shutdown);
    });
}

#[test]
fn escalated_child_may_end_the_tree() {
    Universe::new(1).run(async |tree| {
        tree.add_group("g", GroupSpec::new().policy(restarts(0)).exhausted(ExhaustedAction::EndTree))
            .await
            .unwrap();
        let policy = RestartPolicy { exhausted: ExhaustedAction::Escalate, ..restarts(0) };
        let victim = spawn(&tree, "g/v", ChildSpec::new().policy(policy)).await;
        let _ = victim.call(Boom).await;
        let exit = tree.wait_until_ended().await;
        assert!(matches!(&exit, TreeExit::Escalated { path, .. } if *path == "g/v"), "{exit:?}");
    });
}
