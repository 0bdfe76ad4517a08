use std::collections::HashMap;

use serde_json::json;

use super::*;
use crate::drivers::http::HttpSettings;

fn http_settings(settings: &dyn ResolvedSettings) -> &HttpSettings {
    let settings: &dyn std::any::Any = settings;
    settings.downcast_ref().unwrap()
}

fn variables() -> HashMap<&'static str, &'static str> {
    HashMap::from([("HOST", "a.example"), ("QUOTE", "sword\"fish\\"), ("TOKEN", "swordfish"), ("EMPTY", "")])
}

async fn loading(kind: &str, text: &str) -> Result<ResolvedConnector, LoadError> {
    loading_allowed(kind, text, AllowedVariables::all()).await
}

async fn loading_allowed(
    kind: &str,
    text: &str,
    allowed: AllowedVariables,
) -> Result<ResolvedConnector, LoadError> {
    let lookup = |name: &str| variables().get(name).map(|value| (*value).to_owned());
    let secrets =
        Keyring::new(Arc::new(svc_secrets::EnvironmentResolver(lookup)), BTreeMap::new()).allowing(allowed);
    let row = StoredConnector {
        id: "c".into(),
        name: "api".into(),
        connector_type: kind.into(),
        config_text: Ok(text.into()),
        enabled: true,
    };
    let declared = json!({"host": "https://b.example", "private": true, "many": []});
    let declared = declared.as_object().unwrap();
    load_with(&row, &(Arc::new(lookup) as VariableLookup), &secrets, declared).await
}

async fn failing(kind: &str, text: &str) -> LoadError {
    loading(kind, text).await.err().unwrap()
}

#[tokio::test]
async fn each_stage_names_what_stopped_it_and_no_value() {
    for (kind, text, stage, part) in [
        ("http", r#"{"url": "${GONE}"}"#, LoadStage::EnvSubstitution, "GONE"),
        ("http", r#"{"url": "#, LoadStage::JsonParse, "line 1"),
        ("http", r#"{"url": "env://GONE"}"#, LoadStage::SecretResolution, "env://GONE"),
        ("http", r#"{"url": "var://gone"}"#, LoadStage::ValueResolution, "declared: host, many, private"),
        ("http", r#"{"url": "var://many"}"#, LoadStage::ValueResolution, "of the type array"),
        ("http", r#"{"url": "http://a", "x": "aws-sm://y"}"#, LoadStage::SecretResolution, "aws-sm"),
        ("http", r#"{"url": "env://TOKEN"}"#, LoadStage::Deserialize, "connector.config.url"),
        ("http", r#"{"url": "http://10.0.0.1/"}"#, LoadStage::Deserialize, "SSRF protection:"),
        ("kafka", r#"{"topic": "t"}"#, LoadStage::Deserialize, "connector.config.brokers"),
        ("nonsense", "{}", LoadStage::Deserialize, "unknown"),
    ] {
        let error = failing(kind, text).await;
        assert_eq!(error.stage, stage, "{text}: {error}");
        assert!(error.reason.contains(part) && !error.reason.contains("swordfish"), "{text}: {error}");
    }
    let both = failing("http", r#"{"url": "env://GONE", "x": ["env://AWAY", "env://GONE"]}"#).await;
    assert_eq!(both.reason, "env://AWAY: the variable is not set; env://GONE: the variable is not set");
    let twice = failing("http", r#"{"url": "${GONE}", "x": "${GONE}"}"#).await;
    assert_eq!(twice.reason.matches("GONE is not set").count(), 1, "{twice}");
    let oauth = json!({"url": "http://a", "auth": {"type": "oauth2", "grant": "client_credentials",
        "token_url": "http://10.0.0.1/", "client_id": "c", "client_secret": "env://TOKEN"}});
    let refused = failing("http", &oauth.to_string()).await;
    assert!(refused.reason.starts_with("connector.config.auth.token_url: SSRF protection: "), "{refused}");
}

#[tokio::test]
async fn variable_value_stays_text() {
    let text = r#"{"url": "https://${HOST}/${EMPTY}${UNSET:-v1}", "headers": {"a": "${QUOTE}", "b": "$$x"}}"#;
    let settings = loading("http", text).await.unwrap().settings;
    let http = http_settings(&*settings);
    assert_eq!(http.base.as_str(), "https://a.example/v1");
    assert_eq!(
        (&http.headers["a"], &http.headers["b"]),
        (&"sword\"fish\\".parse().unwrap(), &"$x".parse().unwrap())
    );
}

#[tokio::test]
async fn declared_value_takes_the_type_of_its_field() {
    let text = r#"{"url": "var://host", "allow_private_urls": "var://private"}"#;
    let settings = loading("http", text).await.unwrap().settings;
    assert_eq!(http_settings(&*settings).base.as_str(), "https://b.example/");
    let refused = failing("http", r#"{"url": "var://host", "allow_private_urls": "var://host"}"#).await;
    assert_eq!(refused.stage, LoadStage::Deserialize);
    assert!(refused.reason.contains("connector.config.allow_private_urls"), "{refused}");
}

#[tokio::test]
async fn equal_load_has_the_same_digest() {
    let digest = async |text| loading("http", text).await.unwrap().digest;
    let one = digest(r#"{"url": "https://a.example"}"#).await;
    assert_eq!(digest(r#"{"url": "https://${HOST}"}"#).await, one);
    assert_ne!(digest(r#"{"url": "https://a.example/x"}"#).await, one);
}

#[tokio::test]
async fn empty_variable_is_a_value_refused_by_field() {
    let text = r#"{"url": "https://a.example/", "headers": {"a": "env://EMPTY"}}"#;
    let settings = loading("http", text).await.unwrap().settings;
    let http = http_settings(&*settings);
    assert_eq!(http.headers["a"], "");
    let bearer = r#"{"url": "https://a.example/", "auth": {"type": "bearer", "token": "env://EMPTY"}}"#;
    let error = failing("http", bearer).await;
    assert_eq!(error.stage, LoadStage::Deserialize);
    assert!(error.reason.starts_with("connector.config.auth.token: "), "{error}");
}

#[tokio::test]
async fn forbidden_variable_is_refused_in_references_and_placeholders() {
    let only = |pattern: &str| AllowedVariables::only([pattern.to_owned()]);
    for (text, stage) in [
        (r#"{"url": "https://a.example/", "headers": {"a": "env://TOKEN"}}"#, LoadStage::SecretResolution),
        (r#"{"url": "https://a.example/", "headers": {"a": "${TOKEN}"}}"#, LoadStage::EnvSubstitution),
        (r#"{"url": "https://a.example/", "headers": {"a": "${TOKEN:-x}"}}"#, LoadStage::EnvSubstitution),
    ] {
        let error = loading_allowed("http", text, only("HOS*")).await.err().unwrap();
        assert_eq!(error.stage, stage, "{text}: {error}");
        assert!(error.reason.contains("TOKEN") && error.reason.contains("[secrets] allowed_env"), "{error}");
        assert!(!error.reason.contains("swordfish"), "{error}");
        assert!(loading_allowed("http", text, only("TOK*")).await.is_ok(), "{text}");
    }
}
