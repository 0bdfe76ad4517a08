//! Tests of the function that makes cached answers stale.

use std::sync::Arc;

use futures_util::future::{LocalBoxFuture, ready};
use serde_json::{Map, Value, json};
use svc_engine::{Message, RecordingMode, RecordingOptions, RecordingResult, RunOptions, RunOutcome};
use svc_functions::{CacheInvalidation, NoCaches};

use crate::support::{block_on, compile, engine_over};

/// Two caches with answers of every namespace.
struct TwoCaches;

impl CacheInvalidation for TwoCaches {
    fn invalidate(&self, _: Vec<String>) -> LocalBoxFuture<'_, Result<usize, String>> {
        Box::pin(ready(Ok(2)))
    }
}

/// Makes two namespaces stale in a run with this use of a recording.
fn invalidate_in(mode: RecordingMode, caches: Arc<dyn CacheInvalidation>, namespaces: &Value) -> RunOutcome {
    let engine = engine_over(caches);
    let input = json!({"namespaces": namespaces, "output": "data.cache"});
    let flow = compile(&engine, "cache_invalidate", &input).unwrap();
    let options = RunOptions { recording: Some(mode), ..RunOptions::default() };
    block_on(engine.run(&flow, Message::new(json!(null), Map::new()), options))
}

#[test]
fn run_over_recording_writes_its_number_of_caches() {
    let options = RecordingOptions { max_bytes: 1 << 20, ..RecordingOptions::default() };
    let outcome = invalidate_in(RecordingMode::Record(options), Arc::new(TwoCaches), &json!(["a", "b"]));
    assert_eq!(outcome.message.data, json!({"cache": {"namespaces": 2, "stores": 2}}));
    let Some(RecordingResult::Recorded(recording)) = outcome.recorded else {
        panic!("{:?}", outcome.recorded)
    };
    let replay = RecordingMode::Replay(Arc::from(recording));
    let replayed = invalidate_in(replay, Arc::new(NoCaches), &json!(["a"]));
    assert_eq!(replayed.message.data, json!({"cache": {"namespaces": 1, "stores": 2}}));
    let Some(RecordingResult::Replayed(report)) = replayed.recorded else {
        panic!("{:?}", replayed.recorded)
    };
    assert_eq!(report.fresh_values, 0);
}
