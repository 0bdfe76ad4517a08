//! Reloads: their effects, their cost, and the parts they leave unchanged.

use serde_json::json;
use svc_model::ChannelContent;
use svc_registry::{ChannelFilter, ReloadError, ReloadScope};
use svc_testworld::definitions::mutation;

use crate::kit::{answer, channel, run};

/// The channel `name` at `/name/x` over another workflow.
fn channel_with(name: &str, workflow: &str) -> ChannelContent {
    ChannelContent { workflow_id: Some(workflow.into()), ..channel(name, &["POST"], &format!("/{name}/x")) }
}

fn changed_scope(workflows: &[&str], channels: &[&str]) -> ReloadScope {
    let owned = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
    ReloadScope::Changed { workflows: owned(workflows), channels: owned(channels) }
}

#[test]
fn a_reload_builds_only_what_changed() {
    run(vec![], async |world| {
        for id in ["v", "w"] {
            world.workflow(id, id).await;
        }
        for (name, workflow) in [("a", "v"), ("b", "w"), ("c", "w")] {
            world.channel(channel_with(name, workflow)).await;
        }
        let running = world.start().await;
        let registry = &running.registry;
        let work = async |scope| {
            let report = registry.reload(scope).await.unwrap();
            (report.compiled, report.built, report.retired)
        };
        assert_eq!(work(ReloadScope::All).await, (0, 0, 0), "nothing changed");
        assert_eq!(work(changed_scope(&["v", "w"], &["a", "b", "c"])).await, (0, 0, 0), "nothing changed");

        world.channel(ChannelContent { priority: 1, ..channel_with("a", "v") }).await;
        assert_eq!(work(ReloadScope::channel("a")).await, (0, 1, 0), "one channel");

        world.workflow("w", "w2").await;
        assert_eq!(work(ReloadScope::workflow("w")).await, (1, 2, 0), "one workflow and those who use it");
        assert_eq!((running.mark("/b/x").await, running.mark("/a/x").await), ("w2".into(), "v".into()));

        world.workflow("v", "v2").await;
        world.channel(channel_with("d", "w")).await;
        world.archive_channel("c").await;
        assert_eq!(work(ReloadScope::All).await, (1, 2, 1), "found without being told");
        assert_eq!((running.mark("/a/x").await, running.mark("/d/x").await), ("v2".into(), "w2".into()));
        assert_eq!(running.post("/c").await.unwrap_err().status(), 404);
        let report = registry.reload(ReloadScope::All).await.unwrap();
        assert_eq!((report.workflows_count, report.channels_count, report.quarantined), (2, 3, 0));

        world.workflow("idle", "idle").await;
        assert_eq!(work(ReloadScope::workflow("idle")).await, (0, 0, 0), "nobody uses it");
    });
}

#[test]
fn a_rollout_that_moves_compiles_nothing() {
    run(vec![], async |world| {
        world.workflow("w", "old").await;
        world.channel(channel("a", &["POST"], "/a")).await;
        let running = world.start().await;
        let workflows = world.store.workflows();
        workflows.new_version("w", mutation()).await.unwrap();
        world.activate_workflow("w", Some(20)).await;
        let report = running.registry.reload(ReloadScope::workflow("w")).await.unwrap();
        assert_eq!((report.compiled, report.built), (1, 1));
        workflows.set_rollout("w", 60, mutation()).await.unwrap();
        let report = running.registry.reload(ReloadScope::workflow("w")).await.unwrap();
        assert_eq!((report.compiled, report.built, report.quarantined), (0, 1, 0));
    });
}

