use super::*;

fn versions(rows: &[(i64, LifecycleStatus, i64)]) -> Vec<VersionState> {
    rows.iter()
        .map(|&(version, status, rollout_percentage)| VersionState { version, status, rollout_percentage })
        .collect()
}

fn versions_after(transition: &Transition) -> Vec<(i64, LifecycleStatus, i64)> {
    let mut rows: Vec<_> =
        transition.changes.iter().map(|c| (c.version, c.status, c.rollout_percentage)).collect();
    rows.sort_unstable_by_key(|row| row.0);
    rows
}

use LifecycleStatus::{Active, Archived, Draft};

#[test]
fn a_full_activation_archives_every_active_version() {
    let rows = versions(&[(1, Archived, 100), (2, Active, 70), (3, Active, 30), (4, Draft, 100)]);
    let transition = activate_workflow("w", &rows, 100.into()).unwrap();
    assert_eq!(versions_after(&transition), [(2, Archived, 70), (3, Archived, 30), (4, Active, 100)]);
    assert_eq!(transition.answer, 4);
    assert!(transition.warnings.is_empty());
}

#[test]
fn partial_activation_shares_with_the_active_version() {
    let rows = versions(&[(1, Archived, 100), (2, Active, 100), (3, Draft, 100)]);
    let transition = activate_workflow("w", &rows, 25.into()).unwrap();
    assert_eq!(versions_after(&transition), [(2, Active, 75), (3, Active, 25)]);
    let none = activate_workflow("w", &rows, 0.into()).unwrap();
    assert_eq!(versions_after(&none), [(2, Active, 100), (3, Active, 0)]);
}

#[test]
fn second_canary_is_refused_naming_both_versions() {
    let rows = versions(&[(2, Active, 90), (3, Active, 10), (4, Draft, 100)]);
    let refused = activate_workflow("w", &rows, 10.into()).unwrap_err();
    assert_eq!(refused.status(), 409);
    for text in ["3 at 10 percent", "2 at 90", "/workflows/w/rollout", "replace_canary", "\"override\": true"]
    {
        assert!(refused.message().contains(text), "{}", refused.message());
    }
    assert!(activate_workflow("w", &rows, 100.into()).is_ok(), "the whole traffic needs no canary");
}

#[test]
fn replaced_canary_is_archived_stable_keeps_rest() {
    let rows = versions(&[(2, Active, 90), (3, Active, 10), (4, Draft, 100)]);
    let replace = Rollout { percentage: 25, replace_canary: true };
    let transition = activate_workflow("w", &rows, replace).unwrap();
    assert_eq!(versions_after(&transition), [(2, Active, 75), (3, Archived, 10), (4, Active, 25)]);
    let first = versions(&[(2, Active, 100), (4, Draft, 100)]);
    let transition = activate_workflow("w", &first, replace).unwrap();
    assert_eq!(versions_after(&transition), [(2, Active, 75), (4, Active, 25)], "nothing to replace");
}

#[test]
fn rollout_of_0_ends_a_canary() {
    let rows = versions(&[(1, Archived, 100), (2, Active, 90), (3, Active, 10)]);
    let outcome = rollout("w", &rows, 0).unwrap();
    assert_eq!(versions_after(&outcome), [(2, Active, 100), (3, Archived, 10)]);
    assert_eq!(outcome.answer, 2);
    let single = rollout("w", &versions(&[(2, Active, 100)]), 0).unwrap_err();
    assert_eq!(single.status(), 400);
    assert!(single.message().contains("POST /api/v1/admin/workflows/w/versions"), "{}", single.message());
}

#[test]
fn rollback_takes_an_archived_version_or_the_one_before() {
    let rows = versions(&[(1, Archived, 100), (2, Archived, 10), (3, Active, 100)]);
    let back = |to, before| rollback(EntityKind::Workflow, "w", &rows, to, before);
    assert_eq!(back(None, Some(1)).unwrap(), 1);
    assert_eq!(back(Some(2), Some(1)).unwrap(), 2);
    for (to, before, status) in [(None, None, 404), (Some(3), None, 409), (Some(9), None, 404)] {
        assert_eq!(back(to, before).unwrap_err().status(), status, "{to:?}");
    }
    assert_eq!(rollback(EntityKind::Channel, "c", &[], None, None).unwrap_err().status(), 404);
}

