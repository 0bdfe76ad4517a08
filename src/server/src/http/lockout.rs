//! The lock-out of guessing clients: repeated failures of one address lock it out for a growing time.
//!
//! A lock-out never refuses a valid key; it is how failures are counted. A version 6 network of 64 bits
//! counts as one address, because whoever has one of its addresses has all of them.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Consecutive failures from which on a client waits.
const FREE: u32 = 5;
const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(30);
/// A client that stays quiet this long starts afresh.
const FORGOTTEN: Duration = Duration::from_secs(300);
/// Bounds the memory an attacker with many addresses can take.
const TRACKED: usize = 10_000;

#[derive(Debug)]
struct Record {
    failures: u32,
    last: Instant,
    until: Instant,
}

/// Failures per client address.
#[derive(Debug, Default)]
pub(crate) struct Lockout(Mutex<HashMap<IpAddr, Record>>);

impl Lockout {
    /// Counts a failure of this client and returns `true`, unless it is locked out: then nothing is counted.
    pub(crate) fn record_failure(&self, client: IpAddr, now: Instant) -> bool {
        let client = counted_network(client);
        let mut records = self.records();
        if records.get(&client).is_some_and(|record| now < record.until) {
            return false;
        }
        if records.len() >= TRACKED && !records.contains_key(&client) {
            make_room(&mut records, now);
        }
        let record = records.entry(client).or_insert(Record { failures: 0, last: now, until: now });
        if is_forgotten(record, now) {
            record.failures = 0;
        }
        record.failures += 1;
        record.last = now;
        record.until = now + lockout_delay(record.failures);
        true
    }

    /// Forgets the failures of this client.
    pub(crate) fn clear(&self, client: IpAddr) {
        self.records().remove(&counted_network(client));
    }

    fn records(&self) -> parking_lot::MutexGuard<'_, HashMap<IpAddr, Record>> {
        self.0.lock()
    }
}

/// Returns what failures are counted by: an address of version 4, the first 64 bits of one of version 6.
fn counted_network(client: IpAddr) -> IpAddr {
    match client.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        address => address,
    }
}

fn lockout_delay(failures: u32) -> Duration {
    match failures.checked_sub(FREE) {
        None => Duration::ZERO,
        Some(doublings) => FIRST.saturating_mul(2u32.saturating_pow(doublings)).min(LONGEST),
    }
}

fn is_forgotten(record: &Record, now: Instant) -> bool {
    now.duration_since(record.last) >= FORGOTTEN
}

/// Drops what is forgotten anyway, or else the client that failed longest ago.
fn make_room(records: &mut HashMap<IpAddr, Record>, now: Instant) {
    records.retain(|_, record| !is_forgotten(record, now));
    if records.len() >= TRACKED {
        let oldest = records.iter().min_by_key(|(_, record)| record.last).map(|(client, _)| *client);
        oldest.and_then(|client| records.remove(&client));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[test]
    fn the_fifth_failure_locks_and_each_further_one_doubles_up_to_a_cap() {
        let waits: Vec<u64> =
            [4, 5, 6, 10, 11, 12, 4_000].map(|n| lockout_delay(n).as_millis() as u64).to_vec();
        assert_eq!(waits, [0, 500, 1_000, 16_000, 30_000, 30_000, 30_000]);
    }

    #[test]
    fn a_success_or_a_quiet_while_clears_the_record() {
        let (lockout, start) = (Lockout::default(), Instant::now());
        fail_five_times(&lockout, CLIENT, start);
        assert!(!lockout.record_failure(CLIENT, start), "the client is locked out");
        let later = start + FIRST + FORGOTTEN;
        assert!(lockout.record_failure(CLIENT, later));
        assert!(lockout.record_failure(CLIENT, later), "the count began afresh");
        lockout.clear(CLIENT);
        fail_five_times(&lockout, CLIENT, later);
        lockout.clear(CLIENT);
        assert!(lockout.record_failure(CLIENT, later));
    }

    fn fail_five_times(lockout: &Lockout, client: IpAddr, now: Instant) {
        assert!((0..5).all(|_| lockout.record_failure(client, now)));
    }

    #[test]
    fn addresses_of_one_version_6_network_count_together() {
        let (lockout, start) = (Lockout::default(), Instant::now());
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        for host in 1..=5 {
            assert!(lockout.record_failure(address(&format!("2001:db8:0:1::{host}")), start));
        }
        assert!(!lockout.record_failure(address("2001:db8:0:1:ffff::1"), start));
        assert!(lockout.record_failure(address("2001:db8:0:2::1"), start), "another network");
        fail_five_times(&lockout, address("::ffff:192.0.2.1"), start);
        assert!(!lockout.record_failure(address("192.0.2.1"), start));
        assert!(lockout.record_failure(address("::ffff:192.0.2.2"), start), "version 4 counts by address");
    }

    #[test]
    fn at_most_ten_thousand_clients_are_remembered() {
        let (lockout, start) = (Lockout::default(), Instant::now());
        for n in 0..=TRACKED as u32 {
            let client = IpAddr::V4(Ipv4Addr::from_bits(n));
            assert!(lockout.record_failure(client, start + Duration::from_micros(n.into())));
        }
        assert_eq!(lockout.records().len(), TRACKED);
        assert!(!lockout.records().contains_key(&IpAddr::V4(Ipv4Addr::from_bits(0))));
    }
}
