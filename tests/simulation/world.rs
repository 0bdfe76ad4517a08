//! The world of a simulated cluster: virtual time, the network, faults, and the promises that are checked at every step.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;

use super::action::{NodeAction, NodeTimer, SimulatedRun};
use super::conditions::{Conditions, Figures};
use super::configuration::POLL;
use super::database::{Reply, Request, SimulatedDatabase};
use super::node::{LEASE, SimulatedNode};
use super::random::SplitMix64;

/// Shortest and longest time of a message.
const LATENCY: (Duration, Duration) = (Duration::from_micros(200), Duration::from_millis(15));
/// Time beyond its lease within which the work of a dead node is taken over, while a worker is free.
pub(super) const TAKEOVER: Duration = Duration::from_secs(5);
/// Time within which an announced change is served.
const ANNOUNCED: Duration = Duration::from_millis(500);
/// Channels that are changed.
const CHANNELS: u64 = 30;
/// Largest lag of the clock behind the simulation.
const CLOCK_STEP: Duration = Duration::from_millis(20);
/// Violations that are kept.
const KEPT: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    Running,
    Paused(Duration),
    Down,
}

enum Event {
    Timer(usize, u32, NodeTimer),
    Arrival(usize, u32, Duration, Request),
    Answer(usize, u32, Duration, Request, Option<Reply>),
    Announcement(usize, u32),
    Job(usize),
    Change,
    Fault,
    Resume(usize),
    Start(usize),
    /// Every node that was undisturbed since a change serves it by now.
    Check {
        epoch: i64,
        committed: Duration,
    },
}

struct Place {
    node: SimulatedNode,
    condition: Condition,
    /// Number of the process; messages of an earlier one are lost.
    incarnation: u32,
    /// End of the last disturbance.
    disturbed: Duration,
    /// The instant from which a worker of the node has been free.
    free_since: Option<Duration>,
    /// The changes that the node does not serve yet, by their epochs.
    unserved: BTreeMap<i64, Duration>,
}

/// A simulated cluster.
pub(super) struct World {
    conditions: Conditions,
    base: Instant,
    now: Duration,
    queue: BinaryHeap<Reverse<(Duration, u64)>>,
    events: BTreeMap<u64, Event>,
    sequence: u64,
    random: SplitMix64,
    places: Vec<Place>,
    pub(super) database: SimulatedDatabase,
    executing: BTreeMap<SimulatedRun, BTreeSet<usize>>,
    /// Instants at which nodes stopped to work under an id.
    lost: BTreeMap<Arc<str>, Duration>,
    quiet_from: Option<Duration>,
    pub(super) figures: Figures,
    pub(super) violations: Vec<String>,
}

impl World {
    /// Starts every node.
    pub(super) fn new(conditions: Conditions) -> Self {
        let base = Instant::now();
        let database = SimulatedDatabase::new(base, conditions.schedules);
        let random = SplitMix64::new(conditions.seed);
        let mut world = Self {
            base,
            now: Duration::ZERO,
            queue: BinaryHeap::new(),
            events: BTreeMap::new(),
            sequence: 0,
            random,
            places: Vec::new(),
            database,
            executing: BTreeMap::new(),
            lost: BTreeMap::new(),
            quiet_from: None,
            figures: Figures::default(),
            violations: Vec::new(),
            conditions,
        };
        for number in 0..world.conditions.nodes {
            let node = world.process(number);
            let place = Place {
                node,
                condition: Condition::Running,
                incarnation: 0,
                disturbed: Duration::ZERO,
                free_since: None,
                unserved: BTreeMap::new(),
            };
            world.places.push(place);
            let actions = world.places[number].node.start();
            world.carry_out(number, actions);
            if let Some(every) = world.conditions.jobs {
                let first = world.random.between(Duration::ZERO, every);
                world.schedule(first, Event::Job(number));
            }
        }
        for (every, event) in
            [(world.conditions.changes, Event::Change), (world.conditions.faults, Event::Fault)]
        {
            if let Some(every) = every {
                world.schedule(every + LEASE, event);
            }
        }
        world
    }

