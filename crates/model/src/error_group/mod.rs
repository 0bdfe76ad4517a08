//! Groups of failures by their cause.

mod normalise;
#[cfg(test)]
mod tests;

use sha2::{Digest, Sha256};

pub use normalise::normalise_message;

/// The facts of a failure that make its group.
#[derive(Clone, Copy, Debug, Default)]
pub struct FailureFacts<'a> {
    /// Name of the channel.
    pub channel: &'a str,
    /// Id of the workflow, if one was chosen. Its version is no part of the group.
    pub workflow: Option<&'a str>,
    /// Id of the task whose error it is, if a task failed.
    pub task: Option<&'a str>,
    /// Code of the error.
    pub code: Option<&'a str>,
    /// Status of the answer of the system that was called.
    pub status: Option<u16>,
    /// The message for operators.
    pub message: &'a str,
}

/// Failures with one cause: the same channel, workflow, task, code and status, and messages that differ in values alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorGroup {
    /// Its id, a hash of all other members.
    pub id: String,
    /// Name of the channel.
    pub channel: String,
    /// Id of the workflow.
    pub workflow: Option<String>,
    /// Id of the task.
    pub task: Option<String>,
    /// Code of the error.
    pub code: Option<String>,
    /// Status of the answer of the system that was called.
    pub status: Option<u16>,
    /// The normalised message.
    pub message: String,
}

/// Bytes of the hash that an id has: few enough to be typed, far more than a service has groups.
const ID_BYTES: usize = 8;

impl ErrorGroup {
    /// Returns the group of a failure. The same facts have the same group in every process and release.
    pub fn new(facts: FailureFacts<'_>) -> Self {
        let message = normalise_message(facts.message, facts.status);
        let status = facts.status.map(|status| status.to_string());
        let mut hash = Sha256::new();
        let parts = [Some(facts.channel), facts.workflow, facts.task, facts.code, status.as_deref()];
        for part in parts.into_iter().chain([Some(message.as_str())]) {
            // An absent part differs from an empty one, and no two parts run into each other.
            match part {
                Some(text) => {
                    hash.update([1]);
                    hash.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
                    hash.update(text.as_bytes());
                }
                None => hash.update([0]),
            }
        }
        let digest = hash.finalize();
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Self {
            id: hex::encode(digest.get(..ID_BYTES).unwrap_or(&digest)),
            channel: facts.channel.to_owned(),
            workflow: owned(facts.workflow),
            task: owned(facts.task),
            code: owned(facts.code),
            status: facts.status,
            message,
        }
    }
}
