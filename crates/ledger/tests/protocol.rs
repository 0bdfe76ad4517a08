//! An exhaustive exploration of claims, leases and fences: three workers, two instants of a schedule that
//! forbids concurrent runs, crashes, pauses, a lost answer whose request is repeated, and expired leases. The
//! creation of rows is explored separately in `watermark.rs`: the two protocols share only the pending rows.
#![expect(clippy::unwrap_used, reason = "tests")]

use stateright::{Checker, Model, Property};
use svc_ledger::memory::{MemoryLedger, RememberedClaim, now};
use svc_ledger::{Occurrence, OccurrenceStatus, Settlement};
use uuid::Uuid;

const WORKERS: usize = 3;
const ROWS: u128 = 2;
const SLOTS: u32 = 1;
const MAX_RECOVERIES: u32 = 1;
/// Maximum number of claims of a row, so that the state space is finite.
const CLAIMS: i64 = 2;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    ledger: MemoryLedger,
    workers: [Worker; WORKERS],
    /// A write whose answer is lost and which arrives again at any later time; at most one on each path.
    echo: Echo,
    retries: u8,
    /// True if a write of an invalid claim changed the ledger.
    stale_write: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
enum Echo {
    #[default]
    None,
    OnItsWay(Write, RememberedClaim),
    Arrived,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Worker {
    /// Stopped at any point; neither runs nor writes.
    paused: bool,
    task: Task,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
enum Task {
    #[default]
    Idle,
    Claimed(RememberedClaim),
    Running(RememberedClaim),
    /// Cancelled by its fence. Its writes may still arrive.
    Late(RememberedClaim),
}

impl Task {
    fn claim(&self) -> Option<&RememberedClaim> {
        match self {
            Self::Idle => None,
            Self::Claimed(claim) | Self::Running(claim) | Self::Late(claim) => Some(claim),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Write {
    Renew,
    Complete,
    Fail,
    GiveBack,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Action {
    Claim(usize),
    Start(usize),
    /// A write of a worker; the flag says that the answer is lost, so the write is sent again.
    Write(usize, Write, bool),
    Echo,
    Crash(usize),
    Pause(usize),
    Resume(usize),
    Fence(usize),
    Expire(Uuid),
    Retry(Uuid),
}

struct Protocol;

fn holder(worker: usize) -> String {
    // A crashed worker returns under its old name: the fence must not rely on unique names.
    format!("w{worker}")
}

impl State {
    /// Returns whether the worker runs an occurrence now.
    fn runs(&self, worker: &Worker) -> bool {
        !worker.paused && matches!(worker.task, Task::Running(_))
    }

    fn holds(&self, claim: &RememberedClaim) -> bool {
        self.ledger.row(claim.key.id).unwrap().is_held(&claim.key)
    }

    fn has_ended(&self, claim: &RememberedClaim) -> bool {
        self.ledger.row(claim.key.id).unwrap().claimed_until.is_none_or(|until| until < now())
    }

    /// Applies a write, and records a violation if the write of an invalid claim changes anything.
    fn write(&mut self, write: Write, claim: &RememberedClaim) -> bool {
        let (before, counts) = (self.ledger.clone(), self.holds(claim));
        let done = match write {
            Write::Renew => self.ledger.renew(claim),
            Write::Complete => self.ledger.settle(claim, Settlement::completed()),
            Write::Fail => self.ledger.settle(claim, Settlement::failed("no")),
            Write::GiveBack => self.ledger.give_back(claim),
        };
        self.stale_write |= !counts && (done || self.ledger != before);
        done
    }

    /// Clears the fields of ended rows that no rule reads, so that they do not multiply the states.
    fn forget(&mut self) {
        for row in self.ledger.rows.iter_mut().filter(|row| row.status.is_terminal()) {
            row.claimed_by = None;
            row.slot = None;
            row.error_message = None;
            row.started_at = None;
            row.executing_version = None;
        }
    }

    /// Returns the same state with the workers in an order that does not depend on their names, which have no
    /// meaning.
    fn representative(&self) -> Self {
        let mut order: Vec<usize> = (0..WORKERS).collect();
        let weight = |worker: &usize| {
            let Worker { paused, task } = &self.workers[*worker];
            let kind = match task {
                Task::Idle => 0,
                Task::Claimed(_) => 1,
                Task::Running(_) => 2,
                Task::Late(_) => 3,
            };
            let claim = task.claim().map(|claim| (claim.key.id, claim.key.claim, claim.raised));
            let name = holder(*worker);
            let named = |row: &Occurrence| row.claimed_by.as_deref() == Some(&name);
            (kind, *paused, claim, self.ledger.rows.iter().map(named).collect::<Vec<_>>())
        };
        order.sort_by_key(weight);
        let name = |old: &str| {
            let place = order.iter().position(|worker| holder(*worker) == old);
            place.map_or_else(|| old.to_owned(), holder)
        };
        let claim = |claim: &RememberedClaim| {
            let mut claim = claim.clone();
            claim.key.holder = name(&claim.key.holder);
            claim
        };
        let mut same = self.clone();
        for (place, worker) in order.iter().enumerate() {
            let task = match &self.workers[*worker].task {
                Task::Idle => Task::Idle,
                Task::Claimed(held) => Task::Claimed(claim(held)),
                Task::Running(held) => Task::Running(claim(held)),
                Task::Late(held) => Task::Late(claim(held)),
            };
            same.workers[place] = Worker { paused: self.workers[*worker].paused, task };
        }
        for row in &mut same.ledger.rows {
            row.claimed_by = row.claimed_by.as_deref().map(name);
        }
        for slot in &mut same.ledger.slots {
            slot.holder = name(&slot.holder);
        }
        if let Echo::OnItsWay(_, held) = &mut same.echo {
            *held = claim(held);
        }
        same
    }

    /// Returns whether every row can still end, whatever happened to the workers so far, if one worker runs
    /// undisturbed.
    fn can_end(&self) -> bool {
        let mut ledger = self.ledger.clone();
        for row in self.ledger.rows.iter().filter(|row| !row.status.is_terminal()) {
            ledger.expire(row.id);
        }
        for _ in 0..=ledger.rows.len() {
            let Some(claim) = ledger.claim("last", MAX_RECOVERIES) else { continue };
            if let Ok(slot) = ledger.start(&claim.key, SLOTS) {
                ledger.settle(&RememberedClaim { slot, ..claim }, Settlement::completed());
            }
        }
        ledger.rows.iter().all(|row| row.status.is_terminal())
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let row = |number| Occurrence::pending(Uuid::from_u128(number), now());
        let ledger = MemoryLedger { rows: (1..=ROWS).map(row).collect(), ..MemoryLedger::default() };
        vec![State { ledger, workers: Default::default(), echo: Echo::None, retries: 0, stale_write: false }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let lost: &[bool] = if state.echo == Echo::None { &[false, true] } else { &[false] };
        for (number, worker) in state.workers.iter().enumerate() {
            if worker.paused {
                actions.extend([Action::Resume(number), Action::Crash(number)]);
                continue;
            }
            match &worker.task {
                Task::Idle => actions.push(Action::Claim(number)),
                Task::Claimed(_) => {
                    actions.extend([Action::Start(number), Action::Pause(number), Action::Crash(number)]);
                    actions.extend(lost.iter().map(|lost| Action::Write(number, Write::GiveBack, *lost)));
                }
                Task::Running(_) => {
                    actions.extend([Action::Fence(number), Action::Pause(number), Action::Crash(number)]);
                    for write in [Write::Complete, Write::GiveBack] {
                        actions.extend(lost.iter().map(|lost| Action::Write(number, write, *lost)));
                    }
                }
                Task::Late(_) => {
                    let writes = [Write::Renew, Write::Complete, Write::Fail, Write::GiveBack];
                    actions.extend(writes.map(|write| Action::Write(number, write, false)));
                }
            }
        }
        if matches!(state.echo, Echo::OnItsWay(..)) {
            actions.push(Action::Echo);
        }
        for row in &state.ledger.rows {
            let is_run = |worker: &Worker| {
                state.runs(worker)
                    && worker.task.claim().is_some_and(|claim| claim.key.id == row.id && state.holds(claim))
            };
            let is_live = row.claimed_until.is_some_and(|until| until >= now());
            // The fences hold: a lease expires only after its run has ended, or while its worker is stopped.
            if is_live && !state.workers.iter().any(is_run) {
                actions.push(Action::Expire(row.id));
            }
            if row.status.is_retryable() && state.retries == 0 {
                actions.push(Action::Retry(row.id));
            }
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Claim(worker) => {
                let claim = state.ledger.claim(&holder(worker), MAX_RECOVERIES);
                state.workers[worker].task = claim.map_or(Task::Idle, Task::Claimed);
            }
            Action::Start(worker) => {
                let claim = state.workers[worker].task.claim().unwrap().clone();
                state.workers[worker].task = match state.ledger.start(&claim.key, SLOTS) {
                    Ok(slot) => Task::Running(RememberedClaim { slot, ..claim }),
                    Err(_) => Task::Idle,
                };
            }
            Action::Write(worker, write, answer_is_lost) => {
                let claim = std::mem::take(&mut state.workers[worker].task).claim().unwrap().clone();
                state.write(write, &claim);
                if answer_is_lost {
                    state.echo = Echo::OnItsWay(write, claim);
                }
            }
            Action::Echo => {
                if let Echo::OnItsWay(write, claim) = std::mem::replace(&mut state.echo, Echo::Arrived) {
                    state.write(write, &claim);
                }
            }
            Action::Crash(worker) => state.workers[worker] = Worker::default(),
            Action::Pause(worker) => state.workers[worker].paused = true,
            Action::Resume(worker) => {
                state.workers[worker].paused = false;
                // A resumed worker checks its fence before anything else.
                if let Task::Running(claim) = &last.workers[worker].task
                    && (last.has_ended(claim) || !last.holds(claim))
                {
                    state.workers[worker].task = Task::Late(claim.clone());
                }
            }
            Action::Fence(worker) => {
                let claim = state.workers[worker].task.claim().unwrap().clone();
                state.workers[worker].task = Task::Late(claim);
            }
            Action::Expire(id) => state.ledger.expire(id),
            Action::Retry(id) => {
                state.ledger.retry(id).unwrap();
                state.retries += 1;
            }
        }
        state.forget();
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("one claim of a row counts", |_, state: &State| {
                state.ledger.rows.iter().all(|row| {
                    let counts =
                        |worker: &&Worker| worker.task.claim().is_some_and(|claim| row.is_held(&claim.key));
                    state.workers.iter().filter(counts).count() <= 1
                })
            }),
            Property::always("no two run under a key", |_, state: &State| {
                state.workers.iter().filter(|worker| state.runs(worker)).count() <= SLOTS as usize
            }),
            Property::always("a key has no more live holders than slots", |_, state: &State| {
                let live = state.ledger.slots.iter().filter(|slot| slot.is_live(now()));
                live.count() <= SLOTS as usize
            }),
            Property::always("no claim that does not count writes", |_, state: &State| !state.stale_write),
            Property::always("attempts and recoveries stay within their bounds", |_, state: &State| {
                state.ledger.rows.iter().all(|row| {
                    (0..=row.claims + 1).contains(&row.attempt)
                        && (0..=i64::from(MAX_RECOVERIES) + 1).contains(&row.recoveries)
                })
            }),
            Property::always("every row can end", |_, state: &State| state.can_end()),
            Property::sometimes("both complete", |_, state: &State| all(state, OccurrenceStatus::Completed)),
            Property::sometimes("one is skipped for the other", |_, state: &State| {
                state.ledger.rows.iter().any(|row| row.status == OccurrenceStatus::SkippedSingleton)
            }),
            Property::sometimes("one has too many leases end", |_, state: &State| {
                state.ledger.rows.iter().any(|row| row.recoveries > i64::from(MAX_RECOVERIES))
            }),
        ]
    }

    fn within_boundary(&self, state: &State) -> bool {
        state.ledger.rows.iter().all(|row| row.claims <= CLAIMS)
    }
}

fn all(state: &State, status: OccurrenceStatus) -> bool {
    state.ledger.rows.iter().all(|row| row.status == status)
}

#[test]
fn protocol_holds_in_every_order_of_events() {
    let checker = Protocol.checker().threads(2).symmetry_fn(State::representative).spawn_dfs().join();
    println!("{} states, {} of them unique", checker.state_count(), checker.unique_state_count());
    checker.assert_properties();
    assert!(checker.unique_state_count() > 10_000, "too little was explored to mean anything");
}