    /// Runs for a time, then goes on without new jobs, changes and faults for another.
    pub(super) async fn run(&mut self, busy: Duration, quiet: Duration) {
        self.advance(self.now + busy).await;
        self.quiet_from = Some(self.now);
        self.advance(self.now + quiet).await;
    }

    /// Carries out all events until an instant.
    pub(super) async fn advance(&mut self, until: Duration) {
        while let Some(Reverse((at, sequence))) = self.queue.peek().copied().filter(|next| next.0.0 <= until)
        {
            self.queue.pop();
            self.now = at;
            // Only the registers of changes read the clock, and they are patient.
            let behind = self.instant().saturating_duration_since(Instant::now());
            if behind > CLOCK_STEP {
                tokio::time::advance(behind).await;
            }
            if let Some(event) = self.events.remove(&sequence) {
                self.handle(event);
            }
        }
    }

    /// Kills nodes for good, all at the same instant.
    pub(super) fn kill(&mut self, nodes: std::ops::Range<usize>) {
        nodes.for_each(|number| self.crash(number));
    }

    /// Returns the running nodes.
    pub(super) fn running(&self) -> impl Iterator<Item = &SimulatedNode> {
        self.places.iter().filter(|place| place.condition == Condition::Running).map(|place| &place.node)
    }

    fn process(&self, number: usize) -> SimulatedNode {
        SimulatedNode::new(
            &format!("n{number}"),
            &self.database,
            self.base,
            self.instant(),
            self.conditions.is_fenced,
        )
    }

    fn instant(&self) -> Instant {
        self.base + self.now
    }

    fn schedule(&mut self, at: Duration, event: Event) {
        self.sequence += 1;
        self.queue.push(Reverse((at, self.sequence)));
        self.events.insert(self.sequence, event);
    }

    fn latency(&mut self) -> Duration {
        self.random.between(LATENCY.0, LATENCY.1)
    }

    fn is_quiet(&self) -> bool {
        self.quiet_from.is_some()
    }

    fn handle(&mut self, event: Event) {
        let (number, incarnation) = match &event {
            Event::Timer(number, incarnation, _)
            | Event::Answer(number, incarnation, ..)
            | Event::Announcement(number, incarnation) => (*number, *incarnation),
            _ => return self.handle_of_world(event),
        };
        let place = &self.places[number];
        match place.condition {
            _ if place.incarnation != incarnation => return,
            Condition::Down => return,
            Condition::Paused(until) => return self.schedule(until, event),
            Condition::Running => {}
        }
        let now = self.instant();
        let node = &mut self.places[number].node;
        let mut actions = node.drop_unproven(now);
        actions.extend(match event {
            Event::Timer(.., timer) => node.on_timer(timer, now),
            Event::Answer(.., sent, request, reply) => {
                node.on_reply(request, reply, self.base + sent, now, &mut self.random)
            }
            Event::Announcement(..) => node.configuration.begin_pass().into_iter().collect(),
            _ => Vec::new(),
        });
        self.carry_out(number, actions);
        self.record_served(number);
        self.record_free_worker(number);
    }

    fn handle_of_world(&mut self, event: Event) {
        match event {
            Event::Arrival(number, incarnation, sent, request) => {
                self.arrive(number, incarnation, sent, request)
            }
            Event::Job(number) => self.submit(number),
            Event::Change => self.change(),
            Event::Fault => self.break_one(),
            Event::Resume(number) => self.resume(number),
            Event::Start(number) => self.start(number),
            Event::Check { epoch, committed } => self.check_change(epoch, committed),
            Event::Timer(..) | Event::Answer(..) | Event::Announcement(..) => {}
        }
    }

    fn carry_out(&mut self, number: usize, actions: Vec<NodeAction>) {
        let incarnation = self.places[number].incarnation;
        for action in actions {
            match action {
                NodeAction::Call(request) => {
                    let at = self.now + self.latency();
                    self.schedule(at, Event::Arrival(number, incarnation, self.now, request));
                }
                NodeAction::Timer(after, timer) => {
                    self.schedule(self.now + after, Event::Timer(number, incarnation, timer));
                }
                NodeAction::Began(run) => self.begin_run(number, run),
                NodeAction::Ended(run) => self.end_run(number, run),
            }
        }
    }

