//! `make drill-cluster`: three nodes on one PostgreSQL and one Redis, under load and under faults. Nodes are killed,
//! stopped for up to three leases, and restarted in good order, PostgreSQL and Redis are killed and started again, while
//! clients submit work to all nodes, schedules fire, and an author changes the configuration. A witness outside sees
//! every run; the answers to clients, what the witness saw, what the nodes said of themselves and what the database
//! recorded are compared.
//!
//! `make drill-rolling` restarts the nodes one after the other in good order, behind a load balancer ([`rolling`]).
//!
//! Given the program of the release before, both start with it on the schema of the other one, and each orderly restart
//! puts one release in the place of the other. It is 0.1.0 or later: builds before that do not run on the schema of any
//! release, and a database that their nodes use is not migrated.
//!
//! The verdict is one JSON document on standard output and in a file; the exit code is 1 if anything was found.

mod author;
mod balancer;
mod clients;
mod nodes;
mod peers;
mod readiness;
mod rolling;
mod rolling_verdict;
mod verdict;

use std::collections::HashMap;
use std::io;
use std::path::absolute;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use svc_testkit::cron;
use svc_testkit::postgres::{Postgres, PostgresDatabase};
use svc_testkit::redis::Redis;
use svc_testkit::server::wait_until;
use svc_testkit::witness::RunWitness;

use author::Author;
use clients::Clients;
use nodes::{DrillCluster, LEASE, NODES, NodeFault, Releases};
use peers::{Peer, SharedPeers};
use readiness::ReadinessWatch;
use verdict::{ClusterEvidence, ClusterLimits, judge};

/// The faults of a drill, in turn. A drill of a minute has each of them.
const FAULTS: [DrillFault; 5] = [
    DrillFault::OfNode(NodeFault::Kill),
    DrillFault::OfPeer(Peer::Database),
    DrillFault::OfPeer(Peer::Redis),
    DrillFault::OfNode(NodeFault::Restart),
    DrillFault::OfNode(NodeFault::Pause),
];
/// Channels that are due every second.
const SCHEDULES: usize = 5;
/// Time from the end of one fault to the next.
const CALM: Duration = Duration::from_secs(3);
/// Time that every run takes.
const RUN: Duration = Duration::from_millis(30);
/// Time for which a node that ends goes on serving.
const DRAIN: Duration = Duration::from_secs(1);
/// Longest wait for a state.
const PATIENCE: Duration = Duration::from_secs(120);

/// The drill to carry out.
enum Drill {
    /// Faults for so many seconds.
    Faults(u64),
    /// A rolling restart under so many requests in a second.
    Rolling(u64),
}

const USAGE: &str = "usage: drill-cluster SVC_SERVER_BINARY SECONDS|rolling=REQUESTS_PER_SECOND VERDICT_FILE \
     [SVC_SERVER_BINARY_OF_THE_RELEASE_BEFORE]";

/// A fault of a drill.
#[derive(Clone, Copy)]
enum DrillFault {
    /// Of a random node.
    OfNode(NodeFault),
    /// Of a server that all nodes use.
    OfPeer(Peer),
}

fn main() -> io::Result<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    let (current, kind, file, previous) = (args.next(), args.next(), args.next(), args.next());
    let kind = kind.and_then(|kind| Drill::parse(kind.to_str()?));
    let (Some(current), Some(kind), Some(file)) = (current, kind, file) else {
        return Err(io::Error::other(USAGE));
    };
    // The nodes run in directories of their own.
    let releases = Releases { current: absolute(current)?, previous: previous.map(absolute).transpose()? };
    let (Some(postgres), Some(redis)) = (Postgres::own(), Redis::own()) else {
        return Ok(ExitCode::SUCCESS);
    };
    let database = postgres.database().map_err(io::Error::other)?;
    let verdict = match kind {
        Drill::Faults(seconds) => {
            let peers = SharedPeers::new(&postgres, &redis);
            let evidence = drill(releases, &database, peers, Duration::from_secs(seconds))?;
            judge(&evidence, &ClusterLimits::of_a_drill(seconds as usize))
        }
        Drill::Rolling(rate) => {
            let restarts = NODES + usize::from(releases.previous.is_some());
            let evidence = rolling::drill(releases, &database, &redis, rate)?;
            rolling_verdict::judge(&evidence, rate, restarts)
        }
    };
    verdict.publish(&file)
}

