//! Arbiters, the runtimes under them, and time.

use std::cell::Cell;
use std::future::{pending, ready};
use std::rc::Rc;
use std::sync::mpsc;
use std::thread::ThreadId;
use std::time::Duration;

use actix::MailboxError;

use super::*;

mod an_arbiter {
    use super::*;

    #[test]
    fn stopped_runtime_ends_actors_and_closes_callers() {
        let log = Log::default();
        let probe = ProbeActor { log: log.clone(), ..ProbeActor::default() };
        system(async {
            let arbiter = Arbiter::new();
            let addr = ProbeActor::start_in_arbiter(&arbiter.handle(), |_| probe);
            let (_speak, speech) = oneshot::channel();
            let attached = addr.send(Attached(speech));
            addr.send(Count).await.unwrap();
            arbiter.stop();
            assert_eq!(attached.await, Err(MailboxError::Closed));
            arbiter.join().unwrap();
        });
        assert_eq!(lines(&log), ["started", "stopping", "stopped"]);
    }

    #[test]
    fn dead_arbiter_starts_a_closed_actor_silently() {
        system(async {
            let arbiter = Arbiter::new();
            let handle = arbiter.handle();
            arbiter.stop();
            arbiter.join().unwrap();
            assert!(!handle.spawn(ready(())));
            let addr = ProbeActor::start_in_arbiter(&handle, |_| ProbeActor::default());
            assert_eq!(addr.send(Count).await, Err(MailboxError::Closed));
        });
    }

    #[test]
    fn outlives_its_value() {
        system(async {
            let addr = ProbeActor::start_in_arbiter(&Arbiter::new().handle(), |_| ProbeActor::default());
            assert_eq!(addr.send(Count).await, Ok(1));
        });
    }
}

/// Notifies the other end when it is dropped, and on which thread it was made.
async fn task(born: mpsc::Sender<ThreadId>, _alive: oneshot::Sender<()>) {
    born.send(thread::current().id()).unwrap();
    pending().await
}

/// The threads of an actor on `arbiter` and of a task its handler spawned, and the task's end.
async fn spawn_on(arbiter: &Arbiter) -> (ThreadId, ThreadId, oneshot::Receiver<()>) {
    let addr = ProbeActor::start_in_arbiter(&arbiter.handle(), |_| ProbeActor::default());
    let (born, births) = mpsc::channel();
    let (alive, life) = oneshot::channel();
    let run = Run(Box::new(move |_| {
        born.send(thread::current().id()).unwrap();
        tokio::spawn(task(born, alive));
    }));
    addr.send(run).await.unwrap();
    (births.recv().unwrap(), births.recv().unwrap(), life)
}

#[test]
fn task_spawned_in_a_handler_dies_with_arbiter() {
    system(async {
        let arbiter = Arbiter::new();
        let (actor, task, life) = spawn_on(&arbiter).await;
        assert_eq!(actor, task);
        arbiter.stop();
        arbiter.join().unwrap();
        assert!(life.await.is_err());
    });
}

#[test]
fn shared_runtime_task_runs_pooled_and_outlives_arbiter() {
    let runtime = Arc::new(tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap());
    system(async {
        let shared = runtime.clone();
        let arbiter = Arbiter::with_tokio_rt(move || shared);
        let (actor, task, mut life) = spawn_on(&arbiter).await;
        assert_ne!(actor, task);
        arbiter.stop();
        arbiter.join().unwrap();
        assert_eq!(life.try_recv(), Err(oneshot::error::TryRecvError::Empty));
    });
}

mod a_paused_runtime {
    use super::*;
    use tokio::time::{sleep, timeout};

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn moves_time_whenever_nothing_is_ready() {
        let ticks = Rc::new(Cell::new(0));
        paused_system(async {
            let addr = ProbeActor::default().start();
            let (tick, mut ticked) = tokio::sync::mpsc::unbounded_channel();
            addr.do_send(Run(Box::new(move |ctx| {
                ctx.run_interval(HOUR, move |_, _| tick.send(()).unwrap());
            })));
            sleep(30 * 24 * HOUR + HOUR / 2).await;
            while ticked.try_recv().is_ok() {
                ticks.set(ticks.get() + 1);
            }
        });
        assert_eq!(ticks.get(), 720);
    }

    #[test]
    fn waits_for_spawn_blocking() {
        paused_system(async {
            let (_hold, held) = mpsc::channel::<()>();
            let work = tokio::task::spawn_blocking(move || held.recv_timeout(Duration::from_millis(20)));
            assert!(timeout(HOUR, work).await.is_ok());
        });
    }

    #[test]
    fn leaps_while_another_thread_works() {
        paused_system(async {
            let (_answer, answered) = oneshot::channel::<()>();
            let (release, released) = mpsc::channel::<()>();
            let other = thread::spawn(move || released.recv().map(|()| drop(_answer)));
            assert!(timeout(HOUR, answered).await.is_err());
            release.send(()).unwrap();
            other.join().unwrap().unwrap();
        });
    }
}
