//! Both legs of a sign-in against a provider made of closures.

use std::collections::VecDeque;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::{BoxFuture, ready};
use openssl::bn::{BigNum, BigNumContext};
use openssl::ec::{EcGroup, EcKey};
use openssl::nid::Nid;
use openssl::pkey::PKey;
use parking_lot::Mutex;
use serde_json::json;
use svc_model::ChannelConfig;
use svc_model::config::auth::{JwtAlgorithm, KeyEncoding};
use svc_secrets::EnvironmentResolver;
use url::Url;

use super::*;
use crate::issuer::IssuerDocument;
use crate::jwt::SigningKey;
use crate::key_sets::{Jwks, KeySet};

const NOW: i64 = 1_700_000_000;
const ISSUER: &str = "https://id.example";

/// A provider with one key, whose endpoints answer what they are given, and note what they are asked.
struct Provider {
    signer: SigningKey,
    keys: Arc<Jwks>,
    answers: Mutex<VecDeque<ProviderAnswer>>,
    asked: Mutex<Vec<ProviderRequest>>,
}

impl Provider {
    fn new() -> Arc<Self> {
        let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
        let key = EcKey::generate(&group).unwrap();
        let (mut x, mut y) = (BigNum::new().unwrap(), BigNum::new().unwrap());
        let mut context = BigNumContext::new().unwrap();
        key.public_key().affine_coordinates(&group, &mut x, &mut y, &mut context).unwrap();
        let part = |number: &BigNum| URL_SAFE_NO_PAD.encode(number.to_vec_padded(32).unwrap());
        let keys =
            json!({"keys": [{"kty": "EC", "crv": "P-256", "alg": "ES256", "x": part(&x), "y": part(&y)}]});
        let pem = PKey::from_ec_key(key).unwrap().private_key_to_pem_pkcs8().unwrap();
        let pem = String::from_utf8(pem).unwrap();
        Arc::new(Self {
            signer: SigningKey::from_text(JwtAlgorithm::Es256, KeyEncoding::Utf8, &pem).unwrap(),
            keys: Arc::new(Jwks::parse(keys.to_string().as_bytes()).unwrap()),
            answers: Mutex::default(),
            asked: Mutex::default(),
        })
    }

    fn will_answer(&self, status: u16, body: &Value) {
        self.answers.lock().push_back(ProviderAnswer { status, body: body.to_string().into_bytes() });
    }

    /// Grants tokens with an id token of these claims.
    fn will_grant(&self, claims: Value) {
        let mut all = json!({"iss": ISSUER, "aud": "shop", "sub": "ada", "exp": NOW + 60});
        for (name, value) in claims.as_object().unwrap() {
            all[name] = value.clone();
        }
        let token = self.signer.token(None, all.as_object().unwrap()).unwrap();
        self.will_answer(200, &json!({"access_token": "a-token", "token_type": "Bearer", "id_token": token}));
    }
}

struct Access(Arc<Provider>);

impl ProviderAccess for Access {
    fn check(&self, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn issuer(&self, _: &str) -> Result<Arc<dyn IssuerAccess>, String> {
        Ok(Arc::new(Document))
    }

    fn send(&self, request: ProviderRequest) -> BoxFuture<'_, Result<ProviderAnswer, String>> {
        self.0.asked.lock().push(request);
        let answer = self.0.answers.lock().pop_front();
        Box::pin(ready(answer.ok_or_else(|| "away".to_owned())))
    }
}

struct Document;

impl IssuerAccess for Document {
    fn document(&self) -> BoxFuture<'_, Option<Arc<IssuerDocument>>> {
        Box::pin(ready(Some(Arc::new(IssuerDocument {
            authorization_endpoint: Some(format!("{ISSUER}/authorize?tenant=1")),
            token_endpoint: Some(format!("{ISSUER}/token")),
            userinfo_endpoint: None,
            jwks_uri: Some(format!("{ISSUER}/keys")),
        }))))
    }
}

struct Keys(Arc<Jwks>);

impl KeySets for Keys {
    fn key_set(&self, _: &str) -> Result<Arc<dyn KeySet>, String> {
        Ok(Arc::new(Keys(Arc::clone(&self.0))))
    }

