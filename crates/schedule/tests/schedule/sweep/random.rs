//! Random expressions with their meaning, which is never parsed back from the text.

use std::collections::BTreeSet;

/// A pseudo-random generator (SplitMix64) with the same sequence in every run.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn within(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(u64::from(high - low) + 1) as u32
    }

    fn one_in(&mut self, chances: u64) -> bool {
        self.below(chances) == 0
    }
}

/// An expression and its meaning.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) text: String,
    pub(super) seconds: BTreeSet<u32>,
    pub(super) minutes: BTreeSet<u32>,
    pub(super) hours: BTreeSet<u32>,
    pub(super) days: BTreeSet<u32>,
    pub(super) months: BTreeSet<u32>,
    /// Days of the week, Sunday as 0.
    pub(super) weekdays: BTreeSet<u32>,
    /// True if either kind of day may match; otherwise both must.
    pub(super) either_day: bool,
    pub(super) follows_elapsed_time: bool,
}

const MONTHS: [&str; 12] =
    ["Jan", "february", "MAR", "apr", "May", "june", "jul", "August", "sep", "oct", "NOV", "dec"];
const DAYS: [&str; 7] = ["sun", "Monday", "tues", "WED", "thurs", "fri", "Sat"];

/// The typical number of values of an item.
#[derive(Clone, Copy)]
enum Width {
    One,
    Any,
}

impl Sample {
    /// Returns an expression with at most `busiest` local times on a day it names.
    pub(super) fn draw(random: &mut Random, busiest: usize) -> Self {
        loop {
            let sample = Self::any(random);
            if sample.seconds.len() * sample.minutes.len() * sample.hours.len() <= busiest {
                return sample;
            }
        }
    }

    fn any(random: &mut Random) -> Self {
        let six = random.one_in(2);
        let (second, seconds) = match six {
            true => list(random, 0, 59, &[], Width::One),
            false => (String::new(), BTreeSet::from([0])),
        };
        let width = if random.one_in(3) { Width::Any } else { Width::One };
        let (minute, minutes) = list(random, 0, 59, &[], width);
        let width = if random.one_in(3) { Width::One } else { Width::Any };
        let (hour, hours) = list(random, 0, 23, &[], width);
        let free_days = random.one_in(2);
        let (mut day, days) = if free_days { all(1, 31) } else { list(random, 1, 31, &[], Width::Any) };
        let (month, months) = match random.one_in(2) {
            true => all(1, 12),
            false => list(random, 1, 12, &MONTHS, Width::Any),
        };
        let (low, high) = if six { (1, 7) } else { (0, 7) };
        let (mut weekday, named) = match random.one_in(2) {
            true => all(low, high),
            false => list(random, low, high, &DAYS, Width::Any),
        };
        let weekdays = named.iter().map(|day| (day - low) % 7).collect();
        for free in [&mut day, &mut weekday] {
            if *free == "*" && random.one_in(4) {
                *free = "?".to_owned();
            }
        }
        let restricts = |field: &str| !matches!(field.as_bytes()[0], b'*' | b'?');
        let either_day = !six && restricts(&day) && restricts(&weekday);
        let follows_elapsed_time = hour.contains(['*', '/']);
        let text = format!("{second} {minute} {hour} {day} {month} {weekday}");
        Self { text, seconds, minutes, hours, days, months, weekdays, either_day, follows_elapsed_time }
    }
}

fn all(low: u32, high: u32) -> (String, BTreeSet<u32>) {
    ("*".to_owned(), (low..=high).collect())
}

fn list(random: &mut Random, low: u32, high: u32, names: &[&str], width: Width) -> (String, BTreeSet<u32>) {
    let (mut texts, mut values) = (Vec::new(), BTreeSet::new());
    for _ in 0..=random.below(3).saturating_sub(1) {
        let (text, named) = item(random, low, high, names, width);
        texts.push(text);
        values.extend(named);
    }
    (texts.join(","), values)
}

fn item(random: &mut Random, low: u32, high: u32, names: &[&str], width: Width) -> (String, BTreeSet<u32>) {
    let from = random.within(low, high);
    let to = random.within(from, high);
    let step = random.within(1, high);
    // A name stands for the value at its index. The seventh day of a Unix week has a number only.
    let has_names = |value: u32| ((value - low) as usize) < names.len();
    let named = !names.is_empty() && has_names(from) && has_names(to) && random.one_in(2);
    let show = |value: u32| match named {
        true => names[(value - low) as usize].to_owned(),
        false => value.to_string(),
    };
    let kind = match width {
        Width::One => 0,
        Width::Any => random.below(6),
    };
    let every = |from: u32, to: u32, step: u32| (from..=to).step_by(step as usize).collect();
    match kind {
        0 => (show(from), BTreeSet::from([from])),
        1 => (format!("{}-{}", show(from), show(to)), every(from, to, 1)),
        2 => (format!("{}-{}/{step}", show(from), show(to)), every(from, to, step)),
        3 => (format!("{from}/{step}"), every(from, high, step)),
        4 => (format!("*/{step}"), every(low, high, step)),
        _ => ("*".to_owned(), every(low, high, 1)),
    }
}
