//! Random trees under random faults and random orders: the invariants hold for every seed.
//!
//! Checked on the way: one running instance per node and generation (by the probes themselves), a quarantined
//! node admits nothing, every call comes to exactly one outcome of a consistent kind. Checked at the end:
//! generations have only grown, and nothing is left alive (by the universe).

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use actix_supervision::{
    Address, CallError, CallErrorKind, ChildSpec, EventKind, ExhaustedAction, Exit, FaultKind, GroupSpec,
    LifecycleEvent, Placement, PlannedFault, Restart, StartError, Strategy, Tree, Universe,
};
use futures_util::FutureExt;

use crate::support::{
    Boom, Count, Fail, FinishMessage, Generation, HoldMessage, Lab, Poison, ProbeActor, policy,
};

const SEEDS: u64 = 200;

/// A seeded source of choices.
#[derive(Clone)]
struct Dice(Rc<Cell<u64>>);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(Rc::new(Cell::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)))
    }

    /// A number below `sides` (xorshift).
    fn roll(&self, sides: u64) -> u64 {
        let mut x = self.0.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.0.set(x);
        (x >> 11) % sides
    }

    fn pick<T: Clone>(&self, from: &[T]) -> T {
        from[self.roll(from.len() as u64) as usize].clone()
    }
}

fn faults(dice: &Dice) -> Vec<PlannedFault> {
    let kinds = [
        FaultKind::Panic,
        FaultKind::Hang,
        FaultKind::FailStart(StartError::Transient("away".to_owned())),
        FaultKind::FailStart(StartError::Config("wrong".to_owned())),
        FaultKind::Panic,
    ];
    let plan = |_| PlannedFault {
        path: dice.pick(&["*", "g0/*", "*1", "*2"]).to_owned(),
        message: dice.pick(&["*", "Count", "Generation"]).to_owned(),
        nth: 1 + dice.roll(30),
        kind: dice.pick(&kinds),
    };
    (0..dice.roll(5)).map(plan).collect()
}

fn child_spec(dice: &Dice, known: &[String]) -> ChildSpec {
    let mut policy = policy(dice.roll(4) as u32);
    policy.within = Duration::from_millis(100 * (1 + dice.roll(50)));
    let rare_end = if dice.roll(20) == 0 { ExhaustedAction::EndTree } else { ExhaustedAction::Quarantine };
    policy.exhausted = dice.pick(&[ExhaustedAction::Quarantine, ExhaustedAction::Escalate, rare_end]);
    let mut spec = ChildSpec::new()
        .policy(policy)
        .mailbox(1 + dice.roll(8) as usize)
        .restart(dice.pick(&[Restart::Permanent, Restart::Permanent, Restart::OnFailure, Restart::Never]))
        .drain_deadline(Duration::from_millis(dice.roll(2000)));
    if dice.roll(4) == 0 {
        spec = spec.shared_budget();
    }
    for _ in 0..dice.roll(3) {
        if !known.is_empty() {
            spec = spec.needs([dice.pick(known)]);
        }
    }
    spec
}

/// A node that calls are made to.
type Targets = Rc<RefCell<Vec<(String, Address<ProbeActor>)>>>;

struct Soak {
    lab: Lab,
    tree: Tree,
    dice: Dice,
    targets: Targets,
    groups: Vec<String>,
    spawned: Cell<u64>,
    calls: Rc<Cell<(u64, u64)>>,
    over: Rc<Cell<bool>>,
}

impl Soak {
    async fn add_actor(&self) {
        let number = self.spawned.get();
        self.spawned.set(number + 1);
        let group = self.dice.pick(&self.groups);
        let path = format!("{group}a{number}");
        let paths: Vec<_> = self.targets.borrow().iter().map(|(path, _)| path.clone()).collect();
        let spec = child_spec(&self.dice, &paths);
        // Its group or a need may just be going.
        if let Ok(address) = self.tree.spawn(&path, spec, Placement::Here, self.lab.factory()).await {
            self.targets.borrow_mut().push((path, address));
        }
    }

    async fn operate(&self) {
        for _ in 0..30 {
            tokio::time::sleep(Duration::from_millis(self.dice.roll(300))).await;
            let Some((path, address)) = self.some_target() else { return };
            match self.dice.roll(8) {
                0 | 1 => drop(self.tree.restart(&path).await),
                2 => {
                    let ordered = self.tree.quarantine(&path, "soak").await;
                    if ordered.is_ok() {
                        let refused = address.call(Count).now_or_never().expect("refused at once");
                        let error = refused.unwrap_err();
                        assert!(matches!(error.kind, CallErrorKind::Quarantined { .. }), "{path}: {error}");
                    }
                }
                3 | 4 => {
                    if let Ok(prepared) = self.tree.replace(&address, None, self.lab.factory()).await {
                        tokio::time::sleep(Duration::from_millis(self.dice.roll(50))).await;
                        if self.dice.roll(3) > 0 {
                            let _ = prepared.commit().await;
                        }
                    }
                }
                5 => {
                    let deadline = Duration::from_millis(self.dice.roll(500));
                    let _ = self.tree.retire(&path, deadline).await;
                    assert!(self.tree.snapshot().node(&path).is_none() || self.tree_is_ending());
                    self.targets.borrow_mut().retain(|(other, _)| *other != path);
                    self.add_actor().await;
                }
                6 => drop(self.tree.restart("g0").await),
                _ => self.lab.gate.add_permits(3),
            }
        }
    }

