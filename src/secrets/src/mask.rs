//! What a configuration may show of itself: values under secret-looking keys and passwords in URLs are struck out.

use serde_json::Value;

/// What stands in the place of a hidden value.
pub const MASK: &str = "******";

/// A key holding one of these is secret-looking.
const PARTS: [&str; 18] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "credential",
    "api_key",
    "apikey",
    "private_key",
    "privatekey",
    "access_key",
    "accesskey",
    "encryption_key",
    "key_pem",
    "signature",
    "bearer",
    "dsn",
    "webhook",
];

/// A key that is one of these is secret-looking.
const WORDS: [&str; 12] = [
    "key",
    "pwd",
    "cert",
    "certificate",
    "ssl_key",
    "sasl_key",
    "keyfile",
    "keytab",
    "authorization",
    "connection_string",
    "pat",
    "sig",
];

/// Whether the value under this key is to be hidden, judged by the name alone. Case, `-` and `.` make no difference.
#[must_use]
pub fn looks_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase().replace(['-', '.'], "_");
    WORDS.contains(&key.as_str()) || PARTS.iter().any(|part| key.contains(part))
}

/// Hides what must be hidden in a value found under `key`, at any depth. Secret references stay readable: they say
/// where a secret is, not what it is. Empty values stay, so that "unset" can be told from "set".
pub fn mask(key: &str, value: &mut Value) {
    if looks_secret(key) { hide(value) } else { strike(value) }
}

fn strike(value: &mut Value) {
    match value {
        Value::String(text) => *text = mask_url(text),
        Value::Array(items) => items.iter_mut().for_each(strike),
        Value::Object(members) => members.iter_mut().for_each(|(key, value)| mask(key, value)),
        _ => {}
    }
}

fn hide(value: &mut Value) {
    match value {
        Value::String(text) if text.is_empty() || crate::is_reference(text) => {}
        Value::Array(items) => items.iter_mut().for_each(hide),
        Value::Object(members) => members.values_mut().for_each(hide),
        // Yes and no are settings about secrets, not secrets.
        Value::Null | Value::Bool(_) => {}
        shown => *shown = Value::String(MASK.to_owned()),
    }
}

/// Strikes the password out of a URL (`scheme://user:password@host`) and the value of every secret-looking query
/// parameter. Text that is no URL is returned as it is.
#[must_use]
pub fn mask_url(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    // An unescaped `/` or `?` in a password would end the authority early: look for the `@` in all of the rest, so
    // that too much is hidden rather than too little.
    let at = rest[..end].rfind('@').or_else(|| rest.rfind('@').filter(|at| rest[..*at].contains(':')));
    let (authority, tail) = match at {
        Some(at) => match rest[..at].split_once(':') {
            Some((user, _)) => (format!("{user}:{MASK}@"), &rest[at + 1..]),
            None => (rest[..=at].to_owned(), &rest[at + 1..]),
        },
        None => (String::new(), rest),
    };
    let tail = match tail.split_once('?') {
        Some((path, query)) => format!("{path}?{}", mask_query(query)),
        None => tail.to_owned(),
    };
    format!("{scheme}://{authority}{tail}")
}

fn mask_query(query: &str) -> String {
    let masked = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, _)) if looks_secret(name) => format!("{name}={MASK}"),
        _ => pair.to_owned(),
    });
    masked.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_judged_by_parts_and_by_whole_words() {
        for key in [
            "password",
            "DB_PASSWORD",
            "api_keys",
            "sasl.password",
            "x-api-key",
            "key",
            "sslToken",
            "pat",
            "dsn",
        ] {
            assert!(looks_secret(key), "{key}");
        }
        for key in ["key_path", "cert_path", "path", "keyboard", "monkey", "design", "pattern", "workers"] {
            assert!(!looks_secret(key), "{key}");
        }
    }

    #[test]
    fn url_passwords_are_struck() {
        for (url, shown) in [
            ("postgres://u:p@h/db", "postgres://u:******@h/db"),
            ("redis://:p@h:6379/0", "redis://:******@h:6379/0"),
            ("postgres://u:p@ss@h/db", "postgres://u:******@h/db"),
            ("postgres://u:p/w@h/db", "postgres://u:******@h/db"),
            ("postgres://u@h/db", "postgres://u@h/db"),
            ("postgres://h/db?password=p&sslmode=require", "postgres://h/db?password=******&sslmode=require"),
            ("http://h:80/a", "http://h:80/a"),
            ("sqlite:svc.db", "sqlite:svc.db"),
        ] {
            assert_eq!(mask_url(url), shown);
        }
    }

    #[test]
    fn masking_reaches_every_depth_and_keeps_references_and_emptiness() {
        let mut value = json!({
            "a": [{"token": "t1"}, {"url": "amqp://u:p1@h"}],
            "secret": {"deep": ["t2", "env://X", ""], "n": 7, "on": true},
            "plain": "text"
        });
        mask("", &mut value);
        assert_eq!(
            value,
            json!({
                "a": [{"token": MASK}, {"url": "amqp://u:******@h"}],
                "secret": {"deep": [MASK, "env://X", ""], "n": MASK, "on": true},
                "plain": "text"
            })
        );
    }
}
