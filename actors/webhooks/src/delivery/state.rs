//! The lanes of deliveries: pure, no clock, no I/O.
//!
//! An endpoint is in trouble while its last attempt failed, or while an attempt at its host takes long. Such endpoints share
//! a quarter of the places, one at each host. The others have the rest. An attempt that turns out to take long leaves the
//! place of a sound endpoint, so that a wave of new dead endpoints blocks the others for a second and no longer. A host
//! that takes no call now, such as one whose circuit breaker is open, is left alone for some seconds.

use std::collections::HashMap;

use svc_store::{DueEndpoint, EndpointRoom};
use tokio::time::Instant;

/// Deliveries of one claim at most.
const MOST_CLAIMED: usize = 64;
/// Share of the places that endpoints in trouble have, as a divisor.
const TROUBLED_SHARE: usize = 4;
/// Attempts that go on in all, as a multiple of the places: those that left their place count.
const MOST_IN_FLIGHT: usize = 4;

/// Hosts that are remembered at most. Beyond that those are forgotten that were slow and have no attempt now, which costs
/// one attempt at each that is still slow in the place of a sound one.
const MOST_HOSTS: usize = 10_000;

/// The class of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// At an endpoint that answers.
    Sound,
    /// At an endpoint in trouble.
    Troubled,
}

/// The attempts at a host.
#[derive(Clone, Copy, Debug, Default)]
struct HostLoad {
    in_flight: usize,
    is_slow: bool,
    blocked_until: Option<Instant>,
}

impl HostLoad {
    fn is_blocked(&self, now: Instant) -> bool {
        self.blocked_until.is_some_and(|until| until > now)
    }
}

/// The places of attempts of one node.
#[derive(Debug)]
pub(super) struct DeliveryLanes {
    places: usize,
    places_per_host: usize,
    sound: usize,
    troubled: usize,
    hosts: HashMap<String, HostLoad>,
    /// Endpoints of which nothing is claimed until an instant.
    aside: HashMap<String, Instant>,
    /// The endpoint from which on the next claim looks, so that each has its turn.
    turn: String,
}

impl DeliveryLanes {
    pub(super) fn new(places: usize, places_per_host: usize) -> Self {
        let (places, places_per_host) = (places.max(TROUBLED_SHARE), places_per_host.max(1));
        Self {
            places,
            places_per_host,
            sound: 0,
            troubled: 0,
            hosts: HashMap::new(),
            aside: HashMap::new(),
            turn: String::new(),
        }
    }

    /// Returns the endpoints of which deliveries are claimed next, with their numbers. `due` is in the order of the ids.
    pub(super) fn choose(&mut self, due: &[DueEndpoint], now: Instant) -> Vec<EndpointRoom> {
        let forgets_slow = self.hosts.len() > MOST_HOSTS;
        self.hosts
            .retain(|_, load| load.in_flight > 0 || load.is_blocked(now) || (load.is_slow && !forgets_slow));
        self.aside.retain(|_, until| *until > now);
        let first = due.partition_point(|endpoint| endpoint.id <= self.turn);
        let (before, after) = due.split_at(first);
        let mut planned: HashMap<String, usize> = HashMap::new();
        let (mut sound, mut troubled) = (self.room(Lane::Sound), self.room(Lane::Troubled));
        let mut left =
            MOST_CLAIMED.min((self.places * MOST_IN_FLIGHT).saturating_sub(self.sound + self.troubled));
        let mut chosen = Vec::new();
        for endpoint in after.iter().chain(before) {
            let host = host_of(&endpoint.url);
            let load = self.hosts.get(&host).copied().unwrap_or_default();
            if load.is_blocked(now) || self.aside.contains_key(&endpoint.id) {
                continue;
            }
            let (lane, most) = match endpoint.is_failing || load.is_slow {
                true => (&mut troubled, 1),
                false => (&mut sound, self.places_per_host),
            };
            let of_host = planned.entry(host).or_default();
            let room = most.saturating_sub(load.in_flight + *of_host).min(*lane).min(left);
            if room > 0 {
                *lane -= room;
                *of_host += room;
                left -= room;
                self.turn.clone_from(&endpoint.id);
                let room = i64::try_from(room).unwrap_or(i64::MAX);
                chosen.push(EndpointRoom { endpoint_id: endpoint.id.clone(), room });
            }
        }
        chosen
    }

