//! Validation of headers of outbound requests.

use crate::http::token::is_token;

/// Headers that control message framing; only the client sets them.
const FRAMING: [&str; 8] = [
    "connection",
    "content-length",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Checks that a header can be sent with a request.
///
/// # Errors
/// The reason why it cannot; contains no part of the value.
pub fn check_header(name: &str, value: &str) -> Result<(), &'static str> {
    if !is_token(name) {
        return Err("this is no header name");
    }
    if FRAMING.iter().any(|framing| framing.eq_ignore_ascii_case(name)) {
        return Err("the client writes this header");
    }
    if value.bytes().any(|byte| byte < b' ' && byte != b'\t' || byte == 0x7f) {
        return Err("a header cannot hold control characters");
    }
    Ok(())
}
