//! Reloads under load, and channels that fail.

use std::cell::Cell;
use std::rc::Rc;

use actix_supervision::{FaultKind, GroupSpec, Placement, PlannedFault};
use serde_json::json;
use svc_channels::ProbeVersion;
use svc_model::ChannelContent;
use svc_registry::ReloadScope;
use svc_testkit::state::eventually;

use crate::kit::{RunningRegistry, channel, run};

fn panics(path: &str, message: &str, times: std::ops::RangeInclusive<u64>) -> Vec<PlannedFault> {
    let fault =
        |nth| PlannedFault { path: path.into(), message: message.into(), nth, kind: FaultKind::Panic };
    times.map(fault).collect()
}

/// Keeps asking until the channel's budget is used up.
pub(crate) async fn exhaust(running: &RunningRegistry, name: &str) {
    while !running.is_quarantined(name) {
        let actor = running.registry.snapshot().channel_by_name(name).map(|entry| entry.actor(None).cloned());
        if let Some(Ok(actor)) = actor {
            let _ = actor.call(ProbeVersion).await;
        }
        tokio::task::yield_now().await;
    }
}

#[test]
fn no_request_fails_while_a_hundred_reloads_go_on() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        world.channel(channel("stable", &["POST"], "/stable")).await;
        world.channel(channel("busy", &["POST"], "/busy/{id}")).await;
        let running = world.start().await;
        let done = Rc::new(Cell::new(false));
        let clients: Vec<_> = (0..4)
            .map(|client| {
                let (running, done) = (running.clone(), Rc::clone(&done));
                actix_rt::spawn(async move {
                    let mut answered = 0_u32;
                    while !done.get() {
                        assert_eq!(running.mark("/stable").await, "w");
                        let answer = running.post(&format!("/busy/{client}")).await.unwrap();
                        assert_eq!(answer["params"], json!({"id": client.to_string()}));
                        answered += 1;
                        tokio::task::yield_now().await;
                    }
                    answered
                })
            })
            .collect();
        for version in 0..100 {
            let config = json!({"timeout_ms": 1000 + version});
            world.channel(ChannelContent { config, ..channel("busy", &["POST"], "/busy/{id}") }).await;
            let report = running.registry.reload(ReloadScope::channel("busy")).await.unwrap();
            assert_eq!((report.built, report.compiled, report.quarantined), (1, 0, 0));
        }
        done.set(true);
        for client in clients {
            assert!(client.await.unwrap() > 0);
        }
    });
}

#[test]
fn concurrent_reloads_run_in_turn_and_are_answered() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        for name in ["a", "b", "c"] {
            world.channel(channel(name, &["POST"], &format!("/{name}"))).await;
        }
        let running = world.start().await;
        let before = running.registry.snapshot().generation();
        world.workflow("w", "w2").await;
        let reloads = (0..20).map(|_| running.registry.reload(ReloadScope::workflow("w")));
        let reports = futures_util::future::join_all(reloads).await;
        let built: usize = {
            let mut reports: Vec<_> = reports.into_iter().map(Result::unwrap).collect();
            reports.dedup();
            reports.iter().map(|report| report.built).sum()
        };
        assert_eq!(built, 3, "the first built them, those that waited were one and found nothing to do");
        assert_eq!(running.registry.snapshot().generation(), before + 2);
    });
}

