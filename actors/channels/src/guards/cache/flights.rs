//! The runs under way whose answers will be cached: equal requests wait for them instead of running too.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::CacheKey;

/// The runs of one channel on this node, by the keys of their answers.
#[derive(Debug, Default)]
pub(crate) struct CacheFlights(Mutex<HashMap<CacheKey, watch::Receiver<()>>>);

/// The run of the first request with a key. Its end, with or without an answer, lets the others go on.
#[derive(Debug)]
pub(crate) struct CacheFlight {
    flights: Arc<CacheFlights>,
    key: CacheKey,
    /// Closed with the flight.
    _end: watch::Sender<()>,
}

/// The part that a request takes in the runs of its key.
#[derive(Debug)]
pub(crate) enum FlightTurn {
    /// It runs.
    Lead(CacheFlight),
    /// It waits for the end of the run of another.
    Follow(FlightEnd),
}

/// The end of a flight, for those who wait.
#[derive(Debug)]
pub(crate) struct FlightEnd(watch::Receiver<()>);

impl CacheFlights {
    /// Joins the run of a key, or begins it.
    pub(crate) fn join(self: &Arc<Self>, key: CacheKey) -> FlightTurn {
        let mut flights = self.0.lock();
        if let Some(end) = flights.get(&key) {
            return FlightTurn::Follow(FlightEnd(end.clone()));
        }
        let (sender, end) = watch::channel(());
        flights.insert(key, end);
        FlightTurn::Lead(CacheFlight { flights: Arc::clone(self), key, _end: sender })
    }
}

impl FlightEnd {
    /// Waits for the end.
    pub(crate) async fn wait(mut self) {
        // Nothing is ever sent: the sender is dropped.
        while self.0.changed().await.is_ok() {}
    }
}

impl Drop for CacheFlight {
    fn drop(&mut self) {
        self.flights.0.lock().remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::super::{CacheKeyBuilder, KeyPrincipal};
    use super::*;

    fn key(payload: i64) -> CacheKey {
        let keys = CacheKeyBuilder::new("orders", None);
        keys.key(KeyPrincipal::Everyone, &Map::new(), &json!(payload)).unwrap()
    }

    #[tokio::test]
    async fn followers_go_on_when_the_leader_ends() {
        let flights = Arc::<CacheFlights>::default();
        let FlightTurn::Lead(flight) = flights.join(key(1)) else { panic!("the first leads") };
        let FlightTurn::Follow(end) = flights.join(key(1)) else { panic!("the second follows") };
        assert!(matches!(flights.join(key(2)), FlightTurn::Lead(_)), "another key");
        drop(flight);
        end.wait().await;
        assert!(matches!(flights.join(key(1)), FlightTurn::Lead(_)));
        assert!(flights.0.lock().is_empty(), "a dropped flight leaves no entry");
    }
}
