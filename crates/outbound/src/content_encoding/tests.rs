use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use svc_testkit::upstream::{Upstream, UpstreamReply};

use super::*;
use crate::client::{ClientOptions, Outbound};
use crate::error::FetchError;
use crate::trust::Trust;

/// The text of the samples.
fn text() -> String {
    format!(r#"{{"text":"{}"}}"#, "grün ".repeat(20))
}

/// The text of the samples, by another program.
const BROTLI: &str = "1b8200f81d89e9c607d96aa1ddf8518bb8ed0d6f9db33e5e05225792e456078860cec03f08";

/// Four MiB of one letter.
const BROTLI_BOMB: &str = "9bffff3ff825c2e2b14020f7fe07";

fn unhex(text: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digit).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

/// Each encoding by its name, with the text of the samples in it.
fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let text = text();
    let text = text.as_bytes();
    let (half, rest) = text.split_at(50);
    // A frame that says nothing, as encoders may write between others.
    let skipped = [&0x184D_2A50_u32.to_le_bytes()[..], &3_u32.to_le_bytes(), b"abc"].concat();
    vec![
        ("gzip", gzip(text)),
        ("X-GZip", gzip(text)),
        ("gzip", [gzip(half), gzip(rest)].concat()),
        ("deflate", zlib(text)),
        ("deflate", deflate(text)),
        ("br", unhex(BROTLI)),
        ("zstd", zstd(text)),
        ("zstd", [zstd(half), skipped, zstd(rest)].concat()),
        ("deflate, gzip", gzip(&zlib(text))),
        ("identity", text.to_vec()),
    ]
}

fn decode_by_name(name: &str, body: &[u8], cap: usize) -> Result<Vec<u8>, DecodeError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_ENCODING, name.parse().unwrap());
    let decoded = decode_all(&encodings(&headers)?, Bytes::copy_from_slice(body), cap);
    decoded.map(Vec::from)
}

#[test]
fn every_encoding_is_decoded_up_to_the_cap() {
    let text = text();
    for (name, body) in samples() {
        let decoded = decode_by_name(name, &body, text.len());
        assert_eq!(decoded.as_deref(), Ok(text.as_bytes()), "{name}");
        if name != "identity" {
            let short = decode_by_name(name, &body, text.len() - 1);
            assert_eq!(short, Err(DecodeError::TooLarge), "{name}");
        }
    }
}

#[test]
fn cut_and_foreign_bodies_are_no_text() {
    for (name, body) in samples().into_iter().filter(|(name, _)| !matches!(*name, "identity")) {
        for length in 1..body.len() {
            let decoded = decode_by_name(name, &body[..length], 1 << 20);
            // A body of several members may end behind one of them.
            let is_whole = decoded.as_ref().is_ok_and(|decoded| decoded == &text().as_bytes()[..50]);
            assert!(is_whole || decoded.is_err(), "{name} {length}: {decoded:?}");
        }
        assert!(
            matches!(decode_by_name(name, b"plain text", 1 << 20), Err(DecodeError::Invalid(_))),
            "{name}"
        );
    }
    assert_eq!(decode_by_name("compress", b"x", 10), Err(DecodeError::Unknown("compress".into())));
    assert_eq!(decode_by_name("gzip,gzip,gzip,gzip,gzip", b"x", 10), Err(DecodeError::TooMany));
}

#[test]
fn body_beyond_the_deflate_ratio_is_refused() {
    let bomb = unhex(BROTLI_BOMB);
    assert_eq!(decode_by_name("br", &bomb, 1 << 30), Err(DecodeError::Ratio));
    assert_eq!(decode_by_name("br", &bomb, 1 << 10), Err(DecodeError::TooLarge));
    let large = vec![b'a'; 4 << 20];
    for body in [zlib(&large), deflate(&large)] {
        assert_eq!(decode_by_name("deflate", &body, 4 << 20).map(|decoded| decoded.len()), Ok(4 << 20));
    }
}

