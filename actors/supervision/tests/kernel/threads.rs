//! Several threads, real time: a blocked one is seen and delays no other.

use std::sync::mpsc;
use std::time::Duration;

use actix::{Actor, Handler, Message, ResponseActFuture, WrapFuture};
use actix_rt::{Arbiter, System};
use actix_supervision::{
    Address, CallErrorKind, ChildSpec, Context, NodePath, NodeState, NotRunningError, Placement, StartError,
    Supervised, Tree, TreeExit,
};
use tokio::sync::oneshot;

struct Worker;

impl Actor for Worker {
    type Context = Context<Self>;
}

impl Supervised for Worker {}

/// Blocks the thread until released.
#[derive(Message)]
#[rtype(result = "()")]
struct Block {
    begun: oneshot::Sender<()>,
    until: mpsc::Receiver<()>,
}

impl Handler<Block> for Worker {
    type Result = ();

    fn handle(&mut self, block: Block, _: &mut Self::Context) {
        let _ = block.begun.send(());
        let _ = block.until.recv();
    }
}

/// Waits, without its thread, until the sender is dropped.
#[derive(Message)]
#[rtype(result = "()")]
struct Wait(oneshot::Receiver<()>);

impl Handler<Wait> for Worker {
    type Result = ResponseActFuture<Self, ()>;

    fn handle(&mut self, Wait(until): Wait, _: &mut Self::Context) -> Self::Result {
        let waiting = async {
            let _ = until.await;
        };
        Box::pin(waiting.into_actor(self))
    }
}

#[derive(Debug, Message)]
#[rtype(result = "u32")]
struct Work {
    crash: bool,
}

impl Handler<Work> for Worker {
    type Result = u32;

    fn handle(&mut self, work: Work, _: &mut Self::Context) -> u32 {
        assert!(!work.crash, "told to");
        1
    }
}

fn arbiter() -> Arbiter {
    Arbiter::with_tokio_rt(|| tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap())
}

async fn worker(tree: &Tree, path: &str, on: &Arbiter) -> Address<Worker> {
    let factory = |_| std::future::ready(Ok::<_, StartError>(Worker));
    let at = Placement::On(on.handle());
    let address = tree.spawn(path, ChildSpec::new(), at, factory).await.unwrap();
    tree.wait_until_running(path).await.unwrap();
    address
}

/// Blocks the worker's thread; dropping the sender frees it.
async fn block(worker: &Address<Worker>) -> mpsc::Sender<()> {
    let (begun, blocked) = oneshot::channel();
    let (free, until) = mpsc::channel();
    worker.cast(Block { begun, until }).unwrap();
    blocked.await.unwrap();
    free
}

#[test]
fn blocked_thread_is_named_with_its_message() {
    System::new().block_on(async {
        let (keeper, one, two) = (arbiter(), arbiter(), arbiter());
        let tree = Tree::builder("test").supervisor(Placement::On(keeper.handle())).build();
        let stuck = worker(&tree, "stuck", &one).await;
        let fine = worker(&tree, "fine", &two).await;
        let free = block(&stuck).await;

        let view = tree.snapshot();
        let node = view.node("stuck").unwrap();
        assert_eq!(node.handling, Some("Block"));
        assert!(node.busy_ms.is_some());
        assert!(node.thread.is_some());

        let crashed = fine.call(Work { crash: true }).await.unwrap_err();
        assert_eq!(crashed.kind, CallErrorKind::Crashed);
        assert_eq!(fine.call(Work { crash: false }).await.unwrap(), 1);
        assert_eq!(fine.vitals().generation, 2);

        drop(free);
        assert_eq!(stuck.call(Work { crash: false }).await.unwrap(), 1);
        crate::support::eventually(|| stuck.vitals().busy_ms.is_none()).await;
        assert_eq!(tree.shutdown(Duration::from_secs(10)).await, TreeExit::Shutdown);
    });
}

#[test]
fn shutdown_gives_up_a_blocked_thread_in_time() {
    System::new().block_on(async {
        let one = arbiter();
        let tree = Tree::builder("test").build();
        let stuck = worker(&tree, "stuck", &one).await;
        let free = block(&stuck).await;
        assert_eq!(tree.shutdown(Duration::from_millis(20)).await, TreeExit::Shutdown);
        assert_eq!(tree.snapshot().node("stuck").unwrap().state, NodeState::Stopped);
        drop(free);
    });
}

#[test]
fn node_of_an_ended_thread_refuses_calls() {
    System::new().block_on(async {
        let one = arbiter();
        let tree = Tree::builder("test").build();
        let mut events = tree.subscribe();
        let lost = worker(&tree, "lost", &one).await;
        one.stop();
        while events.recv().await.unwrap().kind != actix_supervision::EventKind::Stopped {}
        assert_eq!(tree.wait_until_running("lost").await, Err(NotRunningError::Stopped));
        assert_eq!(lost.call(Work { crash: false }).await.unwrap_err().kind, CallErrorKind::Stopped);
        assert_eq!(lost.vitals().last_exit.unwrap(), "failed: its thread has ended");
        tree.shutdown(Duration::from_secs(10)).await;
    });
}

