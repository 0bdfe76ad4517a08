use serde_json::{Value, json};

use super::*;
use crate::field::FieldCode;

fn http(config: Value) -> Result<HttpConfig, Vec<FieldError>> {
    match ConnectorConfig::parse(ConnectorType::Http, &config)? {
        ConnectorConfig::Http(http) => Ok(*http),
        other => panic!("{other:?}"),
    }
}

fn refusal(config: Value) -> (String, FieldCode) {
    let error = http(config).unwrap_err().remove(0);
    (error.path, error.code)
}

#[test]
fn url_is_enough_and_the_rest_has_defaults() {
    let config = http(json!({"url": "https://api.example.com", "unknown": 1})).unwrap();
    assert_eq!((config.retry.max_retries, config.retry.retry_delay_ms), (3, 1000));
    assert_eq!(config.max_response_size, 10_485_760);
    assert!(
        !config.allow_private_urls && !config.retry_non_idempotent && config.operations.methods.is_empty()
    );
}

#[test]
fn invalid_config_is_named_by_its_field() {
    let url = "http://a.example";
    for (config, path) in [
        (json!({}), "connector.config.url"),
        (json!({"url": "ftp://a"}), "connector.config.url"),
        (json!({"url": url, "headers": {"a b": "x"}}), "connector.config.headers.a b"),
        (json!({"url": url, "headers": {"a": 1}}), "connector.config.headers.a"),
        (json!({"url": url, "headers": {"a": "x\r\ny: z"}}), "connector.config.headers.a"),
        (json!({"url": url, "headers": {"Content-Length": "1"}}), "connector.config.headers.Content-Length"),
        (json!({"url": url, "query_params": {"a": []}}), "connector.config.query_params.a"),
        (json!({"url": "http://a/?k=1", "query_params": {"k": 2}}), "connector.config.query_params.k"),
        (json!({"url": "http://a/?x&%6B=1", "query_params": {"k": 2}}), "connector.config.query_params.k"),
        (json!({"url": "http://a/?a+b=1", "query_params": {"a b": 2}}), "connector.config.query_params.a b"),
        (json!({"url": url, "retry": {"max_retries": 17}}), "connector.config.retry.max_retries"),
        (json!({"url": url, "retry": {"max": 1}}), "connector.config.retry.max"),
        (json!({"url": url, "operations": {"methods": ["get"]}}), "connector.config.operations.methods[0]"),
        (json!({"url": url, "auth": {"type": "digest"}}), "connector.config.auth.type"),
        (json!({"url": url, "auth": {"token": "t"}}), "connector.config.auth.type"),
        (json!({"url": url, "auth": {"type": "bearer"}}), "connector.config.auth.token"),
        (json!({"url": url, "auth": {"type": "bearer", "token": "a\nb"}}), "connector.config.auth.token"),
        (json!({"url": url, "auth": {"type": "bearer", "token": "t", "x": 1}}), "connector.config.auth.x"),
        (json!({"url": url, "max_response_size": 0}), "connector.config.max_response_size"),
        (json!({"url": url, "max_concurrent_per_host": 0}), "connector.config.max_concurrent_per_host"),
        (json!({"url": url, "max_concurrent_per_host": 1001}), "connector.config.max_concurrent_per_host"),
        (json!({"url": url, "allow_urls": "https"}), "connector.config.allow_urls"),
        (json!({"url": url, "allow_urls": ["https", "http"]}), "connector.config.allow_urls[1]"),
        (json!({"url": url, "allow_urls": ["https:0"]}), "connector.config.allow_urls[0]"),
        (json!({"url": url, "allow_urls": ["https:65536"]}), "connector.config.allow_urls[0]"),
        (json!({"url": url, "allow_urls": ["https://a.example"]}), "connector.config.allow_urls[0]"),
        (json!({"url": url, "sign": {}}), "connector.config.sign.secret"),
        (json!({"url": url, "sign": {"secret": " "}}), "connector.config.sign.secret"),
        (json!({"url": url, "sign": {"secrets": ["a", ""]}}), "connector.config.sign.secrets[1]"),
        (json!({"url": url, "sign": {"secret": "a", "secrets": ["b"]}}), "connector.config.sign.secrets"),
        (json!({"url": url, "sign": {"secret": "a", "preset": "acme"}}), "connector.config.sign.preset"),
        (json!({"url": url, "sign": {"secret": "a", "message": "x"}}), "connector.config.sign.message"),
        (json!({"url": url, "sign": {"secret": "a", "header": "a b"}}), "connector.config.sign.header"),
        (
            json!({"url": url, "sign": {"secret": "a", "header": "Host", "id": "host"}}),
            "connector.config.sign.id",
        ),
        (json!({"url": url, "sign": {"secret": "a", "timestamp": "a:"}}), "connector.config.sign.timestamp"),
        (
            json!({"url": url, "sign": {"secret": "a", "timestamp": "x-signature:t"}}),
            "connector.config.sign.timestamp",
        ),
        (
            json!({"url": url, "sign": {"secret": "a", "signature_prefix": "é"}}),
            "connector.config.sign.signature_prefix",
        ),
        (
            json!({"url": url, "sign": {"secret": "a", "preset": "slack", "signature_key": "k"}}),
            "connector.config.sign.signature_prefix",
        ),
        (json!({"url": url, "sign": {"secret": "a", "algorithm": "md5"}}), "connector.config.sign.algorithm"),
        (
            json!({"url": url, "sign": {"secret": "a", "tolerance_secs": 5}}),
            "connector.config.sign.tolerance_secs",
        ),
    ] {
        assert_eq!(refusal(config.clone()).0, path, "{config}");
    }
}

