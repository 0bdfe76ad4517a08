//! The runner of a node: one future on the node's thread that owns its mailbox and its instances.
//!
//! It carries out the commands of the supervisor and reports the results; it decides nothing about restarts.
//! The mailbox outlives the instances. At most [`MESSAGES_PER_POLL`] messages are handled in one poll, so
//! that a flood cannot starve the neighbours on the thread.

use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context as Waking, Poll};
use std::time::Duration;

use futures_channel::mpsc::UnboundedReceiver;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::oneshot;
use tokio::time::Sleep;

use crate::clock;
use crate::decide::Exit;
use crate::error::{CallErrorKind, StartError};
use crate::fault::NodeFaults;
use crate::instances::context::{Ending, Supervised};
use crate::instances::draining::DrainingInstance;
use crate::instances::instance::{Instance, TurnResult};
use crate::instances::panic::{self, CatchPanic};
use crate::mailbox::address::{Address, AddressInner};
use crate::mailbox::envelope::Envelope;
use crate::mailbox::side_mailbox::SideMailbox;
use crate::observation::vitals::NodeVitals;
use crate::protocol::{
    Built, ExitReporter, Factory, LifecycleCommand, RunnerCommand, RunnerReport, StartContext,
};
use crate::state::NodeState;

/// Messages handled in one poll.
pub(crate) const MESSAGES_PER_POLL: usize = 64;

/// The parts of a runner, which are sent to its thread.
pub(crate) struct RunnerParts<A: Supervised> {
    pub(crate) inner: Arc<AddressInner<A>>,
    pub(crate) envelopes: UnboundedReceiver<Arc<dyn Envelope<A>>>,
    pub(crate) control: UnboundedReceiver<RunnerCommand<A>>,
    pub(crate) factory: Factory<A>,
    pub(crate) faults: Option<Box<NodeFaults>>,
    pub(crate) reporter: ExitReporter,
}

impl<A: Supervised> RunnerParts<A> {
    /// Runs the node on this thread until it is ordered to end.
    ///
    /// Not an `async fn`, whose future would hold the parts twice, in each of thousands of nodes.
    pub(crate) fn run(self) -> impl Future<Output = ()> {
        let node = Arc::clone(&self.inner.node);
        node.record_thread();
        let side = Rc::new(SideMailbox::new(node.admission.bound()));
        let mut runner = Runner {
            parts: self,
            node,
            side,
            starting: None,
            instance: None,
            preparing: Vec::new(),
            prepared: Vec::new(),
            draining: Vec::new(),
            reads: None,
            drain_deadline: None,
        };
        std::future::poll_fn(move |cx| runner.poll(cx))
    }
}

impl<A: Supervised> RunnerParts<A> {
    /// Closes the mailbox and hands back the queued envelopes.
    fn close(&mut self) {
        self.envelopes.close();
        let kind = self.inner.node.admission.refusal().unwrap_or(CallErrorKind::Stopped);
        while let Ok(envelope) = self.envelopes.try_recv() {
            refuse(envelope, kind.clone());
        }
    }
}

impl<A: Supervised> Drop for RunnerParts<A> {
    /// The thread may have ended with envelopes in the mailbox: their callers hold them too, and would wait
    /// for ever.
    fn drop(&mut self) {
        self.close();
    }
}

/// Hands an envelope back. Without a caller its message is dropped here.
fn refuse<A: Supervised>(envelope: Arc<dyn Envelope<A>>, kind: CallErrorKind) {
    let _ = panic::catch_panic(move || envelope.refuse(kind));
}

struct Runner<A: Supervised> {
    parts: RunnerParts<A>,
    node: Arc<NodeVitals>,
    side: Rc<SideMailbox<A>>,
    starting: Option<(u64, CatchPanic<Built<A>>)>,
    instance: Option<Instance<A>>,
    preparing: Vec<Preparing<A>>,
    prepared: Vec<(u64, A, Factory<A>)>,
    draining: Vec<DrainingInstance<A>>,
    /// Made by the first read that takes time.
    reads: Option<FuturesUnordered<PendingRead>>,
    drain_deadline: Option<Pin<Box<Sleep>>>,
}