impl Drill {
    fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix("rolling=") {
            Some(rate) => rate.parse().ok().filter(|rate| *rate > 0).map(Self::Rolling),
            None => text.parse().ok().map(Self::Faults),
        }
    }
}

fn drill(
    releases: Releases,
    database: &PostgresDatabase,
    mut peers: SharedPeers<'_>,
    length: Duration,
) -> io::Result<ClusterEvidence> {
    let witness = Arc::new(RunWitness::start(|_| RUN)?);
    let mut cluster = DrillCluster::start(releases, database, peers.redis(), DRAIN)?;
    let channels: Vec<String> = (0..SCHEDULES).map(|number| format!("c{number}")).collect();
    author::store(&mut cluster.client(0), &witness, &channels)?;
    let fires = || Ok(rows(database)?.iter().any(|row| row.channel == channels[SCHEDULES - 1]));
    if !wait_until(PATIENCE, fires)? {
        return Err(io::Error::other("not every channel fires"));
    }
    let first = witness.unix_now().as_secs() as i64 + 2;
    let (author, clients) = (Author::start(&cluster, &witness), Clients::start(&cluster, &witness));
    let readiness = ReadinessWatch::start(&cluster, &witness);
    let end = witness.now() + length;
    for fault in FAULTS.iter().cycle() {
        if wait_until(CALM, || Ok(witness.now() >= end))? {
            break;
        }
        match fault {
            DrillFault::OfNode(kind) => cluster.break_one(*kind, &witness)?,
            DrillFault::OfPeer(peer) => peers.restart(*peer, &cluster, &witness)?,
        }
    }
    let window = first..=witness.unix_now().as_secs() as i64 - 2;
    let (mut told, propagations, looks) = (clients.stop(), author.stop(), readiness.stop());
    let (outages, accepted) = peers.into_outages();
    told.accepted.extend(accepted);
    // What does not come to its end is for the judge to see.
    let calm = witness.now();
    wait_until(PATIENCE, || is_settled(database))?;
    wait_until(PATIENCE, || cron::is_settled(database, &window, SCHEDULES).map_err(io::Error::other))?;
    let settling = witness.now() - calm;
    let statuses = database.rows("SELECT id, status FROM traces WHERE mode = 'async'");
    let statuses: HashMap<_, _> = statuses.map_err(io::Error::other)?.into_iter().filter_map(pair).collect();
    let letters = database.rows("SELECT trace_id, 'dead' FROM trace_dlq").map_err(io::Error::other)?;
    Ok(ClusterEvidence {
        told,
        propagations,
        looks,
        faults: cluster.into_faults(),
        outages,
        runs: witness.runs(),
        statuses,
        dead_letters: letters.into_iter().filter_map(pair).map(|(id, _)| id).collect(),
        channels,
        window,
        rows: rows(database)?,
        lease: LEASE,
        settling,
    })
}

fn pair(row: Vec<Option<String>>) -> Option<(String, String)> {
    let mut columns = row.into_iter();
    Some((columns.next()??, columns.next()??))
}

fn rows(database: &PostgresDatabase) -> io::Result<Vec<cron::RecordedOccurrence>> {
    cron::rows(database).map_err(io::Error::other)
}

/// Returns true once nothing that was accepted is unfinished.
fn is_settled(database: &PostgresDatabase) -> io::Result<bool> {
    let open = "SELECT 1 FROM traces WHERE mode = 'async' AND status IN ('pending', 'running') LIMIT 1";
    Ok(database.rows(open).map_err(io::Error::other)?.is_empty())
}