    fn tree_is_ending(&self) -> bool {
        self.tree.wait_until_ended().now_or_never().is_some()
            || self.tree.history().iter().any(|event| matches!(event.kind, EventKind::Escalated { .. }))
    }

    fn some_target(&self) -> Option<(String, Address<ProbeActor>)> {
        let targets = self.targets.borrow();
        (!targets.is_empty()).then(|| self.dice.pick(&targets))
    }

    /// Calls this and that until the soak is over.
    async fn call_around(&self) {
        while !self.over.get() {
            let Some((_, address)) = self.some_target() else { return };
            let (begun, ended) = self.calls.get();
            self.calls.set((begun + 1, ended));
            let limit = Duration::from_millis(1 + self.dice.roll(400));
            match self.dice.roll(20) {
                0 | 1 => check(address.call(Boom).await),
                2 => check(address.call(Fail).await),
                3 => check(address.call(FinishMessage).await),
                4 => check(address.ask(Poison { later: self.dice.roll(2) == 0 }).await),
                5 | 6 => check(address.call(HoldMessage).await),
                7 | 8 => check(address.call_within(HoldMessage, limit).await),
                9..=12 => check(address.ask_within(Generation, limit).await),
                13 => check(address.cast(Count)),
                14 => drop(tokio::time::timeout(limit, address.call(Count)).await),
                _ => check(address.call(Count).await),
            }
            let (begun, ended) = self.calls.get();
            self.calls.set((begun, ended + 1));
            tokio::time::sleep(Duration::from_millis(self.dice.roll(40))).await;
        }
    }
}

/// A message comes back exactly if the kind of the error says that it was not handled.
fn check<T, M>(outcome: Result<T, CallError<M>>) {
    let Err(error) = outcome else { return };
    match error.kind {
        CallErrorKind::Crashed => assert!(!error.is_retryable(), "{error}"),
        CallErrorKind::Expired => {}
        _ => assert!(error.is_retryable(), "{error}"),
    }
}

fn assert_generations_grow(history: &[LifecycleEvent]) {
    let mut last: HashMap<&str, u64> = HashMap::new();
    for event in history.iter().filter(|event| event.kind == EventKind::Started) {
        let before = last.insert(event.path.as_str(), event.generation).unwrap_or_default();
        assert!(before < event.generation, "{}: {before} then {}", event.path, event.generation);
    }
}

/// Runs one seed and returns what happened in it.
fn soak(seed: u64) -> Vec<EventKind> {
    let dice = Dice::new(seed + 1);
    let universe = faults(&dice).into_iter().fold(Universe::new(seed), Universe::fault);
    universe.run(async |tree| {
        let strategies = [Strategy::OneForOne, Strategy::OneForAll, Strategy::RestForOne];
        for group in ["g0", "g0/h", "g1"] {
            let mut budget = policy(dice.roll(6) as u32);
            budget.exhausted = dice.pick(&[ExhaustedAction::Quarantine, ExhaustedAction::Escalate]);
            let spec = GroupSpec::new().strategy(dice.pick(&strategies)).policy(budget);
            tree.add_group(group, spec).await.unwrap();
        }
        let soak = Rc::new(Soak {
            lab: Lab::new(&tree),
            tree: tree.clone(),
            dice: dice.clone(),
            targets: Rc::default(),
            groups: ["", "g0/", "g0/h/", "g1/"].map(str::to_owned).to_vec(),
            spawned: Cell::new(0),
            calls: Rc::default(),
            over: Rc::default(),
        });
        for _ in 0..3 + dice.roll(6) {
            soak.add_actor().await;
        }
        let clients: Vec<_> = (0..6)
            .map(|_| {
                let soak = Rc::clone(&soak);
                actix_rt::spawn(async move { soak.call_around().await })
            })
            .collect();
        soak.operate().await;
        soak.over.set(true);
        tree.shutdown(Duration::from_secs(dice.roll(20))).await;
        for client in clients {
            let outcome = tokio::time::timeout(Duration::from_secs(3600), client).await;
            outcome.expect("a call without an outcome").unwrap();
        }
        let (begun, ended) = soak.calls.get();
        assert_eq!(begun, ended);
        let history = tree.history();
        assert_generations_grow(&history);
        history.into_iter().map(|event| event.kind).collect()
    })
}

#[test]
fn random_trees_keep_the_invariants() {
    let seeds = match option_env!("SOAK_SEED") {
        Some(seed) => seed.parse().map(|seed| seed..seed + 1).unwrap(),
        None => 0..SEEDS,
    };
    let mut happened = Vec::new();
    for seed in seeds {
        let outcome = std::panic::catch_unwind(|| soak(seed));
        happened.push(outcome.unwrap_or_else(|_| panic!("seed {seed}")));
    }
    // A soak in which nothing happens proves nothing.
    let seeds_with =
        |wanted: fn(&EventKind) -> bool| happened.iter().filter(|kinds| kinds.iter().any(wanted)).count();
    let counts = [
        seeds_with(|kind| matches!(kind, EventKind::Exited { exit: Exit::Panicked { .. } })),
        seeds_with(|kind| matches!(kind, EventKind::RestartScheduled { after_ms: 1.. })),
        seeds_with(|kind| matches!(kind, EventKind::Quarantined { .. })),
        seeds_with(|kind| matches!(kind, EventKind::Released)),
        seeds_with(|kind| matches!(kind, EventKind::Replaced)),
        seeds_with(|kind| matches!(kind, EventKind::Escalated { .. })),
    ];
    assert!(counts.iter().all(|count| count * 5 >= happened.len()), "{counts:?}");
}