    fn issuer_key_set(&self, issuer: &str) -> Result<Arc<dyn KeySet>, String> {
        self.key_set(issuer)
    }
}

impl KeySet for Keys {
    fn fresh(&self) -> Option<Arc<Jwks>> {
        Some(Arc::clone(&self.0))
    }

    fn obtain(&self) -> BoxFuture<'_, Option<Arc<Jwks>>> {
        Box::pin(ready(self.fresh()))
    }

    fn renew<'s>(&'s self, _: &'s Arc<Jwks>) -> BoxFuture<'s, Option<Arc<Jwks>>> {
        Box::pin(ready(self.fresh()))
    }
}

fn single_block(extra: Value) -> Value {
    let mut block = json!({"redirect_uri": "https://shop.example/login/callback", "callback_path": "/login/callback",
        "state_secret": "0123456789abcdef0123456789abcdef", "issuer": ISSUER, "client_id": "shop",
        "client_secret": "env://CLIENT_SECRET", "id_token": {"algorithms": ["ES256"]},
        "return_to": {"allow_list": ["https://shop.example/"]}});
    for (key, value) in extra.as_object().unwrap() {
        block[key] = value.clone();
    }
    block
}

fn build(provider: &Arc<Provider>, block: Value) -> Result<SignIn, String> {
    let config = ChannelConfig::parse(&json!({"oauth2_login": block})).unwrap().oauth2_login.unwrap();
    let environment = EnvironmentResolver(|name: &str| match name {
        "CLIENT_SECRET" => Some("s3:cret".to_owned()),
        "PLAIN" => Some("http://shop.example/".to_owned()),
        "ISSUER" => Some("https://id.example/?tenant=1".to_owned()),
        _ => None,
    });
    let access: Arc<dyn ProviderAccess> = Arc::new(Access(Arc::clone(provider)));
    SignIn::build("login", &config, &environment, &Keys(Arc::clone(&provider.keys)), &access)
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn query(members: Value) -> Map<String, Value> {
    members.as_object().unwrap().clone()
}

/// A sign-in that the browser has begun: its query at the provider, and its cookie.
struct Begun {
    sent: Map<String, Value>,
    headers: Vec<(String, Vec<u8>)>,
}

impl Begun {
    fn begin(sign_in: &SignIn, name: Option<&str>, asked: Value) -> Self {
        let SignInRedirect { location, cookie } =
            wait(sign_in.begin(name, &query(asked), &SignInAdditions::default(), NOW)).unwrap();
        let url = Url::parse(&location).unwrap();
        let sent = url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned().into()));
        let cookie = cookie.split(';').next().unwrap().as_bytes().to_vec();
        Self { sent: sent.collect(), headers: vec![("cookie".to_owned(), cookie)] }
    }

    fn parameter(&self, name: &str) -> &str {
        self.sent[name].as_str().unwrap()
    }

    /// Returns the query that the provider sends back.
    fn back(&self, more: Value) -> Map<String, Value> {
        let mut back = query(more);
        back.entry("state").or_insert_with(|| self.sent["state"].clone());
        back
    }

    fn refusal(&self, sign_in: &SignIn, back: Value) -> SignInRefusal {
        wait(sign_in.complete(None, &self.back(back), &self.headers, NOW)).err().unwrap()
    }
}