#[test]
fn exhausted_channel_is_quarantined_until_operator_restarts_it() {
    run(panics("channels/orders/*", "ProbeVersion", 1..=3), async |world| {
        world.workflow("w", "w").await;
        world.channel(channel("orders", &["POST"], "/o/{id}")).await;
        world.channel(channel("neighbour", &["POST"], "/neighbour")).await;
        let running = world.start().await;
        assert_eq!(running.mark("/o/1").await, "w");
        exhaust(&running, "orders").await;

        let reason = running.reason("orders").unwrap();
        assert!(!reason.is_empty());
        for path in ["/orders", "/o/1"] {
            let error = running.post(path).await.unwrap_err();
            assert_eq!((error.status(), error.retry_after()), (503, None), "{path}");
            assert_eq!(error.message(), "Channel is unavailable");
        }
        assert_eq!(running.registry.snapshot().quarantined_count(), 1);
        assert_eq!(running.mark("/neighbour").await, "w");

        world.tree.restart("channels/orders").await.unwrap();
        eventually("the channel serves", async || !running.is_quarantined("orders")).await;
        assert_eq!(running.mark("/o/1").await, "w");
        assert_eq!(running.registry.snapshot().quarantined_count(), 0);
    });
}

#[test]
fn reload_or_changed_configuration_ends_the_quarantine() {
    for all in [true, false] {
        run(panics("channels/orders/*", "ProbeVersion", 1..=3), async |world| {
            world.workflow("w", "w").await;
            world.channel(channel("orders", &["POST"], "/orders")).await;
            let running = world.start().await;
            exhaust(&running, "orders").await;
            let scope = if all {
                ReloadScope::All
            } else {
                world
                    .channel(ChannelContent { priority: 1, ..channel("orders", &["POST"], "/orders") })
                    .await;
                ReloadScope::channel("orders")
            };
            let report = running.registry.reload(scope).await.unwrap();
            assert_eq!((report.quarantined, report.built), (0, 1));
            assert_eq!(running.mark("/orders").await, "w");
        });
    }
}

#[test]
fn the_snapshot_outlives_a_crash_of_the_registry() {
    run(panics("registry", "ApplyChange", 2..=2), async |world| {
        world.workflow("w", "w").await;
        world.channel(channel("a", &["POST"], "/a")).await;
        let running = world.start().await;
        world.workflow("w", "w2").await;
        world.tree.add_group("channels/orphan", GroupSpec::new()).await.unwrap();
        assert!(running.registry.reload(ReloadScope::All).await.is_err(), "the planned crash");
        assert_eq!(
            running.post("/a").await.unwrap()["from"].as_str().map(|mark| mark.starts_with('w')),
            Some(true)
        );
        world.tree.wait_until_running("registry").await.unwrap();
        running.registry.reload(ReloadScope::All).await.unwrap();
        assert_eq!(running.mark("/a").await, "w2");
        let orphan = || world.tree.snapshot().node("channels/orphan").is_some();
        eventually("the orphan is gone", async || !orphan()).await;
    });
}

#[test]
fn every_worker_has_an_actor_per_channel() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        world.channel(channel("a", &["POST"], "/a")).await;
        let running = world.start().await;
        let second = running.registry.add_worker(Placement::Here).await.unwrap();
        world.channel(channel("b", &["POST"], "/b")).await;
        running.registry.reload(ReloadScope::channel("b")).await.unwrap();
        let path = |name: &str, worker| {
            let snapshot = running.registry.snapshot();
            snapshot.channel_by_name(name).unwrap().actor(Some(worker)).unwrap().path().to_string()
        };
        for (name, worker, expected) in [
            ("a", running.worker, "channels/a/0"),
            ("a", second, "channels/a/1"),
            ("b", running.worker, "channels/b/0"),
            ("b", second, "channels/b/1"),
        ] {
            assert_eq!(path(name, worker), expected);
        }
        running.registry.remove_worker(second).await.unwrap();
        assert_eq!(path("a", second), "channels/a/0", "who has none of its own gets any");
        let is_gone = async || world.tree.snapshot().node("channels/a/1").is_none();
        eventually("the actor of the second thread is gone", is_gone).await;
        assert_eq!(running.mark("/a").await, "w");
    });
}

