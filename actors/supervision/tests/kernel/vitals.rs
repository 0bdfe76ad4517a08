//! Vital signs and the flight recorder.

use std::sync::Arc;

use actix_supervision::{
    ChildSpec, GroupSpec, LifecycleEvent, NodeKind, NodeState, Observer, Tree, Universe,
};
use parking_lot::Mutex;

use crate::support::{Boom, Count, HoldMessage, Lab, eventually, settle};

#[test]
fn a_snapshot_lists_every_node_depth_first() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        lab.running("z", ChildSpec::new()).await;
        tree.add_group("g", GroupSpec::new()).await.unwrap();
        lab.running("g/b", ChildSpec::new().mailbox(7)).await;
        lab.running("g/a", ChildSpec::new()).await;
        let view = tree.snapshot();
        let paths: Vec<_> = view.nodes.iter().map(|node| node.path.as_str()).collect();
        assert_eq!(paths, ["g", "g/a", "g/b", "z"]);
        assert_eq!(view.nodes[0].kind, NodeKind::Group);
        assert!(view.nodes.iter().all(|node| node.state == NodeState::Running));
        assert_eq!(view.node("g/b").unwrap().mailbox_bound, 7);
        let json = serde_json::to_value(&view).unwrap();
        assert_eq!(json["nodes"][1]["path"], "g/a");
        assert_eq!(json["nodes"][1]["state"], "running");
        assert_eq!(json["nodes"][0]["kind"], "group");
    });
}

#[test]
fn gauges_equal_those_of_snapshot() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        tree.add_group("g", GroupSpec::new()).await.unwrap();
        lab.running("g/a", ChildSpec::new().mailbox(7)).await;
        let mut visited = Vec::new();
        tree.visit_gauges(|node| {
            visited.push((node.path.clone(), node.kind, node.state, node.generation, node.mailbox_bound));
        });
        let nodes = tree.snapshot().nodes.into_iter();
        let expected: Vec<_> = nodes
            .map(|node| (node.path, node.kind, node.state, node.generation, node.mailbox_bound))
            .collect();
        assert_eq!((visited.len(), visited), (2, expected));
    });
}

#[test]
fn vitals_count_calls_in_flight_and_time() {
    Universe::new(1).run(async |tree| {
        let lab = Lab::new(&tree);
        let probe = lab.running("probe", ChildSpec::new()).await;
        let (held, ()) = tokio::join!(probe.call(HoldMessage), async {
            settle().await;
            assert_eq!(probe.vitals().mailbox_depth, 1);
            assert_eq!(probe.vitals().busy_ms, None, "a waiting future keeps nobody busy");
            tokio::time::sleep(std::time::Duration::from_secs(5)).await;
            lab.gate.add_permits(1);
        });
        held.unwrap();
        let vitals = probe.vitals();
        assert_eq!((vitals.mailbox_depth, vitals.mailbox_high_water, vitals.handled), (0, 1, 1));
        assert!(vitals.uptime_ms >= 5000);
        assert!(vitals.thread.is_some());
    });
}

struct Listener(Mutex<Vec<u64>>);

impl Observer for Listener {
    fn on_event(&self, event: &LifecycleEvent) {
        self.0.lock().push(event.seq);
        panic!("a faulty observer");
    }
}

#[test]
fn events_reach_history_observers_and_subscribers_in_order() {
    Universe::new(1).run(async |_| {
        let listener = Arc::new(Listener(Mutex::default()));
        let tree = Tree::builder("own").observer(Arc::clone(&listener) as Arc<dyn Observer>).build();
        let mut events = tree.subscribe();
        let lab = Lab::new(&tree);
        let probe = lab.running("probe", ChildSpec::new()).await;
        let _ = probe.call(Boom).await;
        probe.call(Count).await.unwrap();
        tree.shutdown(std::time::Duration::from_secs(1)).await;
        let history = tree.history();
        let sequence: Vec<_> = history.iter().map(|event| event.seq).collect();
        assert_eq!(sequence, (1..=sequence.len() as u64).collect::<Vec<_>>());
        assert_eq!(*listener.0.lock(), sequence);
        assert_eq!(events.recv().await.unwrap().seq, 1);
        let names: Vec<_> = history
            .iter()
            .map(|event| serde_json::to_value(event).unwrap()["event"].as_str().unwrap().to_owned())
            .collect();
        let expected = ["started", "exited", "restart_scheduled", "started", "draining", "exited", "stopped"];
        assert_eq!(names, expected);
        let json = serde_json::to_value(&history[1]).unwrap();
        assert!(json["at"].as_str().unwrap().ends_with('Z'));
        assert_eq!(json["exit"]["exit"], "panicked");
    });
}

#[test]
fn the_recorder_keeps_the_last_512_events() {
    Universe::new(1).run(async |tree| {
        let probe = Lab::new(&tree).running("probe", ChildSpec::new()).await;
        for turn in 1..=200 {
            tree.restart("probe").await.unwrap();
            eventually(|| probe.vitals().generation == turn + 1).await;
            tree.wait_until_running("probe").await.unwrap();
        }
        let history = tree.history();
        assert_eq!(history.len(), 512.min(history.last().unwrap().seq as usize));
    });
}
