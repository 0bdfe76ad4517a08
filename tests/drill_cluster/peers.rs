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

use crate::nodes::DrillCluster;

/// Time that a server is away.
const ABSENCE: Duration = Duration::from_secs(2);
/// Longest wait for the nodes to be ready again.
const RECOVERY: Duration = Duration::from_secs(60);

/// A server that the nodes share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// PostgreSQL. While it is away nodes answer 503.
    Database,
    /// Redis. While it is away nodes say that they are not ready, and answer all the same.
    Redis,
}

/// The absence of a server, until every node is ready again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PeerOutage {
    pub(crate) peer: Peer,
    pub(crate) begin: Duration,
    pub(crate) end: Duration,
}

/// The servers that the nodes share.
pub(crate) struct SharedPeers<'p> {
    postgres: &'p Postgres,
    redis: &'p Redis,
    outages: Vec<PeerOutage>,
}

impl<'p> SharedPeers<'p> {
    pub(crate) const fn new(postgres: &'p Postgres, redis: &'p Redis) -> Self {
        Self { postgres, redis, outages: Vec::new() }
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
        // A node that has not noticed the outage yet is ready all the time, so that only work which it records tells of its
        // end.
        let has_recovered = |address: &SocketAddr| {
            let mut client = HttpClient::new(*address);
            let accepted = client.json("POST", "/api/v1/data/jobs/async", &json!({"n": "recovery"}));
            accepted.is_ok_and(|answer| answer.status == 202)
                && client.get("/readyz").is_ok_and(|answer| answer.status == 200)
        };
        let addresses = cluster.addresses();
        if !wait_until(RECOVERY, || Ok(addresses.iter().all(has_recovered)))? {
            return Err(io::Error::other(format!(
                "the nodes are not ready again after an outage of {peer:?}"
            )));
        }
        self.outages.push(PeerOutage { peer, begin, end: witness.now() });
        Ok(())
    }

    pub(crate) fn into_outages(self) -> Vec<PeerOutage> {
        self.outages
    }
}
