//! `Content-Encoding` (RFC 9110, 8.4): compressed bodies, of responses and of requests, are decoded within bounds.

use std::io::{self, Read};

use brotli_decompressor::Decompressor;
use bytes::Bytes;
use flate2::bufread::GzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use reqwest::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap, HeaderValue, RANGE};
use reqwest::{Method, StatusCode};
use ruzstd::decoding::StreamingDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};

/// The encodings that a request asks for.
const ACCEPTED: HeaderValue = HeaderValue::from_static("gzip, deflate, br, zstd");

/// Maximum number of encodings of one body: more than two serve only an attacker.
const MAX_ENCODINGS: usize = 4;

/// Bytes that a body may always become.
const FREE: usize = 1 << 20;

/// Bytes that each byte of a larger body may become: no more than DEFLATE can make of one.
const MAX_RATIO: usize = 1032;

/// The largest window of Zstandard that a response may ask for (RFC 9659).
const ZSTD_WINDOW: u64 = 8 << 20;

/// Members of gzip or frames of Zstandard in one body, those that say nothing included. Each costs a decoder of its
/// own, and takes few bytes.
const MAX_MEMBERS: usize = 10_000;

/// Bytes that are inflated at a time, at least.
const INFLATE_STEP: usize = 16 * 1024;

/// Compressed bytes from which on a body is decoded on a thread for blocking work.
const LARGE: usize = 16 * 1024;

/// The reason why a body is not decoded.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The decoded body is longer than the caller takes.
    #[error("the decoded body is too long")]
    TooLarge,
    /// The body grows more than any honest one.
    #[error("its body grows more than {MAX_RATIO} times when it is decoded")]
    Ratio,
    /// An encoding that is not known.
    #[error("its body has the unknown encoding '{0}'")]
    Unknown(String),
    /// More encodings than are decoded.
    #[error("its body has more than {MAX_ENCODINGS} encodings")]
    TooMany,
    /// The body is not what its encoding says, or is cut.
    #[error("its body is no valid {0}")]
    Invalid(&'static str),
}

/// The encodings that are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Encoding {
    /// Returns the name, as it is registered.
    const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }

    /// Reads the name of an encoding; `None` for `identity`, which changes nothing.
    fn from_name(name: &str) -> Result<Option<Self>, DecodeError> {
        Ok(Some(match name.to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Self::Gzip,
            "deflate" => Self::Deflate,
            "br" => Self::Brotli,
            "zstd" => Self::Zstd,
            "identity" | "" => return Ok(None),
            other => return Err(DecodeError::Unknown(other.chars().take(32).collect())),
        }))
    }
}

/// Adds the encodings that are decoded to the headers of a request, unless they name some, or the response has no
/// body, or parts of one.
pub(crate) fn accept_encodings(method: &Method, headers: &mut HeaderMap) {
    let decides = headers.contains_key(ACCEPT_ENCODING) || headers.contains_key(RANGE);
    if !decides && *method != Method::HEAD {
        headers.insert(ACCEPT_ENCODING, ACCEPTED);
    }
}

/// Decodes the body of a response to at most `cap` bytes. The headers then no longer name the encodings. A part of
/// a body (206) is left as it is.
///
/// # Errors
/// [`DecodeError`] when the body cannot be decoded within the bounds; the headers are then as they were.
pub(crate) async fn decode_body(
    status: StatusCode,
    headers: &mut HeaderMap,
    body: Bytes,
    cap: usize,
) -> Result<Bytes, DecodeError> {
    if body.is_empty() || !headers.contains_key(CONTENT_ENCODING) || status == StatusCode::PARTIAL_CONTENT {
        return Ok(body);
    }
    let encodings = encodings(headers)?;
    if encodings.is_empty() {
        return Ok(body);
    }
    let decoded = if body.len() < LARGE {
        decode_all(&encodings, body, cap)?
    } else {
        let work = tokio::task::spawn_blocking(move || decode_all(&encodings, body, cap));
        work.await.map_err(|_| DecodeError::Invalid("compressed text"))??
    };
    headers.remove(CONTENT_ENCODING);
    headers.remove(CONTENT_LENGTH);
    Ok(decoded)
}

/// Returns the encodings of a body in the order in which they were applied.
fn encodings(headers: &HeaderMap) -> Result<Vec<Encoding>, DecodeError> {
    let mut found = Vec::new();
    for line in headers.get_all(CONTENT_ENCODING) {
        let line = String::from_utf8_lossy(line.as_bytes());
        for name in line.split(',') {
            found.extend(Encoding::from_name(name.trim())?);
            if found.len() > MAX_ENCODINGS {
                return Err(DecodeError::TooMany);
            }
        }
    }
    Ok(found)
}

