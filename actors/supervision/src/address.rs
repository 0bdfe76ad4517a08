//! Calling an actor, and what a call can come to.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use actix::{Handler, Message};
use tokio::sync::mpsc::UnboundedSender;

use crate::context::{ReadHandler, Supervised};
use crate::letter::{Call, Exclusive, Letter, ReadOnly};
use crate::path::NodePath;
use crate::protocol::Control;
use crate::view::NodeView;
use crate::vitals::Node;

/// The address of a supervised actor.
///
/// Cheap to clone, `Send` and `Sync`. It stays valid while the actor restarts, is replaced, or is quarantined: the
/// mailbox belongs to the node, not to the instance. Holding one keeps nothing alive.
pub struct Address<A: Supervised> {
    pub(crate) shared: Arc<Shared<A>>,
}

pub(crate) struct Shared<A: Supervised> {
    pub(crate) node: Arc<Node>,
    pub(crate) node_id: u64,
    pub(crate) letters: UnboundedSender<Arc<dyn Letter<A>>>,
    pub(crate) control: UnboundedSender<Control<A>>,
}

impl<A: Supervised> Address<A> {
    /// Sends a message and waits for its answer.
    ///
    /// The message takes its place in the mailbox when the future is first polled. Dropping the future before the
    /// message is handled takes it back; after that the work goes on.
    pub async fn call<M>(&self, message: M) -> Result<M::Result, CallError<M>>
    where
        A: Handler<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        self.exchange::<M, Exclusive>(message, None).await
    }

    /// As [`call`](Self::call), but gives up after `limit` with [`CallErrorKind::Expired`].
    ///
    /// A message not handled by then is taken back and never will be.
    pub async fn call_within<M>(&self, message: M, limit: Duration) -> Result<M::Result, CallError<M>>
    where
        A: Handler<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        self.exchange::<M, Exclusive>(message, Some(limit)).await
    }

    /// Sends a read-only message and waits for its answer. A panic while reading answers
    /// [`CallErrorKind::Crashed`] and restarts nothing.
    pub async fn ask<M>(&self, message: M) -> Result<M::Result, CallError<M>>
    where
        A: ReadHandler<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        self.exchange::<M, ReadOnly>(message, None).await
    }

    /// As [`ask`](Self::ask), but gives up after `limit` with [`CallErrorKind::Expired`].
    pub async fn ask_within<M>(&self, message: M, limit: Duration) -> Result<M::Result, CallError<M>>
    where
        A: ReadHandler<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        self.exchange::<M, ReadOnly>(message, Some(limit)).await
    }

    /// Sends a message without waiting for it to be handled. It passes the gate as a call does, so a flood of casts
    /// meets [`CallErrorKind::Full`].
    pub fn cast<M>(&self, message: M) -> Result<(), CallError<M>>
    where
        A: Handler<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        let (call, _) = Call::<M, Exclusive>::admit(&self.shared.node, message, false)?;
        self.post(Arc::clone(&call) as Arc<dyn Letter<A>>).map_err(|kind| call.failure(kind))
    }

    /// The path of the node.
    pub fn path(&self) -> &NodePath {
        &self.shared.node.path
    }

    /// The node as a snapshot of the tree shows it. Sends no message.
    pub fn vitals(&self) -> NodeView {
        self.shared.node.view()
    }

    async fn exchange<M, K>(&self, message: M, limit: Option<Duration>) -> Result<M::Result, CallError<M>>
    where
        M: Message + Send + 'static,
        M::Result: Send,
        Call<M, K>: Letter<A> + 'static,
    {
        let (call, answer) = Call::<M, K>::admit(&self.shared.node, message, true)?;
        let Some(answer) = answer else { return Err(call.failure(CallErrorKind::Stopped)) };
        if let Err(kind) = self.post(Arc::clone(&call) as Arc<dyn Letter<A>>) {
            return Err(call.failure(kind));
        }
        match limit {
            None => answer.await.map_err(|_| call.failure(CallErrorKind::Crashed)),
            Some(limit) => match tokio::time::timeout(limit, answer).await {
                Ok(answer) => answer.map_err(|_| call.failure(CallErrorKind::Crashed)),
                Err(_) => Err(call.failure(CallErrorKind::Expired)),
            },
        }
    }

    fn post(&self, letter: Arc<dyn Letter<A>>) -> Result<(), CallErrorKind> {
        let letters = &self.shared.letters;
        letters.send(Arc::clone(&letter)).map_err(|_| CallErrorKind::Stopped)?;
        if letters.is_closed() {
            // The runner ended in this very moment and may have missed the letter.
            letter.refuse(CallErrorKind::Stopped);
        }
        Ok(())
    }
}

impl<A: Supervised> Clone for Address<A> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<A: Supervised> fmt::Debug for Address<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Address").field(self.path()).finish()
    }
}

/// A call without an answer.
pub struct CallError<M> {
    /// What happened.
    pub kind: CallErrorKind,
    /// The message, exactly if it was never handled: sending it again is safe.
    pub message: Option<M>,
}

impl<M> CallError<M> {
    /// Whether the message was never handled, so that sending it again cannot do its work twice.
    pub fn is_retryable(&self) -> bool {
        self.message.is_some()
    }
}

impl<M> fmt::Debug for CallError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallError")
            .field("kind", &self.kind)
            .field("handled", &self.message.is_none())
            .finish()
    }
}

impl<M> fmt::Display for CallError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl<M> std::error::Error for CallError<M> {}

/// What a call without an answer came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallErrorKind {
    /// As many calls are in flight as the node admits.
    Full,
    /// The node finishes what it admitted and takes nothing more.
    Draining,
    /// The node has no instance and gets none without an order, or is gone.
    Stopped,
    /// The node waits before its next start.
    Restarting {
        /// When to try again.
        retry_after: Duration,
    },
    /// The node is quarantined.
    Quarantined {
        /// Why.
        reason: Arc<str>,
    },
    /// Handling began, and the instance (or the read) ended before the answer.
    Crashed,
    /// The caller's time was up first.
    Expired,
}

impl fmt::Display for CallErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the mailbox is full"),
            Self::Draining => f.write_str("the actor is draining"),
            Self::Stopped => f.write_str("the actor is stopped"),
            Self::Restarting { retry_after } => {
                write!(f, "the actor is restarting; retry in {} ms", retry_after.as_millis())
            }
            Self::Quarantined { reason } => write!(f, "the actor is quarantined: {reason}"),
            Self::Crashed => f.write_str("the actor ended before it answered"),
            Self::Expired => f.write_str("no answer in time"),
        }
    }
}
