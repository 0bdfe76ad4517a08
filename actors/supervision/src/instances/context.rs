//! The context of an actor and the traits it implements.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix::dev::{Envelope as ActixEnvelope, EnvelopeProxy, MessageResponse, OneshotSender, ToEnvelope};
use actix::{
    Actor, ActorContext, ActorFuture, ActorState, Addr, AsyncContext, Handler, Message, SpawnHandle,
};
use futures_util::future::LocalBoxFuture;

use crate::instances::tasks::{ActorTask, ActorTaskFuture};
use crate::mailbox::address::Address;
use crate::mailbox::envelope::Envelope;
use crate::mailbox::side_mailbox::SideMailbox;
use crate::observation::vitals::NodeVitals;
use crate::path::NodePath;

/// An actor that runs under supervision.
///
/// `Actor::started` is called once per instance. `stopping` and `stopped` are never called, because they
/// cannot wait: clean-up belongs in [`drain`](Self::drain).
///
/// ```
/// use actix_supervision::{Context, Supervised};
/// use futures_util::future::LocalBoxFuture;
///
/// struct LineWriter {
///     lines: Vec<String>,
/// }
///
/// impl actix::Actor for LineWriter {
///     type Context = Context<Self>;
/// }
///
/// impl Supervised for LineWriter {
///     fn drain(&mut self, _: &mut Context<Self>) -> LocalBoxFuture<'static, ()> {
///         let lines = std::mem::take(&mut self.lines);
///         Box::pin(async move { println!("{} lines are written", lines.len()) })
///     }
/// }
/// ```
pub trait Supervised: Actor<Context = Context<Self>> {
    /// Cleans up. Awaited once, after the last message of an instance that ends in order: retired, replaced,
    /// shut down, restarted by a command, or stopped by itself. Not called after a panic or a failure. It may
    /// leave a state that a next instance could not undo only if [`Context::is_node_ending`].
    fn drain(&mut self, ctx: &mut Context<Self>) -> LocalBoxFuture<'static, ()> {
        let _ = ctx;
        Box::pin(std::future::ready(()))
    }
}

/// Handles a read-only message on `&self`, so that a panic in it answers `Crashed` and restarts nothing.
pub trait ReadHandler<M: Message>: Supervised {
    /// Answers the message.
    fn read(&self, message: M) -> ReadReply<M::Result>;
}

/// The answer to a read-only message.
pub enum ReadReply<T> {
    /// The answer is ready.
    Now(T),
    /// The answer is the output of this future. It runs next to the mailbox, outlives a restart of the actor,
    /// and is dropped when its caller leaves.
    Later(LocalBoxFuture<'static, T>),
    /// Like [`Later`](Self::Later), but the future runs to its end even if its caller leaves, and counts as
    /// in flight until then: for work that must not stop half-way. The future has to end by itself.
    Detached(LocalBoxFuture<'static, T>),
}

impl<T> ReadReply<T> {
    /// Creates an answer that `future` computes.
    pub fn later(future: impl Future<Output = T> + 'static) -> Self {
        Self::Later(Box::pin(future))
    }

    /// Creates an answer whose work must be finished: `future` runs to its end whether or not the caller
    /// still waits.
    pub fn detached(future: impl Future<Output = T> + 'static) -> Self {
        Self::Detached(Box::pin(future))
    }
}

/// The request of an instance to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    /// After its drain.
    Stop,
    /// At once.
    Terminate,
    /// At once, as a failure.
    Fail(String),
}

/// Counts units of work as handled by a node.
#[derive(Clone)]
pub struct HandledCounter(Arc<NodeVitals>);

impl HandledCounter {
    /// Adds to the number of messages that the node has handled.
    pub fn add(&self, handled: usize) {
        self.0.handled.fetch_add(handled as u64, Ordering::Relaxed);
    }
}

impl fmt::Debug for HandledCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HandledCounter").field(&self.0.path).finish()
    }
}

/// The execution context of one instance of a supervised actor.
///
/// Actors declare it as `type Context = actix_supervision::Context<Self>`; actix's own `start` functions then
/// do not compile, so no such actor runs unsupervised.
pub struct Context<A: Supervised> {
    address: Address<A>,
    side: Rc<SideMailbox<A>>,
    generation: u64,
    pub(crate) ending: Option<Ending>,
    /// Set once the node was ordered to end: no instance follows.
    pub(crate) is_node_ending: bool,
    /// Futures that the instance has not yet added to its task set.
    pub(crate) spawned: Vec<(SpawnHandle, ActorTask<A>)>,
    /// Futures that block the mailbox and all other futures until they end; the last one runs first.
    pub(crate) waits: Vec<ActorTask<A>>,
    pub(crate) cancelled: Vec<SpawnHandle>,
    /// Read-only answers that the runner has not yet added to its set.
    pub(crate) reads: Vec<(Option<&'static str>, LocalBoxFuture<'static, ()>)>,
    next_handle: SpawnHandle,
    /// Name of the message, or of the message whose future is polled.
    pub(crate) label: Option<&'static str>,
    /// The envelope being answered: the futures spawned meanwhile belong to it.
    envelope: Option<Arc<dyn Envelope<A>>>,
}

