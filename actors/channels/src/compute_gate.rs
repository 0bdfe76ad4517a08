//! Turns on the processor for messages that take much of it.
//!
//! A large message is computed in long stretches, in which its thread serves no other caller. Were every thread
//! busy with one, all other callers would wait. So large messages compute on all threads but one at the same
//! time; the others of their kind wait for their turn without holding a thread. A body is parsed in one
//! stretch, the longest of all, so a large one is parsed on a thread that serves no connection.

use std::future::poll_fn;
use std::num::NonZero;
use std::sync::Arc;
use std::task::Poll;
use std::thread::available_parallelism;

use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, spawn_blocking};

/// Bytes from which on a message is large. A smaller one is computed in a few milliseconds.
const LARGE: usize = 128 * 1024;

/// The turns of a process. Cheap to clone; clones share the turns.
#[derive(Clone, Debug)]
pub struct ComputeGate(Arc<Semaphore>);

impl Default for ComputeGate {
    /// As many turns as the machine has cores, but one; at least one.
    fn default() -> Self {
        Self::new(available_parallelism().map_or(1, NonZero::get).saturating_sub(1).max(1))
    }
}

impl ComputeGate {
    /// Makes a gate with that many turns at the same time.
    pub fn new(turns: usize) -> Self {
        Self(Arc::new(Semaphore::new(turns)))
    }

    /// Returns `true` for a message of so many bytes that it takes turns.
    pub fn is_large(bytes: usize) -> bool {
        bytes >= LARGE
    }

    /// Computes on a thread of the runtime's blocking pool, in a turn that lasts until the end of the work.
    ///
    /// # Errors
    /// The work panicked, or the runtime ended before it began.
    pub async fn run_blocking<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Result<R, JoinError> {
        // The semaphore is never closed; work without a turn would still be right.
        let turn = Arc::clone(&self.0).acquire_owned().await.ok();
        spawn_blocking(move || {
            let result = work();
            drop(turn);
            result
        })
        .await
    }

    /// Does the work of a large message: every stretch of it, up to the next await, takes a turn. While the
    /// work waits for something it holds none.
    pub fn run<'g, F: Future + 'g>(&'g self, work: F) -> impl Future<Output = F::Output> + 'g {
        // Large work is rare; held by value it would make the futures of all work larger.
        let mut work = Box::pin(work);
        let mut turn = None;
        poll_fn(move |cx| {
            let waiting = turn.get_or_insert_with(|| Box::pin(Arc::clone(&self.0).acquire_owned()));
            let Poll::Ready(taken) = waiting.as_mut().poll(cx) else { return Poll::Pending };
            turn = None;
            let polled = work.as_mut().poll(cx);
            drop(taken);
            polled
        })
    }
}

/// Returns `true` for a value that takes at least as much as a large message. Ends as soon as that is known.
pub(crate) fn is_large_value(value: &Value) -> bool {
    fn count(value: &Value, left: usize) -> Option<usize> {
        // A comma and a digit at least.
        let left = left.checked_sub(2)?;
        match value {
            Value::String(text) => left.checked_sub(text.len()),
            Value::Array(items) => items.iter().try_fold(left, |left, item| count(item, left)),
            Value::Object(members) => members
                .iter()
                .try_fold(left, |left, (name, member)| count(member, left.checked_sub(name.len() + 3)?)),
            _ => Some(left),
        }
    }
    count(value, LARGE).is_none()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::join_all;
    use serde_json::json;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn stretches_take_turns_and_waiting_holds_none() {
        let gate = ComputeGate::new(1);
        let (computing, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let stretch = || {
            most.fetch_max(computing.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            computing.fetch_sub(1, Ordering::SeqCst);
        };
        let (release, held) = oneshot::channel::<()>();
        let waiting = gate.run(async {
            stretch();
            held.await.unwrap();
            stretch();
        });
        let others = join_all((0..3).map(|_| {
            gate.run(async {
                stretch();
                tokio::task::yield_now().await;
                stretch();
            })
        }));
        let others = async {
            others.await;
            // The first has its stretch behind it and waits: it kept nobody from ending.
            release.send(()).unwrap();
        };
        tokio::join!(waiting, others);
        assert_eq!((most.into_inner(), gate.0.available_permits()), (1, 1));
    }

    #[tokio::test]
    async fn blocking_work_takes_a_turn_and_returns_it() {
        let gate = ComputeGate::new(1);
        let turns = Arc::clone(&gate.0);
        let here = std::thread::current().id();
        let work = move || (turns.available_permits(), std::thread::current().id());
        let (free, there) = gate.run_blocking(work).await.unwrap();
        assert_eq!((free, gate.0.available_permits()), (0, 1));
        assert_ne!(there, here);
        gate.run_blocking(|| panic!("the work fails")).await.unwrap_err();
        assert_eq!(gate.0.available_permits(), 1);
    }

    #[tokio::test]
    async fn work_that_is_dropped_gives_its_place_back() {
        let gate = ComputeGate::new(1);
        let permit = Arc::clone(&gate.0).acquire_owned().await.unwrap();
        let mut queued = Box::pin(gate.run(async {}));
        assert!(futures_util::poll!(&mut queued).is_pending());
        drop((queued, permit));
        gate.run(async {}).await;
    }

    #[test]
    fn large_value_is_told_by_texts_names_and_numbers() {
        for (value, expected) in [
            (json!("x".repeat(LARGE)), true),
            (json!({"x".repeat(LARGE): 1}), true),
            (json!(vec![1; LARGE / 2]), true),
            (json!({"a": ["x".repeat(1000), {"b": null}]}), false),
        ] {
            assert_eq!(is_large_value(&value), expected);
        }
    }
}
