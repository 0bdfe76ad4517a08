//! Tests of published key sets.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey, Private};
use parking_lot::Mutex;
use serde_json::{Value, json};
use svc_auth::jwt::JwtVerifier;
use svc_auth::{Jwks, JwksError, KeySet, KeySets, MAX_CANDIDATES, MAX_KEYS, RefusalReason};
use svc_model::config::auth::{JwtAlgorithm, JwtKey};
use svc_secrets::EnvironmentResolver;

use super::issuer::{Issuer, ec, encode, rsa};
use super::{ALGORITHMS, NOW, auth, verify};

/// A key set with content from the test; counts the calls.
#[derive(Clone, Default)]
pub(super) struct FakeSet(Arc<State>);

#[derive(Default)]
struct State {
    fresh: Mutex<Option<Arc<Jwks>>>,
    obtainable: Mutex<Option<Arc<Jwks>>>,
    newer: Mutex<Option<Arc<Jwks>>>,
    is_away: AtomicBool,
    obtained: AtomicUsize,
    renewed: AtomicUsize,
}

impl FakeSet {
    /// Creates a set with fresh keys.
    pub(super) fn holding(keys: Option<Arc<Jwks>>) -> Self {
        let set = Self::default();
        *set.0.fresh.lock() = keys;
        set
    }

    pub(super) fn fetch_count(&self) -> usize {
        self.0.obtained.load(Ordering::Relaxed)
    }

    pub(super) fn renewal_count(&self) -> usize {
        self.0.renewed.load(Ordering::Relaxed)
    }
}

impl KeySets for FakeSet {
    fn key_set(&self, url: &str) -> Result<Arc<dyn KeySet>, String> {
        if url.contains("refused") {
            Err("the address is refused".into())
        } else {
            Ok(Arc::new(self.clone()))
        }
    }
}

impl KeySet for FakeSet {
    fn fresh(&self) -> Option<Arc<Jwks>> {
        self.0.fresh.lock().clone()
    }

    fn obtain(&self) -> BoxFuture<'_, Option<Arc<Jwks>>> {
        self.0.obtained.fetch_add(1, Ordering::Relaxed);
        ready(self.0.obtainable.lock().clone()).boxed()
    }

    fn renew<'s>(&'s self, seen: &'s Arc<Jwks>) -> BoxFuture<'s, Option<Arc<Jwks>>> {
        self.0.renewed.fetch_add(1, Ordering::Relaxed);
        let newer = self.0.newer.lock().clone();
        let is_away = self.0.is_away.load(Ordering::Relaxed);
        ready((!is_away).then(|| newer.unwrap_or_else(|| seen.clone()))).boxed()
    }
}

/// Returns the public part of a key as a JWK.
fn jwk(key: &PKey<Private>, more: &Value) -> Value {
    let mut jwk = if let Ok(rsa) = key.rsa() {
        json!({"kty": "RSA", "n": encode(rsa.n().to_vec()), "e": encode(rsa.e().to_vec())})
    } else if let Ok(ec) = key.ec_key() {
        let (curve, length) = match ec.group().curve_name() {
            Some(Nid::X9_62_PRIME256V1) => ("P-256", 32),
            Some(Nid::SECP384R1) => ("P-384", 48),
            Some(Nid::SECP521R1) => ("P-521", 66),
            _ => ("secp256k1", 32),
        };
        let point = ec
            .public_key()
            .to_bytes(
                ec.group(),
                openssl::ec::PointConversionForm::UNCOMPRESSED,
                &mut openssl::bn::BigNumContext::new().unwrap(),
            )
            .unwrap();
        let (x, y) = point[1..].split_at(length);
        json!({"kty": "EC", "crv": curve, "x": encode(x), "y": encode(y)})
    } else {
        let curve = if key.id() == Id::ED25519 { "Ed25519" } else { "Ed448" };
        json!({"kty": "OKP", "crv": curve, "x": encode(key.raw_public_key().unwrap())})
    };
    jwk.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    jwk
}

fn set(keys: &[Value]) -> Result<Jwks, JwksError> {
    Jwks::parse(json!({"keys": keys}).to_string().as_bytes())
}

fn shared_keys(keys: &[Value]) -> Arc<Jwks> {
    Arc::new(set(keys).unwrap())
}

fn verifier(keys: Vec<JwtKey>, set: &FakeSet) -> JwtVerifier {
    let mut config = auth(keys);
    config.jwks_url = Some("https://issuer.example/jwks".into());
    JwtVerifier::build(&config, &EnvironmentResolver(|_: &str| None), set).unwrap()
}

fn token(issuer: &Issuer, kid: Option<&str>) -> String {
    let mut header = json!({"alg": issuer.algorithm.name()});
    if let Some(kid) = kid {
        header["kid"] = kid.into();
    }
    issuer.token(&header, &json!({"exp": NOW + 60}))
}