struct Preparing<A: Supervised> {
    id: u64,
    building: CatchPanic<Built<A>>,
    factory: Factory<A>,
    reply: Option<oneshot::Sender<Result<(), StartError>>>,
}

/// The result of a turn of an instance.
enum TurnOutcome {
    Continue,
    Drain(Exit),
    End(Exit),
}

impl<A: Supervised> Runner<A> {
    fn poll(&mut self, cx: &mut Waking<'_>) -> Poll<()> {
        while let Poll::Ready(Some(control)) = self.parts.control.poll_next_unpin(cx) {
            if self.apply(control).is_break() {
                return Poll::Ready(());
            }
        }
        let was_open = self.side.is_open();
        self.poll_starting(cx);
        self.poll_preparing(cx);
        self.poll_instance(cx);
        self.poll_draining(cx);
        self.poll_reads(cx);
        if !was_open && self.side.is_open() {
            // The side mailbox wakes this runner only once it was polled.
            cx.waker().wake_by_ref();
        }
        if !self.instance.as_ref().is_some_and(Instance::waiting) {
            self.node.end();
        }
        if self.is_drained(cx) {
            self.stop();
            return Poll::Ready(());
        }
        Poll::Pending
    }

    fn apply(&mut self, control: RunnerCommand<A>) -> std::ops::ControlFlow<()> {
        match control {
            RunnerCommand::Lifecycle(LifecycleCommand::Start { generation, attempt }) => {
                let building = self.build(self.parts.factory.clone(), generation, attempt);
                self.starting = Some((generation, building));
            }
            RunnerCommand::Lifecycle(LifecycleCommand::Halt { deadline }) => self.halt(deadline),
            RunnerCommand::Lifecycle(LifecycleCommand::Commit { id, generation, deadline }) => {
                self.commit(id, generation, deadline);
            }
            RunnerCommand::Lifecycle(LifecycleCommand::Drain { deadline }) => self.drain(deadline),
            RunnerCommand::Lifecycle(LifecycleCommand::Kill) => {
                self.stop();
                return std::ops::ControlFlow::Break(());
            }
            RunnerCommand::Lifecycle(LifecycleCommand::Recheck) => {}
            RunnerCommand::Lifecycle(LifecycleCommand::Ping { answer }) => {
                // A caller whose time is over has left.
                let _ = answer.send(());
            }
            RunnerCommand::Prepare { id, generation, factory, reply } => {
                let building = self.build(factory.clone(), generation, 1);
                self.preparing.push(Preparing { id, building, factory, reply: Some(reply) });
            }
            RunnerCommand::Discard { id } => {
                self.preparing.retain(|preparing| preparing.id != id);
                let discarded = self.prepared.extract_if(.., |prepared| prepared.0 == id);
                discarded.for_each(|(_, actor, _)| panic::drop_caught(actor));
            }
        }
        std::ops::ControlFlow::Continue(())
    }

    /// Calls a factory on the first poll, so that its panic is caught as well.
    fn build(&self, factory: Factory<A>, generation: u64, attempt: u32) -> CatchPanic<Built<A>> {
        let start = StartContext { path: self.node.path.clone(), generation, attempt };
        let fault = self.parts.faults.as_deref().and_then(NodeFaults::start);
        CatchPanic::new(Box::pin(async move {
            match fault {
                Some(error) => Err(error),
                None => factory(start).await,
            }
        }))
    }

