//! The meaning of a verified request, implemented a second time in the simplest way, as the reference for
//! mutations.
//!
//! A mutated request may be accepted if and only if it has the same meaning as the valid original:
//! - API key, token: the first value of the header is ASCII and holds the same credential, after the same
//!   scheme in any case and with any number of spaces;
//! - signature: the signed text is the same, one of the presented signatures is the same (hexadecimal digits
//!   may differ in case, base64 in padding), and the signed timestamp is still within the window.
//!
//! Unused headers, and repeated values of used ones, have no meaning.

use crate::support::SignedRequest;

/// The interpretation of a request by the ingress.
#[derive(Clone, Debug)]
pub(crate) enum SignatureScheme {
    Credential { header: &'static str, scheme: Option<&'static str> },
    Signature(Signature),
}

#[derive(Clone, Debug)]
pub(crate) struct Signature {
    pub(crate) header: &'static str,
    pub(crate) form: Form,
    pub(crate) is_hex: bool,
    /// The signed text.
    pub(crate) text: Vec<Piece>,
    /// The place of the timestamp, which may differ by 300 s in both directions.
    pub(crate) stamp: Option<Piece>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    Prefix(&'static str),
    Key(&'static str),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Piece {
    Text(&'static str),
    Header(&'static str),
    Pair(&'static str, &'static str),
    Body,
}

impl SignatureScheme {
    /// Returns true if a mutation has the same meaning as the valid original.
    pub(crate) fn same(&self, valid: &SignedRequest, mutated: &SignedRequest) -> bool {
        match self {
            Self::Credential { header, scheme } => {
                let key = |request| credential(request, header, *scheme);
                key(mutated).is_some() && key(mutated) == key(valid)
            }
            Self::Signature(signature) => signature.same(valid, mutated),
        }
    }
}

fn credential<'r>(request: &'r SignedRequest, header: &str, scheme: Option<&str>) -> Option<&'r str> {
    let value = std::str::from_utf8(request.header(header)?).ok().filter(|value| value.is_ascii())?;
    let Some(scheme) = scheme else { return Some(value) };
    let (named, key) = value.split_once(' ')?;
    named.eq_ignore_ascii_case(scheme).then(|| key.trim_start_matches(' '))
}

impl Signature {
    fn same(&self, valid: &SignedRequest, mutated: &SignedRequest) -> bool {
        let signature = self.presented_values(valid).remove(0);
        self.text(mutated).is_some()
            && self.text(mutated) == self.text(valid)
            && self.presented_values(mutated).iter().any(|other| self.spells(&signature, other))
            && self.is_fresh(mutated)
    }

    /// Returns true if another text encodes the same signature.
    fn spells(&self, signature: &[u8], other: &[u8]) -> bool {
        if self.is_hex {
            return other.eq_ignore_ascii_case(signature);
        }
        let bare = |text: &[u8]| text.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last + 1);
        let padded = signature.len().next_multiple_of(4);
        signature[..bare(signature)] == other[..bare(other)] && other.len() <= padded
    }

    fn presented_values(&self, request: &SignedRequest) -> Vec<Vec<u8>> {
        let value = request.header(self.header).unwrap_or_default();
        match self.form {
            Form::Prefix(prefix) => {
                value.strip_prefix(prefix.as_bytes()).map(<[u8]>::to_vec).into_iter().collect()
            }
            Form::Key(key) => pairs(value, key),
        }
    }

    fn text(&self, request: &SignedRequest) -> Option<Vec<u8>> {
        let pieces: Option<Vec<_>> = self.text.iter().map(|piece| read(piece, request)).collect();
        pieces.map(|pieces| pieces.concat())
    }

    fn is_fresh(&self, request: &SignedRequest) -> bool {
        let Some(stamp) = &self.stamp else { return true };
        let value = read(stamp, request).and_then(|value| String::from_utf8(value).ok());
        let instant = value.and_then(|value| value.trim().parse::<i128>().ok());
        let is_small = |instant: &i128| i64::try_from(*instant).is_ok();
        instant.filter(is_small).is_some_and(|at| (i128::from(request.now) - at).abs() <= 300)
    }
}

fn read(piece: &Piece, request: &SignedRequest) -> Option<Vec<u8>> {
    match piece {
        Piece::Text(text) => Some(text.as_bytes().to_vec()),
        Piece::Body => Some(request.body.clone()),
        Piece::Header(name) => request.header(name).map(<[u8]>::to_vec),
        Piece::Pair(name, key) => pairs(request.header(name)?, key).into_iter().next(),
    }
}

fn pairs(value: &[u8], key: &str) -> Vec<Vec<u8>> {
    let wanted = format!("{key}=").into_bytes();
    value
        .split(|byte| *byte == b',')
        .filter_map(|pair| pair.trim_ascii().strip_prefix(wanted.as_slice()))
        .map(<[u8]>::to_vec)
        .collect()
}
