//! Parser of tokens in the compact serialization of a JWS (RFC 7515, section 7.1).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::{Map, Value};
use svc_model::config::auth::JwtAlgorithm;

use crate::reason::RefusalReason;

/// A parsed token. No part of it is trusted yet.
pub(super) struct CompactToken<'t> {
    /// The algorithm in its header.
    pub(super) algorithm: JwtAlgorithm,
    /// The id of the key that allegedly signed it.
    pub(super) kid: Option<String>,
    /// The signed bytes: header and payload as received.
    pub(super) signed: &'t [u8],
    /// The payload, decoded but not parsed.
    pub(super) payload: Vec<u8>,
    /// The signature, decoded.
    pub(super) signature: Vec<u8>,
}

impl<'t> CompactToken<'t> {
    /// Parses a token: three parts, each base64url without padding, and a header without `crit` and
    /// `b64`. The algorithm in the header is checked before the other parts are decoded.
    ///
    /// Header members that carry keys (`jwk`, `jku`, `x5c`, `x5u`) are ignored.
    pub(super) fn parse(token: &'t [u8], allowed: &[JwtAlgorithm]) -> Result<Self, RefusalReason> {
        let decode = |part: &[u8]| URL_SAFE_NO_PAD.decode(part).map_err(|_| RefusalReason::Malformed);
        let mut parts = token.splitn(2, |byte| *byte == b'.');
        let (head, rest) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());

        let mut header = unique_object(&decode(head)?).ok_or(RefusalReason::Malformed)?;
        // Both change what is signed or how it is interpreted. An implementation without support for them
        // must refuse the token.
        if header.contains_key("crit") || header.contains_key("b64") {
            return Err(RefusalReason::Malformed);
        }
        let mut text = |name: &str| match header.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(RefusalReason::Malformed),
        };
        let (algorithm, kid) = (text("alg")?.ok_or(RefusalReason::Malformed)?, text("kid")?);
        for informative in ["typ", "cty"] {
            text(informative)?;
        }

        let algorithm = JwtAlgorithm::parse(&algorithm)
            .filter(|algorithm| allowed.contains(algorithm))
            .ok_or(RefusalReason::AlgRejected)?;

        let mut parts = rest.split(|byte| *byte == b'.');
        let (Some(payload), Some(signature), None) = (parts.next(), parts.next(), parts.next()) else {
            return Err(RefusalReason::Malformed);
        };
        let signed = &token[..head.len() + 1 + payload.len()];
        let (payload, signature) = (decode(payload)?, decode(signature)?);
        Ok(Self { algorithm, kid, signed, payload, signature })
    }
}

/// Parses a JSON object without duplicate members.
pub(super) fn unique_object(json: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(json).ok().map(|Unique(members)| members)
}

struct Unique(Map<String, Value>);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members)
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Unique;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Unique, A::Error> {
        let mut members = Map::new();
        while let Some((name, value)) = access.next_entry::<String, Value>()? {
            if members.insert(name, value).is_some() {
                return Err(A::Error::custom("a member appears twice"));
            }
        }
        Ok(Unique(members))
    }
}
