//! A message in flight: one allocation shared by the caller and the mailbox.
//!
//! The message stays in the shared slot until it is handled, so that a refusal, or a caller whose time limit
//! has passed, can take it back unread. The first to empty the slot decides: a message is either handled or
//! handed back, never both.

use std::any::type_name;
use std::marker::PhantomData;
use std::sync::Arc;

use actix::dev::{MessageResponse, OneshotSender};
use actix::{Handler, Message};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::error::{CallError, CallErrorKind};
use crate::fault::MessageFault;
use crate::instances::context::{Context, ReadHandler, ReadReply, Supervised};
use crate::observation::vitals::NodeVitals;

/// A message in flight as the mailbox of an `A` holds it.
pub(crate) trait Envelope<A: Supervised>: Send + Sync {
    /// Type name of the message.
    fn name(&self) -> &'static str;
    /// Returns `true` if a panic while handling the message leaves the actor intact.
    fn read_only(&self) -> bool;
    /// Handles the message, unless its caller has left.
    fn deliver(self: Arc<Self>, actor: &mut A, ctx: &mut Context<A>, fault: Option<MessageFault>);
    /// Hands the message back.
    fn refuse(&self, kind: CallErrorKind);
}

/// Handled on `&mut self`.
pub(crate) struct Exclusive;
/// Handled on `&self`.
pub(crate) struct ReadOnly;

/// The receiving half of the reply, for a caller that waits.
pub(crate) type ReplyReceiver<M> = Option<oneshot::Receiver<<M as Message>::Result>>;

pub(crate) struct PendingCall<M: Message, K> {
    node: Arc<NodeVitals>,
    slot: Mutex<Slot<M>>,
    kind: PhantomData<K>,
}

struct Slot<M: Message> {
    message: Option<M>,
    reply: Option<OneshotSender<M::Result>>,
    refusal: Option<CallErrorKind>,
}

/// The use of the answer to a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyMode {
    /// The caller waits for the answer.
    Awaited,
    /// The answer is dropped.
    Dropped,
}

impl<M: Message, K> PendingCall<M, K> {
    /// Passes admission control with `message`; `mode` says whether the caller waits for an answer.
    pub(crate) fn admit(
        node: &Arc<NodeVitals>,
        message: M,
        mode: ReplyMode,
    ) -> Result<(Arc<Self>, ReplyReceiver<M>), CallError<M>> {
        if let Err(kind) = node.admission.admit() {
            return Err(CallError { kind, message: Some(message) });
        }
        let (reply, answer) = (mode == ReplyMode::Awaited).then(oneshot::channel).unzip();
        let slot = Slot { message: Some(message), reply, refusal: None };
        let call = Self { node: Arc::clone(node), slot: Mutex::new(slot), kind: PhantomData };
        Ok((Arc::new(call), answer))
    }

    /// Returns the error of a call without an answer, with the message if it was never handled.
    pub(crate) fn failure(&self, otherwise: CallErrorKind) -> CallError<M> {
        let mut slot = self.slot.lock();
        let message = slot.message.take();
        let kind = slot.refusal.take().unwrap_or(match (otherwise, &message) {
            // The mailbox was dropped with the envelope in it.
            (CallErrorKind::Crashed, Some(_)) => CallErrorKind::Stopped,
            (kind, _) => kind,
        });
        CallError { kind, message }
    }

    /// Takes the message and the sender of its reply; `None` if it was taken back or its caller has left.
    fn take(&self) -> Option<(M, Option<OneshotSender<M::Result>>)> {
        let mut slot = self.slot.lock();
        let reply = slot.reply.take();
        let message = slot.message.take()?;
        drop(slot);
        if reply.as_ref().is_some_and(OneshotSender::is_closed) {
            return None;
        }
        Some((message, reply))
    }

    fn hand_back(&self, kind: CallErrorKind) {
        let mut slot = self.slot.lock();
        if slot.message.is_none() {
            return;
        }
        slot.refusal = Some(kind);
        let reply = slot.reply.take();
        drop(slot);
        drop(reply);
    }
}

impl<M: Message, K> Drop for PendingCall<M, K> {
    fn drop(&mut self) {
        self.node.admission.release();
    }
}

impl<A, M> Envelope<A> for PendingCall<M, Exclusive>
where
    A: Supervised + Handler<M>,
    M: Message + Send + 'static,
    M::Result: Send,
{
    fn name(&self) -> &'static str {
        type_name::<M>()
    }

    fn read_only(&self) -> bool {
        false
    }

    fn deliver(self: Arc<Self>, actor: &mut A, ctx: &mut Context<A>, fault: Option<MessageFault>) {
        let Some((message, reply)) = self.take() else { return };
        match fault {
            None => {
                let response = actor.handle(message, ctx);
                ctx.responding(self, |ctx| response.handle(ctx, reply));
            }
            Some(MessageFault::Hang) => ctx.hang((message, reply, self)),
            Some(MessageFault::Panic) => MessageFault::panic(),
        }
    }

    fn refuse(&self, kind: CallErrorKind) {
        self.hand_back(kind);
    }
}

impl<A, M> Envelope<A> for PendingCall<M, ReadOnly>
where
    A: ReadHandler<M>,
    M: Message + Send + 'static,
    M::Result: Send,
{
    fn name(&self) -> &'static str {
        type_name::<M>()
    }

    fn read_only(&self) -> bool {
        true
    }

    fn deliver(self: Arc<Self>, actor: &mut A, ctx: &mut Context<A>, fault: Option<MessageFault>) {
        let Some((message, reply)) = self.take() else { return };
        let reading = match fault {
            None => actor.read(message),
            Some(MessageFault::Hang) => ReadReply::later(std::future::pending()),
            Some(MessageFault::Panic) => return MessageFault::panic(),
        };
        let Some(mut reply) = reply else { return };
        match reading {
            ReadReply::Now(value) => drop(reply.send(value)),
            // A read changes nothing: without its caller it need not go on.
            ReadReply::Later(future) => ctx.read_later(Box::pin(async move {
                let _place = self;
                tokio::select! {
                    value = future => drop(reply.send(value)),
                    () = reply.closed() => {}
                }
            })),
            ReadReply::Detached(future) => ctx.read_later(Box::pin(async move {
                let _place = self;
                drop(reply.send(future.await));
            })),
        }
    }

    fn refuse(&self, kind: CallErrorKind) {
        self.hand_back(kind);
    }
}
