//! A key of a JSON Web Key Set (RFC 7517, RFC 8037).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openssl::bn::BigNum;
use openssl::ec::{EcGroup, EcKey};
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey, Public};
use openssl::rsa::Rsa;
use serde_json::{Map, Value};
use svc_model::config::auth::JwtAlgorithm;

use super::key::VerifyingKey;

/// Algorithms of an RSA key without `alg`.
const RSA: &[JwtAlgorithm] = &[
    JwtAlgorithm::Rs256,
    JwtAlgorithm::Rs384,
    JwtAlgorithm::Rs512,
    JwtAlgorithm::Ps256,
    JwtAlgorithm::Ps384,
    JwtAlgorithm::Ps512,
];

/// Maximum modulus of a published RSA key, in bits. Any token may cause every key of a set to be tried, which
/// larger keys would make expensive.
const MAX_RSA_BITS: i32 = 4096;

/// A usable key of a set, in one form for each algorithm that it may verify.
#[derive(Debug)]
pub(crate) struct Jwk {
    kid: Option<String>,
    keys: Vec<VerifyingKey>,
}

impl Jwk {
    /// Parses a key. Returns `None` if it cannot be used: it has another purpose, an unsupported algorithm or
    /// curve, is weak or malformed, or is a symmetric or private key, which is compromised by its
    /// publication.
    pub(crate) fn parse(jwk: &Value) -> Option<Self> {
        let jwk = jwk.as_object()?;
        let verifies = match jwk.get("key_ops") {
            None => true,
            Some(operations) => operations.as_array()?.iter().any(|operation| operation == "verify"),
        };
        let signs = text(jwk, "use")?.is_none_or(|purpose| purpose == "sig");
        if !verifies || !signs || jwk.contains_key("d") {
            return None;
        }
        let declared = match text(jwk, "alg")? {
            None => None,
            Some(name) => Some(JwtAlgorithm::parse(name)?),
        };
        let (key, algorithms) = public_key(jwk)?;
        let keys: Vec<_> = algorithms
            .iter()
            .filter(|algorithm| declared.is_none_or(|declared| declared == **algorithm))
            .filter_map(|algorithm| VerifyingKey::from_public(*algorithm, &key).ok())
            .collect();
        let kid = text(jwk, "kid")?.map(str::to_owned);
        (!keys.is_empty()).then_some(Self { kid, keys })
    }

    /// Returns the key id.
    pub(crate) fn kid(&self) -> Option<&str> {
        self.kid.as_deref()
    }

    /// Returns the form of the key for an algorithm, if the key may verify that algorithm.
    pub(crate) fn key(&self, algorithm: JwtAlgorithm) -> Option<&VerifyingKey> {
        self.keys.iter().find(|key| key.algorithm() == algorithm)
    }
}

/// Returns the public key and the algorithms of its family. `None` for an unsupported `kty` or `crv`, and if
/// a member is missing or malformed.
fn public_key(jwk: &Map<String, Value>) -> Option<(PKey<Public>, &'static [JwtAlgorithm])> {
    let bytes = |name| URL_SAFE_NO_PAD.decode(text(jwk, name)??).ok();
    match (text(jwk, "kty")??, text(jwk, "crv")?) {
        ("RSA", _) => Some((rsa(&bytes("n")?, &bytes("e")?)?, RSA)),
        ("EC", Some("P-256")) => {
            Some((ec(Nid::X9_62_PRIME256V1, 32, &bytes("x")?, &bytes("y")?)?, &[JwtAlgorithm::Es256]))
        }
        ("EC", Some("P-384")) => {
            Some((ec(Nid::SECP384R1, 48, &bytes("x")?, &bytes("y")?)?, &[JwtAlgorithm::Es384]))
        }
        ("OKP", Some("Ed25519")) => {
            let key = PKey::public_key_from_raw_bytes(&bytes("x")?, Id::ED25519).ok()?;
            Some((key, &[JwtAlgorithm::EdDsa]))
        }
        _ => None,
    }
}

/// Creates an RSA key from modulus and exponent; `None` if they make no key, or one above [`MAX_RSA_BITS`].
fn rsa(n: &[u8], e: &[u8]) -> Option<PKey<Public>> {
    let (n, e) = (BigNum::from_slice(n).ok()?, BigNum::from_slice(e).ok()?);
    if n.num_bits() > MAX_RSA_BITS {
        return None;
    }
    PKey::from_rsa(Rsa::from_public_components(n, e).ok()?).ok()
}

/// Creates an EC key from coordinates of full length; `None` for another length, and for a point that is not
/// on the curve.
fn ec(curve: Nid, length: usize, x: &[u8], y: &[u8]) -> Option<PKey<Public>> {
    if x.len() != length || y.len() != length {
        return None;
    }
    let group = EcGroup::from_curve_name(curve).ok()?;
    let (x, y) = (BigNum::from_slice(x).ok()?, BigNum::from_slice(y).ok()?);
    let key = EcKey::from_public_key_affine_coordinates(&group, &x, &y).ok()?;
    PKey::from_ec_key(key).ok()
}

/// Returns a text member: `Some(None)` if it is absent, `None` if it has another type.
fn text<'k>(jwk: &'k Map<String, Value>, name: &str) -> Option<Option<&'k str>> {
    match jwk.get(name) {
        None => Some(None),
        Some(value) => value.as_str().map(Some),
    }
}
