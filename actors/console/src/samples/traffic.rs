//! Rates and durations of messages, from the totals of channels.

use std::collections::HashMap;
use std::time::Duration;

use svc_api::{LiveChannel, LiveTraffic};
use svc_channels::MessageTotals;
use svc_model::DURATION_BUCKETS;

/// Number of buckets of a histogram of durations.
const BUCKETS: usize = DURATION_BUCKETS.len() + 1;

/// The totals of every channel at the last sample.
#[derive(Debug, Default)]
pub(crate) struct TrafficState {
    channels: HashMap<String, KnownTotals>,
    /// Number of the last sample; 0 before the first.
    sample: u64,
}

#[derive(Debug)]
struct KnownTotals {
    totals: MessageTotals,
    sample: u64,
}

/// The messages of a period.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TrafficSample {
    pub(crate) traffic: LiveTraffic,
    /// The channels with messages, those with the most first.
    pub(crate) channels: Vec<LiveChannel>,
    pub(crate) left_out: usize,
    /// The counts that the rates are made from.
    pub(crate) counts: PeriodCounts,
}

/// The messages of all channels in a period, as counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PeriodCounts {
    requests: u64,
    errors: u64,
    refused: u64,
    durations: [u64; BUCKETS],
}

impl TrafficState {
    /// Takes the totals that `read` hands over, and returns the messages since the last call, at most `limit` channels. The
    /// first call returns none.
    pub(crate) fn advance(
        &mut self,
        read: impl FnOnce(&mut dyn FnMut(&str, MessageTotals)),
        elapsed: Duration,
        limit: usize,
    ) -> TrafficSample {
        let is_first = self.sample == 0;
        self.sample += 1;
        let (sample, mut all, mut active) = (self.sample, PeriodCounts::default(), Vec::new());
        let mut seen = 0;
        read(&mut |channel, totals| {
            seen += 1;
            let period = match self.channels.get_mut(channel) {
                Some(known) => {
                    let period = PeriodCounts::between(&known.totals, &totals);
                    *known = KnownTotals { totals, sample };
                    period
                }
                None => {
                    self.channels.insert(channel.to_owned(), KnownTotals { totals, sample });
                    PeriodCounts::between(&MessageTotals::default(), &totals)
                }
            };
            if period.requests > 0 && !is_first {
                all.add(&period);
                active.push((channel.to_owned(), period));
            }
        });
        if self.channels.len() > seen {
            self.channels.retain(|_, known| known.sample == sample);
        }
        active.sort_unstable_by(|(one, first), (other, second)| {
            let order = |counts: &PeriodCounts| (counts.errors > 0, counts.requests);
            order(second).cmp(&order(first)).then_with(|| one.cmp(other))
        });
        let left_out = active.len().saturating_sub(limit);
        active.truncate(limit);
        let channels = active.into_iter().map(|(channel, counts)| counts.to_channel(channel, elapsed));
        let (traffic, channels) = (all.to_traffic(elapsed), channels.collect());
        TrafficSample { traffic, channels, left_out, counts: all }
    }
}

impl PeriodCounts {
    /// Returns what was counted between two totals. Totals that are smaller belong to a channel that was made anew.
    fn between(before: &MessageTotals, after: &MessageTotals) -> Self {
        let requests =
            |totals: &MessageTotals| totals.completed + totals.failed + totals.refused + totals.cancelled;
        let none = MessageTotals::default();
        let before = if requests(before) > requests(after) { &none } else { before };
        let mut durations = after.durations;
        for (count, earlier) in durations.iter_mut().zip(before.durations) {
            *count = count.saturating_sub(earlier);
        }
        Self {
            requests: requests(after) - requests(before),
            errors: after.failed.saturating_sub(before.failed),
            refused: after.refused.saturating_sub(before.refused),
            durations,
        }
    }

    /// Adds the counts of another channel or period.
    pub(crate) fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.errors += other.errors;
        self.refused += other.refused;
        for (sum, count) in self.durations.iter_mut().zip(other.durations) {
            *sum += count;
        }
    }

    pub(crate) fn to_traffic(self, elapsed: Duration) -> LiveTraffic {
        LiveTraffic {
            requests: rate(self.requests, elapsed),
            errors: rate(self.errors, elapsed),
            refused: rate(self.refused, elapsed),
            p50_ms: quantile_ms(&self.durations, 0.5),
            p99_ms: quantile_ms(&self.durations, 0.99),
        }
    }

    fn to_channel(self, channel: String, elapsed: Duration) -> LiveChannel {
        LiveChannel {
            channel,
            requests: rate(self.requests, elapsed),
            errors: rate(self.errors, elapsed),
            refused: rate(self.refused, elapsed),
            p99_ms: quantile_ms(&self.durations, 0.99),
        }
    }
}