#[test]
fn all_that_credentials_lack_is_named_at_once() {
    for (auth, due) in [
        (json!({"type": "basic"}), &["username", "password"][..]),
        (json!({"type": "basic", "username": 1, "password": []}), &["username", "password"]),
        (json!({"type": "basic", "password": "p"}), &["username"]),
        (json!({"type": "apikey"}), &["header", "key"]),
        (json!({"type": "apikey", "header": "a b", "key": ""}), &["header", "key"]),
        (json!({"type": "apikey", "header": "Content-Length", "key": "5"}), &["header"]),
        (json!({"type": "basic", "user": "u"}), &["user", "username", "password"]),
    ] {
        for kind in [ConnectorType::Http, ConnectorType::Es] {
            let problems = problems(kind, &json!({"url": "http://a.example", "auth": auth}));
            let due: Vec<_> = due.iter().map(|field| format!("connector.config.auth.{field}")).collect();
            assert_eq!(problems, due, "{auth}");
        }
    }
}

#[test]
fn unresolved_references_are_not_checked_for_form() {
    for url in ["${HOST}", "https://${HOST}/x", "env://URL", "vault://a#b"] {
        assert!(
            http(json!({"url": url, "auth": {"type": "apikey", "header": "${H}", "key": "env://K"}})).is_ok()
        );
    }
}

#[test]
fn signature_of_a_preset_has_its_parts() {
    let config = http(json!({"url": "http://a", "allow_urls": ["https", "https:8443"],
        "sign": {"preset": "standard_webhooks", "secret": "env://A", "secrets": ["env://B"]}}))
    .unwrap();
    assert_eq!(config.url_ports(), [443, 8443]);
    let sign = config.sign.unwrap();
    assert_eq!((sign.secrets.len(), sign.is_standard), (2, true));
    assert_eq!((sign.header.as_str(), sign.id.as_deref()), ("webhook-signature", Some("webhook-id")));
    assert_eq!(sign, SigningConfig::standard_webhooks(sign.secrets.clone()).unwrap());
    let plain = http(json!({"url": "http://a", "sign": {"secret": "s"}})).unwrap();
    let sign = plain.sign.unwrap();
    assert_eq!((sign.header.as_str(), sign.id, sign.is_standard), ("X-Signature", None, false));
    assert!(plain.allow_urls.is_empty());
}

#[test]
fn query_parameters_are_sorted_and_scalars_become_text() {
    let config = http(json!({"url": "http://a", "query_params": {"b": 2, "a": true}})).unwrap();
    let shown: Vec<_> =
        config.query_params.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
    assert_eq!(shown, [("a", "true"), ("b", "2")]);
}

#[test]
fn settings_are_not_printable() {
    let config = http(json!({"url": "http://a", "headers": {"a": "swordfish"},
        "auth": {"type": "bearer", "token": "swordfish"}, "query_params": {"k": "swordfish"}}));
    assert!(!format!("{config:?}").contains("swordfish"));
}

fn problems(kind: ConnectorType, config: &Value) -> Vec<String> {
    ConnectorConfig::parse(kind, config).err().into_iter().flatten().map(|error| error.path).collect()
}

