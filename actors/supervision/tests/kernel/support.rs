//! The actor most tests use, and small helpers.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix::{Actor, ActorContext, Handler, Message, ResponseActFuture, WrapFuture};
use actix_supervision::{
    Address, Backoff, CallErrorKind, ChildSpec, Context, Placement, ReadHandler, ReadReply, RestartPolicy,
    StartError, Supervised, Tree,
};
use futures_util::future::LocalBoxFuture;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

/// The steps of the actors, in order: `"drain store"`, `"start store"`.
#[derive(Clone, Default)]
pub(crate) struct Journal(Arc<Mutex<Vec<String>>>);

impl Journal {
    pub(crate) fn note(&self, what: impl Into<String>) {
        self.0.lock().push(what.into());
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock())
    }
}

/// Counts what it is asked to count, and obeys every message.
pub(crate) struct ProbeActor {
    pub(crate) total: u64,
    pub(crate) generation: u64,
    pub(crate) journal: Journal,
    /// Held calls wait for a permit of this.
    pub(crate) gate: Arc<Semaphore>,
    running: Running,
}

/// Notes when two instances of one generation run at once.
struct Running {
    key: (String, u64),
    all: Rc<RefCell<HashSet<(String, u64)>>>,
}

thread_local! {
    static RUNNING: Rc<RefCell<HashSet<(String, u64)>>> = Rc::default();
}

impl Running {
    fn new(tree_path: String, generation: u64) -> Self {
        let all = RUNNING.with(Rc::clone);
        let key = (tree_path, generation);
        assert!(all.borrow_mut().insert(key.clone()), "two instances of {key:?}");
        Self { key, all }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.all.borrow_mut().remove(&self.key);
    }
}

impl Actor for ProbeActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        assert_eq!(ctx.path().as_str(), self.running.key.0);
        self.journal.note(format!("start {}", ctx.path()));
    }
}

impl Supervised for ProbeActor {
    fn drain(&mut self, ctx: &mut Context<Self>) -> LocalBoxFuture<'static, ()> {
        let (journal, path) = (self.journal.clone(), ctx.path().clone());
        Box::pin(async move {
            tokio::task::yield_now().await;
            journal.note(format!("drain {path}"));
        })
    }
}

/// Adds one and answers the total of this instance.
#[derive(Debug, Message)]
#[rtype(result = "u64")]
pub(crate) struct Count;

impl Handler<Count> for ProbeActor {
    type Result = u64;

    fn handle(&mut self, _: Count, _: &mut Self::Context) -> u64 {
        self.total += 1;
        self.total
    }
}

/// Panics.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Boom;

impl Handler<Boom> for ProbeActor {
    type Result = ();

    fn handle(&mut self, _: Boom, _: &mut Self::Context) {
        panic!("boom");
    }
}

/// Ends the instance as failed.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Fail;

impl Handler<Fail> for ProbeActor {
    type Result = ();

    fn handle(&mut self, _: Fail, ctx: &mut Self::Context) {
        ctx.fail("told to");
    }
}

/// Ends the instance normally.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct FinishMessage;

impl Handler<FinishMessage> for ProbeActor {
    type Result = ();

    fn handle(&mut self, _: FinishMessage, ctx: &mut Self::Context) {
        ctx.stop();
    }
}

/// Answers the generation once the probe's gate lets it.
#[derive(Debug, Message)]
#[rtype(result = "u64")]
pub(crate) struct HoldMessage;

impl Handler<HoldMessage> for ProbeActor {
    type Result = ResponseActFuture<Self, u64>;

    fn handle(&mut self, _: HoldMessage, ctx: &mut Self::Context) -> Self::Result {
        let (gate, generation) = (Arc::clone(&self.gate), ctx.generation());
        Box::pin(
            async move {
                gate.acquire().await.unwrap().forget();
                generation
            }
            .into_actor(self),
        )
    }
}

/// Asks for the generation, read only.
#[derive(Debug, Message)]
#[rtype(result = "u64")]
pub(crate) struct Generation;

impl ReadHandler<Generation> for ProbeActor {
    fn read(&self, _: Generation) -> ReadReply<u64> {
        ReadReply::Now(self.generation)
    }
}

