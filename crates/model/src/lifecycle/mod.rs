//! Transitions of the versions of an entity when its status or rollout changes.
//!
//! The functions are pure: they take the versions and return the rows to change. Because nothing is written
//! here, a dry run and the real request share all rules.

use crate::entity::{EntityKind, LifecycleStatus};
use crate::error::ServiceError;
use crate::field::{FieldCode, FieldError, Issue};

/// The lifecycle state of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionState {
    /// The version number.
    pub version: i64,
    /// The lifecycle status.
    pub status: LifecycleStatus,
    /// Percentage of the traffic that the version receives; 100 for a channel.
    pub rollout_percentage: i64,
}

impl VersionState {
    const fn to_archived(self) -> Self {
        Self { status: LifecycleStatus::Archived, ..self }
    }

    const fn active_at(self, rollout_percentage: i64) -> Self {
        Self { status: LifecycleStatus::Active, rollout_percentage, ..self }
    }
}

/// The result of a transition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transition {
    /// The rows that change, in their new state.
    pub changes: Vec<VersionState>,
    /// The version whose row is the response to the request.
    pub answer: i64,
    /// Warnings for the report of a dry run.
    pub warnings: Vec<Issue>,
}

/// The rollout that an activation requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rollout {
    /// Percentage of the traffic.
    pub percentage: i64,
    /// True to archive an active canary, so that the draft replaces it.
    pub replace_canary: bool,
}

impl Default for Rollout {
    fn default() -> Self {
        Self::from(100)
    }
}

impl From<i64> for Rollout {
    fn from(percentage: i64) -> Self {
        Self { percentage, replace_canary: false }
    }
}

/// Activates the draft of a workflow with a percentage of the traffic.
///
/// At 100, every active version is archived. Below 100, the stable version keeps the remaining traffic. An
/// existing canary is archived only if `rollout.replace_canary` is set.
///
/// # Errors
/// 404 without a draft; 400 for a percentage outside 0..100; 409 below 100 while two versions are active.
pub fn activate_workflow(
    id: &str,
    versions: &[VersionState],
    rollout: Rollout,
) -> Result<Transition, ServiceError> {
    let draft = draft(EntityKind::Workflow, id, versions)?;
    let percentage = rollout.percentage;
    if !(0..=100).contains(&percentage) {
        return Err(ServiceError::validation("rollout_percentage must be between 0 and 100"));
    }
    let active = active_newest_first(versions);
    let retained = match active.as_slice() {
        _ if percentage == 100 => None,
        [canary, stable, ..] if !rollout.replace_canary => return Err(second_canary(id, *canary, *stable)),
        [_, stable, ..] => Some(*stable),
        [stable] => Some(*stable),
        [] => None,
    };
    let mut transition = Transition { answer: draft.version, ..Transition::default() };
    if let Some(retained) = retained {
        transition.changes.push(retained.active_at(100 - percentage));
    } else if percentage < 100 {
        transition.warnings.push(Issue::new(
            "rollout_percentage",
            format!(
                "no active version takes the remaining {} percent, so the workflow would not serve",
                100 - percentage
            ),
        ));
    }
    let archived = active.iter().filter(|v| retained.is_none_or(|kept| kept.version != v.version));
    transition.changes.extend(archived.map(|v| v.to_archived()));
    transition.changes.push(draft.active_at(percentage));
    Ok(transition)
}

/// The remedy if the canary that is to be ended moves by itself.
const OVERRIDE: &str = "add \"override\": true if it moves by itself";

/// Refuses a second canary. The message names both active versions and the possible next steps.
fn second_canary(id: &str, canary: VersionState, stable: VersionState) -> ServiceError {
    ServiceError::conflict(format!(
        "workflow '{id}' has two active versions: {} at {} percent and {} at {}; end the canary with PATCH \
         /api/v1/admin/workflows/{id}/rollout (0 archives it, 100 completes it; {OVERRIDE}), or send \
         \"replace_canary\": true",
        canary.version, canary.rollout_percentage, stable.version, stable.rollout_percentage
    ))
}