#[test]
fn document_that_is_no_key_set_is_refused() {
    for document in ["", "{", "[]", "null", "{}", r#"{"keys":{}}"#, r#"{"keys":null}"#, r#"{"key":[]}"#] {
        assert_eq!(Jwks::parse(document.as_bytes()).unwrap_err(), JwksError::Malformed, "{document}");
    }
    assert_eq!(Jwks::parse(b"{\"keys\":[\xff]}").unwrap_err(), JwksError::Malformed);
}

#[test]
fn set_without_a_usable_key_is_refused() {
    assert_eq!(set(&[]).unwrap_err(), JwksError::Empty);
    assert_eq!(set(&[json!(1), json!({}), json!({"kty": "oct", "k": "AA"})]).unwrap_err(), JwksError::Empty);
}

#[test]
fn set_behind_a_byte_order_mark_is_read() {
    let document = json!({"keys": [jwk(&ec(Nid::X9_62_PRIME256V1), &json!({}))]});
    assert_eq!(Jwks::parse(format!("\u{feff}{document}").as_bytes()).unwrap().len(), 1);
}

#[test]
fn a_set_holds_at_most_100_keys() {
    let key = jwk(&ec(Nid::X9_62_PRIME256V1), &json!({}));
    assert_eq!(set(&vec![key.clone(); MAX_KEYS]).unwrap().len(), 100);
    assert_eq!(set(&vec![key; MAX_KEYS + 1]).unwrap_err(), JwksError::TooMany);
}

#[test]
fn unusable_key_is_skipped_and_spoils_no_other() {
    let (p256, p384) = (ec(Nid::X9_62_PRIME256V1), ec(Nid::SECP384R1));
    let (ed25519, rsa2048) = (PKey::generate_ed25519().unwrap(), rsa(2048));
    let good = jwk(&p256, &json!({"kid": "good"}));
    let n = rsa2048.rsa().unwrap().n().to_vec();
    let with = |name: &str, value: Value| {
        let mut changed = good.clone();
        changed[name] = value;
        changed
    };
    let coordinate = |name: &str| URL_SAFE_NO_PAD.decode(good[name].as_str().unwrap()).unwrap();
    let (x, y) = (coordinate("x"), coordinate("y"));
    let mut off = y.clone();
    off[31] ^= 1;
    for unusable in [
        json!({"kty": "oct", "k": encode([7; 64]), "alg": "HS256"}),
        with("use", json!("enc")),
        with("use", json!(["sig"])),
        with("key_ops", json!(["sign", "encrypt"])),
        with("key_ops", json!([])),
        with("key_ops", json!("verify")),
        with("alg", json!("ES384")),
        with("alg", json!("RS256")),
        with("alg", json!("HS256")),
        with("alg", json!("ES512")),
        with("alg", json!("ECDH-ES")),
        with("alg", json!(1)),
        with("kid", json!(1)),
        with("kty", json!("RSA")),
        with("kty", json!("ec")),
        with("kty", json!(null)),
        with("crv", json!("P-384")),
        with("crv", json!("secp256k1")),
        with("d", json!(encode([1; 32]))),
        with("y", json!(encode(off))),
        with("y", json!(format!("{}=", encode(&y)))),
        with("x", json!(encode(&x[1..]))),
        with("x", json!(encode([&[0][..], &x].concat()))),
        with("x", json!(null)),
        jwk(&ec(Nid::SECP521R1), &json!({})),
        jwk(&ec(Nid::SECP256K1), &json!({})),
        jwk(&PKey::generate_ed448().unwrap(), &json!({})),
        jwk(&ed25519, &json!({"crv": "X25519"})),
        jwk(&ed25519, &json!({"x": encode([1; 31])})),
        jwk(&rsa(1024), &json!({})),
        jwk(&rsa2048, &json!({"alg": "RSA-OAEP"})),
        jwk(&rsa2048, &json!({"e": encode([1])})),
        jwk(&rsa2048, &json!({"e": encode([1, 0, 0])})),
        jwk(&rsa2048, &json!({"e": encode([1; 9])})),
        jwk(&rsa2048, &json!({"n": encode([&[0][..], &n[1..]].concat())})),
        jwk(&rsa2048, &json!({"n": ""})),
        jwk(&rsa2048, &json!({"n": modulus(4097)})),
        jwk(&rsa2048, &json!({"n": modulus(100_000)})),
    ] {
        assert_eq!(set(std::slice::from_ref(&unusable)).unwrap_err(), JwksError::Empty, "{unusable}");
        assert_eq!(set(&[unusable, good.clone()]).unwrap().len(), 1);
    }
    for usable in [
        with("use", json!("sig")),
        with("key_ops", json!(["sign", "verify"])),
        with("alg", json!("ES256")),
        jwk(&p384, &json!({})),
        jwk(&ed25519, &json!({"alg": "EdDSA"})),
        jwk(&rsa2048, &json!({"alg": "PS384", "x5c": ["?"], "x5t": 1})),
        jwk(&rsa2048, &json!({"n": modulus(4096)})),
    ] {
        assert_eq!(set(std::slice::from_ref(&usable)).unwrap().len(), 1, "{usable}");
    }
}

