//! The futures an instance has spawned, each with a waker of its own: a wake-up polls one of them, not all.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};

use actix::{ActorFuture, SpawnHandle};
use futures_util::task::AtomicWaker;

use crate::context::Supervised;
use crate::gate::lock;
use crate::letter::Letter;
use crate::panic;

pub(crate) type TaskFuture<A> = Pin<Box<dyn ActorFuture<A, Output = ()>>>;

/// One spawned future.
pub(crate) struct Task<A: Supervised> {
    pub(crate) future: TaskFuture<A>,
    /// The message that spawned it.
    pub(crate) label: Option<&'static str>,
    /// The letter it answers: held, so that the gate counts it; a drain waits for it.
    pub(crate) letter: Option<Arc<dyn Letter<A>>>,
}

/// A task with its waker.
pub(crate) struct Spawned<A: Supervised> {
    pub(crate) task: Task<A>,
    wake: Arc<TaskWaker>,
    pub(crate) waker: Waker,
}

pub(crate) struct TaskSet<A: Supervised> {
    tasks: HashMap<SpawnHandle, Spawned<A>>,
    ready: Arc<Ready>,
    answers: usize,
}

impl<A: Supervised> TaskSet<A> {
    pub(crate) fn new() -> Self {
        Self { tasks: HashMap::new(), ready: Arc::default(), answers: 0 }
    }

    /// Adds a task, to be polled soon.
    pub(crate) fn insert(&mut self, handle: SpawnHandle, task: Task<A>) {
        self.answers += usize::from(task.letter.is_some());
        let wake =
            Arc::new(TaskWaker { handle, queued: AtomicBool::new(true), ready: Arc::clone(&self.ready) });
        let waker = Waker::from(Arc::clone(&wake));
        self.tasks.insert(handle, Spawned { task, wake, waker });
        self.ready.push(handle);
    }

    /// Drops a task.
    pub(crate) fn cancel(&mut self, handle: SpawnHandle) {
        if let Some(spawned) = self.tasks.remove(&handle) {
            self.drop_task(spawned);
        }
    }

    /// Whether a task still works on an answer.
    pub(crate) fn answering(&self) -> bool {
        self.answers > 0
    }

    /// Names who is woken when a task is ready.
    pub(crate) fn register(&self, waker: &Waker) {
        self.ready.runner.register(waker);
    }

    /// Takes the next task to be polled out of the set.
    pub(crate) fn next_ready(&mut self) -> Option<(SpawnHandle, Spawned<A>)> {
        loop {
            let handle = lock(&self.ready.handles).pop_front()?;
            if let Some(spawned) = self.tasks.remove(&handle) {
                spawned.wake.queued.store(false, Ordering::Release);
                return Some((handle, spawned));
            }
        }
    }

    /// Puts a task back that has not ended.
    pub(crate) fn put_back(&mut self, handle: SpawnHandle, spawned: Spawned<A>) {
        self.tasks.insert(handle, spawned);
    }

    /// Drops a task that has ended.
    pub(crate) fn finish(&mut self, spawned: Spawned<A>) {
        self.drop_task(spawned);
    }

    fn drop_task(&mut self, spawned: Spawned<A>) {
        self.answers -= usize::from(spawned.task.letter.is_some());
        panic::discard(spawned.task);
    }
}

impl<A: Supervised> Drop for TaskSet<A> {
    fn drop(&mut self) {
        for (_, spawned) in self.tasks.drain() {
            panic::discard(spawned.task);
        }
    }
}

#[derive(Default)]
struct Ready {
    handles: Mutex<std::collections::VecDeque<SpawnHandle>>,
    runner: AtomicWaker,
}

impl Ready {
    fn push(&self, handle: SpawnHandle) {
        lock(&self.handles).push_back(handle);
        self.runner.wake();
    }
}

struct TaskWaker {
    handle: SpawnHandle,
    queued: AtomicBool,
    ready: Arc<Ready>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::AcqRel) {
            self.ready.push(self.handle);
        }
    }
}
