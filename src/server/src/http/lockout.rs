//! Slows down guessing: repeated failures of one client address lock it out for a growing while.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

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
    /// Whether this client has to wait.
    pub(crate) fn is_locked(&self, client: IpAddr, now: Instant) -> bool {
        self.records().get(&client).is_some_and(|record| now < record.until)
    }

    /// Counts a failure.
    pub(crate) fn failed(&self, client: IpAddr, now: Instant) {
        let mut records = self.records();
        if records.len() >= TRACKED && !records.contains_key(&client) {
            make_room(&mut records, now);
        }
        let record = records.entry(client).or_insert(Record { failures: 0, last: now, until: now });
        if is_forgotten(record, now) {
            record.failures = 0;
        }
        record.failures += 1;
        record.last = now;
        record.until = now + delay(record.failures);
    }

    /// Forgets what was counted.
    pub(crate) fn succeeded(&self, client: IpAddr) {
        self.records().remove(&client);
    }

    fn records(&self) -> std::sync::MutexGuard<'_, HashMap<IpAddr, Record>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn delay(failures: u32) -> Duration {
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
        let waits: Vec<u64> = [4, 5, 6, 10, 11, 12, 4_000].map(|n| delay(n).as_millis() as u64).to_vec();
        assert_eq!(waits, [0, 500, 1_000, 16_000, 30_000, 30_000, 30_000]);
    }

    #[test]
    fn a_success_or_a_quiet_while_clears_the_record() {
        let (lockout, start) = (Lockout::default(), Instant::now());
        (0..5).for_each(|_| lockout.failed(CLIENT, start));
        assert!(lockout.is_locked(CLIENT, start));
        assert!(!lockout.is_locked(CLIENT, start + FIRST));
        lockout.failed(CLIENT, start + FORGOTTEN);
        assert!(!lockout.is_locked(CLIENT, start + FORGOTTEN));
        (0..5).for_each(|_| lockout.failed(CLIENT, start + FORGOTTEN));
        lockout.succeeded(CLIENT);
        assert!(!lockout.is_locked(CLIENT, start + FORGOTTEN));
    }

    #[test]
    fn at_most_ten_thousand_clients_are_remembered() {
        let (lockout, start) = (Lockout::default(), Instant::now());
        for n in 0..=TRACKED as u32 {
            lockout.failed(IpAddr::V4(Ipv4Addr::from_bits(n)), start + Duration::from_micros(n.into()));
        }
        assert_eq!(lockout.records().len(), TRACKED);
        assert!(!lockout.records().contains_key(&IpAddr::V4(Ipv4Addr::from_bits(0))));
    }
}