    fn halt(&mut self, deadline: Duration) {
        let starting = self.starting.take().map(|(generation, _)| generation);
        if let Some(instance) = self.instance.take() {
            let deadline = clock::sleep(deadline);
            self.draining.push(DrainingInstance::new(instance, deadline, Some(Exit::Ordered)));
            return;
        }
        let mut reported = false;
        for draining in self.draining.iter_mut().filter(|draining| draining.exit.is_some()) {
            draining.hurry(clock::sleep(deadline));
            reported = true;
        }
        if !reported {
            let generation = starting.unwrap_or_else(|| self.node.generation.load(Ordering::Acquire));
            self.report(RunnerReport::Exited { generation, exit: Exit::Ordered, recent: Vec::new() });
        }
    }

    fn drain(&mut self, deadline: Duration) {
        self.starting = None;
        self.draining.iter_mut().for_each(|draining| draining.end_node(clock::sleep(deadline)));
        if let Some(instance) = &mut self.instance {
            instance.ctx.is_node_ending = true;
        }
        let deadline = clock::sleep(deadline);
        if self.drain_deadline.as_ref().is_none_or(|earlier| deadline.deadline() < earlier.deadline()) {
            self.drain_deadline = Some(Box::pin(deadline));
        }
    }

    fn commit(&mut self, id: u64, generation: u64, deadline: Duration) {
        let Some(index) = self.prepared.iter().position(|prepared| prepared.0 == id) else {
            return self.report_not_prepared(id);
        };
        let (_, actor, factory) = self.prepared.swap_remove(index);
        self.parts.factory = factory;
        self.starting = None;
        if let Some(old) = self.instance.take() {
            self.draining.push(DrainingInstance::new(old, clock::sleep(deadline), None));
        }
        self.report(RunnerReport::Committed { id, generation });
        self.install(actor, generation);
    }

    fn report_not_prepared(&self, id: u64) {
        let instance = self.instance.as_ref().map(|instance| (instance.generation, true));
        let starting = self.starting.as_ref().map(|(generation, _)| (*generation, false));
        let (generation, running) = instance.or(starting).unzip();
        let generation = generation.unwrap_or_else(|| self.node.generation.load(Ordering::Acquire));
        self.report(RunnerReport::NotPrepared { id, generation, running });
    }

    fn poll_starting(&mut self, cx: &mut Waking<'_>) {
        let Some((generation, building)) = self.starting.as_mut() else { return };
        let generation = *generation;
        self.node.begin(Some("start"));
        let Poll::Ready(built) = Pin::new(building).poll(cx) else { return };
        self.starting = None;
        let exit = match built {
            Ok(Ok(actor)) => return self.install(actor, generation),
            Ok(Err(error)) => Exit::StartFailed(error),
            Err(panic) => panic.into_exit(Some("start")),
        };
        self.report(RunnerReport::Exited { generation, exit, recent: Vec::new() });
    }

    fn install(&mut self, actor: A, generation: u64) {
        self.node.generation.store(generation, Ordering::Release);
        let address = Address { inner: Arc::clone(&self.parts.inner) };
        let living = self.parts.reporter.context.instance_count.instance();
        let side = Rc::clone(&self.side);
        match Instance::start(actor, address, side, generation, living) {
            (instance, Ok(())) => {
                self.report(RunnerReport::Started { generation });
                self.instance = Some(instance);
            }
            (instance, Err(exit)) => self.drop_instance(instance, exit),
        }
    }

    fn drop_instance(&mut self, instance: Instance<A>, exit: Exit) {
        let (generation, recent) = (instance.generation, instance.recent.iter().copied().collect());
        drop(instance);
        self.report(RunnerReport::Exited { generation, exit, recent });
    }

    fn poll_preparing(&mut self, cx: &mut Waking<'_>) {
        let mut index = 0;
        while let Some(preparing) = self.preparing.get_mut(index) {
            let Poll::Ready(built) = Pin::new(&mut preparing.building).poll(cx) else {
                index += 1;
                continue;
            };
            let Preparing { id, factory, reply, .. } = self.preparing.swap_remove(index);
            let outcome = match built {
                Ok(Ok(actor)) => {
                    self.prepared.push((id, actor, factory));
                    Ok(())
                }
                Ok(Err(error)) => Err(error),
                Err(panic) => Err(StartError::Transient(panic.into_exit(Some("start")).to_string())),
            };
            // A caller that has left discards the instance by a command of its own.
            let _ = reply.map(|reply| reply.send(outcome));
        }
    }