/// Returns a count a second, with three decimals.
#[expect(clippy::cast_precision_loss, reason = "a rate is no exact number")]
fn rate(count: u64, elapsed: Duration) -> f64 {
    let seconds = elapsed.as_secs_f64();
    if seconds > 0.0 { round(count as f64 / seconds) } else { 0.0 }
}

fn round(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}

/// Returns a quantile in milliseconds, by linear interpolation within its bucket; `None` without messages. Beyond the last
/// bound it is that bound.
#[expect(clippy::cast_precision_loss, reason = "an estimate is no exact number")]
fn quantile_ms(durations: &[u64; BUCKETS], quantile: f64) -> Option<f64> {
    let total: u64 = durations.iter().sum();
    if total == 0 {
        return None;
    }
    let rank = quantile * total as f64;
    let (mut below, mut lower) = (0.0, 0.0);
    for (count, upper) in durations.iter().zip(DURATION_BUCKETS) {
        let count = *count as f64;
        if below + count >= rank && count > 0.0 {
            let seconds = lower + (upper - lower) * ((rank - below) / count).clamp(0.0, 1.0);
            return Some(round(seconds * 1e3));
        }
        below += count;
        lower = upper;
    }
    Some(round(lower * 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn totals(completed: u64, failed: u64) -> MessageTotals {
        let mut durations = [0; BUCKETS];
        durations[4] = completed + failed;
        MessageTotals { completed, failed, durations, ..MessageTotals::default() }
    }

    fn advance(state: &mut TrafficState, channels: &[(&str, MessageTotals)], limit: usize) -> TrafficSample {
        state.advance(|visit| channels.iter().for_each(|(name, totals)| visit(name, *totals)), SECOND, limit)
    }

    #[test]
    fn rates_are_of_the_time_between_samples() {
        let mut state = TrafficState::default();
        let first = advance(&mut state, &[("a", totals(100, 10))], 10);
        assert_eq!(first, TrafficSample::default(), "nothing is known of the time before");
        let channels = [("a", totals(103, 11)), ("b", totals(8, 0))];
        let sample = advance(&mut state, &channels, 10);
        assert_eq!((sample.traffic.requests, sample.traffic.errors), (12.0, 1.0));
        let listed: Vec<_> = sample.channels.iter().map(|one| (one.channel.as_str(), one.requests)).collect();
        assert_eq!(listed, [("a", 4.0), ("b", 8.0)], "one with errors comes first");
        assert_eq!(advance(&mut state, &channels, 10).traffic, LiveTraffic::default());
    }

    #[test]
    fn channel_made_anew_counts_from_zero() {
        let mut state = TrafficState::default();
        advance(&mut state, &[("a", totals(100, 0))], 10);
        assert_eq!(advance(&mut state, &[("a", totals(3, 0))], 10).traffic.requests, 3.0);
        advance(&mut state, &[], 10);
        assert!(state.channels.is_empty());
        assert_eq!(advance(&mut state, &[("a", totals(4, 0))], 10).traffic.requests, 4.0);
    }

    #[test]
    fn channels_beyond_the_limit_are_counted() {
        let mut state = TrafficState::default();
        advance(&mut state, &[], 1);
        let sample = advance(&mut state, &[("a", totals(1, 0)), ("b", totals(2, 0))], 1);
        assert_eq!((sample.channels.len(), sample.left_out), (1, 1));
        assert_eq!((sample.channels[0].channel.as_str(), sample.traffic.requests), ("b", 3.0));
    }

    #[test]
    fn quantiles_lie_within_their_bucket() {
        let mut durations = [0; BUCKETS];
        assert_eq!(quantile_ms(&durations, 0.5), None);
        durations[4] = 98;
        durations[7] = 2;
        assert_eq!(quantile_ms(&durations, 0.5), Some(7.551));
        assert_eq!(quantile_ms(&durations, 0.99), Some(75.0));
        let mut longest = [0; BUCKETS];
        longest[BUCKETS - 1] = 1;
        assert_eq!(quantile_ms(&longest, 0.5), Some(30_000.0));
    }
}
