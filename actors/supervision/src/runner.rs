//! The runner of a node: one future on the node's thread that owns its mailbox and its instances.
//!
//! It obeys the keeper's orders and reports what came of them; it decides nothing about restarts. The mailbox
//! outlives the instances. At most [`LETTERS`] messages are handled in one poll, so that a flood cannot starve the
//! neighbours on the thread.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context as Waking, Poll};
use std::time::Duration;

use actix::dev::channel::{AddressReceiver, AddressSender};
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, Stream, StreamExt};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio::time::Sleep;

use crate::address::{Address, CallErrorKind, Shared};
use crate::clock;
use crate::context::{Ending, Supervised};
use crate::decide::{Exit, StartError};
use crate::fault::NodeFaults;
use crate::gate::NodeState;
use crate::instance::{Instance, Turn};
use crate::leaving::Leaving;
use crate::letter::Letter;
use crate::panic::{self, Caught};
use crate::protocol::{Built, Control, Factory, Line, Order, Report, StartContext};
use crate::vitals::Node;

/// Messages handled in one poll.
pub(crate) const LETTERS: usize = 64;

/// What a runner is made of before it reaches its thread.
pub(crate) struct Launch<A: Supervised> {
    pub(crate) shared: Arc<Shared<A>>,
    pub(crate) letters: UnboundedReceiver<Arc<dyn Letter<A>>>,
    pub(crate) control: UnboundedReceiver<Control<A>>,
    pub(crate) factory: Factory<A>,
    pub(crate) faults: Option<NodeFaults>,
    pub(crate) log: slog::Logger,
    pub(crate) line: Line,
}

impl<A: Supervised> Launch<A> {
    /// Runs the node on this thread until it is ordered to end.
    pub(crate) async fn run(self) {
        let node = Arc::clone(&self.shared.node);
        node.on_this_thread();
        let (side_sender, side) = actix::dev::channel::channel(node.gate.bound());
        let mut runner = Runner {
            launch: self,
            node,
            side,
            side_sender,
            starting: None,
            instance: None,
            preparing: Vec::new(),
            prepared: Vec::new(),
            leaving: Vec::new(),
            reads: FuturesUnordered::new(),
            draining: None,
        };
        std::future::poll_fn(|cx| runner.poll(cx)).await;
    }
}

impl<A: Supervised> Launch<A> {
    /// Takes no more letters and hands back those that are queued.
    fn close(&mut self) {
        self.letters.close();
        let kind = self.shared.node.gate.refusal().unwrap_or(CallErrorKind::Stopped);
        while let Ok(letter) = self.letters.try_recv() {
            refuse(letter, kind.clone());
        }
    }
}

impl<A: Supervised> Drop for Launch<A> {
    /// The thread may have ended with letters in the mailbox: their callers hold them too, and would wait for ever.
    fn drop(&mut self) {
        self.close();
    }
}

/// Hands a letter back, to nobody perhaps: then its message is dropped here.
fn refuse<A: Supervised>(letter: Arc<dyn Letter<A>>, kind: CallErrorKind) {
    let _ = panic::caught(move || letter.refuse(kind));
}

struct Runner<A: Supervised> {
    launch: Launch<A>,
    node: Arc<Node>,
    side: AddressReceiver<A>,
    side_sender: AddressSender<A>,
    starting: Option<(u64, Caught<Built<A>>)>,
    instance: Option<Instance<A>>,
    preparing: Vec<Preparing<A>>,
    prepared: Vec<(u64, A, Factory<A>)>,
    leaving: Vec<Leaving<A>>,
    reads: FuturesUnordered<Read>,
    draining: Option<Pin<Box<Sleep>>>,
}

struct Preparing<A: Supervised> {
    id: u64,
    building: Caught<Built<A>>,
    factory: Factory<A>,
    reply: Option<oneshot::Sender<Result<(), StartError>>>,
}

/// How an instance's turn went.
enum After {
    GoesOn,
    Leaves(Exit),
    Ends(Exit),
}

