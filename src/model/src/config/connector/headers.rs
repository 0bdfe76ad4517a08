//! Headers of outbound requests.

use crate::config::guards::is_token;

/// Headers that frame a request; the client writes them.
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
/// Why not, without its value.
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
