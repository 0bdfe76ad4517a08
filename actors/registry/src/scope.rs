//! What a reload looks at, and what it did.

use svc_model::ServiceError;

/// The part of the stored configuration a reload looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReloadScope {
    /// Everything: finds what changed by itself, tries again what is quarantined.
    All,
    /// Only these, which somebody just changed. Costs the same whatever else is stored.
    Changed {
        /// Ids of workflows.
        workflows: Vec<String>,
        /// Ids of channels.
        channels: Vec<String>,
    },
}

impl ReloadScope {
    /// One changed workflow.
    pub fn workflow(id: impl Into<String>) -> Self {
        Self::Changed { workflows: vec![id.into()], channels: Vec::new() }
    }

    /// One changed channel.
    pub fn channel(id: impl Into<String>) -> Self {
        Self::Changed { workflows: Vec::new(), channels: vec![id.into()] }
    }

    /// Widens to cover `other` too.
    pub(crate) fn merge(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::All, _) => {}
            (_, Self::All) => *self = Self::All,
            (Self::Changed { workflows, channels }, Self::Changed { workflows: more, channels: others }) => {
                extend(workflows, more);
                extend(channels, others);
            }
        }
    }

    /// What is left of this when `done` is done.
    pub(crate) fn without(&self, done: &Self) -> Option<Self> {
        match (self, done) {
            (_, Self::All) => None,
            (Self::All, _) => Some(Self::All),
            (Self::Changed { workflows, channels }, Self::Changed { workflows: first, channels: second }) => {
                let left = |ids: &[String], done: &[String]| {
                    ids.iter().filter(|id| !done.contains(id)).cloned().collect::<Vec<_>>()
                };
                let (workflows, channels) = (left(workflows, first), left(channels, second));
                (!workflows.is_empty() || !channels.is_empty())
                    .then_some(Self::Changed { workflows, channels })
            }
        }
    }
}

fn extend(ids: &mut Vec<String>, more: Vec<String>) {
    for id in more {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
}

/// What a reload did. The counts of work tell what it cost; the others what now serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReloadReport {
    /// Generation of the snapshot that now serves.
    pub generation: u64,
    /// Loaded workflows.
    pub workflows_count: usize,
    /// Loaded channels, the quarantined ones included.
    pub channels_count: usize,
    /// Channels quarantined after the reload.
    pub quarantined: usize,
    /// Workflow versions this reload compiled.
    pub compiled: usize,
    /// Channels this reload built anew, with or without success.
    pub built: usize,
    /// Channels this reload took out of service.
    pub retired: usize,
}

/// Why a reload changed nothing. What served before goes on serving.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ReloadError {
    /// The stored configuration could not be read.
    #[error("the stored configuration could not be read: {0}")]
    Storage(ServiceError),
    /// A stored workflow uses a task id twice, which fails the reload as a whole.
    #[error("workflow '{workflow}' version {version} uses the task id '{task}' twice")]
    DuplicateTaskId {
        /// Id of the workflow.
        workflow: String,
        /// Its version.
        version: i64,
        /// The id used twice.
        task: String,
    },
    /// The registry could not be asked: it is restarting or the service is ending.
    #[error("the registry is not available: {0}")]
    Unavailable(String),
}

impl From<ReloadError> for ServiceError {
    fn from(error: ReloadError) -> Self {
        match error {
            ReloadError::Storage(error) => error,
            duplicate @ ReloadError::DuplicateTaskId { .. } => ServiceError::internal_error(duplicate),
            ReloadError::Unavailable(why) => {
                ServiceError::unavailable("The registry is restarting").with_retry_after(1).with_internal(why)
            }
        }
    }
}
