//! The cost of authentication.

use std::io;

use hmac::{Hmac, KeyInit, Mac};
use josekit::jwk::alg::ec::{EcCurve, EcKeyPair};
use josekit::jwk::alg::ed::{EdCurve, EdKeyPair};
use josekit::jwk::alg::rsa::RsaKeyPair;
use josekit::jws::{ES256, EdDSA, JwsHeader, JwsSigner, RS256};
use josekit::jwt::{self, JwtPayload};
use serde_json::{Value, json};
use sha2::Sha256;
use svc_testkit::example::create_and_activate;
use svc_testkit::server::ServerProcess;

use crate::load::Load;
use crate::{BenchContext, compare};

/// Far in the future, in seconds of the Unix time.
const EXPIRES: u64 = 4_102_444_800;

/// Every mode compared with the same workflow without a credential; traces are off.
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    let bare = setting.bare()?;
    let server = setting.serve("off")?;
    let order = setting.order()?;
    let body = json!({"order_id": "A-1", "qty": 3, "price": 50, "note": "x".repeat(960)}).to_string();
    let mut sides = vec![
        ("bare actix-web handler", bare.address(), order.clone()),
        ("no credential", server.address(), order.clone()),
        ("no credential, 1 KiB body", server.address(), Load::post(&order.path, body.clone())),
    ];
    for (name, auth, header, value) in credentials(&body)? {
        let path = channel(&server, name, &auth)?;
        let body = if name.starts_with("hmac") { &body } else { &order.body };
        sides.push((name, server.address(), Load::post(&path, body.clone()).with_header(header, value)));
    }
    compare("Credentials", &sides).map(drop)
}

/// Name, `auth` block, header and value that pass.
pub(crate) fn credentials(body: &str) -> io::Result<Vec<(&'static str, Value, &'static str, String)>> {
    let keys = |count: usize| (0..count).map(|n| format!("bench-key-{n:026}")).collect::<Vec<_>>();
    let bearer = |count: usize| format!("Bearer {}", keys(count)[count - 1]);
    let secrets: Vec<_> = (0..8).map(|n| format!("bench-secret-{n}")).collect();
    let mut credentials = vec![
        ("api_key, 1 key", json!({"mode": "api_key", "keys": keys(1)}), "authorization", bearer(1)),
        (
            "api_key, the last of 1,000",
            json!({"mode": "api_key", "keys": keys(1000)}),
            "authorization",
            bearer(1000),
        ),
        (
            "hmac, 1 secret",
            json!({"mode": "hmac", "secret": secrets[7]}),
            "x-signature",
            signature(&secrets[7], body)?,
        ),
        (
            "hmac, the last of 8 secrets",
            json!({"mode": "hmac", "secrets": secrets}),
            "x-signature",
            signature(&secrets[7], body)?,
        ),
    ];
    let rsa = RsaKeyPair::generate(2048).map_err(io::Error::other)?;
    let p256 = EcKeyPair::generate(EcCurve::P256).map_err(io::Error::other)?;
    let ed25519 = EdKeyPair::generate(EdCurve::Ed25519).map_err(io::Error::other)?;
    let signer = |made: Result<_, josekit::JoseError>| made.map_err(io::Error::other);
    let rs = RS256.signer_from_pem(rsa.to_pem_private_key()).map_err(io::Error::other)?;
    let es = ES256.signer_from_pem(p256.to_pem_private_key()).map_err(io::Error::other)?;
    let ed = EdDSA.signer_from_pem(ed25519.to_pem_private_key()).map_err(io::Error::other)?;
    let signers: [(&'static str, &'static str, &dyn JwsSigner, Vec<u8>); 3] = [
        ("jwt RS256", "RS256", &rs, rsa.to_pem_public_key()),
        ("jwt ES256", "ES256", &es, p256.to_pem_public_key()),
        ("jwt EdDSA", "EdDSA", &ed, ed25519.to_pem_public_key()),
    ];
    for (name, algorithm, by, public) in signers {
        let mut payload = JwtPayload::new();
        signer(payload.set_claim("sub", Some("bench".into())))?;
        signer(payload.set_claim("exp", Some(EXPIRES.into())))?;
        let token = jwt::encode_with_signer(&payload, &JwsHeader::new(), by).map_err(io::Error::other)?;
        let key = String::from_utf8_lossy(&public).into_owned();
        let auth = json!({
            "mode": "jwt", "algorithms": [algorithm], "jwt_keys": [{"algorithm": algorithm, "key": key}],
        });
        credentials.push((name, auth, "authorization", format!("Bearer {token}")));
    }
    Ok(credentials)
}

/// Returns the block, the header and the value of the credential whose name begins so.
pub(crate) fn find_credential(body: &str, name: &str) -> io::Result<(Value, &'static str, String)> {
    let found = credentials(body)?.into_iter().find(|(known, ..)| known.starts_with(name));
    let (_, auth, header, value) =
        found.ok_or_else(|| io::Error::other(format!("there is no credential '{name}'")))?;
    Ok((auth, header, value))
}

fn signature(secret: &str, body: &str) -> io::Result<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).map_err(io::Error::other)?;
    mac.update(body.as_bytes());
    Ok(mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A channel of the quickstart's workflow behind a credential; its path.
fn channel(server: &ServerProcess, name: &str, auth: &Value) -> io::Result<String> {
    let id: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let document = json!({
        "channel_id": id, "name": id, "channel_type": "sync", "protocol": "rest", "methods": ["POST"],
        "route_pattern": format!("/credentials/{id}"), "workflow_id": "order-intake", "config": {"auth": auth},
    });
    create_and_activate(&mut server.client(), "channels", "channel_id", &document)?;
    Ok(format!("/api/v1/data/credentials/{id}"))
}
