//! Masking of secrets inside a URL: the password before the host, and query values with names that suggest a
//! secret.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use super::MASK;

/// A name that contains one of these suggests a secret.
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

/// A name that equals one of these suggests a secret.
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

/// Returns true if the name suggests a secret value. Ignores case and treats `-` and `.` like `_`.
pub fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(['-', '.'], "_");
    WORDS.contains(&name.as_str()) || PARTS.iter().any(|part| name.contains(part))
}

/// Returns the URL with its secrets masked. Any other text is returned unchanged.
pub fn mask_url(text: &str) -> String {
    let masked = split_pieces(text).into_iter().map(|piece| match piece {
        Piece::Shown(text) => text,
        Piece::Hidden(..) => MASK,
    });
    masked.collect()
}

/// Restores masked parts of a URL from the same part of the stored URL: the password, or the query value of
/// the same name. A mask without such a part stays.
pub fn restore_url(sent: &str, stored: &str) -> String {
    let stored = split_pieces(stored);
    let hidden = |wanted: Slot<'_>| {
        stored.iter().find_map(|piece| match piece {
            Piece::Hidden(slot, text) if *slot == wanted => Some(*text),
            _ => None,
        })
    };
    let restored = split_pieces(sent).into_iter().map(|piece| match piece {
        Piece::Shown(text) => text,
        Piece::Hidden(slot, MASK) => hidden(slot).unwrap_or(MASK),
        Piece::Hidden(_, text) => text,
    });
    restored.collect()
}

/// Returns true if the text is the mask, has the mask in the place of a secret of a URL, or has it as one
/// part of a URL: the user, the host, a path segment, a query name or value, or the fragment.
pub fn holds_mask(text: &str) -> bool {
    let hidden = || split_pieces(text).iter().any(|piece| matches!(piece, Piece::Hidden(_, MASK)));
    let part =
        |rest: &str| rest.split(['/', '?', '#', '&', '=', ':', '@', ';', ',']).any(|part| part == MASK);
    text == MASK || hidden() || text.split_once("://").is_some_and(|(_, rest)| part(rest))
}

/// Decodes a query name: `+` and percent escapes.
pub(crate) fn decode_query_name(name: &str) -> String {
    let spaced = name.replace('+', " ");
    let name: Cow<'_, str> = percent_decode_str(&spaced).decode_utf8_lossy();
    name.into_owned()
}

/// A part of a text.
enum Piece<'t> {
    Shown(&'t str),
    Hidden(Slot<'t>, &'t str),
}

/// The position of a secret in a URL.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slot<'t> {
    /// The password before the host.
    Password,
    /// A query value: its name, and the number of earlier values with that name.
    Query(&'t str, usize),
}

fn split_pieces(text: &str) -> Vec<Piece<'_>> {
    let Some(start) = text.find("://").map(|scheme| scheme + 3) else { return vec![Piece::Shown(text)] };
    let mut pieces = Vec::new();
    // End of the text that `pieces` covers so far.
    let mut covered = 0;
    let rest = &text[start..];
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    // An unescaped `/` or `?` in a password would end the authority too early. Searching the whole rest for
    // `@` hides rather too much than too little.
    let at = rest[..end].rfind('@').or_else(|| rest.rfind('@').filter(|at| rest[..*at].contains(':')));
    let mut from = 0;
    if let Some(at) = at {
        if let Some(colon) = rest[..at].find(':') {
            pieces.push(Piece::Shown(&text[..=start + colon]));
            pieces.push(Piece::Hidden(Slot::Password, &rest[colon + 1..at]));
            covered = start + at;
        }
        from = at + 1;
    }
    if let Some(question) = rest[from..].find('?') {
        let mut at = start + from + question + 1;
        let mut names: Vec<&str> = Vec::new();
        for pair in text[at..].split('&') {
            let next = at + pair.len() + 1;
            if let Some((name, value)) = pair.split_once('=') {
                if looks_secret(name) || looks_secret(&decode_query_name(name)) {
                    let before = names.iter().filter(|known| **known == name).count();
                    let value_at = at + name.len() + 1;
                    pieces.push(Piece::Shown(&text[covered..value_at]));
                    pieces.push(Piece::Hidden(Slot::Query(name, before), value));
                    covered = value_at + value.len();
                }
                names.push(name);
            }
            at = next;
        }
    }
    pieces.push(Piece::Shown(&text[covered..]));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_judged_by_parts_and_by_whole_words() {
        for name in [
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
            assert!(looks_secret(name), "{name}");
        }
        for name in ["key_path", "cert_path", "path", "keyboard", "monkey", "design", "pattern", "workers"] {
            assert!(!looks_secret(name), "{name}");
        }
    }

    #[test]
    fn url_secrets_are_masked_and_restored_in_place() {
        for (url, shown) in [
            ("postgres://u:p@h/db", "postgres://u:******@h/db"),
            ("redis://:p@h:6379/0", "redis://:******@h:6379/0"),
            ("postgres://u:p@ss@h/db", "postgres://u:******@h/db"),
            ("postgres://u:p/w@h/db", "postgres://u:******@h/db"),
            ("postgres://u@h/db", "postgres://u@h/db"),
            ("https://h/?to%6ben=s&a=1&api%5Fkey=s", "https://h/?to%6ben=******&a=1&api%5Fkey=******"),
            ("postgres://h/db?password=p&sslmode=require", "postgres://h/db?password=******&sslmode=require"),
            (
                "http://u:p@h/?key=1&a=2&key=&sig=x#f",
                "http://u:******@h/?key=******&a=2&key=******&sig=******",
            ),
            ("http://h:80/a", "http://h:80/a"),
            ("sqlite:svc.db", "sqlite:svc.db"),
        ] {
            assert_eq!(mask_url(url), shown);
            assert_eq!(restore_url(shown, url), url);
            assert_eq!(holds_mask(shown), shown != url, "{shown}");
        }
    }

    #[test]
    fn mask_is_found_only_as_whole_url_part() {
        for url in [
            MASK,
            "https://h/?a=******",
            "https://h/?a=1&b=******#f",
            "https://h/******/x",
            "https://******@h/",
            "https://u:******@h/",
            "https://h:80/#******",
            "postgres://h/d?sslmode=******",
            "mongodb://a,******/d",
        ] {
            assert!(holds_mask(url), "{url}");
        }
        for url in ["https://h/?a=*******", "https://h/?a=x******", "a=******", "", "https://h/*"] {
            assert!(!holds_mask(url), "{url}");
        }
    }

    #[test]
    fn secret_is_restored_only_at_its_place() {
        let stored = "https://u:pw@h/v1?key=k0&key=k1&sig=s";
        for (sent, restored) in [
            ("https://u:******@h/v2?sig=******", "https://u:pw@h/v2?sig=s"),
            ("https://u:new@h/?key=******&key=******", "https://u:new@h/?key=k0&key=k1"),
            ("https://h/?token=******", "https://h/?token=******"),
        ] {
            assert_eq!(restore_url(sent, stored), restored);
        }
        assert_eq!(restore_url("https://u:******@h/", "https://u@h/"), "https://u:******@h/");
    }
}