/// Activates the draft of a channel and archives its active versions.
///
/// # Errors
/// 404 without a draft.
pub fn activate_channel(id: &str, versions: &[VersionState]) -> Result<Transition, ServiceError> {
    let draft = draft(EntityKind::Channel, id, versions)?;
    let mut changes: Vec<_> =
        active_newest_first(versions).into_iter().map(VersionState::to_archived).collect();
    changes.push(draft.active_at(draft.rollout_percentage));
    Ok(Transition { changes, answer: draft.version, warnings: Vec::new() })
}

/// Archives every active version; the response shows the newest of them.
///
/// # Errors
/// 404 without an active version.
pub fn archive(kind: EntityKind, id: &str, versions: &[VersionState]) -> Result<Transition, ServiceError> {
    if versions.is_empty() {
        return Err(absent(kind, id));
    }
    let active = active_newest_first(versions);
    let Some(newest) = active.first() else {
        return Err(ServiceError::not_found(format!("{kind} '{id}' has no active version")));
    };
    Ok(Transition {
        answer: newest.version,
        changes: active.iter().map(|v| v.to_archived()).collect(),
        warnings: Vec::new(),
    })
}

/// Changes the traffic split between the two active versions of a workflow. At 100 the older one is archived,
/// at 0 the newer one.
///
/// # Errors
/// 404 without any version; 400 for a percentage outside 0..100, without an active version, or if a single
/// version would receive only a part of the traffic.
pub fn rollout(id: &str, versions: &[VersionState], percentage: i64) -> Result<Transition, ServiceError> {
    if versions.is_empty() {
        return Err(ServiceError::not_found(format!("workflow '{id}' does not exist")));
    }
    if !(0..=100).contains(&percentage) {
        return Err(ServiceError::validation("rollout_percentage must be between 0 and 100"));
    }
    let active = active_newest_first(versions);
    let Some((newest, older)) = active.split_first() else {
        let message = format!("workflow '{id}' has no active version");
        return Err(FieldError::new("rollout_percentage", FieldCode::NotFound, message).into());
    };
    if older.is_empty() && percentage < 100 {
        return Err(ServiceError::validation(single_version(id, newest.version)));
    }
    if let (0, Some(stable)) = (percentage, older.first()) {
        return Ok(end_canary(&active, *stable));
    }
    let retained = usize::from(percentage < 100);
    let after = std::iter::once(newest.active_at(percentage))
        .chain(older.iter().take(retained).map(|v| v.active_at(100 - percentage)))
        .chain(older.iter().skip(retained).map(|v| v.to_archived()));
    let changes = after.filter(|change| !versions.contains(change)).collect();
    Ok(Transition { changes, answer: newest.version, warnings: Vec::new() })
}

/// Takes all traffic from the newer of two active versions, which stays active as a shadow.
///
/// # Errors
/// 404 without any version; 400 without two active versions.
pub fn shadow(id: &str, versions: &[VersionState]) -> Result<Transition, ServiceError> {
    if versions.is_empty() {
        return Err(absent(EntityKind::Workflow, id));
    }
    let active = active_newest_first(versions);
    let [canary, stable] = active.as_slice() else {
        return Err(ServiceError::validation(format!(
            "a shadow of workflow '{id}' needs two active versions; make a draft with POST \
             /api/v1/admin/workflows/{id}/versions, then activate it with PATCH \
             /api/v1/admin/workflows/{id}/status and {{\"status\": \"active\", \"shadow\": true}}"
        )));
    };
    let changes = [canary.active_at(0), stable.active_at(100)];
    let changes = changes.into_iter().filter(|change| !versions.contains(change)).collect();
    Ok(Transition { changes, answer: canary.version, warnings: Vec::new() })
}