    /// Carries out a request that has reached the database, whatever became of its node.
    fn arrive(&mut self, number: usize, incarnation: u32, sent: Duration, request: Request) {
        let fails = matches!(request, Request::Load { .. })
            && self.conditions.loads_fail
            && !self.is_quiet()
            && self.random.is_one_in(10);
        let reply = if fails { None } else { Some(self.database.execute(&request, self.instant())) };
        match (&request, &reply) {
            (Request::Adopt { found, .. }, Some(Reply::Adopted(jobs))) => self.note_takeover(found, jobs),
            (Request::Renew { id, .. }, Some(Reply::Done(true)))
                if self.places[number].condition == Condition::Running =>
            {
                self.lost.remove(id);
            }
            (Request::Change { .. }, Some(_)) => self.announce(),
            (Request::AcceptJob { .. }, Some(_)) => self.figures.accepted += 1,
            _ => {}
        }
        let at = self.now + self.latency();
        self.schedule(at, Event::Answer(number, incarnation, sent, request, reply));
    }

    fn note_takeover(&mut self, found: &[(u64, Arc<str>)], jobs: &[u64]) {
        for (job, owner) in found.iter().filter(|(job, _)| jobs.contains(job)) {
            self.figures.taken_over += 1;
            let Some(lost) = self.lost.get(owner).copied() else {
                self.violate(format!("job {job} was taken from {owner}, which is well"));
                continue;
            };
            self.figures.slowest_takeover = self.figures.slowest_takeover.max(self.now - lost);
            // Work that no worker is free for has to wait, on whatever node.
            let free = self.places.iter().filter_map(|place| place.free_since).min().unwrap_or(self.now);
            let waited = self.now.saturating_sub(free.max(lost + LEASE));
            self.figures.longest_wait = self.figures.longest_wait.max(waited);
            if waited > TAKEOVER {
                self.violate(format!("job {job} of {owner} waited for {waited:?} beside a free worker"));
            }
        }
    }

    /// Notes the instant from which a worker of a node is free, or that none is.
    fn record_free_worker(&mut self, number: usize) {
        let (now, instant) = (self.now, self.instant());
        let place = &mut self.places[number];
        let is_free = place.node.has_free_worker(instant);
        place.free_since = is_free.then(|| place.free_since.unwrap_or(now));
    }

    fn announce(&mut self) {
        self.figures.changes += 1;
        let (epoch, committed) = (self.database.epoch, self.now);
        for number in 0..self.places.len() {
            self.places[number].unserved.insert(epoch, committed);
            if self.conditions.announces {
                let at = self.now + self.latency();
                let incarnation = self.places[number].incarnation;
                self.schedule(at, Event::Announcement(number, incarnation));
            }
        }
        let bound = if self.conditions.announces { ANNOUNCED } else { POLL + ANNOUNCED };
        if !self.conditions.loads_fail {
            self.schedule(self.now + bound, Event::Check { epoch, committed });
        }
    }

    /// Notes the changes that a node serves by now.
    fn record_served(&mut self, number: usize) {
        let place = &mut self.places[number];
        let later = place.unserved.split_off(&(place.node.configuration.watermark + 1));
        let served = std::mem::replace(&mut place.unserved, later);
        let (disturbed, now) = (place.disturbed, self.now);
        let times =
            served.values().filter(|committed| **committed > disturbed).map(|committed| now - *committed);
        self.figures.slowest_change = times.fold(self.figures.slowest_change, Duration::max);
    }

    fn check_change(&mut self, epoch: i64, committed: Duration) {
        let late: Vec<usize> = (0..self.places.len())
            .filter(|number| {
                let place = &self.places[*number];
                place.condition == Condition::Running
                    && place.disturbed + LEASE < committed
                    && place.node.configuration.watermark < epoch
            })
            .collect();
        late.into_iter()
            .for_each(|number| self.violate(format!("node {number} does not serve epoch {epoch}")));
    }

    fn begin_run(&mut self, number: usize, run: SimulatedRun) {
        self.executing.entry(run).or_default().insert(number);
        self.check_run(run);
    }

    fn end_run(&mut self, number: usize, run: SimulatedRun) {
        if let Some(nodes) = self.executing.get_mut(&run) {
            nodes.remove(&number);
            if nodes.is_empty() {
                self.executing.remove(&run);
            }
        }
    }

