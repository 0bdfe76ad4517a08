//! One built actor with its context and its futures: a generation of a node.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context as Waking, Poll};

use actix::dev::channel::AddressSender;
use actix::dev::{Envelope, EnvelopeProxy};
use futures_util::future::LocalBoxFuture;

use crate::address::Address;
use crate::context::{Context, Ending, Supervised};
use crate::decide::Exit;
use crate::fault::Injected;
use crate::letter::Letter;
use crate::panic::{self, Panic};
use crate::tasks::{Task, TaskSet};
use crate::vitals::Node;

/// Message names kept for the flight recorder.
const RECENT: usize = 8;
/// Futures polled in one turn.
const POLLS: usize = 64;

/// What of a tree is alive, for tests that must leave nothing behind.
#[derive(Debug, Clone, Default)]
pub(crate) struct Live {
    instances: Arc<AtomicUsize>,
    runners: Arc<AtomicUsize>,
}

impl Live {
    pub(crate) fn instance(&self) -> Living {
        Living::new(&self.instances)
    }

    pub(crate) fn runner(&self) -> Living {
        Living::new(&self.runners)
    }

    /// Instances and runners alive.
    pub(crate) fn count(&self) -> (usize, usize) {
        (self.instances.load(Ordering::Acquire), self.runners.load(Ordering::Acquire))
    }
}

/// One living thing.
#[derive(Debug)]
pub(crate) struct Living(Arc<AtomicUsize>);

impl Living {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(count))
    }
}

impl Drop for Living {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

pub(crate) struct Instance<A: Supervised> {
    /// Taken when dropped, so that each part is dropped guarded by itself.
    actor: Option<A>,
    pub(crate) ctx: Context<A>,
    tasks: TaskSet<A>,
    waits: Vec<Task<A>>,
    pub(crate) generation: u64,
    pub(crate) recent: VecDeque<&'static str>,
    node: Arc<Node>,
    _living: Living,
}

/// Whether an instance goes on.
pub(crate) type Turn = Result<(), Exit>;

impl<A: Supervised> Instance<A> {
    /// Wraps a built actor and lets it start.
    pub(crate) fn start(
        actor: A,
        address: Address<A>,
        side: AddressSender<A>,
        generation: u64,
        living: Living,
    ) -> (Self, Turn) {
        let node = Arc::clone(&address.shared.node);
        let mut instance = Self {
            actor: Some(actor),
            ctx: Context::new(address, side, generation),
            tasks: TaskSet::new(),
            waits: Vec::new(),
            generation,
            recent: VecDeque::with_capacity(RECENT),
            node,
            _living: living,
        };
        let turn = instance.turn(Some("started"), |actor, ctx| actor.started(ctx));
        (instance, turn)
    }

    /// Whether a future that stops everything else has not ended.
    pub(crate) fn waiting(&self) -> bool {
        !self.waits.is_empty()
    }

    /// Whether futures still work on answers.
    pub(crate) fn answering(&self) -> bool {
        self.waiting() || self.tasks.answering()
    }

    /// Handles a letter. A panic while reading is returned beside the turn.
    pub(crate) fn deliver(
        &mut self,
        letter: Arc<dyn Letter<A>>,
        fault: Option<Injected>,
    ) -> (Turn, Option<Panic>) {
        let read_only = letter.read_only();
        self.begin(letter.name());
        let Some(actor) = self.actor.as_mut() else { return (Ok(()), None) };
        let ctx = &mut self.ctx;
        let handled = panic::caught(|| letter.deliver(actor, ctx, fault));
        self.node.handled.fetch_add(1, Ordering::Relaxed);
        match handled {
            Ok(()) => (self.settle(), None),
            Err(panic) if read_only => (self.settle(), Some(panic)),
            Err(panic) => (Err(panic.into_exit(self.ctx.label)), None),
        }
    }

    /// Handles a message that came through actix's own address.
    pub(crate) fn deliver_side(&mut self, mut envelope: Envelope<A>) -> Turn {
        self.node.begin(Some("side message"));
        self.node.handled.fetch_add(1, Ordering::Relaxed);
        self.turn(None, |actor, ctx| envelope.handle(actor, ctx))
    }

