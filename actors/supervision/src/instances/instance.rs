//! One built actor with its context and its futures: a generation of a node.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context as Waking, Poll};

use actix::dev::{Envelope as ActixEnvelope, EnvelopeProxy};
use futures_util::future::LocalBoxFuture;

use crate::decide::Exit;
use crate::fault::MessageFault;
use crate::instances::context::{Context, Ending, Supervised};
use crate::instances::instance_count::InstanceCountGuard;
use crate::instances::panic::{self, Panic};
use crate::instances::tasks::{ActorTask, TaskSet};
use crate::mailbox::address::Address;
use crate::mailbox::envelope::Envelope;
use crate::mailbox::side_mailbox::SideMailbox;
use crate::observation::vitals::NodeVitals;

/// Number of message names kept for the flight recorder.
const RECENT: usize = 8;
/// Number of futures polled in one turn.
const POLLS: usize = 64;

pub(crate) struct Instance<A: Supervised> {
    /// Taken on drop, so that a panic of one part does not keep the others from being dropped.
    actor: Option<A>,
    pub(crate) ctx: Context<A>,
    /// Made by the first spawned future: most actors have none.
    tasks: Option<Box<TaskSet<A>>>,
    waits: Vec<ActorTask<A>>,
    pub(crate) generation: u64,
    pub(crate) recent: VecDeque<&'static str>,
    node: Arc<NodeVitals>,
    _count_guard: InstanceCountGuard,
}

/// The result of a turn: `Err` ends the instance.
pub(crate) type TurnResult = Result<(), Exit>;

impl<A: Supervised> Instance<A> {
    /// Wraps a built actor and lets it start.
    pub(crate) fn start(
        actor: A,
        address: Address<A>,
        side: Rc<SideMailbox<A>>,
        generation: u64,
        living: InstanceCountGuard,
    ) -> (Self, TurnResult) {
        let node = Arc::clone(&address.inner.node);
        let mut instance = Self {
            actor: Some(actor),
            ctx: Context::new(address, side, generation),
            tasks: None,
            waits: Vec::new(),
            generation,
            recent: VecDeque::new(),
            node,
            _count_guard: living,
        };
        let turn = instance.turn(Some("started"), |actor, ctx| actor.started(ctx));
        (instance, turn)
    }

    /// Returns `true` while a future blocks the mailbox and all other futures.
    pub(crate) fn waiting(&self) -> bool {
        !self.waits.is_empty()
    }

    /// Returns `true` while futures still work on answers.
    pub(crate) fn answering(&self) -> bool {
        self.waiting() || self.tasks.as_ref().is_some_and(|tasks| tasks.answering())
    }

    /// Handles an envelope. A panic while reading is returned with the turn.
    pub(crate) fn deliver(
        &mut self,
        envelope: Arc<dyn Envelope<A>>,
        fault: Option<MessageFault>,
    ) -> (TurnResult, Option<Panic>) {
        let read_only = envelope.read_only();
        self.begin(envelope.name());
        let Some(actor) = self.actor.as_mut() else { return (Ok(()), None) };
        let ctx = &mut self.ctx;
        let handled = panic::catch_panic(|| envelope.deliver(actor, ctx, fault));
        self.node.handled.fetch_add(1, Ordering::Relaxed);
        match handled {
            Ok(()) => (self.settle(), None),
            Err(panic) if read_only => (self.settle(), Some(panic)),
            Err(panic) => (Err(panic.into_exit(self.ctx.label)), None),
        }
    }

    /// Handles a message sent through actix's own address.
    pub(crate) fn deliver_side_message(&mut self, mut message: ActixEnvelope<A>) -> TurnResult {
        self.node.begin(Some("side message"));
        self.node.handled.fetch_add(1, Ordering::Relaxed);
        self.turn(None, |actor, ctx| message.handle(actor, ctx))
    }

