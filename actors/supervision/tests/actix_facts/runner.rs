//! Driving an actor with an own context and run loop, over the public API alone.

use std::future::{pending, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};

use actix::MailboxError;
use actix::dev::channel::{AddressReceiver, AddressSender, channel};
use actix::dev::{Envelope, EnvelopeProxy, MessageResponse, OneshotSender, ToEnvelope};
use futures_util::{FutureExt, StreamExt};

use super::system;

use actix::prelude::*;
use actix::{ActorState, AtomicResponse, ResponseActFuture};
use tokio::sync::oneshot;

/// A context with the least an own run loop needs.
struct Bare<A: Actor<Context = Self>> {
    sender: AddressSender<A>,
    spawned: Vec<Box<dyn ActorFuture<A, Output = ()>>>,
    waited: usize,
    stopped: bool,
}

impl<A: Actor<Context = Self>> ActorContext for Bare<A> {
    fn stop(&mut self) {
        self.stopped = true;
    }

    fn terminate(&mut self) {
        self.stopped = true;
    }

    fn state(&self) -> ActorState {
        if self.stopped { ActorState::Stopped } else { ActorState::Running }
    }
}

impl<A: Actor<Context = Self>> AsyncContext<A> for Bare<A> {
    fn address(&self) -> Addr<A> {
        Addr::new(self.sender.clone())
    }

    fn spawn<F: ActorFuture<A, Output = ()> + 'static>(&mut self, fut: F) -> SpawnHandle {
        self.spawned.push(Box::new(fut));
        SpawnHandle::default()
    }

    fn wait<F: ActorFuture<A, Output = ()> + 'static>(&mut self, _: F) {
        self.waited += 1;
    }

    fn waiting(&self) -> bool {
        self.waited > 0
    }

    fn cancel_future(&mut self, _: SpawnHandle) -> bool {
        false
    }
}

/// Stricter than actix: only messages that can be cloned.
impl<A, M> ToEnvelope<A, M> for Bare<A>
where
    A: Actor<Context = Self> + Handler<M>,
    M: Message + Clone + Send + 'static,
    M::Result: Send,
{
    fn pack(msg: M, tx: Option<OneshotSender<M::Result>>) -> Envelope<A> {
        Envelope::with_proxy(Box::new(Letter { msg: Some(msg), tx }))
    }
}

struct Letter<M: Message> {
    msg: Option<M>,
    tx: Option<OneshotSender<M::Result>>,
}

impl<A, M> EnvelopeProxy<A> for Letter<M>
where
    A: Actor + Handler<M>,
    M: Message,
{
    fn handle(&mut self, act: &mut A, ctx: &mut A::Context) {
        if let Some(msg) = self.msg.take() {
            act.handle(msg, ctx).handle(ctx, self.tx.take());
        }
    }
}

#[derive(Default)]
struct Echo(u32);

impl Actor for Echo {
    type Context = Bare<Self>;
}

#[derive(Clone, Message)]
#[rtype(u32)]
struct Count;

impl Handler<Count> for Echo {
    type Result = u32;

    fn handle(&mut self, _: Count, _: &mut Bare<Self>) -> u32 {
        self.0 += 1;
        self.0
    }
}

#[derive(Clone, Message)]
#[rtype("()")]
struct Boom;

impl Handler<Boom> for Echo {
    type Result = ();

    fn handle(&mut self, _: Boom, _: &mut Bare<Self>) {
        panic!("boom");
    }
}

/// Answered by a future of the actor.
#[derive(Clone, Message)]
#[rtype("()")]
struct Attached;

impl Handler<Attached> for Echo {
    type Result = ResponseActFuture<Self, ()>;

    fn handle(&mut self, _: Attached, _: &mut Bare<Self>) -> Self::Result {
        Box::pin(pending().into_actor(self))
    }
}

/// Answered by a future that holds the mailbox up.
#[derive(Clone, Message)]
#[rtype("()")]
struct Exclusive;

impl Handler<Exclusive> for Echo {
    type Result = AtomicResponse<Self, ()>;

    fn handle(&mut self, _: Exclusive, _: &mut Bare<Self>) -> Self::Result {
        AtomicResponse::new(Box::pin(ready(()).into_actor(self)))
    }
}

fn bare() -> (Addr<Echo>, Bare<Echo>, AddressReceiver<Echo>) {
    let (sender, receiver) = channel(16);
    let ctx = Bare { sender: sender.clone(), spawned: Vec::new(), waited: 0, stopped: false };
    (Addr::new(sender), ctx, receiver)
}

mod an_own_run_loop {
    use super::*;

    #[test]
    fn runner_outlives_panic_with_same_address() {
        system(async {
            let (addr, mut ctx, mut mailbox) = bare();
            actix::spawn(async move {
                let mut actor = Echo::default();
                while let Some(mut envelope) = mailbox.next().await {
                    let turn = AssertUnwindSafe(|| envelope.handle(&mut actor, &mut ctx));
                    if catch_unwind(turn).is_err() {
                        actor = Echo::default();
                    }
                }
            });
            assert_eq!(addr.send(Count).await, Ok(1));
            let (boom, queued) = (addr.send(Boom), addr.send(Count));
            assert_eq!(boom.await, Err(MailboxError::Closed));
            assert_eq!(queued.await, Ok(1));
        });
    }

    #[test]
    fn attached_answers_use_spawn_exclusive_ones_wait() {
        let (addr, mut ctx, mut mailbox) = bare();
        let (_attached, _exclusive) = (addr.send(Attached), addr.send(Exclusive));
        for _ in 0..2 {
            mailbox.next().now_or_never().flatten().unwrap().handle(&mut Echo::default(), &mut ctx);
        }
        assert_eq!((ctx.spawned.len(), ctx.waited), (1, 1));
    }

    #[test]
    fn dropped_answer_closes_channel_of_caller() {
        let (_addr, mut ctx, _mailbox) = bare();
        let (tx, mut rx) = oneshot::channel();
        let pending: ResponseActFuture<Echo, ()> = Box::pin(pending().into_actor(&Echo::default()));
        MessageResponse::<Echo, Attached>::handle(pending, &mut ctx, Some(tx));
        assert_eq!(rx.try_recv(), Err(oneshot::error::TryRecvError::Empty));
        ctx.spawned.clear();
        assert_eq!(rx.try_recv(), Err(oneshot::error::TryRecvError::Closed));
    }
}
