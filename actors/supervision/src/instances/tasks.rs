//! The futures that an instance has spawned, each with a waker of its own: a wake-up polls one of them, not
//! all.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};

use actix::{ActorFuture, SpawnHandle};
use futures_util::task::AtomicWaker;
use parking_lot::Mutex;

use crate::instances::context::Supervised;
use crate::instances::panic;
use crate::mailbox::envelope::Envelope;

pub(crate) type ActorTaskFuture<A> = Pin<Box<dyn ActorFuture<A, Output = ()>>>;

/// One spawned future.
pub(crate) struct ActorTask<A: Supervised> {
    pub(crate) future: ActorTaskFuture<A>,
    /// The message that spawned it.
    pub(crate) label: Option<&'static str>,
    /// The envelope that the task answers. Held so that the message counts as in flight; a drain waits for
    /// it.
    pub(crate) envelope: Option<Arc<dyn Envelope<A>>>,
}

/// A task with its waker.
pub(crate) struct TaskEntry<A: Supervised> {
    pub(crate) task: ActorTask<A>,
    wake: Arc<TaskWaker>,
    pub(crate) waker: Waker,
}

pub(crate) struct TaskSet<A: Supervised> {
    tasks: HashMap<SpawnHandle, TaskEntry<A>>,
    ready: Arc<ReadyQueue>,
    answers: usize,
}

impl<A: Supervised> TaskSet<A> {
    pub(crate) fn new() -> Self {
        Self { tasks: HashMap::new(), ready: Arc::default(), answers: 0 }
    }

    /// Adds a task, to be polled soon.
    pub(crate) fn insert(&mut self, handle: SpawnHandle, task: ActorTask<A>) {
        self.answers += usize::from(task.envelope.is_some());
        let wake =
            Arc::new(TaskWaker { handle, queued: AtomicBool::new(true), ready: Arc::clone(&self.ready) });
        let waker = Waker::from(Arc::clone(&wake));
        self.tasks.insert(handle, TaskEntry { task, wake, waker });
        self.ready.push(handle);
    }

    /// Drops a task.
    pub(crate) fn cancel(&mut self, handle: SpawnHandle) {
        if let Some(spawned) = self.tasks.remove(&handle) {
            self.drop_task(spawned);
        }
    }

    /// Returns `true` while a task still works on an answer.
    pub(crate) fn answering(&self) -> bool {
        self.answers > 0
    }

    /// Sets the waker of the runner, which is woken when a task is ready.
    pub(crate) fn register(&self, waker: &Waker) {
        self.ready.runner.register(waker);
    }

    /// Takes the next task to be polled out of the set.
    pub(crate) fn next_ready(&mut self) -> Option<(SpawnHandle, TaskEntry<A>)> {
        loop {
            let handle = self.ready.handles.lock().pop_front()?;
            if let Some(spawned) = self.tasks.remove(&handle) {
                spawned.wake.queued.store(false, Ordering::Release);
                return Some((handle, spawned));
            }
        }
    }

    /// Puts a task back that has not ended.
    pub(crate) fn put_back(&mut self, handle: SpawnHandle, spawned: TaskEntry<A>) {
        self.tasks.insert(handle, spawned);
    }

    /// Drops a task that has ended.
    pub(crate) fn finish(&mut self, spawned: TaskEntry<A>) {
        self.drop_task(spawned);
    }

    fn drop_task(&mut self, spawned: TaskEntry<A>) {
        self.answers -= usize::from(spawned.task.envelope.is_some());
        panic::drop_caught(spawned.task);
    }
}

impl<A: Supervised> Drop for TaskSet<A> {
    fn drop(&mut self) {
        for (_, spawned) in self.tasks.drain() {
            panic::drop_caught(spawned.task);
        }
    }
}

#[derive(Default)]
struct ReadyQueue {
    handles: Mutex<std::collections::VecDeque<SpawnHandle>>,
    runner: AtomicWaker,
}

impl ReadyQueue {
    fn push(&self, handle: SpawnHandle) {
        self.handles.lock().push_back(handle);
        self.runner.wake();
    }
}

struct TaskWaker {
    handle: SpawnHandle,
    queued: AtomicBool,
    ready: Arc<ReadyQueue>,
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