#[test]
fn members_of_a_body_are_bounded() {
    let skipped = [&0x184D_2A50_u32.to_le_bytes()[..], &0_u32.to_le_bytes()].concat();
    for (name, member) in [("gzip", gzip(b"")), ("zstd", skipped)] {
        assert_eq!(decode_by_name(name, &member.repeat(3), 10), Ok(Vec::new()), "{name}");
        let many = member.repeat(MAX_MEMBERS + 1);
        assert!(matches!(decode_by_name(name, &many, 10), Err(DecodeError::Invalid(_))), "{name}");
    }
}

#[tokio::test]
async fn response_is_requested_compressed_and_read_plain() {
    let mut samples = samples();
    let numbers = (0..100_000).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
    samples.push(("gzip", gzip(numbers.as_bytes())));
    for (name, body) in samples {
        let reply = UpstreamReply::Answer {
            status: 200,
            headers: vec![("content-encoding".into(), name.into()), ("etag".into(), "e".into())],
            body: body.clone(),
        };
        let upstream = Upstream::start(move |_| reply.clone()).unwrap();
        let client = client();
        let url = upstream.url("/").parse().unwrap();
        let answer = client.get(&url, 1 << 20).await.unwrap();
        let expected = if body.len() > 10_000 { numbers.clone() } else { text() };
        assert_eq!(String::from_utf8_lossy(&answer.body), expected, "{name}");
        assert_eq!(answer.headers.contains_key(CONTENT_ENCODING), name == "identity", "{name}");
        assert!(answer.headers.contains_key("etag"));
        let asked = upstream.requests();
        assert_eq!(asked[0].header("accept-encoding"), Some("gzip, deflate, br, zstd"));
        // A status alone is asked for, or parts: nothing to compress.
        client.exchange(Method::HEAD, &url, HeaderMap::new(), None, 10).await.ok();
        let range = HeaderMap::from_iter([(RANGE, HeaderValue::from_static("bytes=0-1"))]);
        client.exchange(Method::GET, &url, range, None, 1 << 20).await.unwrap();
        let own = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("identity"))]);
        client.exchange(Method::GET, &url, own, None, 1 << 20).await.unwrap();
        let asked: Vec<_> =
            upstream.requests().iter().map(|r| r.header("accept-encoding").map(str::to_owned)).collect();
        assert_eq!(asked[1..], [None, None, Some("identity".to_owned())]);
    }
}

#[tokio::test]
async fn undecodable_bodies_fail_only_where_needed() {
    let answer = |status, body: &[u8]| UpstreamReply::Answer {
        status,
        headers: vec![("content-encoding".into(), "gzip".into())],
        body: body.to_vec(),
    };
    let replies =
        [answer(200, b"no gzip"), answer(500, b"no gzip"), answer(204, b""), answer(500, &gzip(b"why"))];
    for (index, reply) in replies.into_iter().enumerate() {
        let upstream = Upstream::start(move |_| reply.clone()).unwrap();
        let answer = client().get(&upstream.url("/").parse().unwrap(), 1 << 20).await;
        match (index, answer) {
            (0, Err(error @ FetchError::Broken { .. })) => {
                assert!(error.to_string().contains("its body is no valid gzip"), "{error}");
            }
            (1, Ok(answer)) => assert_eq!(&answer.body[..], b"no gzip"),
            (2, Ok(answer)) => assert!(answer.body.is_empty()),
            (3, Ok(answer)) => assert_eq!(&answer.body[..], b"why"),
            (index, answer) => panic!("{index}: {answer:?}"),
        }
    }
}

fn client() -> crate::client::OutboundClient {
    let options = ClientOptions { allow_private: true, timeout: std::time::Duration::from_secs(20) };
    Outbound::new(&Trust::Only(String::new())).unwrap().client(options).unwrap()
}
