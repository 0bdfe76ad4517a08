//! The lock-out of guessing clients: repeated failures of one client lock it out for a growing time.
//!
//! A lock-out never refuses a valid key; it is how failures are counted.

use std::collections::HashMap;
use std::hash::Hash;
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

/// A failure as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordedFailure {
    /// Unset for a failure during a lock-out, which is not counted.
    pub(crate) is_counted: bool,
    /// The rest of the lock-out.
    pub(crate) wait: Duration,
}

/// Failures by client.
#[derive(Debug)]
pub(crate) struct Lockout<K>(Mutex<HashMap<K, Record>>);

impl<K> Default for Lockout<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Copy + Eq + Hash> Lockout<K> {
    /// Counts a failure of this client, unless it is locked out.
    pub(crate) fn record_failure(&self, client: K, now: Instant) -> RecordedFailure {
        let mut records = self.records();
        if let Some(record) = records.get(&client).filter(|record| now < record.until) {
            return RecordedFailure { is_counted: false, wait: record.until.duration_since(now) };
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
        let wait = lockout_delay(record.failures);
        record.until = now + wait;
        RecordedFailure { is_counted: true, wait }
    }

    /// Forgets the failures of this client.
    pub(crate) fn clear(&self, client: K) {
        self.records().remove(&client);
    }

    fn records(&self) -> parking_lot::MutexGuard<'_, HashMap<K, Record>> {
        self.0.lock()
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
fn make_room<K: Copy + Eq + Hash>(records: &mut HashMap<K, Record>, now: Instant) {
    records.retain(|_, record| !is_forgotten(record, now));
    if records.len() >= TRACKED {
        let oldest = records.iter().min_by_key(|(_, record)| record.last).map(|(client, _)| *client);
        oldest.and_then(|client| records.remove(&client));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};

    const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[test]
    fn lock_out_starts_at_fifth_failure_and_doubles() {
        let waits: Vec<u64> =
            [4, 5, 6, 10, 11, 12, 4_000].map(|n| lockout_delay(n).as_millis() as u64).to_vec();
        assert_eq!(waits, [0, 500, 1_000, 16_000, 30_000, 30_000, 30_000]);
    }

    #[test]
    fn success_or_a_quiet_while_clears_the_record() {
        let (lockout, start) = (Lockout::default(), Instant::now());
        fail_five_times(&lockout, CLIENT, start);
        assert!(!lockout.record_failure(CLIENT, start).is_counted, "the client is locked out");
        let later = start + FIRST + FORGOTTEN;
        assert!(lockout.record_failure(CLIENT, later).is_counted);
        assert!(lockout.record_failure(CLIENT, later).is_counted, "the count began afresh");
        lockout.clear(CLIENT);
        fail_five_times(&lockout, CLIENT, later);
        lockout.clear(CLIENT);
        assert!(lockout.record_failure(CLIENT, later).is_counted);
    }

    fn fail_five_times(lockout: &Lockout<IpAddr>, client: IpAddr, now: Instant) {
        assert!((0..5).all(|_| lockout.record_failure(client, now).is_counted));
    }

    #[test]
    fn at_most_ten_thousand_clients_are_remembered() {
        let (lockout, start) = (Lockout::default(), Instant::now());
        for n in 0..=TRACKED as u32 {
            let client = IpAddr::V4(Ipv4Addr::from_bits(n));
            assert!(lockout.record_failure(client, start + Duration::from_micros(n.into())).is_counted);
        }
        assert_eq!(lockout.records().len(), TRACKED);
        assert!(!lockout.records().contains_key(&IpAddr::V4(Ipv4Addr::from_bits(0))));
    }
}
