//! Forms with files: `multipart/form-data` (RFC 7578).

use std::convert::Infallible;
use std::fmt::Display;
use std::future::ready;

use actix_web::web::Bytes;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::FutureExt;
use futures_util::stream::once;
use multer::Multipart;
use serde_json::{Map, Value, json};
use svc_channels::add_field;
use svc_model::ServiceError;

use super::part_header::{PartNames, find_parameter};

/// Returns the boundary that a content type names.
///
/// # Errors
/// 400 if it names none.
pub(super) fn find_boundary(content_type: &[u8]) -> Result<String, ServiceError> {
    let boundary = find_parameter(content_type, "boundary").and_then(|text| String::from_utf8(text).ok());
    let boundary = boundary.filter(|boundary| !boundary.is_empty());
    boundary.ok_or_else(|| ServiceError::validation("The content type names no boundary of the parts"))
}

/// Parses the parts: files are `{filename, content_type, size, base64}`, other fields texts, those of a repeated name a
/// list in their order.
pub(super) fn parse_parts(body: &Bytes, boundary: &str) -> Result<Map<String, Value>, ServiceError> {
    let body = once(ready(Ok::<_, Infallible>(body.clone())));
    // The whole body is there, so that nothing is waited for.
    let parts = read_parts(Multipart::new(body, boundary)).now_or_never();
    parts.unwrap_or_else(|| Err(ServiceError::validation("The multipart body ends too early")))
}

async fn read_parts(mut parts: Multipart<'static>) -> Result<Map<String, Value>, ServiceError> {
    let mut fields = Map::new();
    let mut number = 1;
    while let Some(part) = parts.next_field().await.map_err(|error| refusal(number, &error))? {
        let header = part.headers().get("content-disposition").map(|value| value.as_bytes());
        let PartNames { field, file } = PartNames::parse(header.unwrap_or_default());
        let name = field.ok_or_else(|| refusal(number, &"it has no name"))?;
        let content_type = part.headers().get("content-type").and_then(|value| value.to_str().ok());
        let content_type = content_type.map(str::to_owned);
        let bytes = part.bytes().await.map_err(|error| refusal(number, &error))?;
        let value = match file {
            Some(filename) => json!({
                "filename": filename,
                "content_type": content_type,
                "size": bytes.len(),
                "base64": STANDARD.encode(&bytes),
            }),
            None => std::str::from_utf8(&bytes)
                .map_err(|_| refusal(number, &format_args!("the field '{name}' is not UTF-8")))?
                .into(),
        };
        add_field(&mut fields, name, value);
        number += 1;
    }
    Ok(fields)
}

fn refusal(number: usize, reason: &dyn Display) -> ServiceError {
    ServiceError::validation(format!("The multipart body cannot be read at part {number}: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(body: &[u8]) -> Result<Value, String> {
        let parts = parse_parts(&Bytes::copy_from_slice(body), "x-1");
        parts.map(Value::Object).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn parts_are_texts_files_and_lists_of_them() {
        let body = [
            "--x-1\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\ngood\r\nday\r\n",
            "--x-1\r\nContent-Disposition: form-data; name=\"scan\"; filename=\"a.png\"\r\n\
             Content-Type: image/png\r\n\r\n",
        ]
        .concat();
        let body = [
            body.as_bytes(),
            b"\x89PNG\r\n\xff",
            b"\r\n--x-1\r\nContent-Disposition: form-data; name=\"scan\"; filename=\"b\"\r\n\r\n\r\n--x-1--\r\n",
        ]
        .concat();
        let first =
            json!({"filename": "a.png", "content_type": "image/png", "size": 7, "base64": "iVBORw0K/w=="});
        let second = json!({"filename": "b", "content_type": null, "size": 0, "base64": ""});
        assert_eq!(parse(&body), Ok(json!({"note": "good\r\nday", "scan": [first, second]})));
        assert_eq!(parse(b"--x-1--\r\n"), Ok(json!({})));
    }

    #[test]
    fn file_with_an_encoded_name_is_a_file() {
        for (name, filename) in [
            (&b"filename*=UTF-8''%E2%82%AC.png"[..], "\u{20ac}.png"),
            (b"filename=\"=?utf-8?B?4oKsLnBuZw==?=\"; filename*=utf-8''%E2%82%AC.png", "\u{20ac}.png"),
            (b"filename=\"\xe4.png\"", "\u{e4}.png"),
        ] {
            let body = [
                &b"--x-1\r\nContent-Disposition: form-data; name=\"scan\"; "[..],
                name,
                b"\r\n\r\n\xff\r\n--x-1--",
            ];
            let file = json!({"filename": filename, "content_type": null, "size": 1, "base64": "/w=="});
            assert_eq!(parse(&body.concat()), Ok(json!({"scan": file})));
        }
    }

    #[test]
    fn broken_part_is_named_by_number() {
        let field = "--x-1\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n";
        for (body, place) in [
            (
                format!("{field}--x-1\r\nContent-Disposition: form-data\r\n\r\n2\r\n--x-1--"),
                "part 2: it has no name",
            ),
            (field.to_owned(), "part 1"),
            ("--other--".to_owned(), "part 1"),
            (format!("{field}--x-1\r\nContent-Disposition: form-data; name=\"b\"\r\n"), "part 2"),
        ] {
            let refused = parse(body.as_bytes()).unwrap_err();
            assert!(refused.contains(place), "{body}: {refused}");
        }
        let not_text = b"--x-1\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\xff\r\n--x-1--";
        assert!(parse(not_text).unwrap_err().ends_with("part 1: the field 'a' is not UTF-8"));
    }

    #[test]
    fn content_type_names_the_boundary() {
        for (parameters, boundary) in [
            ("boundary=\"a b\"", "a b"),
            ("charset=utf-8; Boundary=x ;y", "x"),
            ("boundary=x ; charset=utf-8", "x"),
        ] {
            let content_type = format!("multipart/form-data; {parameters}");
            assert_eq!(find_boundary(content_type.as_bytes()).unwrap(), boundary, "{parameters}");
        }
        for content_type in
            ["multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; x"]
        {
            let refused = find_boundary(content_type.as_bytes()).unwrap_err();
            assert_eq!(refused.status(), 400, "{content_type}");
        }
    }
}
