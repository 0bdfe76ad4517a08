//! Unit tests of [`super`].

use proptest::prelude::*;

use super::*;

fn time_at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000 + second, 0).unwrap()
}

fn seconds(plan: &MisfirePlan) -> Vec<i64> {
    plan.fire.iter().map(|instant| instant.timestamp() - 1_800_000_000).collect()
}

/// Plans an instant every ten seconds from 0, at 100 with a grace of 15: 0 to 80 are late, 90 and 100 are
/// not.
fn plan_with(policy: Misfire) -> MisfirePlan {
    plan(time_at(0), time_at(100), Duration::from_secs(15), policy, (0..).map(|n| time_at(10 * n)))
}

fn missed_counts(plan: &MisfirePlan) -> Option<(u64, i64, i64)> {
    let second = |instant: DateTime<Utc>| instant.timestamp() - 1_800_000_000;
    plan.missed.map(|missed| (missed.count, second(missed.oldest), second(missed.newest)))
}

#[test]
fn misfire_policy_selects_only_late_instants() {
    for (policy, fire, dropped) in [
        (Misfire::Skip, vec![90, 100], Some((9, 0, 80))),
        (Misfire::Latest, vec![80, 90, 100], Some((8, 0, 70))),
        (Misfire::CatchUp(1), vec![0, 90, 100], Some((8, 10, 80))),
        (Misfire::CatchUp(3), vec![0, 10, 20, 90, 100], Some((6, 30, 80))),
        (Misfire::CatchUp(9), (0..=10).map(|n| 10 * n).collect(), None),
        (Misfire::CatchUp(1000), (0..=10).map(|n| 10 * n).collect(), None),
    ] {
        let plan = plan_with(policy);
        assert_eq!(
            (seconds(&plan), missed_counts(&plan), plan.next),
            (fire, dropped, Some(time_at(110))),
            "{policy:?}"
        );
    }
}

#[test]
fn instant_as_old_as_the_grace_fires() {
    let plan = plan(time_at(0), time_at(5), Duration::from_secs(5), Misfire::Skip, (0..).map(time_at));
    assert_eq!((seconds(&plan), plan.missed), ((0..=5).collect(), None));
}

#[test]
fn a_cursor_ahead_of_now_plans_nothing_and_stays() {
    let plan = plan(time_at(50), time_at(0), Duration::ZERO, Misfire::Latest, (50..).map(time_at));
    assert_eq!(plan, MisfirePlan { fire: vec![], missed: None, next: Some(time_at(50)) });
}

#[test]
fn a_schedule_that_ends_has_no_next() {
    let plan =
        plan(time_at(0), time_at(100), Duration::from_secs(200), Misfire::Skip, [time_at(1), time_at(2)]);
    assert_eq!((seconds(&plan), plan.next), (vec![1, 2], None));
}

#[test]
fn row_of_missed_instants_names_range_and_policy() {
    assert_eq!(
        plan_with(Misfire::Latest).missed.unwrap().message(),
        "skipped 8 missed occurrence(s) between 2027-01-15T08:00:00Z and 2027-01-15T08:01:10Z (misfire_policy \"latest\")"
    );
}

#[test]
fn day_of_missed_seconds_is_one_row() {
    for (policy, expected) in [(Misfire::Skip, 6), (Misfire::Latest, 7), (Misfire::CatchUp(100), 106)] {
        let plan = plan(time_at(0), time_at(86_400), Duration::from_secs(5), policy, (0..).map(time_at));
        assert_eq!(plan.fire.len(), expected);
        assert_eq!(plan.missed.unwrap().count + expected as u64, 86_401);
        assert!(plan.fire.capacity() < 256);
    }
}

fn policy() -> impl Strategy<Value = Misfire> {
    prop_oneof![Just(Misfire::Skip), Just(Misfire::Latest), (0_u32..20).prop_map(Misfire::CatchUp)]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn instants_of_the_range_run_or_are_missed(
        gaps in proptest::collection::vec(1_i64..20, 0..60),
        from in 0_i64..400,
        span in -20_i64..600,
        grace in 0_u64..50,
        policy in policy(),
    ) {
        let instants: Vec<_> = gaps.iter().scan(0, |sum, gap| { *sum += gap; Some(time_at(*sum)) }).collect();
        let (from, now) = (time_at(from), time_at(from + span));
        let due: Vec<_> = instants.iter().copied().filter(|t| (from..=now).contains(t)).collect();
        let plan = plan(from, now, Duration::from_secs(grace), policy, instants.clone());
        let late_before = now - TimeDelta::seconds(grace as i64);
        let (late, in_time): (Vec<_>, Vec<_>) = due.iter().copied().partition(|t| *t < late_before);

        prop_assert!(plan.fire.is_sorted_by(|a, b| a < b));
        prop_assert!(plan.fire.ends_with(&in_time));
        let kept = &plan.fire[..plan.fire.len() - in_time.len()];
        let expected: &[_] = match policy {
            Misfire::Skip => &[],
            Misfire::Latest => &late[late.len().saturating_sub(1)..],
            Misfire::CatchUp(n) => &late[..late.len().min(n as usize)],
        };
        prop_assert_eq!(kept, expected);
        let dropped: Vec<_> = late.iter().copied().filter(|t| !kept.contains(t)).collect();
        let told = plan.missed.map(|m| (m.count, m.oldest, m.newest));
        prop_assert_eq!(told, dropped.first().map(|first| (dropped.len() as u64, *first, dropped[dropped.len() - 1])));
        // The row represents its range: no instant between its ends runs.
        if let Some(missed) = plan.missed {
            prop_assert!(plan.fire.iter().all(|t| *t < missed.oldest || *t > missed.newest));
        }
        prop_assert_eq!(plan.next, instants.into_iter().find(|t| *t > now));
    }

    #[test]
    fn walk_in_stretches_equals_one_walk(
        stretch in 1_usize..40,
        from in 0_i64..100,
        span in 0_i64..300,
        grace in 0_u64..50,
        policy in policy(),
    ) {
        let (from, now, grace) = (time_at(from), time_at(from + span), Duration::from_secs(grace));
        let mut walk = MisfirePlanner::new(from, now, grace, policy);
        let mut instants = (0..).map(time_at);
        while !walk.advance(&mut instants, stretch) {}
        prop_assert_eq!(walk.plan(), plan(from, now, grace, policy, (0..).map(time_at)));
    }
}

#[test]
fn range_of_missed_instants_is_read_back() {
    let missed = plan_with(Misfire::CatchUp(3)).missed.unwrap();
    let range = Missed::read_range(&missed.message()).unwrap();
    assert_eq!((range.start(), range.end()), (&missed.oldest.naive_utc(), &missed.newest.naive_utc()));
    for other in ["", "held between two", "between 1 and 2 (x)"] {
        assert_eq!(Missed::read_range(other), None, "{other}");
    }
}
