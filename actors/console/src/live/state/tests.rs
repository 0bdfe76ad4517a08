//! Tests of the viewers and their events.

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::{FutureExt, StreamExt};
use serde_json::Value;

use super::*;

fn reading() -> Reading {
    Reading {
        at: Timestamp::now(),
        node: LiveNode { id: "n1".into(), name: "one".into(), version: "1".into(), uptime_secs: 1 },
        counts: LiveCounts { queue_depth: 3, ..LiveCounts::default() },
        tree: TreeReading::default(),
        runs: EndedRunBatch::default(),
    }
}

fn request(last_event_id: Option<String>) -> WatchRequest {
    WatchRequest { last_event_id, history: HistoryRequest::default(), is_allowed: Arc::new(|| true) }
}

fn started() -> LiveState {
    let mut state = LiveState::new();
    state.begin(reading(), LiveTraffic::default(), |_| None);
    state
}

fn sample(state: &mut LiveState) -> SampleOutcome {
    state.sample(reading(), TrafficSample::default(), |_| None)
}

/// An event that was received: its name, its id and its data.
#[derive(Debug)]
struct Received {
    name: String,
    id: Option<String>,
    data: Value,
}

/// Takes the events that are there.
fn received(stream: &mut LiveStream) -> Vec<Received> {
    let mut events = Vec::new();
    while let Some(Some(bytes)) = stream.next().now_or_never() {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        events.push(Received {
            name: field("event: ").unwrap(),
            id: field("id: "),
            data: serde_json::from_str(&field("data: ").unwrap()).unwrap(),
        });
    }
    events
}

fn names(events: &[Received]) -> Vec<&str> {
    events.iter().map(|event| event.name.as_str()).collect()
}

#[test]
fn viewer_gets_picture_then_changes() {
    let mut state = started();
    let mut stream = state.watch(&request(None), 1).unwrap();
    sample(&mut state);
    let events = received(&mut stream);
    assert_eq!(names(&events), ["picture", "changes"]);
    assert_eq!(
        (&events[0].data["node"]["id"], &events[1].data["counts"]["queue_depth"]),
        (&"n1".into(), &3.into())
    );
    assert!(events[0].data.get("history").is_none());
}

#[test]
fn returning_viewer_gets_what_it_missed() {
    let mut state = started();
    let mut stream = state.watch(&request(None), 2).unwrap();
    for _ in 0..3 {
        sample(&mut state);
    }
    let events = received(&mut stream);
    let id = events[1].id.clone();
    let mut again = state.watch(&request(id), 2).unwrap();
    let missed = received(&mut again);
    assert_eq!(names(&missed), ["changes", "changes"]);
    assert_eq!(missed[1].id, events[3].id);
    let from_picture = received(&mut state.watch(&request(events[0].id.clone()), 3).unwrap());
    assert_eq!(names(&from_picture), ["changes"; 3], "a picture has an id too");
    let foreign = format!("{}-1", Uuid::now_v7().simple());
    for id in [foreign, "1".to_owned()] {
        assert_eq!(names(&received(&mut state.watch(&request(Some(id)), 9).unwrap())), ["picture"]);
    }
    state.end();
    state.begin(reading(), LiveTraffic::default(), |_| None);
    let after_pause = received(&mut state.watch(&request(missed[1].id.clone()), 9).unwrap());
    assert_eq!(names(&after_pause), ["picture"]);
}

#[test]
fn slow_viewer_gets_one_new_picture() {
    let mut state = started();
    let mut stream = state.watch(&request(None), 1).unwrap();
    let renewed: u64 = (0..100).map(|_| sample(&mut state).renewed).sum();
    assert_eq!(renewed, 0);
    let events = received(&mut stream);
    assert_eq!(events.len(), 1 + QUEUE, "no more is kept for it");
    assert_eq!(sample(&mut state).renewed, 1);
    sample(&mut state);
    let events = received(&mut stream);
    assert_eq!(names(&events), ["picture", "changes"]);
}

#[test]
fn place_of_closed_stream_is_free() {
    let mut state = started();
    let first = state.watch(&request(None), 1).unwrap();
    assert_eq!(state.watch(&request(None), 1).unwrap_err(), TooManyViewers(1));
    drop(first);
    assert!(state.watch(&request(None), 1).is_ok());
    assert_eq!(sample(&mut state).viewers, 0);
}

#[test]
fn stream_ends_with_its_key() {
    let mut state = started();
    let is_valid = Arc::new(AtomicBool::new(true));
    let key = Arc::clone(&is_valid);
    let mut stream = state
        .watch(
            &WatchRequest { is_allowed: Arc::new(move || key.load(Ordering::Relaxed)), ..request(None) },
            1,
        )
        .unwrap();
    sample(&mut state);
    is_valid.store(false, Ordering::Relaxed);
    assert_eq!(sample(&mut state).viewers, 0);
    let events = received(&mut stream);
    assert_eq!(names(&events), ["picture", "changes", "end"]);
    assert_eq!(events[2].data["reason"], "key_withdrawn");
    assert_eq!(stream.next().now_or_never(), Some(None));
}

#[test]
fn history_is_given_on_request() {
    let mut state = started();
    sample(&mut state);
    let asked = |hour, day| WatchRequest { history: HistoryRequest { hour, day }, ..request(None) };
    let picture = |state: &mut LiveState, wish| received(&mut state.watch(&wish, 9).unwrap()).remove(0).data;
    let hour = picture(&mut state, asked(true, false));
    assert_eq!(hour["history"]["seconds"]["times"].as_array().map(Vec::len), Some(1), "{hour}");
    assert!(hour["history"].get("minutes").is_none());
    let day = picture(&mut state, asked(false, true));
    assert!(day["history"]["minutes"].is_object() && day["history"].get("seconds").is_none());
    let once = received(&mut state.show_once(HistoryRequest::default()));
    assert_eq!(names(&once), ["picture", "end"]);
}