/// Panics while reading, at once or later.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Poison {
    pub(crate) later: bool,
}

impl ReadHandler<Poison> for ProbeActor {
    fn read(&self, message: Poison) -> ReadReply<()> {
        if message.later {
            return ReadReply::later(async { panic!("poisoned later") });
        }
        panic!("poisoned")
    }
}

/// Answers when the probe's gate lets it, read only.
#[derive(Debug, Message)]
#[rtype(result = "u64")]
pub(crate) struct SlowRead;

impl ReadHandler<SlowRead> for ProbeActor {
    fn read(&self, _: SlowRead) -> ReadReply<u64> {
        let (gate, generation) = (Arc::clone(&self.gate), self.generation);
        ReadReply::later(async move {
            gate.acquire().await.unwrap().forget();
            generation
        })
    }
}

/// Waits for the probe's gate and then counts, whoever still waits for it.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct SlowRun(pub(crate) Arc<AtomicUsize>);

impl ReadHandler<SlowRun> for ProbeActor {
    fn read(&self, SlowRun(done): SlowRun) -> ReadReply<()> {
        let gate = Arc::clone(&self.gate);
        ReadReply::detached(async move {
            gate.acquire().await.unwrap().forget();
            done.fetch_add(1, Ordering::SeqCst);
        })
    }
}

/// The state that the probes of one test share.
#[derive(Clone)]
pub(crate) struct Lab {
    pub(crate) tree: Tree,
    pub(crate) journal: Journal,
    pub(crate) gate: Arc<Semaphore>,
    pub(crate) starts: Arc<AtomicUsize>,
}

impl Lab {
    pub(crate) fn new(tree: &Tree) -> Self {
        Self {
            tree: tree.clone(),
            journal: Journal::default(),
            gate: Arc::new(Semaphore::new(0)),
            starts: Arc::default(),
        }
    }

    /// A factory of probes.
    pub(crate) fn factory(
        &self,
    ) -> impl Fn(actix_supervision::StartContext) -> std::future::Ready<Result<ProbeActor, StartError>>
    + Send
    + Sync
    + use<> {
        let (journal, gate, starts) =
            (self.journal.clone(), Arc::clone(&self.gate), Arc::clone(&self.starts));
        move |start| {
            starts.fetch_add(1, Ordering::SeqCst);
            std::future::ready(Ok(ProbeActor {
                total: 0,
                generation: start.generation,
                journal: journal.clone(),
                gate: Arc::clone(&gate),
                running: Running::new(start.path.to_string(), start.generation),
            }))
        }
    }

    pub(crate) async fn spawn(&self, path: &str, spec: ChildSpec) -> Address<ProbeActor> {
        self.tree.spawn(path, spec, Placement::Here, self.factory()).await.unwrap()
    }

    /// Spawns and waits until it runs.
    pub(crate) async fn running(&self, path: &str, spec: ChildSpec) -> Address<ProbeActor> {
        let address = self.spawn(path, spec).await;
        self.tree.wait_until_running(path).await.unwrap();
        address
    }
}

/// `budget` restarts in 30 s without chance: at once, then 100 ms, 200 ms …
pub(crate) fn policy(budget: u32) -> RestartPolicy {
    RestartPolicy {
        max_restarts: budget,
        backoff: Backoff { first: Duration::from_millis(100), max: Duration::from_secs(5), jitter: 0.0 },
        ..RestartPolicy::default()
    }
}

pub(crate) fn spec(budget: u32) -> ChildSpec {
    ChildSpec::new().policy(policy(budget))
}

/// Waits, in virtual time, until `condition` holds.
pub(crate) async fn eventually(mut condition: impl FnMut() -> bool) {
    for _ in 0..10_000 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("never came true");
}

/// Lets everything that can go on now go on, without moving the clock.
pub(crate) async fn settle() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

/// The kind of a failed call.
pub(crate) fn kind<T: std::fmt::Debug, M>(
    outcome: Result<T, actix_supervision::CallError<M>>,
) -> CallErrorKind {
    outcome.unwrap_err().kind
}