#[test]
fn person_is_signed_in_by_code_and_id_token() {
    let provider = Provider::new();
    let sign_in = build(&provider, single_block(json!({}))).unwrap();
    let begun = Begun::begin(&sign_in, None, json!({"return_to": "https://shop.example/cart"}));
    for (name, expected) in [
        ("tenant", "1"),
        ("response_type", "code"),
        ("client_id", "shop"),
        ("scope", "openid"),
        ("redirect_uri", "https://shop.example/login/callback"),
        ("code_challenge_method", "S256"),
    ] {
        assert_eq!(begun.parameter(name), expected, "{name}");
    }
    provider.will_grant(
        json!({"nonce": begun.parameter("nonce"), "preferred_username": "ada@id", "azp": "shop"}),
    );
    let back = begun.back(json!({"code": "c0de", "iss": ISSUER}));
    let SignInOutcome { oauth, identity } =
        wait(sign_in.complete(None, &back, &begun.headers, NOW)).ok().unwrap();
    let expected = json!({"provider": "default", "kind": "oidc", "subject": "ada", "login": "ada@id"});
    assert_eq!(identity.map(Value::Object), Some(expected));
    assert_eq!(oauth["return_to"], "https://shop.example/cart");
    assert_eq!(
        (&oauth["grant"]["access_token"], &oauth["claims"]["sub"]),
        (&json!("a-token"), &json!("ada"))
    );

    let asked = provider.asked.lock();
    let [request] = asked.as_slice() else { panic!("{}", asked.len()) };
    assert_eq!(request.url, format!("{ISSUER}/token"));
    // The id and the secret are form-encoded before they are joined.
    assert_eq!(request.authorization.as_deref(), Some("Basic c2hvcDpzMyUzQWNyZXQ="));
    let form: Map<String, Value> = url::form_urlencoded::parse(request.form.as_ref().unwrap().as_bytes())
        .map(|(name, value)| (name.into_owned(), value.into_owned().into()))
        .collect();
    assert_eq!((&form["code"], &form["grant_type"]), (&json!("c0de"), &json!("authorization_code")));
    let challenge = state::code_challenge(form["code_verifier"].as_str().unwrap());
    assert_eq!(challenge, begun.parameter("code_challenge"));
}

#[test]
fn state_that_does_not_match_asks_nobody() {
    let provider = Provider::new();
    let sign_in = build(&provider, single_block(json!({}))).unwrap();
    let begun = Begun::begin(&sign_in, None, json!({}));
    let other = Begun::begin(&sign_in, None, json!({}));
    let complete = |back: Map<String, Value>, headers: &[(String, Vec<u8>)], now| {
        wait(sign_in.complete(None, &back, headers, now)).err().unwrap()
    };
    let back = || begun.back(json!({"code": "c0de"}));
    assert_eq!(complete(back(), &[], NOW), SignInRefusal::StateMissing);
    assert_eq!(complete(back(), &other.headers, NOW), SignInRefusal::StateMismatch);
    assert_eq!(complete(query(json!({"code": "c"})), &begun.headers, NOW), SignInRefusal::StateMismatch);
    assert_eq!(complete(back(), &begun.headers, NOW + 600), SignInRefusal::StateExpired);
    let forged = [("cookie".to_owned(), b"svc_sign_in=AAAA".to_vec())];
    assert_eq!(complete(back(), &forged, NOW), SignInRefusal::StateForged);
    let secret = json!({"state_secret": "another-secret-of-thirty-two-byte"});
    let elsewhere = build(&provider, single_block(secret)).unwrap();
    assert_eq!(begun.refusal(&elsewhere, json!({"code": "c"})), SignInRefusal::StateForged);
    assert_eq!(begun.refusal(&sign_in, json!({})), SignInRefusal::NoCode);
    assert_eq!(
        begun.refusal(&sign_in, json!({"code": "c", "iss": "https://evil.example"})),
        SignInRefusal::IssuerMismatch
    );
    assert!(provider.asked.lock().is_empty());
}

#[test]
fn refused_consent_has_an_error_and_nobody() {
    let provider = Provider::new();
    let sign_in = build(&provider, single_block(json!({}))).unwrap();
    let begun = Begun::begin(&sign_in, None, json!({"return_to": "https://evil.example/"}));
    let back = begun.back(json!({"error": "access_denied", "error_description": "no\u{7}, thanks"}));
    let outcome = wait(sign_in.complete(None, &back, &begun.headers, NOW)).ok().unwrap();
    let expected = json!({"leg": "callback", "provider": "default", "kind": "oidc", "error": "access_denied",
        "error_description": "no, thanks"});
    assert!(outcome.is_refused() && outcome.identity.is_none());
    assert_eq!(Value::Object(outcome.oauth), expected);
    assert!(provider.asked.lock().is_empty());
}

