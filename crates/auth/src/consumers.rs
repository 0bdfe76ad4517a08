//! Consumers: named holders of keys, whom a channel may accept in place of keys of its own.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use subtle::ConstantTimeEq;
use svc_model::Timestamp;
use svc_model::config::QuotaTerms;
use svc_model::config::auth::ConsumerSelection;
use svc_secrets::Secret;

use crate::key_digest::{digest, words};

/// Most keys of consumers that are tried for one signature, those of the first consumers by name. It bounds the cost of a
/// request, which does not say who signed it.
pub const MAX_SIGNING_KEYS: usize = 32;

/// A consumer that was authenticated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerIdentity {
    pub name: Arc<str>,
    /// The bounds of its requests, over all channels together.
    pub quota: Option<QuotaTerms>,
    /// Time of its creation: a later consumer of the name is another one.
    pub created_at: Timestamp,
}

/// A consumer with its keys.
#[derive(Clone, Debug)]
pub struct ConsumerRecord {
    pub identity: Arc<ConsumerIdentity>,
    /// The words by which channels accept it.
    pub tags: Vec<String>,
    /// Time from which on it is refused.
    pub expires_at: Option<Timestamp>,
    pub api_keys: Vec<ConsumerApiKey>,
    /// The keys with which it signs.
    pub signing_keys: Vec<ConsumerSigningKey>,
}

/// An API key of a consumer.
#[derive(Clone)]
pub struct ConsumerApiKey {
    /// The SHA-256 of the key.
    pub digest: [u8; 32],
    /// Time from which on it is refused.
    pub expires_at: Option<Timestamp>,
}

/// A key with which a consumer signs.
#[derive(Clone, Debug)]
pub struct ConsumerSigningKey {
    /// The text of the key.
    pub secret: Secret,
    /// Time from which on it is refused.
    pub expires_at: Option<Timestamp>,
}

/// The consumers of a service with their live keys, as they were at one time. Immutable, and shared by all threads.
#[derive(Default)]
pub struct ConsumerTable {
    /// By name.
    consumers: Vec<ConsumerRecord>,
    /// Places in `consumers`, ascending, by tag.
    by_tag: HashMap<String, Vec<usize>>,
    /// The API keys by the first word of their digest. It identifies a key without revealing it: a caller who finds out that
    /// a word is known cannot make a key of it.
    api_keys: HashMap<u64, Vec<IndexedApiKey>>,
}

struct IndexedApiKey {
    digest: [u64; 4],
    /// The place in `consumers`.
    consumer: usize,
    ends: Option<i64>,
}

impl ConsumerTable {
    /// Makes the table of consumers in any order. Of several with the same name one is kept.
    pub fn new(mut consumers: Vec<ConsumerRecord>) -> Self {
        consumers.sort_by(|one, other| one.identity.name.cmp(&other.identity.name));
        consumers.dedup_by(|one, other| one.identity.name == other.identity.name);
        let mut by_tag: HashMap<String, Vec<usize>> = HashMap::new();
        let mut api_keys: HashMap<u64, Vec<IndexedApiKey>> = HashMap::new();
        for (place, consumer) in consumers.iter().enumerate() {
            for tag in &consumer.tags {
                let places = by_tag.entry(tag.clone()).or_default();
                if places.last() != Some(&place) {
                    places.push(place);
                }
            }
            for key in &consumer.api_keys {
                let digest = words(key.digest);
                let ends = key.expires_at.map(seconds);
                api_keys.entry(digest[0]).or_default().push(IndexedApiKey { digest, consumer: place, ends });
            }
        }
        Self { consumers, by_tag, api_keys }
    }

    /// Returns the live consumer that holds an API key.
    pub fn find_api_key(&self, key: &[u8], now: i64) -> Option<&Arc<ConsumerIdentity>> {
        self.find_holder(key, now).map(|holder| &holder.identity)
    }

    /// Returns the live consumer of a selection that holds an API key.
    pub(crate) fn find_selected(
        &self,
        selection: &ConsumerSelection,
        key: &[u8],
        now: i64,
    ) -> Option<&Arc<ConsumerIdentity>> {
        let holder = self.find_holder(key, now)?;
        let is_selected = match selection {
            ConsumerSelection::Names(names) => names.iter().any(|name| **name == *holder.identity.name),
            ConsumerSelection::Tags(tags) => tags.iter().any(|tag| holder.tags.contains(tag)),
        };
        is_selected.then_some(&holder.identity)
    }

