//! Real servers that tests talk to. A test without its server is skipped and counted, or fails where all are
//! required.

/// Returns `true` if a missing peer must fail the run (`SVC_TEST_REQUIRE=all`).
pub fn required() -> bool {
    std::env::var_os("SVC_TEST_REQUIRE").is_some_and(|value| value == "all")
}

/// Says that a peer is missing: one line, or a failure where everything is required.
///
/// # Panics
/// The peer is [`required`].
#[expect(
    clippy::panic,
    clippy::print_stdout,
    reason = "the test's verdict: the line is what the reader looks for"
)]
pub fn report_missing(peer: &str, why: &str) {
    if required() {
        panic!("{peer} is required here and missing: {why}");
    }
    println!("skipped: {peer}: {why}");
}
