//! Selection of the runs that leave a trace, and the time at which it is written.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use svc_model::config::{RecordConfig, TracingConfig, TracingMode};

/// The settings of the server. The `tracing` block of a channel overrides them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TracingDefaults {
    /// The time at which a trace is written.
    pub mode: TracingMode,
    /// Share of the runs that are traced, from 0 to 1.
    pub sample_rate: f64,
    /// True if the traces of runs without a failure are dropped.
    pub errors_only: bool,
    /// True if every run leaves a whole trace before its answer, whatever its channel says.
    pub records_all: bool,
}

/// The effective trace policy of one channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TracePolicy {
    /// The time at which a trace is written.
    pub mode: TracingMode,
    /// Share of the runs that are traced, from 0 to 1.
    pub sample_rate: f64,
    /// True if the traces of runs without a failure are dropped.
    pub errors_only: bool,
    /// True if snapshots of every task are kept.
    pub task_details: bool,
    /// True if the input of a synchronous run is kept.
    pub keep_input: bool,
}

/// The recording of the runs of one channel.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordPolicy {
    /// Share of the runs that are recorded, from 0 to 1.
    pub share: f64,
    /// True if every failed run is recorded too.
    pub errors: bool,
    /// Maximum number of recordings of a day, in UTC.
    pub max_per_day: u64,
    /// Maximum length of a recording in bytes.
    pub max_bytes: usize,
    /// Paths whose values are never recorded.
    pub drop: Vec<String>,
}

impl Default for RecordPolicy {
    fn default() -> Self {
        Self { share: 0.0, errors: false, max_per_day: 50_000, max_bytes: 256 << 10, drop: Vec::new() }
    }
}

impl RecordPolicy {
    /// Returns the policy of a channel with this block; `None` if it records nothing. The paths of the server are left out
    /// of every recording.
    pub(crate) fn for_block(server: &Self, block: Option<&RecordConfig>) -> Option<Self> {
        let policy = match block {
            None => server.clone(),
            Some(block) => Self {
                share: block.share.unwrap_or_default(),
                errors: block.errors,
                max_per_day: block.max_per_day.unwrap_or(server.max_per_day),
                max_bytes: block
                    .max_bytes
                    .map_or(server.max_bytes, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
                drop: server.drop.iter().chain(&block.drop).cloned().collect(),
            },
        };
        (policy.share > 0.0 || policy.errors).then_some(policy)
    }
}

impl TracingDefaults {
    /// Returns the trace policy of a channel with this configuration block.
    pub fn policy_for(&self, block: &TracingConfig) -> TracePolicy {
        if self.records_all {
            return TracePolicy {
                mode: TracingMode::Sync,
                sample_rate: 1.0,
                errors_only: false,
                task_details: true,
                keep_input: true,
            };
        }
        TracePolicy {
            mode: block.mode.unwrap_or(self.mode),
            sample_rate: block.sample_rate.unwrap_or(self.sample_rate),
            errors_only: block.errors_only.unwrap_or(self.errors_only),
            task_details: block.task_details,
            keep_input: block.keep_input,
        }
    }
}

/// The reason why a run leaves no trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untraced {
    /// The channel records none.
    Off,
    /// The draw excluded it.
    SampledOut,
}

impl Untraced {
    /// Returns the name that metrics use.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::SampledOut => "sampled_out",
        }
    }
}

impl TracePolicy {
    /// Decides whether a run is traced. `draw` returns true with the probability that it is given.
    ///
    /// # Errors
    /// The reason why it is not.
    pub(crate) fn admit(&self, draw: impl FnOnce(f64) -> bool) -> Result<(), Untraced> {
        match self.mode {
            TracingMode::Off => Err(Untraced::Off),
            _ if draw(self.sample_rate) => Ok(()),
            _ => Err(Untraced::SampledOut),
        }
    }
}

/// Returns true for the share `rate` of all keys, and always the same for one key.
pub(crate) fn sample_key(key: &impl Hash, rate: f64) -> bool {
    if rate >= 1.0 {
        return true;
    }
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    share(hasher.finish()) < rate
}

