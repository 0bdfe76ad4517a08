//! People sign in at a real OpenID provider, over the real binary. The service is reached without the TLS that a proxy
//! ends in front of it: its own address is `https://shop.example` to the provider.

mod browser;

use std::sync::Arc;

use rustls::ClientConfig;
use serde_json::{Value, json};
use svc_outbound::Url;
use svc_testkit::example::create_and_activate;
use svc_testkit::http::HttpResponse;
use svc_testkit::oidc::OidcProvider;
use svc_testkit::server::ServerProcess;
use svc_testkit::tls::issue_certificate;
use tempfile::TempDir;

use crate::support::{channel, echo_workflow, error, launch};
use browser::Browser;

const SECRET: &str = "a-state-secret-of-thirty-two-bytes";

/// A provider over TLS, and what trusts it.
struct World {
    provider: OidcProvider,
    tls: Arc<ClientConfig>,
    directory: TempDir,
}

impl World {
    fn start() -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let certificate = issue_certificate().unwrap();
        let [file, key] = certificate.write(directory.path()).unwrap();
        std::fs::write(directory.path().join("authority.pem"), &certificate.authority).unwrap();
        let provider = OidcProvider::start_over_tls(600, &file, &key)?;
        Some(Self { provider, tls: certificate.client_settings(None).unwrap(), directory })
    }

    /// Starts a node that may ask the provider, and serves the channel `login` with this block.
    fn serve(&self, route: &str, block: Value) -> Shop {
        let authority = self.directory.path().join("authority.pem");
        let node = launch()
            .env("SSL_CERT_FILE", authority.to_str().unwrap())
            .env("SVC_OAUTH2_LOGIN__ALLOW_PRIVATE_TOKEN_URLS", "true")
            .env("SVC_JWT__ALLOW_PRIVATE_JWKS_URLS", "true");
        let shop = Shop { server: node.start().unwrap() };
        let see = |what: &str| json!({"path": format!("data.{what}"), "logic": {"var": format!("metadata.{what}")}});
        let tasks = json!([{"id": "see", "name": "See", "function": {"name": "map",
            "input": {"mappings": [see("identity"), see("oauth"), see("query")]}}}]);
        let workflow = json!({"workflow_id": "login", "name": "login", "tasks": tasks});
        let mut client = shop.server.client();
        create_and_activate(&mut client, "workflows", "workflow_id", &workflow).unwrap();
        let mut login = channel("login", "login", json!({"oauth2_login": block}));
        login["methods"] = json!(["GET"]);
        login["route_pattern"] = json!(route);
        create_and_activate(&mut client, "channels", "channel_id", &login).unwrap();
        shop
    }

    /// A block with one provider.
    fn single_provider(&self) -> Value {
        json!({"redirect_uri": "https://shop.example/one/callback", "callback_path": "/one/callback",
            "issuer": self.provider.issuer(), "client_id": "basic", "client_secret": "s3cret", "state_secret": SECRET,
            "return_to": {"allow_list": ["https://shop.example/"]}})
    }

    /// A block with two providers: two clients, which prove who they are in two ways.
    fn two_providers(&self, secret: &str) -> Value {
        let provider = |client: &str| {
            json!({"issuer": self.provider.issuer(), "client_id": client, "client_secret": "s3cret",
                "client_auth": client})
        };
        json!({"redirect_uri": "https://shop.example/{provider}/callback", "callback_path": "/{provider}/callback",
            "state_secret": secret, "providers": {"basic": provider("basic"), "body": provider("body")}})
    }

    fn browser(&self) -> Browser {
        Browser::new(self.provider.address(), &self.tls)
    }
}

/// A node with the channel `login`.
struct Shop {
    server: ServerProcess,
}

/// A sign-in that has begun: the page of the provider, and the cookie.
struct Begun {
    page: String,
    cookie: String,
}

impl Shop {
    fn get(&self, path: &str, cookie: &str) -> HttpResponse {
        let mut client = self.server.client();
        client.send("GET", &format!("/api/v1/data{path}"), &[("cookie", cookie)], b"").unwrap()
    }

    fn begin(&self, path: &str) -> Begun {
        let answer = self.get(path, "");
        assert_eq!(answer.status, 302, "{}", answer.text());
        let line = answer.header("set-cookie").unwrap();
        assert!(line.ends_with("; HttpOnly; Secure; SameSite=Lax"), "{line}");
        let cookie = line.split(';').next().unwrap().to_owned();
        Begun { page: answer.header("location").unwrap().to_owned(), cookie }
    }

