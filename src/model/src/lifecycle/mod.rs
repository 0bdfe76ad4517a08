//! What happens to the versions of an entity when its status or rollout changes.
//!
//! Pure arithmetic: the versions go in, the rows to change come out. Nothing is written here, so a dry run and the
//! real request share every rule.

use crate::entity::{Kind, Status};
use crate::error::ServiceError;
use crate::field::Issue;

/// A version as far as its lifecycle goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionState {
    /// Version.
    pub version: i64,
    /// Where it stands.
    pub status: Status,
    /// Its share of the traffic, in percent. 100 for a channel.
    pub rollout_percentage: i64,
}

impl VersionState {
    const fn archived(self) -> Self {
        Self { status: Status::Archived, ..self }
    }

    const fn active_at(self, rollout_percentage: i64) -> Self {
        Self { status: Status::Active, rollout_percentage, ..self }
    }
}

/// The outcome of a transition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transition {
    /// The rows that change, as they are afterwards.
    pub changes: Vec<VersionState>,
    /// The version whose row answers the request.
    pub answer: i64,
    /// What a dry run should mention.
    pub warnings: Vec<Issue>,
}

/// Activates the draft of a workflow at `percentage` of the traffic.
///
/// At 100 every active version is archived. Below, the newest active version keeps the rest and the others are
/// archived.
///
/// # Errors
/// 404 without a draft, 400 for a percentage outside 0..100.
pub fn activate_workflow(
    id: &str,
    versions: &[VersionState],
    percentage: i64,
) -> Result<Transition, ServiceError> {
    let draft = draft(Kind::Workflow, id, versions)?;
    if !(0..=100).contains(&percentage) {
        return Err(ServiceError::validation("rollout_percentage must be between 0 and 100"));
    }
    let active = active_newest_first(versions);
    let kept = if percentage == 100 { None } else { active.first() };
    let mut transition = Transition { answer: draft.version, ..Transition::default() };
    if let Some(kept) = kept {
        transition.changes.push(kept.active_at(100 - percentage));
    } else if percentage < 100 {
        transition.warnings.push(Issue::new(
            "rollout_percentage",
            format!(
                "no active version takes the remaining {} percent, so the workflow would not serve",
                100 - percentage
            ),
        ));
    }
    transition.changes.extend(active.iter().skip(usize::from(kept.is_some())).map(|v| v.archived()));
    transition.changes.push(draft.active_at(percentage));
    Ok(transition)
}

/// Activates the draft of a channel; its active versions are archived.
///
/// # Errors
/// 404 without a draft.
pub fn activate_channel(id: &str, versions: &[VersionState]) -> Result<Transition, ServiceError> {
    let draft = draft(Kind::Channel, id, versions)?;
    let mut changes: Vec<_> = active_newest_first(versions).into_iter().map(VersionState::archived).collect();
    changes.push(draft.active_at(draft.rollout_percentage));
    Ok(Transition { changes, answer: draft.version, warnings: Vec::new() })
}

/// Archives every active version; the newest of them answers.
///
/// # Errors
/// 404 without an active version.
pub fn archive(kind: Kind, id: &str, versions: &[VersionState]) -> Result<Transition, ServiceError> {
    let active = active_newest_first(versions);
    let Some(newest) = active.first() else {
        return Err(ServiceError::not_found(format!("{kind} '{id}' has no active version")));
    };
    Ok(Transition {
        answer: newest.version,
        changes: active.iter().map(|v| v.archived()).collect(),
        warnings: Vec::new(),
    })
}

/// Moves the split between the two active versions of a workflow; at 100 the older one is archived.
///
/// # Errors
/// 404 without any version; 400 for a percentage outside 1..100, without an active version, or when a single version
/// would serve only a part.
pub fn rollout(id: &str, versions: &[VersionState], percentage: i64) -> Result<Transition, ServiceError> {
    if versions.is_empty() {
        return Err(ServiceError::not_found(format!("workflow '{id}' does not exist")));
    }
    if !(1..=100).contains(&percentage) {
        return Err(ServiceError::validation("rollout_percentage must be between 1 and 100"));
    }
    let active = active_newest_first(versions);
    let Some((newest, older)) = active.split_first() else {
        return Err(ServiceError::validation(format!("workflow '{id}' has no active version")));
    };
    if older.is_empty() && percentage < 100 {
        return Err(ServiceError::validation(format!(
            "workflow '{id}' has a single active version, which must serve 100 percent"
        )));
    }
    let kept = usize::from(percentage < 100);
    let after = std::iter::once(newest.active_at(percentage))
        .chain(older.iter().take(kept).map(|v| v.active_at(100 - percentage)))
        .chain(older.iter().skip(kept).map(|v| v.archived()));
    let changes = after.filter(|change| !versions.contains(change)).collect();
    Ok(Transition { changes, answer: newest.version, warnings: Vec::new() })
}

fn draft(kind: Kind, id: &str, versions: &[VersionState]) -> Result<VersionState, ServiceError> {
    versions
        .iter()
        .find(|v| v.status == Status::Draft)
        .copied()
        .ok_or_else(|| ServiceError::not_found(format!("{kind} '{id}' has no draft version")))
}

fn active_newest_first(versions: &[VersionState]) -> Vec<VersionState> {
    let mut active: Vec<_> = versions.iter().filter(|v| v.status == Status::Active).copied().collect();
    active.sort_unstable_by_key(|v| std::cmp::Reverse(v.version));
    active
}

#[cfg(test)]
mod tests;
