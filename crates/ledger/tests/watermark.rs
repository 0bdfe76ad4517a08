//! An exhaustive exploration of the creation of rows: three nodes read a cursor at different times and write
//! the instants they planned from there, in one transaction each, while the schedule is paused and started
//! anew.
#![expect(clippy::unwrap_used, reason = "tests")]

use chrono::{DateTime, NaiveDateTime, TimeDelta};
use stateright::{Checker, Model, Property};
use svc_ledger::{AlignRequest, Cursor};

const NODES: usize = 3;
const INSTANTS: i64 = 3;

fn instant(number: i64) -> NaiveDateTime {
    DateTime::from_timestamp(1_800_000_000 + number, 0).unwrap().naive_utc()
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    cursor: Cursor,
    /// The recorded instants, with the number of rows of each.
    rows: Vec<(NaiveDateTime, u8)>,
    /// The plan of each node: the start and the number of instants.
    plans: [Option<(NaiveDateTime, i64)>; NODES],
    /// The instant since which the schedule runs without a pause. No earlier instant is recorded.
    begun: NaiveDateTime,
    now: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Action {
    Tick,
    /// A node reads the cursor and plans this many instants.
    Plan(usize, i64),
    Materialise(usize),
    Crash(usize),
    Pause,
    Align,
}

struct Watermark;

impl Model for Watermark {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let cursor = Cursor::begin(&align(0));
        vec![State { cursor, rows: vec![], plans: [None; NODES], begun: instant(0), now: 0 }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.now < INSTANTS {
            actions.push(Action::Tick);
        }
        actions.extend([Action::Pause, Action::Align]);
        for (node, plan) in state.plans.iter().enumerate() {
            match plan {
                None => {
                    let due = (instant(state.now) - state.cursor.next_fire_at).num_seconds() + 1;
                    actions.extend((1..=due).map(|count| Action::Plan(node, count)));
                }
                Some(_) => actions.extend([Action::Materialise(node), Action::Crash(node)]),
            }
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Tick => state.now += 1,
            Action::Plan(node, count) => state.plans[node] = Some((state.cursor.next_fire_at, count)),
            Action::Crash(node) => state.plans[node] = None,
            Action::Materialise(node) => {
                let (from, count) = state.plans[node].take().unwrap();
                if state.cursor.advance(1, from, from + TimeDelta::seconds(count)) {
                    for number in 0..count {
                        insert(&mut state.rows, from + TimeDelta::seconds(number));
                    }
                }
            }
            Action::Pause => {
                state.cursor.pause(instant(state.now));
            }
            Action::Align => {
                let is_paused = state.cursor.paused_at.is_some();
                state.cursor.align(&align(state.now + 1));
                if is_paused {
                    state.begun = state.cursor.next_fire_at;
                }
            }
        }
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("one row per instant", |_, state: &State| {
                state.rows.iter().all(|(_, rows)| *rows == 1)
            }),
            Property::always("the watermark is never ahead of the rows", |_, state: &State| {
                let is_written = |instant| state.rows.iter().any(|(written, _)| *written == instant);
                let behind = (state.cursor.next_fire_at - state.begun).num_seconds();
                (0..behind).all(|number| is_written(state.begun + TimeDelta::seconds(number)))
            }),
            Property::always("nothing is written beyond the watermark", |_, state: &State| {
                state.rows.iter().all(|(instant, _)| *instant < state.cursor.next_fire_at)
            }),
            Property::sometimes("every instant is written", |_, state: &State| {
                state.rows.len() > usize::try_from(INSTANTS).unwrap()
            }),
        ]
    }
}

fn align(next: i64) -> AlignRequest {
    AlignRequest {
        channel_id: "c".into(),
        version: 1,
        config_hash: "h".into(),
        next_fire_at: instant(next),
        forsaken_before: None,
        latest: None,
    }
}

/// Compare-and-set alone must prevent duplicates: an insert that the database would ignore is counted here.
fn insert(rows: &mut Vec<(NaiveDateTime, u8)>, instant: NaiveDateTime) {
    match rows.iter_mut().find(|(written, _)| *written == instant) {
        Some((_, rows)) => *rows += 1,
        None => rows.push((instant, 1)),
    }
}

#[test]
fn cursor_keeps_every_instant_exactly_once() {
    let checker = Watermark.checker().threads(2).spawn_bfs().join();
    println!("{} states, {} of them unique", checker.state_count(), checker.unique_state_count());
    checker.assert_properties();
    assert!(checker.unique_state_count() > 1_000, "too little was explored to mean anything");
}