    /// Follows the provider back to the service. Whatever the answer, it removes the cookie.
    fn follow(&self, back: &Url, cookie: &str) -> HttpResponse {
        let answer = self.get(&format!("{}?{}", back.path(), back.query().unwrap_or_default()), cookie);
        let removed = answer.header("set-cookie").unwrap_or_default();
        assert!(removed.starts_with("svc_sign_in=; ") && removed.contains("Max-Age=0"), "{removed}");
        answer
    }

    fn refuse(&self, back: &Url, cookie: &str) {
        let refused = error(&self.follow(back, cookie), 401, "UNAUTHORIZED");
        assert_eq!(refused["message"], "Sign-in failed; begin again", "{back}");
    }
}

/// Returns the data of an answer.
fn data(answer: &HttpResponse) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].clone()
}

/// Returns an address with another value of a query parameter.
fn replace(url: &Url, name: &str, value: &str) -> Url {
    let pairs: Vec<_> = url.query_pairs().into_owned().collect();
    let mut changed = url.clone();
    let mut query = changed.query_pairs_mut();
    query.clear();
    for (known, kept) in &pairs {
        query.append_pair(known, if known == name { value } else { kept.as_str() });
    }
    drop(query);
    assert_ne!(&changed, url);
    changed
}

#[test]
fn person_signs_in_once_with_a_code() {
    let Some(world) = World::start() else { return };
    let shop = world.serve("/login", world.single_provider());
    let begun = shop.begin("/login?return_to=https://shop.example/cart");
    let back = world.browser().sign_in(&begun.page, true);
    let seen = data(&shop.follow(&back, &begun.cookie));
    let expected = json!({"provider": "default", "kind": "oidc", "subject": "ada"});
    assert_eq!(seen["identity"], expected);
    let oauth = &seen["oauth"];
    assert_eq!(oauth["return_to"], "https://shop.example/cart");
    assert_eq!((&oauth["claims"]["aud"], &oauth["grant"]["token_type"]), (&json!("basic"), &json!("Bearer")));
    assert_eq!(seen["query"], json!({"iss": world.provider.issuer()}));
    let token = oauth["grant"]["access_token"].as_str().unwrap();
    shop.refuse(&back, &begun.cookie);
    let log = shop.server.wait_for_log(&["code_refused", "invalid_grant"]).unwrap();
    for secret in [token, "s3cret", SECRET] {
        assert!(!log.contains(secret), "{secret}");
    }
    accept_by_issuer(&shop, &world, oauth["grant"]["id_token"].as_str().unwrap());
}

/// A channel with the issuer alone finds the keys that verify its tokens.
fn accept_by_issuer(shop: &Shop, world: &World, token: &str) {
    let mut client = shop.server.client();
    let auth = json!({"mode": "jwt", "algorithms": ["RS256"], "issuer": world.provider.issuer(), "audience": "basic"});
    let me = channel("me", "login", json!({"auth": auth}));
    create_and_activate(&mut client, "channels", "channel_id", &me).unwrap();
    let mut ask = |token: &str| {
        let bearer = format!("Bearer {token}");
        client.send("POST", "/api/v1/data/me", &[("authorization", &bearer)], b"").unwrap()
    };
    assert_eq!(ask(token).status, 200);
    error(&ask(&format!("{token}x")), 401, "UNAUTHORIZED");
}

#[test]
fn refused_consent_reaches_the_workflow() {
    let Some(world) = World::start() else { return };
    let shop = world.serve("/login", world.single_provider());
    let begun = shop.begin("/login?return_to=https://evil.example/");
    let back = world.browser().sign_in(&begun.page, false);
    let seen = data(&shop.follow(&back, &begun.cookie));
    assert_eq!(seen["oauth"]["error"], "access_denied", "{seen}");
    assert_eq!((seen.get("identity"), seen["oauth"].get("return_to")), (None, None), "{seen}");
}