    /// Polls the waits, the last one first, and then the futures that are ready.
    pub(crate) fn poll_futures(&mut self, cx: &mut Waking<'_>) -> Poll<Exit> {
        self.tasks.register(cx.waker());
        for _ in 0..POLLS {
            if let Some(mut wait) = self.waits.pop() {
                let below = self.waits.len();
                self.resume(wait.label);
                match self.poll_task(&mut wait, cx) {
                    Ok(Poll::Ready(())) => panic::discard(wait),
                    Ok(Poll::Pending) => {
                        // Waits it has just added come before it.
                        let newer = self.waits.len() > below;
                        self.waits.insert(below, wait);
                        if !newer {
                            return Poll::Pending;
                        }
                    }
                    Err(exit) => {
                        panic::discard(wait);
                        return Poll::Ready(exit);
                    }
                }
                continue;
            }
            let Some((handle, mut spawned)) = self.tasks.next_ready() else { return Poll::Pending };
            self.resume(spawned.task.label);
            let waker = spawned.waker.clone();
            match self.poll_task(&mut spawned.task, &mut Waking::from_waker(&waker)) {
                Err(exit) => {
                    panic::discard(spawned.task);
                    return Poll::Ready(exit);
                }
                Ok(Poll::Ready(())) => self.tasks.finish(spawned),
                Ok(Poll::Pending) => self.tasks.put_back(handle, spawned),
            }
            self.cancel();
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Asks the actor for its clean-up.
    pub(crate) fn drain(&mut self) -> Result<LocalBoxFuture<'static, ()>, Panic> {
        let Some(actor) = self.actor.as_mut() else { return Ok(Box::pin(std::future::ready(()))) };
        let ctx = &mut self.ctx;
        ctx.label = Some("drain");
        let drain = panic::caught(|| actor.drain(ctx))?;
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

    fn turn(&mut self, label: Option<&'static str>, work: impl FnOnce(&mut A, &mut Context<A>)) -> Turn {
        self.ctx.label = label;
        let Some(actor) = self.actor.as_mut() else { return Ok(()) };
        let ctx = &mut self.ctx;
        match panic::caught(|| work(actor, ctx)) {
            Ok(()) => self.settle(),
            Err(panic) => Err(panic.into_exit(self.ctx.label)),
        }
    }

    fn poll_task(&mut self, task: &mut Task<A>, cx: &mut Waking<'_>) -> Result<Poll<()>, Exit> {
        let Some(actor) = self.actor.as_mut() else { return Ok(Poll::Pending) };
        let ctx = &mut self.ctx;
        let polled = panic::caught(|| task.future.as_mut().poll(actor, ctx, cx))
            .map_err(|panic| panic.into_exit(task.label))?;
        self.settle()?;
        Ok(polled)
    }

    /// Takes up what the actor did to its context.
    fn settle(&mut self) -> Turn {
        self.stage();
        match &self.ctx.ending {
            Some(Ending::Fail(reason)) => Err(Exit::Failed { reason: reason.clone() }),
            Some(Ending::Terminate) => Err(Exit::Normal),
            Some(Ending::Stop) | None => Ok(()),
        }
    }

    fn stage(&mut self) {
        for (handle, task) in self.ctx.spawned.drain(..) {
            self.tasks.insert(handle, task);
        }
        self.waits.append(&mut self.ctx.waits);
        self.cancel();
    }

    fn cancel(&mut self) {
        while let Some(handle) = self.ctx.cancelled.pop() {
            self.tasks.cancel(handle);
        }
    }
}

impl<A: Supervised> Drop for Instance<A> {
    fn drop(&mut self) {
        panic::discard(self.actor.take());
        for wait in self.waits.drain(..) {
            panic::discard(wait);
        }
        for (_, task) in self.ctx.spawned.drain(..) {
            panic::discard(task);
        }
    }
}
