//! Tests of the `oauth2_login` block.

use serde_json::{Value, json};

use super::refusal;
use crate::config::auth::JwtAlgorithm;
use crate::config::{
    ChannelConfig, InstanceProviders, SignInConfig, SignInKind, SignInProvider, SignInProviders,
};

fn merge(mut base: Value, extra: &Value) -> Value {
    for (key, value) in extra.as_object().unwrap() {
        base[key] = value.clone();
    }
    base
}

/// Returns a sign-in with one provider and these keys.
fn single_block(extra: &Value) -> Value {
    let base = json!({"redirect_uri": "https://shop.test/login/callback", "callback_path": "/login/callback",
        "state_secret": "k".repeat(32), "issuer": "https://id.test", "client_id": "shop", "client_secret": "s"});
    json!({"oauth2_login": merge(base, extra)})
}

/// Returns a sign-in with these providers and keys.
fn several_block(providers: &Value, extra: &Value) -> Value {
    let base = json!({"redirect_uri": "https://shop.test/{provider}/callback",
        "callback_path": "/login/{provider}/callback", "state_secret": "k".repeat(32), "providers": providers});
    json!({"oauth2_login": merge(base, extra)})
}

fn corp() -> Value {
    json!({"corp": {"issuer": "https://id.test", "client_id": "shop", "client_secret": "s"}})
}

fn parse(config: &Value) -> SignInConfig {
    ChannelConfig::parse(config).unwrap().oauth2_login.unwrap()
}

fn provider(extra: &Value) -> SignInProvider {
    match parse(&single_block(extra)).providers {
        SignInProviders::One(provider) => *provider,
        SignInProviders::Named(_) => panic!("several"),
    }
}

#[test]
fn protocol_follows_what_is_given() {
    let plain =
        json!({"issuer": null, "authorize_url": "https://id.test/a", "token_url": "https://id.test/t"});
    assert_eq!(provider(&json!({})).protocol(), SignInKind::Oidc);
    assert_eq!(provider(&json!({})).requested_scopes(), ["openid"]);
    assert_eq!(provider(&plain).protocol(), SignInKind::OAuth2);
    assert_eq!(provider(&plain).requested_scopes(), [""; 0]);
    let with_token = json!({"id_token": {"jwks_url": "https://id.test/k", "issuer": "https://id.test"}});
    let verified = provider(&merge(plain, &with_token));
    assert_eq!(verified.protocol(), SignInKind::Oidc);
    assert_eq!(verified.id_token.unwrap().algorithms, [JwtAlgorithm::Rs256]);
}

#[test]
fn several_providers_are_read_by_name() {
    let SignInProviders::Named(providers) = parse(&several_block(&corp(), &json!({}))).providers else {
        panic!("one")
    };
    assert_eq!(providers.keys().collect::<Vec<_>>(), ["corp"]);
}

#[test]
fn references_stand_for_addresses_and_secrets() {
    let references = json!({"redirect_uri": "env://HERE", "issuer": "vault://kv/id#issuer",
        "client_id": "env://ID", "client_secret": "env://SECRET", "state_secret": "env://STATE"});
    assert_eq!(parse(&single_block(&references)).redirect_uri, "env://HERE");
    // The place of the issuer is not empty: its addresses are not asked for.
    let declared = json!({"redirect_uri": "var://here", "issuer": "var://issuer", "client_id": "var://id",
        "client_secret": "var://secret", "state_secret": "var://state", "userinfo_url": "var://person"});
    assert_eq!(provider(&declared).issuer.as_deref(), Some("var://issuer"));
}