    fn room(&self, lane: Lane) -> usize {
        let troubled_places = self.places / TROUBLED_SHARE;
        match lane {
            Lane::Sound => (self.places - troubled_places).saturating_sub(self.sound),
            Lane::Troubled => troubled_places.saturating_sub(self.troubled),
        }
    }

    /// Begins an attempt at a URL. Returns its lane, which is to be given back at its end.
    pub(super) fn begin(&mut self, url: &str, is_failing: bool) -> Lane {
        let load = self.hosts.entry(host_of(url)).or_default();
        load.in_flight += 1;
        let lane = if is_failing || load.is_slow { Lane::Troubled } else { Lane::Sound };
        *self.count(lane) += 1;
        lane
    }

    /// Notes that an attempt takes long. Returns its lane from now on.
    pub(super) fn slow_down(&mut self, url: &str, lane: Lane) -> Lane {
        self.hosts.entry(host_of(url)).or_default().is_slow = true;
        *self.count(lane) -= 1;
        self.troubled += 1;
        Lane::Troubled
    }

    /// Leaves the host of a URL alone until an instant.
    pub(super) fn block(&mut self, url: &str, until: Instant) {
        self.hosts.entry(host_of(url)).or_default().blocked_until = Some(until);
    }

    /// Leaves an endpoint alone until an instant.
    pub(super) fn set_aside(&mut self, endpoint: String, until: Instant) {
        self.aside.insert(endpoint, until);
    }

    /// Ends an attempt. `was_quick`: it succeeded within the time of a sound endpoint.
    pub(super) fn end(&mut self, url: &str, lane: Lane, was_quick: bool) {
        *self.count(lane) -= 1;
        if let Some(load) = self.hosts.get_mut(&host_of(url)) {
            load.in_flight = load.in_flight.saturating_sub(1);
            load.is_slow &= !was_quick;
        }
    }

    fn count(&mut self, lane: Lane) -> &mut usize {
        match lane {
            Lane::Sound => &mut self.sound,
            Lane::Troubled => &mut self.troubled,
        }
    }
}

