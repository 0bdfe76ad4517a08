//! Units of work that callers pass to the writer.

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use crate::conn::Conn;
use crate::error::StoreError;

/// The result of a unit.
pub(crate) enum UnitOutcome<T> {
    /// Keeps the writes and answers with this value after the commit.
    Keep(T),
    /// Rolls the writes back and answers with this value: a dry run.
    Discard(T),
}

/// The work of a unit, inside a transaction.
pub(crate) type UnitWork<T> =
    Box<dyn for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, Result<UnitOutcome<T>, StoreError>> + Send>;

/// A unit with its answer type erased. Run once, then settled once.
pub(crate) trait WriteUnit: Send {
    /// Does the work. Returns whether to keep it.
    fn run<'c>(&'c mut self, conn: &'c mut Conn) -> BoxFuture<'c, bool>;
    /// Returns the error of a failed unit.
    fn failure(&self) -> Option<&StoreError>;
    /// Fails the unit, even after successful work.
    fn fail(&mut self, error: StoreError);
    /// Answers the caller. If the answer depends on a commit that failed, it becomes that failure.
    fn settle(self: Box<Self>, commit: &Result<(), StoreError>);
}

enum Stage<T> {
    Waiting(UnitWork<T>),
    Running,
    Kept(T),
    Final(Result<T, StoreError>),
}

/// A unit and the caller that waits for it.
pub(crate) struct PendingUnit<T> {
    stage: Stage<T>,
    caller: oneshot::Sender<Result<T, StoreError>>,
}

impl<T: Send + 'static> PendingUnit<T> {
    pub(crate) fn boxed(work: UnitWork<T>) -> (Box<dyn WriteUnit>, oneshot::Receiver<Result<T, StoreError>>) {
        let (caller, answer) = oneshot::channel();
        (Box::new(Self { stage: Stage::Waiting(work), caller }), answer)
    }
}

impl<T: Send + 'static> WriteUnit for PendingUnit<T> {
    fn run<'c>(&'c mut self, conn: &'c mut Conn) -> BoxFuture<'c, bool> {
        Box::pin(async move {
            let Stage::Waiting(work) = std::mem::replace(&mut self.stage, Stage::Running) else {
                return false;
            };
            self.stage = match work(conn).await {
                Ok(UnitOutcome::Keep(value)) => Stage::Kept(value),
                Ok(UnitOutcome::Discard(value)) => Stage::Final(Ok(value)),
                Err(error) => Stage::Final(Err(error)),
            };
            matches!(self.stage, Stage::Kept(_))
        })
    }

    fn failure(&self) -> Option<&StoreError> {
        match &self.stage {
            Stage::Final(Err(error)) => Some(error),
            _ => None,
        }
    }

    fn fail(&mut self, error: StoreError) {
        self.stage = Stage::Final(Err(error));
    }

    fn settle(self: Box<Self>, commit: &Result<(), StoreError>) {
        let answer = match (self.stage, commit) {
            (Stage::Final(answer), _) => answer,
            (Stage::Kept(value), Ok(())) => Ok(value),
            (_, Err(error)) => Err(error.clone()),
            (Stage::Waiting(_) | Stage::Running, Ok(())) => {
                Err(StoreError::Database("a unit was not run".into()))
            }
        };
        // The caller may be gone.
        let _gone = self.caller.send(answer);
    }
}
