//! The pages to which a caller may ask to be sent after a sign-in.

use svc_model::config::ReturnToConfig;
use url::Url;

/// Longest address that is taken, in bytes.
const MAX_BYTES: usize = 512;

/// The pages that a channel lists.
#[derive(Clone, Debug)]
pub(super) struct ReturnPages {
    /// The query parameter that names a page.
    pub(super) param: String,
    pages: Vec<Url>,
}

impl ReturnPages {
    /// Parses the listed pages.
    ///
    /// # Errors
    /// The reason why an entry is no page, with its place.
    pub(super) fn build(config: &ReturnToConfig) -> Result<Self, String> {
        let parse = |(index, text): (usize, &String)| {
            Url::parse(text).map_err(|why| format!("return_to.allow_list[{index}]: {why}"))
        };
        let pages = config.allow_list.iter().enumerate().map(parse).collect::<Result<_, _>>()?;
        Ok(Self { param: config.param.clone(), pages })
    }

    /// Returns the address in its normal form if it is a listed page or one below it, on the same origin. Neither form
    /// is longer than [`MAX_BYTES`].
    pub(super) fn accept(&self, text: &str) -> Option<String> {
        // Browsers and servers do not agree about what these mean.
        let is_odd = |letter: char| letter.is_control() || letter.is_whitespace() || letter == '\\';
        if text.len() > MAX_BYTES || text.contains(is_odd) {
            return None;
        }
        let url = Url::parse(text).ok()?;
        let is_plain = url.scheme() == "https" && url.username().is_empty() && url.password().is_none();
        let is_listed = |page: &Url| page.origin() == url.origin() && is_below(page.path(), url.path());
        (is_plain && url.as_str().len() <= MAX_BYTES && self.pages.iter().any(is_listed))
            .then(|| url.to_string())
    }
}

/// Returns true for the path itself and those below it. An encoded slash may be one to the server of the page, and lead
/// up again.
fn is_below(base: &str, path: &str) -> bool {
    match path.strip_prefix(base) {
        Some(rest) if rest.is_empty() || base == "/" => true,
        Some(rest) => (base.ends_with('/') || rest.starts_with('/')) && !has_encoded_slash(rest),
        None => false,
    }
}

fn has_encoded_slash(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    path.contains("%2f") || path.contains("%5c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_below_a_listed_one_pass() {
        let allow_list = vec!["https://shop.example/account".to_owned(), "https://app.example".to_owned()];
        let pages = ReturnPages::build(&ReturnToConfig { param: "return_to".into(), allow_list }).unwrap();
        for (text, expected) in [
            ("https://shop.example/account", Some("https://shop.example/account")),
            ("https://SHOP.example:443/account/a/../b?c=1#d", Some("https://shop.example/account/b?c=1#d")),
            ("https://app.example", Some("https://app.example/")),
            ("https://app.example/x", Some("https://app.example/x")),
            ("https://shop.example/accounts", None),
            ("https://shop.example/account/../admin", None),
            ("https://shop.example/account/%2e%2e/admin", None),
            ("https://shop.example/", None),
            ("https://shop.example:8443/account", None),
            ("http://shop.example/account", None),
            ("https://shop.example@evil.example/account", None),
            ("https://ada:pw@shop.example/account", None),
            ("https://shop.example.evil.example/account", None),
            ("https:\\\\evil.example/account", None),
            ("//shop.example/account", None),
            ("javascript:alert(1)", None),
            ("/account", None),
            ("https://shop.example/account/..%2fadmin", None),
            ("https://shop.example/account/..%5Cadmin", None),
            (
                "https://shop.example/account?next=%2Fadmin",
                Some("https://shop.example/account?next=%2Fadmin"),
            ),
            ("https://app.example/a%2Fb", Some("https://app.example/a%2Fb")),
            ("https://app.example\\@evil.example", None),
            ("\thttps://app.example/", None),
            ("https://app.example/a b", None),
        ] {
            assert_eq!(pages.accept(text).as_deref(), expected, "{text}");
        }
        for long in ["a".repeat(512), "ä".repeat(200)] {
            assert_eq!(pages.accept(&format!("https://app.example/{long}")), None);
        }
    }
}