impl<A: Supervised> Context<A> {
    pub(crate) fn new(address: Address<A>, side: Rc<SideMailbox<A>>, generation: u64) -> Self {
        Self {
            address,
            side,
            generation,
            ending: None,
            is_node_ending: false,
            spawned: Vec::new(),
            waits: Vec::new(),
            cancelled: Vec::new(),
            reads: Vec::new(),
            next_handle: SpawnHandle::default(),
            label: None,
            envelope: None,
        }
    }

    /// The supervised address of this actor.
    pub fn supervised_address(&self) -> Address<A> {
        self.address.clone()
    }

    /// The path of the node.
    pub fn path(&self) -> &NodePath {
        self.address.path()
    }

    /// The generation of this instance: greater than that of every instance before it.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns `true` once the node itself ends, because it is retired or the tree shuts down. While it is
    /// `false`, an instance may follow: after a restart, a replacement, or a quarantine.
    pub fn is_node_ending(&self) -> bool {
        self.is_node_ending
    }

    /// Returns a counter for work that reaches the actor without a message, so that the node shows it as
    /// handled.
    pub fn handled_counter(&self) -> HandledCounter {
        HandledCounter(Arc::clone(&self.address.inner.node))
    }

    /// Ends this instance as failed, without a drain, once the current turn is over.
    pub fn fail(&mut self, reason: impl Into<String>) {
        self.ending = Some(Ending::Fail(reason.into()));
    }

    /// Runs `respond`; the futures that it spawns are the answer to `envelope`, which counts as in flight
    /// until they end.
    pub(crate) fn responding(&mut self, envelope: Arc<dyn Envelope<A>>, respond: impl FnOnce(&mut Self)) {
        self.envelope = Some(envelope);
        respond(self);
        self.envelope = None;
    }

    /// Blocks the instance for ever and keeps `held` alive.
    pub(crate) fn hang(&mut self, held: impl Sized + 'static) {
        self.wait(actix::fut::wrap_future(async move {
            let _held = held;
            std::future::pending().await
        }));
    }

    pub(crate) fn read_later(&mut self, answer: LocalBoxFuture<'static, ()>) {
        self.reads.push((self.label, answer));
    }

    fn task(&self, future: ActorTaskFuture<A>) -> ActorTask<A> {
        ActorTask { future, label: self.label, envelope: self.envelope.clone() }
    }
}

impl<A: Supervised> ActorContext for Context<A> {
    /// Ends this instance normally, after its drain.
    fn stop(&mut self) {
        self.ending.get_or_insert(Ending::Stop);
    }

    /// Ends this instance normally, without a drain.
    fn terminate(&mut self) {
        if !matches!(self.ending, Some(Ending::Fail(_))) {
            self.ending = Some(Ending::Terminate);
        }
    }

    fn state(&self) -> ActorState {
        match self.ending {
            None => ActorState::Running,
            Some(Ending::Stop) => ActorState::Stopping,
            Some(_) => ActorState::Stopped,
        }
    }
}

impl<A: Supervised> AsyncContext<A> for Context<A> {
    /// Returns the actix address, for streams and recipients. Only actix's soft bound limits it, and its
    /// errors say less; everything else uses [`supervised_address`](Self::supervised_address).
    fn address(&self) -> Addr<A> {
        Addr::new(self.side.sender())
    }

    fn spawn<F>(&mut self, future: F) -> SpawnHandle
    where
        F: ActorFuture<A, Output = ()> + 'static,
    {
        self.next_handle = self.next_handle.next();
        let task = self.task(Box::pin(future));
        self.spawned.push((self.next_handle, task));
        self.next_handle
    }

    fn wait<F>(&mut self, future: F)
    where
        F: ActorFuture<A, Output = ()> + 'static,
    {
        let task = self.task(Box::pin(future));
        self.waits.push(task);
    }

    fn waiting(&self) -> bool {
        !self.waits.is_empty() || self.ending.is_some()
    }

    fn cancel_future(&mut self, handle: SpawnHandle) -> bool {
        self.cancelled.push(handle);
        true
    }
}

/// A message sent through actix's own address.
struct SideMessage<M: Message> {
    message: Option<M>,
    reply: Option<OneshotSender<M::Result>>,
}

impl<A, M> EnvelopeProxy<A> for SideMessage<M>
where
    A: Supervised + Handler<M>,
    M: Message + Send + 'static,
    M::Result: Send,
{
    fn handle(&mut self, actor: &mut A, ctx: &mut Context<A>) {
        if let Some(message) = self.message.take() {
            ctx.label = Some(std::any::type_name::<M>());
            actor.handle(message, ctx).handle(ctx, self.reply.take());
        }
    }
}

impl<A, M> ToEnvelope<A, M> for Context<A>
where
    A: Supervised + Handler<M>,
    M: Message + Send + 'static,
    M::Result: Send,
{
    fn pack(message: M, reply: Option<OneshotSender<M::Result>>) -> ActixEnvelope<A> {
        ActixEnvelope::with_proxy(Box::new(SideMessage { message: Some(message), reply }))
    }
}