/// Decodes a body to at most `cap` bytes, which bound what is allocated too. `names` are its encodings in the order in
/// which they were applied.
///
/// # Errors
/// [`DecodeError`] when the body cannot be decoded within the bounds.
pub fn decode_encodings<'n>(
    names: impl Iterator<Item = &'n str>,
    body: Bytes,
    cap: usize,
) -> Result<Bytes, DecodeError> {
    let encodings: Result<Vec<_>, _> = names.map(Encoding::from_name).collect();
    let encodings: Vec<_> = encodings?.into_iter().flatten().collect();
    if encodings.len() > MAX_ENCODINGS {
        return Err(DecodeError::TooMany);
    }
    decode_all(&encodings, body, cap)
}

fn decode_all(encodings: &[Encoding], body: Bytes, cap: usize) -> Result<Bytes, DecodeError> {
    encodings.iter().rev().try_fold(body, |body, encoding| decode(*encoding, &body, cap).map(Bytes::from))
}

/// Takes one encoding off a body.
fn decode(encoding: Encoding, body: &[u8], cap: usize) -> Result<Vec<u8>, DecodeError> {
    let limit = body.len().saturating_mul(MAX_RATIO).max(FREE).min(cap);
    let mut decoded = Vec::new();
    let read = match encoding {
        Encoding::Gzip => read_members(body, limit, &mut decoded),
        Encoding::Deflate => inflate(body, limit, &mut decoded),
        Encoding::Brotli => read_within(Decompressor::new(body, 4096), limit, &mut decoded),
        Encoding::Zstd => read_frames(body, limit, &mut decoded),
    };
    match read {
        Err(_) => Err(DecodeError::Invalid(encoding.name())),
        Ok(()) if decoded.len() <= limit => Ok(decoded),
        Ok(()) if limit == cap => Err(DecodeError::TooLarge),
        Ok(()) => Err(DecodeError::Ratio),
    }
}

/// Returns true if a body begins with the header of zlib (RFC 1950, 2.2).
fn is_zlib(body: &[u8]) -> bool {
    let [first, second, ..] = body else { return false };
    first & 0x0f == 8 && (u16::from(*first) << 8 | u16::from(*second)) % 31 == 0
}

/// Reads on until one byte more than the limit is there.
fn read_within(decoder: impl Read, limit: usize, decoded: &mut Vec<u8>) -> io::Result<()> {
    let room = (limit + 1).saturating_sub(decoded.len());
    decoder.take(room as u64).read_to_end(decoded).map(drop)
}

/// Inflates a body in the format of zlib, or, as some servers send it, without that frame.
fn inflate(body: &[u8], limit: usize, decoded: &mut Vec<u8>) -> io::Result<()> {
    let mut inflater = Decompress::new(is_zlib(body));
    let mut rest = body;
    while decoded.len() <= limit {
        let (before, known) = (inflater.total_in(), decoded.len());
        decoded.reserve(INFLATE_STEP);
        let status = inflater.decompress_vec(rest, decoded, FlushDecompress::None)?;
        let consumed = usize::try_from(inflater.total_in() - before).map_err(io::Error::other)?;
        rest = &rest[consumed..];
        if status == Status::StreamEnd {
            break;
        }
        if consumed == 0 && decoded.len() == known {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(())
}

/// Reads the members of gzip, of which a body may have several.
fn read_members(mut body: &[u8], limit: usize, decoded: &mut Vec<u8>) -> io::Result<()> {
    for _ in 0..MAX_MEMBERS {
        read_within(GzDecoder::new(&mut body), limit, decoded)?;
        if body.is_empty() || decoded.len() > limit {
            return Ok(());
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

/// Reads the frames of Zstandard, of which a body may have several, and steps over those that say nothing.
fn read_frames(mut body: &[u8], limit: usize, decoded: &mut Vec<u8>) -> io::Result<()> {
    for _ in 0..MAX_MEMBERS {
        if body.is_empty() || decoded.len() > limit {
            return Ok(());
        }
        match StreamingDecoder::new_with_max_window_size(&mut body, ZSTD_WINDOW) {
            Ok(decoder) => read_within(decoder, limit, decoded)?,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length, ..
            })) => {
                let length = usize::try_from(length).map_err(io::Error::other)?;
                body = body.get(length..).ok_or(io::ErrorKind::UnexpectedEof)?;
            }
            Err(error) => return Err(io::Error::other(error)),
        }
    }
    if body.is_empty() || decoded.len() > limit { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}

#[cfg(test)]
mod tests;