/// A random sampler: one number per draw, from any thread, without a lock.
#[derive(Debug)]
pub(crate) struct Sampler(AtomicU64);

impl Sampler {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// Draws once and returns true with the probability `rate`.
    pub(crate) fn sample(&self, rate: f64) -> bool {
        if rate >= 1.0 {
            return true;
        }
        // SplitMix64: a counter whose bits are mixed.
        let count = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        let mixed = (count ^ (count >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        share(mixed ^ (mixed >> 31)) < rate
    }
}

/// Returns a number of which every bit is as likely as not as a share from 0 to 1.
#[expect(clippy::cast_precision_loss, reason = "53 bits are what a double holds")]
fn share(number: u64) -> f64 {
    (number >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: TracingDefaults =
        TracingDefaults { mode: TracingMode::Batch, sample_rate: 0.5, errors_only: true, records_all: false };

    #[test]
    fn recording_of_all_goes_before_the_channel() {
        let defaults = TracingDefaults { records_all: true, ..SERVER };
        let block = TracingConfig { mode: Some(TracingMode::Off), ..TracingConfig::default() };
        let policy = defaults.policy_for(&block);
        assert_eq!((policy.mode, policy.sample_rate, policy.errors_only), (TracingMode::Sync, 1.0, false));
        assert!(policy.task_details && policy.keep_input);
    }

    #[test]
    fn a_channels_block_goes_before_the_servers_settings() {
        let all = SERVER.policy_for(&TracingConfig::default());
        assert_eq!((all.mode, all.sample_rate, all.errors_only), (TracingMode::Batch, 0.5, true));
        let block = TracingConfig {
            mode: Some(TracingMode::Off),
            sample_rate: Some(0.0),
            errors_only: Some(false),
            task_details: true,
            keep_input: true,
            record: None,
        };
        let own = SERVER.policy_for(&block);
        assert_eq!((own.mode, own.sample_rate, own.errors_only), (TracingMode::Off, 0.0, false));
        assert!(own.task_details && !all.task_details);
        assert!(own.keep_input && !all.keep_input);
    }

    #[test]
    fn channel_records_by_own_block_or_service_default() {
        let server = RecordPolicy { share: 0.5, drop: vec!["payload.pin".into()], ..RecordPolicy::default() };
        assert_eq!(RecordPolicy::for_block(&RecordPolicy::default(), None), None);
        assert_eq!(RecordPolicy::for_block(&server, None), Some(server.clone()));
        let block = RecordConfig {
            share: None,
            errors: true,
            max_per_day: Some(5),
            max_bytes: None,
            drop: vec!["answer.token".into()],
        };
        let own = RecordPolicy::for_block(&server, Some(&block)).unwrap();
        assert_eq!((own.share, own.errors, own.max_per_day), (0.0, true, 5));
        assert_eq!(own.drop, ["payload.pin", "answer.token"]);
        let off = RecordConfig { errors: false, ..block };
        assert_eq!(RecordPolicy::for_block(&server, Some(&off)), None);
    }

    #[test]
    fn a_draw_hits_as_often_as_its_rate_says() {
        let draws = Sampler::new(1);
        for rate in [0.0, 0.01, 0.5, 0.99, 1.0] {
            let hits = (0..100_000).filter(|_| draws.sample(rate)).count();
            let share = f64::from(u32::try_from(hits).unwrap()) / 100_000.0;
            assert!((share - rate).abs() < 0.01, "{rate}: {share}");
        }
        assert!(!(0..1000).any(|_| draws.sample(0.0)));
    }

    #[test]
    fn keys_are_sampled_consistently_at_the_rate() {
        for rate in [0.0, 0.01, 0.5, 0.99, 1.0] {
            let sampled = |key: &(&str, i32, i64)| sample_key(key, rate);
            let keys = (0..100_000).map(|offset| ("orders", 3, offset));
            let hits = keys.clone().filter(sampled).count();
            let share = f64::from(u32::try_from(hits).unwrap()) / 100_000.0;
            assert!((share - rate).abs() < 0.01, "{rate}: {share}");
            assert_eq!(keys.filter(sampled).count(), hits, "again the same");
        }
    }
}