#[test]
fn id_token_of_another_sign_in_is_refused() {
    let provider = Provider::new();
    let sign_in = build(&provider, single_block(json!({}))).unwrap();
    let begun = Begun::begin(&sign_in, None, json!({}));
    let nonce = begun.parameter("nonce").to_owned();
    let id_token = SignInRefusal::IdToken;
    for (claims, expected) in [
        (json!({}), SignInRefusal::NonceMismatch),
        (json!({"nonce": "x"}), SignInRefusal::NonceMismatch),
        (json!({"nonce": nonce, "iss": "https://evil.example"}), id_token(RefusalReason::IssuerMismatch)),
        (json!({"nonce": nonce, "aud": "other"}), id_token(RefusalReason::AudienceMismatch)),
        (json!({"nonce": nonce, "azp": "other"}), id_token(RefusalReason::AudienceMismatch)),
        (json!({"nonce": nonce, "exp": NOW - 31}), id_token(RefusalReason::Expired)),
        (json!({"nonce": nonce, "sub": null}), SignInRefusal::SubjectMismatch),
    ] {
        provider.will_grant(claims.clone());
        assert_eq!(begun.refusal(&sign_in, json!({"code": "c"})), expected, "{claims}");
    }
    let stranger = Provider::new();
    let claims = json!({"iss": ISSUER, "aud": "shop", "sub": "ada", "exp": NOW + 60, "nonce": nonce});
    let forged = stranger.signer.token(None, claims.as_object().unwrap()).unwrap();
    provider.will_answer(200, &json!({"access_token": "a", "id_token": forged}));
    assert_eq!(begun.refusal(&sign_in, json!({"code": "c"})), id_token(RefusalReason::BadSignature));
    provider.will_answer(200, &json!({"access_token": "a"}));
    assert_eq!(begun.refusal(&sign_in, json!({"code": "c"})).name(), "no_token");
    provider.will_answer(400, &json!({"error": "invalid_grant"}));
    let refused = SignInRefusal::CodeRefused(Some("invalid_grant".to_owned()));
    assert_eq!(begun.refusal(&sign_in, json!({"code": "c"})), refused);
    assert!(begun.refusal(&sign_in, json!({"code": "c"})).is_temporary(), "the provider is away");
}

#[test]
fn userinfo_completes_claims_of_the_same_person() {
    let provider = Provider::new();
    let sign_in = build(&provider, single_block(json!({"userinfo_url": "https://id.example/me"}))).unwrap();
    let begun = Begun::begin(&sign_in, None, json!({}));
    for (person, expected) in [(json!({"sub": "ada", "name": "Ada"}), true), (json!({"sub": "eve"}), false)] {
        provider.will_grant(json!({"nonce": begun.parameter("nonce")}));
        provider.will_answer(200, &person);
        let back = begun.back(json!({"code": "c"}));
        let outcome = wait(sign_in.complete(None, &back, &begun.headers, NOW));
        match outcome {
            Ok(outcome) => assert!(expected && outcome.identity.unwrap()["name"] == "Ada"),
            Err(refusal) => assert!(!expected && refusal == SignInRefusal::SubjectMismatch),
        }
    }
    let asked = provider.asked.lock();
    assert_eq!(asked[1].authorization.as_deref(), Some("Bearer a-token"));
}

#[test]
fn provider_without_id_tokens_is_asked_who_it_is() {
    let provider = Provider::new();
    let block = single_block(
        json!({"issuer": null, "id_token": null, "authorize_url": "https://hub.example/authorize",
        "token_url": "https://hub.example/token", "userinfo_url": "https://hub.example/user", "client_auth": "body",
        "identity": {"subject": "id", "login": "login"}, "pkce": false}),
    );
    let sign_in = build(&provider, block).unwrap();
    let begun = Begun::begin(&sign_in, None, json!({}));
    assert!(!begun.sent.contains_key("nonce") && !begun.sent.contains_key("code_challenge"));
    provider.will_answer(200, &json!({"access_token": "a"}));
    provider.will_answer(200, &json!({"id": 42, "login": "ada"}));
    let back = begun.back(json!({"code": "c"}));
    let outcome = wait(sign_in.complete(None, &back, &begun.headers, NOW)).ok().unwrap();
    let expected = json!({"provider": "default", "kind": "oauth2", "subject": "42", "login": "ada"});
    assert_eq!(outcome.identity.map(Value::Object), Some(expected));
    let form = provider.asked.lock()[0].form.clone().unwrap();
    assert!(form.contains("client_secret=s3%3Acret") && !form.contains("code_verifier"), "{form}");
}