#[test]
fn rollback_refuses_draft_or_ambiguous_version() {
    let draft = versions(&[(1, Archived, 100), (2, Active, 100), (3, Draft, 100)]);
    let refused = rollback(EntityKind::Channel, "c", &draft, Some(1), None).unwrap_err();
    assert_eq!(refused.status(), 409);
    assert!(refused.message().contains("version 3"), "{}", refused.message());
    let split = versions(&[(1, Archived, 100), (2, Active, 90), (3, Active, 10)]);
    assert_eq!(rollback(EntityKind::Workflow, "w", &split, None, Some(1)).unwrap_err().status(), 409);
    assert_eq!(rollback(EntityKind::Workflow, "w", &split, Some(1), None).unwrap(), 1);
}

#[test]
fn lone_partial_activation_is_warned_of() {
    let transition = activate_workflow("w", &versions(&[(1, Draft, 100)]), 40.into()).unwrap();
    assert_eq!(versions_after(&transition), [(1, Active, 40)]);
    assert_eq!(transition.warnings.len(), 1);
}

#[test]
fn activation_needs_a_draft_and_a_percentage_in_range() {
    let error = activate_workflow("w", &versions(&[(1, Active, 100)]), Rollout::default()).unwrap_err();
    assert_eq!(error.status(), 404);
    assert!(error.message().contains("POST /api/v1/admin/workflows/w/versions"), "{}", error.message());
    let draft = versions(&[(1, Draft, 100)]);
    for percentage in [-1, 101] {
        assert_eq!(activate_workflow("w", &draft, percentage.into()).unwrap_err().status(), 400);
    }
    assert_eq!(activate_channel("c", &[]).unwrap_err().status(), 404);
}

#[test]
fn a_channel_has_one_active_version() {
    let rows = versions(&[(1, Active, 100), (2, Draft, 100)]);
    let transition = activate_channel("c", &rows).unwrap();
    assert_eq!(versions_after(&transition), [(1, Archived, 100), (2, Active, 100)]);
    assert_eq!(transition.answer, 2);
}

#[test]
fn archiving_takes_all_active_versions() {
    let rows = versions(&[(1, Active, 80), (2, Active, 20), (3, Draft, 100)]);
    let transition = archive(EntityKind::Workflow, "w", &rows).unwrap();
    assert_eq!(versions_after(&transition), [(1, Archived, 80), (2, Archived, 20)]);
    assert_eq!(transition.answer, 2);
    assert_eq!(archive(EntityKind::Channel, "c", &versions(&[(1, Draft, 100)])).unwrap_err().status(), 404);
}

#[test]
fn rollout_moves_the_split_and_ends_at_100() {
    let rows = versions(&[(1, Active, 80), (2, Active, 20)]);
    let moved = rollout("w", &rows, 50).unwrap();
    assert_eq!(versions_after(&moved), [(1, Active, 50), (2, Active, 50)]);
    let done = rollout("w", &rows, 100).unwrap();
    assert_eq!(versions_after(&done), [(1, Archived, 80), (2, Active, 100)]);
    assert_eq!(done.answer, 2);
    assert!(rollout("w", &rows, 20).unwrap().changes.is_empty());
}

#[test]
fn single_version_takes_a_full_rollout_only() {
    let one = versions(&[(1, Active, 100), (2, Draft, 100)]);
    assert!(rollout("w", &one, 100).unwrap().changes.is_empty());
    for (rows, percentage) in [(&one[..], 50), (&one[..], -1), (&one[..], 101), (&one[1..], 100)] {
        assert_eq!(rollout("w", rows, percentage).unwrap_err().status(), 400);
    }
    assert_eq!(rollout("w", &[], 100).unwrap_err().status(), 404);
    let partial = versions(&[(1, Active, 40)]);
    assert_eq!(versions_after(&rollout("w", &partial, 100).unwrap()), [(1, Active, 100)]);
}

#[test]
fn activation_over_a_serving_version_fills_buckets() {
    let rows = versions(&[(1, Active, 60), (2, Active, 40), (3, Draft, 100)]);
    for percentage in 0..=100 {
        let replace = Rollout { percentage, replace_canary: true };
        let transition = activate_workflow("w", &rows, replace).unwrap();
        let active = transition.changes.iter().filter(|c| c.status == Active).map(|c| c.rollout_percentage);
        crate::rollout::check(active).unwrap();
    }
}