#[test]
fn one_broken_channel_is_quarantined_and_its_neighbours_serve() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        world.workflow("gone", "gone").await;
        world
            .workflow_of("odd", json!([{"id": "t", "name": "t", "function": {"name": "no_such_function"}}]))
            .await;
        world.channel(channel("good", &["POST"], "/good")).await;
        world.channel(channel_with("unknown-function", "odd")).await;
        world.channel(channel_with("no-workflow", "gone")).await;
        world.archive_workflow("gone").await;
        let guarded = json!({"auth": {"mode": "api_key", "keys": ["env://UNSET"]}});
        world.channel(ChannelContent { config: guarded, ..channel_with("guarded", "w") }).await;
        let running = world.start().await;
        for (name, reason) in [
            ("unknown-function", "no_such_function"),
            ("no-workflow", "workflow 'gone' has no active version"),
            ("guarded", "auth: "),
        ] {
            let given = running.reason(name).unwrap();
            assert!(given.contains(reason), "{name}: {given}");
            assert_eq!(running.post(name).await.unwrap_err().status(), 503);
        }
        assert_eq!(running.mark("/good").await, "w");
        assert_eq!(running.registry.snapshot().quarantined_count(), 3);

        // Each leaves quarantine by what was wrong being put right.
        world.workflow("gone", "back").await;
        world.workflow("odd", "mended").await;
        world.channel(channel_with("guarded", "w")).await;
        let report = running.registry.reload(changed_scope(&["gone", "odd"], &["guarded"])).await.unwrap();
        assert_eq!((report.quarantined, report.built, report.compiled), (0, 3, 2));
        assert_eq!(running.mark("/no-workflow/x").await, "back");
        assert_eq!(running.mark("/unknown-function/x").await, "mended");
        assert_eq!(running.mark("/guarded/x").await, "w");
    });
}

#[test]
fn broken_channel_stops_serving_without_losing_requests() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        world.channel(channel("a", &["POST"], "/a")).await;
        let running = world.start().await;
        assert_eq!(running.mark("/a").await, "w");
        world.channel(ChannelContent { config: json!({"cors": {}}), ..channel("a", &["POST"], "/a") }).await;
        let report = running.registry.reload(ReloadScope::channel("a")).await.unwrap();
        assert_eq!((report.quarantined, report.retired), (1, 1));
        assert_eq!(running.post("/a").await.unwrap_err().status(), 503);
        world.channel(channel("a", &["POST"], "/a")).await;
        running.registry.reload(ReloadScope::channel("a")).await.unwrap();
        assert_eq!(running.mark("/a").await, "w");
    });
}

#[test]
fn duplicate_task_id_quarantines_or_fails_the_reload() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        world.workflow_of("twice", json!([answer("same", "1"), answer("same", "2")])).await;
        world.channel(channel("good", &["POST"], "/good")).await;
        world.channel(channel_with("bad", "twice")).await;
        let running = world.start().await;
        assert!(running.reason("bad").unwrap().contains("same"));
        assert_eq!(running.mark("/good").await, "w");

        world.workflow("w", "w2").await;
        let before = running.registry.snapshot().generation();
        let error = running.registry.reload(ReloadScope::All).await.unwrap_err();
        assert!(matches!(error, ReloadError::DuplicateTaskId { .. }), "{error}");
        assert_eq!(svc_model::ServiceError::from(error).status(), 500);
        assert_eq!(running.registry.snapshot().generation(), before);
        assert_eq!(running.mark("/good").await, "w", "nothing of the failed reload serves");
        assert!(running.registry.reload_failure().is_some());

        world.workflow("twice", "once").await;
        running.registry.reload(ReloadScope::All).await.unwrap();
        assert_eq!((running.mark("/good").await, running.mark("/bad/x").await), ("w2".into(), "once".into()));
        assert!(running.registry.reload_failure().is_none());
    });
}

#[test]
fn failed_reload_is_remembered_until_covering_reload_succeeds() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        world.workflow("v", "v").await;
        world.channel(channel_with("a", "w")).await;
        let running = world.start().await;
        let registry = &running.registry;
        world.workflow_of("w", json!([answer("same", "1"), answer("same", "2")])).await;
        registry.reload(ReloadScope::All).await.unwrap_err();
        world.channel(channel_with("b", "v")).await;
        registry.reload(ReloadScope::channel("b")).await.unwrap();
        assert_eq!(running.mark("/b/x").await, "v", "others go on");
        assert!(registry.reload_failure().is_some(), "a part makes good no more than itself");
        registry.reload(ReloadScope::All).await.unwrap_err();
        world.workflow("w", "mended").await;
        registry.reload(ReloadScope::All).await.unwrap();
        assert!(registry.reload_failure().is_none());
        world.workflow_of("w", json!([answer("same", "1"), answer("same", "2")])).await;
        registry.reload(ReloadScope::workflow("w")).await.unwrap_err();
        registry.reload(ReloadScope::workflow("v")).await.unwrap();
        assert!(registry.reload_failure().is_some());
        world.workflow("w", "again").await;
        registry.reload(ReloadScope::workflow("w")).await.unwrap();
        assert!(registry.reload_failure().is_none());
    });
}

