//! Responses cached for equal requests.
//!
//! A key is a digest of channel, method, route parameters, query, payload, the metadata that the body brought
//! and, if the channel says so, the principal of the caller; headers take no part in it. What is kept is
//! bounded by entries and by bytes.

mod flights;
mod namespaces;

use std::fmt;
use std::time::Duration;

use moka::sync::Cache;
use serde_json::{Map, Value};
use svc_engine::path::{self, Segment};
use tokio::time::Instant;

pub(crate) use flights::{CacheFlight, CacheFlights, FlightTurn};
pub use namespaces::CacheNamespaces;
pub(crate) use namespaces::{NamespaceCounters, NamespacedCache};

use super::local_caches::{AnswerBound, ExpiringCache, LONGEST_LIFE};
use crate::answer::response::ChannelResponse;
use crate::digest::{self, Digest, DigestBuilder};

/// Facts of a request that distinguish its answer from others.
const FACTS: [&str; 3] = ["http_method", "params", "query"];
/// Metadata that the service stamps over whatever the body brought: headers, and what is made of them, take
/// no part in a key but by the principal.
const STAMPED: [&str; 5] = ["auth", "channel", "cookies", "headers", "vars"];

/// The part of the caller in a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyPrincipal {
    /// All callers share answers.
    Everyone,
    /// The digest of one principal.
    Known(Digest),
    /// The caller has no name, so its answers are not kept.
    Unknown,
}

/// Identifies the requests that share an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CacheKey(Digest);

impl fmt::Display for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&digest::hex(self.0))
    }
}

/// Makes the keys of one channel.
#[derive(Debug)]
pub(crate) struct CacheKeyBuilder {
    channel: String,
    fields: Option<Vec<Field>>,
}

/// A declared part of the payload.
#[derive(Debug)]
struct Field {
    name: String,
    /// The name as a path, then without a leading `data.`.
    paths: Vec<Box<[Segment]>>,
}

impl CacheKeyBuilder {
    /// Keys over these fields of the payload; over the whole payload when `None`.
    pub(crate) fn new(channel: &str, fields: Option<&[String]>) -> Self {
        let fields = fields.map(|names| names.iter().map(|name| Field::new(name)).collect());
        Self { channel: channel.to_owned(), fields }
    }

    /// Returns the key of a request; `None` when the payload has none of the declared fields or the caller is
    /// not known, and then nothing is looked up or kept. The facts of the request are read as the workflow
    /// reads them: an envelope may bring parameters that the route does not have.
    pub(crate) fn key(
        &self,
        principal: KeyPrincipal,
        metadata: &Map<String, Value>,
        payload: &Value,
    ) -> Option<CacheKey> {
        let mut hash = DigestBuilder::default();
        hash.text(&self.channel);
        match principal {
            KeyPrincipal::Everyone => {}
            KeyPrincipal::Known(principal) => hash.bytes(&principal),
            KeyPrincipal::Unknown => return None,
        }
        FACTS.iter().for_each(|fact| hash.optional(metadata.get(*fact)));
        let is_brought = |name: &str| !FACTS.contains(&name) && !STAMPED.contains(&name);
        hash.entries(metadata.iter().filter(|(name, _)| is_brought(name)).collect());
        match &self.fields {
            None => hash.json(payload),
            Some(fields) => {
                let values: Vec<_> = fields.iter().map(|field| (field, field.find(payload))).collect();
                if values.iter().all(|(_, value)| value.is_none()) {
                    return None;
                }
                for (field, value) in values {
                    hash.text(&field.name);
                    hash.optional(value);
                }
            }
        }
        Some(CacheKey(hash.finish()))
    }
}

impl Field {
    fn new(name: &str) -> Self {
        let paths = [Some(name), name.strip_prefix("data.")];
        // A name that is no path can still be a key.
        let paths = paths.into_iter().flatten().filter_map(|text| path::segments(text).ok()).collect();
        Self { name: name.to_owned(), paths }
    }

    /// A key of that very name, else what the path leads to.
    fn find<'v>(&self, payload: &'v Value) -> Option<&'v Value> {
        let literal = payload.as_object().and_then(|payload| payload.get(&self.name));
        literal.or_else(|| self.paths.iter().find_map(|segments| path::read(payload, segments)))
    }
}

#[derive(Clone)]
struct Entry {
    answer: ChannelResponse,
    until: Instant,
    /// The counters of its namespaces, as they were at its lookup.
    counters: Option<NamespaceCounters>,
}

/// The cached responses of one channel. Cheap to clone; clones share the entries.
#[derive(Clone)]
pub(crate) struct ResponseCache {
    entries: Cache<CacheKey, Entry>,
    ttl: Duration,
}

impl ResponseCache {
    /// Keeps answers for `ttl`, at most `max_entries` of them (0 for any number) and 64 MiB.
    pub(crate) fn new(ttl: Duration, max_entries: u64) -> Self {
        let (ttl, bound) = (ttl.min(LONGEST_LIFE), AnswerBound::new(max_entries));
        let entries = Cache::builder()
            .max_capacity(bound.capacity)
            .weigher(move |_, entry: &Entry| bound.weigh(size(&entry.answer)))
            .time_to_live(ttl)
            .build();
        Self { entries, ttl }
    }

    /// Returns the response to an equal request within its time to live, and its age; `None` if the counters of its
    /// namespaces have changed.
    pub(crate) fn get(
        &self,
        key: &CacheKey,
        current: Option<&NamespaceCounters>,
    ) -> Option<(ChannelResponse, Duration)> {
        let Entry { answer, until, counters } = self.entries.get(key)?;
        if counters.as_ref() != current {
            return None;
        }
        let left = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
        Some((answer, self.ttl.saturating_sub(left)))
    }

    /// Caches a response, unless it is for one caller alone.
    pub(crate) fn put(&self, key: CacheKey, answer: &ChannelResponse, counters: Option<NamespaceCounters>) {
        if answer.sets_cookie() {
            return;
        }
        let until = Instant::now() + self.ttl;
        self.entries.insert(key, Entry { answer: answer.clone(), until, counters });
    }
}

impl ExpiringCache for ResponseCache {
    fn remove_expired(&self) {
        self.entries.run_pending_tasks();
    }
}

impl fmt::Debug for ResponseCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseCache").field("ttl", &self.ttl).finish_non_exhaustive()
    }
}

fn size(answer: &ChannelResponse) -> usize {
    let headers: usize = answer.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    headers + answer.body.len()
}

#[cfg(test)]
mod tests;