#[test]
fn faulty_key_is_refused_at_its_path() {
    let id_token = |keys: Value| json!({"issuer": null, "authorize_url": "https://id.test/a", "token_url": "https://id.test/t", "id_token": keys});
    for (extra, field, why) in [
        (json!({"redirect_uri": "http://shop.test"}), "redirect_uri", "https://"),
        (json!({"redirect_uri": "https://shop.test/{provider}"}), "redirect_uri", "needs providers"),
        (json!({"callback_path": "login"}), "callback_path", "starts with '/'"),
        (json!({"callback_path": "/login/{provider}"}), "callback_path", "without parameters"),
        (json!({"state_secret": "k".repeat(31)}), "state_secret", "32 bytes"),
        (json!({"issuer": "http://id.test"}), "issuer", "https://"),
        (json!({"issuer": null}), "authorize_url", "or issuer"),
        (json!({"issuer": "https://id.test/?tenant=1"}), "issuer", "no query"),
        (json!({"callback_path": "/login/async"}), "callback_path", "submissions"),
        (json!({"client_id": " "}), "client_id", "blank"),
        (json!({"scopes": ["email"]}), "scopes", "openid"),
        (json!({"scopes": ["openid email"]}), "scopes[0]", "each by itself"),
        (
            json!({"extra_authorize_params": {"state": "x"}}),
            "extra_authorize_params.state",
            "only the service",
        ),
        (json!({"extra_authorize_params": {"prompt": 1}}), "extra_authorize_params.prompt", "text"),
        (json!({"kind": "oauth2", "id_token": {}}), "kind", "no id token"),
        (id_token(json!({"issuer": "https://id.test"})), "id_token", "jwks_url"),
        (id_token(json!({"jwks_url": "https://id.test/k"})), "id_token", "any other token"),
        (json!({"id_token": {"algorithms": ["HS256"]}}), "id_token.algorithms[0]", "shared secret"),
        (json!({"id_token": {"algorithms": ["RS257"]}}), "id_token.algorithms[0]", "'RS256'"),
        (json!({"id_token": {"audience": []}}), "id_token.audience", "no token"),
        (json!({"state_cookie": {"name": "a;b"}}), "state_cookie.name", "no name"),
        (json!({"state_cookie": {"same_site": "strict"}}), "state_cookie.same_site", "withheld"),
        (json!({"state_cookie": {"same_site": "none", "secure": false}}), "state_cookie", "not secure"),
        (json!({"state_cookie": {"max_age": 86_401}}), "state_cookie.max_age", "between 1 and 86400"),
        (json!({"state_cookie": {"max_age": 0}}), "state_cookie.max_age", "between 1 and 86400"),
        (json!({"state_cookie": {"path": "login"}}), "state_cookie.path", "starts with '/'"),
        (json!({"return_to": {"allow_list": []}}), "return_to.allow_list", "lists no page"),
        (json!({"return_to": {"allow_list": ["http://a.test"]}}), "return_to.allow_list[0]", "https"),
        (
            json!({"return_to": {"allow_list": ["https://a.test/?b"]}}),
            "return_to.allow_list[0]",
            "without query",
        ),
    ] {
        let error = refusal(&single_block(&extra));
        assert_eq!(error.path, format!("channel.config.oauth2_login.{field}"), "{extra}: {error}");
        assert!(error.message.contains(why), "{extra}: {error}");
    }
}

#[test]
fn faulty_providers_are_refused_at_their_path() {
    let reserved = json!({"default": corp()["corp"]});
    let capital = json!({"Corp": corp()["corp"]});
    for (providers, extra, field, why) in [
        (json!({}), json!({}), "providers", "1 to 32"),
        (reserved, json!({}), "providers.default", "reserved"),
        (capital, json!({}), "providers.Corp", "small letters"),
        (
            json!({"a": {"client_id": "x", "client_secret": "s"}}),
            json!({}),
            "providers.a.authorize_url",
            "issuer",
        ),
        (corp(), json!({"client_id": "shop"}), "client_id", "into one of them"),
        (corp(), json!({"redirect_uri": "https://shop.test/"}), "redirect_uri", "once"),
        (corp(), json!({"callback_path": "/login"}), "callback_path", "{provider}"),
    ] {
        let error = refusal(&several_block(&providers, &extra));
        assert_eq!(error.path, format!("channel.config.oauth2_login.{field}"), "{error}");
        assert!(error.message.contains(why), "{error}");
    }
}

