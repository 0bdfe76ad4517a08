//! The scope and the result of a reload.

use svc_model::ServiceError;

/// The part of the stored configuration that a reload reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReloadScope {
    /// Everything: the reload finds the changes by itself and retries quarantined channels.
    All,
    /// Only these, which have just changed. The cost does not depend on what else is stored.
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

    /// No definition: only the pauses of channels, which every reload reads.
    pub const fn pauses() -> Self {
        Self::Changed { workflows: Vec::new(), channels: Vec::new() }
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

    /// Returns the rest of this scope after a reload of `done`.
    pub(crate) fn without(&self, done: &Self) -> Option<Self> {
        match (self, done) {
            (_, Self::All) => None,
            (Self::All, _) => Some(Self::All),
            (Self::Changed { workflows, channels }, Self::Changed { workflows: first, channels: second }) => {
                let difference = |ids: &[String], done: &[String]| {
                    ids.iter().filter(|id| !done.contains(id)).cloned().collect::<Vec<_>>()
                };
                let (workflows, channels) = (difference(workflows, first), difference(channels, second));
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

/// The result of a reload: the work it did and the configuration that serves now.
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

/// The reason why a reload changed nothing. The previous configuration goes on serving.
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
