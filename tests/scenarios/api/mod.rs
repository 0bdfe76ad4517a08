//! The published API: every answer of the server is the one that the OpenAPI document describes, and keeps its bytes.

mod contract;
mod documentation;
mod keys;
mod masks;
mod plugin_script;
mod recorder;
mod script;

use recorder::Recorder;
use script::record_everything;

use crate::support::launch;

/// A key with all rights.
const KEY: &str = "0123456789abcdef0123456789abcdef";
/// A key that may only read.
const READ_KEY: &str = "abcdef0123456789abcdef0123456789";

#[test]
fn answers_are_the_described_ones_and_keep_their_bytes() {
    let server = launch()
        .env("SVC_ADMIN_AUTH__ENABLED", "true")
        .env("SVC_ADMIN_AUTH__API_KEYS", KEY)
        .env("SVC_ADMIN_AUTH__READ_ONLY_API_KEYS", READ_KEY)
        .env("SVC_METRICS__ENABLED", "true")
        .env("SVC_ENGINE__CIRCUIT_BREAKER__ENABLED", "true")
        .start()
        .unwrap();
    let mut recorder = Recorder::new(server.client());
    record_everything(&mut recorder);
    plugin_script::plugins(&mut recorder);
    recorder.compare_with_golden();
    let document = server.client().get("/api/v1/openapi.json").unwrap().json();
    contract::check_exchanges(&document, recorder.exchanges());
    contract::check_coverage(&document, recorder.exchanges());
}
