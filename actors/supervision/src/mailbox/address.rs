//! The address of a supervised actor.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use actix::{Handler, Message};
use futures_channel::mpsc::UnboundedSender;

use crate::error::{CallError, CallErrorKind};
use crate::instances::context::{ReadHandler, Supervised};
use crate::mailbox::envelope::{Envelope, Exclusive, PendingCall, ReadOnly, ReplyMode};
use crate::observation::view::NodeView;
use crate::observation::vitals::NodeVitals;
use crate::path::NodePath;
use crate::protocol::RunnerCommand;

/// The address of a supervised actor.
///
/// Cheap to clone, `Send` and `Sync`. It stays valid while the actor restarts, is replaced, or is
/// quarantined: the mailbox belongs to the node, not to the instance. Holding one keeps nothing alive.
pub struct Address<A: Supervised> {
    pub(crate) inner: Arc<AddressInner<A>>,
}

pub(crate) struct AddressInner<A: Supervised> {
    pub(crate) node: Arc<NodeVitals>,
    pub(crate) node_id: u64,
    pub(crate) envelopes: UnboundedSender<Arc<dyn Envelope<A>>>,
    pub(crate) control: UnboundedSender<RunnerCommand<A>>,
}

impl<A: Supervised> Address<A> {
    /// Sends a message and waits for its answer.
    ///
    /// The message enters the mailbox when the future is first polled. Dropping the future before the message
    /// is handled takes the message back; work that has begun goes on.
    ///
    /// # Errors
    /// A [`CallError`]: the node did not admit the message, or ended before it answered. The error holds the
    /// message if it was never handled.
    pub async fn call<M>(&self, message: M) -> Result<M::Result, CallError<M>>
    where
        A: Handler<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        self.exchange::<M, Exclusive>(message, None).await
    }

    /// As [`call`](Self::call), but fails with [`CallErrorKind::Expired`] after `limit`.
    ///
    /// A message that is still queued by then is taken back and never handled; work that has begun goes on.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use actix_supervision::{CallErrorKind, ChildSpec, Context, FaultKind, Placement, PlannedFault, Supervised, Universe};
    /// # #[derive(Default)]
    /// # struct Counter(u32);
    /// # impl actix::Actor for Counter {
    /// #     type Context = Context<Self>;
    /// # }
    /// # impl Supervised for Counter {}
    /// # #[derive(Debug, actix::Message)]
    /// # #[rtype(u32)]
    /// # struct Add(u32);
    /// # impl actix::Handler<Add> for Counter {
    /// #     type Result = u32;
    /// #     fn handle(&mut self, add: Add, _: &mut Context<Self>) -> u32 {
    /// #         self.0 = self.0.checked_add(add.0).expect("too much");
    /// #         self.0
    /// #     }
    /// # }
    /// let (path, message) = ("counter".to_owned(), "Add".to_owned());
    /// let hang = PlannedFault { path, message, nth: 2, kind: FaultKind::Hang };
    /// Universe::new(1).fault(hang).run(async |tree| {
    ///     let factory = |_| async { Ok(Counter::default()) };
    ///     let counter = tree.spawn("counter", ChildSpec::new(), Placement::Here, factory).await.unwrap();
    ///     let limit = Duration::from_secs(5);
    ///     assert_eq!(counter.call_within(Add(2), limit).await.unwrap(), 2);
    ///     let error = counter.call_within(Add(1), limit).await.unwrap_err();
    ///     assert_eq!(error.kind, CallErrorKind::Expired);
    ///     assert!(!error.is_retryable(), "the message was being handled");
    ///     tree.shutdown(limit).await;
    /// });
    /// ```
    pub async fn call_within<M>(&self, message: M, limit: Duration) -> Result<M::Result, CallError<M>>
    where
        A: Handler<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        self.exchange::<M, Exclusive>(message, Some(limit)).await
    }

    /// Sends a read-only message and waits for its answer. The handler does not change the actor: a panic in
    /// it fails this call with [`CallErrorKind::Crashed`], and the actor runs on.
    /// [`ReadReply`](crate::ReadReply) says what becomes of the work if the future is dropped.
    ///
    /// # Errors
    /// The same as those of [`call`](Self::call).
    pub async fn ask<M>(&self, message: M) -> Result<M::Result, CallError<M>>
    where
        A: ReadHandler<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        self.exchange::<M, ReadOnly>(message, None).await
    }

    /// As [`ask`](Self::ask), but fails with [`CallErrorKind::Expired`] after `limit`.
    pub async fn ask_within<M>(&self, message: M, limit: Duration) -> Result<M::Result, CallError<M>>
    where
        A: ReadHandler<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        self.exchange::<M, ReadOnly>(message, Some(limit)).await
    }

    /// Sends a message without waiting for it to be handled.
    ///
    /// # Errors
    /// A [`CallError`] if the node does not admit the message. Admission is that of a call: too many casts at
    /// once fail with [`CallErrorKind::Full`].
    pub fn cast<M>(&self, message: M) -> Result<(), CallError<M>>
    where
        A: Handler<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        let (call, _) = PendingCall::<M, Exclusive>::admit(&self.inner.node, message, ReplyMode::Dropped)?;
        self.post(Arc::clone(&call) as Arc<dyn Envelope<A>>).map_err(|kind| call.failure(kind))
    }

    /// Returns the path of the node.
    pub fn path(&self) -> &NodePath {
        &self.inner.node.path
    }

    /// Returns a snapshot of the node. Sends no message.
    pub fn vitals(&self) -> NodeView {
        self.inner.node.view()
    }

    /// Sends a message and waits for its answer, at most `limit` if there is one. `K` is the kind of handler:
    /// [`Exclusive`] or [`ReadOnly`].
    async fn exchange<M, K>(&self, message: M, limit: Option<Duration>) -> Result<M::Result, CallError<M>>
    where
        M: Message + Send + 'static,
        M::Result: Send,
        PendingCall<M, K>: Envelope<A> + 'static,
    {
        let (call, answer) = PendingCall::<M, K>::admit(&self.inner.node, message, ReplyMode::Awaited)?;
        // There always is a receiver: `admit` was told that the caller waits.
        let Some(answer) = answer else { return Err(call.failure(CallErrorKind::Stopped)) };
        if let Err(kind) = self.post(Arc::clone(&call) as Arc<dyn Envelope<A>>) {
            return Err(call.failure(kind));
        }
        match limit {
            None => answer.await.map_err(|_| call.failure(CallErrorKind::Crashed)),
            // Most calls have no limit, and their futures no timer.
            Some(limit) => match Box::pin(tokio::time::timeout(limit, answer)).await {
                Ok(answer) => answer.map_err(|_| call.failure(CallErrorKind::Crashed)),
                Err(_) => Err(call.failure(CallErrorKind::Expired)),
            },
        }
    }

    /// Puts an envelope into the mailbox.
    ///
    /// # Errors
    /// [`CallErrorKind::Stopped`] if the runner of the node has ended.
    fn post(&self, envelope: Arc<dyn Envelope<A>>) -> Result<(), CallErrorKind> {
        let envelopes = &self.inner.envelopes;
        envelopes.unbounded_send(Arc::clone(&envelope)).map_err(|_| CallErrorKind::Stopped)?;
        if envelopes.is_closed() {
            // The runner has just ended and may have missed the envelope.
            envelope.refuse(CallErrorKind::Stopped);
        }
        Ok(())
    }
}

impl<A: Supervised> Clone for Address<A> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<A: Supervised> fmt::Debug for Address<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Address").field(self.path()).finish()
    }
}