/// Returns an odd number with `bits` bits.
fn modulus(bits: usize) -> String {
    let mut bytes = vec![0; bits.div_ceil(8)];
    *bytes.last_mut().unwrap() = 1;
    bytes[0] |= 1 << ((bits - 1) % 8);
    encode(bytes)
}

#[test]
fn at_most_sixteen_keys_are_tried_per_token() {
    let issuer = Issuer::new(JwtAlgorithm::Es256);
    let others = jwk(&ec(Nid::X9_62_PRIME256V1), &json!({"kid": "1"}));
    let elsewhere = jwk(&rsa(2048), &json!({"kid": "1"}));
    for (before, accepted) in [(MAX_CANDIDATES - 1, true), (MAX_CANDIDATES, false)] {
        let mut keys = vec![others.clone(); before];
        // A key of another algorithm is not a candidate.
        keys.push(elsewhere.clone());
        keys.push(jwk(&issuer.private, &json!({"kid": "1"})));
        let verifier = verifier(Vec::new(), &FakeSet::holding(Some(shared_keys(&keys))));
        for kid in [None, Some("1")] {
            assert_eq!(verify(&verifier, &token(&issuer, kid)).is_ok(), accepted, "{before} {kid:?}");
        }
    }
    assert_eq!(MAX_CANDIDATES, 16);
}

#[test]
fn key_serves_its_algorithm_or_whole_family() {
    for declared in [None, Some(JwtAlgorithm::Ps256)] {
        let key = rsa(2048);
        let more = declared.map_or(json!({}), |algorithm| json!({"alg": algorithm.name()}));
        let set = FakeSet::holding(Some(shared_keys(&[jwk(&key, &more)])));
        let verifier = verifier(Vec::new(), &set);
        let family = ALGORITHMS.into_iter().filter(|algorithm| algorithm.name().starts_with(['R', 'P']));
        for algorithm in family {
            let accepted = verify(&verifier, &token(&Issuer::with_key(algorithm, key.clone()), None)).is_ok();
            assert_eq!(accepted, declared.is_none_or(|declared| declared == algorithm), "{algorithm:?}");
        }
    }
}

#[test]
fn key_id_selects_exactly_its_absence_tries_all() {
    let [one, two, other] = [0; 3].map(|_| Issuer::new(JwtAlgorithm::Es256));
    let keys = [
        jwk(&one.private, &json!({"kid": "1"})),
        jwk(&two.private, &json!({})),
        jwk(&rsa(2048), &json!({"kid": "r"})),
    ];
    let verifier = verifier(Vec::new(), &FakeSet::holding(Some(shared_keys(&keys))));
    for (issuer, kid, expected) in [
        (&one, Some("1"), None),
        (&one, None, None),
        (&two, None, None),
        (&two, Some("1"), Some(RefusalReason::BadSignature)),
        (&two, Some(""), Some(RefusalReason::UnknownKid)),
        (&two, Some("2"), Some(RefusalReason::UnknownKid)),
        (&one, Some("r"), Some(RefusalReason::UnknownKid)),
        (&other, Some("1"), Some(RefusalReason::BadSignature)),
        (&other, None, Some(RefusalReason::BadSignature)),
    ] {
        assert_eq!(verify(&verifier, &token(issuer, kid)).err(), expected, "{kid:?}");
    }
}

#[test]
fn static_keys_are_tried_before_the_set() {
    let [ours, theirs] = [0; 2].map(|_| Issuer::new(JwtAlgorithm::Es256));
    let set = FakeSet::holding(None);
    let static_first = verifier(vec![ours.key(Some("1"))], &set);
    assert_eq!(verify(&static_first, &token(&ours, Some("1"))).err(), None);
    assert_eq!(set.fetch_count(), 0, "the set was not needed");
    assert_eq!(verify(&static_first, &token(&theirs, Some("1"))).err(), Some(RefusalReason::KeysUnavailable));

    let set = FakeSet::holding(Some(shared_keys(&[jwk(&theirs.private, &json!({"kid": "1"}))])));
    let both = verifier(vec![ours.key(Some("1"))], &set);
    assert_eq!(verify(&both, &token(&ours, Some("1"))).err(), None);
    assert_eq!(verify(&both, &token(&theirs, Some("1"))).err(), None);
}