#[test]
fn state_of_one_provider_is_none_of_another() {
    let provider = Provider::new();
    let entry = || json!({"issuer": ISSUER, "client_id": "shop", "client_secret": "s", "id_token": {"algorithms": ["ES256"]}});
    let block = json!({"redirect_uri": "https://shop.example/{provider}/callback", "callback_path": "/cb/{provider}",
        "state_secret": "0123456789abcdef0123456789abcdef", "providers": {"a": entry(), "b": entry()}});
    let sign_in = build(&provider, block).unwrap();
    let begun = Begun::begin(&sign_in, Some("a"), json!({}));
    assert_eq!(begun.parameter("redirect_uri"), "https://shop.example/a/callback");
    let complete = |name| {
        let back = begun.back(json!({"code": "c"}));
        wait(sign_in.complete(name, &back, &begun.headers, NOW)).err().unwrap()
    };
    assert_eq!(complete(Some("b")), SignInRefusal::StateMismatch);
    assert_eq!(complete(Some("c")), SignInRefusal::UnknownProvider);
    assert_eq!(complete(None), SignInRefusal::UnknownProvider);
    assert_eq!((sign_in.provider_label(Some("a")), sign_in.provider_label(Some("c"))), ("a", "unknown"));
}

#[test]
fn fault_of_a_resolved_value_names_its_field() {
    let provider = Provider::new();
    for (extra, reason) in [
        (
            json!({"client_secret": "env://GONE"}),
            "oauth2_login.client_secret: env://GONE: the variable is not set",
        ),
        (
            json!({"redirect_uri": "env://PLAIN"}),
            "oauth2_login.redirect_uri: the value is no https address; [server.tls] or a proxy in front of the service \
             has one, also on your own machine",
        ),
        (
            json!({"state_secret": "env://CLIENT_SECRET"}),
            "oauth2_login.state_secret: the value has less than 32 bytes",
        ),
        (json!({"client_secret": "vault://x"}), "oauth2_login.client_secret: malformed reference"),
        (json!({"issuer": "env://ISSUER"}), "oauth2_login.issuer: the value has a query or a fragment"),
    ] {
        assert_eq!(build(&provider, single_block(extra)).err().as_deref(), Some(reason));
    }
}

#[test]
fn additions_of_a_workflow_reach_the_page() {
    let provider = Provider::new();
    let block = single_block(json!({"run_workflow_on_authorize": true, "scopes": ["openid"]}));
    let sign_in = build(&provider, block).unwrap();
    assert!(sign_in.runs_on_authorize());
    let asked = query(json!({"return_to": "https://shop.example/cart"}));
    let seen = sign_in.describe(None, &asked).ok().unwrap().oauth;
    let expected = json!({"leg": "authorize", "provider": "default", "kind": "oidc",
        "return_to": "https://shop.example/cart"});
    assert_eq!(Value::Object(seen), expected);
    let additions =
        SignInAdditions::parse(&json!({"extra_params": {"login_hint": "ada"}, "scopes": ["email"]}));
    let location = wait(sign_in.begin(None, &asked, &additions, NOW)).unwrap().location;
    assert!(location.contains("login_hint=ada") && location.contains("scope=openid+email"), "{location}");
}

#[test]
fn cookie_is_for_the_browser_alone() {
    let provider = Provider::new();
    let cookie = |keys: Value| {
        let sign_in = build(&provider, single_block(json!({"state_cookie": keys}))).unwrap();
        let begun = wait(sign_in.begin(None, &Map::new(), &SignInAdditions::default(), NOW)).unwrap();
        (begun.cookie.split_once(';').unwrap().1.to_owned(), sign_in.clearing_cookie())
    };
    let (set, cleared) = cookie(json!({}));
    assert_eq!(set, " Path=/; Max-Age=600; HttpOnly; Secure; SameSite=Lax");
    assert_eq!(cleared, "svc_sign_in=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax");
    let (set, _) = cookie(json!({"secure": false, "path": "/login", "max_age": 60}));
    assert_eq!(set, " Path=/login; Max-Age=60; HttpOnly; SameSite=Lax");
}
