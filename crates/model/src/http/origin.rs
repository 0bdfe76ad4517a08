//! Origins of web pages, as browsers send them.

/// Returns the reason why no browser sends a text as the `Origin` of a request, with the remedy; `None` for one that may
/// come. A browser sends `scheme://host`, with a port if it is not that of the scheme, in small letters (RFC 6454), or
/// `null`.
pub fn origin_problem(text: &str) -> Option<String> {
    // U+0000 is refused in every text, with a message of its own.
    if text == "null" || text.contains('\0') {
        return None;
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        return Some(format!("{text:?} is no origin; write the scheme too, as in https://app.example.com"));
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if scheme.is_empty() || authority.is_empty() {
        return Some(format!("{text:?} is no origin; write scheme and host, as in https://app.example.com"));
    }
    if authority.contains('*') {
        return Some(format!("{text:?}: a part of an origin has no wildcard; list the origins one by one"));
    }
    if authority.contains('@') {
        return Some(format!("{text:?}: an origin has no user; write {scheme}://{}", after_user(authority)));
    }
    let default_port = match scheme.to_ascii_lowercase().as_str() {
        "http" => Some(":80"),
        "https" => Some(":443"),
        _ => None,
    };
    let host = default_port.and_then(|port| authority.strip_suffix(port)).unwrap_or(authority);
    let sent = format!("{scheme}://{host}").to_ascii_lowercase();
    if sent != text {
        return Some(format!("no browser sends {text:?}; write {sent}"));
    }
    if port(host).is_some_and(|port| !is_sent_port(port)) {
        return Some(format!(
            "{text:?}: a port is a number from 1 to 65535 without zeros before it, or left out"
        ));
    }
    if !text.is_ascii() || text.contains(|c: char| c.is_ascii_control() || c == ' ') {
        return Some(format!("{text:?}: an origin is ASCII without blanks; write the host as xn--…"));
    }
    if !is_scheme(scheme) || !host.bytes().all(is_of_host) {
        return Some(format!(
            "{text:?} is no origin; write scheme and host without quotes and brackets, as in https://app.example.com"
        ));
    }
    None
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

/// Returns `true` for a byte of a host, of an address in brackets, or before a port.
const fn is_of_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'~' | b':' | b'[' | b']')
}

/// Returns the text behind the host and a colon.
fn port(host: &str) -> Option<&str> {
    let behind_address = host.rsplit(']').next().unwrap_or_default();
    behind_address.split_once(':').map(|(_, port)| port)
}

fn is_sent_port(port: &str) -> bool {
    port.parse().is_ok_and(|number: u16| number > 0 && number.to_string() == port)
}

fn after_user(authority: &str) -> &str {
    authority.rsplit('@').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_that_a_browser_sends_pass() {
        for origin in [
            "https://app.example.com",
            "http://localhost:3000",
            "http://127.0.0.1:8080",
            "https://[::1]:8443",
            "https://xn--bcher-kva.example",
            "http://a.example:443",
            "chrome-extension://abcdef",
            "capacitor://localhost",
            "null",
        ] {
            assert_eq!(origin_problem(origin), None, "{origin}");
        }
    }

    #[test]
    fn impossible_origins_are_reported_with_the_remedy() {
        for (origin, remedy) in [
            ("https://app.example.com/", "write https://app.example.com"),
            ("https://app.example.com/shop", "write https://app.example.com"),
            ("https://App.Example.com", "write https://app.example.com"),
            ("https://app.example.com:443", "write https://app.example.com"),
            ("http://app.example.com:80/", "write http://app.example.com"),
            ("https://*.example.com", "list the origins one by one"),
            ("https://me@app.example.com", "write https://app.example.com"),
            ("app.example.com", "write the scheme too"),
            ("https://", "write scheme and host"),
            ("https://app.example.com:", "a port is a number"),
            ("https://app.example.com:08443", "a port is a number"),
            ("http://[::1]:70000", "a port is a number"),
            ("https://bücher.example", "xn--"),
            (" https://app.example.com", "without blanks"),
            ("[\"https://app.example.com\"]", "without quotes and brackets"),
            ("\"https://app.example.com", "without quotes and brackets"),
            ("https://app.example.com'", "without quotes and brackets"),
            ("*", "write the scheme too"),
        ] {
            let problem = origin_problem(origin).unwrap();
            assert!(problem.contains(remedy), "{origin}: {problem}");
        }
    }
}