#[test]
fn keys_that_are_not_fresh_are_obtained() {
    let issuer = Issuer::new(JwtAlgorithm::EdDsa);
    let set = FakeSet::holding(None);
    let verifier = verifier(Vec::new(), &set);
    assert_eq!(verify(&verifier, &token(&issuer, Some("1"))).err(), Some(RefusalReason::KeysUnavailable));
    *set.0.obtainable.lock() = Some(shared_keys(&[jwk(&issuer.private, &json!({"kid": "1"}))]));
    assert_eq!(verify(&verifier, &token(&issuer, Some("1"))).err(), None);
    assert_eq!((set.fetch_count(), set.renewal_count()), (2, 0));
}

#[test]
fn unknown_key_id_is_unjudged_during_issuer_outage() {
    let [known, unknown] = [0; 2].map(|_| Issuer::new(JwtAlgorithm::EdDsa));
    let set = FakeSet::holding(Some(shared_keys(&[jwk(&known.private, &json!({"kid": "1"}))])));
    set.0.is_away.store(true, Ordering::Relaxed);
    let verifier = verifier(Vec::new(), &set);
    assert_eq!(verify(&verifier, &token(&unknown, Some("2"))).err(), Some(RefusalReason::KeysUnavailable));
    assert_eq!(verify(&verifier, &token(&known, Some("1"))).err(), None);
    set.0.is_away.store(false, Ordering::Relaxed);
    assert_eq!(verify(&verifier, &token(&unknown, Some("2"))).err(), Some(RefusalReason::UnknownKid));
}

#[test]
fn a_rotated_key_is_found_by_asking_once() {
    let [old, new] = [0; 2].map(|_| Issuer::new(JwtAlgorithm::EdDsa));
    let before = jwk(&old.private, &json!({"kid": "old"}));
    let after = jwk(&new.private, &json!({"kid": "new"}));
    let set = FakeSet::holding(Some(shared_keys(std::slice::from_ref(&before))));
    *set.0.newer.lock() = Some(shared_keys(&[before, after]));
    let verifier = verifier(Vec::new(), &set);
    assert_eq!(verify(&verifier, &token(&new, Some("new"))).err(), None);
    assert_eq!(set.renewal_count(), 1);
}

#[test]
fn key_set_is_renewed_once_for_unknown_id() {
    let issuer = Issuer::new(JwtAlgorithm::Es256);
    let stranger = Issuer::stranger(JwtAlgorithm::Es256);
    let set = FakeSet::holding(Some(shared_keys(&[jwk(&issuer.private, &json!({"kid": "1"}))])));
    let mut config = auth(Vec::new());
    config.jwks_url = Some("https://issuer.example/jwks".into());
    config.algorithms.retain(|algorithm| *algorithm != JwtAlgorithm::Ps512);
    let verifier = JwtVerifier::build(&config, &EnvironmentResolver(|_: &str| None), &set).unwrap();

    let of = |algorithm| token(&Issuer::new(algorithm), Some("unknown"));
    for (token, reason) in [
        (token(&stranger, Some("1")), RefusalReason::BadSignature),
        (token(&stranger, None), RefusalReason::BadSignature),
        (token(&Issuer::new(JwtAlgorithm::EdDsa), None), RefusalReason::UnknownKid),
        (token(&Issuer::new(JwtAlgorithm::EdDsa), Some("1")), RefusalReason::UnknownKid),
        (of(JwtAlgorithm::Hs256), RefusalReason::UnknownKid),
        (of(JwtAlgorithm::Ps512), RefusalReason::AlgRejected),
        (of(JwtAlgorithm::Es256) + "=", RefusalReason::Malformed),
        (of(JwtAlgorithm::Es256) + &"A".repeat(8192), RefusalReason::Oversized),
    ] {
        assert_eq!(verify(&verifier, &token).err(), Some(reason), "{token}");
    }
    assert_eq!(set.renewal_count(), 0);

    for n in 1..=1000 {
        let token = token(&stranger, Some(&format!("unknown-{n}")));
        assert_eq!(verify(&verifier, &token).err(), Some(RefusalReason::UnknownKid));
        assert_eq!(set.renewal_count(), n);
    }
    assert_eq!(set.fetch_count(), 0);
}

#[test]
fn unusable_key_set_address_refuses_the_channel() {
    let mut config = auth(Vec::new());
    config.jwks_url = Some("https://refused.example".into());
    let refused = JwtVerifier::build(&config, &EnvironmentResolver(|_: &str| None), &FakeSet::default());
    assert_eq!(refused.unwrap_err(), "auth: auth.jwks_url: the address is refused");
}