/// Returns the message that explains how to begin a split.
fn single_version(id: &str, version: i64) -> String {
    let path = format!("/api/v1/admin/workflows/{id}");
    format!(
        "workflow '{id}' has a single active version, {version}, which must serve 100 percent; a split begins with a \
         second one: make a draft with POST {path}/versions, then activate it with PATCH {path}/status and \
         {{\"status\": \"active\", \"rollout_percentage\": 10}}"
    )
}

/// Archives every active version except the stable one, which then receives all traffic.
fn end_canary(active: &[VersionState], stable: VersionState) -> Transition {
    let canaries = active.iter().filter(|v| v.version != stable.version);
    let mut changes: Vec<_> = canaries.map(|v| v.to_archived()).collect();
    changes.push(stable.active_at(100));
    Transition { changes, answer: stable.version, warnings: Vec::new() }
}

/// Returns the version that a rollback restores: `to_version`, or else the previously active one.
///
/// `before` is the previously active version: of the archived versions older than the active one, the one
/// that was active last.
///
/// # Errors
/// 404 for a version that does not exist, or if there is no previously active one; 409 while there is a
/// draft, for a version that is not archived, and without `to_version` while two versions are active.
pub fn rollback(
    kind: EntityKind,
    id: &str,
    versions: &[VersionState],
    to_version: Option<i64>,
    before: Option<i64>,
) -> Result<i64, ServiceError> {
    if versions.is_empty() {
        return Err(absent(kind, id));
    }
    if let Some(draft) = versions.iter().find(|v| v.status == LifecycleStatus::Draft) {
        let path = format!("/api/v1/admin/{}/{id}", kind.plural());
        return Err(ServiceError::conflict(format!(
            "{kind} '{id}' has a draft, version {}; activate it with PATCH {path}/status before a rollback",
            draft.version
        )));
    }
    let Some(version) = to_version else {
        let active = active_newest_first(versions);
        if let [canary, stable, ..] = active.as_slice() {
            return Err(ServiceError::conflict(format!(
                "{kind} '{id}' has two active versions, {} and {}; end the canary with PATCH \
                 /api/v1/admin/workflows/{id}/rollout and 0 ({OVERRIDE}), or name the version in \"to_version\"",
                canary.version, stable.version
            )));
        }
        let none = || ServiceError::not_found(format!("{kind} '{id}' has no version that was active before"));
        return before.ok_or_else(none);
    };
    match versions.iter().find(|v| v.version == version) {
        Some(target) if target.status == LifecycleStatus::Archived => Ok(version),
        Some(target) => Err(ServiceError::conflict(format!(
            "version {version} of {kind} '{id}' is {}; a rollback takes an archived one",
            target.status
        ))),
        None => Err(ServiceError::not_found(format!("{kind} '{id}' has no version {version}"))),
    }
}

/// Creates the 404 for an id without any version.
pub fn absent(kind: EntityKind, id: &str) -> ServiceError {
    ServiceError::not_found(format!("{kind} '{id}' does not exist"))
}

/// Creates the 404 for the change of a draft that does not exist; the message names the request that creates
/// one.
pub fn no_draft(kind: EntityKind, id: &str) -> ServiceError {
    ServiceError::not_found(format!(
        "{kind} '{id}' has no draft version; POST /api/v1/admin/{}/{id}/versions makes one",
        kind.plural()
    ))
}

fn draft(kind: EntityKind, id: &str, versions: &[VersionState]) -> Result<VersionState, ServiceError> {
    if versions.is_empty() {
        return Err(absent(kind, id));
    }
    versions.iter().find(|v| v.status == LifecycleStatus::Draft).copied().ok_or_else(|| no_draft(kind, id))
}

fn active_newest_first(versions: &[VersionState]) -> Vec<VersionState> {
    let mut active: Vec<_> =
        versions.iter().filter(|v| v.status == LifecycleStatus::Active).copied().collect();
    active.sort_unstable_by_key(|v| std::cmp::Reverse(v.version));
    active
}

#[cfg(test)]
mod tests;
