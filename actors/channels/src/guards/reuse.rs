//! Answers of equal requests.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Map, Value};
use svc_model::config;

use super::cache::{CacheKey, KeyMaker, ResponseCache};
use crate::answer::Answer;
use crate::toolbox::Toolbox;

/// Answers a request as an equal one was answered a short time ago.
pub(crate) struct Reuse {
    keys: KeyMaker,
    ttl: Duration,
    capacity: u64,
    /// Made with the first answer worth keeping.
    answers: Arc<OnceLock<ResponseCache>>,
}

impl Reuse {
    /// `personal` names a setting of the channel by which its workflow may tell callers apart.
    pub(super) fn build(
        channel: &str,
        block: &config::Cache,
        personal: Option<&str>,
        tools: &Toolbox,
        previous: Option<&Self>,
    ) -> Self {
        if let Some(setting) = personal {
            slog::warn!(tools.log, "cached answers are shared by callers the workflow can tell apart";
                "channel" => channel, "setting" => setting);
        }
        if let Some(connector) = &block.connector {
            slog::warn!(tools.log, "one node keeps answers in its own memory, not in a connector";
                "channel" => channel, "connector" => connector);
        }
        Self {
            keys: KeyMaker::new(channel, block.cache_key_fields.as_deref()),
            ttl: Duration::from_secs(block.ttl_secs),
            capacity: tools.memory_entries,
            answers: previous.map(|previous| Arc::clone(&previous.answers)).unwrap_or_default(),
        }
    }

    /// What tells equal requests; `None` for one whose answer is never kept.
    /// Its facts are read where the workflow reads them: an envelope may bring parameters that the route does not have.
    pub(super) fn key(&self, metadata: &Map<String, Value>, payload: &Value) -> Option<CacheKey> {
        let facts = ["http_method", "params", "query"].map(|fact| metadata.get(fact));
        self.keys.key(facts, payload)
    }

    pub(super) fn look_up(&self, channel: &str, key: &CacheKey, tools: &Toolbox) -> Option<Answer> {
        let found = self.answers.get().and_then(|answers| answers.get(key));
        tools.metrics.cache_looked_up(channel, found.is_some());
        found
    }

    /// Keeps an answer for the next equal request.
    pub(super) fn keep(&self, key: CacheKey, answer: &Answer) {
        self.answers.get_or_init(|| ResponseCache::new(self.ttl, self.capacity)).put(key, answer);
    }
}
