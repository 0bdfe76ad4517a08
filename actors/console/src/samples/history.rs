//! The history in memory: a ring of points for each resolution.

use std::collections::VecDeque;
use std::time::Duration;

use svc_api::{LiveSeries, LiveTraffic};

use super::traffic::PeriodCounts;

/// Seconds that are kept, with a point for each.
const SECONDS: usize = 60 * 60;
/// Minutes that are kept, with a point for each.
const MINUTES: usize = 24 * 60;
/// Length of a minute in seconds.
const MINUTE: i64 = 60;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    /// End of its period, in seconds since 1970.
    time: i64,
    requests: f64,
    errors: f64,
    p99_ms: Option<f64>,
}

/// The points of the last hour and of the last day.
#[derive(Debug, Default)]
pub(crate) struct History {
    seconds: VecDeque<Point>,
    minutes: VecDeque<Point>,
    minute: OpenMinute,
}

/// The minute that is not over.
#[derive(Debug, Default)]
struct OpenMinute {
    /// Its begin, in seconds since 1970.
    begin: i64,
    counts: PeriodCounts,
    elapsed: Duration,
}

impl History {
    /// Adds the point of a second.
    pub(crate) fn add_second(&mut self, time: i64, traffic: &LiveTraffic) {
        push(&mut self.seconds, SECONDS, to_point(time, traffic));
    }

    /// Adds the messages of some seconds to their minute.
    pub(crate) fn add_to_minute(&mut self, time: i64, counts: &PeriodCounts, elapsed: Duration) {
        let begin = time - time.rem_euclid(MINUTE);
        if begin != self.minute.begin {
            let minute = std::mem::replace(&mut self.minute, OpenMinute { begin, ..OpenMinute::default() });
            if minute.elapsed > Duration::ZERO {
                let traffic = minute.counts.to_traffic(minute.elapsed);
                push(&mut self.minutes, MINUTES, to_point(minute.begin + MINUTE, &traffic));
            }
        }
        self.minute.counts.add(counts);
        self.minute.elapsed += elapsed;
    }

    /// Returns the points of the last hour.
    pub(crate) fn seconds(&self) -> LiveSeries {
        to_series(&self.seconds)
    }

    /// Returns the points of the last day.
    pub(crate) fn minutes(&self) -> LiveSeries {
        to_series(&self.minutes)
    }
}

fn to_point(time: i64, traffic: &LiveTraffic) -> Point {
    Point { time, requests: traffic.requests, errors: traffic.errors, p99_ms: traffic.p99_ms }
}

/// Adds a point, and removes those that the newest one is too far from.
fn push(points: &mut VecDeque<Point>, length: usize, point: Point) {
    let step = if length == SECONDS { 1 } else { MINUTE };
    let oldest = point.time - step * i64::try_from(length).unwrap_or(i64::MAX);
    while points.front().is_some_and(|first| first.time <= oldest) || points.len() >= length {
        points.pop_front();
    }
    points.push_back(point);
}

fn to_series(points: &VecDeque<Point>) -> LiveSeries {
    LiveSeries {
        times: points.iter().map(|point| point.time).collect(),
        requests: points.iter().map(|point| point.requests).collect(),
        errors: points.iter().map(|point| point.errors).collect(),
        p99_ms: points.iter().map(|point| point.p99_ms).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traffic(requests: f64) -> LiveTraffic {
        LiveTraffic { requests, ..LiveTraffic::default() }
    }

    #[test]
    fn hour_of_seconds_is_kept() {
        let mut history = History::default();
        (1..=4_000).for_each(|time| history.add_second(time, &traffic(1.0)));
        let series = history.seconds();
        assert_eq!((series.times.len(), series.times[0], series.times[3_599]), (3_600, 401, 4_000));
        history.add_second(9_000, &traffic(2.0));
        assert_eq!(history.seconds().times, [9_000], "what is older than an hour goes, also after a pause");
    }

    #[test]
    fn minute_is_added_once_it_is_over() {
        let mut history = History::default();
        let ten = Duration::from_secs(10);
        for time in [610, 620, 650] {
            history.add_to_minute(time, &PeriodCounts::default(), ten);
        }
        assert_eq!(history.minutes().times, [0; 0]);
        history.add_to_minute(661, &PeriodCounts::default(), ten);
        assert_eq!((history.minutes().times, history.minutes().requests), (vec![660], vec![0.0]));
        (0..2_000).for_each(|minute| history.add_to_minute(700 + 60 * minute, &PeriodCounts::default(), ten));
        assert_eq!(history.minutes().times.len(), 1_440);
    }
}