    /// Polls the waits, the last one first, and then the futures that are ready.
    pub(crate) fn poll_futures(&mut self, cx: &mut Waking<'_>) -> Poll<Exit> {
        let mut registered = false;
        for _ in 0..POLLS {
            if let Some(mut wait) = self.waits.pop() {
                let below = self.waits.len();
                self.resume(wait.label);
                match self.poll_task(&mut wait, cx) {
                    Ok(Poll::Ready(())) => panic::drop_caught(wait),
                    Ok(Poll::Pending) => {
                        // Waits it has just added come before it.
                        let newer = self.waits.len() > below;
                        self.waits.insert(below, wait);
                        if !newer {
                            return Poll::Pending;
                        }
                    }
                    Err(exit) => {
                        panic::drop_caught(wait);
                        return Poll::Ready(exit);
                    }
                }
                continue;
            }
            let Some(tasks) = self.tasks.as_mut() else { return Poll::Pending };
            if !registered {
                tasks.register(cx.waker());
                registered = true;
            }
            let Some((handle, mut spawned)) = tasks.next_ready() else { return Poll::Pending };
            self.resume(spawned.task.label);
            let waker = spawned.waker.clone();
            match self.poll_task(&mut spawned.task, &mut Waking::from_waker(&waker)) {
                Err(exit) => {
                    panic::drop_caught(spawned.task);
                    return Poll::Ready(exit);
                }
                Ok(Poll::Ready(())) => self.task_set().finish(spawned),
                Ok(Poll::Pending) => self.task_set().put_back(handle, spawned),
            }
            self.cancel();
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Starts the clean-up of the actor.
    pub(crate) fn drain(&mut self) -> Result<LocalBoxFuture<'static, ()>, Panic> {
        let Some(actor) = self.actor.as_mut() else { return Ok(Box::pin(std::future::ready(()))) };
        let ctx = &mut self.ctx;
        ctx.label = Some("drain");
        let drain = panic::catch_panic(|| actor.drain(ctx))?;
        self.stage();
        Ok(drain)
    }

    fn begin(&mut self, name: &'static str) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(name);
        self.resume(Some(name));
    }

    fn resume(&mut self, label: Option<&'static str>) {
        self.ctx.label = label;
        self.node.begin(label);
    }

    fn turn(
        &mut self,
        label: Option<&'static str>,
        work: impl FnOnce(&mut A, &mut Context<A>),
    ) -> TurnResult {
        self.ctx.label = label;
        let Some(actor) = self.actor.as_mut() else { return Ok(()) };
        let ctx = &mut self.ctx;
        match panic::catch_panic(|| work(actor, ctx)) {
            Ok(()) => self.settle(),
            Err(panic) => Err(panic.into_exit(self.ctx.label)),
        }
    }

    fn poll_task(&mut self, task: &mut ActorTask<A>, cx: &mut Waking<'_>) -> Result<Poll<()>, Exit> {
        let Some(actor) = self.actor.as_mut() else { return Ok(Poll::Pending) };
        let ctx = &mut self.ctx;
        let polled = panic::catch_panic(|| task.future.as_mut().poll(actor, ctx, cx))
            .map_err(|panic| panic.into_exit(task.label))?;
        self.settle()?;
        Ok(polled)
    }

    /// Applies what the actor did to its context.
    fn settle(&mut self) -> TurnResult {
        self.stage();
        match &self.ctx.ending {
            Some(Ending::Fail(reason)) => Err(Exit::Failed { reason: reason.clone() }),
            Some(Ending::Terminate) => Err(Exit::Normal),
            Some(Ending::Stop) | None => Ok(()),
        }
    }

    fn stage(&mut self) {
        if !self.ctx.spawned.is_empty() {
            let spawned = std::mem::take(&mut self.ctx.spawned);
            let tasks = self.task_set();
            spawned.into_iter().for_each(|(handle, task)| tasks.insert(handle, task));
        }
        self.waits.append(&mut self.ctx.waits);
        self.cancel();
    }

    fn cancel(&mut self) {
        while let Some(handle) = self.ctx.cancelled.pop() {
            if let Some(tasks) = self.tasks.as_mut() {
                tasks.cancel(handle);
            }
        }
    }

    fn task_set(&mut self) -> &mut TaskSet<A> {
        self.tasks.get_or_insert_with(|| Box::new(TaskSet::new()))
    }
}

impl<A: Supervised> Drop for Instance<A> {
    fn drop(&mut self) {
        panic::drop_caught(self.actor.take());
        for wait in self.waits.drain(..) {
            panic::drop_caught(wait);
        }
        for (_, task) in self.ctx.spawned.drain(..) {
            panic::drop_caught(task);
        }
    }
}