#[test]
fn request_of_ended_thread_is_served_elsewhere() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        world.channel(channel("a", &["POST"], "/a")).await;
        let running = world.start().await;
        #[expect(clippy::disallowed_methods, reason = "the thread is to end")]
        let arbiter = actix_rt::Arbiter::new();
        let lost = running.registry.add_worker(Placement::On(arbiter.handle())).await.unwrap();
        let on_lost = RunningRegistry { worker: lost, ..running.clone() };
        assert_eq!(on_lost.mark("/a").await, "w");
        arbiter.stop();
        arbiter.join().unwrap();
        assert_eq!(on_lost.mark("/a").await, "w");
    });
}

#[test]
fn dead_thread_delays_no_channel() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        world.channel(channel("changed", &["POST"], "/changed")).await;
        let running = world.start().await;
        #[expect(clippy::disallowed_methods, reason = "the thread is to end")]
        let arbiter = actix_rt::Arbiter::new();
        let lost = running.registry.add_worker(Placement::On(arbiter.handle())).await.unwrap();
        arbiter.stop();
        arbiter.join().unwrap();
        world.channel(channel("new", &["POST"], "/new")).await;
        world.channel(ChannelContent { priority: 1, ..channel("changed", &["POST"], "/changed") }).await;
        for name in ["new", "changed"] {
            let report = running.registry.reload(ReloadScope::channel(name)).await.unwrap();
            assert_eq!(report.quarantined, 0, "{:?}", running.reason(name));
            assert_eq!(running.mark(&format!("/{name}")).await, "w");
        }
        eventually("the lost worker is noticed", async || !running.registry.has_worker(lost)).await;
        assert!(running.registry.has_worker(running.worker));
    });
}

#[test]
fn blocked_thread_delays_no_change_or_activation() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        world.channel(channel("a", &["POST"], "/a")).await;
        let running = world.start().await;
        #[expect(clippy::disallowed_methods, reason = "the thread is to block")]
        let arbiter = actix_rt::Arbiter::new();
        let second = running.registry.add_worker(Placement::On(arbiter.handle())).await.unwrap();
        let on_second = RunningRegistry { worker: second, ..running.clone() };
        assert_eq!(on_second.mark("/a").await, "w");
        let (release, blocked) = std::sync::mpsc::channel::<()>();
        arbiter.spawn_fn(move || {
            let _ = blocked.recv();
        });

        let started = tokio::time::Instant::now();
        world.workflow("w", "w2").await;
        let report = running.registry.reload(ReloadScope::workflow("w")).await.unwrap();
        assert_eq!((report.built, report.quarantined, report.retired), (1, 0, 0));
        assert_eq!(running.mark("/a").await, "w2");

        world.archive_channel("a").await;
        assert_eq!(running.registry.reload(ReloadScope::channel("a")).await.unwrap().retired, 1);
        world.channel(channel("a", &["POST"], "/a")).await;
        running.registry.reload(ReloadScope::channel("a")).await.unwrap();
        assert_eq!(running.mark("/a").await, "w2");
        assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());

        drop(release);
        assert_eq!(on_second.mark("/a").await, "w2");
        let actors = || {
            let nodes = world.tree.snapshot().nodes;
            nodes.iter().filter(|node| node.path.to_string().starts_with("channels/a")).count()
        };
        // One group and two actors: older deployments are gone.
        eventually("older deployments are gone", async || actors() == 3).await;
        arbiter.stop();
        arbiter.join().unwrap();
    });
}

#[test]
fn channel_dependencies_outlive_channels() {
    run(vec![], async |world| {
        world.workflow("w", "w").await;
        world.channel(channel("a", &["POST"], "/a")).await;
        let _running = world.start().await;
        let nodes = world.tree.snapshot().nodes;
        let mut actors = nodes.iter().filter(|node| node.path.as_str().starts_with("channels/a/"));
        let actor = actors.next().expect("it is deployed");
        assert_eq!(actor.needs.iter().map(|need| need.as_str()).collect::<Vec<_>>(), ["store"]);
    });
}
