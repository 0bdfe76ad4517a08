//! The bounds of a channel's accepted work: the shares that run at once over all nodes, and the work that waits.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use serde_json::{Map, Value};
use svc_engine::Expression;
use svc_model::config::QueueConfig;
use svc_model::{ServiceError, canonical_json};
use svc_traces::{DueTime, JobTerms, QueueShares};

use crate::digest::{self, DigestBuilder};
use crate::services::ChannelServices;

/// Most bytes of a key; a longer one counts by its digest.
const LONGEST_KEY: usize = 256;
/// Begin of a key that is a digest.
const DIGEST: &str = "sha256:";

/// Longest run that counts as quick: one that holds its thread for longer would delay the 202 of a submission that begins
/// before its row is on disk, and one that waits has nothing to gain.
const QUICK: Duration = Duration::from_millis(10);
/// Quick runs of a channel in a row after which its submissions begin early.
const QUICK_RUNS: u8 = 16;

/// The bounds of a channel's accepted work.
pub(crate) struct WorkQueue {
    /// Names the key that has a share.
    key: Option<Expression>,
    config: QueueConfig,
    /// The last runs of accepted work that were quick, up to [`QUICK_RUNS`].
    quick_runs: AtomicU8,
}

/// The terms that an admitted message waits on.
#[derive(Debug, Default)]
pub(crate) struct WaitRequest {
    /// The instant before which it does not run.
    pub(crate) due: Option<DueTime>,
    /// The key of its share; `None` if the channel has no shares.
    pub(crate) share: Option<String>,
}

impl WorkQueue {
    /// Compiles the block.
    ///
    /// # Errors
    /// The reason to quarantine the channel: an expression that does not compile.
    pub(crate) fn build(config: &QueueConfig, services: &ChannelServices) -> Result<Self, String> {
        let compile = |logic| services.engine.compile_expression(logic);
        let key = config.key_logic.as_ref().map(compile).transpose();
        let key = key.map_err(|error| format!("queue.key_logic does not compile: {error}"))?;
        Ok(Self { key, config: config.clone(), quick_runs: AtomicU8::new(0) })
    }

    /// Returns the key of which a message takes a share, and the metadata: empty for a share of the channel alone, `None`
    /// without shares. Null and blank text name no key.
    ///
    /// # Errors
    /// 400 when the expression fails: without a share the message could hold up those of every key.
    pub(crate) fn share(
        &self,
        payload: &Value,
        metadata: Map<String, Value>,
        services: &ChannelServices,
    ) -> (Result<Option<String>, ServiceError>, Map<String, Value>) {
        let Some(key) = &self.key else {
            return (Ok(self.config.has_shares().then(String::new)), metadata);
        };
        let metadata = Value::Object(metadata);
        let value = services.engine.evaluate(key, &[("data", payload), ("metadata", &metadata)]);
        let refused = |_| ServiceError::validation("The key of the queue cannot be computed");
        let share = value.map_err(refused).map(|value| {
            let text = match value {
                Value::Null => String::new(),
                Value::String(text) => text.trim().to_owned(),
                // Equal values are one key, in whatever order their members come.
                other => canonical_json(&other),
            };
            Some(storable_key(text))
        });
        let Value::Object(metadata) = metadata else { return (share, Map::new()) };
        (share, metadata)
    }

    /// Returns the terms on which a message waits, or `None` for one that may run at once.
    pub(crate) fn terms(&self, wait: Option<Box<WaitRequest>>, is_paused: bool) -> Option<JobTerms> {
        if wait.is_none() && !is_paused {
            return None;
        }
        let WaitRequest { due, share } = wait.map(|wait| *wait).unwrap_or_default();
        Some(JobTerms { due, share, is_paused, max_waiting: self.config.max_waiting })
    }

    /// Returns `true` if the block lets a submission begin before its row is on disk.
    pub(crate) fn starts_early(&self) -> bool {
        self.config.early_start && self.quick_runs.load(Ordering::Relaxed) >= QUICK_RUNS
    }

    /// Records the duration of a run of accepted work.
    pub(crate) fn record_run(&self, took: Duration) {
        let runs = self.quick_runs.load(Ordering::Relaxed);
        let now = if took < QUICK { runs.saturating_add(1).min(QUICK_RUNS) } else { 0 };
        if now != runs {
            self.quick_runs.store(now, Ordering::Relaxed);
        }
    }

    /// Returns the most work that may wait.
    pub(crate) fn max_waiting(&self) -> u64 {
        self.config.max_waiting
    }

    /// Returns the shares of the channel of that id.
    pub(crate) fn shares(&self, channel_id: &str) -> QueueShares {
        QueueShares {
            channel_id: channel_id.to_owned(),
            per_key: self.config.max_concurrent_per_key,
            total: self.config.max_concurrent,
        }
    }
}

/// Returns a key that every database can store and index.
fn storable_key(text: String) -> String {
    if text.len() <= LONGEST_KEY && !text.starts_with(DIGEST) && !text.contains('\0') {
        return text;
    }
    let mut hash = DigestBuilder::default();
    hash.text(&text);
    format!("{DIGEST}{}", digest::hex(hash.finish()))
}
