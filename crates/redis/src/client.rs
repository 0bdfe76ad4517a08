//! A client of a server, or of the servers of a Redis Cluster.
//!
//! A server of a Redis Cluster that does not have a key names the one that does. The client then reads which server has
//! which slots, and asks the right one from then on.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use redis::{Cmd, FromRedisValue, Value, cmd};
use svc_outbound::Outbound;
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::connection::{Redirect, RedisQueryError};
use crate::failure::RedisFailure;
use crate::server_client::ServerClient;
use crate::slots::{SLOTS, SlotRange, slot_of};
use crate::target::{RedisTarget, ServerPlace};

/// The key that a check writes, and the beginning of those in a Redis Cluster.
const WRITTEN: &str = "svc:ready";
/// Seconds after which that key is gone.
const WRITTEN_SECS: u64 = 10;
/// Most keys that are tried for one in a slot of a server. One with few slots may have none of them.
const TRIED_KEYS: u32 = 4096;
/// Most servers that one command is sent to.
const MAX_REDIRECTS: usize = 4;

/// A client of a server, or of the Redis Cluster that the server belongs to, with one connection to each server. Cheap
/// to clone; clones share the connections. Calls may come from any thread.
#[derive(Clone)]
pub struct RedisClient {
    shared: Arc<Shared>,
}

struct Shared {
    /// The server that the settings name.
    seed: ServerClient,
    topology: Mutex<Topology>,
}

/// The servers of a Redis Cluster, as far as they are known.
#[derive(Default)]
struct Topology {
    servers: HashMap<ServerPlace, ServerClient>,
    /// The server of each slot; empty for a server that is in no Redis Cluster.
    slots: Vec<Option<ServerClient>>,
}

impl RedisClient {
    /// Makes a client that connects at its first call. An operation ends within twice `limit`.
    pub fn new(target: RedisTarget, outbound: Outbound, runtime: Handle, limit: Duration) -> Self {
        let seed = ServerClient::new(target, outbound, runtime, limit);
        Self { shared: Arc::new(Shared { seed, topology: Mutex::default() }) }
    }

    /// Checks that the server answers, and reads the slots of its Redis Cluster if it is in one.
    ///
    /// # Errors
    /// A [`RedisFailure`] that names the place.
    pub async fn connect(&self) -> Result<(), RedisFailure> {
        ping(&self.shared.seed).await?;
        self.read_slots(&self.shared.seed).await;
        Ok(())
    }

    /// Runs a command on a key, at the server that has the key.
    ///
    /// # Errors
    /// A [`RedisFailure`] that names the place.
    pub async fn query<T: FromRedisValue>(&self, key: &str, command: &Cmd) -> Result<T, RedisFailure> {
        let limit = self.shared.seed.limit() * 2;
        match timeout(limit, self.query_redirected(slot_of(key), command)).await {
            Ok(answer) => answer,
            Err(_) => Err(self.shared.seed.target().late(limit)),
        }
    }

    /// Checks that the server takes writes, in a Redis Cluster that every server with slots does: a replica answers
    /// whatever only reads.
    ///
    /// # Errors
    /// The first failure.
    pub async fn check_writable(&self) -> Result<(), RedisFailure> {
        let servers = self.shared.topology.lock().servers_with_slots();
        if servers.is_empty() {
            return check_write(&self.shared.seed, WRITTEN).await;
        }
        for server in servers {
            let key = self.shared.topology.lock().key_of(&server);
            let checked = match &key {
                Some(key) => check_write(&server, key).await,
                None => ping(&server).await,
            };
            if let Err(failure) = checked {
                self.forget(&server);
                self.read_slots(&self.entry()).await;
                return Err(failure);
            }
        }
        Ok(())
    }

    /// Returns `true` for a Redis Cluster.
    pub fn is_cluster(&self) -> bool {
        !self.shared.topology.lock().slots.is_empty()
    }

    /// Returns host and port of the first server as errors show them.
    pub fn place(&self) -> String {
        self.shared.seed.target().place()
    }

