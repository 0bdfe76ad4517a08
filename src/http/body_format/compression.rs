//! The decoding of compressed bodies, within the bound of all bodies.

use actix_web::web::Bytes;
use svc_model::config::ContentEncoding;
use svc_model::{Code, ServiceError};
use svc_outbound::{DecodeError, decode_encodings};

use crate::http::body::BodyLimit;

/// Decodes a body, never to more than the largest that is read.
///
/// # Errors
/// 413 for a body that is larger than that once decoded, or grows more than any honest one; 400 for one that is not
/// what its encoding says; 415 for more encodings than are taken off.
pub(super) fn decompress(
    encodings: &[ContentEncoding],
    body: &Bytes,
    limit: BodyLimit,
) -> Result<Bytes, ServiceError> {
    let names = encodings.iter().map(|encoding| encoding.name());
    decode_encodings(names, body.clone(), limit.bytes).map_err(|error| match error {
        DecodeError::TooLarge => {
            let BodyLimit { bytes, setting } = limit;
            let message = format!("The body is larger than {bytes} bytes once it is decoded ({setting})");
            ServiceError::new(Code::PayloadTooLarge, message)
        }
        DecodeError::Ratio => ServiceError::new(
            Code::PayloadTooLarge,
            "The body grows more than a thousandfold when it is decoded",
        ),
        DecodeError::Invalid(encoding) => ServiceError::validation(format!(
            "The body is no valid {encoding}, which its content encoding announces"
        )),
        DecodeError::Unknown(_) | DecodeError::TooMany => ServiceError::new(
            Code::UnsupportedMediaType,
            "The body has more content encodings than are decoded",
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `{"a":1}`, compressed as gzip by another program, in base64.
    const SMALL: &str = "H4sIAAAAAAACA6tWSlSyMqwFAK+sG1YHAAAA";

    #[test]
    fn decoded_body_is_bounded_and_checked() {
        use base64::Engine;
        let small = base64::engine::general_purpose::STANDARD.decode(SMALL).unwrap();
        let decode = |encodings: &[ContentEncoding], body: &[u8], bytes: usize| {
            let limit = BodyLimit { bytes, setting: "ingest.max_payload_size" };
            let decoded = decompress(encodings, &Bytes::copy_from_slice(body), limit);
            decoded.map_err(|error| (error.status(), error.message().to_owned()))
        };
        let gzip = [ContentEncoding::Gzip];
        assert_eq!(decode(&gzip, &small, 7), Ok(Bytes::from_static(b"{\"a\":1}")));
        let too_large = "The body is larger than 6 bytes once it is decoded (ingest.max_payload_size)";
        assert_eq!(decode(&gzip, &small, 6), Err((413, too_large.to_owned())));
        assert_eq!(decode(&gzip, b"{}", 100).map_err(|(status, _)| status), Err(400));
        assert_eq!(decode(&gzip.repeat(5), &small, 100).map_err(|(status, _)| status), Err(415));
    }
}