#[test]
fn tampered_sign_in_runs_nothing() {
    let Some(world) = World::start() else { return };
    let shop = world.serve("/login", world.single_provider());
    let mut browser = world.browser();
    let begun = shop.begin("/login");
    let back = browser.sign_in(&begun.page, true);
    let other = shop.begin("/login");
    shop.refuse(&replace(&back, "state", "tampered"), &begun.cookie);
    shop.refuse(&replace(&back, "iss", "https://evil.example"), &begun.cookie);
    shop.refuse(&back, &other.cookie);
    shop.refuse(&back, "");
    shop.refuse(&back, &format!("{}A", begun.cookie));
    // The code is not used up: none of these asked the provider.
    assert_eq!(data(&shop.follow(&back, &begun.cookie))["identity"]["subject"], "ada");
    // The provider signs another nonce, and another challenge does not fit the verifier.
    let challenge = "A".repeat(43);
    for (name, value) in [("nonce", "another"), ("code_challenge", challenge.as_str())] {
        let begun = shop.begin("/login");
        let page = replace(&Url::parse(&begun.page).unwrap(), name, value);
        let back = browser.sign_in(page.as_str(), true);
        shop.refuse(&back, &begun.cookie);
    }
    let shown = shop.server.client().get("/api/v1/admin/channels/login/stats").unwrap().text();
    for reason in [
        "state_mismatch",
        "state_missing",
        "state_forged",
        "issuer_mismatch",
        "nonce_mismatch",
        "code_refused",
    ] {
        assert!(shown.contains(reason), "{reason}: {shown}");
    }
}

#[test]
fn two_nodes_and_providers_share_a_secret() {
    let Some(world) = World::start() else { return };
    let serve = |secret: &str| world.serve("/login/{provider}", world.two_providers(secret));
    let (one, other, stranger) = (serve(SECRET), serve(SECRET), serve("another-secret-of-thirty-two-bytes"));
    for name in ["basic", "body"] {
        let begun = one.begin(&format!("/login/{name}"));
        let back = world.browser().sign_in(&begun.page, true);
        stranger.refuse(&back, &begun.cookie);
        let elsewhere = if name == "basic" { "/body/callback" } else { "/basic/callback" };
        let mut swapped = back.clone();
        swapped.set_path(elsewhere);
        other.refuse(&swapped, &begun.cookie);
        let seen = data(&other.follow(&back, &begun.cookie));
        assert_eq!(seen["identity"], json!({"provider": name, "kind": "oidc", "subject": "ada"}));
    }
    error(&one.get("/login/nobody", ""), 404, "NOT_FOUND");
}

#[test]
fn issuer_with_another_name_is_not_used() {
    let Some(world) = World::start() else { return };
    let mut block = world.single_provider();
    // The document there names the issuer without the slash.
    block["issuer"] = json!(format!("{}/", world.provider.issuer()));
    let shop = world.serve("/login", block);
    let refused = shop.get("/login", "");
    error(&refused, 503, "SERVICE_UNAVAILABLE");
    assert!(refused.header("retry-after").is_some() && refused.header("set-cookie").is_none());
    shop.server.wait_for_log(&["names another issuer"]).unwrap();
}

#[test]
fn validation_names_rival_of_sign_in_callback() {
    let server = launch().start().unwrap();
    let mut client = server.client();
    create_and_activate(&mut client, "workflows", "workflow_id", &echo_workflow("taken")).unwrap();
    let mut taken = channel("taken", "taken", json!({}));
    taken["methods"] = json!(["GET"]);
    taken["route_pattern"] = json!("/one/callback");
    create_and_activate(&mut client, "channels", "channel_id", &taken).unwrap();
    let block = json!({"redirect_uri": "https://shop.example/one/callback", "callback_path": "/one/callback",
        "issuer": "https://id.example", "client_id": "basic", "client_secret": "s3cret", "state_secret": SECRET,
        "return_to": {"allow_list": ["https://shop.example/"]}});
    let mut login = channel("login", "taken", json!({"oauth2_login": block}));
    login["methods"] = json!(["GET"]);
    let validated = client.json("POST", "/api/v1/admin/channels/validate", &login).unwrap().json();
    assert_eq!(validated["data"]["valid"], true, "{validated}");
    let warnings = validated["data"]["warnings"].as_array().unwrap();
    let field = "channel.config.oauth2_login.callback_path";
    let rival = warnings.iter().find(|warning| warning["field"] == field).expect("the callback is taken");
    assert_eq!(rival["message"], "active channel 'taken' claims '/one/callback' at the same priority");
}
