//! The servers that the nodes of a drill share, and their restarts.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;
use svc_testkit::http::HttpClient;
use svc_testkit::postgres::Postgres;
use svc_testkit::redis::Redis;
use svc_testkit::server::wait_until;
use svc_testkit::witness::RunWitness;

use crate::clients::{AcceptedWork, JOBS};
use crate::nodes::DrillCluster;

/// Time that a server is away.
const ABSENCE: Duration = Duration::from_secs(2);
/// Longest wait for the nodes to accept work and be ready again.
const RECOVERY: Duration = Duration::from_secs(60);

/// A server that the nodes share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// PostgreSQL. While it is away nodes answer 503.
    Database,
    /// Redis. While it is away nodes say that they are not ready, and answer all the same.
    Redis,
}

/// The absence of a server, until every node accepts work and is ready again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PeerOutage {
    pub(crate) peer: Peer,
    pub(crate) begin: Duration,
    /// The instant from which on the server runs again.
    pub(crate) back: Duration,
    pub(crate) end: Duration,
}

/// The servers that the nodes share.
pub(crate) struct SharedPeers<'p> {
    postgres: &'p Postgres,
    redis: &'p Redis,
    outages: Vec<PeerOutage>,
    accepted: Vec<AcceptedWork>,
}

impl<'p> SharedPeers<'p> {
    pub(crate) const fn new(postgres: &'p Postgres, redis: &'p Redis) -> Self {
        Self { postgres, redis, outages: Vec::new(), accepted: Vec::new() }
    }

    pub(crate) const fn redis(&self) -> &Redis {
        self.redis
    }

    /// Kills a server, starts it again a little later, and waits until every node accepts work and is ready.
    pub(crate) fn restart(
        &mut self,
        peer: Peer,
        cluster: &DrillCluster,
        witness: &RunWitness,
    ) -> io::Result<()> {
        let begin = witness.now();
        match peer {
            Peer::Database => self.postgres.stop(),
            Peer::Redis => self.redis.stop(),
        }
        .map_err(io::Error::other)?;
        let until = begin + ABSENCE;
        wait_until(ABSENCE * 2, || Ok(witness.now() >= until))?;
        match peer {
            Peer::Database => self.postgres.restart(),
            Peer::Redis => self.redis.restart(),
        }
        .map_err(io::Error::other)?;
        let back = witness.now();
        for (node, address) in cluster.addresses().into_iter().enumerate() {
            let is_given_up = || witness.now() > back + RECOVERY;
            wait_until(RECOVERY, || Ok(self.has_recovered(node, address, witness) || is_given_up()))?;
            if is_given_up() {
                return Err(io::Error::other(format!(
                    "node {node} has not recovered from an outage of {peer:?}"
                )));
            }
        }
        self.outages.push(PeerOutage { peer, begin, back, end: witness.now() });
        Ok(())
    }

    /// Returns `true` if a node accepts work and is ready. A node that has not noticed an outage is ready all the time, so
    /// that only work which it records shows the end.
    fn has_recovered(&mut self, node: usize, address: SocketAddr, witness: &RunWitness) -> bool {
        let mut client = HttpClient::new(address);
        let (sent, number) = (witness.now(), format!("recovery-{}", self.accepted.len()));
        let Ok(answer) = client.json("POST", JOBS, &json!({"n": number})) else { return false };
        if answer.status != 202 {
            return false;
        }
        self.accepted.push(AcceptedWork::from_answer(&answer, (node, &number), sent));
        client.get("/readyz").is_ok_and(|answer| answer.status == 200)
    }

    /// Returns the outages, and the work that showed their ends.
    pub(crate) fn into_outages(self) -> (Vec<PeerOutage>, Vec<AcceptedWork>) {
        (self.outages, self.accepted)
    }
}
