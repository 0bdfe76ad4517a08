//! Clusters of up to a hundred nodes, simulated in virtual time.
//!
//! The nodes decide by the code that the actors use: the lease of a node and its fence, the pace of takeovers, the plan of
//! a load and the register of local changes, the cursor, the claim and the plan of schedules. The database and the network
//! are models: messages take a random time, nodes are killed, stopped and restarted. Everything follows from a seed.
//! `docs/scaling.md` has the cost model that the last test checks.

mod action;
mod conditions;
mod configuration;
mod cost;
mod database;
mod jobs;
mod node;
mod random;
mod schedules;
mod world;

use std::time::Duration;

use svc_cluster::nodes::Settings;

use conditions::Conditions;
use cost::{Intervals, statements_per_second};
use jobs::WORKERS;
use node::{LEASE, PROBE};
use world::{TAKEOVER, World};

const SECOND: Duration = Duration::from_secs(1);
/// Time in which everything that is left comes to its end.
const SETTLED: Duration = Duration::from_secs(90);

/// A hundred nodes without work, changes and faults.
fn idle() -> Conditions {
    Conditions {
        nodes: 100,
        seed: 1,
        schedules: 0,
        jobs: None,
        changes: None,
        faults: None,
        announces: true,
        loads_fail: false,
        is_fenced: true,
    }
}

/// A hundred nodes under load, of which one fails every second.
fn under_fire(seed: u64) -> Conditions {
    Conditions {
        seed,
        schedules: 5,
        jobs: Some(SECOND),
        changes: Some(3 * SECOND),
        faults: Some(SECOND),
        ..idle()
    }
}

#[tokio::test(start_paused = true)]
async fn work_has_one_live_node_and_timely_takeover() {
    for seed in [1, 2] {
        let mut world = World::new(under_fire(seed));
        world.run(60 * SECOND, SETTLED).await;
        assert_eq!(world.violations, Vec::<String>::new(), "seed {seed}");
        let (database, figures) = (&world.database, &world.figures);
        println!("{figures:?}, {} occurrences", database.settled);
        assert_eq!((database.open_jobs(), database.completed), (0, figures.accepted));
        assert_eq!(database.duplicates, 0);
        assert!(database.open_occurrences() < 20, "{} occurrences wait", database.open_occurrences());
        assert!(figures.accepted > 3_000 && database.settled > 500, "{figures:?}");
        assert!(
            figures.taken_over > 20 && figures.crashes > 3 && figures.pauses > 3 && figures.restarts > 3,
            "{figures:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn node_that_trusts_its_lease_too_long_is_found() {
    let mut world = World::new(Conditions { is_fenced: false, ..under_fire(1) });
    world.run(60 * SECOND, SETTLED).await;
    assert!(world.violations.iter().any(|violation| violation.contains("runs on the nodes")));
    // Its late writes change nothing all the same.
    assert!(world.database.refused_writes > 0);
    assert_eq!((world.database.open_jobs(), world.database.completed), (0, world.figures.accepted));
}

#[tokio::test(start_paused = true)]
async fn work_of_lost_nodes_is_shared_by_others() {
    // More than the nodes can run at once, so that each has jobs in line when a third of them dies.
    let mut world = World::new(Conditions { jobs: Some(SECOND / 5), ..idle() });
    world.advance(20 * SECOND).await;
    world.kill(0..33);
    let in_line = world.database.open_jobs();
    world.run(Duration::ZERO, 3 * SETTLED).await;
    assert_eq!(world.violations, Vec::<String>::new());
    let takers: Vec<usize> =
        world.running().map(|node| node.jobs.largest_share).filter(|share| *share > 0).collect();
    println!("{in_line} jobs open, {:?}, {} takers", world.figures, takers.len());
    assert_eq!(world.database.open_jobs(), 0);
    assert!(world.figures.taken_over > 100 && takers.len() > 5, "{:?}, {takers:?}", world.figures);
    assert!(takers.iter().all(|share| *share <= WORKERS), "{takers:?}");
    // A node takes over what it can run at once, so that here the work of the dead also waits for free workers.
    let figures = &world.figures;
    assert!(figures.slowest_takeover > LEASE + TAKEOVER && figures.longest_wait <= TAKEOVER, "{figures:?}");
}

#[tokio::test(start_paused = true)]
async fn every_live_node_serves_the_configuration_of_the_database() {
    for (announces, loads_fail, seed) in
        [(true, false, 3), (false, false, 4), (true, true, 5), (false, true, 6)]
    {
        let conditions = Conditions { announces, loads_fail, jobs: None, schedules: 0, ..under_fire(seed) };
        let mut world = World::new(Conditions { changes: Some(SECOND / 4), ..conditions });
        world.run(60 * SECOND, SETTLED).await;
        assert_eq!(world.violations, Vec::<String>::new(), "seed {seed}");
        println!("announced: {announces}, failing: {loads_fail}, {:?}", world.figures);
        assert!(world.figures.changes > 100 && world.figures.pauses > 3, "{:?}", world.figures);
        for node in world.running() {
            let configuration = &node.configuration;
            assert_eq!(configuration.watermark, world.database.epoch, "seed {seed}");
            assert_eq!(configuration.served, world.database.versions, "seed {seed}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn statement_counts_grow_as_the_model_says() {
    let settings =
        Settings { id: "n:1".into(), version: "1", lease: LEASE, is_alone: false, needs: Vec::new() };
    let intervals = Intervals {
        lease: LEASE,
        heartbeat: settings.heartbeat(),
        epoch_poll: configuration::POLL,
        cron_poll: schedules::POLL,
        probe: PROBE,
    };
    for (nodes, schedules) in [(1, 0), (3, 0), (10, 0), (100, 0), (3, 10), (30, 10)] {
        let mut world = World::new(Conditions { nodes, schedules, ..idle() });
        world.advance(30 * SECOND).await;
        let before = world.database.statements();
        world.advance(150 * SECOND).await;
        let measured = (world.database.statements() - before) as f64 / 120.0;
        let expected = statements_per_second(nodes as f64, &intervals, schedules as f64);
        println!(
            "{nodes} nodes, {schedules} instants a second: {measured:.1} statements a second, {expected:.1} expected"
        );
        assert!((measured / expected - 1.0).abs() < 0.05, "{nodes}, {schedules}: {measured}, {expected}");
    }
}
