//! The functions `jwt_sign` and `jwt_verify`: tokens (RFC 7519) that workflows create and verify.

mod accepted;
mod duration;
mod sign;
mod verify;

use svc_model::config::auth::KeyEncoding;

pub(crate) use sign::JwtSign;
pub(crate) use verify::JwtVerify;

fn key_encoding(name: Option<&str>) -> KeyEncoding {
    match name {
        Some("base64") => KeyEncoding::Base64,
        Some("hex") => KeyEncoding::Hex,
        _ => KeyEncoding::Utf8,
    }
}