    /// Checks that no two nodes that are not stopped run the same.
    fn check_run(&mut self, run: SimulatedRun) {
        let nodes = self.executing.get(&run).into_iter().flatten();
        let live: Vec<_> =
            nodes.filter(|number| self.places[**number].condition == Condition::Running).copied().collect();
        if live.len() > 1 {
            self.violate(format!("{run:?} runs on the nodes {live:?} at {:?}", self.now));
        }
    }

    fn violate(&mut self, violation: String) {
        if self.violations.len() < KEPT {
            self.violations.push(violation);
        }
    }

    fn submit(&mut self, number: usize) {
        let Some(every) = self.conditions.jobs.filter(|_| !self.is_quiet()) else { return };
        self.schedule(self.now + every, Event::Job(number));
        let place = &self.places[number];
        if place.condition == Condition::Running && place.node.is_registered() {
            self.sequence += 1;
            let action = place.node.accept(self.sequence);
            self.carry_out(number, vec![action]);
        }
    }

    fn change(&mut self) {
        let Some(every) = self.conditions.changes.filter(|_| !self.is_quiet()) else { return };
        self.schedule(self.now + every, Event::Change);
        let number = self.random.below(self.places.len() as u64) as usize;
        if self.places[number].condition == Condition::Running && self.places[number].node.is_registered() {
            let channel = format!("c{}", self.random.below(CHANNELS));
            let id = Uuid::from_u128(u128::from(self.random.next_u64()));
            let actions = self.places[number].node.change(channel, id);
            self.carry_out(number, actions);
        }
    }

    fn break_one(&mut self) {
        let Some(every) = self.conditions.faults.filter(|_| !self.is_quiet()) else { return };
        self.schedule(self.now + every, Event::Fault);
        let number = self.random.below(self.places.len() as u64) as usize;
        if self.places[number].condition != Condition::Running || !self.places[number].node.is_registered() {
            return;
        }
        match self.random.below(3) {
            0 => {
                self.figures.crashes += 1;
                self.crash(number);
                self.start_later(number);
            }
            1 => self.pause(number),
            _ => {
                self.figures.restarts += 1;
                self.lose(number);
                let now = self.instant();
                let actions = self.places[number].node.stop(now);
                self.carry_out(number, actions);
                self.take_down(number);
                self.start_later(number);
            }
        }
    }

    fn start_later(&mut self, number: usize) {
        let pause = self.random.between(Duration::from_secs(1), Duration::from_secs(10));
        self.schedule(self.now + pause, Event::Start(number));
    }

    /// Notes that nothing is done any more under the id of a node.
    fn lose(&mut self, number: usize) {
        let id = self.places[number].node.id();
        self.lost.insert(id, self.now);
    }

    fn crash(&mut self, number: usize) {
        self.lose(number);
        self.take_down(number);
    }

    fn take_down(&mut self, number: usize) {
        for run in self.places[number].node.runs() {
            self.end_run(number, run);
        }
        let place = &mut self.places[number];
        place.condition = Condition::Down;
        place.free_since = None;
        place.incarnation += 1;
    }

    fn start(&mut self, number: usize) {
        let node = self.process(number);
        let place = &mut self.places[number];
        place.node = node;
        place.condition = Condition::Running;
        place.disturbed = self.now;
        place.unserved.clear();
        let actions = place.node.start();
        self.carry_out(number, actions);
    }

    /// Stops a node for half a lease to three.
    fn pause(&mut self, number: usize) {
        self.figures.pauses += 1;
        let until = self.now + self.random.between(LEASE / 2, LEASE * 3);
        self.lose(number);
        self.places[number].condition = Condition::Paused(until);
        self.places[number].free_since = None;
        self.schedule(until, Event::Resume(number));
    }

    /// A node that wakes looks at its leases before anything else.
    fn resume(&mut self, number: usize) {
        let now = self.instant();
        let place = &mut self.places[number];
        place.condition = Condition::Running;
        place.disturbed = self.now;
        let actions = place.node.drop_unproven(now);
        self.carry_out(number, actions);
        for run in self.places[number].node.runs() {
            self.check_run(run);
        }
    }
}