    async fn query_redirected<T: FromRedisValue>(&self, slot: u16, command: &Cmd) -> Result<T, RedisFailure> {
        let holder = self.shared.topology.lock().slots.get(usize::from(slot)).cloned().flatten();
        let mut server = holder.unwrap_or_else(|| self.entry());
        let mut failure = None;
        for _ in 0..MAX_REDIRECTS {
            let RedisQueryError { failure: refused, redirect, is_broken } = match server.query(command).await
            {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            match redirect {
                Some(Redirect::Moved(place)) => {
                    let holder = self.shared.topology.lock().assign(slot..=slot, &place, &self.shared.seed);
                    let former = std::mem::replace(&mut server, holder);
                    self.read_slots(&former).await;
                }
                Some(Redirect::Ask(place)) => {
                    let importer = self.shared.topology.lock().server(&place, &self.shared.seed);
                    let answer = importer.query_asking(command).await;
                    return answer.map_err(|error| error.failure);
                }
                None => {
                    if is_broken {
                        self.forget(&server);
                    }
                    return Err(refused);
                }
            }
            failure = Some(refused);
        }
        Err(failure.unwrap_or_else(|| server.target().unreachable("no server has the key")))
    }

    /// Returns the server to ask for a slot of which no server is known: one that answers, the first one if it does.
    fn entry(&self) -> ServerClient {
        let seed = &self.shared.seed;
        if seed.is_connected() {
            return seed.clone();
        }
        let topology = self.shared.topology.lock();
        let connected = topology.servers.values().find(|server| server.is_connected());
        let other = || topology.servers.values().find(|server| !server.is_failing());
        connected.or_else(|| other().filter(|_| seed.is_failing())).unwrap_or(seed).clone()
    }

    /// Reads the server of each slot. What a server does not list is learned from redirections. A server that has no
    /// slot any more is left: others may have its place later, and its connection is of no use.
    async fn read_slots(&self, from: &ServerClient) {
        let Ok(answer) = from.query::<Value>(cmd("CLUSTER").arg("SLOTS")).await else { return };
        let mut topology = self.shared.topology.lock();
        for SlotRange { first, last, place } in SlotRange::read_all(&answer) {
            topology.assign(first..=last, &place, &self.shared.seed);
        }
        topology.retain_servers_with_slots();
    }

    /// Forgets which slots a server has that does not answer: another one may have taken them over.
    fn forget(&self, server: &ServerClient) {
        let mut topology = self.shared.topology.lock();
        let is_lost =
            |slot: &&mut Option<ServerClient>| slot.as_ref().is_some_and(|other| other.is_same(server));
        topology.slots.iter_mut().filter(is_lost).for_each(|slot| *slot = None);
    }
}

impl Topology {
    /// Returns the client of a server, made as a sibling of `seed` if there is none.
    fn server(&mut self, place: &ServerPlace, seed: &ServerClient) -> ServerClient {
        self.servers.entry(place.clone()).or_insert_with(|| seed.sibling(place)).clone()
    }

    /// Gives slots to a server, and returns its client.
    fn assign(
        &mut self,
        slots: impl Iterator<Item = u16>,
        place: &ServerPlace,
        seed: &ServerClient,
    ) -> ServerClient {
        let server = self.server(place, seed);
        self.slots.resize(usize::from(SLOTS), None);
        for slot in slots {
            if let Some(slot) = self.slots.get_mut(usize::from(slot)) {
                *slot = Some(server.clone());
            }
        }
        server
    }

    fn retain_servers_with_slots(&mut self) {
        let Self { servers, slots } = self;
        servers.retain(|_, server| slots.iter().flatten().any(|other| other.is_same(server)));
    }

    /// Returns a key of [`check_writable`](RedisClient::check_writable) in a slot of a server.
    fn key_of(&self, server: &ServerClient) -> Option<String> {
        let mut keys = (0..TRIED_KEYS).map(|number| format!("{WRITTEN}:{number}"));
        keys.find(|key| {
            let holder = self.slots.get(usize::from(slot_of(key)));
            holder.is_some_and(|holder| holder.as_ref().is_some_and(|holder| holder.is_same(server)))
        })
    }

    fn servers_with_slots(&self) -> Vec<ServerClient> {
        let has_slots =
            |server: &&ServerClient| self.slots.iter().flatten().any(|other| other.is_same(server));
        self.servers.values().filter(has_slots).cloned().collect()
    }
}

/// Writes a key that soon expires.
async fn check_write(server: &ServerClient, key: &str) -> Result<(), RedisFailure> {
    let mut write = cmd("SET");
    write.arg(key).arg("").arg("EX").arg(WRITTEN_SECS);
    server.query::<Value>(&write).await.map(drop).map_err(|error| error.failure)
}

async fn ping(server: &ServerClient) -> Result<(), RedisFailure> {
    server.query::<Value>(&cmd("PING")).await.map(drop).map_err(|error| error.failure)
}

impl fmt::Debug for RedisClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisClient").field("target", self.shared.seed.target()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use svc_outbound::Trust;

    use super::*;

    #[tokio::test]
    async fn server_without_slots_is_left() {
        let target = RedisTarget::new("redis://seed.example", true).unwrap();
        let outbound = Outbound::new(&Trust::Only(String::new())).unwrap();
        let seed = ServerClient::new(target, outbound, Handle::current(), Duration::from_secs(1));
        let place = |port| ServerPlace { host: "10.0.0.1".to_owned(), port };
        let mut topology = Topology::default();
        topology.assign(0..=99, &place(1), &seed);
        let second = topology.assign(100..=199, &place(2), &seed);
        topology.server(&place(3), &seed);
        topology.retain_servers_with_slots();
        assert_eq!(topology.servers.len(), 2, "the third one has no slot");
        topology.assign(0..=99, &place(2), &seed);
        topology.retain_servers_with_slots();
        assert_eq!(topology.servers.keys().collect::<Vec<_>>(), [&place(2)]);
        assert!(topology.servers_with_slots().iter().all(|server| server.is_same(&second)));
    }
}