#[test]
fn least_config_parses_and_problems_have_places() {
    use ConnectorType::{Cache, Db, Es, Kafka, Smtp, Storage};
    let storage = json!({"endpoint": "https://s3.example", "region": "r", "bucket": "b", "access_key": "a", "secret_key": "s"});
    for (kind, least, broken) in [
        (
            Es,
            json!({"url": "https://es"}),
            json!({"url": "es", "auth": {"type": "basic"}, "operations": {"publish": true}}),
        ),
        (
            Db,
            json!({"connection_string": "mariadb://u:p@h/d"}),
            json!({"connection_string": "oracle://h", "max_connections": 0}),
        ),
        (Cache, json!({"backend": "memory"}), json!({"backend": "disk", "operations": {"read": 1}})),
        (
            Cache,
            json!({"backend": "redis", "url": "rediss://:p@h"}),
            json!({"backend": "redis", "url": "http://h"}),
        ),
        (Kafka, json!({"brokers": []}), json!({"brokers": ["kafka://h:1", "h:0"], "topic": ""})),
        (
            Smtp,
            json!({"host": "h", "from": "Bob <b@h>"}),
            json!({"host": "smtp://h", "port": 0, "tls": "ssl", "from": "bob"}),
        ),
        (Storage, storage, json!({"provider": "gcs", "endpoint": "s3.example"})),
    ] {
        assert_eq!(problems(kind, &least), Vec::<String>::new(), "{least}");
        let mut due: Vec<_> = problems(kind, &broken);
        due.dedup();
        assert!(due.iter().all(|path| path.starts_with("connector.config.")) && !due.is_empty(), "{due:?}");
        assert!(!problems(kind, &json!({})).is_empty(), "{kind}");
    }
    let first = |kind, config| problems(kind, &config).remove(0);
    assert_eq!(
        first(
            Es,
            json!({"url": "https://es", "auth": {"type": "oauth2", "grant": "client_credentials", "token_url": "https://t", "client_id": "c", "client_secret": "s"}})
        ),
        "connector.config.auth.type"
    );
    assert_eq!(
        first(Kafka, json!({"brokers": ["h", "h:99999"], "topic": "t"})),
        "connector.config.brokers[1]"
    );
    assert_eq!(first(Cache, json!({"backend": "redis"})), "connector.config.url");
    assert_eq!(first(Smtp, json!({"host": "h:25", "from": "a@b"})), "connector.config.host");
    assert_eq!(
        first(Db, json!({"connection_string": "sqlite:x", "dialect": {"strict": true}})),
        "connector.config.dialect.strict"
    );
}

#[test]
fn any_text_may_still_be_open() {
    use ConnectorType::{Cache, Db, Http, Kafka, Smtp, Storage};
    for (kind, config) in [
        (Http, json!({"url": "env://URL", "auth": {"type": "${SCHEME}", "token": "x"}})),
        (
            Http,
            json!({"url": "env://URL", "allow_urls": ["https:${PORT}"], "sign": {"preset": "${PRESET}",
                "secret": "env://S", "header": "${H}", "algorithm": "${A}", "message": "env://M", "encoding": "env://E",
                "timestamp": "${T}", "id": "${I}", "signature_prefix": "${P}"}}),
        ),
        (Db, json!({"connection_string": "vault://kv/db#url"})),
        (Cache, json!({"backend": "${BACKEND}"})),
        (Kafka, json!({"brokers": ["${HOST}:${PORT}"], "topic": "${T}"})),
        (Smtp, json!({"host": "${H}", "tls": "env://TLS", "from": "env://FROM"})),
        (Smtp, json!({"host": "${H}", "from": "a@b", "auth": {"type": "${AUTH}", "username": "u"}})),
        (
            Storage,
            json!({"provider": "${P}", "endpoint": "${E}", "region": "${R}", "bucket": "b", "access_key": "env://A", "secret_key": "env://S"}),
        ),
    ] {
        assert_eq!(problems(kind, &config), Vec::<String>::new(), "{config}");
        assert!(ConnectorConfig::parse(kind, &config).unwrap().connection_targets().is_empty(), "{config}");
    }
}

#[test]
fn connection_targets_are_listed_by_field() {
    use ConnectorType::{Cache, Db, Kafka, Smtp};
    let hosts = |kind, config: Value| {
        let config = ConnectorConfig::parse(kind, &config).unwrap();
        let places = config.connection_targets().into_iter().map(|(field, place)| match place {
            ConnectionTarget::Host(host) => format!("{field} {host}"),
            ConnectionTarget::Url(url) => format!("{field} {url}"),
        });
        places.collect::<Vec<_>>()
    };
    let string = "connector.config.connection_string";
    assert_eq!(
        hosts(Db, json!({"connection_string": "mongodb://u:p@a:27017,[::1]:27018/d?x=y"})),
        [format!("{string} a"), format!("{string} [::1]")]
    );
    assert!(hosts(Db, json!({"connection_string": "sqlite://10.0.0.1/x"})).is_empty());
    assert_eq!(
        hosts(Cache, json!({"backend": "redis", "url": "redis://:p@10.0.0.1:6379/0"})),
        ["connector.config.url 10.0.0.1"]
    );
    assert_eq!(
        hosts(Kafka, json!({"brokers": ["a", "${B}", "::1"], "topic": "t"})),
        ["connector.config.brokers[0] a", "connector.config.brokers[2] [::1]"]
    );
    assert_eq!(hosts(Smtp, json!({"host": "mail", "from": "a@b"})), ["connector.config.host mail"]);
}

#[test]
fn a_key_without_effect_is_mentioned() {
    let (read, unknown) = ConnectorConfig::inspect(
        ConnectorType::Cache,
        &json!({"backend": "memory", "type": "cache", "ulr": "x"}),
    );
    assert!(read.is_ok());
    assert_eq!(
        unknown.iter().map(|issue| issue.field.as_str()).collect::<Vec<_>>(),
        ["connector.config.ulr"]
    );
}