#[test]
fn keys_of_instance_lie_under_those_of_channel() {
    let from_instance = json!({"providers_from_instance": true});
    let own = json!({"corp": {"scopes": ["openid", "email"], "identity": {"login": "email"}}});
    let config = several_block(&own, &from_instance);
    // What the instance gives is not known here.
    assert!(matches!(parse(&config).providers, SignInProviders::Named(providers) if providers.len() == 1));
    let instance = json!({
        "corp": {"issuer": "https://id.test", "client_id": "shop", "client_secret": "s", "scopes": ["openid"],
            "identity": {"login": "upn", "name": "full_name"}},
        "hub": {"authorize_url": "https://hub.test/a", "token_url": "https://hub.test/t", "client_id": "c",
            "client_secret": "env://HUB"}});
    let instance = InstanceProviders::new(instance.as_object().unwrap().clone());
    let SignInProviders::Named(providers) = parse(&instance.complete(&config)).providers else {
        panic!("one")
    };
    assert_eq!(providers.keys().collect::<Vec<_>>(), ["corp", "hub"]);
    let named = &providers["corp"];
    assert_eq!((named.client_id.as_str(), named.requested_scopes().len()), ("shop", 2));
    assert_eq!((named.identity.login.as_str(), named.identity.name.as_str()), ("email", "full_name"));
    assert_eq!(providers["hub"].protocol(), SignInKind::OAuth2);
    assert!(!format!("{instance:?}").contains("hub"));
    // A channel that does not ask for them gets none, and what is still missing is refused.
    let alone = several_block(&corp(), &json!({}));
    assert_eq!(*instance.complete(&alone), alone);
    let none = InstanceProviders::default();
    let error = refusal(&none.complete(&config));
    assert_eq!(error.path, "channel.config.oauth2_login.providers.corp.client_id");
}

#[test]
fn faulty_keys_of_instance_are_refused() {
    let check = InstanceProviders::check;
    assert_eq!(check("corp", &json!({"issuer": "https://id.test"})), Ok(()));
    for (name, keys, path) in [
        ("default", json!({}), "oauth2_login.providers.default"),
        ("corp", json!({"clientid": "shop"}), "oauth2_login.providers.corp.clientid"),
        ("corp", json!({"issuer": "http://id.test"}), "oauth2_login.providers.corp.issuer"),
        ("corp", json!("https://id.test"), "oauth2_login.providers.corp"),
    ] {
        assert_eq!(check(name, &keys).unwrap_err().path, path);
    }
    // The keys of one provider are not those of several.
    let flat = json!({"oauth2_login": merge(single_block(&json!({}))["oauth2_login"].clone(),
        &json!({"providers_from_instance": true, "redirect_uri": "https://shop.test/{provider}",
            "callback_path": "/login/{provider}"}))});
    assert!(refusal(&flat).message.contains("into one of them"));
    let misspelt =
        several_block(&json!({"corp": {"clientid": "x"}}), &json!({"providers_from_instance": true}));
    assert_eq!(refusal(&misspelt).path, "channel.config.oauth2_login.providers.corp.clientid");
}

#[test]
fn misspelt_key_is_refused_with_nearest_name() {
    for (extra, key, nearest) in [
        (json!({"scope": ["openid"]}), "scope", "'scopes'"),
        (json!({"state_cookie": {"samesite": "lax"}}), "state_cookie.samesite", "'same_site'"),
        (json!({"identity": {"subjekt": "sub"}}), "identity.subjekt", "'subject'"),
    ] {
        let error = refusal(&single_block(&extra));
        assert_eq!(error.path, format!("channel.config.oauth2_login.{key}"));
        assert!(error.message.contains(nearest), "{error}");
    }
}

#[test]
fn identity_needs_the_name_of_a_subject() {
    let error = refusal(&single_block(&json!({"identity": {"subject": ""}})));
    assert_eq!(error.path, "channel.config.oauth2_login.identity.subject");
}

#[test]
fn shared_answers_are_refused_with_it() {
    for (block, value) in [
        ("cache", json!({"enabled": true})),
        ("deduplication", json!({"header": "x-key"})),
        ("request", json!({"mode": "accept"})),
    ] {
        let mut config = single_block(&json!({}));
        config[block] = value;
        let error = refusal(&config);
        assert!(error.path.starts_with(&format!("channel.config.{block}")), "{error}");
    }
}