impl<A: Supervised> Runner<A> {
    fn poll(&mut self, cx: &mut Waking<'_>) -> Poll<()> {
        while let Poll::Ready(Some(control)) = self.launch.control.poll_recv(cx) {
            if self.obey(control).is_break() {
                return Poll::Ready(());
            }
        }
        self.poll_starting(cx);
        self.poll_preparing(cx);
        self.poll_instance(cx);
        self.poll_leaving(cx);
        self.poll_reads(cx);
        if !self.instance.as_ref().is_some_and(Instance::waiting) {
            self.node.end();
        }
        if self.drained(cx) {
            self.end();
            return Poll::Ready(());
        }
        Poll::Pending
    }

    fn obey(&mut self, control: Control<A>) -> std::ops::ControlFlow<()> {
        match control {
            Control::Order(Order::Start { generation, attempt }) => {
                let building = self.build(self.launch.factory.clone(), generation, attempt);
                self.starting = Some((generation, building));
            }
            Control::Order(Order::Halt { deadline }) => self.halt(deadline),
            Control::Order(Order::Commit { id, generation, deadline }) => {
                self.commit(id, generation, deadline);
            }
            Control::Order(Order::Drain { deadline }) => self.drain(deadline),
            Control::Order(Order::Kill) => {
                self.end();
                return std::ops::ControlFlow::Break(());
            }
            Control::Order(Order::Recheck) => {}
            Control::Prepare { id, generation, factory, reply } => {
                let building = self.build(factory.clone(), generation, 1);
                self.preparing.push(Preparing { id, building, factory, reply: Some(reply) });
            }
            Control::Discard { id } => {
                self.preparing.retain(|preparing| preparing.id != id);
                let discarded = self.prepared.extract_if(.., |prepared| prepared.0 == id);
                discarded.for_each(|(_, actor, _)| panic::discard(actor));
            }
        }
        std::ops::ControlFlow::Continue(())
    }