#[test]
fn unloadable_workflow_row_gets_no_new_user() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        world.channel(channel_with("a", "w")).await;
        let running = world.start().await;
        let registry = &running.registry;
        for broken in [
            json!([answer("same", "1"), answer("same", "2")]),
            json!([{"id": "t", "name": "t", "function": {"name": "no_such_function"}}]),
        ] {
            world.workflow_of("w", broken).await;
            world.channel(channel_with("b", "w")).await;
            let report = registry.reload(ReloadScope::channel("b")).await.unwrap();
            assert_eq!(report.quarantined, 1);
            let reason = running.reason("b").unwrap();
            assert!(reason.contains("same") || reason.contains("no_such_function"), "{reason}");
            world.channel(ChannelContent { priority: 1, ..channel_with("a", "w") }).await;
            registry.reload(ReloadScope::channel("a")).await.unwrap();
            assert_eq!(running.mark("/a/x").await, "w", "what serves goes on");
            assert_eq!(registry.reload(ReloadScope::channel("b")).await.unwrap().quarantined, 1);
            world.workflow("w", "w").await;
            registry.reload(ReloadScope::All).await.unwrap();
            assert_eq!(running.mark("/b/x").await, "w");
            world.archive_channel("b").await;
            registry.reload(ReloadScope::channel("b")).await.unwrap();
        }
        // Of a workflow that nobody uses yet, nothing serves on.
        world.workflow_of("idle", json!([answer("same", "1"), answer("same", "2")])).await;
        world.channel(channel_with("c", "idle")).await;
        registry.reload(ReloadScope::channel("c")).await.unwrap();
        assert!(running.reason("c").unwrap().contains("same"));
        registry.reload(ReloadScope::All).await.unwrap_err();
    });
}

#[test]
fn reload_without_database_keeps_serving_snapshot() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        world.channel(channel("a", &["POST"], "/a")).await;
        let running = world.start().await;
        world.lose_database();
        let error = running.registry.reload(ReloadScope::All).await.unwrap_err();
        assert!(matches!(error, ReloadError::Storage(_)), "{error}");
        assert!(running.registry.reload_failure().is_some());
        assert_eq!(running.mark("/a").await, "w");
    });
}

#[test]
fn names_and_routes_may_change_hands_in_one_reload() {
    run(vec![], async |world| {
        world.workflow("v", "v").await;
        world.workflow("w", "w").await;
        world.channel(channel_with("a", "v")).await;
        world.channel(channel_with("b", "w")).await;
        let running = world.start().await;
        world.channel(ChannelContent { route_pattern: Some("/c/x".into()), ..channel_with("a", "v") }).await;
        world.channel(ChannelContent { route_pattern: Some("/a/x".into()), ..channel_with("b", "w") }).await;
        running.registry.reload(changed_scope(&[], &["a", "b"])).await.unwrap();
        assert_eq!((running.mark("/a/x").await, running.mark("/c/x").await), ("w".into(), "v".into()));
        assert_eq!(running.post("/b/x").await.unwrap_err().status(), 404);
    });
}

#[test]
fn filtered_channels_are_absent() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        for name in ["eu-orders", "us-orders"] {
            world.channel(channel_with(name, "w")).await;
        }
        let filter = ChannelFilter { include: vec!["eu-*".into()], exclude: vec![] };
        let running = world.start_with(filter).await;
        assert_eq!(running.mark("/eu-orders/x").await, "w");
        assert_eq!(running.post("/us-orders").await.unwrap_err().status(), 404);
        assert_eq!(running.registry.reload(ReloadScope::All).await.unwrap().channels_count, 1);
    });
}