    fn poll_instance(&mut self, cx: &mut Waking<'_>) {
        let Some(mut instance) = self.instance.take() else { return self.refuse_queued(cx) };
        match self.run_turn(&mut instance, cx) {
            TurnOutcome::Continue => self.instance = Some(instance),
            TurnOutcome::End(exit) => self.drop_instance(instance, exit),
            TurnOutcome::Drain(exit) => {
                let deadline = match &self.drain_deadline {
                    Some(drain_deadline) => clock::sleep_until(drain_deadline.deadline()),
                    None => clock::sleep(self.node.drain_deadline),
                };
                self.draining.push(DrainingInstance::new(instance, deadline, Some(exit)));
            }
        }
    }

    fn run_turn(&mut self, instance: &mut Instance<A>, cx: &mut Waking<'_>) -> TurnOutcome {
        let mut empty = false;
        let mut budget = MESSAGES_PER_POLL;
        let turn = self.handle_messages(instance, &mut budget, &mut empty, cx);
        let blocked = instance.waiting();
        let polled = match turn {
            Err(exit) => return TurnOutcome::End(exit),
            Ok(()) => instance.poll_futures(cx),
        };
        if let Poll::Ready(exit) = polled {
            return TurnOutcome::End(exit);
        }
        self.take_reads(instance);
        if instance.ctx.ending == Some(Ending::Stop) {
            return TurnOutcome::Drain(Exit::Normal);
        }
        if self.drain_deadline.is_some() && empty && !instance.waiting() {
            return TurnOutcome::Drain(Exit::Ordered);
        }
        if budget == 0 || (blocked && !instance.waiting()) {
            cx.waker().wake_by_ref();
        }
        TurnOutcome::Continue
    }

    /// Handles queued messages until the queue is empty, `budget` is used up, or the instance is blocked or
    /// ends.
    fn handle_messages(
        &mut self,
        instance: &mut Instance<A>,
        budget: &mut usize,
        empty: &mut bool,
        cx: &mut Waking<'_>,
    ) -> TurnResult {
        while *budget > 0 && !instance.waiting() && instance.ctx.ending.is_none() {
            *budget -= 1;
            if let Poll::Ready(Some(envelope)) = self.parts.envelopes.poll_next_unpin(cx) {
                let fault = self.parts.faults.as_ref().and_then(|faults| faults.message(envelope.name()));
                let (turn, read_panic) = instance.deliver(envelope, fault);
                if let Some(panic) = read_panic {
                    let exit = panic.into_exit(instance.ctx.label);
                    slog::warn!(self.log(), "read failed"; "actor" => self.node.path.as_str(), "exit" => %exit);
                }
                self.take_reads(instance);
                turn?;
            } else if let Poll::Ready(Some(message)) = self.side.poll_next(cx) {
                instance.deliver_side_message(message)?;
            } else {
                *empty = true;
                *budget = MESSAGES_PER_POLL;
                return Ok(());
            }
        }
        Ok(())
    }

    fn take_reads(&mut self, instance: &mut Instance<A>) {
        if instance.ctx.reads.is_empty() {
            return;
        }
        let node = &self.node;
        self.reads.get_or_insert_default().extend(instance.ctx.reads.drain(..).map(|(label, answer)| {
            PendingRead { label, answer: CatchPanic::new(answer), node: Arc::clone(node) }
        }));
    }