    fn find_holder(&self, key: &[u8], now: i64) -> Option<&ConsumerRecord> {
        let presented = digest(key);
        let candidates = self.api_keys.get(&presented[0])?;
        let is_equal = |known: &[u64; 4]| {
            let difference = known.iter().zip(presented).fold(0, |sum, (known, shown)| sum | (known ^ shown));
            bool::from(difference.ct_eq(&0))
        };
        let key = candidates.iter().find(|candidate| is_equal(&candidate.digest))?;
        let holder = self.consumers.get(key.consumer)?;
        (is_live(key.ends, now) && is_live(holder.expires_at.map(seconds), now)).then_some(holder)
    }

    /// Returns the live keys with which consumers of a selection sign, each with its consumer, at most
    /// [`MAX_SIGNING_KEYS`].
    pub(crate) fn signing_keys(
        &self,
        selection: &ConsumerSelection,
        now: i64,
    ) -> Vec<(&Arc<ConsumerIdentity>, &Secret)> {
        let keys = self.live_signing_keys(selection, now);
        keys.take(MAX_SIGNING_KEYS).collect()
    }

    /// Returns the number of live keys with which consumers of a selection sign. Those beyond [`MAX_SIGNING_KEYS`] are not
    /// tried.
    pub fn count_signing_keys(&self, selection: &ConsumerSelection, now: i64) -> usize {
        self.live_signing_keys(selection, now).count()
    }

    fn live_signing_keys(
        &self,
        selection: &ConsumerSelection,
        now: i64,
    ) -> impl Iterator<Item = (&Arc<ConsumerIdentity>, &Secret)> {
        let consumers = self.select(selection).into_iter().filter_map(move |place| self.consumers.get(place));
        let consumers = consumers.filter(move |consumer| is_live(consumer.expires_at.map(seconds), now));
        consumers.flat_map(move |consumer| {
            let live = consumer.signing_keys.iter();
            let live = live.filter(move |key| is_live(key.expires_at.map(seconds), now));
            live.map(move |key| (&consumer.identity, &key.secret))
        })
    }

    /// Returns the places of the consumers of a selection, ascending.
    fn select(&self, selection: &ConsumerSelection) -> Vec<usize> {
        let mut places: Vec<usize> = match selection {
            ConsumerSelection::Names(names) => names.iter().filter_map(|name| self.place_of(name)).collect(),
            ConsumerSelection::Tags(tags) => {
                tags.iter().filter_map(|tag| self.by_tag.get(tag)).flatten().copied().collect()
            }
        };
        places.sort_unstable();
        places.dedup();
        places
    }

    fn place_of(&self, name: &str) -> Option<usize> {
        self.consumers.binary_search_by(|consumer| (*consumer.identity.name).cmp(name)).ok()
    }

    /// Returns the names of a selection that no consumer has, or its tags.
    pub fn unknown<'s>(&self, selection: &'s ConsumerSelection) -> Vec<&'s str> {
        match selection {
            ConsumerSelection::Names(names) => {
                names.iter().map(String::as_str).filter(|name| self.place_of(name).is_none()).collect()
            }
            ConsumerSelection::Tags(tags) => {
                tags.iter().map(String::as_str).filter(|tag| !self.by_tag.contains_key(*tag)).collect()
            }
        }
    }

    /// Returns the quotas of all consumers.
    pub fn quotas(&self) -> impl Iterator<Item = QuotaTerms> {
        self.consumers.iter().filter_map(|consumer| consumer.identity.quota)
    }

    /// Returns the number of consumers.
    pub fn len(&self) -> usize {
        self.consumers.len()
    }

    /// Returns `true` if there are no consumers.
    pub fn is_empty(&self) -> bool {
        self.consumers.is_empty()
    }
}

/// Shows the number of consumers alone.
impl fmt::Debug for ConsumerTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConsumerTable").field("consumers", &self.consumers.len()).finish_non_exhaustive()
    }
}

/// Shows nothing of the digest.
impl fmt::Debug for ConsumerApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConsumerApiKey").field("expires_at", &self.expires_at).finish_non_exhaustive()
    }
}

fn is_live(ends: Option<i64>, now: i64) -> bool {
    ends.is_none_or(|ends| now < ends)
}