/// Returns host and port of a URL, as far as it has them.
fn host_of(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(id: &str, url: &str, is_failing: bool) -> DueEndpoint {
        DueEndpoint { id: id.to_owned(), url: url.to_owned(), is_failing }
    }

    fn choose(lanes: &mut DeliveryLanes, due: &[DueEndpoint]) -> Vec<EndpointRoom> {
        lanes.choose(due, Instant::now())
    }

    fn rooms(chosen: &[EndpointRoom]) -> Vec<(&str, i64)> {
        chosen.iter().map(|room| (room.endpoint_id.as_str(), room.room)).collect()
    }

    #[test]
    fn endpoints_of_one_host_share_its_places() {
        let mut lanes = DeliveryLanes::new(16, 3);
        let due = [due("a", "https://x.example/1", false), due("b", "https://X.example/2?q", false)];
        assert_eq!(rooms(&choose(&mut lanes, &due)), [("a", 3)]);
        let lane = lanes.begin("https://x.example/1", false);
        assert_eq!(lane, Lane::Sound);
        lanes.begin("https://x.example/1", false);
        assert_eq!(rooms(&choose(&mut lanes, &due)), [("b", 1)], "the turn of the other");
        lanes.end("https://x.example/1", lane, true);
        assert_eq!(rooms(&choose(&mut lanes, &due)), [("a", 2)]);
    }

    #[test]
    fn failing_endpoints_take_a_quarter_of_the_places() {
        let mut lanes = DeliveryLanes::new(8, 4);
        let failing: Vec<_> =
            (0..9).map(|n| due(&format!("{n}"), &format!("https://dead-{n}.example/"), true)).collect();
        assert_eq!(rooms(&choose(&mut lanes, &failing)), [("0", 1), ("1", 1)]);
        for n in 0..2 {
            assert_eq!(lanes.begin(&format!("https://dead-{n}.example/"), true), Lane::Troubled);
        }
        assert!(choose(&mut lanes, &failing).is_empty());
        let sound = [due("s", "https://well.example/", false)];
        assert_eq!(rooms(&choose(&mut lanes, &sound)), [("s", 4)]);
    }

    #[test]
    fn number_of_slow_hosts_is_bounded() {
        let mut lanes = DeliveryLanes::new(8, 1);
        for n in 0..=MOST_HOSTS {
            let host = format!("https://slow-{n}.example/");
            let lane = lanes.begin(&host, false);
            let lane = lanes.slow_down(&host, lane);
            lanes.end(&host, lane, false);
        }
        let lane = lanes.begin("https://busy.example/", false);
        choose(&mut lanes, &[]);
        assert_eq!(lanes.hosts.keys().collect::<Vec<_>>(), ["busy.example"]);
        lanes.end("https://busy.example/", lane, true);
        choose(&mut lanes, &[]);
        assert!(lanes.hosts.is_empty());
    }

    #[test]
    fn slow_attempts_leave_places_of_sound_endpoints() {
        let mut lanes = DeliveryLanes::new(8, 1);
        let hosts: Vec<_> = (0..6).map(|n| format!("https://slow-{n}.example/")).collect();
        let begun: Vec<_> = hosts.iter().map(|host| lanes.begin(host, false)).collect();
        let sound = [due("s", "https://well.example/", false)];
        assert!(choose(&mut lanes, &sound).is_empty(), "all six places are taken");
        for (host, lane) in hosts.iter().zip(begun) {
            assert_eq!(lanes.slow_down(host, lane), Lane::Troubled);
        }
        assert_eq!(rooms(&choose(&mut lanes, &sound)), [("s", 1)]);
        assert!(choose(&mut lanes, &[due("t", "https://slow-0.example/", false)]).is_empty());
        for host in &hosts {
            lanes.end(host, Lane::Troubled, true);
        }
        assert_eq!(rooms(&choose(&mut lanes, &[due("t", "https://slow-0.example/", false)])), [("t", 1)]);
    }

    #[test]
    fn blocked_host_is_left_alone_for_its_time() {
        let mut lanes = DeliveryLanes::new(8, 4);
        let (now, later) = (Instant::now(), Instant::now() + std::time::Duration::from_secs(60));
        let endpoints = [due("a", "https://open.example/", true), due("b", "https://well.example/", false)];
        lanes.block("https://open.example/other", later);
        assert_eq!(rooms(&lanes.choose(&endpoints, now)), [("b", 4)]);
        assert_eq!(rooms(&lanes.choose(&endpoints, later)), [("a", 1), ("b", 4)]);
        assert!(lanes.hosts.is_empty(), "nothing is kept of hosts without attempts");
    }

    #[test]
    fn endpoint_set_aside_leaves_its_host_to_others() {
        let mut lanes = DeliveryLanes::new(8, 4);
        let (now, later) = (Instant::now(), Instant::now() + std::time::Duration::from_secs(60));
        let endpoints = [due("a", "https://one.example/a", false), due("b", "https://one.example/b", false)];
        lanes.set_aside("a".to_owned(), later);
        assert_eq!(rooms(&lanes.choose(&endpoints, now)), [("b", 4)]);
        assert_eq!(rooms(&lanes.choose(&endpoints, later)), [("a", 4)]);
        assert!(lanes.aside.is_empty());
    }

    #[test]
    fn one_claim_is_bounded() {
        let mut lanes = DeliveryLanes::new(1000, 10);
        let many: Vec<_> =
            (0..50).map(|n| due(&format!("{n:02}"), &format!("https://h-{n}.example/"), false)).collect();
        let claimed: i64 = choose(&mut lanes, &many).iter().map(|room| room.room).sum();
        assert_eq!(claimed, 64);
    }
}