    /// Calls a factory, on first poll, so that its panic is caught as well.
    fn build(&self, factory: Factory<A>, generation: u64, attempt: u32) -> Caught<Built<A>> {
        let start = StartContext { path: self.node.path.clone(), generation, attempt };
        let fault = self.launch.faults.as_ref().and_then(NodeFaults::start);
        Caught::new(Box::pin(async move {
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
            self.leaving.push(Leaving::new(instance, deadline, Some(Exit::Ordered)));
            return;
        }
        let mut reported = false;
        for leaving in self.leaving.iter_mut().filter(|leaving| leaving.exit.is_some()) {
            leaving.hurry(clock::sleep(deadline));
            reported = true;
        }
        if !reported {
            let generation = starting.unwrap_or_else(|| self.node.generation.load(Ordering::Acquire));
            self.report(Report::Exited { generation, exit: Exit::Ordered, recent: Vec::new() });
        }
    }

    fn drain(&mut self, deadline: Duration) {
        self.starting = None;
        self.leaving.iter_mut().for_each(|leaving| leaving.hurry(clock::sleep(deadline)));
        let deadline = clock::sleep(deadline);
        if self.draining.as_ref().is_none_or(|earlier| deadline.deadline() < earlier.deadline()) {
            self.draining = Some(Box::pin(deadline));
        }
    }

    fn commit(&mut self, id: u64, generation: u64, deadline: Duration) {
        let Some(index) = self.prepared.iter().position(|prepared| prepared.0 == id) else {
            return self.not_prepared(id);
        };
        let (_, actor, factory) = self.prepared.swap_remove(index);
        self.launch.factory = factory;
        self.starting = None;
        if let Some(old) = self.instance.take() {
            self.leaving.push(Leaving::new(old, clock::sleep(deadline), None));
        }
        self.report(Report::Committed { id, generation });
        self.install(actor, generation);
    }

    fn not_prepared(&self, id: u64) {
        let instance = self.instance.as_ref().map(|instance| (instance.generation, true));
        let starting = self.starting.as_ref().map(|(generation, _)| (*generation, false));
        let (generation, running) = instance.or(starting).unzip();
        let generation = generation.unwrap_or_else(|| self.node.generation.load(Ordering::Acquire));
        self.report(Report::NotPrepared { id, generation, running });
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
        self.report(Report::Exited { generation, exit, recent: Vec::new() });
    }

    fn install(&mut self, actor: A, generation: u64) {
        self.node.generation.store(generation, Ordering::Release);
        let address = Address { shared: Arc::clone(&self.launch.shared) };
        let living = self.launch.line.live.instance();
        let side = self.side_sender.clone();
        match Instance::start(actor, address, side, generation, living) {
            (instance, Ok(())) => {
                self.report(Report::Started { generation });
                self.instance = Some(instance);
            }
            (instance, Err(exit)) => self.bury(instance, exit),
        }
    }

    fn bury(&mut self, instance: Instance<A>, exit: Exit) {
        let (generation, recent) = (instance.generation, instance.recent.iter().copied().collect());
        drop(instance);
        self.report(Report::Exited { generation, exit, recent });
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
            // Whoever asked and left discards by a message of its own.
            let _ = reply.map(|reply| reply.send(outcome));
        }
    }

    fn poll_instance(&mut self, cx: &mut Waking<'_>) {
        let Some(mut instance) = self.instance.take() else { return self.refuse_queued(cx) };
        match self.turn(&mut instance, cx) {
            After::GoesOn => self.instance = Some(instance),
            After::Ends(exit) => self.bury(instance, exit),
            After::Leaves(exit) => {
                let deadline = match &self.draining {
                    Some(draining) => clock::sleep_until(draining.deadline()),
                    None => clock::sleep(self.node.drain_deadline),
                };
                self.leaving.push(Leaving::new(instance, deadline, Some(exit)));
            }
        }
    }

    fn turn(&mut self, instance: &mut Instance<A>, cx: &mut Waking<'_>) -> After {
        let mut empty = false;
        let mut left = LETTERS;
        let turn = self.handle_letters(instance, &mut left, &mut empty, cx);
        let blocked = instance.waiting();
        let polled = match turn {
            Err(exit) => return After::Ends(exit),
            Ok(()) => instance.poll_futures(cx),
        };
        if let Poll::Ready(exit) = polled {
            return After::Ends(exit);
        }
        self.take_reads(instance);
        if instance.ctx.ending == Some(Ending::Stop) {
            return After::Leaves(Exit::Normal);
        }
        if self.draining.is_some() && empty && !instance.waiting() {
            return After::Leaves(Exit::Ordered);
        }
        if left == 0 || (blocked && !instance.waiting()) {
            cx.waker().wake_by_ref();
        }
        After::GoesOn
    }

    /// Handles what is queued until nothing is, `left` is used up, or the instance waits or ends.
    fn handle_letters(
        &mut self,
        instance: &mut Instance<A>,
        left: &mut usize,
        empty: &mut bool,
        cx: &mut Waking<'_>,
    ) -> Turn {
        while *left > 0 && !instance.waiting() && instance.ctx.ending.is_none() {
            *left -= 1;
            if let Poll::Ready(Some(letter)) = self.launch.letters.poll_recv(cx) {
                let fault = self.launch.faults.as_ref().and_then(|faults| faults.message(letter.name()));
                let (turn, read_panic) = instance.deliver(letter, fault);
                if let Some(panic) = read_panic {
                    let exit = panic.into_exit(instance.ctx.label);
                    slog::warn!(self.launch.log, "read failed"; "actor" => self.node.path.as_str(), "exit" => %exit);
                }
                self.take_reads(instance);
                turn?;
            } else if let Poll::Ready(Some(envelope)) = Pin::new(&mut self.side).poll_next(cx) {
                instance.deliver_side(envelope)?;
            } else {
                *empty = self.launch.letters.is_empty();
                *left = LETTERS;
                return Ok(());
            }
        }
        Ok(())
    }

    fn take_reads(&mut self, instance: &mut Instance<A>) {
        let node = &self.node;
        self.reads.extend(instance.ctx.reads.drain(..).map(|(label, answer)| Read {
            label,
            answer: Caught::new(answer),
            node: Arc::clone(node),
        }));
    }

    /// Without an instance, messages wait for the next one, or are handed back if none will come.
    fn refuse_queued(&mut self, cx: &mut Waking<'_>) {
        let closed =
            |state| matches!(state, NodeState::Quarantined | NodeState::Draining | NodeState::Stopped);
        if !closed(self.node.gate.state()) {
            return;
        }
        let kind = self.node.gate.refusal().unwrap_or(CallErrorKind::Stopped);
        while let Poll::Ready(Some(letter)) = self.launch.letters.poll_recv(cx) {
            refuse(letter, kind.clone());
        }
        while let Poll::Ready(Some(envelope)) = Pin::new(&mut self.side).poll_next(cx) {
            panic::discard(envelope);
        }
    }

    fn poll_leaving(&mut self, cx: &mut Waking<'_>) {
        let mut index = 0;
        while let Some(leaving) = self.leaving.get_mut(index) {
            let Poll::Ready(broken) = leaving.poll(cx) else {
                index += 1;
                continue;
            };
            let mut gone = self.leaving.swap_remove(index);
            let (generation, recent) = (gone.generation(), gone.recent());
            if let Some(exit) = &broken {
                slog::warn!(self.launch.log, "drain failed"; "actor" => self.node.path.as_str(),
                    "generation" => generation, "exit" => %exit);
            }
            let reported = gone.exit.take();
            drop(gone);
            if let Some(exit) = reported {
                self.report(Report::Exited { generation, exit, recent });
            }
        }
    }

    fn poll_reads(&mut self, cx: &mut Waking<'_>) {
        for _ in 0..LETTERS {
            let Poll::Ready(Some((label, outcome))) = self.reads.poll_next_unpin(cx) else { return };
            if let Err(panic) = outcome {
                let exit = panic.into_exit(label);
                slog::warn!(self.launch.log, "read failed"; "actor" => self.node.path.as_str(), "exit" => %exit);
            }
        }
        cx.waker().wake_by_ref();
    }

    /// Whether an ordered drain is over, or its time is.
    fn drained(&mut self, cx: &mut Waking<'_>) -> bool {
        let Some(deadline) = self.draining.as_mut() else { return false };
        let idle = self.instance.is_none() && self.leaving.is_empty() && self.reads.is_empty();
        let late = !idle && deadline.as_mut().poll(cx).is_ready();
        if late {
            self.node.forced.store(true, Ordering::Release);
        }
        idle || late
    }

    /// Drops everything and hands back what is still queued.
    fn end(&mut self) {
        self.starting = None;
        self.preparing.clear();
        self.prepared.drain(..).for_each(|(_, actor, _)| panic::discard(actor));
        self.reads.clear();
        let mut ended: Vec<_> =
            self.leaving.drain(..).map(|leaving| (leaving.generation(), leaving.recent())).collect();
        ended.extend(self.instance.take().map(|i| (i.generation, i.recent.iter().copied().collect())));
        for (generation, recent) in ended {
            self.report(Report::Exited { generation, exit: Exit::Ordered, recent });
        }
        self.launch.close();
        self.node.end();
        self.launch.line.ended = true;
        self.report(Report::Ended);
    }

    fn report(&self, report: Report) {
        self.launch.line.report(report);
    }
}

/// The answer to a read-only message, being computed.
struct Read {
    label: Option<&'static str>,
    answer: Caught<LocalBoxFuture<'static, ()>>,
    node: Arc<Node>,
}

impl Future for Read {
    type Output = (Option<&'static str>, Result<(), panic::Panic>);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Waking<'_>) -> Poll<Self::Output> {
        self.node.begin(self.label);
        let label = self.label;
        Pin::new(&mut self.answer).poll(cx).map(|outcome| (label, outcome))
    }
}