    /// Keeps messages for the next instance, or hands them back if there will be none.
    fn refuse_queued(&mut self, cx: &mut Waking<'_>) {
        let closed =
            |state| matches!(state, NodeState::Quarantined | NodeState::Draining | NodeState::Stopped);
        if !closed(self.node.admission.state()) {
            return;
        }
        let kind = self.node.admission.refusal().unwrap_or(CallErrorKind::Stopped);
        while let Poll::Ready(Some(envelope)) = self.parts.envelopes.poll_next_unpin(cx) {
            refuse(envelope, kind.clone());
        }
        while let Poll::Ready(Some(message)) = self.side.poll_next(cx) {
            panic::drop_caught(message);
        }
    }

    fn poll_draining(&mut self, cx: &mut Waking<'_>) {
        let mut index = 0;
        while let Some(draining) = self.draining.get_mut(index) {
            let Poll::Ready(broken) = draining.poll(cx) else {
                index += 1;
                continue;
            };
            let mut instance = self.draining.swap_remove(index);
            let (generation, recent) = (instance.generation(), instance.recent());
            if let Some(exit) = &broken {
                slog::warn!(self.log(), "drain failed"; "actor" => self.node.path.as_str(),
                    "generation" => generation, "exit" => %exit);
            }
            let reported = instance.exit.take();
            drop(instance);
            if let Some(exit) = reported {
                self.report(RunnerReport::Exited { generation, exit, recent });
            }
        }
    }

    fn poll_reads(&mut self, cx: &mut Waking<'_>) {
        for _ in 0..MESSAGES_PER_POLL {
            let Some(reads) = self.reads.as_mut() else { return };
            let Poll::Ready(Some((label, outcome))) = reads.poll_next_unpin(cx) else { return };
            if let Err(panic) = outcome {
                let exit = panic.into_exit(label);
                slog::warn!(self.log(), "read failed"; "actor" => self.node.path.as_str(), "exit" => %exit);
            }
        }
        cx.waker().wake_by_ref();
    }

    /// Returns `true` once an ordered drain is over or its deadline has passed.
    fn is_drained(&mut self, cx: &mut Waking<'_>) -> bool {
        let Some(deadline) = self.drain_deadline.as_mut() else { return false };
        let idle = self.instance.is_none()
            && self.draining.is_empty()
            && self.reads.as_ref().is_none_or(|reads| reads.is_empty());
        let late = !idle && deadline.as_mut().poll(cx).is_ready();
        if late {
            self.node.forced.store(true, Ordering::Release);
        }
        idle || late
    }

    /// Drops everything and hands back what is still queued.
    fn stop(&mut self) {
        self.starting = None;
        self.preparing.clear();
        self.prepared.drain(..).for_each(|(_, actor, _)| panic::drop_caught(actor));
        self.reads = None;
        let mut ended: Vec<_> =
            self.draining.drain(..).map(|draining| (draining.generation(), draining.recent())).collect();
        ended.extend(self.instance.take().map(|i| (i.generation, i.recent.iter().copied().collect())));
        for (generation, recent) in ended {
            self.report(RunnerReport::Exited { generation, exit: Exit::Ordered, recent });
        }
        self.parts.close();
        self.node.end();
        self.parts.reporter.ended = true;
        self.report(RunnerReport::Ended);
    }

    fn log(&self) -> &slog::Logger {
        &self.parts.reporter.context.log
    }

    fn report(&self, report: RunnerReport) {
        self.parts.reporter.report(report);
    }
}

/// The answer to a read-only message, being computed.
struct PendingRead {
    label: Option<&'static str>,
    answer: CatchPanic<LocalBoxFuture<'static, ()>>,
    node: Arc<NodeVitals>,
}

impl Future for PendingRead {
    type Output = (Option<&'static str>, Result<(), panic::Panic>);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Waking<'_>) -> Poll<Self::Output> {
        self.node.begin(self.label);
        let label = self.label;
        Pin::new(&mut self.answer).poll(cx).map(|outcome| (label, outcome))
    }
}