fn seconds(time: Timestamp) -> i64 {
    time.naive().and_utc().timestamp()
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    const NOW: i64 = 1_700_000_000;

    fn instant(offset: i64) -> Timestamp {
        // NOW is 2023-11-14T22:13:20Z.
        Timestamp::parse(&format!("2023-11-14T22:13:{:02}Z", 20 + offset)).unwrap()
    }

    fn record(name: &str, tags: &[&str], api_key: &str) -> ConsumerRecord {
        let digest = Sha256::digest(api_key).into();
        ConsumerRecord {
            identity: Arc::new(ConsumerIdentity { name: name.into(), quota: None, created_at: instant(0) }),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            expires_at: None,
            api_keys: vec![ConsumerApiKey { digest, expires_at: None }],
            signing_keys: vec![ConsumerSigningKey { secret: Secret::new(api_key), expires_at: None }],
        }
    }

    fn names(names: &[&str]) -> ConsumerSelection {
        ConsumerSelection::Names(names.iter().map(|name| (*name).to_owned()).collect())
    }

    fn tags(tags: &[&str]) -> ConsumerSelection {
        ConsumerSelection::Tags(tags.iter().map(|tag| (*tag).to_owned()).collect())
    }

    fn name(found: Option<&Arc<ConsumerIdentity>>) -> Option<&str> {
        found.map(|identity| &*identity.name)
    }

    #[test]
    fn key_finds_its_consumer_within_the_selection() {
        let table = ConsumerTable::new(vec![record("b", &["gold", "eu"], "kb"), record("a", &["eu"], "ka")]);
        assert_eq!(name(table.find_api_key(b"kb", NOW)), Some("b"));
        assert_eq!(name(table.find_api_key(b"kc", NOW)), None);
        for (selection, key, expected) in [
            (names(&["a"]), b"ka", Some("a")),
            (names(&["a"]), b"kb", None),
            (tags(&["gold", "eu"]), b"kb", Some("b")),
            (tags(&["gold"]), b"ka", None),
            (tags(&["silver"]), b"ka", None),
        ] {
            assert_eq!(name(table.find_selected(&selection, key, NOW)), expected, "{selection:?}");
        }
        assert_eq!(table.unknown(&names(&["a", "c"])), ["c"]);
        assert_eq!(table.unknown(&tags(&["eu", "silver"])), ["silver"]);
        assert_eq!(table.signing_keys(&tags(&["eu", "gold"]), NOW).len(), 2, "each consumer once");
    }

    #[test]
    fn expired_consumers_and_keys_are_refused() {
        let ended = |end: i64| {
            let mut of_key = record("key", &["t"], "k1");
            of_key.api_keys[0].expires_at = Some(instant(end));
            of_key.signing_keys[0].expires_at = Some(instant(end));
            let of_consumer =
                ConsumerRecord { expires_at: Some(instant(end)), ..record("own", &["t"], "k2") };
            ConsumerTable::new(vec![of_key, of_consumer])
        };
        for (end, live) in [(1, true), (0, false), (-1, false)] {
            let table = ended(end);
            for key in [b"k1", b"k2"] {
                assert_eq!(table.find_api_key(key, NOW).is_some(), live, "{end}");
            }
            assert_eq!(table.count_signing_keys(&tags(&["t"]), NOW), if live { 2 } else { 0 }, "{end}");
        }
    }

    #[test]
    fn signing_keys_are_bounded_by_name() {
        let mut many: Vec<_> = (0..MAX_SIGNING_KEYS + 1)
            .map(|n| record(&format!("c{n:03}"), &["t"], &format!("k{n}")))
            .collect();
        many.reverse();
        let table = ConsumerTable::new(many);
        let tried = table.signing_keys(&tags(&["t"]), NOW);
        assert_eq!((tried.len(), &*tried[0].0.name), (MAX_SIGNING_KEYS, "c000"));
        assert_eq!(table.count_signing_keys(&tags(&["t"]), NOW), MAX_SIGNING_KEYS + 1);
    }

    #[test]
    fn table_is_not_printed() {
        let table = ConsumerTable::new(vec![record("a", &[], "swordfish")]);
        let shown = format!("{table:?} {:?}", table.consumers);
        assert!(!shown.contains("swordfish"), "{shown}");
    }
}