#[test]
fn every_call_gets_an_outcome_during_crashes() {
    fn needs_send<T: Send>(value: T) -> T {
        value
    }
    System::new().block_on(async {
        let home = arbiter();
        let tree = Tree::builder("test").build();
        let factory = |_| std::future::ready(Ok::<_, StartError>(Worker));
        let mut policy = actix_supervision::RestartPolicy { max_restarts: 1000, ..Default::default() };
        policy.backoff.max = Duration::from_millis(1);
        let spec = ChildSpec::new().mailbox(8).policy(policy);
        let target = tree.spawn("target", spec, Placement::On(home.handle()), factory).await.unwrap();
        let mut clients = Vec::new();
        for client in 0..4_u32 {
            let (thread, target) = (arbiter(), target.clone());
            let (done, outcomes) = oneshot::channel();
            thread.spawn(needs_send(async move {
                let (mut answered, mut refused, mut crashed) = (0, 0, 0);
                for turn in 0..500 {
                    match target.call(Work { crash: turn % 50 == client }).await {
                        Ok(_) => answered += 1,
                        Err(error) if error.is_retryable() => refused += 1,
                        Err(error) => {
                            assert_eq!(error.kind, CallErrorKind::Crashed);
                            crashed += 1;
                        }
                    }
                }
                let _ = done.send((answered, refused, crashed));
            }));
            clients.push((thread, outcomes));
        }
        for (_thread, outcomes) in clients {
            let (answered, refused, crashed) = outcomes.await.unwrap();
            assert_eq!(answered + refused + crashed, 500);
        }
        // A place is given back on the actor's thread, a moment after the answer was sent.
        let empty = async {
            while target.vitals().mailbox_depth > 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), empty).await.expect("no place is leaked");
        assert!(target.vitals().mailbox_high_water <= 8);
        tree.shutdown(Duration::from_secs(10)).await;
    });
}

const SOON: Duration = Duration::from_secs(60);
const LATE: Duration = Duration::from_millis(20);

#[test]
fn blocked_essential_actor_is_unresponsive() {
    System::new().block_on(async {
        let (keeper, one, two) = (arbiter(), arbiter(), arbiter());
        let tree = Tree::builder("test").supervisor(Placement::On(keeper.handle())).build();
        let factory = |_| std::future::ready(Ok::<_, StartError>(Worker));
        let at = Placement::On(one.handle());
        let vital = tree.spawn("vital", ChildSpec::new().essential(), at, factory).await.unwrap();
        let other = worker(&tree, "other", &two).await;
        let free_other = block(&other).await;
        let (release, until) = oneshot::channel();
        vital.cast(Wait(until)).unwrap();
        assert!(tree.find_unresponsive(SOON).await.is_empty(), "it waits, and another one is blocked");
        drop(release);
        let free = block(&vital).await;
        let unresponsive = tree.find_unresponsive(LATE).await;
        assert_eq!(unresponsive.iter().map(NodePath::as_str).collect::<Vec<_>>(), ["vital"]);
        drop((free, free_other));
        assert!(tree.find_unresponsive(SOON).await.is_empty());
        tree.shutdown(Duration::from_secs(10)).await;
        assert!(tree.find_unresponsive(SOON).await.is_empty(), "a tree that has ended");
    });
}

#[test]
fn blocked_supervisor_is_unresponsive() {
    System::new().block_on(async {
        let keeper = arbiter();
        let tree = Tree::builder("test").supervisor(Placement::On(keeper.handle())).build();
        let (free, until) = mpsc::channel::<()>();
        let (begun, blocked) = oneshot::channel();
        keeper.spawn_fn(move || {
            let _ = begun.send(());
            let _ = until.recv();
        });
        blocked.await.unwrap();
        let unresponsive = tree.find_unresponsive(LATE).await;
        assert_eq!(unresponsive.iter().map(NodePath::as_str).collect::<Vec<_>>(), [""]);
        drop(free);
        assert!(tree.find_unresponsive(SOON).await.is_empty());
        tree.shutdown(Duration::from_secs(10)).await;
    });
}

#[test]
fn supervisor_without_its_thread_is_unresponsive() {
    System::new().block_on(async {
        let keeper = arbiter();
        let tree = Tree::builder("test").supervisor(Placement::On(keeper.handle())).build();
        assert!(tree.find_unresponsive(SOON).await.is_empty());
        keeper.stop();
        keeper.join().unwrap();
        let unresponsive = tree.find_unresponsive(SOON).await;
        assert_eq!(unresponsive.iter().map(NodePath::as_str).collect::<Vec<_>>(), [""]);
    });
}
